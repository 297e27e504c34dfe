//! A host adapter: the way from the host to a device, and perhaps a cache on it.
//!
//! **Way.** Firmware and driver take a time for each command, one after the other. Data pass the host interface at its
//! rate, each direction by itself and in order. What passes through to or from the device does so while it is on its
//! way: a command ends when the slower of the two has ended.
//!
//! **Cache.** Writes end once they are in the cache. They take lines; those without a free or clean one wait, in order.
//! A flush policy ([`flush`]) decides when dirty lines go to the device: neighbours as one write, in ascending order of
//! addresses, so many at a time. A line that has data to be written stays where it is. Clean lines are forgotten, the
//! least recently used first. Reads of what the cache has end there; what is missing of a read is read in one piece, and
//! kept. A read that goes on where an earlier one ended is followed by reading ahead.
//!
//! **Flush and forced writes.** With a battery they end in the cache. Without, they wait until every line that was dirty
//! before them is clean, and then for a flush of the device. A flush that fails loses its data: every later write and
//! flush ends with the error.
//!
//! Not modelled: memory bandwidth and parity of the adapter; trims do not pass a cache.

mod as_plug;
mod drives;
pub mod flush;
mod kept;
mod lines;
mod spec;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ssdlab_core::{Breakdown, Cause, Nanos, Op, SECTOR_BYTES, UNIT_BYTES, nanos_from_ms, nanos_from_us};
use ssdlab_device::{
    CacheCounters, Completion, Counters, Device, DeviceInfo, HostCounters, Occupancy, Plug, PowerManagement, Recorder,
    Refusal, Request, Security, Status,
};

use crate::plug_of_pages;
#[doc(hidden)]
pub use as_plug::SavedAdapter;
use drives::Drives;
use flush::{Decision, FlushPolicy, View, policy};
use kept::Kept;
use lines::{Lines, Run};
pub use spec::{AdapterCacheSpec, AdapterKind, AdapterLinkSpec, AdapterSpec, FlushChoice, adapter_keys};

/// See the module's own page.
pub struct Adapter {
    info: DeviceInfo,
    device: Box<dyn Device>,
    device_before: HostCounters,
    way: Way,
    cache: Option<Cache>,
    commands: Vec<Command>,
    free: Vec<usize>,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    /// Events so far, so that those of one instant keep their order.
    event_number: u64,
    now: Nanos,
    host: HostCounters,
    occupancy: Occupancy,
    ended: Vec<Completion>,
    /// Since the power came back: from when on the drives serve commands.
    ready: Nanos,
}

/// Processor and host interface: when each is free.
#[derive(Clone, Debug)]
struct Way {
    command: Nanos,
    picos_per_byte: u64,
    processor_free: Nanos,
    to_device_free: Nanos,
    to_host_free: Nanos,
}

struct Cache {
    lines: Lines,
    policy: Box<dyn FlushPolicy>,
    line_bytes: u64,
    threshold_lines: u64,
    idle: Nanos,
    drives: Drives,
    /// Nothing that is looked at goes to a drive that has room, until a write ends or something becomes dirty.
    no_room: bool,
    merge_bytes: u64,
    read_ahead_bytes: u64,
    battery: bool,
    force_writes: bool,
    /// Line from which the next run is taken.
    cursor: u64,
    /// A sweep takes lines that have been waited for since before this order: what comes while it goes on is for the next one.
    sweeps_before: u64,
    runs: Vec<Option<Run>>,
    runs_under_way: usize,
    fills: Vec<Option<Fill>>,
    fills_under_way: usize,
    /// Writes without room, in order.
    blocked: VecDeque<usize>,
    /// Reads that wait for the end of a sweep.
    held: Vec<usize>,
    /// Flushes and forced writes with the order of lines that they wait for.
    barriers: Vec<(usize, u64)>,
    /// Where the last streams of reads ended, and how far ahead of them has been read.
    streams: [(u64, u64); STREAMS],
    next_stream: usize,
    /// Since when the host has had no command here.
    quiet_since: Nanos,
    failed: Option<Status>,
    counters: CacheCounters,
    choice: FlushChoice,
    /// If the device has a plug.
    kept: Option<Box<Kept>>,
}

/// Lines that are looked at for one whose drives have room.
const LOOKED_AT: usize = 64;

/// Streams of reads that the adapter follows.
const STREAMS: usize = 8;

