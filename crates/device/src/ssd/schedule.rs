//! Dies and channels: which operation a die does next, and exactly when it ends.
//!
//! A die does one operation at a time. Its event is the end of that operation; the steps inside (command, array,
//! bus) are computed when it begins, the bus by booking. Host reads may pass what else waits for the die; everything
//! else keeps its order, which is what keeps programs of one block in order and erases behind the reads of what they
//! erase.

use std::collections::VecDeque;

use ssdlab_core::{Breakdown, Cause, Nanos, nanos_from_ms, nanos_from_us};
use ssdlab_ftl::{FlashOp, Ftl, OpKind, OpSink};
use ssdlab_nand::DieSpec;

use super::channel::Channel;
use super::events::{NEVER, Tournament};
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
    /// When the operation under way began, and when its array part ended.
    began: Nanos,
    array_ended: Nanos,
    reads: VecDeque<FlashOp>,
    others: VecDeque<FlashOp>,
    log: [Ran; LOG],
    logged: usize,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Schedule<const CHECK: bool> {
    pub now: Nanos,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    channel_mask: u32,
    events: Tournament,
    read_time: Vec<Nanos>,
    program_time: Vec<Nanos>,
    erase_time: Nanos,
    command_time: Nanos,
    /// Picoseconds to move one 4 KiB unit with its share of the spare area.
    unit_picos: u64,
    row_units: u64,
    all_planes: u8,
    reads_first: bool,
    /// Die time by cause so far: what the drive as a whole was doing.
    pub spent: Breakdown,
    /// Judges every operation; only where the drive checks.
    referee: Option<Box<TimingReferee>>,
}

/// What a finished operation's time consisted of.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    pub op: FlashOp,
    pub began: Nanos,
    pub array_ended: Nanos,
}

impl<const CHECK: bool> Schedule<CHECK> {
    #[must_use]
    pub fn new(drive: &DriveSpec, die: &DieSpec) -> Self {
        let (dies, channels) = (drive.flash.dies, drive.controller.channels);
        let g = &die.geometry;
        let kind = |p: u32| g.page_order.kind_index(p, g.pages_per_block);
        let times = |list: &[f64]| (0..g.pages_per_block).map(|p| nanos_from_us(list[kind(p)])).collect::<Vec<_>>();
        let page_bytes = f64::from(g.page_bytes + g.spare_bytes);
        let unit_bytes = page_bytes / f64::from(die.units_per_page());
        let rate = die.bus.mega_transfers_per_s;
        let unit_picos = if rate == 0.0 { 0 } else { (unit_bytes * 1e6 / rate + 0.5) as u64 };
        let nothing = FlashOp { kind: OpKind::Erase, die: 0, rows: 0, units: 0, block: 0, page: 0, tag: 0, ready: 0 };
        let idle = Die {
            current: nothing,
            busy: false,
            began: 0,
            array_ended: 0,
            reads: VecDeque::with_capacity(64),
            others: VecDeque::with_capacity(64),
            log: [Ran { cause: Cause::Queue, from: 0, to: 0 }; LOG],
            logged: 0,
        };
        Schedule {
            now: 0,
            dies: vec![idle; dies as usize],
            channels: vec![Channel::default(); channels as usize],
            channel_mask: channels,
            events: Tournament::new(dies as usize),
            read_time: times(&die.timing.read_us),
            program_time: times(&die.timing.program_us),
            erase_time: nanos_from_ms(die.timing.erase_ms),
            command_time: nanos_from_us(die.bus.command_us),
            unit_picos,
            row_units: u64::from(g.planes * die.units_per_page()),
            all_planes: ((1u32 << g.planes) - 1) as u8,
            reads_first: drive.controller.reads_first,
            spent: Breakdown::default(),
            referee: CHECK.then(|| Box::new(TimingReferee::new(drive, die))),
        }
    }

