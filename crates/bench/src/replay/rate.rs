//! Requests over time, in as many points as a chart can show.

use ssdlab_core::{Nanos, SECOND};
use ssdlab_device::Completion;

use crate::measure::Meter;

/// A trace of days is drawn in wider windows than one of minutes.
const MAX_POINTS: u64 = 3600;
/// A run that lasts longer than was thought (all requests as soon as possible) gets wider windows on its way.
const MAX_WINDOWS: usize = 8 * MAX_POINTS as usize;

/// Requests completed in each window of one or more whole seconds.
#[derive(Clone, Debug)]
pub(super) struct RateOverTime {
    window: Nanos,
    began: Nanos,
    counts: Vec<u64>,
}

impl RateOverTime {
    /// For a run of about this duration.
    pub(super) fn new(duration: Nanos) -> Self {
        let window = duration.div_ceil(SECOND).div_ceil(MAX_POINTS).max(1) * SECOND;
        RateOverTime { window, began: 0, counts: Vec::new() }
    }

    /// Seconds in a window.
    pub(super) fn window_s(&self) -> u64 {
        self.window / SECOND
    }

    /// Windows in which requests completed, and those between them.
    pub(super) fn windows(&self) -> usize {
        self.counts.len()
    }

    /// Whether a run that lasted so long ended within the first window.
    pub(super) fn is_within_one(&self, lasted: Nanos) -> bool {
        lasted < self.window
    }

    /// The end of each window in seconds, and its requests a second. A last one that the run did not last through would
    /// show a rate that never was; where there is no other, it ends with the run.
    pub(super) fn points(&self, lasted: Nanos) -> Vec<[f64; 2]> {
        let window = if self.is_within_one(lasted) { lasted } else { self.window };
        if window == 0 {
            return Vec::new();
        }
        let (seconds, whole) = (window as f64 / SECOND as f64, (lasted / window) as usize);
        let counts = self.counts.iter().take(whole).enumerate();
        counts.map(|(i, &n)| [(i + 1) as f64 * seconds, n as f64 / seconds]).collect()
    }
}

impl Meter for RateOverTime {
    fn begin(&mut self, _job: usize, at: Nanos) {
        self.began = at;
    }

    #[inline]
    fn record(&mut self, _job: usize, io: &Completion) {
        let since = io.completed - self.began;
        // What completes at the very end of a window still belongs to it.
        let mut index = (since.saturating_sub(1) / self.window) as usize;
        while index >= MAX_WINDOWS {
            self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.window *= 2;
            index /= 2;
        }
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::MILLISECOND;

    use super::*;

    fn counted(window: Nanos, counts: &[u64]) -> RateOverTime {
        RateOverTime { window, began: 0, counts: counts.to_vec() }
    }

    #[test]
    fn a_run_that_ends_within_the_first_window_has_the_rate_of_its_own_time() {
        assert_eq!(counted(SECOND, &[1_000]).points(100 * MILLISECOND), [[0.1, 10_000.0]]);
        assert_eq!(counted(30 * SECOND, &[1_200]).points(12 * SECOND), [[12.0, 100.0]]);
        assert!(counted(SECOND, &[]).points(0).is_empty());
    }

    #[test]
    fn windows_that_were_lasted_through_have_points() {
        assert_eq!(counted(SECOND, &[7]).points(SECOND), [[1.0, 7.0]]);
        assert_eq!(counted(2 * SECOND, &[8, 6, 1]).points(4 * SECOND + 1), [[2.0, 4.0], [4.0, 3.0]]);
    }
}
