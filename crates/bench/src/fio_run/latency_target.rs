//! `latency_target`: finds the largest depth at which enough commands are fast enough.

use ssdlab_core::Nanos;

/// The search for a depth, by halves, as in fio.
#[derive(Clone, Debug)]
pub(super) struct LatencyTarget {
    target: Nanos,
    window: Nanos,
    /// Per cent.
    percentile: f64,
    /// Go on when it is found.
    goes_on: bool,
    deepest: u32,
    pub(super) depth: u32,
    /// The largest depth that was good, and the smallest that was not.
    good: u32,
    bad: Option<u32>,
    window_ends: Nanos,
    commands: u64,
    late: u64,
    pub(super) found: bool,
}

impl LatencyTarget {
    pub(super) fn new(target: Nanos, window: Nanos, percentile: f64, goes_on: bool, deepest: u32) -> Self {
        LatencyTarget {
            target,
            window,
            percentile,
            goes_on,
            deepest,
            depth: 1,
            good: 0,
            bad: None,
            window_ends: 0,
            commands: 0,
            late: 0,
            found: false,
        }
    }

    pub(super) fn begin(&mut self, now: Nanos) {
        self.window_ends = now.saturating_add(self.window);
    }

    /// A command has completed. True when the job is to end.
    pub(super) fn completed(&mut self, now: Nanos, latency: Nanos) -> bool {
        self.commands += 1;
        self.late += u64::from(latency > self.target);
        if now < self.window_ends || self.found {
            return false;
        }
        let in_time = (self.commands - self.late) as f64 * 100.0 / self.commands as f64;
        if in_time >= self.percentile {
            self.good = self.depth;
        } else {
            self.bad = Some(self.depth);
        }
        let next = match self.bad {
            None => (self.depth * 2).min(self.deepest),
            Some(bad) => (self.good + bad) / 2,
        };
        (self.commands, self.late) = (0, 0);
        self.begin(now);
        // Either end of what is left to try was tried already. If not even depth 1 was good, that is where it ends.
        self.found = next == self.depth || next <= self.good;
        self.depth = if self.found { self.good.max(1) } else { next.max(1) };
        self.found && !self.goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The depth that is found where the latency is 100 ns at each depth.
    fn found(target: Nanos, deepest: u32) -> u32 {
        let mut search = LatencyTarget::new(target, 10, 90.0, false, deepest);
        search.begin(0);
        for at in (20..).step_by(20) {
            if search.completed(at, u64::from(search.depth) * 100) {
                return search.depth;
            }
            assert!(at < 10_000, "no end");
        }
        0
    }

    #[test]
    fn the_deepest_depth_below_the_target_is_found() {
        for (target, deepest, expected) in
            [(100, 64, 1), (350, 64, 3), (1_000, 64, 10), (6_400, 64, 64), (9_999, 64, 64), (50, 64, 1), (500, 7, 5)]
        {
            assert_eq!(found(target, deepest), expected, "{target} of {deepest}");
        }
    }
}