/// A read of the device that ends in the cache.
#[derive(Clone, Debug)]
struct Fill {
    offset_bytes: u64,
    length_bytes: u64,
    /// What was written meanwhile is newer: nothing of it is kept.
    stale: bool,
    ahead: bool,
    waiting: Vec<usize>,
}

/// A command of the host. Its place in the list is its number.
#[derive(Clone, Copy, Debug)]
struct Command {
    request: Request,
    submitted: Nanos,
    /// Up to here the breakdown is complete.
    told: Nanos,
    breakdown: Breakdown,
    status: Status,
    /// Of a write that passes through: when its data have passed the host interface.
    passed: Nanos,
    /// Of a write into the cache: bytes that have room.
    placed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A command, and its data if it is a write into the cache, have arrived.
    Arrived(usize),
    Ends(usize),
    /// The host has been quiet for long enough.
    Idle,
}

/// Whom a command to the device is for, in its tag.
enum For {
    Command(usize),
    Run(usize),
    Fill(usize),
}

impl For {
    fn tag(&self) -> u64 {
        match *self {
            For::Command(n) => (n as u64) << 2,
            For::Run(n) => (n as u64) << 2 | 1,
            For::Fill(n) => (n as u64) << 2 | 2,
        }
    }

    fn of(tag: u64) -> Self {
        let n = (tag >> 2) as usize;
        match tag & 3 {
            0 => For::Command(n),
            1 => For::Run(n),
            _ => For::Fill(n),
        }
    }
}

impl Way {
    fn time(&self, bytes: u64) -> Nanos {
        (u128::from(bytes) * u128::from(self.picos_per_byte) / 1000) as Nanos
    }

    fn rest_until(&mut self, time: Nanos) {
        (self.processor_free, self.to_device_free, self.to_host_free) = (time, time, time);
    }

    /// When the processor has dealt with a command that comes at `now`.
    fn command(&mut self, now: Nanos) -> Nanos {
        self.processor_free = self.processor_free.max(now) + self.command;
        self.processor_free
    }
}

impl Command {
    fn spend(&mut self, cause: Cause, until: Nanos) {
        self.breakdown.add(cause, until - self.told);
        self.told = until;
    }

    /// What a command to the device took, that this one waited for.
    fn spend_as(&mut self, part: &Completion) {
        let known = part.breakdown.sum();
        let waited = part.completed - self.told;
        if known == waited {
            self.breakdown.merge(&part.breakdown);
            self.told = part.completed;
        } else {
            // It was under way before this one waited for it, or the device does not say.
            self.spend(Cause::Queue, part.completed);
        }
    }
}

/// Puts something into the first free place.
fn put<T>(places: &mut Vec<Option<T>>, what: T) -> usize {
    let place = places.iter().position(Option::is_none).unwrap_or(places.len());
    if place == places.len() {
        places.push(None);
    }
    places[place] = Some(what);
    place
}

impl Adapter {
    /// An adapter with a device at rest.
    #[must_use]
    pub fn new(name: &str, spec: &AdapterSpec, device: Box<dyn Device>) -> Self {
        let inner = device.info();
        let cached = spec.cache.is_some();
        let info = DeviceInfo {
            description: format!("{} on {}", inner.name, spec.description),
            kind: "array",
            name: name.to_owned(),
            supports_trim: inner.supports_trim && !cached,
            supports_write_zeroes: inner.supports_write_zeroes && !cached,
            streams: if cached { 1 } else { inner.streams },
            holds_contents: false,
            ..inner.clone()
        };
        // Units of 4 KiB are counted in 32 bits.
        let can_be_kept = info.capacity_bytes.div_ceil(UNIT_BYTES) <= u64::from(u32::MAX);
        let plug = plug_of_pages(&*device).filter(|_| can_be_kept);
        let greatest = plug.map(|plug| plug.greatest_write_number());
        let kept = greatest.map(|greatest| Box::new(Kept::new(info.capacity_bytes, greatest)));
        let cache = spec.cache.as_ref().map(|cache| Cache { kept, ..Cache::new(cache, &*device) });
        Adapter {
            info,
            device_before: device.counters().host,
            device,
            way: Way {
                command: nanos_from_us(spec.link.command_us),
                picos_per_byte: (1e6 / spec.link.megabytes_per_s + 0.5) as u64,
                processor_free: 0,
                to_device_free: 0,
                to_host_free: 0,
            },
            cache,
            ready: 0,
            commands: Vec::new(),
            free: Vec::new(),
            events: BinaryHeap::new(),
            event_number: 0,
            now: 0,
            host: HostCounters::default(),
            occupancy: Occupancy::default(),
            ended: Vec::new(),
        }
    }

