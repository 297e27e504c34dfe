//! A device that serves one command at a time, in order, each for a time drawn for it; and remembers what it did.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ssdlab_core::{Breakdown, Cause, Nanos, Op, Rng};
use ssdlab_device::{Completion, Counters, Device, DeviceInfo, HostCounters, Refusal, Request, Status};

#[derive(Clone, Copy, Debug)]
pub enum Service {
    Fixed(Nanos),
    Exponential(Nanos),
}

/// When a write was sent, and when it ended.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub sent: Nanos,
    pub ended: Nanos,
}

/// Writes of each sector, in order.
pub type Written = Arc<Mutex<BTreeMap<u64, Vec<Span>>>>;

pub type Asked = Arc<AtomicU64>;

pub struct Server {
    info: DeviceInfo,
    service: Service,
    rng: Rng,
    free: Nanos,
    queue: VecDeque<Completion>,
    host: HostCounters,
    pub written: Written,
    /// Commands so far.
    pub asked: Asked,
    /// Commands that it had at one time.
    pub most_at_once: Asked,
    /// A byte that cannot be read.
    bad: Option<u64>,
}

impl Server {
    pub fn new(capacity_bytes: u64, service: Service, seed: u64) -> Self {
        Server {
            info: DeviceInfo { capacity_bytes, ..DeviceInfo::new("server", "model") },
            service,
            rng: Rng::new(seed),
            free: 0,
            queue: VecDeque::new(),
            host: HostCounters::default(),
            written: Written::default(),
            asked: Asked::default(),
            most_at_once: Asked::default(),
            bad: None,
        }
    }

    pub fn with_bad(mut self, byte: u64) -> Self {
        self.bad = Some(byte);
        self
    }

    pub fn with_queue_depth(mut self, queue_depth: u32) -> Self {
        self.info.queue_depth = queue_depth;
        self
    }
}

impl Device for Server {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.most_at_once.fetch_max(self.queue.len() as u64 + 1, Ordering::Relaxed);
        let time = match self.service {
            Service::Fixed(time) => time,
            Service::Exponential(mean) => (-libm::log(1.0 - self.rng.unit()) * mean as f64) as Nanos,
        };
        let begin = self.free.max(now);
        self.free = begin + time;
        let mut breakdown = Breakdown::default();
        breakdown.add(Cause::Queue, begin - now);
        breakdown.add(Cause::Read, time);
        let Request { tag, op, offset_bytes, length_bytes, .. } = request;
        match op {
            Op::Read => {
                (self.host.reads, self.host.read_bytes) = (self.host.reads + 1, self.host.read_bytes + length_bytes)
            }
            Op::Write => {
                (self.host.writes, self.host.write_bytes) =
                    (self.host.writes + 1, self.host.write_bytes + length_bytes);
                let mut written = self.written.lock().unwrap();
                for sector in offset_bytes / 512..(offset_bytes + length_bytes) / 512 {
                    written.entry(sector).or_default().push(Span { sent: now, ended: self.free });
                }
            }
            _ => {}
        }
        let completed = self.free;
        let is_bad = |byte: u64| op == Op::Read && (offset_bytes..offset_bytes + length_bytes).contains(&byte);
        let status = if self.bad.is_some_and(is_bad) { Status::MediaError } else { Status::Ok };
        self.queue.push_back(Completion {
            tag,
            op,
            status,
            offset_bytes,
            length_bytes,
            submitted: now,
            completed,
            breakdown,
        });
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        self.queue.front().map(|c| c.completed)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        while let Some(completion) = self.queue.front().filter(|c| c.completed <= to) {
            done.push(*completion);
            self.queue.pop_front();
        }
    }

    fn counters(&self) -> Counters {
        Counters { host: self.host, ..Counters::default() }
    }

    fn check_books(&self) -> Result<(), String> {
        Ok(())
    }
}
