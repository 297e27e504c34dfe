//! The write-back cache of an adapter: what of the host's commands ends in it, and what it sends to the device for them.
//!
//! Here its parts work together: the lines ([`lines`]), their way to the drives ([`sweep`]) when a policy says so
//! ([`super::flush`]), reads that bring lines ([`fills`], [`streams`]), and the commands of the host that wait for either.

mod drives;
mod fills;
mod kept;
mod lines;
mod power_cuts;
mod streams;
mod sweep;
mod under_way;

use std::collections::VecDeque;

use ssdlab_core::{Cause, Nanos, Op, nanos_from_ms};
use ssdlab_device::{CacheCounters, Completion, Device, Request, Status};

use super::flush::{Decision, FlushPolicy, View, policy};
use super::host_side::HostSide;
use super::sent::For;
use super::spec::{AdapterCacheSpec, FlushChoice};
use drives::Drives;
use fills::{Fill, Reading};
use kept::Kept;
use lines::Lines;
pub use power_cuts::SavedCache;
use streams::Streams;
use sweep::Sweep;
use under_way::UnderWay;

/// See the module's own page.
#[derive(Clone)]
pub struct Cache {
    lines: Lines,
    choice: FlushChoice,
    policy: Box<dyn FlushPolicy>,
    threshold_lines: u64,
    idle: Nanos,
    battery: bool,
    force_writes: bool,
    sweep: Sweep,
    fills: UnderWay<Fill>,
    streams: Streams,
    /// Writes without room, in order.
    blocked: VecDeque<Blocked>,
    /// Reads that wait for the end of a sweep.
    held: Vec<Reading>,
    /// Flushes and forced writes with the order of lines that they wait for.
    barriers: Vec<(usize, u64)>,
    /// Since when the host has had no command here.
    quiet_since: Nanos,
    failed: Option<Status>,
    /// The host shuts the adapter down: everything is written out.
    standing_by: bool,
    counters: CacheCounters,
    /// If the device has a plug.
    kept: Option<Box<Kept>>,
}

/// A write, and how many of its bytes have room.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    command: usize,
    placed: u64,
}

impl Cache {
    /// An empty one before a device at rest.
    pub fn new(spec: &AdapterCacheSpec, device: &dyn Device) -> Self {
        let line_bytes = u64::from(spec.line_kib) << 10;
        let lines = Lines::new(u64::from(spec.capacity_mib) << 20, line_bytes, spec.dirty_limit_percent.into());
        let merge_bytes = u64::from(spec.merge_kib) << 10;
        let read_ahead_bytes = u64::from(spec.read_ahead_kib) << 10;
        Cache {
            threshold_lines: lines.capacity() * u64::from(spec.flush_threshold_percent) / 100,
            lines,
            choice: spec.flush_policy,
            policy: policy(spec.flush_policy),
            idle: nanos_from_ms(spec.flush_after_idle_ms),
            battery: spec.battery,
            force_writes: !spec.drive_write_cache,
            sweep: Sweep::new(merge_bytes, Drives::of(device, spec.drive_queue_depth)),
            fills: UnderWay::default(),
            streams: Streams::new(device.info().capacity_bytes, read_ahead_bytes),
            blocked: VecDeque::new(),
            held: Vec::new(),
            barriers: Vec::new(),
            quiet_since: 0,
            failed: None,
            standing_by: false,
            counters: CacheCounters::default(),
            kept: Kept::of(device).map(Box::new),
        }
    }

    pub fn counters(&self) -> CacheCounters {
        CacheCounters { overwritten_bytes: self.lines.overwritten_bytes(), ..self.counters }
    }

    /// What has come to the device by way of here.
    pub fn landed_bytes(&self) -> u64 {
        self.lines.written_bytes()
    }

    /// # Errors
    /// Its books do not balance, or are not those of a device that has counted so many bytes written.
    pub fn check(&self, written_bytes: u64) -> Result<(), String> {
        self.lines.check()?;
        let landed = self.landed_bytes();
        if self.sweep.writes() == 0 && written_bytes != landed {
            return Err(format!("the device has counted {written_bytes} bytes written, the cache {landed}"));
        }
        Ok(())
    }

