//! Every latency by itself, for short tests whose result is the distribution.

use ssdlab_core::{Nanos, rank};
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
        let last = sorted[rank(cover, sorted.len() as u64) as usize - 1];
        let bins = (last / bin) as usize + 1;
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

    /// The latency that `percent` per cent of the requests do not exceed, exact; zero without requests.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Nanos {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        sorted.get(rank(percent, sorted.len() as u64) as usize - 1).copied().unwrap_or(0)
    }

    /// Probability density over the logarithm of time: the middle of each bin in microseconds, and the share of requests
    /// in it over its width in decades. An empty bin stands on each side, so that a line begins and ends at zero.
    #[must_use]
    pub fn density_by_decade(&self, bins_per_decade: u32) -> Vec<[f64; 2]> {
        let per_decade = f64::from(bins_per_decade);
        // Zero has no logarithm; a nanosecond is the shortest time there is.
        let bin_of = |ns: Nanos| libm::floor(libm::log10(ns.max(1) as f64) * per_decade) as i64;
        let bins: Vec<i64> = self.latencies.iter().map(|&ns| bin_of(ns)).collect();
        let (Some(&first), Some(&last)) = (bins.iter().min(), bins.iter().max()) else {
            return Vec::new();
        };
        let mut counts = vec![0u64; (last - first + 3) as usize];
        bins.iter().for_each(|bin| counts[(bin - first + 1) as usize] += 1);
        let middle_us = |i: usize| libm::pow(10.0, ((first - 1 + i as i64) as f64 + 0.5) / per_decade - 3.0);
        let density = |n: u64| n as f64 / bins.len() as f64 * per_decade;
        counts.iter().enumerate().map(|(i, &n)| [middle_us(i), density(n)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_over_the_logarithm_is_one_and_lies_where_the_times_do() {
        let times = ServiceTimes { latencies: vec![100_000, 100_000, 100_000, 10_000_000] };
        let points = times.density_by_decade(10);
        let area: f64 = points.iter().map(|p| p[1] / 10.0).sum();
        assert!((area - 1.0).abs() < 1e-12, "{area}");
        let peaks: Vec<_> = points.iter().filter(|p| p[1] > 0.0).collect();
        // Bins of a tenth of a decade: 100 us lie in 100 to 126, 10 ms in 10 to 12.6.
        assert!((peaks[0][0] - 112.2).abs() < 0.1 && (peaks[0][1] - 7.5).abs() < 1e-9, "{peaks:?}");
        assert!((peaks[1][0] - 11_220.0).abs() < 10.0 && (peaks[1][1] - 2.5).abs() < 1e-9, "{peaks:?}");
        assert_eq!((points[0][1], points[points.len() - 1][1]), (0.0, 0.0));
        assert!(ServiceTimes::default().density_by_decade(10).is_empty());
    }

    #[test]
    fn percentiles_are_exact() {
        let times = ServiceTimes { latencies: (1..=1000).rev().collect() };
        assert_eq!([50.0, 99.5, 100.0, 0.0].map(|p| times.percentile(p)), [500, 995, 1000, 1]);
        assert_eq!(ServiceTimes::default().percentile(99.0), 0);
    }
}
