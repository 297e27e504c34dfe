//! Cuts that were asked for beforehand.

use ssdlab_core::Nanos;

/// When the plug is pulled by itself. Times are the drive's, from the begin of serving.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutPlan {
    /// In order.
    pub at: Vec<Nanos>,
    /// Again and again; 0: never.
    pub every: Nanos,
    /// How long the power stays away.
    pub off_for: Nanos,
}

/// See the module's own page.
pub struct Cuts {
    plan: CutPlan,
    /// Of `plan.at`, those that are over.
    over: usize,
    next_periodic: Option<Nanos>,
    /// When a planned cut ends.
    restore_at: Option<Nanos>,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Cut,
    Restore,
}

impl Cuts {
    #[must_use]
    pub fn new(mut plan: CutPlan) -> Self {
        plan.at.sort_unstable();
        let next_periodic = (plan.every > 0).then_some(plan.every);
        Cuts { plan, over: 0, next_periodic, restore_at: None }
    }

    /// The time of what comes next.
    #[must_use]
    pub fn next(&self) -> Option<Nanos> {
        if self.restore_at.is_some() {
            return self.restore_at;
        }
        let listed = self.plan.at.get(self.over).copied();
        listed.into_iter().chain(self.next_periodic).min()
    }

    /// What is due by now. A cut that comes while the power is off has no effect.
    pub fn due(&mut self, now: Nanos, has_power: bool) -> Option<Due> {
        if let Some(at) = self.restore_at {
            if at > now {
                return None;
            }
            self.restore_at = None;
            return (!has_power).then_some(Due::Restore);
        }
        let mut cut = false;
        while self.plan.at.get(self.over).is_some_and(|&at| at <= now) {
            self.over += 1;
            cut = true;
        }
        if let Some(at) = self.next_periodic.filter(|&at| at <= now) {
            self.next_periodic = Some(at + self.plan.every * ((now - at) / self.plan.every + 1));
            cut = true;
        }
        if !cut || !has_power {
            return None;
        }
        self.restore_at = Some(now + self.plan.off_for);
        Some(Due::Cut)
    }

    /// The power came back by hand.
    pub fn restored(&mut self) {
        self.restore_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_and_periodic_cuts_come_in_order_and_end_by_themselves() {
        let mut cuts = Cuts::new(CutPlan { at: vec![250, 40], every: 100, off_for: 10 });
        assert_eq!((cuts.next(), cuts.due(39, true)), (Some(40), None));
        assert_eq!((cuts.due(40, true), cuts.next()), (Some(Due::Cut), Some(50)));
        assert_eq!((cuts.due(49, false), cuts.due(50, false)), (None, Some(Due::Restore)));
        assert_eq!((cuts.next(), cuts.due(305, true)), (Some(100), Some(Due::Cut)));
        cuts.restored();
        assert_eq!(cuts.next(), Some(400));
        assert_eq!((cuts.due(400, false), cuts.next()), (None, Some(500)));
    }
}
