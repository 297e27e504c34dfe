//! `steadystate`: ends jobs whose rate has settled.

use serde::Serialize;
use ssdlab_core::{Nanos, SECOND};
use ssdlab_workload::fio::{SteadyMetric, SteadyState};

/// Watches the commands of a clone, or of the clones of a group, second by second.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    pub(super) criterion: SteadyState,
    duration: usize,
    ramp: Nanos,
    /// Entry of the report that it belongs to.
    pub(super) entry: usize,
    began: Option<Nanos>,
    /// Commands and bytes of the present second, and of those before.
    ios: u64,
    bytes: u64,
    samples: Vec<(u64, u64)>,
    pub(super) attained: bool,
}

/// What fio's JSON says of it.
#[derive(Clone, Debug, Serialize)]
pub struct SteadyReport {
    pub ss: String,
    /// Seconds.
    pub duration: u64,
    pub attained: u8,
    pub criterion: String,
    pub max_deviation: f64,
    pub slope: f64,
    pub data: SteadyData,
    /// What `criterion` is, in the words of fio's normal layout.
    #[serde(skip)]
    pub(super) of: String,
}

/// The seconds of the window.
#[derive(Clone, Debug, Serialize)]
pub struct SteadyData {
    /// Bytes a second, as in fio, whose other rates are in KiB/s.
    pub bw_mean: f64,
    pub iops_mean: f64,
    pub iops: Vec<u64>,
    /// Bytes a second.
    pub bw: Vec<u64>,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Least squares, a second.
fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (x_mean, y_mean) = ((n - 1.0) / 2.0, mean(values));
    let (mut above, mut below) = (0.0, 0.0);
    for (i, y) in values.iter().enumerate() {
        let x = i as f64 - x_mean;
        above += x * (y - y_mean);
        below += x * x;
    }
    if below > 0.0 { above / below } else { 0.0 }
}

fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|v| (v - middle).abs()).fold(0.0, f64::max)
}

impl Watch {
    pub(super) fn new(criterion: SteadyState, duration: Nanos, ramp: Nanos, entry: usize) -> Self {
        let duration = (duration / SECOND).max(2) as usize;
        Watch { criterion, duration, ramp, entry, began: None, ios: 0, bytes: 0, samples: Vec::new(), attained: false }
    }

    pub(super) fn begin(&mut self, at: Nanos) {
        self.began = Some(self.began.map_or(at, |began| began.min(at)));
    }

    #[inline]
    pub(super) fn completed(&mut self, bytes: u64) {
        self.ios += 1;
        self.bytes += bytes;
    }

    /// A second has passed. True once, when the rate has settled.
    pub(super) fn tick(&mut self, now: Nanos) -> bool {
        let (ios, bytes) = (std::mem::take(&mut self.ios), std::mem::take(&mut self.bytes));
        let Some(began) = self.began else { return false };
        if self.attained || now < began + self.ramp + SECOND {
            return false;
        }
        if self.samples.len() == self.duration {
            self.samples.remove(0);
        }
        self.samples.push((ios, bytes));
        self.attained = self.samples.len() == self.duration && self.value().abs() < self.criterion.limit;
        self.attained
    }

    fn values(&self) -> Vec<f64> {
        let value = |&(ios, bytes): &(u64, u64)| match self.criterion.metric {
            SteadyMetric::Iops => ios as f64,
            SteadyMetric::Bandwidth => bytes as f64,
        };
        self.samples.iter().map(value).collect()
    }

    /// What is compared with the limit, a slope without its sign.
    fn value(&self) -> f64 {
        let values = self.values();
        let middle = mean(&values);
        // Nothing happened: nothing has settled.
        if middle <= 0.0 {
            return f64::MAX;
        }
        let value = if self.criterion.slope { slope(&values) } else { deviation(&values) };
        if self.criterion.percent { value * 100.0 / middle } else { value }
    }

    pub(super) fn report(&self) -> SteadyReport {
        let c = &self.criterion;
        let metric = if c.metric == SteadyMetric::Iops { "iops" } else { "bw" };
        let (of_slope, unit) = (if c.slope { "_slope" } else { "" }, if c.percent { "%" } else { "" });
        let values = self.values();
        let [ios, bw]: [Vec<u64>; 2] =
            [self.samples.iter().map(|s| s.0).collect(), self.samples.iter().map(|s| s.1).collect()];
        let of = |list: &[u64]| mean(&list.iter().map(|&v| v as f64).collect::<Vec<_>>());
        let criterion = self.value();
        SteadyReport {
            ss: format!("{metric}{of_slope}:{:.6}{unit}", c.limit),
            duration: self.duration as u64,
            attained: u8::from(self.attained),
            criterion: if criterion == f64::MAX { String::new() } else { format!("{criterion:.6}{unit}") },
            max_deviation: deviation(&values),
            slope: slope(&values),
            of: format!("{metric} {}", if c.slope { "slope" } else { "mean dev" }),
            data: SteadyData { bw_mean: of(&bw), iops_mean: of(&ios), iops: ios, bw },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(metric: SteadyMetric, slope: bool, limit: f64, percent: bool) -> Watch {
        let mut watch = Watch::new(SteadyState { metric, slope, limit, percent }, 5 * SECOND, 2 * SECOND, 0);
        watch.begin(0);
        watch
    }

    /// The second at which it has settled.
    fn settled(mut watch: Watch, rate: impl Fn(u64) -> u64) -> Option<u64> {
        (1..100).find(|&second| {
            (0..rate(second)).for_each(|_| watch.completed(4096));
            watch.tick(second * SECOND)
        })
    }

    #[test]
    fn a_rate_is_steady_when_the_whole_window_is_within_the_limit() {
        let falling = |second: u64| if second < 20 { 1000 - 40 * second } else { 200 };
        // Seconds 20 to 24 are level.
        assert_eq!(settled(watch(SteadyMetric::Iops, false, 1.0, true), falling), Some(24));
        assert_eq!(settled(watch(SteadyMetric::Bandwidth, false, 40_960.0, false), falling), Some(24));
        assert_eq!(settled(watch(SteadyMetric::Iops, true, 0.5, true), falling), Some(24));
        // The first two seconds are not looked at.
        assert_eq!(settled(watch(SteadyMetric::Iops, false, 1.0, true), |_| 100), Some(7));
        assert_eq!(settled(watch(SteadyMetric::Iops, false, 1.0, true), |_| 0), None);
        assert_eq!(settled(watch(SteadyMetric::Iops, false, 1.0, false), |_| 0), None);
    }

    #[test]
    fn slope_and_deviation_are_those_of_the_formulas() {
        assert_eq!(slope(&[1.0, 3.0, 5.0, 7.0]), 2.0);
        assert_eq!(deviation(&[1.0, 1.0, 4.0]), 2.0);
        assert_eq!(slope(&[5.0]), 0.0);
    }
}
