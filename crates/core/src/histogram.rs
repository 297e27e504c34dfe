//! Latency histograms: log-linear buckets as fio has them (64 per power of two), so that every percentile is known
//! to 1.6 % from a few kilobytes, and two histograms add without loss. Percentiles are never averaged.

use crate::time::Nanos;

const SUB_BITS: u32 = 6;
const SUB: usize = 1 << SUB_BITS;
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) * SUB;

/// Counts of latencies by size.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    sum_of_squares: f64,
    min: Nanos,
    max: Nanos,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn bucket(v: Nanos) -> usize {
    if v < SUB as u64 {
        v as usize
    } else {
        let log = 63 - v.leading_zeros();
        let shift = log - SUB_BITS;
        ((shift as usize + 1) << SUB_BITS) + ((v >> shift) as usize & (SUB - 1))
    }
}

/// The largest value that falls into bucket `b`.
fn upper(b: usize) -> Nanos {
    let group = b >> SUB_BITS;
    let sub = (b & (SUB - 1)) as u128;
    if group == 0 {
        return b as Nanos;
    }
    let shift = group - 1;
    let top = ((SUB as u128 + sub + 1) << shift) - 1;
    u64::try_from(top).unwrap_or(u64::MAX)
}

impl Histogram {
    #[must_use]
    pub fn new() -> Self {
        Histogram { counts: vec![0; BUCKETS], count: 0, sum: 0, sum_of_squares: 0.0, min: Nanos::MAX, max: 0 }
    }

    #[inline]
    pub fn record(&mut self, v: Nanos) {
        self.counts[bucket(v)] += 1;
        self.count += 1;
        self.sum += u128::from(v);
        self.sum_of_squares += v as f64 * v as f64;
        self.min = self.min.min(v);
        self.max = self.max.max(v);
    }

    pub fn merge(&mut self, other: &Histogram) {
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            *a += b;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    #[must_use]
    pub fn min(&self) -> Nanos {
        if self.count == 0 { 0 } else { self.min }
    }

    #[must_use]
    pub fn max(&self) -> Nanos {
        self.max
    }

    /// Mean in nanoseconds, exact; zero if empty.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Standard deviation in nanoseconds.
    #[must_use]
    pub fn stddev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let mean = self.mean();
        libm::sqrt((self.sum_of_squares / self.count as f64 - mean * mean).max(0.0))
    }

    /// The smallest bucket top at or below which `percent` of the values lie (never more than the true maximum).
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Nanos {
        if self.count == 0 {
            return 0;
        }
        let want = libm::ceil(percent / 100.0 * self.count as f64).max(1.0) as u64;
        let mut seen = 0;
        for (b, &c) in self.counts.iter().enumerate() {
            seen += c;
            if seen >= want {
                return upper(b).min(self.max);
            }
        }
        self.max
    }

    /// Share of values greater than `limit` (to the resolution of a bucket), 0 to 1.
    #[must_use]
    pub fn share_over(&self, limit: Nanos) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let over: u64 = self.counts[bucket(limit) + 1..].iter().sum();
        over as f64 / self.count as f64
    }

    /// Non-empty buckets as (value in the middle, count).
    pub fn middles(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let middle = |b: usize| {
            let below = if b == 0 { 0 } else { upper(b - 1) + 1 };
            below + (upper(b) - below).div_ceil(2)
        };
        self.counts.iter().enumerate().filter(|&(_, &c)| c > 0).map(move |(b, &c)| (middle(b), c))
    }

    /// Non-empty buckets as (largest value, count).
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.counts.iter().enumerate().filter(|&(_, &c)| c > 0).map(|(b, &c)| (upper(b), c))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_at_or_below_its_bucket_top_and_within_1_6_percent() {
        for v in (0..4096).chain((12..63).flat_map(|s| [1u64 << s, (1 << s) + 1, (1 << s) - 1])) {
            let top = upper(bucket(v));
            assert!(top >= v && top - v <= v / 64 + 1, "{v} -> {top}");
        }
        assert_eq!(upper(bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn percentiles_of_a_known_set() {
        let mut h = Histogram::new();
        (1..=1000).for_each(|v| h.record(v * 1000));
        assert!((h.percentile(50.0) as f64 / 500_000.0 - 1.0).abs() < 0.017);
        assert_eq!(h.percentile(100.0), 1_000_000);
        assert_eq!(h.mean(), 500_500.0);
        assert!((h.share_over(900_000) - 0.1).abs() < 0.02);
    }
}
