//! The disk as a device: commands in, the arm from place to place, completions out.
//!
//! ```text
//! submit → [slot] → firmware ─┬─ read held in the cache ───────────────────────────→ link → done
//!                             ├─ read ahead already under way: until it has passed ─┐
//!                             ├─ read → waits for the arm → seek, rotation, transfer ┴→ link → done
//!                             ├─ write → waits for room → link → cache → done
//!                             │                                  └→ later: seek, rotation, transfer
//!                             ├─ write through (FUA, no write-back): done when it is on the platters
//!                             └─ flush: done when all that the cache held is on the platters
//! ```
//!
//! The arm does one thing at a time. When it is free it serves, in this order: reads, and cached writes that somebody
//! waits for (a full cache, a flush, a write through, or too long a wait), whichever is reached first; then it reads on
//! where it last read; then it writes what is cached. Reading on is given up at once for anything that somebody waits
//! for; everything else is done to its end.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use ssdlab_core::{Cause, Nanos, Op, Ring, Rng, SECTOR_BYTES, nanos_from_ms, nanos_from_us};
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, DiskCounters, EnergyCounters, HostCounters, HostQueue, Occupancy, Plug,
    Recorder, Refusal, Request, Sent, Timeline,
};
use ssdlab_keys::SpecError;

use crate::commands::Command;
use crate::geometry::{Geometry, Track, turn_of};
use crate::plug::PlugState;
use crate::read_cache::{ReadCache, ReadOn};
use crate::records::Records;
use crate::seek::{self, SeekTable};
use crate::spec::{DiskSpec, PowerSpec, ServiceOrder};
use crate::targets::{Access, Choice, Now, Targets};
use crate::waiting_reads::WaitingReads;
use crate::write_cache::{Extent, Piece, WriteCache};

/// What never changes: shared between a disk and its copies.
#[derive(Debug)]
pub(crate) struct Mechanics {
    geometry: Geometry,
    reads: SeekTable,
    writes: SeekTable,
    read_switch: u32,
    write_switch: u32,
    turn: u32,
    /// Where in its turn the platter was at time 0.
    phase: u32,
    order: ServiceOrder,
    longest_wait: Nanos,
    command: Nanos,
    /// Picoseconds of a byte on the link.
    byte_picos: u64,
    sectors: u32,
    read_ahead: u32,
    write_back: bool,
    power: Option<PowerSpec>,
    pub(crate) spin_up: Nanos,
}

/// What the arm is at.
#[derive(Clone, Copy, Debug)]
struct Busy {
    began: Nanos,
    ends: Nanos,
    access: Access,
    transfer: Nanos,
    /// Where the arm is then.
    track: Track,
    work: Work,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    /// For the command in this slot.
    Read {
        slot: u32,
    },
    Destage,
}

/// A simulated hard disk. See the module's own page.
#[derive(Clone, Debug)]
pub struct Disk {
    info: DeviceInfo,
    pub(crate) mechanics: Arc<Mechanics>,
    pub(crate) now: Nanos,
    host_queue: HostQueue,
    slots: Vec<Command>,
    free_slots: Vec<u32>,
    processor_free: Nanos,
    link_free: Nanos,
    /// Slots of commands that the firmware reads, and of those whose data are on the link, with the time of the end.
    decoding: Ring<(Nanos, u32)>,
    leaving: Ring<(Nanos, u32)>,
    reads: WaitingReads,
    read_cache: ReadCache,
    read_on: Option<ReadOn>,
    write_cache: WriteCache,
    /// Writes that wait for room in the cache, in order; writes that wait until they are on the platters.
    without_room: VecDeque<u32>,
    through: Vec<u32>,
    /// Flushes, with the number of the last write before them.
    flushes: Vec<(u32, u64)>,
    writes_numbered: u64,
    arm: Track,
    busy: Option<Busy>,
    /// Time that the arm has spent on cached writes, up to the end of the one under way.
    destage_time: Nanos,
    /// Completed before the host asked.
    early: Vec<Completion>,
    pub(crate) host: HostCounters,
    counters: DiskCounters,
    occupancy: Occupancy,
    pub(crate) plug: PlugState,
    /// What the arm did, if somebody wants that.
    records: Option<Box<Records>>,
}

