//! A simulated SSD: host link, command queue, firmware time, write buffer, dies and channels, and the translation
//! layer that decides what they do.
//!
//! How a write travels: command frame → firmware (one processor, in order) → room in the write buffer → data over
//! the link → acknowledged (write cache on) → a row of units is given to a die → bus → array → buffer room freed.
//! How a read travels: command frame → firmware → map → die (array, then bus), or buffer → data over the link.
//! Garbage collection, journal and erases are more operations on the same dies and channels.
//!
//! Liberties, stated: the bus is booked ahead (see `channel.rs`); a die that has begun an operation is not
//! interrupted (no suspend); the sub-microsecond control frames add to a command's latency and to the link time of
//! its data, but do not queue.

mod array_times;
mod books;
mod channel;
mod command;
mod correction;
mod events;
mod idle_folding;
mod life;
mod link;
mod link_power;
mod look_ahead;
mod map_read;
mod power;
mod read;
mod read_ahead;
mod read_only;
mod schedule;
mod write;

use ssdlab_core::{Breakdown, Cause, Completion, Nanos, Op, Request, Rng, SECTOR_BYTES, Status, UNIT_BYTES};
use ssdlab_core::{nanos_from_ms, nanos_from_us};
use ssdlab_ftl::{Ftl, FtlConfig, OpKind};
use ssdlab_nand::{DieSpec, GrowingFaults, SpecError};

use crate::device::{Counters, Device, DeviceInfo};
use crate::life::Life;
use crate::power::{LinkPolicy, PowerSpec};
use crate::spec::DriveSpec;
use crate::timing::{Interval, LinkReferee};
use command::{Command, Commands};
pub use correction::ladder_of_unit;
use correction::{Climb, Correction, CorrectionCounters};
use events::NEVER;
use idle_folding::IdleFolding;
use life::WearNotes;
use link::Link;
use link_power::LinkPower;
use power::PowerMeter;
use read_ahead::ReadAhead;
use schedule::{Schedule, Wake};

/// A drive as reviews and tests use it: every completion explained, every read checked.
pub type Ssd = SimulatedSsd<true, true>;
/// A drive that only counts: for measuring the simulator's own speed.
pub type BareSsd = SimulatedSsd<false, false>;

/// Tag of reads that no command waits for.
const READ_AHEAD_TAG: u16 = u16::MAX;

/// See the module's own page. `EXPLAIN`: completions carry their breakdown. `CHECK`: every read is checked against
/// the host's last write of that unit, by the low bits of a write count kept on both sides (see
/// [`ssdlab_nand::TagFormat`]; addresses are checked always); and every flash operation and every transfer on the link
/// is judged by the referee of time ([`crate::timing`]).
#[derive(Clone, Debug)]
pub struct SimulatedSsd<const EXPLAIN: bool, const CHECK: bool> {
    info: DeviceInfo,
    ftl: Ftl,
    schedule: Schedule<CHECK>,
    link: Link,
    link_referee: LinkReferee,
    link_power: LinkPower,
    power: Option<Box<(PowerSpec, PowerMeter)>>,
    commands: Commands,
    read_ahead: ReadAhead,
    /// Units on their way from flash because they are written in part, and the commands that wait for them.
    merges: Vec<(u32, u32)>,
    /// When the processor is free.
    processor_free: Nanos,
    /// How long it has worked, what is booked included.
    processor_busy: Nanos,
    times: FirmwareTimes,
    write_cache: bool,
    buffer_units: u32,
    flush_after_idle: Nanos,
    background_after_idle: Option<Nanos>,
    folding: IdleFolding,
    /// When the host's last command ended, and what idle work has been started since.
    idle_since: Nanos,
    idle_step: IdleStep,
    /// What the host wrote last, by unit: a count from 1 to `max_generation`, over and over; 0: nothing, or trimmed.
    written: Vec<u8>,
    max_generation: u8,
    counters: Counters,
    wear_notes: WearNotes,
    /// Integral of commands in the drive over time, and sum of latencies: Little's law.
    in_flight_time: u128,
    latency_sum: u128,
    in_flight_changed: Nanos,
    in_flight: u64,
}

