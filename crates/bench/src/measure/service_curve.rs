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

    /// The middle of each slice in per cent of the requests, and its mean in microseconds. The last one may be shorter.
    #[must_use]
    pub fn points(&self) -> Vec<[f64; 2]> {
        let percent = |requests: f64| requests * 100.0 / self.requests as f64;
        let at = |i: usize| percent((i as f64 + 0.5) * self.slice as f64);
        let mut points: Vec<_> = self.means_us.iter().enumerate().map(|(i, &us)| [at(i), us]).collect();
        if self.recorded > 0 {
            let (before, rest) = ((self.means_us.len() as u64 * self.slice) as f64, self.recorded as f64);
            points.push([percent(before + rest / 2.0), self.latency as f64 / 1e3 / rest]);
        }
        points
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

#[cfg(test)]
mod tests {
    use ssdlab_device::Request;

    use super::*;

    #[test]
    fn what_is_left_of_a_trace_behind_its_slices_is_a_shorter_one() {
        let mut curve = ServiceCurve::new(205);
        for id in 0..205 {
            let latency = if id < 204 { 1_000 } else { 5_000 };
            curve.record(0, &Completion::under_way(&Request::read(id, 0, 4096), 0, latency));
        }
        let points = curve.points();
        assert_eq!(points.len(), 103);
        assert_eq!(points[0], [100.0 / 205.0, 1.0]);
        assert_eq!(points[102], [204.5 * 100.0 / 205.0, 5.0]);
    }
}