    /// The power goes: commands under way never end, and a cache keeps what its battery keeps.
    fn power_cut(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        self.commands.clear();
        self.free.clear();
        self.events.clear();
        self.ended.clear();
        self.occupancy.power_cut(now);
        if let Some(cache) = &mut self.cache {
            cache.power_cut();
        }
        let counted = self.cache.as_ref().map_or(self.host.write_bytes, Cache::landed_bytes);
        self.device_before.write_bytes = self.device.counters().host.write_bytes.saturating_sub(counted);
    }

    fn at(&mut self, time: Nanos, event: Event) {
        self.events.push(Reverse((time, self.event_number, event)));
        self.event_number += 1;
    }

    fn send(&mut self, whom: &For, request: Request) {
        let request = Request { tag: whom.tag(), ..request };
        if let Err(refusal) = self.device.submit(self.now, request) {
            panic!("{} refused what its adapter sent: {refusal}", self.device.info().name);
        }
    }

    fn arrived(&mut self, n: usize) {
        let op = self.commands[n].request.op;
        let Some(cache) = &mut self.cache else { return self.send(&For::Command(n), self.commands[n].request) };
        if let Some(status) = cache.failed.filter(|_| op != Op::Read) {
            self.commands[n].status = status;
            return self.at(self.now, Event::Ends(n));
        }
        match op {
            Op::Read => self.read(n),
            Op::Flush if cache.battery => self.at(self.now, Event::Ends(n)),
            Op::Flush => cache.barriers.push((n, cache.lines.next_order())),
            Op::Write => cache.blocked.push_back(n),
            Op::Trim | Op::WriteZeroes => unreachable!("a cache does not support it"),
        }
    }

    /// Answers a read from the cache, or sends it on, or holds it back.
    fn read(&mut self, n: usize) {
        let now = self.now;
        let Request { offset_bytes, length_bytes, .. } = self.commands[n].request;
        let cache = self.cache.as_mut().expect("only a cache holds reads back");
        let Some((from, to)) = cache.lines.missing(offset_bytes, length_bytes) else {
            cache.counters.read_hits += 1;
            self.pass_to_host(n, now, now);
            return self.read_ahead(offset_bytes, length_bytes);
        };
        let covers = |f: &Fill| !f.stale && f.offset_bytes <= from && to <= f.offset_bytes + f.length_bytes;
        if let Some(fill) = cache.fills.iter_mut().flatten().find(|f| covers(f)) {
            fill.waiting.push(n);
        } else if cache.policy.holds_reads() {
            cache.held.push(n);
            cache.counters.held_reads += 1;
            return;
        } else {
            let fill =
                Fill { offset_bytes: from, length_bytes: to - from, stale: false, ahead: false, waiting: vec![n] };
            self.start_fill(fill);
        }
        if let Some(cache) = &mut self.cache {
            cache.counters.read_misses += 1;
        }
        self.read_ahead(offset_bytes, length_bytes);
    }

    fn start_fill(&mut self, fill: Fill) {
        let request = Request::read(0, fill.offset_bytes, fill.length_bytes);
        let cache = self.cache.as_mut().expect("only a cache is filled");
        let place = put(&mut cache.fills, fill);
        cache.fills_under_way += 1;
        self.send(&For::Fill(place), request);
    }

    /// Reads ahead of a stream that goes on where it ended.
    fn read_ahead(&mut self, offset_bytes: u64, length_bytes: u64) {
        let capacity = self.info.capacity_bytes;
        let cache = self.cache.as_mut().expect("only a cache reads ahead");
        let ahead = cache.read_ahead_bytes;
        let end = offset_bytes + length_bytes;
        let Some(stream) = cache.streams.iter_mut().find(|s| s.0 == offset_bytes && s.1 > 0) else {
            cache.streams[cache.next_stream] = (end, end);
            cache.next_stream = (cache.next_stream + 1) % STREAMS;
            return;
        };
        stream.0 = end;
        let from = stream.1.max(end);
        let to = (end + ahead).min(capacity);
        if ahead == 0 || from >= to || from - end > ahead / 2 || cache.policy.holds_reads() {
            return;
        }
        stream.1 = to;
        if let Some((from, to)) = cache.lines.missing(from, to - from) {
            cache.counters.read_ahead_bytes += to - from;
            let fill =
                Fill { offset_bytes: from, length_bytes: to - from, stale: false, ahead: true, waiting: Vec::new() };
            self.start_fill(fill);
        }
    }