impl Disk {
    /// `seed` says where in its turn the platter is at first.
    ///
    /// # Errors
    /// The first value of `spec` that cannot be built.
    pub fn new(name: &str, spec: DiskSpec, seed: u64) -> Result<Disk, SpecError> {
        spec.validate()?;
        let turn = turn_of(&spec.media);
        let [reads, writes] = seek::tables(&spec.seek, spec.media.cylinders(), turn)?;
        let geometry = Geometry::new(&spec.media, |distance| reads.of(distance).nanos.into());
        let settle = nanos_from_ms(spec.seek.single_track_write_ms - spec.seek.single_track_read_ms) as u32;
        let read_switch = nanos_from_ms(spec.seek.head_switch_ms) as u32;
        let segment = spec.cache.segment_kib * 2;
        let depth = spec.controller.queue_depth;
        let any = Command::new(Request::flush(0), 0, 0, 0);
        let sectors = (spec.capacity_bytes / SECTOR_BYTES) as u32;
        let plug = PlugState::new(name, &spec, seed);
        Ok(Disk {
            info: DeviceInfo {
                description: spec.description,
                capacity_bytes: spec.capacity_bytes,
                queue_depth: depth,
                ..DeviceInfo::new(name, "hdd")
            },
            mechanics: Arc::new(Mechanics {
                geometry,
                reads,
                writes,
                read_switch,
                write_switch: read_switch + settle,
                turn,
                phase: Rng::new(seed).stream("platter").below(turn.into()) as u32,
                order: spec.controller.order,
                longest_wait: nanos_from_ms(spec.controller.longest_wait_ms),
                command: nanos_from_us(spec.controller.command_us),
                byte_picos: 1_000_000 / u64::from(spec.controller.link_mb_per_s),
                sectors,
                read_ahead: spec.cache.read_ahead_kib * 2,
                write_back: spec.cache.write_back,
                power: spec.power,
                spin_up: nanos_from_ms(spec.media.spin_up_ms),
            }),
            now: 0,
            host_queue: HostQueue::new(depth, spec.controller.not_queued.sent_alone()),
            slots: vec![any; depth as usize],
            free_slots: (0..depth).rev().collect(),
            processor_free: 0,
            link_free: 0,
            decoding: Ring::new(depth as usize, (0, 0)),
            leaving: Ring::new(depth as usize, (0, 0)),
            reads: WaitingReads::default(),
            read_cache: ReadCache::new(spec.cache.read_segments, segment),
            read_on: None,
            write_cache: WriteCache::new(spec.cache.write_segments, segment),
            without_room: VecDeque::new(),
            through: Vec::new(),
            flushes: Vec::new(),
            writes_numbered: 0,
            arm: Track::default(),
            busy: None,
            destage_time: 0,
            early: Vec::new(),
            host: HostCounters::default(),
            counters: DiskCounters::default(),
            occupancy: Occupancy::default(),
            records: None,
            plug,
        })
    }

