//! Dies and channels: which operation a die does next, and exactly when it ends.
//!
//! A die does one operation at a time. Its event is the end of that operation; the steps inside (command, array,
//! bus) are computed when it begins, the bus by booking. Host reads may pass what else waits for the die; everything
//! else keeps its order, which is what keeps programs of one block in order and erases behind the reads of what they
//! erase.

use ssdlab_core::{Breakdown, Cause, Nanos, Ring, nanos_from_us};
use ssdlab_ftl::{FlashOp, Ftl, NOBODY, OpKind, OpSink};
use ssdlab_nand::{BlockId, CellMode, DieSpec};

use super::array_times::ArrayTimes;
use super::channel::Channel;
use super::correction::{Climb, Correction};
use super::events::{NEVER, Tournament};
use super::look_ahead::LookAhead;
use super::power::FlashWork;
use super::processor::Processor;
use crate::spec::DriveSpec;
use crate::timing::{Interval, Operation, TimingReferee, Work};

/// Operations remembered of each die, to tell a waiting command what it waited for.
const LOG: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Ran {
    cause: Cause,
    from: Nanos,
    to: Nanos,
}

#[derive(Clone, Debug)]
struct Die {
    current: FlashOp,
    busy: bool,
    channel: u8,
    /// When the operation under way began, and when its array part ended.
    began: Nanos,
    array_ended: Nanos,
    /// The read under way is not through with its plain read.
    climb: Option<Box<Climb>>,
    reads: Ring<FlashOp>,
    others: Ring<FlashOp>,
}

/// The last operations of a die.
#[derive(Clone, Debug)]
struct Log {
    ran: [Ran; LOG],
    logged: usize,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Schedule<const CHECK: bool> {
    pub now: Nanos,
    dies: Vec<Die>,
    logs: Vec<Log>,
    channels: Vec<Channel>,
    events: Tournament,
    pub look_ahead: LookAhead,
    pub processor: Processor,
    times: ArrayTimes,
    command_time: Nanos,
    /// Picoseconds to move one unit with its share of the spare area.
    unit_picos: u64,
    row_units: u64,
    /// Time to move a whole row.
    row_transfer: Nanos,
    all_planes: u8,
    reads_first: bool,
    /// Die time by cause so far: what the drive as a whole was doing.
    pub spent: Breakdown,
    /// What the dies were asked to do so far: what their energy follows from.
    pub work: FlashWork,
    /// Judges every operation; only where the drive checks.
    referee: Option<Box<TimingReferee>>,
    /// Drives with `[ecc]` only.
    pub correction: Option<Box<Correction>>,
}

/// What a finished operation's time consisted of.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    pub op: FlashOp,
    pub began: Nanos,
    pub array_ended: Nanos,
}

impl Finished {
    /// Where the time of a read that ends now has gone since `began`.
    #[inline]
    pub fn explain(&self, began: Nanos, now: Nanos, climb: Option<&Climb>, into: &mut Breakdown) {
        let array = self.array_ended.max(began);
        into.add(Cause::Read, array - began);
        let out = climb.map_or(now, |climb| climb.first_out.max(array));
        into.add(Cause::Bus, out - array);
        if climb.is_some() {
            into.add(Cause::EccRetry, now - out);
        }
    }
}