    /// Data of which the first are there at `first` and the last at `last` go to the host.
    fn pass_to_host(&mut self, n: usize, first: Nanos, last: Nanos) {
        let command = &mut self.commands[n];
        let time = self.way.time(command.request.length_bytes);
        // What comes from the device passes while it comes.
        let begin = self.way.to_host_free.max(last.saturating_sub(time)).max(first);
        let end = last.max(begin + time);
        self.way.to_host_free = end;
        command.spend(Cause::Link, end);
        self.at(end, Event::Ends(n));
    }

    fn device_ended(&mut self, part: &Completion) {
        match For::of(part.tag) {
            For::Command(n) => {
                let command = &mut self.commands[n];
                command.status = part.status;
                command.spend_as(part);
                let passed = command.passed.max(part.completed);
                if part.op == Op::Read && part.status == Status::Ok {
                    return self.pass_to_host(n, part.submitted, part.completed);
                }
                command.spend(Cause::Link, passed);
                self.at(passed, Event::Ends(n));
            }
            For::Run(place) => {
                let cache = self.cache.as_mut().expect("only a cache writes out");
                let run = cache.runs[place].take().expect("it was under way");
                cache.runs_under_way -= 1;
                cache.no_room = false;
                cache.drives.ended(&*self.device, run.offset_bytes, run.length_bytes);
                let written = part.status == Status::Ok;
                cache.counters.flushed_lines += cache.lines.landed(run, written);
                if !written {
                    cache.failed.get_or_insert(part.status);
                }
            }
            For::Fill(place) => {
                let cache = self.cache.as_mut().expect("only a cache is filled");
                let fill = cache.fills[place].take().expect("it was under way");
                cache.fills_under_way -= 1;
                let read = part.status == Status::Ok;
                if read && !fill.stale {
                    cache.lines.fill(fill.offset_bytes, fill.length_bytes);
                }
                for n in fill.waiting {
                    let command = &mut self.commands[n];
                    command.spend_as(part);
                    let Request { offset_bytes, length_bytes, .. } = command.request;
                    let missing = self.cache.as_mut().and_then(|c| c.lines.missing(offset_bytes, length_bytes));
                    let is_all = missing == Some((fill.offset_bytes, fill.offset_bytes + fill.length_bytes));
                    if read {
                        self.pass_to_host(n, part.submitted, part.completed);
                    } else if fill.ahead || !is_all {
                        // What failed may not be what the host asked for: that is read by itself.
                        self.read(n);
                    } else {
                        command.status = part.status;
                        self.at(part.completed, Event::Ends(n));
                    }
                }
            }
        }
    }

    /// Gives writes room, in order, as far as there is any.
    fn place_writes(&mut self) {
        let now = self.now;
        let Some(cache) = &mut self.cache else { return };
        while let Some(&n) = cache.blocked.front() {
            let command = &mut self.commands[n];
            let Request { offset_bytes, length_bytes, fua, hints, .. } = command.request;
            if let Some(status) = cache.failed {
                command.status = status;
                command.placed = length_bytes;
            }
            let (offset, left) = (offset_bytes + command.placed, length_bytes - command.placed);
            let taken = cache.lines.write(offset, left, hints.compressibility_per_1000);
            if let Some(kept) = cache.kept.as_mut().filter(|_| taken > 0) {
                kept.taken(offset, taken, command.placed > 0);
            }
            for fill in cache.fills.iter_mut().flatten().filter(|_| taken > 0) {
                let apart = offset + taken <= fill.offset_bytes || fill.offset_bytes + fill.length_bytes <= offset;
                fill.stale |= !apart;
            }
            command.placed += taken;
            cache.no_room &= taken == 0;
            if command.placed < length_bytes {
                return;
            }
            cache.blocked.pop_front();
            command.spend(Cause::AdapterCache, now);
            if fua && !cache.battery && command.status == Status::Ok {
                cache.barriers.push((n, cache.lines.next_order()));
            } else {
                self.events.push(Reverse((now, self.event_number, Event::Ends(n))));
                self.event_number += 1;
            }
        }
    }