#[derive(Clone, Copy, Debug)]
struct FirmwareTimes {
    read_command: Nanos,
    read_unit: Nanos,
    write_command: Nanos,
    write_unit: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdleStep {
    Busy,
    Flushed,
    Collecting,
}

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    /// Builds a drive, fresh from the factory.
    ///
    /// # Errors
    /// A value of the drive or die file that cannot be built.
    pub fn new(name: &str, drive: &DriveSpec, die: &DieSpec, seed: u64) -> Result<Self, SpecError> {
        drive.validate(die)?;
        let rng = Rng::new(seed).stream(name);
        let logical_pages = u32::try_from(drive.capacity_bytes / UNIT_BYTES).map_err(|_| {
            SpecError::new("capacity_bytes", "more than 2^32 mapping units", "use at most 17,592,186,040,320 bytes")
        })?;
        let buffer_units = drive.write_buffer.capacity_kib / 4;
        let config = FtlConfig {
            die,
            dies: drive.flash.dies,
            blocks: drive.blocks_per_die(die),
            withheld_blocks: drive.withheld_blocks(die),
            logical_pages,
            buffer_units,
            mapping: &drive.mapping,
            gc: &drive.gc,
            wear_levelling: &drive.wear_levelling,
            slc_cache: drive.slc_cache.as_ref(),
        };
        let ftl = Ftl::new(&config, &rng);
        let usable = ftl.usable_units() * UNIT_BYTES;
        let needed = drive.capacity_bytes + drive.superblock_bytes(die) * u64::from(drive.spare_superblocks_needed());
        // An exact spare is as small as it was asked for, but nothing may eat into it.
        let whole = drive.flash.exact_spare_per_10000.is_some() && usable == drive.built_bytes(die);
        if usable < needed && !whole {
            return Err(SpecError::new(
                "capacity_bytes",
                format!("bad, reserved and system blocks leave {usable} bytes, and {needed} are needed"),
                "use a smaller capacity, more flash, or a smaller reserve",
            ));
        }
        let max_generation = ftl.medium().format().max_generation();
        let mut schedule = Schedule::new(drive, die);
        if let (Some(ecc), Some(errors)) = (&drive.ecc, &die.errors) {
            let blocks = ftl.medium().layout().block_count();
            schedule.correction = Some(Box::new(Correction::new(ecc, die, errors, blocks, &rng)?));
        }
        let info = DeviceInfo {
            name: name.to_owned(),
            kind: "ssd",
            description: drive.description.clone(),
            capacity_bytes: drive.capacity_bytes,
            queue_depth: drive.controller.queue_depth,
            supports_trim: true,
            over_provisioning_percent: match drive.flash.exact_spare_per_10000 {
                Some(spare) => f64::from(spare) / 100.0,
                None => (usable as f64 / drive.capacity_bytes as f64 - 1.0) * 100.0,
            },
        };
        let c = &drive.controller;
        Ok(SimulatedSsd {
            info,
            ftl,
            schedule,
            link: Link::new(&drive.link),
            link_referee: LinkReferee::new(drive.link.generation),
            link_power: LinkPower::default(),
            power: drive.power.clone().zip(PowerMeter::new(drive, die)).map(Box::new),
            commands: Commands::new(c.queue_depth),
            read_ahead: ReadAhead::new(c.read_ahead_kib / 4),
            merges: Vec::new(),
            processor_free: 0,
            processor_busy: 0,
            times: FirmwareTimes {
                read_command: nanos_from_us(c.read_command_us),
                read_unit: nanos_from_us(c.read_unit_us),
                write_command: nanos_from_us(c.write_command_us),
                write_unit: nanos_from_us(c.write_unit_us),
            },
            write_cache: drive.write_buffer.write_cache,
            buffer_units,
            flush_after_idle: nanos_from_ms(drive.write_buffer.flush_after_idle_ms),
            background_after_idle: drive.gc.background_after_idle_ms.map(nanos_from_ms),
            folding: IdleFolding::new(drive.slc_cache.as_ref()),
            idle_since: 0,
            idle_step: IdleStep::Collecting,
            written: if CHECK { ssdlab_nand::memory::filled(logical_pages as usize, 0) } else { Vec::new() },
            max_generation,
            counters: Counters::default(),
            wear_notes: WearNotes::default(),
            in_flight_time: 0,
            latency_sum: 0,
            in_flight_changed: 0,
            in_flight: 0,
        })
    }

