//! A device of a few lines whose behaviour is known in closed form: fixed service times, a queue, a write cache that
//! slows down when it is full, and data that stay scattered until they are trimmed.
//!
//! It exists to prove the host drivers and the tests independently of the simulated drives, and to try a test out.
//! It is not a model of any product.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ssdlab_core::{Breakdown, Cause, MICROSECOND, Nanos, Op, SECOND, UNIT_BYTES};
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, EnergyCounters, FlashCounters, HostCounters, Refusal, Request, Security,
    Status,
};

use crate::lab::{Lab, PoweredOn};

/// What the model does, in full.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    pub name: String,
    pub capacity_bytes: u64,
    pub over_provisioning_percent: f64,
    /// Commands that are served at the same time; further ones queue, first come first served.
    pub ways: usize,
    /// Service time of a read: fixed part, and per byte in picoseconds.
    pub read: Nanos,
    pub read_picos_per_byte: u64,
    /// Service time of a write that the cache takes.
    pub write: Nanos,
    /// Writes are acknowledged from a cache of this size, which empties at this rate. A write that finds no room
    /// waits.
    pub cache_bytes: u64,
    pub drain_bytes_per_second: u64,
    /// What a byte costs to drain if its 4 KiB unit was scattered: once written by a command smaller than this
    /// many bytes, and not trimmed or erased since. 1 is no slower.
    pub scattered_below_bytes: u64,
    pub scattered_factor: u64,
    /// Whether reads wait until the cache is empty, as behind an adapter that writes back in one go.
    pub reads_wait_for_drain: bool,
    pub trim_works: bool,
    /// Commands that the model has or has not, beside reads, writes and flushes.
    pub supports_trim: bool,
    pub supports_secure_erase: bool,
    /// Whether it counts what its flash does.
    pub tells_of_flash: bool,
    /// Drawn all the time, and for each byte that a command moves.
    pub idle_milliwatts: u64,
    pub nanojoules_per_byte: u64,
}

impl Default for ModelSpec {
    /// 64 MB, 8 ways, reads of 100 us, writes of 20 us into a cache of 1 MB that empties at 100 MB/s (25 MB/s for
    /// scattered data).
    fn default() -> Self {
        ModelSpec {
            name: "model".to_owned(),
            capacity_bytes: 64_000_000 / UNIT_BYTES * UNIT_BYTES,
            over_provisioning_percent: 7.37,
            ways: 8,
            read: 100 * MICROSECOND,
            read_picos_per_byte: 0,
            write: 20 * MICROSECOND,
            cache_bytes: 1_000_000,
            drain_bytes_per_second: 100_000_000,
            scattered_below_bytes: 65_536,
            scattered_factor: 4,
            reads_wait_for_drain: false,
            trim_works: true,
            supports_trim: true,
            supports_secure_erase: true,
            tells_of_flash: true,
            idle_milliwatts: 500,
            nanojoules_per_byte: 2,
        }
    }
}

impl Lab for ModelSpec {
    fn fresh(&self, _seed: u64) -> Result<PoweredOn, String> {
        Ok(PoweredOn::new(ModelDevice::new(self.clone())))
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Ways in which the model can be made to misbehave, so that whoever should notice can be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The n-th command (from 0) never completes.
    Lose(u64),
    /// The n-th command completes with this status.
    Fail(u64, Status),
    /// The n-th command reports a completion one nanosecond too late.
    Misdate(u64),
    /// The books never balance.
    Books,
}

#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    mapped: bool,
    scattered: bool,
}

/// The model at work.
#[derive(Clone, Debug)]
pub struct ModelDevice {
    spec: ModelSpec,
    info: DeviceInfo,
    /// When each way is free.
    ways: Vec<Nanos>,
    /// (completes, order of submission, place).
    pending: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    slots: Vec<Completion>,
    free: Vec<usize>,
    commands: u64,
    units: Vec<Unit>,
    /// When the cache will have drained everything in it.
    drained_at: Nanos,
    now: Nanos,
    host: HostCounters,
    flash: FlashCounters,
    fault: Option<Fault>,
}

impl ModelDevice {
    /// # Panics
    /// If the specification has no ways, or a capacity that is not a number of 4 KiB units.
    #[must_use]
    pub fn new(spec: ModelSpec) -> Self {
        assert!(spec.ways > 0 && spec.drain_bytes_per_second > 0, "{spec:?}");
        assert!(spec.capacity_bytes > 0 && spec.capacity_bytes.is_multiple_of(UNIT_BYTES), "{spec:?}");
        let info = DeviceInfo {
            description: "a queue with fixed service times".to_owned(),
            capacity_bytes: spec.capacity_bytes,
            supports_trim: spec.supports_trim,
            over_provisioning_percent: spec.tells_of_flash.then_some(spec.over_provisioning_percent),
            ..DeviceInfo::new(&spec.name, "model")
        };
        ModelDevice {
            info,
            ways: vec![0; spec.ways],
            pending: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            commands: 0,
            units: vec![Unit::default(); (spec.capacity_bytes / UNIT_BYTES) as usize],
            drained_at: 0,
            now: 0,
            host: HostCounters::default(),
            flash: FlashCounters::default(),
            fault: None,
            spec,
        }
    }