    /// Byte ranges that are acknowledged or on their way into the cache and not on the platters: what a power cut would
    /// take. In no order.
    pub fn unwritten(&self) -> impl Iterator<Item = std::ops::Range<u64>> + '_ {
        let all = self.write_cache.extents().iter().chain(&self.write_cache.writing);
        all.map(|e| u64::from(e.from) * SECTOR_BYTES..u64::from(e.to) * SECTOR_BYTES)
    }

    /// The power goes: everything in memory is forgotten, and the heads are parked. Returns what had not been written, and,
    /// of an extent that was being written, which sectors have been.
    pub(crate) fn power_cut(&mut self, now: Nanos) -> (Vec<Range<u32>>, Range<u32>) {
        self.now = self.now.max(now);
        self.stop_reading_on(now);
        if let Some(records) = &mut self.records {
            records.power_cut(now);
        }
        self.destage_time = self.destage_time_at(now);
        self.counters = self.counted_by(now);
        let reached = self.written_so_far(now);
        let lost = self.write_cache.extents().iter().chain(&self.write_cache.writing).map(|e| e.from..e.to).collect();
        self.counters.destaged_bytes += u64::from(reached.end - reached.start) * SECTOR_BYTES;
        self.write_cache.power_cut(reached.end);
        self.host_queue.drop_all();
        self.early.clear();
        let depth = self.slots.len() as u32;
        self.free_slots = (0..depth).rev().collect();
        self.decoding = Ring::new(depth as usize, (0, 0));
        self.leaving = Ring::new(depth as usize, (0, 0));
        self.reads = WaitingReads::default();
        self.read_cache.clear();
        self.without_room.clear();
        self.through.clear();
        self.flushes.clear();
        self.busy = None;
        self.arm = Track::default();
        self.occupancy.power_cut(now);
        (lost, reached)
    }

    /// The counters, with what the arm has done by now of what it is at.
    fn counted_by(&self, now: Nanos) -> DiskCounters {
        let mut all = self.counters;
        let Some(busy) = self.busy else { return all };
        let (seek, rotation) = (Nanos::from(busy.access.seek), Nanos::from(busy.access.rotation));
        let passed = now.saturating_sub(busy.began);
        all.seeks += u64::from(seek > 0 && passed >= seek);
        all.seek_nanos += passed.min(seek);
        all.rotation_nanos += passed.saturating_sub(seek).min(rotation);
        // What is passed by last may wait for its data first.
        all.transfer_nanos += now.saturating_sub(busy.ends - busy.transfer).min(busy.transfer);
        all
    }

    /// The platters turn again, and commands are served from `ready` on.
    pub(crate) fn power_up(&mut self, now: Nanos, ready: Nanos) {
        self.now = self.now.max(now);
        (self.processor_free, self.link_free) = (ready, ready);
    }

    /// Sectors of the extent that is being written that are on the platters. What a head has begun it ends: the platters turn
    /// on, and the arm is still there (estimate).
    fn written_so_far(&self, now: Nanos) -> Range<u32> {
        let Some(extent) = self.write_cache.writing else { return 0..0 };
        let began = self.busy.filter(|busy| matches!(busy.work, Work::Destage)).map(|busy| busy.ends - busy.transfer);
        let Some(passed) = began.and_then(|began| now.checked_sub(began)) else { return extent.from..extent.from };
        let mechanics = &*self.mechanics;
        let reached = |time| mechanics.geometry.reached(extent.from, extent.to, time, mechanics.switch(true));
        let whole = reached(passed);
        if whole == extent.to {
            return extent.from..whole;
        }
        let sector = Nanos::from(mechanics.geometry.sector_time(whole));
        extent.from..reached(passed + sector.saturating_sub(1))
    }

    /// Lets time pass until everything that was taken in is on the platters. Returns when that is.
    pub(crate) fn write_all(&mut self, now: Nanos) -> Nanos {
        let mut done = Vec::new();
        self.run(self.now.max(now), false, &mut done);
        while !self.write_cache.is_empty() || self.write_cache.writing.is_some() {
            let at = self.next();
            self.run(at, false, &mut done);
        }
        self.now
    }

    pub(crate) fn has_commands(&self) -> bool {
        self.occupancy.in_flight() > 0
    }

    #[inline]
    fn next(&self) -> Nanos {
        let first = |ring: &Ring<(Nanos, u32)>| ring.front().map_or(Nanos::MAX, |(at, _)| at);
        let arm = match (&self.busy, &self.read_on) {
            (Some(busy), _) => busy.ends,
            // Cached writes wait for the end of reading on; had they been able to begin, they would have.
            (None, Some(on)) if !self.write_cache.is_empty() => self.mechanics.ends(on),
            _ => Nanos::MAX,
        };
        arm.min(first(&self.decoding)).min(first(&self.leaving))
    }

    fn run(&mut self, to: Nanos, until_completion: bool, done: &mut Vec<Completion>) -> Nanos {
        let before = done.len();
        done.append(&mut self.early);
        loop {
            if until_completion && done.len() > before {
                let at = done[done.len() - 1].completed.max(self.now);
                // What completes at the same instant belongs to it.
                if self.next() > at {
                    self.now = at;
                    return at;
                }
            }
            let at = self.next();
            if at > to {
                self.now = to;
                return to;
            }
            self.step(at, done);
        }
    }

    /// What happens at `at`, one thing at a time.
    #[inline]
    fn step(&mut self, at: Nanos, done: &mut Vec<Completion>) {
        self.now = at;
        if let Some(busy) = self.busy.filter(|busy| busy.ends == at) {
            self.busy = None;
            self.arm_is_done(at, &busy, done);
        } else if let Some((_, slot)) = self.decoding.front().filter(|d| d.0 == at) {
            self.decoding.pop_front();
            self.decoded(slot, at, done);
        } else if let Some((_, slot)) = self.leaving.front().filter(|d| d.0 == at) {
            self.leaving.pop_front();
            self.complete(slot, at, done);
            return;
        }
        if self.busy.is_none() {
            self.dispatch(at);
        }
    }

    fn give_slot(&mut self, Sent { request, submitted, barred }: Sent, now: Nanos) {
        let slot = self.free_slots.pop().expect("there is a free slot");
        let decoded = self.processor_free.max(now) + self.mechanics.command;
        self.processor_free = decoded;
        let mut command = Command::new(request, submitted, now, decoded);
        command.spent.barred = barred;
        self.slots[slot as usize] = command;
        self.decoding.push_back((decoded, slot));
    }

    fn complete(&mut self, slot: u32, at: Nanos, done: &mut Vec<Completion>) {
        let command = &self.slots[slot as usize];
        let completion = command.complete(at);
        done.push(completion);
        if let Some(records) = &mut self.records {
            records.command(&completion);
        }
        self.host.record(command.request.op, command.request.length_bytes);
        self.occupancy.leave(command.submitted, at);
        self.free_slots.push(slot);
        self.host_queue.ended();
        while self.host_queue.holds_any()
            && let Some(sent) = self.host_queue.next(at)
        {
            self.give_slot(sent, at);
        }
    }

    /// Books the link for so many bytes, from `now` on, no earlier than it is free. Returns when they have passed.
    #[inline]
    fn link(&mut self, now: Nanos, sectors: u32) -> Nanos {
        self.link_free = self.link_free.max(now) + self.link_time(sectors);
        self.link_free
    }

    #[inline]
    fn link_time(&self, sectors: u32) -> Nanos {
        u64::from(sectors) * SECTOR_BYTES * self.mechanics.byte_picos / 1000
    }

    #[inline]
    fn decoded(&mut self, slot: u32, now: Nanos, done: &mut Vec<Completion>) {
        match self.slots[slot as usize].request.op {
            Op::Read => self.read(slot, now),
            Op::Write => self.write(slot, now),
            Op::Flush => {
                let last = self.writes_numbered;
                if self.write_cache.has_any_up_to(last) {
                    self.slots[slot as usize].spent.destage = self.destage_time_at(now);
                    self.flushes.push((slot, last));
                } else {
                    self.complete(slot, now, done);
                }
            }
            Op::Trim | Op::WriteZeroes => unreachable!("refused at the door"),
        }
    }

    #[inline]
    fn read(&mut self, slot: u32, now: Nanos) {
        let Command { from, to, .. } = self.slots[slot as usize];
        self.follow_reading_on(now);
        if self.read_cache.holds(from, to) || self.write_cache.holds(from, to) {
            self.counters.cache_hits += 1;
            let at = self.link(now, to - from);
            self.slots[slot as usize].spent.link = at - now;
            self.leaving.push_back((at, slot));
            self.read_on_behind(from, to, now);
            return;
        }
        // What the heads are about to pass anyway.
        let coming = self.read_on.filter(|on| {
            let ahead = self.read_cache.current_start() <= from && from <= on.limit;
            self.busy.is_none() && on.reached < on.limit && ahead
        });
        if let Some(on) = coming {
            let (time, track) = self.mechanics.pass(on.sector, to, false);
            let ends = (on.at + time).max(now);
            // Where the heads had stopped, they wait for the place to come by again.
            let rotation = on.began.saturating_sub(now).min(ends - now);
            let access = Access { seek: 0, rotation: rotation as u32 };
            let transfer = ends - now - rotation;
            self.stop_reading_on(now);
            let busy = Busy { began: now, ends, access, transfer, track, work: Work::Read { slot } };
            self.busy = Some(busy);
            self.note_busy(&busy);
            return;
        }
        self.slots[slot as usize].spent.destage = self.destage_time_at(now);
        self.reads.push(slot, &self.slots[slot as usize], self.mechanics.geometry.place(from), now);
    }

    /// Time that the arm has spent on cached writes by `now`.
    #[inline]
    fn destage_time_at(&self, now: Nanos) -> Nanos {
        match &self.busy {
            Some(Busy { work: Work::Destage, ends, .. }) => self.destage_time - (ends - now),
            _ => self.destage_time,
        }
    }

    /// What has been read ahead by now is in the cache.
    #[inline]
    fn follow_reading_on(&mut self, now: Nanos) {
        let Some(on) = &mut self.read_on else { return };
        if on.reached < on.limit && on.followed < now {
            on.reached = self.mechanics.reached(on, now);
            on.followed = now;
            self.read_cache.grow(on.reached);
        }
    }

    /// A read had what was read ahead: its place in the segment is free, and the disk reads on into it.
    #[inline]
    fn read_on_behind(&mut self, from: u32, to: u32, now: Nanos) {
        let mechanics = &*self.mechanics;
        let limit = to.saturating_add(mechanics.read_ahead).min(mechanics.sectors);
        let Some(on) = self.read_on.as_mut().filter(|on| on.limit < limit) else { return };
        if !(self.read_cache.current_start() <= from && to <= on.reached) {
            return;
        }
        if on.reached == on.limit {
            // The heads have stayed over the track; the place where they stopped comes by with every turn.
            let ended = mechanics.ends(on);
            self.counters.transfer_nanos += ended.saturating_sub(on.began);
            if let Some(records) = &mut self.records {
                records.read_ahead(on.began, ended);
            }
            let turn = Nanos::from(mechanics.turn);
            let passes = ended + now.saturating_sub(ended).div_ceil(turn) * turn;
            on.sector = on.limit - 1;
            on.at = passes - Nanos::from(mechanics.geometry.sector_time(on.sector));
            (on.began, on.followed) = (passes, now);
        }
        on.limit = limit;
    }

    /// The arm is wanted elsewhere, or a command takes over what is being read ahead.
    #[inline]
    fn stop_reading_on(&mut self, now: Nanos) {
        self.follow_reading_on(now);
        let Some(on) = self.read_on.take() else { return };
        let ends = if on.reached < on.limit { now } else { self.mechanics.ends(&on) };
        self.counters.transfer_nanos += ends.saturating_sub(on.began);
        if let Some(records) = &mut self.records {
            records.read_ahead(on.began, ends);
        }
        if on.reached > on.sector + 1 {
            self.arm = self.mechanics.geometry.track(on.reached - 1);
        }
    }

    #[inline]
    fn write(&mut self, slot: u32, now: Nanos) {
        self.writes_numbered += 1;
        let write_back = self.mechanics.write_back;
        let command = &mut self.slots[slot as usize];
        command.number = self.writes_numbered;
        let (from, to) = (command.from, command.to);
        if command.request.fua || !write_back {
            command.through = true;
            self.through.push(slot);
        }
        self.follow_reading_on(now);
        if self.read_cache.forget(from, to) {
            self.stop_reading_on(now);
            self.read_cache.forget(from, to);
        }
        if !self.without_room.is_empty() || !self.let_in(slot, now) {
            self.without_room.push_back(slot);
        }
    }

    /// Lets a write into the cache as far as there is room; whether all of it is in.
    #[inline]
    fn let_in(&mut self, slot: u32, now: Nanos) -> bool {
        let Command { next, to, number, through, decoded, .. } = self.slots[slot as usize];
        let arrived = self.link_free.max(now) + self.link_time(to - next);
        let piece = Piece { from: next, to, number, arrived, through };
        let reached = self.write_cache.take(piece, now, &self.mechanics.geometry);
        self.slots[slot as usize].next = reached;
        if reached == next {
            return false;
        }
        self.plug.taken(number, next, reached);
        let passed = self.link(now, reached - next);
        if reached < to {
            return false;
        }
        let destage_time = self.destage_time_at(now);
        let command = &mut self.slots[slot as usize];
        command.spent.buffer = now - decoded;
        if through {
            command.placed = now;
            command.spent.destage = destage_time;
        } else {
            command.spent.link = passed - now;
            self.leaving.push_back((passed, slot));
        }
        true
    }

    #[inline]
    fn arm_is_done(&mut self, now: Nanos, busy: &Busy, done: &mut Vec<Completion>) {
        self.arm = busy.track;
        let moved = busy.access.seek > 0;
        self.counters.seeks += u64::from(moved);
        self.counters.seek_nanos += u64::from(busy.access.seek);
        self.counters.rotation_nanos += u64::from(busy.access.rotation);
        self.counters.transfer_nanos += busy.transfer;
        match busy.work {
            Work::Read { slot } => self.has_read(slot, now, busy),
            Work::Destage => self.has_written(now, busy, done),
        }
    }

    #[inline]
    fn has_read(&mut self, slot: u32, now: Nanos, busy: &Busy) {
        self.counters.media_reads += 1;
        let Command { from, to, .. } = self.slots[slot as usize];
        self.read_cache.fill(from, to);
        let mechanics = &*self.mechanics;
        let limit = to.saturating_add(mechanics.read_ahead).min(mechanics.sectors);
        let sector = to - 1;
        let at = now - Nanos::from(mechanics.geometry.sector_time(sector));
        self.read_on = Some(ReadOn { sector, at, limit, began: now, reached: to, followed: now });
        // Sectors go to the host as they come in: after the last one there is no more than that to send.
        let starts = self.link_free.max(now - busy.transfer);
        let passed = (starts + self.link_time(to - from)).max(now + self.link_time(1));
        self.link_free = passed;
        let spent = &mut self.slots[slot as usize].spent;
        spent.link = passed - now;
        spent.seek = busy.access.seek.into();
        spent.rotation = busy.access.rotation.into();
        spent.transfer = busy.transfer;
        self.leaving.push_back((passed, slot));
    }

    fn has_written(&mut self, now: Nanos, busy: &Busy, done: &mut Vec<Completion>) {
        self.counters.media_writes += 1;
        let extent = self.write_cache.end();
        let oldest = || {
            let waiting = self.without_room.front().map(|&slot| self.slots[slot as usize].number);
            self.write_cache.oldest().into_iter().chain(waiting).min()
        };
        self.plug.written(extent.from, extent.to, oldest);
        self.counters.destaged_bytes += u64::from(extent.to - extent.from) * SECTOR_BYTES;
        let mut index = 0;
        while index < self.through.len() {
            let slot = self.through[index];
            let Command { from, to, next, number, placed, .. } = self.slots[slot as usize];
            // What was begun before its data came is not its own.
            if next == to && placed <= busy.began && extent.from < to && from < extent.to {
                self.slots[slot as usize].spent.on_own(busy.access, busy.transfer, now - busy.began);
            }
            if next < to || self.write_cache.has_any_of(from, to, number) {
                index += 1;
                continue;
            }
            let spent = &mut self.slots[slot as usize].spent;
            spent.destage = self.destage_time - spent.destage;
            self.through.swap_remove(index);
            self.complete(slot, now, done);
        }
        while let Some(&slot) = self.without_room.front() {
            if !self.let_in(slot, now) {
                break;
            }
            self.without_room.pop_front();
        }
        let mut index = 0;
        while index < self.flushes.len() {
            let (slot, last) = self.flushes[index];
            if self.write_cache.has_any_up_to(last) {
                index += 1;
                continue;
            }
            self.flushes.swap_remove(index);
            let spent = &mut self.slots[slot as usize].spent;
            spent.destage = self.destage_time - spent.destage;
            self.complete(slot, now, done);
        }
    }

    /// The arm is free: what it does next.
    #[inline]
    fn dispatch(&mut self, now: Nanos) {
        if self.write_cache.is_empty() {
            if !self.reads.is_empty() {
                self.stop_reading_on(now);
                let overdue = self.reads.any_overdue(now, self.mechanics.longest_wait);
                let choice = self.choose_read(now, overdue).expect("a read waits");
                self.start_read(choice, now);
            }
            return;
        }
        self.dispatch_writes_too(now);
    }

    fn dispatch_writes_too(&mut self, now: Nanos) {
        let overdue = self.write_cache.targets.any_overdue(now, self.mechanics.longest_wait);
        let waited_for = !self.without_room.is_empty() || overdue;
        let last_flushed = self.flushes.iter().map(|&(_, last)| last).max();
        let wanted = waited_for || last_flushed.is_some() || !self.through.is_empty();
        if self.reads.is_empty() && !wanted && self.read_on.is_some_and(|on| now < self.mechanics.ends(&on)) {
            return;
        }
        self.stop_reading_on(now);
        let reads_overdue = self.reads.any_overdue(now, self.mechanics.longest_wait);
        let any = waited_for || !wanted;
        let extents = self.write_cache.extents();
        // As of reads, those that somebody waits for go in order where they adjoin each other.
        let comes_first = |e: &Extent| !e.through || !extents.iter().any(|other| other.through && other.to == e.from);
        let may = |i: usize| {
            let e = &extents[i];
            (any || e.through || last_flushed.is_some_and(|last| e.oldest <= last)) && comes_first(e)
        };
        let write = if wanted || self.reads.is_empty() {
            self.choose(&self.write_cache.targets, now, true, overdue, may)
        } else {
            None
        };
        let read = self.choose_read(now, reads_overdue);
        match (read, write) {
            (Some(read), Some(write)) if self.read_goes_first(&read, &write, now) => self.start_read(read, now),
            (_, Some(write)) => self.start_write(write, now),
            (Some(read), None) => self.start_read(read, now),
            (None, None) => {}
        }
    }

    #[inline]
    fn choose_read(&self, now: Nanos, overdue: bool) -> Option<Choice> {
        let targets = self.reads.targets();
        let may = |index: usize| self.reads.may_be_next(index);
        // Few adjoin each other: that one does is looked at once it is chosen.
        self.choose(targets, now, false, overdue, |_| true)
            .filter(|choice| may(choice.index))
            .or_else(|| self.choose(targets, now, false, overdue, may))
    }

    fn is_overdue(&self, since: Nanos, now: Nanos) -> bool {
        now - since > self.mechanics.longest_wait
    }

    fn read_goes_first(&self, read: &Choice, write: &Choice, now: Nanos) -> bool {
        match (self.is_overdue(read.since, now), self.is_overdue(write.since, now)) {
            (false, false) if self.mechanics.order == ServiceOrder::ShortestAccess => {
                read.access.cost() <= write.access.cost()
            }
            (true, false) => true,
            (false, true) => false,
            _ => read.since <= write.since,
        }
    }

    #[inline]
    fn choose(
        &self,
        targets: &Targets,
        now: Nanos,
        write: bool,
        overdue: bool,
        may: impl Fn(usize) -> bool,
    ) -> Option<Choice> {
        let m = &*self.mechanics;
        let here = Now { track: self.arm, angle: m.angle(now), turn: m.turn };
        let (seeks, switch) = if write { (&m.writes, m.write_switch) } else { (&m.reads, m.read_switch) };
        if overdue || m.order == ServiceOrder::Fifo {
            let (index, _) = targets.oldest(&may)?;
            return Some(targets.choice(index, &here, seeks, switch));
        }
        targets.nearest(&here, seeks, switch, may)
    }

    #[inline]
    fn start_read(&mut self, choice: Choice, now: Nanos) {
        let slot = self.reads.remove(choice.index);
        let destage_time = self.destage_time;
        let command = &mut self.slots[slot as usize];
        command.spent.destage = destage_time - command.spent.destage;
        let (from, to) = (command.from, command.to);
        let (transfer, track) = self.mechanics.pass(from, to, false);
        self.start(choice.access, transfer, track, now, Work::Read { slot });
    }

    fn start_write(&mut self, choice: Choice, now: Nanos) {
        let extent = self.write_cache.begin(choice.index);
        self.plug.begun(extent.from, extent.to);
        // What has been read of these places since the write came is of before it.
        self.read_cache.forget(extent.from, extent.to);
        let (transfer, track) = self.mechanics.pass(extent.from, extent.to, true);
        let ends = self.start(choice.access, transfer, track, now, Work::Destage).max(extent.arrived);
        if let Some(busy) = &mut self.busy {
            busy.ends = ends;
        }
        self.destage_time += ends - now;
    }

    #[inline]
    fn start(&mut self, access: Access, transfer: Nanos, track: Track, now: Nanos, work: Work) -> Nanos {
        let ends = now + Nanos::from(access.seek) + Nanos::from(access.rotation) + transfer;
        let busy = Busy { began: now, ends, access, transfer, track, work };
        self.busy = Some(busy);
        self.note_busy(&busy);
        ends
    }

    /// Seek, rotation and transfer, the last of which has its end.
    #[inline]
    fn note_busy(&mut self, busy: &Busy) {
        let Some(records) = &mut self.records else { return };
        let passes = busy.ends - busy.transfer;
        let turns = passes - Nanos::from(busy.access.rotation);
        records.arm("seek", Cause::Seek, turns - Nanos::from(busy.access.seek), turns);
        records.arm("rotation", Cause::Rotation, turns, passes);
        let (what, cause) = match busy.work {
            Work::Read { .. } => ("transfer: read", Cause::Transfer),
            Work::Destage => ("transfer: cached write", Cause::Destage),
        };
        records.arm(what, cause, passes, busy.ends);
    }

    fn energy(&self, disk: &DiskCounters) -> Option<EnergyCounters> {
        let power = self.mechanics.power.as_ref()?;
        let above = |mw: f64| (mw - power.idle_mw) * 1e-3;
        let watts_nanos = power.idle_mw * 1e-3 * self.plug.time_powered(self.now) as f64
            + above(power.seek_mw) * disk.seek_nanos as f64
            + above(power.transfer_mw) * disk.transfer_nanos as f64;
        Some(EnergyCounters { nanojoules: watts_nanos as u64 })
    }
}