    /// The host has had no command here since then. Returns when that has been for long enough to write out.
    pub fn quiet_since(&mut self, since: Nanos) -> Nanos {
        self.quiet_since = since;
        since + self.idle
    }

    /// From now on everything is written out, or no longer.
    pub fn stand_by(&mut self, standing_by: bool) {
        self.standing_by = standing_by;
    }

    /// A command of the host has arrived, with its data if it is a write.
    pub fn arrived(&mut self, n: usize, host: &mut HostSide, device: &mut dyn Device) {
        let op = host.request(n).op;
        if let Some(status) = self.failed.filter(|_| op != Op::Read) {
            return host.fails(n, status);
        }
        match op {
            Op::Read => self.read(Reading::new(n), host, device),
            Op::Flush if self.battery => host.ends(n),
            Op::Flush => self.barriers.push((n, self.lines.next_order())),
            Op::Write => self.blocked.push_back(Blocked { command: n, placed: 0 }),
            Op::Trim | Op::WriteZeroes => unreachable!("a cache does not support it"),
        }
    }

    /// A write to the device has ended.
    pub fn run_ended(&mut self, number: usize, part: &Completion, device: &dyn Device) {
        let run = self.sweep.ended(number, device);
        self.fills.written(run.offset_bytes, run.offset_bytes + run.length_bytes);
        let written = part.status == Status::Ok;
        self.counters.flushed_lines += self.lines.landed(run, written);
        if !written {
            self.failed.get_or_insert(part.status);
        }
    }

    /// A read of the device has ended.
    pub fn fill_ended(&mut self, number: usize, part: &Completion, host: &mut HostSide, device: &mut dyn Device) {
        let Fill { from, to, stale, ahead, waiting } = self.fills.end(number);
        let read = part.status == Status::Ok;
        if read && !stale {
            self.lines.fill(from, to - from);
        }
        for reading in waiting {
            let n = reading.command;
            host.waited_for(n, part);
            let Request { offset_bytes, length_bytes, .. } = host.request(n);
            let is_all = self.lines.missing(offset_bytes, length_bytes) == Some((from, to));
            if read {
                host.passes_to_host(n, part.submitted, part.completed);
            } else if ahead || !is_all {
                // What failed may not be what the host asked for: that is read by itself.
                self.read(reading, host, device);
            } else {
                host.fails(n, part.status);
            }
        }
    }

    /// Whatever can be done now for those that wait, and for lines that do.
    pub fn work(&mut self, host: &mut HostSide, device: &mut dyn Device) {
        self.place_writes(host);
        self.write_out(host, device);
        self.pass_barriers(host, device);
    }

    /// Answers a read, or reads what it needs, or holds it back.
    fn read(&mut self, reading: Reading, host: &mut HostSide, device: &mut dyn Device) {
        let n = reading.command;
        let Request { offset_bytes, length_bytes, .. } = host.request(n);
        if let Some(missing) = self.lines.missing(offset_bytes, length_bytes) {
            let missed = Reading { missed: true, ..reading };
            if let Some(fill) = self.fills.that_brings(missing) {
                fill.waiting.push(missed);
            } else if self.policy.holds_reads() {
                self.held.push(Reading { held: true, ..reading });
                self.counters.held_reads += u64::from(!reading.held);
                return;
            } else {
                self.fill(Fill::asked_for(missing, missed), host.now(), device);
            }
            self.counters.read_misses += u64::from(!reading.missed);
        } else {
            self.counters.read_hits += u64::from(!reading.missed);
            host.passes_to_host(n, host.now(), host.now());
        }
        self.read_ahead(offset_bytes, length_bytes, host.now(), device);
    }

    fn read_ahead(&mut self, offset_bytes: u64, length_bytes: u64, now: Nanos, device: &mut dyn Device) {
        let ahead = self.streams.follow(offset_bytes, length_bytes, !self.policy.holds_reads());
        let Some((from, to)) = ahead.and_then(|(from, to)| self.lines.missing(from, to - from)) else { return };
        self.counters.read_ahead_bytes += to - from;
        self.fill(Fill::ahead((from, to)), now, device);
    }

    fn fill(&mut self, fill: Fill, now: Nanos, device: &mut dyn Device) {
        let request = Request::read(0, fill.from, fill.to - fill.from);
        For::Fill(self.fills.begin(fill)).send(now, request, device);
    }

