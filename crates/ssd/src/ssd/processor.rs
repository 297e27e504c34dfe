//! The drive's one processor: works through its queue in order.
//!
//! Commands take their time in it; so do units that the collector moves, where the drive file says so: their rows go
//! to the dies once the processor has prepared them. With `host_share = "between-rounds"` a round of the collector
//! takes the processor as a whole: commands that come while it lasts are held, and queue up when it is over.

use std::collections::VecDeque;

use ssdlab_core::{Breakdown, Cause, Nanos, Request, Ring, nanos_from_us};
use ssdlab_ftl::{FlashOp, HostShare, OpKind, Round};

use super::SimulatedSsd;
use super::command::Command;
use super::schedule::Wake;
use crate::spec::DriveSpec;

/// In the place of a command's slot: a row that the collector writes is prepared; a round of it begins.
const ROW: u32 = u32::MAX;
const ROUND: u32 = u32::MAX - 1;
pub const FIRST_OF_COLLECTOR: u32 = ROUND;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Processor {
    /// When it has done what is booked.
    pub free: Nanos,
    /// How long it has worked, what is booked included.
    pub busy: Nanos,
    /// What it takes to move a unit.
    pub move_unit: Nanos,
    /// Ends of what is booked, in order, and the slots of the commands that are decoded then.
    pub queue: Ring<(Nanos, u32)>,
    /// Rows that it prepares, in the queue's order.
    pub rows: VecDeque<FlashOp>,
    pub rounds: Rounds,
}

/// Rounds of the collector.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// The firmware works in them.
    pub kept: bool,
    state: State,
    /// The last one that began emptied the SLC cache.
    folds: bool,
    /// Commands that came during a round.
    held: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    /// A round is in the queue; what comes now waits behind it.
    Booked,
    Running,
}

impl Processor {
    #[must_use]
    pub fn new(drive: &DriveSpec) -> Self {
        let kept = drive.gc.host_share == HostShare::BetweenRounds;
        Processor {
            free: 0,
            busy: 0,
            move_unit: nanos_from_us(drive.controller.move_unit_us),
            queue: Ring::new(drive.controller.queue_depth as usize, (0, 0)),
            rows: VecDeque::new(),
            rounds: Rounds { kept, ..Rounds::default() },
        }
    }

    /// Books time from `earliest` on; returns when it begins.
    #[inline]
    pub fn book(&mut self, earliest: Nanos, time: Nanos) -> Nanos {
        let start = self.free.max(earliest);
        self.free = start + time;
        self.busy += time;
        start
    }

    /// Whether an operation goes to its die by way of the processor: rows that the collector writes, and whatever comes
    /// after them in the same block, which keeps its order.
    #[inline]
    pub fn prepares(&self, op: &FlashOp) -> bool {
        self.move_unit != 0
            && match op.kind {
                OpKind::GcProgram | OpKind::FoldProgram | OpKind::FoldCopy => true,
                OpKind::HostRead | OpKind::MergeRead | OpKind::MapRead => false,
                _ => self.rows.iter().any(|row| row.block == op.block),
            }
    }

    /// Prepares an operation. Only moving units takes time.
    #[cold]
    pub fn prepare(&mut self, now: Nanos, op: FlashOp) {
        let moves = matches!(op.kind, OpKind::GcProgram | OpKind::FoldProgram | OpKind::FoldCopy);
        let time = if moves { u64::from(op.units) * self.move_unit } else { 0 };
        let start = self.book(now, time);
        self.queue.push_back((start + time, ROW));
        self.rows.push_back(op);
    }

