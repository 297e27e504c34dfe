//! A job's figures, as both of fio's layouts need them.

use ssdlab_bench::measure::{Measurement, OpStats};
use ssdlab_core::{Histogram, Nanos, Op};

use super::meter::{JobMeter, Sample};

/// One line of the report: a job, a clone of it, or a group of jobs.
#[derive(Clone, Debug)]
pub struct JobReport {
    pub name: String,
    pub group: u32,
    /// Jobs and clones in it.
    pub members: u32,
    /// Options as given, for the JSON.
    pub options: Vec<(String, String)>,
    pub queue_depth: u32,
    pub all: Measurement,
    pub samples: [Vec<Sample>; 3],
    /// The shortest and the longest time that a member was measured.
    pub runtime: (Nanos, Nanos),
}

pub const DIRECTIONS: [(Op, &str); 3] = [(Op::Read, "read"), (Op::Write, "write"), (Op::Trim, "trim")];

/// fio's default list.
pub const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

impl JobReport {
    pub fn new(name: &str, group: u32, queue_depth: u32, options: Vec<(String, String)>, meter: JobMeter) -> Self {
        let runtime = meter.all.elapsed();
        JobReport {
            name: name.to_owned(),
            group,
            members: 1,
            options,
            queue_depth,
            all: meter.all,
            samples: meter.samples,
            runtime: (runtime, runtime),
        }
    }

    /// Adds another member of the group.
    pub fn merge(&mut self, other: JobReport) {
        self.members += other.members;
        self.all.merge(&other.all);
        for (mine, theirs) in self.samples.iter_mut().zip(&other.samples) {
            if mine.len() < theirs.len() {
                mine.resize(theirs.len(), Sample::default());
            }
            for (a, b) in mine.iter_mut().zip(theirs) {
                a.requests += b.requests;
                a.bytes += b.bytes;
            }
        }
        self.runtime = (self.runtime.0.min(other.runtime.0), self.runtime.1.max(other.runtime.1));
    }

    pub fn stats(&self, op: Op) -> &OpStats {
        self.all.op(op)
    }

    /// Milliseconds, never zero: fio divides by it.
    pub fn runtime_ms(&self) -> u64 {
        (self.runtime.1 / 1_000_000).max(1)
    }

    pub fn seconds(&self) -> f64 {
        (self.runtime.1 as f64 / 1e9).max(1e-9)
    }
}

/// Minimum, maximum, mean and deviation of a list of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub stddev: f64,
    pub samples: usize,
}

impl Spread {
    pub fn of(values: &[f64]) -> Spread {
        if values.is_empty() {
            return Spread::default();
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        // As fio: the deviation of a sample, zero for a single one.
        let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        Spread {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean,
            stddev: if values.len() > 1 { libm::sqrt(squares / (n - 1.0)) } else { 0.0 },
            samples: values.len(),
        }
    }
}

/// fio's latency bins: names, and the share of requests in each in per cent.
pub fn latency_bins(all: &Histogram, unit: Nanos, limits: &[u64], floor: Nanos) -> Vec<(u64, f64)> {
    let at_most = |t: Nanos| if t == 0 { 0.0 } else { 100.0 - all.share_over(t) * 100.0 };
    let mut below = at_most(floor);
    limits
        .iter()
        .map(|&limit| {
            let up_to = if all.count() == 0 { 0.0 } else { at_most(limit * unit) };
            let share = (up_to - below).max(0.0);
            below = below.max(up_to);
            (limit, share)
        })
        .collect()
}

pub const NS_BINS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
pub const US_BINS: [u64; 10] = NS_BINS;
pub const MS_BINS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_samples() {
        assert_eq!(Spread::of(&[1.0, 2.0, 3.0]), Spread { min: 1.0, max: 3.0, mean: 2.0, stddev: 1.0, samples: 3 });
        assert_eq!(Spread::of(&[5.0]).stddev, 0.0);
        assert_eq!(Spread::of(&[]), Spread::default());
    }

    #[test]
    fn latency_bins_hold_every_request_once() {
        let mut h = Histogram::new();
        for us in [1, 3, 3, 600, 900, 5_000, 3_000_000] {
            h.record(us * 1000);
        }
        let bins: f64 = [
            latency_bins(&h, 1, &NS_BINS, 0),
            latency_bins(&h, 1_000, &US_BINS, 1_000),
            latency_bins(&h, 1_000_000, &MS_BINS, 1_000_000),
        ]
        .concat()
        .iter()
        .map(|b| b.1)
        .sum();
        // All but the one above two seconds.
        assert!((bins - 600.0 / 7.0).abs() < 1e-9, "{bins}");
    }
}