    /// Gives writes room, in order, as far as there is any.
    fn place_writes(&mut self, host: &mut HostSide) {
        while let Some(&Blocked { command: n, placed }) = self.blocked.front() {
            let request = host.request(n);
            if self.failed.is_none() {
                let placed = placed + self.place(&request, placed);
                if placed < request.length_bytes {
                    self.blocked[0].placed = placed;
                    return;
                }
            }
            self.blocked.pop_front();
            host.waited(n, Cause::AdapterCache);
            match self.failed {
                Some(status) => host.fails(n, status),
                None if request.fua && !self.battery => self.barriers.push((n, self.lines.next_order())),
                None => host.ends(n),
            }
        }
    }

    /// Takes what has room of a write that has `placed` bytes here already. Returns the bytes taken.
    fn place(&mut self, write: &Request, placed: u64) -> u64 {
        let (from, left) = (write.offset_bytes + placed, write.length_bytes - placed);
        let taken = self.lines.write(from, left, write.hints.compressibility_per_1000);
        if taken > 0 {
            if let Some(kept) = &mut self.kept {
                kept.taken(from, taken, placed > 0);
            }
            self.fills.written(from, from + taken);
            self.sweep.look_again();
        }
        taken
    }

    /// Writes out as the policy says, and lets reads go on that waited for the end of a sweep.
    fn write_out(&mut self, host: &mut HostSide, device: &mut dyn Device) {
        loop {
            let held_back = self.policy.holds_reads();
            let decision = self.decide(host);
            if decision == Decision::Begin {
                self.sweep.begin(&mut self.lines);
                self.counters.sweeps += 1;
            }
            if decision != Decision::Rest {
                self.send_runs(decision == Decision::GoRound, host.now(), device);
            }
            if !held_back || self.policy.holds_reads() {
                return;
            }
            // The sweep has ended. Reads go on before another one begins.
            for reading in std::mem::take(&mut self.held) {
                host.waited(reading.command, Cause::AdapterFlush);
                self.read(reading, host, device);
            }
        }
    }

    fn decide(&mut self, host: &HostSide) -> Decision {
        let view = View {
            now: host.now(),
            dirty_lines: self.lines.dirty(),
            threshold_lines: self.threshold_lines,
            ahead: self.sweep.find(&self.lines),
            writes: self.sweep.writes(),
            reads: self.fills.count(),
            demanded: !self.blocked.is_empty() || !self.barriers.is_empty() || self.writes_out_all(),
            idle_from: host.is_quiet().then_some(self.quiet_since + self.idle),
        };
        self.policy.decide(&view)
    }

    /// Drives that take no more are not asked to.
    fn writes_out_all(&self) -> bool {
        self.standing_by && self.failed.is_none()
    }

    fn send_runs(&mut self, round: bool, now: Nanos, device: &mut dyn Device) {
        while let Some((number, run)) = self.sweep.take(round, &mut self.lines, device) {
            self.counters.flush_writes += 1;
            self.counters.flushed_bytes += run.length_bytes;
            self.counters.merged_bytes += run.length_bytes.saturating_sub(self.lines.line_bytes());
            if let Some(kept) = &mut self.kept {
                kept.sent(run.offset_bytes, run.length_bytes);
            }
            let request = Request::write(0, run.offset_bytes, run.length_bytes)
                .with_fua(self.force_writes || run.survived)
                .with_compressibility(run.compressibility_per_1000);
            For::Run(number).send(now, request, device);
        }
    }

    /// Flushes and forced writes whose lines are clean go on to the device.
    fn pass_barriers(&mut self, host: &mut HostSide, device: &mut dyn Device) {
        if self.barriers.is_empty() {
            return;
        }
        let (ready, waiting): (Vec<_>, Vec<_>) =
            self.barriers.drain(..).partition(|&(_, order)| self.lines.clean_before(order));
        self.barriers = waiting;
        for (n, _) in ready {
            host.waited(n, Cause::AdapterFlush);
            match self.failed {
                Some(status) => host.fails(n, status),
                None => For::Command(n).send(host.now(), Request::flush(0), device),
            }
        }
    }
}