    /// See [`super::SimulatedSsd::set_page_read_times`].
    pub fn set_page_read_times(&mut self, by_page: &[Nanos]) {
        assert_eq!(by_page.len(), self.read_time.len(), "one read time for each page of a block");
        self.read_time.copy_from_slice(by_page);
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

    #[must_use]
    pub fn erase_time(&self) -> Nanos {
        self.erase_time
    }

    /// Whose time an operation is, seen by somebody who waits for the die.
    #[inline]
    fn cause(kind: OpKind) -> Cause {
        match kind {
            OpKind::HostRead | OpKind::MergeRead => Cause::Read,
            OpKind::HostProgram => Cause::Program,
            OpKind::GcRead | OpKind::GcProgram => Cause::GarbageCollection,
            OpKind::MetadataProgram => Cause::Metadata,
            OpKind::Erase => Cause::Erase,
        }
    }

    #[inline]
    fn begin(&mut self, d: usize, op: FlashOp, explain: bool) {
        let channel = &mut self.channels[d % self.channel_mask as usize];
        let transfer = |units: u64| (units * self.unit_picos).div_ceil(1000);
        let (array_ended, transfer, end) = match op.kind {
            OpKind::HostRead | OpKind::MergeRead | OpKind::GcRead => {
                let mut array = self.command_time;
                let mut rows = op.rows;
                while rows != 0 {
                    array += self.read_time[op.page as usize + rows.trailing_zeros() as usize];
                    rows &= rows - 1;
                }
                let ready = self.now + array;
                let length = transfer(op.units.into());
                let from = channel.book(self.now, ready, length);
                (ready, Interval::new(from, from + length), from + length)
            }
            OpKind::HostProgram | OpKind::GcProgram | OpKind::MetadataProgram => {
                let late = (op.ready.wrapping_sub(self.now as u32) as i32).max(0) as u64;
                let late = if op.kind == OpKind::HostProgram { late } else { 0 };
                let earliest = self.now + late + self.command_time;
                // A program moves its whole row, padding included.
                let length = transfer(self.row_units);
                let from = channel.book(self.now, earliest, length);
                let end = from + length + self.program_time[op.page as usize];
                (end, Interval::new(from, from + length), end)
            }
            OpKind::Erase => {
                let end = self.now + self.command_time + self.erase_time;
                (end, Interval::new(self.now, self.now), end)
            }
        };
        if CHECK {
            self.judge(&op, transfer, end);
        }
        let die = &mut self.dies[d];
        die.current = op;
        die.busy = true;
        if explain {
            let cause = Self::cause(op.kind);
            die.began = self.now;
            die.array_ended = array_ended;
            die.log[die.logged % LOG] = Ran { cause, from: self.now, to: end };
            die.logged += 1;
            self.spent.add(cause, end - self.now);
        }
        self.events.set(d, end);
    }

    /// Runs an operation past the referee.
    fn judge(&mut self, op: &FlashOp, transfer: Interval, end: Nanos) {
        let page = u32::from(op.page);
        let (work, data_here) = match op.kind {
            OpKind::HostRead | OpKind::MergeRead | OpKind::GcRead => {
                (Work::Read { page, rows: op.rows, units: op.units.into() }, self.now)
            }
            OpKind::HostProgram => {
                let late = op.ready.wrapping_sub(self.now as u32) as i32;
                (Work::Program { page }, self.now.saturating_add_signed(late.into()))
            }
            OpKind::GcProgram | OpKind::MetadataProgram => (Work::Program { page }, self.now),
            OpKind::Erase => (Work::Erase, self.now),
        };
        // The translation layer works on all planes of a die at once.
        let planes = self.all_planes;
        let begin = self.now;
        let operation = Operation { die: op.die.into(), planes, work, begin, data_here, transfer, end };
        if let Some(Err(violation)) = self.referee.as_mut().map(|r| r.issue(&operation)) {
            panic!("the scheduler broke a rule of the flash: {violation} ({operation:?})");
        }
    }

    /// Ends the operation of a die whose event has come. Its successor is begun by [`Schedule::next`], once the
    /// consequences of this one are known.
    #[inline]
    pub fn end(&mut self, d: usize) -> Finished {
        let die = &mut self.dies[d];
        die.busy = false;
        self.events.set(d, NEVER);
        Finished { op: die.current, began: die.began, array_ended: die.array_ended }
    }

    /// Begins the next operation of a die that has none under way.
    #[inline]
    pub fn next(&mut self, d: usize, ftl: &Ftl, explain: bool) {
        let die = &mut self.dies[d];
        if die.busy {
            return;
        }
        let op = match die.reads.pop_front() {
            Some(op) => op,
            None => match die.others.pop_front() {
                Some(op) => op,
                None => return,
            },
        };
        if op.kind == OpKind::GcRead {
            ftl.prefetch_read(&op);
        }
        self.begin(d, op, explain);
    }

    /// What ran on a die in a stretch of time, by cause; what is not accounted for goes to `rest`.
    pub fn explain_wait(&self, d: usize, from: Nanos, to: Nanos, rest: Cause, into: &mut Breakdown) {
        let die = &self.dies[d];
        let mut left = to - from;
        for k in 1..=die.logged.min(LOG) {
            let ran = &die.log[(die.logged - k) % LOG];
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
    pub fn begin_idle(&mut self, mut dies: u64, ftl: &Ftl, explain: bool) {
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

impl<const CHECK: bool> OpSink for Wake<'_, CHECK> {
    #[inline]
    fn enqueue(&mut self, op: FlashOp) {
        let die = &mut self.schedule.dies[op.die as usize];
        let host_read = matches!(op.kind, OpKind::HostRead | OpKind::MergeRead);
        if host_read && self.schedule.reads_first {
            die.reads.push_back(op);
        } else {
            die.others.push_back(op);
        }
        self.dies |= 1 << op.die;
    }

    /// The low 32 bits, of now at the earliest: an operation begins within two seconds of being enqueued, so that the
    /// difference to the time then tells how much later the data come, if at all.
    #[inline]
    fn ready_code(&self, ready: Nanos) -> u32 {
        ready.max(self.schedule.now) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_nand::{Bus, Geometry, PageOrder, Timing, Wear};

    fn schedule() -> Schedule<true> {
        let die = DieSpec {
            description: String::new(),
            geometry: Geometry {
                planes: 2,
                blocks_per_plane: 16,
                pages_per_block: 8,
                page_bytes: 8192,
                spare_bytes: 512,
                bits_per_cell: 1,
                page_order: PageOrder::Uniform,
            },
            timing: Timing { read_us: vec![40.0], program_us: vec![500.0], erase_ms: 3.0 },
            bus: Bus { mega_transfers_per_s: 400.0, command_us: 2.0 },
            wear: Wear { rated_program_erase_cycles: 1000, factory_bad_blocks_per_10000: 0 },
        };
        let drive = toml::from_str(include_str!("../../../../catalog/drives/ideal-32die.toml"));
        let drive: DriveSpec = drive.expect("a drive of the catalog");
        Schedule::new(&drive, &die)
    }

    fn op(kind: OpKind) -> FlashOp {
        FlashOp { kind, die: 0, rows: 1, units: 4, block: 0, page: 0, tag: 0, ready: 0 }
    }

    type Fault = fn(&mut Schedule<true>);

    /// The referee stands in the scheduler's way: each fault that would let an operation pass too early is caught.
    #[test]
    fn a_scheduler_that_is_a_nanosecond_fast_anywhere_is_stopped() {
        let faults: [(Fault, OpKind, &str); 6] = [
            (|s| s.read_time[0] -= 1, OpKind::HostRead, "ReadTime"),
            (|s| s.command_time -= 1, OpKind::GcProgram, "CommandCycles"),
            (|s| s.command_time -= 1, OpKind::Erase, "EraseTime"),
            (|s| s.program_time[0] -= 1, OpKind::HostProgram, "ProgramTime"),
            (|s| s.erase_time -= 1, OpKind::Erase, "EraseTime"),
            (|s| s.unit_picos -= 250, OpKind::HostRead, "TransferTime"),
        ];
        for (fault, kind, rule) in faults {
            schedule().begin(0, op(kind), false);
            let mut s = schedule();
            fault(&mut s);
            let stopped = std::panic::catch_unwind(move || s.begin(0, op(kind), false)).expect_err(rule);
            let said = stopped.downcast_ref::<String>().expect("a message");
            assert!(said.contains(rule), "{said}");
        }
        // Twice on one die, and a channel that forgets what it carries.
        let mut s = schedule();
        s.begin(0, op(OpKind::Erase), false);
        s.now = 3_001_999;
        let stopped = std::panic::catch_unwind(move || s.begin(0, op(OpKind::Erase), false)).expect_err("a busy die");
        assert!(stopped.downcast_ref::<String>().expect("a message").contains("PlaneBusy"));
        let mut s = schedule();
        s.begin(0, op(OpKind::GcProgram), false);
        s.channels[0] = Channel::default();
        let next = FlashOp { die: s.channel_mask as u8, ..op(OpKind::GcProgram) };
        let stopped = std::panic::catch_unwind(move || s.begin(next.die.into(), next, false)).expect_err("a busy bus");
        assert!(stopped.downcast_ref::<String>().expect("a message").contains("ChannelBusy"));
    }
}