    /// From now on blocks go bad in use, at moments drawn from `seed`.
    pub fn inject(&mut self, faults: GrowingFaults, seed: u64) {
        self.ftl.inject(faults, &Rng::new(seed).stream(&self.info.name));
    }

    /// The translation layer, for whoever wants to look inside.
    #[must_use]
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// For experiments: gives every page of a block a read time (tR) of its own, as the layers of a stack or the
    /// quantiles of a distribution have it, instead of the die file's one time for each kind of page.
    ///
    /// # Panics
    /// If there is not one time for each page of a block.
    pub fn set_page_read_times(&mut self, by_page: &[Nanos]) {
        self.schedule.set_page_read_times(by_page);
    }

    /// Lets the translation layer decide something, and begins what it asked of idle dies. `woken` are dies that have
    /// become idle themselves.
    #[inline]
    fn ask(&mut self, woken: u64, question: impl FnOnce(&mut Ftl, &mut Wake<CHECK>)) {
        let mut wake = Wake { schedule: &mut self.schedule, dies: woken };
        question(&mut self.ftl, &mut wake);
        let dies = wake.dies;
        self.schedule.begin_idle(dies, &mut self.ftl, EXPLAIN);
    }

    /// Puts `bytes` on the link, from now on at the earliest; returns when they begin and end.
    #[inline]
    fn transfer_on_link(&mut self, bytes: u64) -> (Nanos, Nanos) {
        let (from, to) = self.link.transfer(self.schedule.now, bytes);
        if CHECK && let Err(violation) = self.link_referee.issue(Interval::new(from, to), bytes) {
            panic!("the drive broke a rule of the link: {violation}");
        }
        (from, to)
    }

    // ---- from the host to the processor -------------------------------------------------------------------------

    fn check_request(&self, r: &Request) {
        if r.op == Op::Flush {
            return;
        }
        let whole = r.offset_bytes.is_multiple_of(SECTOR_BYTES) && r.length_bytes.is_multiple_of(SECTOR_BYTES);
        let inside = r.offset_bytes.checked_add(r.length_bytes).is_some_and(|e| e <= self.info.capacity_bytes);
        assert!(
            whole && r.length_bytes > 0 && inside,
            "{:?} of {} bytes at {} is not a whole number of sectors within {} bytes",
            r.op,
            r.length_bytes,
            r.offset_bytes,
            self.info.capacity_bytes
        );
    }

    /// Puts a command into a slot and into the processor's queue. `now` is when the drive may see it, `submitted`
    /// when the host let go of it.
    #[inline]
    fn accept(&mut self, now: Nanos, submitted: Nanos, request: Request, stream: u8) {
        let slot = self.commands.take_slot().expect("the caller checked for a slot");
        // A link that slept carries nothing before it is up.
        let arrived = now.max(self.link_power.up_at) + self.link.command_time();
        let (first, last) = unit_range(&request);
        let units = u64::from(last - first);
        // The processor hands over the first unit of a read as soon as it is looked up, and the data of a write are
        // let in once it is decoded; the rest goes on beside the transfers.
        let (decode, rest) = match request.op {
            Op::Read => (self.times.read_command + self.times.read_unit, (units - 1) * self.times.read_unit),
            Op::Write => (self.times.write_command, units * self.times.write_unit),
            Op::Trim | Op::Flush => (self.times.write_command, 0),
        };
        let start = self.processor_free.max(arrived);
        let decoded = start + decode;
        let processed = decoded + rest;
        self.processor_free = processed;
        self.processor_busy += decode + rest;
        if EXPLAIN {
            let breakdown = &mut self.commands.account(slot).breakdown;
            *breakdown = Breakdown::default();
            breakdown.add(Cause::Queue, now - submitted);
            breakdown.add(Cause::Link, arrived - now);
            breakdown.add(Cause::Controller, decoded - arrived);
        }
        *self.commands.slot(slot) = Command {
            request,
            stream,
            submitted,
            decoded,
            processed,
            parts: 0,
            next_unit: first,
            bytes_left: request.length_bytes,
            link_end: 0,
            status: Status::Ok,
            promised: None,
        };
        self.ftl.prefetch(first.min(self.ftl.logical_pages() - 1));
        if CHECK {
            ssdlab_nand::memory::prefetch(&self.written, first as usize);
        }
        self.commands.decoding.push_back((decoded, slot));
    }

