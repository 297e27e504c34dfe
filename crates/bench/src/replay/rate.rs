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

    /// The end of each window in seconds, and its requests a second. A last one that the run did not last through would
    /// show a rate that never was; it counts only where there is no other.
    pub(super) fn points(&self, lasted: Nanos) -> Vec<[f64; 2]> {
        let seconds = self.window_s() as f64;
        let whole = ((lasted / self.window) as usize).max(1);
        self.counts
            .iter()
            .take(whole)
            .enumerate()
            .map(|(i, &n)| [(i + 1) as f64 * seconds, n as f64 / seconds])
            .collect()
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