    /// Writes out as the policy says, lets reads go on, and ends what waited for clean lines.
    fn write_out(&mut self) {
        loop {
            let Some(cache) = &mut self.cache else { return };
            let held_back = cache.policy.holds_reads();
            let quiet = self.occupancy.in_flight() == 0;
            let ahead = cache.lines.ready_from(cache.cursor, cache.sweeps_before).next();
            // What lies between is never for this sweep.
            cache.cursor = ahead.unwrap_or(cache.cursor);
            let view = View {
                now: self.now,
                dirty_lines: cache.lines.dirty(),
                threshold_lines: cache.threshold_lines,
                ahead: ahead.is_some(),
                writes: cache.runs_under_way,
                reads: cache.fills_under_way,
                demanded: !cache.blocked.is_empty() || !cache.barriers.is_empty(),
                idle_from: quiet.then_some(cache.quiet_since + cache.idle),
            };
            let decision = cache.policy.decide(&view);
            if decision == Decision::Begin {
                cache.cursor = 0;
                cache.sweeps_before = cache.lines.next_order();
                cache.no_room = false;
                cache.counters.sweeps += 1;
            }
            if decision != Decision::Rest {
                self.send_runs(decision == Decision::GoRound);
            }
            let cache = self.cache.as_mut().expect("it has not gone");
            if !held_back || cache.policy.holds_reads() {
                return;
            }
            // The sweep has ended. Reads go on before another one begins.
            for n in std::mem::take(&mut cache.held) {
                self.commands[n].spend(Cause::AdapterFlush, self.now);
                self.read(n);
            }
        }
    }

    fn send_runs(&mut self, round: bool) {
        while let Some(cache) = self.cache.as_mut() {
            let Some((number, length_bytes)) = cache.next_run(&*self.device, round) else { return };
            let run = cache.lines.take(number, length_bytes);
            if number == cache.cursor {
                // The rest of a line that was taken in part is still ahead.
                cache.cursor = (run.offset_bytes + run.length_bytes) / cache.line_bytes;
            }
            cache.drives.sent(&*self.device, run.offset_bytes, run.length_bytes);
            cache.runs_under_way += 1;
            cache.counters.flush_writes += 1;
            cache.counters.flushed_bytes += run.length_bytes;
            cache.counters.merged_bytes += run.length_bytes.saturating_sub(cache.line_bytes);
            let fua = cache.force_writes || run.survived;
            if let Some(kept) = &mut cache.kept {
                kept.sent(run.offset_bytes, run.length_bytes);
            }
            let place = put(&mut cache.runs, run);
            let request = Request::write(0, run.offset_bytes, run.length_bytes)
                .with_fua(fua)
                .with_compressibility(run.compressibility_per_1000);
            self.send(&For::Run(place), request);
        }
    }

    /// Flushes and forced writes whose lines are clean go on to the device.
    fn pass_barriers(&mut self) {
        let Some(cache) = &mut self.cache else { return };
        if cache.barriers.is_empty() {
            return;
        }
        let (ready, waiting): (Vec<_>, Vec<_>) =
            cache.barriers.drain(..).partition(|&(_, order)| cache.lines.clean_before(order));
        cache.barriers = waiting;
        let failed = cache.failed;
        for (n, _) in ready {
            self.commands[n].spend(Cause::AdapterFlush, self.now);
            match failed {
                Some(status) => {
                    self.commands[n].status = status;
                    self.at(self.now, Event::Ends(n));
                }
                None => self.send(&For::Command(n), Request::flush(0)),
            }
        }
    }

    fn end(&mut self, n: usize) {
        let Command { request, submitted, breakdown, status, told, .. } = self.commands[n];
        debug_assert_eq!(told, self.now, "{request:?}");
        self.free.push(n);
        self.occupancy.leave(submitted, self.now);
        if status == Status::Ok {
            self.host.record(request.op, request.length_bytes);
        }
        self.ended.push(Completion {
            tag: request.tag,
            op: request.op,
            status,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            submitted,
            completed: self.now,
            breakdown,
        });
        if self.occupancy.in_flight() == 0 {
            let idle = self.cache.as_mut().map(|cache| {
                cache.quiet_since = self.now;
                cache.idle
            });
            if let Some(idle) = idle {
                self.at(self.now + idle, Event::Idle);
            }
        }
    }