impl Mechanics {
    #[inline]
    fn angle(&self, now: Nanos) -> u32 {
        ((now + Nanos::from(self.phase)) % Nanos::from(self.turn)) as u32
    }

    #[inline]
    fn switch(&self, write: bool) -> impl Fn(Track, Track) -> u32 {
        let (seeks, heads) = if write { (&self.writes, self.write_switch) } else { (&self.reads, self.read_switch) };
        move |from, to| match from.cylinder.abs_diff(to.cylinder) {
            0 => heads,
            distance => seeks.of(distance).nanos,
        }
    }

    #[inline]
    fn pass(&self, from: u32, to: u32, write: bool) -> (Nanos, Track) {
        self.geometry.pass(from, to, self.switch(write))
    }

    /// The first sector that reading on has not read by `now`.
    #[inline]
    fn reached(&self, on: &ReadOn, now: Nanos) -> u32 {
        match now.checked_sub(on.at) {
            Some(time) => self.geometry.reached(on.sector, on.limit, time, self.switch(false)).max(on.reached),
            // It is yet to come by.
            None => on.reached,
        }
    }

    /// When reading on has read all that it should.
    fn ends(&self, on: &ReadOn) -> Nanos {
        on.at + self.pass(on.sector, on.limit, false).0
    }
}