impl<const CHECK: bool> Schedule<CHECK> {
    #[must_use]
    pub fn new(drive: &DriveSpec, die: &DieSpec) -> Self {
        let (dies, channels) = (drive.flash.dies, drive.controller.channels);
        let g = &die.geometry;
        let page_bytes = f64::from(g.page_bytes + g.spare_bytes);
        let unit_bytes = page_bytes / f64::from(drive.units_per_page(die));
        let rate = die.bus.mega_transfers_per_s;
        let unit_picos = if rate == 0.0 { 0 } else { (unit_bytes * 1e6 / rate + 0.5) as u64 };
        let row_units = u64::from(g.planes * drive.units_per_page(die));
        let nothing = FlashOp { kind: OpKind::Erase, die: 0, rows: 0, units: 0, block: 0, page: 0, tag: 0, ready: 0 };
        let idle = Die {
            current: nothing,
            busy: false,
            channel: 0,
            began: 0,
            array_ended: 0,
            climb: None,
            reads: Ring::new(8, nothing),
            others: Ring::new(8, nothing),
        };
        let log = Log { ran: [Ran { cause: Cause::Queue, from: 0, to: 0 }; LOG], logged: 0 };
        Schedule {
            now: 0,
            dies: (0..dies).map(|d| Die { channel: (d % channels) as u8, ..idle.clone() }).collect(),
            logs: vec![log; dies as usize],
            channels: vec![Channel::default(); channels as usize],
            events: Tournament::new(dies as usize),
            look_ahead: LookAhead::default(),
            processor: Processor::new(drive),
            times: ArrayTimes::new(die),
            command_time: nanos_from_us(die.bus.command_us),
            unit_picos,
            row_units,
            row_transfer: (row_units * unit_picos).div_ceil(1000),
            all_planes: ((1u32 << g.planes) - 1) as u8,
            reads_first: drive.controller.reads_first,
            spent: Breakdown::default(),
            work: FlashWork::default(),
            referee: CHECK.then(|| Box::new(TimingReferee::new(drive, die))),
            correction: None,
        }
    }

    /// See [`super::SimulatedSsd::set_page_read_times`].
    pub fn set_page_read_times(&mut self, by_page: &[Nanos]) {
        self.times.set_native_reads(by_page);
        if let Some(referee) = &mut self.referee {
            referee.set_page_read_times(by_page);
        }
    }