    /// Whether commands have to wait for the end of a round.
    #[inline]
    pub fn holds(&self) -> bool {
        self.rounds.state != State::Free
    }
}

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    /// The processor has done something for the collector.
    #[cold]
    pub(super) fn processed(&mut self, what: u32) {
        if what == ROUND {
            return self.begin_round();
        }
        let op = self.schedule.processor.rows.pop_front().expect("one for each of the queue's");
        let mut wake = Wake { schedule: &mut self.schedule, dies: 0 };
        wake.enqueue_now(op);
        let dies = wake.dies;
        self.schedule.begin_idle(dies, &mut self.ftl, EXPLAIN);
    }

    /// A command that comes during a round waits for its end. `times`: when the host let go of it, when the drive may
    /// see it, and when it has arrived.
    #[cold]
    pub(super) fn hold(&mut self, slot: u32, request: &Request, stream: u8, times: [Nanos; 3]) {
        let [submitted, seen, arrived] = times;
        *self.commands.slot(slot) = Command::new(*request, stream, submitted, arrived, arrived);
        if EXPLAIN {
            let breakdown = &mut self.commands.account(slot).breakdown;
            *breakdown = Breakdown::default();
            breakdown.add(Cause::Queue, seen - submitted);
            breakdown.add(Cause::Link, arrived - seen);
        }
        self.schedule.processor.rounds.held.push_back(slot);
    }

    /// After anything that may have brought the collector to the beginning or the end of a round.
    #[cold]
    pub(super) fn keep_rounds(&mut self) {
        // A drive that has given up moves nothing any more.
        let round = if self.ftl.is_frozen() { Round::None } else { self.ftl.round() };
        let wanted = round == Round::Wanted;
        match self.schedule.processor.rounds.state {
            State::Free if wanted && self.may_begin_round() => self.book_round(),
            State::Running if round != Round::Running => {
                self.release();
                if wanted && self.may_begin_round() {
                    self.book_round();
                }
            }
            _ => {}
        }
    }

    /// Work ahead of need rests while the host is there.
    fn may_begin_round(&self) -> bool {
        let at_rest = self.idle_step == super::IdleStep::Collecting || self.folding.started;
        self.in_flight == 0 && at_rest || self.ftl.round_is_due()
    }

    fn book_round(&mut self) {
        let now = self.schedule.now;
        let processor = &mut self.schedule.processor;
        let at = processor.book(now, 0);
        processor.queue.push_back((at, ROUND));
        processor.rounds.state = State::Booked;
    }

    fn begin_round(&mut self) {
        self.schedule.processor.rounds.state = State::Running;
        self.schedule.processor.rounds.folds = self.ftl.round_folds();
        if self.ftl.round() == Round::Wanted {
            self.ask(0, |ftl, wake| ftl.begin_round(wake));
        } else {
            self.keep_rounds();
        }
    }

    /// A round is over: what has come meanwhile goes into the queue.
    fn release(&mut self) {
        let now = self.schedule.now;
        self.schedule.processor.rounds.state = State::Free;
        let cause = if self.schedule.processor.rounds.folds { Cause::Fold } else { Cause::GarbageCollection };
        while let Some(slot) = self.schedule.processor.rounds.held.pop_front() {
            let command = self.commands.slot(slot);
            let (request, arrived) = (command.request, command.decoded);
            let (decoded, processed) = self.process(&request, arrived.max(now));
            let command = self.commands.slot(slot);
            (command.decoded, command.processed) = (decoded, processed);
            if EXPLAIN {
                let breakdown = &mut self.commands.account(slot).breakdown;
                breakdown.add(cause, now.saturating_sub(arrived));
                breakdown.add(Cause::Controller, decoded - arrived.max(now));
            }
            self.schedule.processor.queue.push_back((decoded, slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processor() -> Processor {
        let drive = toml::from_str(include_str!("../../../../catalog/drives/sm2256-500gb.toml"));
        let drive: DriveSpec = drive.expect("a drive of the catalog");
        Processor { move_unit: 15_000, ..Processor::new(&drive) }
    }

    fn op(kind: OpKind, units: u8, block: u32) -> FlashOp {
        FlashOp { kind, die: 0, rows: 1, units, block, page: 0, tag: 0, ready: 0 }
    }

    #[test]
    fn moved_units_and_commands_take_their_time_one_after_the_other() {
        let mut p = processor();
        let now = 1_000_000;
        p.prepare(now, op(OpKind::GcProgram, 8, 1));
        p.prepare(now, op(OpKind::FoldProgram, 5, 1));
        // A command that comes meanwhile waits for both rows.
        assert_eq!(p.book(now + 7, 14_000), now + 13 * 15_000);
        p.prepare(now + 10, op(OpKind::FoldCopy, 1, 2));
        let ends: Vec<Nanos> = std::iter::from_fn(|| p.queue.pop_front()).map(|(at, _)| at).collect();
        assert_eq!(ends, [now + 120_000, now + 195_000, now + 195_000 + 14_000 + 15_000]);
        assert_eq!((p.busy, p.free), (14 * 15_000 + 14_000, ends[2]));
        // After a pause it begins when it is asked.
        assert_eq!(p.book(2 * now, 1), 2 * now);
    }

    #[test]
    fn what_follows_a_row_in_its_block_goes_the_same_way_and_takes_no_time() {
        let mut p = processor();
        assert!(!p.prepares(&op(OpKind::HostProgram, 8, 1)));
        assert!(p.prepares(&op(OpKind::GcProgram, 8, 1)));
        p.prepare(0, op(OpKind::GcProgram, 8, 1));
        for kind in [OpKind::HostProgram, OpKind::GcRead, OpKind::Erase] {
            assert!(p.prepares(&op(kind, 8, 1)) && !p.prepares(&op(kind, 8, 2)), "{kind:?}");
        }
        assert!(!p.prepares(&op(OpKind::HostRead, 1, 1)), "what is not on flash is read from memory");
        p.prepare(0, op(OpKind::HostProgram, 8, 1));
        assert_eq!((p.busy, p.free), (120_000, 120_000));
        // Without a time for it, nothing is kept back.
        let free = Processor { move_unit: 0, ..p };
        assert!(!free.prepares(&op(OpKind::GcProgram, 8, 1)));
    }
}