    /// Whatever happens at `self.now` does, in order, until nothing more does.
    fn happen(&mut self, parts: &mut Vec<Completion>) {
        loop {
            self.device.advance(self.now, parts);
            let mut quiet = parts.is_empty();
            for part in parts.drain(..) {
                self.device_ended(&part);
            }
            while let Some(&Reverse((at, _, event))) = self.events.peek() {
                if at > self.now {
                    break;
                }
                self.events.pop();
                quiet = false;
                match event {
                    Event::Arrived(n) => self.arrived(n),
                    Event::Ends(n) => self.end(n),
                    Event::Idle => {}
                }
            }
            if self.cache.is_some() {
                self.place_writes();
                self.write_out();
                self.pass_barriers();
            }
            let more = |at: Option<Nanos>| at.is_some_and(|at| at <= self.now);
            if quiet && !more(self.device.next_event()) && !more(self.events.peek().map(|e| e.0.0)) {
                return;
            }
        }
    }
}

impl Cache {
    fn new(spec: &AdapterCacheSpec, device: &dyn Device) -> Self {
        let line_bytes = u64::from(spec.line_kib) << 10;
        let lines = Lines::new(u64::from(spec.capacity_mib) << 20, line_bytes, spec.dirty_limit_percent.into());
        Cache {
            threshold_lines: lines.capacity() * u64::from(spec.flush_threshold_percent) / 100,
            lines,
            policy: policy(spec.flush_policy),
            line_bytes,
            idle: nanos_from_ms(spec.flush_after_idle_ms),
            drives: Drives::of(device, spec.drive_queue_depth),
            no_room: false,
            merge_bytes: u64::from(spec.merge_kib) << 10,
            read_ahead_bytes: u64::from(spec.read_ahead_kib) << 10,
            battery: spec.battery,
            force_writes: !spec.drive_write_cache,
            cursor: 0,
            sweeps_before: u64::MAX,
            runs: Vec::new(),
            runs_under_way: 0,
            fills: Vec::new(),
            fills_under_way: 0,
            blocked: VecDeque::new(),
            held: Vec::new(),
            barriers: Vec::new(),
            streams: [(0, 0); STREAMS],
            next_stream: 0,
            quiet_since: 0,
            failed: None,
            counters: CacheCounters::default(),
            choice: spec.flush_policy,
            kept: None,
        }
    }

    /// The line from which the next write to the drives is taken, and how long that is: the next in order, or one behind it whose
    /// drives have room where those of the next have not.
    fn next_run(&mut self, device: &dyn Device, round: bool) -> Option<(u64, u64)> {
        if self.no_room || self.drives.are_full() {
            return None;
        }
        let mut next = self.lines.ready_from(self.cursor, self.sweeps_before).next();
        if next.is_none() && round {
            next = self.lines.ready_from(0, self.sweeps_before).next();
        }
        self.cursor = next?;
        let with_room = |number: u64| {
            let first = self.lines.first_ready(number);
            // Most have none.
            if !self.drives.have_room(device, first, SECTOR_BYTES) {
                return None;
            }
            let (_, merged) = self.lines.run_at(number, self.merge_bytes);
            let length_bytes = self.drives.with_the_first(device, first, merged, self.line_bytes);
            self.drives.have_room(device, first, length_bytes).then_some((number, length_bytes))
        };
        let found = self.lines.ready_from(self.cursor, self.sweeps_before).take(LOOKED_AT).find_map(with_room);
        self.no_room = found.is_none();
        found
    }

    /// What runs have brought to the device.
    fn landed_bytes(&self) -> u64 {
        self.lines.flow.written * SECTOR_BYTES
    }

    fn power_cut(&mut self) {
        self.lines.power_cut(self.battery);
        self.policy = policy(self.choice);
        (self.cursor, self.sweeps_before) = (0, u64::MAX);
        self.runs.clear();
        self.runs_under_way = 0;
        self.drives.power_cut();
        self.no_room = false;
        self.fills.clear();
        self.fills_under_way = 0;
        self.blocked.clear();
        self.held.clear();
        self.barriers.clear();
        self.streams = [(0, 0); STREAMS];
        self.next_stream = 0;
        self.failed = None;
    }