    /// Makes it misbehave.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    fn units_of(&mut self, r: &Request) -> &mut [Unit] {
        let first = (r.offset_bytes / UNIT_BYTES) as usize;
        let last = ((r.offset_bytes + r.length_bytes - 1) / UNIT_BYTES) as usize;
        &mut self.units[first..=last]
    }

    /// Drain time of a write's data, and of that the part owed to scattered units.
    fn drain_time(&mut self, r: &Request) -> (Nanos, Nanos) {
        let per_second = self.spec.drain_bytes_per_second;
        let time = |bytes: u64| (u128::from(bytes) * u128::from(SECOND) / u128::from(per_second)) as Nanos;
        let small = r.length_bytes < self.spec.scattered_below_bytes;
        let units = self.units_of(r);
        let count = units.len() as u64;
        let scattered = units.iter().filter(|u| u.mapped && u.scattered).count() as u64;
        for u in units {
            u.scattered |= small;
            u.mapped = true;
        }
        let extra = r.length_bytes * scattered / count * (self.spec.scattered_factor - 1);
        self.flash.host_program_bytes += r.length_bytes;
        self.flash.gc_program_bytes += extra;
        let extra = time(extra);
        (time(r.length_bytes) + extra, extra)
    }

    /// When a command that starts at `start` is done, with the causes.
    fn serve(&mut self, start: Nanos, r: &Request, parts: &mut Breakdown) -> Nanos {
        self.host.record(r.op, r.length_bytes);
        match r.op {
            Op::Read => {
                let time = self.spec.read + r.length_bytes * self.spec.read_picos_per_byte / 1000;
                let drain = if self.spec.reads_wait_for_drain { self.drained_at.saturating_sub(start) } else { 0 };
                parts.add(Cause::Program, drain);
                parts.add(Cause::Read, time);
                start + drain + time
            }
            Op::Write => {
                let (drain, extra) = self.drain_time(r);
                self.drained_at = self.drained_at.max(start) + drain;
                // The cache has room when all but its size has been drained.
                let per_second = u128::from(self.spec.drain_bytes_per_second);
                let room = (u128::from(self.spec.cache_bytes) * u128::from(SECOND) / per_second) as Nanos;
                let wait = self.drained_at.saturating_sub(room).saturating_sub(start);
                let collecting = wait.min(extra);
                parts.add(Cause::GarbageCollection, collecting);
                parts.add(Cause::Buffer, wait - collecting);
                parts.add(Cause::Controller, self.spec.write);
                start + wait + self.spec.write
            }
            Op::Trim => {
                if self.spec.trim_works {
                    self.units_of(r).fill(Unit::default());
                }
                parts.add(Cause::Controller, self.spec.write);
                start + self.spec.write
            }
            Op::WriteZeroes => unreachable!("the model refuses it"),
            Op::Flush => {
                let end = self.drained_at.max(start);
                parts.add(Cause::Program, end - start);
                end
            }
        }
    }
}

impl Device for ModelDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        assert!(now >= self.now, "time runs backwards from {} to {now}", self.now);
        self.info.check(&request)?;
        self.now = now;
        let way = (0..self.ways.len()).min_by_key(|&w| self.ways[w]).expect("there is a way");
        let start = self.ways[way].max(now);
        let mut breakdown = Breakdown::default();
        breakdown.add(Cause::Queue, start - now);
        let mut completed = self.serve(start, &request, &mut breakdown);
        self.ways[way] = completed;
        let number = self.commands;
        self.commands += 1;
        let mut status = Status::Ok;
        match self.fault {
            Some(Fault::Lose(n)) if n == number => return Ok(()),
            Some(Fault::Fail(n, s)) if n == number => status = s,
            Some(Fault::Misdate(n)) if n == number => completed += 1,
            _ => {}
        }
        let done = Completion {
            tag: request.tag,
            op: request.op,
            status,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            submitted: now,
            completed,
            breakdown,
        };
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(done)
        } else {
            self.slots[slot] = done
        }
        let at = if self.fault == Some(Fault::Misdate(number)) { completed - 1 } else { completed };
        self.pending.push(Reverse((at, number, slot)));
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        // Draining is something that it does by itself, where anyone can notice.
        let drained = (self.spec.reads_wait_for_drain && self.drained_at > self.now).then_some(self.drained_at);
        self.pending.peek().map(|r| r.0.0).or(drained)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        assert!(to >= self.now, "time runs backwards from {} to {to}", self.now);
        self.now = to;
        while let Some(&Reverse((at, _, slot))) = self.pending.peek() {
            if at > to {
                break;
            }
            self.pending.pop();
            done.push(self.slots[slot]);
            self.free.push(slot);
        }
    }

    fn counters(&self) -> Counters {
        let bytes = self.host.read_bytes + self.host.write_bytes;
        let energy = self.now * self.spec.idle_milliwatts / 1000 + bytes * self.spec.nanojoules_per_byte;
        let flash = self.spec.tells_of_flash.then_some(self.flash);
        let energy = Some(EnergyCounters { nanojoules: energy });
        Counters { host: self.host, flash, disk: None, cache: None, energy, heat: None }
    }

    fn check_books(&self) -> Result<(), String> {
        if self.fault == Some(Fault::Books) { Err("made to fail".to_owned()) } else { Ok(()) }
    }

    fn snapshot(&self) -> Option<Box<dyn Device>> {
        Some(Box::new(self.clone()))
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        if self.spec.supports_secure_erase { Some(self) } else { None }
    }
}

impl Security for ModelDevice {
    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        assert!(self.pending.is_empty(), "a secure erase needs a device at rest");
        self.units.fill(Unit::default());
        self.drained_at = 0;
        now + SECOND
    }
}
