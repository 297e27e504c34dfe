//! What each second of a run brought: the dots of a consistency chart.

use ssdlab_core::{Nanos, SECOND};
use ssdlab_device::Completion;

use super::Meter;

/// One second. A request belongs to the second in which it completed; at the very end of a second it still counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    pub ios: u64,
    pub bytes: u64,
    pub latency_max: Nanos,
}

/// Requests, bytes and the highest latency of each second, from the start of measuring.
#[derive(Clone, Debug)]
pub struct PerSecond {
    seconds: Vec<Second>,
    current: Second,
    /// End of the current second.
    until: Nanos,
    /// What counts as a second.
    length: Nanos,
}

impl Default for PerSecond {
    fn default() -> Self {
        PerSecond::every(SECOND)
    }
}

impl Meter for PerSecond {
    fn begin(&mut self, _job: usize, at: Nanos) {
        self.until = at + self.length;
    }

    #[inline]
    fn record(&mut self, _job: usize, io: &Completion) {
        while io.completed > self.until {
            self.turn();
        }
        self.current.ios += 1;
        self.current.bytes += io.length_bytes;
        self.current.latency_max = self.current.latency_max.max(io.latency());
    }

    /// Seconds without a completion are seconds too. A last second that was not measured whole is left out.
    fn end(&mut self, _job: usize, at: Nanos) {
        while self.until <= at {
            self.turn();
        }
        self.current = Second::default();
    }
}

impl PerSecond {
    #[cold]
    fn turn(&mut self) {
        self.seconds.push(std::mem::take(&mut self.current));
        self.until += self.length;
    }

    /// In moments of this length instead of seconds.
    #[must_use]
    pub fn every(length: Nanos) -> Self {
        PerSecond { seconds: Vec::new(), current: Second::default(), until: 0, length }
    }

    #[must_use]
    pub fn seconds(&self) -> &[Second] {
        &self.seconds
    }

    /// IOPS of each whole second.
    #[must_use]
    pub fn iops(&self) -> Vec<f64> {
        let per_second = SECOND as f64 / self.length as f64;
        self.seconds.iter().map(|s| s.ios as f64 * per_second).collect()
    }
}