    /// The processor has decoded the oldest command, and perhaps others at the same instant.
    #[inline]
    fn decoded(&mut self) {
        let (at, mut slot) = self.commands.decoding.pop_front().expect("the event says so");
        self.schedule.now = at;
        let mut writes = false;
        loop {
            let op = self.commands.slot(slot).request.op;
            if op == Op::Write {
                writes = true;
                self.begin_write(slot);
            } else {
                if std::mem::take(&mut writes) {
                    self.admit();
                }
                match op {
                    Op::Read if self.waits_for_map(slot) => {}
                    Op::Read => self.begin_read(slot),
                    Op::Trim => self.trim(slot),
                    Op::Flush | Op::Write => self.flush(slot),
                }
            }
            match self.commands.decoding.pop_front_if(|next| next.0 == at) {
                Some(next) => slot = next.1,
                None => break,
            }
        }
        if writes {
            self.admit();
        }
    }

    // ---- from the dies ------------------------------------------------------------------------------------------

    /// The operation of a die ends.
    #[inline]
    fn die_event(&mut self, at: Nanos, d: usize) {
        self.schedule.now = at;
        if self.schedule.climbs(d) {
            return self.climbed(d);
        }
        self.op_ended(d, None);
    }

    /// A read has taken a step up the ladder of error correction: its last, or one before.
    #[cold]
    fn climbed(&mut self, d: usize) {
        if !self.schedule.climb_on(d, EXPLAIN) {
            let climb = self.schedule.take_climb(d);
            self.op_ended(d, climb.as_deref());
        }
    }

    // The usual way never climbs, and is compiled without.
    #[inline(always)]
    fn op_ended(&mut self, d: usize, climb: Option<&Climb>) {
        let finished = self.schedule.end(d);
        self.schedule.look_ahead.step(&self.ftl);
        let op = finished.op;
        let woken = 1 << d;
        match op.kind {
            OpKind::HostRead => {
                self.read_part_done(&finished, climb);
                self.schedule.begin_idle(woken, &mut self.ftl, EXPLAIN);
            }
            OpKind::MergeRead => {
                self.merge_read_done(&finished, climb);
                self.schedule.begin_idle(woken, &mut self.ftl, EXPLAIN);
            }
            OpKind::MapRead => {
                self.map_read_done(&finished);
                self.schedule.begin_idle(woken, &mut self.ftl, EXPLAIN);
            }
            OpKind::HostProgram => {
                self.ask(woken, |ftl, wake| ftl.done(op, wake));
                self.admit();
                self.settle_durable();
            }
            OpKind::GcRead
            | OpKind::GcProgram
            | OpKind::FoldRead
            | OpKind::FoldProgram
            | OpKind::FoldCopy
            | OpKind::Erase
            | OpKind::MetadataProgram
            | OpKind::RetireRead
            | OpKind::RetireProgram => {
                self.ask(woken, |ftl, wake| ftl.done(op, wake));
            }
        }
        if self.ftl.is_read_only() {
            self.settle_read_only();
        }
    }

    // ---- trim, flush, idle --------------------------------------------------------------------------------------

    fn trim(&mut self, slot: u32) {
        let c = *self.commands.slot(slot);
        if self.ftl.is_read_only() {
            self.refuse(slot);
            return;
        }
        // Only whole units can be forgotten; the rest of the range stays as it is, as the standard allows.
        let first = c.request.offset_bytes.div_ceil(UNIT_BYTES) as u32;
        let last = ((c.request.offset_bytes + c.request.length_bytes) / UNIT_BYTES) as u32;
        self.ask(0, |ftl, wake| (first..last).for_each(|lpn| ftl.trim(lpn, wake)));
        self.forgive_lost(first..last);
        if self.read_ahead.is_following() {
            (first..last).for_each(|lpn| self.read_ahead.forget(lpn));
        }
        if CHECK && first < last {
            self.written[first as usize..last as usize].fill(0);
        }
        self.counters.host_trim_bytes += c.request.length_bytes;
        self.respond(slot, c.processed.max(self.schedule.now));
    }

    fn flush(&mut self, slot: u32) {
        let now = self.schedule.now;
        self.wait_until_durable(slot, now);
    }