    /// The earliest end of an operation, and its die.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Nanos, usize) {
        self.events.first()
    }

    /// Whether no die has anything to do.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.first().0 == NEVER && self.processor.rows.is_empty()
    }

    /// tBERS of a block in the die's own cell mode.
    #[must_use]
    pub fn erase_time(&self) -> Nanos {
        self.times.erase(self.times.native())
    }

    /// Whose time an operation is, seen by somebody who waits for the die.
    #[inline]
    fn cause(kind: OpKind) -> Cause {
        match kind {
            OpKind::HostRead | OpKind::MergeRead => Cause::Read,
            OpKind::HostProgram => Cause::Program,
            OpKind::GcRead | OpKind::GcProgram | OpKind::RetireRead | OpKind::RetireProgram => Cause::GarbageCollection,
            OpKind::FoldRead | OpKind::FoldProgram | OpKind::FoldCopy => Cause::Fold,
            OpKind::MapRead | OpKind::MetadataProgram => Cause::Metadata,
            OpKind::Erase => Cause::Erase,
        }
    }

    #[inline(always)]
    fn begin(&mut self, d: usize, op: FlashOp, mode: CellMode, explain: bool) -> Nanos {
        let channel = &mut self.channels[usize::from(self.dies[d].channel)];
        let (array_ended, transfer, end) = match op.kind {
            OpKind::HostRead
            | OpKind::MergeRead
            | OpKind::GcRead
            | OpKind::FoldRead
            | OpKind::MapRead
            | OpKind::RetireRead => {
                let read_time = self.times.read(mode);
                let mut array = 0;
                let mut rows = op.rows;
                while rows != 0 {
                    array += read_time[op.page as usize + rows.trailing_zeros() as usize];
                    rows &= rows - 1;
                }
                self.work.sensing += array;
                self.work.units += u64::from(op.units);
                let ready = self.now + self.command_time + array;
                let length = (u64::from(op.units) * self.unit_picos).div_ceil(1000);
                let from = channel.book(self.now, ready, length);
                (ready, Interval::new(from, from + length), from + length)
            }
            OpKind::HostProgram
            | OpKind::GcProgram
            | OpKind::FoldProgram
            | OpKind::MetadataProgram
            | OpKind::RetireProgram => {
                let late = (op.ready.wrapping_sub(self.now as u32) as i32).max(0) as u64;
                let late = if op.kind == OpKind::HostProgram { late } else { 0 };
                let earliest = self.now + late + self.command_time;
                // A program moves its whole row, padding included.
                let length = self.row_transfer;
                let from = channel.book(self.now, earliest, length);
                let array = self.times.program(mode)[op.page as usize];
                self.work.programming += array;
                self.work.units += self.row_units;
                let end = from + length + array;
                (end, Interval::new(from, from + length), end)
            }
            OpKind::FoldCopy => {
                let array = self.times.program(mode)[op.page as usize];
                self.work.programming += array;
                let end = self.now + self.command_time + array;
                (end, Interval::new(self.now, self.now), end)
            }
            OpKind::Erase => {
                let array = self.times.erase(mode);
                self.work.erasing += array;
                let end = self.now + self.command_time + array;
                (end, Interval::new(self.now, self.now), end)
            }
        };
        if CHECK {
            self.judge(&op, mode, transfer, end);
        }
        let die = &mut self.dies[d];
        die.current = op;
        die.busy = true;
        if explain {
            let cause = Self::cause(op.kind);
            die.began = self.now;
            die.array_ended = array_ended;
            let log = &mut self.logs[d];
            log.ran[log.logged % LOG] = Ran { cause, from: self.now, to: end };
            log.logged += 1;
            self.spent.add(cause, end - self.now);
        }
        self.events.set(d, end);
        end
    }

    /// Runs an operation past the referee.
    fn judge(&mut self, op: &FlashOp, mode: CellMode, transfer: Interval, end: Nanos) {
        let page = u32::from(op.page);
        let (work, data_here) = match op.kind {
            OpKind::HostRead
            | OpKind::MergeRead
            | OpKind::GcRead
            | OpKind::FoldRead
            | OpKind::MapRead
            | OpKind::RetireRead => (Work::Read { page, rows: op.rows, units: op.units.into() }, self.now),
            OpKind::HostProgram => {
                let late = op.ready.wrapping_sub(self.now as u32) as i32;
                (Work::Program { page }, self.now.saturating_add_signed(late.into()))
            }
            OpKind::GcProgram | OpKind::FoldProgram | OpKind::MetadataProgram | OpKind::RetireProgram => {
                (Work::Program { page }, self.now)
            }
            OpKind::FoldCopy => (Work::Copy { page }, self.now),
            OpKind::Erase => (Work::Erase, self.now),
        };
        // The translation layer works on all planes of a die at once.
        let planes = self.all_planes;
        let begin = self.now;
        let operation = Operation { die: op.die.into(), planes, mode, work, begin, data_here, transfer, end };
        self.pass(&operation);
    }

    fn pass(&mut self, operation: &Operation) {
        if let Some(Err(violation)) = self.referee.as_mut().map(|r| r.issue(operation)) {
            panic!("the scheduler broke a rule of the flash: {violation} ({operation:?})");
        }
    }

    /// Ends the operation of a die whose event has come. [`Schedule::next`] must follow before the next event is asked
    /// for, once the consequences of this one are known: it begins the successor, or takes the event away.
    #[inline]
    pub fn end(&mut self, d: usize) -> Finished {
        let die = &mut self.dies[d];
        die.busy = false;
        Finished { op: die.current, began: die.began, array_ended: die.array_ended }
    }

    /// Begins the next operation of a die that has none under way; if there is none, the die has no event.
    #[inline]
    pub fn next(&mut self, d: usize, ftl: &mut Ftl, explain: bool) {
        let die = &mut self.dies[d];
        if die.busy {
            return;
        }
        let op = match die.reads.pop_front() {
            Some(op) => op,
            None => match die.others.pop_front() {
                Some(op) => op,
                None => {
                    self.events.set(d, NEVER);
                    return;
                }
            },
        };
        if matches!(op.kind, OpKind::GcRead | OpKind::FoldRead) {
            self.look_ahead.follow(op);
        }
        // Dies that know one mode only are not asked which: it would cost them a look at the block's state.
        let mode = if self.times.several_modes() { ftl.medium().mode(op.block) } else { self.times.native() };
        if self.correction.is_some() {
            return self.begin_corrected(d, op, mode, ftl, explain);
        }
        self.begin(d, op, mode, explain);
    }

    /// [`Schedule::begin`] on flash that errs.
    #[inline(never)]
    fn begin_corrected(&mut self, d: usize, op: FlashOp, mode: CellMode, ftl: &mut Ftl, explain: bool) {
        let climb = self.correction.as_mut().and_then(|correction| correction.begin(&op, mode, self.now, ftl));
        let end = self.begin(d, op, mode, explain);
        if let Some(climb) = climb {
            self.hold(d, climb, end, explain);
        }
    }

    /// What a read that is over took beyond the plain one.
    #[cold]
    pub fn take_climb(&mut self, d: usize) -> Option<Box<Climb>> {
        self.dies[d].climb.take()
    }

    /// Whether the die's read is not through when its event comes; [`Schedule::climb_on`] says for certain.
    #[inline]
    #[must_use]
    pub fn climbs(&self, d: usize) -> bool {
        self.dies[d].climb.is_some()
    }

    /// What ran on a die in a stretch of time, by cause; what is not accounted for goes to `rest`.
    pub fn explain_wait(&self, d: usize, from: Nanos, to: Nanos, rest: Cause, into: &mut Breakdown) {
        let log = &self.logs[d];
        let mut left = to - from;
        for k in 1..=log.logged.min(LOG) {
            let ran = &log.ran[(log.logged - k) % LOG];
            if ran.to <= from {
                break;
            }
            let overlap = ran.to.min(to).saturating_sub(ran.from.max(from));
            into.add(ran.cause, overlap);
            left -= overlap;
        }
        into.add(rest, left);
    }

    /// The dies that have nothing under way but something to do, one bit each; used after enqueueing.
    #[inline]
    pub fn begin_idle(&mut self, mut dies: u64, ftl: &mut Ftl, explain: bool) {
        while dies != 0 {
            self.next(dies.trailing_zeros() as usize, ftl, explain);
            dies &= dies - 1;
        }
    }
}