    fn copy(&self) -> Self {
        Cache {
            lines: self.lines.clone(),
            policy: self.policy.copy(),
            drives: self.drives.clone(),
            runs: self.runs.clone(),
            fills: self.fills.clone(),
            blocked: self.blocked.clone(),
            held: self.held.clone(),
            barriers: self.barriers.clone(),
            kept: self.kept.clone(),
            ..*self
        }
    }
}

impl Device for Adapter {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        self.now = now;
        self.occupancy.enter(now);
        let mut command = Command {
            request,
            submitted: now,
            told: now,
            breakdown: Breakdown::default(),
            status: Status::Ok,
            passed: 0,
            placed: 0,
        };
        command.spend(Cause::Controller, self.way.command(now));
        if request.op == Op::Write {
            let begin = self.way.to_device_free.max(command.told);
            let end = begin + self.way.time(request.length_bytes);
            self.way.to_device_free = end;
            // Into a cache when it is all there; through to the device as it comes.
            command.passed = end;
            command.spend(Cause::Link, if self.cache.is_some() { end } else { begin });
        }
        let arrives = command.told;
        let n = self.free.pop().unwrap_or(self.commands.len());
        if n == self.commands.len() {
            self.commands.push(command);
        } else {
            self.commands[n] = command;
        }
        self.at(arrives, Event::Arrived(n));
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        let own = self.events.peek().map(|event| event.0.0);
        let device = self.device.next_event();
        own.into_iter().chain(device).min()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let mut parts = Vec::new();
        while let Some(at) = self.next_event().filter(|&at| at <= to) {
            self.now = self.now.max(at);
            self.happen(&mut parts);
        }
        self.now = to;
        self.device.advance(to, &mut parts);
        done.append(&mut self.ended);
    }

    /// Commands and bytes as the host asked for them; the rest is the device's.
    fn counters(&self) -> Counters {
        let cache = self
            .cache
            .as_ref()
            .map(|c| CacheCounters { overwritten_bytes: c.lines.flow.overwritten * SECTOR_BYTES, ..c.counters });
        let inner = self.device.counters();
        let own = Counters { cache, ..Counters::default() };
        Counters { host: self.host, ..inner.plus(&own) }
    }

    fn check_books(&self) -> Result<(), String> {
        self.device.check_books().map_err(|e| format!("{}: {e}", self.device.info().name))?;
        self.occupancy.check()?;
        let device = self.device.counters().host;
        let written = device.write_bytes - self.device_before.write_bytes;
        match &self.cache {
            None if self.occupancy.in_flight() == 0 && written != self.host.write_bytes => {
                Err(format!("the device has counted {written} bytes written, the host {}", self.host.write_bytes))
            }
            None => Ok(()),
            Some(cache) => {
                cache.lines.check()?;
                let landed = cache.landed_bytes();
                if cache.runs_under_way == 0 && written != landed {
                    return Err(format!("the device has counted {written} bytes written, the cache {landed}"));
                }
                Ok(())
            }
        }
    }

    fn snapshot(&self) -> Option<Box<dyn Device>> {
        Some(Box::new(Adapter {
            device: self.device.snapshot()?,
            info: self.info.clone(),
            device_before: self.device_before,
            way: self.way.clone(),
            cache: self.cache.as_ref().map(Cache::copy),
            commands: self.commands.clone(),
            free: self.free.clone(),
            events: self.events.clone(),
            event_number: self.event_number,
            now: self.now,
            host: self.host,
            occupancy: self.occupancy.clone(),
            ended: self.ended.clone(),
            ready: self.ready,
        }))
    }

    /// That of the device, if no cache lies before it.
    fn power(&mut self) -> Option<&mut dyn PowerManagement> {
        if self.cache.is_some() { None } else { self.device.power() }
    }

    /// As [`Device::power`].
    fn celsius(&self) -> Option<f64> {
        self.device.celsius()
    }

    /// That of the device. Of the cache nothing is noted.
    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        self.device.recorder()
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        if self.cache.is_some() { None } else { self.device.security() }
    }

    /// If the device has one of 4 KiB.
    fn plug(&mut self) -> Option<&mut dyn Plug> {
        plug_of_pages(&*self.device).is_some().then_some(self as &mut dyn Plug)
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        plug_of_pages(&*self.device).is_some().then_some(self as &dyn Plug)
    }
}