    /// A command waits until everything accepted so far is on flash; its own data are in the drive at `from`.
    fn wait_until_durable(&mut self, slot: u32, from: Nanos) {
        if EXPLAIN {
            self.commands.account(slot).spent = self.schedule.spent;
        }
        self.commands.slot(slot).link_end = from;
        self.commands.durable.push_back((self.ftl.accepted_units(), slot));
        self.settle_durable();
    }

    /// Answers the commands that wait for data which are on flash by now, and pushes on what the others wait for:
    /// rows that are not full go out too.
    fn settle_durable(&mut self) {
        while let Some(&(units, slot)) = self.commands.durable.front() {
            if self.ftl.durable_units() < units {
                self.ask(0, |ftl, wake| ftl.force(wake));
                if self.ftl.is_read_only() {
                    self.give_up_durable();
                }
                return;
            }
            self.commands.durable.pop_front();
            if self.commands.durable.is_empty() {
                self.ftl.unforce();
            }
            let c = *self.commands.slot(slot);
            let done = self.schedule.now.max(c.link_end);
            if EXPLAIN {
                self.explain_drive_wait(slot, c.link_end, done, Cause::Program);
            }
            self.respond(slot, c.processed.max(done));
        }
    }

    /// Splits a command's wait for the drive as a whole by what the dies were doing meanwhile; what cannot be split
    /// goes to `rest`.
    fn explain_drive_wait(&mut self, slot: u32, from: Nanos, to: Nanos, rest: Cause) {
        let spent = self.schedule.spent;
        let c = self.commands.account(slot);
        let wait = to - from;
        if wait == 0 {
            return;
        }
        let delta = |k: Cause| spent.get(k) - c.spent.get(k);
        let parts = [
            Cause::Program,
            Cause::GarbageCollection,
            Cause::Fold,
            Cause::Erase,
            Cause::Metadata,
            Cause::Read,
            Cause::EccRetry,
        ];
        let total: u64 = parts.iter().map(|&k| delta(k)).sum();
        let mut left = wait;
        // The wait as so many parts in 2^32 of a nanosecond for each nanosecond of a die: rounded down twice, so that the
        // shares never exceed the whole.
        let scaled = wait.checked_mul(1 << 32).and_then(|wait| wait.checked_div(total)).map(u128::from);
        if let Some(scale) = scaled.or_else(|| (u128::from(wait) << 32).checked_div(total.into())) {
            for k in parts {
                let part = delta(k);
                if part == 0 {
                    continue;
                }
                let share = ((u128::from(part) * scale) >> 32) as Nanos;
                c.breakdown.add(if k == Cause::Program { rest } else { k }, share);
                left -= share;
            }
        }
        c.breakdown.add(rest, left);
    }

    /// Sends the final frame of a command whose last work ended at `done` (not before now).
    #[inline]
    fn respond(&mut self, slot: u32, done: Nanos) {
        self.respond_with(slot, done, Status::Ok);
    }

    #[inline]
    fn respond_with(&mut self, slot: u32, done: Nanos, status: Status) {
        let completed = done + self.link.status_time();
        if EXPLAIN {
            let status = self.link.status_time();
            let latency = completed - self.commands.slot(slot).submitted;
            let breakdown = &mut self.commands.account(slot).breakdown;
            breakdown.add(Cause::Link, status);
            // Whatever no stage has claimed was the processor's work beside the transfers.
            let claimed = breakdown.sum();
            breakdown.add(Cause::Controller, latency - claimed);
        }
        let c = self.commands.slot(slot).request;
        match c.op {
            _ if status != Status::Ok => {}
            Op::Read => {
                self.counters.host_reads += 1;
                self.counters.host_read_bytes += c.length_bytes;
            }
            Op::Write => {
                self.counters.host_writes += 1;
                self.counters.host_write_bytes += c.length_bytes;
            }
            Op::Trim | Op::Flush => {}
        }
        self.commands.finish(slot, completed, status);
    }

    /// When idle work is due, if the drive is idle and has any.
    #[inline]
    fn idle_work_at(&self) -> Nanos {
        if self.in_flight > 0 {
            return NEVER;
        }
        let step = match self.idle_step {
            IdleStep::Busy => self.idle_since + self.flush_after_idle,
            IdleStep::Flushed => match self.background_after_idle {
                Some(after) => self.idle_since + after.max(self.flush_after_idle),
                None => NEVER,
            },
            IdleStep::Collecting => NEVER,
        };
        step.min(self.folding.next)
    }

