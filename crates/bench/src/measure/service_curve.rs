//! Mean service time as a trace goes on.

use ssdlab_device::Completion;

use super::Meter;

/// Points of the curve.
const SLICES: u64 = 100;

/// The mean service time of each hundredth of a trace, in the order of completion.
#[derive(Clone, Debug)]
pub struct ServiceCurve {
    /// Of the whole trace.
    requests: u64,
    slice: u64,
    /// Of the slice under way.
    recorded: u64,
    latency: u128,
    means_us: Vec<f64>,
}

impl ServiceCurve {
    /// Of a trace of so many requests.
    #[must_use]
    pub fn new(requests: u64) -> Self {
        ServiceCurve { requests, slice: (requests / SLICES).max(1), recorded: 0, latency: 0, means_us: Vec::new() }
    }

    /// The middle of each whole slice in per cent of the requests, and its mean in microseconds.
    #[must_use]
    pub fn points(&self) -> Vec<[f64; 2]> {
        let at = |i: usize| (i as f64 + 0.5) * 100.0 * self.slice as f64 / self.requests as f64;
        self.means_us.iter().enumerate().map(|(i, &us)| [at(i), us]).collect()
    }
}

impl Meter for ServiceCurve {
    #[inline]
    fn record(&mut self, _job: usize, io: &Completion) {
        self.recorded += 1;
        self.latency += u128::from(io.latency());
        if self.recorded == self.slice {
            self.means_us.push(self.latency as f64 / 1e3 / self.slice as f64);
            (self.recorded, self.latency) = (0, 0);
        }
    }
}
