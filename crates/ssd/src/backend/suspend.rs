//! Programs and erases that are interrupted for the host's reads (`[features.suspend]` of a die), and go on afterwards.

use ssdlab_core::{Nanos, nanos_from_us};
use ssdlab_ftl::{Act, FlashOp, OpKind};
use ssdlab_nand::{DieId, Suspend};

use super::Backend;
use crate::probe::{Details, Probe};
use crate::timing::Interval;

/// When and how dies are interrupted.
#[derive(Clone, Copy, Debug)]
pub struct SuspendRules {
    program: Option<Nanos>,
    erase: Option<Nanos>,
    resume: Nanos,
    most: u32,
    least_progress: Nanos,
}

impl SuspendRules {
    #[must_use]
    pub fn new(spec: &Suspend) -> Self {
        SuspendRules {
            program: spec.program_us.map(nanos_from_us),
            erase: spec.erase_us.map(nanos_from_us),
            resume: nanos_from_us(spec.resume_us),
            most: spec.most_per_operation,
            least_progress: nanos_from_us(spec.least_progress_us),
        }
    }

    /// From the command until a read may begin; `None`: such an operation is not interrupted.
    fn time(&self, kind: OpKind) -> Option<Nanos> {
        match kind.act() {
            Act::Erase => self.erase,
            Act::Program | Act::ProgramOwn => self.program,
            Act::Read => None,
        }
    }
}

/// What a die goes on with after the reads.
#[derive(Clone, Copy, Debug)]
pub struct Suspended {
    pub op: FlashOp,
    pub left: Nanos,
}

/// How far the operation under way is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// When its array part began, or went on last.
    array_from: Nanos,
    interruptions: u32,
}

impl Progress {
    pub fn begin(array_from: Nanos) -> Self {
        Progress { array_from, interruptions: 0 }
    }

    pub fn array_from(&self) -> Nanos {
        self.array_from
    }

    pub fn was_interrupted(&self) -> bool {
        self.interruptions > 0
    }
}

impl Backend {
    /// A read waits for a die that is at work: interrupts it, if that is allowed and gains anything, or sees to it that it
    /// is interrupted as soon as it may be. Returns when reads may begin.
    #[cold]
    pub(super) fn interrupt<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        now: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> Option<Nanos> {
        let (from, time) = self.may_be_interrupted(d, now)?;
        if now < from {
            self.look_at_later(d, from);
            return None;
        }
        let ends = self.end_of(d);
        let die = &mut self.dies[d.index()];
        // It may have been planned for this very instant, whose event is still to come.
        die.ends_otherwise = None;
        die.suspended = Some(Suspended { op: die.current, left: ends - now });
        die.progress.interruptions += 1;
        die.busy = false;
        if let Some(planes) = &mut self.planes {
            planes.interrupted_or_resumed(d);
        }
        probe.explain(|explanations| explanations.interrupted(d, now, now + time));
        probe.check(|checks| checks.interrupted(d, now, now + time));
        Some(now + time)
    }

    /// From when on what a die is at may be interrupted for a read that waits, if it gains anything; and how long that takes.
    fn may_be_interrupted(&self, d: DieId, now: Nanos) -> Option<(Nanos, Nanos)> {
        let rules = self.suspend?;
        if self.is_loaded(d) || !self.a_read_waits(d) {
            return None;
        }
        let die = &self.dies[d.index()];
        if !die.busy || die.suspended.is_some() || die.progress.interruptions >= rules.most {
            return None;
        }
        let time = rules.time(die.current.kind())?;
        let from = now.max(die.progress.array_from + rules.least_progress);
        (from + time < self.end_of(d)).then_some((from, time))
    }

    /// A die has begun or gone on with something although reads wait, since so many had passed it: these interrupt it in their
    /// turn. It has come on by then, by a nanosecond at the least.
    #[cold]
    pub(super) fn expect_interruption(&mut self, d: DieId, now: Nanos) {
        if let Some((from, _)) = self.may_be_interrupted(d, now + 1) {
            self.look_at_later(d, from);
        }
    }

    /// When the operation of a die ends, if it is not interrupted.
    pub(super) fn end_of(&self, d: DieId) -> Nanos {
        self.dies[d.index()].ends_otherwise.unwrap_or_else(|| self.events.of(d.index()))
    }

    /// The event of a die is not to be the end of what it is at, if it is at anything: it is looked at then.
    pub(super) fn look_at_later(&mut self, d: DieId, at: Nanos) {
        let ends = self.end_of(d);
        let die = &mut self.dies[d.index()];
        die.ends_otherwise = die.busy.then_some(ends);
        self.events.set(d.index(), at);
        self.looked_at_later.insert(d.number());
    }

    /// Whether the event of a die is not the end of an operation: the time from which its operation may be interrupted, or at
    /// which the data of its next program have come. Then it is looked at with [`Backend::begin_woken`].
    #[inline]
    pub fn is_to_be_looked_at(&mut self, d: DieId) -> bool {
        !self.looked_at_later.is_empty() && self.look_at_is_due(d)
    }

    #[cold]
    #[inline(never)]
    fn look_at_is_due(&mut self, d: DieId) -> bool {
        self.looked_at_later.remove(d.number());
        let die = &mut self.dies[d.index()];
        match die.ends_otherwise.take() {
            Some(ends) => self.events.set(d.index(), ends),
            // It has begun something since.
            None if die.busy => return false,
            None => {}
        }
        self.wake(d);
        true
    }

    /// The reads are over: the die goes on with what was interrupted, if anything was. Returns whether it does.
    #[cold]
    pub(super) fn resume<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        now: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> bool {
        let die = &mut self.dies[d.index()];
        let (Some(rules), Some(Suspended { op, left })) = (self.suspend, die.suspended.take()) else { return false };
        let end = now + rules.resume + left;
        die.current = op;
        die.busy = true;
        die.passes = 0;
        die.sensed = 0;
        die.progress.array_from = now + rules.resume;
        if let Some(planes) = &mut self.planes {
            planes.interrupted_or_resumed(d);
        }
        probe.explain(|explanations| {
            let none = Interval::new(now, now);
            explanations.operation(d, op.kind(), [now, end, end], || Details::of(&op, die.channel, none));
        });
        probe.check(|checks| checks.resumed(d, now, end));
        self.events.set(d.index(), end);
        true
    }
}