    fn idle_work(&mut self, at: Nanos) {
        self.schedule.now = at;
        if at == self.folding.next {
            let mut more = false;
            self.ask(0, |ftl, wake| more = ftl.fold_in_background(wake));
            self.folding.stepped(at, more);
        } else if self.idle_step == IdleStep::Busy {
            self.idle_step = IdleStep::Flushed;
            self.flush_rows();
        } else {
            self.idle_step = IdleStep::Collecting;
            self.ask(0, |ftl, wake| {
                ftl.collect_in_background(wake);
            });
        }
    }

    /// Writes rows that are not full as well.
    fn flush_rows(&mut self) {
        self.ask(0, |ftl, wake| ftl.force(wake));
        self.ftl.unforce();
    }

    #[cold]
    fn wake_from_idle(&mut self, now: Nanos) {
        if self.idle_step == IdleStep::Collecting || self.folding.started {
            self.schedule.now = now;
            self.ask(0, |ftl, wake| ftl.stop_background(wake));
        }
        self.idle_step = IdleStep::Busy;
        self.folding.stop();
        self.link_power.wake(now);
    }

    /// As [`Self::idle_work_at`], with no commands under way: what the last event has begun or ended is the drive's own
    /// work, which keeps it from sleeping.
    #[cold]
    fn rest(&mut self) -> Nanos {
        if self.link_power.is_managed() {
            self.link_power.inside(self.schedule.now, self.schedule.at_rest());
        }
        self.idle_work_at()
    }

    // ---- time ---------------------------------------------------------------------------------------------------

    /// Runs events up to `limit`, or up to the first completion if `stop` is set. Returns the time reached.
    #[inline]
    fn run(&mut self, limit: Nanos, stop: bool, done: &mut Vec<Completion>) -> Nanos {
        loop {
            let (die_at, d) = self.schedule.first();
            let decoded_at = self.commands.decoding.front().map_or(NEVER, |&(at, _)| at);
            let finished_at = self.commands.finished.front().map_or(NEVER, |f| f.0);
            let idle_at = if self.in_flight > 0 { NEVER } else { self.rest() };
            let next = die_at.min(decoded_at).min(finished_at).min(idle_at);
            if next > limit || next == NEVER {
                if limit != NEVER {
                    self.schedule.now = self.schedule.now.max(limit);
                }
                return limit;
            }
            if die_at == next {
                self.die_event(die_at, d);
            } else if decoded_at == next {
                self.decoded();
            } else if finished_at == next {
                self.deliver(finished_at, done);
                if stop {
                    return finished_at;
                }
            } else {
                self.idle_work(idle_at);
            }
        }
    }

    /// Hands over everything that the host sees at this instant.
    #[inline]
    fn deliver(&mut self, at: Nanos, done: &mut Vec<Completion>) {
        while let Some(c) = self.commands.deliver(at, EXPLAIN) {
            self.note_in_flight(at, -1);
            self.latency_sum += u128::from(at - c.submitted);
            done.push(c);
            if let Some((submitted, request, stream)) = self.commands.outside.pop_front() {
                self.accept(at, submitted, request, stream);
            }
        }
        if self.in_flight == 0 {
            self.idle_since = at;
            self.idle_step = IdleStep::Busy;
            self.folding.rest(at);
            if self.link_power.is_managed() {
                self.link_power.rest(at, self.schedule.at_rest());
            }
        }
    }

    #[inline]
    fn note_in_flight(&mut self, at: Nanos, change: i64) {
        if at != self.in_flight_changed {
            self.in_flight_time += u128::from(at - self.in_flight_changed) * u128::from(self.in_flight);
            self.in_flight_changed = at;
        }
        self.in_flight = self.in_flight.wrapping_add_signed(change);
    }
}

/// Units that a request touches, the last excluded; one for a command without data.
#[inline]
fn unit_range(r: &Request) -> (u32, u32) {
    if r.op == Op::Flush {
        return (0, 1);
    }
    let first = r.offset_bytes / UNIT_BYTES;
    let last = (r.offset_bytes + r.length_bytes).div_ceil(UNIT_BYTES);
    (first as u32, last as u32)
}

