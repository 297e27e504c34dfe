//! What the drive does while the host is silent.

use ssdlab_core::Nanos;
use ssdlab_ftl::Unfolded;

use super::events::NEVER;
use super::{IdleStep, SimulatedSsd};

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    /// When idle work is due, if the drive is idle and has any.
    #[inline]
    pub(super) fn idle_work_at(&self) -> Nanos {
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

    pub(super) fn idle_work(&mut self, at: Nanos) {
        self.schedule.now = at;
        if at == self.folding.next {
            let mut left = Unfolded::Nothing;
            self.ask(0, |ftl, wake| left = ftl.fold_in_background(wake));
            self.folding.stepped(at, left, self.background_after_idle);
            if self.schedule.processor.rounds.kept {
                self.keep_rounds();
            }
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
    pub(super) fn flush_rows(&mut self) {
        self.ask(0, |ftl, wake| ftl.force(wake));
        self.ftl.unforce();
    }

    #[cold]
    pub(super) fn wake_from_idle(&mut self, now: Nanos) {
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
    pub(super) fn rest(&mut self) -> Nanos {
        if self.link_power.is_managed() {
            self.link_power.inside(self.schedule.now, self.schedule.at_rest());
        }
        self.idle_work_at()
    }
}