/// Collects the operations of one step and remembers which dies they woke.
pub struct Wake<'a, const CHECK: bool> {
    pub schedule: &'a mut Schedule<CHECK>,
    pub dies: u64,
}

impl<const CHECK: bool> Wake<'_, CHECK> {
    /// Hands an operation to its die.
    // Put together where it goes: an operation that passes through memory is read before it has been written.
    #[inline(always)]
    pub fn enqueue_now(&mut self, op: FlashOp) {
        let die = &mut self.schedule.dies[op.die as usize];
        let for_map = op.kind == OpKind::MapRead && op.tag != NOBODY;
        let host_read = matches!(op.kind, OpKind::HostRead | OpKind::MergeRead) || for_map;
        if host_read && self.schedule.reads_first {
            die.reads.push_back(op);
        } else {
            die.others.push_back(op);
        }
        self.dies |= 1 << op.die;
    }

    /// Hands over a read for the host that wants these units of its row: see [`super::wanted::Wanted`].
    #[inline(always)]
    pub fn enqueue_read(&mut self, op: FlashOp, units: u64) {
        if let Some(correction) = &mut self.schedule.correction {
            correction.wanted.expect(op.die, units);
        }
        self.enqueue(op);
    }
}

impl<const CHECK: bool> OpSink for Wake<'_, CHECK> {
    #[inline(always)]
    fn enqueue(&mut self, op: FlashOp) {
        if self.schedule.processor.prepares(&op) {
            self.schedule.processor.prepare(self.schedule.now, op);
        } else {
            self.enqueue_now(op);
        }
    }
    #[cold]
    fn retarget(&mut self, die: u32, from: BlockId, to: BlockId, first: &[FlashOp]) {
        let now = self.schedule.now as u32;
        let prepared = self.schedule.processor.rows.iter_mut().filter(|op| u32::from(op.die) == die);
        prepared.for_each(|op| op.retarget(from, to));
        let waiting = &mut self.schedule.dies[die as usize].others;
        waiting.for_each_mut(|op| {
            op.retarget(from, to);
            // It waits longer now than its time code reaches back.
            if op.kind == OpKind::HostProgram && op.ready.wrapping_sub(now) as i32 <= 0 {
                op.ready = now;
            }
        });
        first.iter().rev().for_each(|&op| waiting.push_front(op));
        self.dies |= 1 << die;
    }

    /// The low 32 bits, of now at the earliest: an operation begins within two seconds of being enqueued, so that the
    /// difference to the time then tells how much later the data come, if at all.
    #[inline]
    fn ready_code(&self, ready: Nanos) -> u32 {
        ready.max(self.schedule.now) as u32
    }
}

#[path = "climb.rs"]
mod climb;

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
