//! Dies and channels: which operation a die does next, and exactly when it ends.
//!
//! A die does one operation at a time. Its event is the end of that operation; the steps inside (command, array,
//! bus) are computed when it begins, the bus by booking. Host reads may pass what else waits for the die; everything
//! else keeps its order, which is what keeps programs of one block in order and erases behind the reads of what they
//! erase.

use std::collections::VecDeque;

use ssdlab_core::{Breakdown, Cause, Nanos, nanos_from_ms, nanos_from_us};
use ssdlab_ftl::{FlashOp, OpKind, OpSink};
use ssdlab_nand::DieSpec;

use super::channel::Channel;
use super::events::{NEVER, Tournament};

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
}

/// The last operations of a die.
#[derive(Clone, Debug)]
struct Log {
    ran: [Ran; LOG],
    logged: usize,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub now: Nanos,
    dies: Vec<Die>,
    logs: Vec<Log>,
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
    reads_first: bool,
    /// Die time by cause so far: what the drive as a whole was doing.
    pub spent: Breakdown,
}

/// What a finished operation's time consisted of.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    pub op: FlashOp,
    pub began: Nanos,
    pub array_ended: Nanos,
}

impl Schedule {
    #[must_use]
    pub fn new(die: &DieSpec, dies: u32, channels: u32, reads_first: bool) -> Self {
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
        };
        let log = Log { ran: [Ran { cause: Cause::Queue, from: 0, to: 0 }; LOG], logged: 0 };
        Schedule {
            now: 0,
            dies: vec![idle; dies as usize],
            logs: vec![log; dies as usize],
            channels: vec![Channel::default(); channels as usize],
            channel_mask: channels,
            events: Tournament::new(dies as usize),
            read_time: times(&die.timing.read_us),
            program_time: times(&die.timing.program_us),
            erase_time: nanos_from_ms(die.timing.erase_ms),
            command_time: nanos_from_us(die.bus.command_us),
            unit_picos,
            row_units: u64::from(g.planes * die.units_per_page()),
            reads_first,
            spent: Breakdown::default(),
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
        let (array_ended, end) = match op.kind {
            OpKind::HostRead | OpKind::MergeRead | OpKind::GcRead => {
                let mut array = self.command_time;
                let mut rows = op.rows;
                while rows != 0 {
                    array += self.read_time[op.page as usize + rows.trailing_zeros() as usize];
                    rows &= rows - 1;
                }
                let ready = self.now + array;
                let length = transfer(op.units.into());
                (ready, channel.book(self.now, ready, length) + length)
            }
            OpKind::HostProgram | OpKind::GcProgram | OpKind::MetadataProgram => {
                let late = (op.ready.wrapping_sub(self.now as u32) as i32).max(0) as u64;
                let late = if op.kind == OpKind::HostProgram { late } else { 0 };
                let earliest = self.now + late + self.command_time;
                // A program moves its whole row, padding included.
                let length = transfer(self.row_units);
                let loaded = channel.book(self.now, earliest, length) + length;
                let end = loaded + self.program_time[op.page as usize];
                (end, end)
            }
            OpKind::Erase => {
                let end = self.now + self.command_time + self.erase_time;
                (end, end)
            }
        };
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
    pub fn next(&mut self, d: usize, explain: bool) {
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
        self.begin(d, op, explain);
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
    pub fn begin_idle(&mut self, mut dies: u64, explain: bool) {
        while dies != 0 {
            self.next(dies.trailing_zeros() as usize, explain);
            dies &= dies - 1;
        }
    }
}

/// Collects the operations of one step and remembers which dies they woke.
pub struct Wake<'a> {
    pub schedule: &'a mut Schedule,
    pub dies: u64,
}

impl OpSink for Wake<'_> {
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