impl<const EXPLAIN: bool, const CHECK: bool> Device for SimulatedSsd<EXPLAIN, CHECK> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    #[inline]
    fn submit(&mut self, now: Nanos, request: Request) {
        self.submit_to_stream(now, request, 0);
    }

    fn streams(&self) -> u8 {
        self.ftl.streams()
    }

    #[inline]
    fn submit_to_stream(&mut self, now: Nanos, request: Request, stream: u8) {
        self.check_request(&request);
        assert!(stream < self.ftl.streams(), "stream {stream} of a drive of {}", self.ftl.streams());
        if self.in_flight == 0
            && (self.idle_step != IdleStep::Busy || self.folding.started || self.link_power.is_managed())
        {
            self.wake_from_idle(now);
        }
        self.note_in_flight(now, 1);
        if self.commands.active < self.info.queue_depth && self.commands.outside.is_empty() {
            self.accept(now, now, request, stream);
        } else {
            self.commands.outside.push_back((now, request, stream));
        }
    }

    fn set_link_policy(&mut self, now: Nanos, policy: LinkPolicy) -> bool {
        assert!(self.in_flight == 0, "the host's policy for an idle link changes while commands are under way");
        let Some((spec, _)) = self.power.as_deref().filter(|p| policy.suits(&p.0)) else {
            return policy == LinkPolicy::Active;
        };
        self.link_power.set_policy(now, policy, spec, self.schedule.at_rest());
        true
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        let decoded_at = self.commands.decoding.front().map_or(NEVER, |&(at, _)| at);
        let finished_at = self.commands.finished.front().map_or(NEVER, |f| f.0);
        let at = self.schedule.first().0.min(decoded_at).min(finished_at).min(self.idle_work_at());
        (at != NEVER).then_some(at)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        self.run(to, false, done);
    }

    #[inline]
    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        self.run(limit, true, done)
    }

    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        assert!(self.in_flight == 0, "SECURITY ERASE UNIT needs a drive without commands under way");
        // What is under way inside ends first.
        self.wake_from_idle(now);
        self.schedule.now = self.schedule.now.max(now);
        self.flush_rows();
        loop {
            let (die_at, d) = self.schedule.first();
            if die_at != NEVER {
                self.die_event(die_at, d);
            } else if self.ftl.waiting_units() > 0 && !self.ftl.is_read_only() {
                self.flush_rows();
            } else {
                break;
            }
        }
        let at = self.schedule.now;
        if self.ftl.is_read_only() {
            return at;
        }
        let erased_before = self.ftl.counters().block_erases;
        let blocks = self.ftl.secure_erase();
        let erased = (self.ftl.counters().block_erases - erased_before) / u64::from(self.ftl.medium().layout().planes);
        self.schedule.work.erasing += erased * self.schedule.erase_time();
        self.read_ahead.clear();
        self.written.fill(0);
        self.forgive_lost(0..self.ftl.logical_pages());
        let ready = at + u64::from(blocks) * self.schedule.erase_time();
        self.idle_since = ready;
        self.idle_step = IdleStep::Collecting;
        self.schedule.now = ready;
        self.processor_free = self.processor_free.max(ready);
        if self.link_power.is_managed() {
            self.link_power.rest(ready, true);
        }
        ready
    }

    fn counters(&self) -> Counters {
        let f = self.ftl.counters();
        let c = self.schedule.correction.as_ref().map_or_else(CorrectionCounters::default, |c| c.counters);
        let row_bytes = u64::from(self.ftl.medium().layout().row_units) * UNIT_BYTES;
        Counters {
            flash_host_program_bytes: f.host_rows * row_bytes,
            flash_fold_program_bytes: f.fold_rows * row_bytes,
            flash_gc_program_bytes: (f.gc_rows + f.retire_rows) * row_bytes,
            flash_metadata_program_bytes: f.metadata_rows * row_bytes,
            flash_gc_read_bytes: f.gc_read_units * UNIT_BYTES,
            block_erases: f.block_erases,
            buffer_overwrites: f.overwrites_in_buffer,
            energy_nanojoules: self.energy_nanojoules(),
            reread_units: c.reread_units,
            soft_units: c.soft_units,
            rebuilt_units: c.rebuilt_units,
            lost_units: c.lost_units,
            ..self.counters
        }
    }

    fn life(&mut self) -> Option<&mut dyn Life> {
        Some(self)
    }

    fn check_books(&self) -> Result<(), String> {
        self.check_own_books()?;
        self.ftl.check_books()
    }
}
