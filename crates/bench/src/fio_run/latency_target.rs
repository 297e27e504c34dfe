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
    /// The search is over.
    pub(super) found: bool,
    /// What is in flight was sent at another depth: nothing is sent before it has completed, and it counts for no window.
    drains: bool,
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
            drains: false,
        }
    }

    pub(super) fn begin(&mut self, now: Nanos) {
        (self.commands, self.late) = (0, 0);
        self.window_ends = now.saturating_add(self.window);
    }

    /// A command has completed. True when the job is to end: after one more window at the depth that was found, or if there
    /// is none.
    pub(super) fn completed(&mut self, now: Nanos, latency: Nanos) -> bool {
        if self.drains {
            return false;
        }
        self.commands += 1;
        self.late += u64::from(latency > self.target);
        if now < self.window_ends {
            return false;
        }
        if self.found {
            return !self.goes_on;
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
        self.begin(now);
        // Either end of what is left to try was tried already.
        self.found = next == self.depth || next <= self.good;
        let before = self.depth;
        self.depth = if self.found { self.good.max(1) } else { next };
        self.drains = self.depth < before || (self.found && !self.goes_on);
        self.missed() && !self.goes_on
    }

    /// Whether what is measured begins anew once a depth is found.
    pub(super) fn begins_anew(&self) -> bool {
        !self.goes_on
    }

    /// Whether nothing is to be sent before what is in flight has completed.
    pub(super) fn drains(&self) -> bool {
        self.drains
    }

    /// Nothing is in flight any more, and a command is about to be sent. True when what is measured begins anew, as in fio:
    /// with the window after the search, so that it is of the depth that was found alone.
    pub(super) fn drained(&mut self, now: Nanos) -> bool {
        self.drains = false;
        self.begin(now);
        self.found && self.begins_anew()
    }

    /// Not even depth 1 was good.
    pub(super) fn missed(&self) -> bool {
        self.found && self.good == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The search when it has ended the job. Each command takes 100 ns for each that is in flight with it; those that are in flight
    /// when the depth changes are as slow as before.
    fn ended(target: Nanos, deepest: u32) -> LatencyTarget {
        let mut search = LatencyTarget::new(target, 10_000, 100.0, false, deepest);
        search.begin(0);
        let (mut now, mut in_flight, mut anew) = (0, 1, false);
        loop {
            for _ in 0..in_flight {
                now += 100;
                if search.completed(now, u64::from(in_flight) * 100) {
                    assert_eq!(anew, !search.missed());
                    return search;
                }
            }
            if search.drains() {
                anew = search.drained(now);
            }
            in_flight = search.depth;
            assert!(now < 10_000_000, "no end");
        }
    }

    #[test]
    fn the_deepest_depth_below_the_target_is_found() {
        for (target, deepest, expected) in [
            (100, 64, 1),
            (350, 64, 3),
            (1_000, 64, 10),
            (6_400, 64, 64),
            (9_999, 64, 64),
            (500, 7, 5),
            (2_500, 64, 25),
        ] {
            let search = ended(target, deepest);
            assert_eq!((search.depth, search.missed()), (expected, false), "{target} of {deepest}");
        }
    }

    #[test]
    fn a_target_that_not_even_depth_1_keeps_is_missed() {
        assert!(ended(50, 64).missed());
    }
}
