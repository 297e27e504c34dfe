//! How many requests took longer than a limit: exactly, where a histogram knows it to a bucket.

use ssdlab_core::Nanos;
use ssdlab_device::Completion;

use super::Meter;

/// Counts requests by limits that their latency exceeds.
#[derive(Clone, Debug)]
pub struct Over<const N: usize> {
    limits: [Nanos; N],
    counts: [u64; N],
    requests: u64,
}

impl<const N: usize> Over<N> {
    #[must_use]
    pub fn new(limits: [Nanos; N]) -> Self {
        Over { limits, counts: [0; N], requests: 0 }
    }

    /// Per cent of all requests that took longer than each limit; zero without requests.
    #[must_use]
    pub fn percent(&self) -> [f64; N] {
        self.counts.map(|n| 100.0 * n as f64 / self.requests.max(1) as f64)
    }
}

impl<const N: usize> Meter for Over<N> {
    #[inline]
    fn record(&mut self, _job: usize, io: &Completion) {
        let latency = io.latency();
        self.requests += 1;
        for (count, limit) in self.counts.iter_mut().zip(self.limits) {
            *count += u64::from(latency > limit);
        }
    }
}
