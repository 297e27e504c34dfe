//! Every latency by itself, for short tests whose result is the distribution.

use ssdlab_core::Nanos;
use ssdlab_device::Completion;

use super::Meter;

/// All latencies in the order of completion. Eight bytes a request: not for long runs.
#[derive(Clone, Debug, Default)]
pub struct ServiceTimes {
    pub latencies: Vec<Nanos>,
}

impl Meter for ServiceTimes {
    #[inline]
    fn record(&mut self, _job: usize, io: &Completion) {
        self.latencies.push(io.latency());
    }
}

impl ServiceTimes {
    /// Probability density over bins of `bin` nanoseconds: the middle of each bin in microseconds, and the share of
    /// requests per microsecond in it. Bins run to the `cover` per cent fastest requests; the rest is left to the
    /// percentiles.
    #[must_use]
    pub fn density(&self, bin: Nanos, cover: f64) -> Vec<[f64; 2]> {
        if self.latencies.is_empty() {
            return Vec::new();
        }
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let last = ((sorted.len() as f64 * cover / 100.0) as usize).clamp(1, sorted.len()) - 1;
        let bins = (sorted[last] / bin) as usize + 1;
        let mut counts = vec![0u64; bins];
        for &latency in &sorted {
            if let Some(count) = counts.get_mut((latency / bin) as usize) {
                *count += 1;
            }
        }
        let bin_us = bin as f64 / 1e3;
        let total = sorted.len() as f64;
        counts.iter().enumerate().map(|(i, &n)| [(i as f64 + 0.5) * bin_us, n as f64 / total / bin_us]).collect()
    }
}