impl Device for Disk {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        if self.next() < now {
            let mut early = std::mem::take(&mut self.early);
            self.run(now - 1, false, &mut early);
            self.early = early;
        }
        self.now = now;
        self.plug.command_comes();
        self.occupancy.enter(now);
        if self.host_queue.sends(request.op) {
            self.give_slot(Sent { request, submitted: now, barred: 0 }, now);
        } else {
            self.host_queue.hold(now, request);
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        if !self.early.is_empty() {
            return Some(self.now);
        }
        Some(self.next()).filter(|&at| at != Nanos::MAX)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        self.run(to, false, done);
    }

    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        self.run(limit, true, done)
    }

    fn counters(&self) -> Counters {
        let mut disk = self.counted_by(self.now);
        if let Some(on) = &self.read_on {
            disk.transfer_nanos += self.mechanics.ends(on).min(self.now).saturating_sub(on.began);
        }
        disk.replaced_bytes = self.write_cache.replaced * SECTOR_BYTES;
        Counters { host: self.host, flash: None, energy: self.energy(&disk), disk: Some(disk), cache: None, heat: None }
    }

    fn check_books(&self) -> Result<(), String> {
        self.occupancy.check()?;
        self.write_cache.check()?;
        let inside = (self.slots.len() - self.free_slots.len() + self.host_queue.held().len()) as u64;
        if inside != self.occupancy.in_flight() {
            return Err(format!(
                "{inside} commands hold a slot or wait for one, but {} are inside",
                self.occupancy.in_flight()
            ));
        }
        let DiskCounters { seek_nanos, rotation_nanos, transfer_nanos, .. } = self.counters;
        let busy = seek_nanos + rotation_nanos + transfer_nanos;
        if busy > self.now {
            return Err(format!("the arm was busy for {busy} ns in {} ns", self.now));
        }
        let idle = self.busy.is_none() && self.reads.is_empty() && self.write_cache.is_empty();
        if idle && (!self.without_room.is_empty() || !self.through.is_empty() || !self.flushes.is_empty()) {
            return Err("commands wait for an arm that has nothing to do".to_owned());
        }
        Ok(())
    }

    fn snapshot(&self) -> Option<Box<dyn Device>> {
        Some(Box::new(self.clone()))
    }

    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        Some(self)
    }

    fn plug(&mut self) -> Option<&mut dyn Plug> {
        Some(self)
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        Some(self)
    }
}

impl Recorder for Disk {
    fn record(&mut self, stretches: usize) {
        self.records = (stretches > 0).then(|| Box::new(Records::new(stretches, self.now)));
        // As if it had been noted when it began: a request that comes next may wait for it.
        if let Some(busy) = self.busy {
            self.note_busy(&busy);
        }
    }

    fn recorded_since(&mut self, from: Nanos) -> Timeline {
        let Some(records) = &self.records else { return Timeline::default() };
        let taken = (0..self.slots.len() as u32).filter(|slot| !self.free_slots.contains(slot));
        let inside = taken.map(|slot| &self.slots[slot as usize]).map(|command| (&command.request, command.submitted));
        let open = inside.chain(self.host_queue.held());
        let open: Vec<_> = open.map(|(request, at)| Completion::under_way(request, at, self.now)).collect();
        let ahead = self.read_on.as_ref().map(|on| on.began..self.mechanics.ends(on).min(self.now));
        records.since(from, &open, ahead.filter(|ahead| !ahead.is_empty()))
    }
}
