//! Latency histograms: log-linear buckets as fio has them (64 per power of two), each with the smallest and the largest
//! value in it. Every percentile is known to 1.6 % from some tens of kilobytes, and exactly where a bucket holds one value;
//! two histograms add without loss. Percentiles are never averaged.

use crate::time::Nanos;

const SUB_BITS: u32 = 6;
const SUB: usize = 1 << SUB_BITS;
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) * SUB;

/// How many buckets a [`Histogram`] has.
pub const HISTOGRAM_BUCKETS: usize = BUCKETS;

/// Counts of latencies by size.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// By bucket: how many values, the complement of the smallest, the largest. An empty bucket is zeros, so that one
    /// rule fits its first value and every later one.
    buckets: Vec<[u64; 3]>,
    count: u64,
    sum: u128,
    sum_of_squares: f64,
    min: Nanos,
    max: Nanos,
}

/// A bucket of a [`Histogram`] that holds values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub count: u64,
    /// Its smallest value.
    pub low: Nanos,
    /// Its largest value.
    pub high: Nanos,
}

impl Bucket {
    /// Its `nth` value in ascending order, counted from 1: values are taken to lie evenly between the smallest and the
    /// largest. Of one or two values, exact.
    #[must_use]
    pub fn value(&self, nth: u64) -> Nanos {
        let steps = u128::from(self.count - 1).max(1);
        let above = u128::from(self.high - self.low) * u128::from(nth - 1) / steps;
        self.low + above as u64
    }
}

/// The rank, counted from 1, of the value that `percent` of `count` values do not exceed: the nearest rank. At least 1
/// and at most `count`, unless that is zero.
#[must_use]
pub fn rank(percent: f64, count: u64) -> u64 {
    // A product that falls on a whole number must not be rounded past it: 99.9 % of 1,000 are 999.
    let share = percent * count as f64 / 100.0 * (1.0 - 4.0 * f64::EPSILON);
    (libm::ceil(share) as u64).min(count).max(1)
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

/// The value in the middle of bucket `b`, as fio reckons it.
fn middle(b: usize) -> Nanos {
    let below = if b == 0 { 0 } else { upper(b - 1) + 1 };
    below + (upper(b) - below).div_ceil(2)
}

impl Histogram {
    #[must_use]
    pub fn new() -> Self {
        Histogram { buckets: vec![[0; 3]; BUCKETS], count: 0, sum: 0, sum_of_squares: 0.0, min: Nanos::MAX, max: 0 }
    }

    /// The bucket that a value falls into, below [`HISTOGRAM_BUCKETS`].
    #[inline]
    #[must_use]
    pub fn bucket_of(v: Nanos) -> usize {
        bucket(v)
    }

    #[inline]
    pub fn record(&mut self, v: Nanos) {
        let [count, low_complement, high] = &mut self.buckets[bucket(v)];
        *count += 1;
        *low_complement = (*low_complement).max(!v);
        *high = (*high).max(v);
        self.count += 1;
        self.sum += u128::from(v);
        self.sum_of_squares += v as f64 * v as f64;
        self.min = self.min.min(v);
        self.max = self.max.max(v);
    }

    pub fn merge(&mut self, other: &Histogram) {
        for ([count, low_complement, high], b) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += b[0];
            *low_complement = (*low_complement).max(b[1]);
            *high = (*high).max(b[2]);
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

    /// The value that `percent` of all values do not exceed, by [`rank`]; zero if empty. Between the smallest and the
    /// largest value of its bucket it is interpolated; it never decreases as `percent` grows.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Nanos {
        self.find(percent).map_or(0, |(_, bucket, nth)| bucket.value(nth))
    }

    /// The same as fio gives it: the middle of the bucket, which may lie outside what was recorded.
    #[must_use]
    pub fn percentile_of_fio(&self, percent: f64) -> Nanos {
        self.find(percent).map_or(0, |(index, ..)| middle(index))
    }

    /// The bucket of the value that `percent` of all values do not exceed, its index, and which of its values that is.
    fn find(&self, percent: f64) -> Option<(usize, Bucket, u64)> {
        let rank = rank(percent, self.count);
        let mut seen = 0;
        for (index, bucket) in self.filled() {
            if seen + bucket.count >= rank {
                return Some((index, bucket, rank - seen));
            }
            seen += bucket.count;
        }
        None
    }

    fn filled(&self) -> impl Iterator<Item = (usize, Bucket)> + '_ {
        let of = |&[count, low_complement, high]: &[u64; 3]| Bucket { count, low: !low_complement, high };
        self.buckets.iter().enumerate().filter(|(_, b)| b[0] > 0).map(move |(i, b)| (i, of(b)))
    }

    /// Non-empty buckets in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.filled().map(|(_, bucket)| bucket)
    }

    /// Non-empty buckets as fio gives them: (value in the middle, count).
    pub fn middles(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.filled().map(|(index, bucket)| (middle(index), bucket.count))
    }

    /// Non-empty buckets as (largest value that falls into it, count).
    pub fn tops(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.filled().map(|(index, bucket)| (upper(index), bucket.count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn ranks_are_whole_where_the_share_is() {
        // Per cent in thousandths, so that the rank is known without rounding.
        for thousandths in [1_000_u64, 50_000, 90_000, 99_000, 99_900, 99_990, 99_999] {
            for count in (1..3_000).chain((1..40).map(|n| n * 100_000)) {
                let exact = (thousandths * count).div_ceil(100_000);
                assert_eq!(rank(thousandths as f64 / 1e3, count), exact, "{thousandths} of {count}");
            }
        }
        assert_eq!([rank(0.0, 7), rank(100.0, 7), rank(1e-9, 7)], [1, 7, 1]);
    }

    #[test]
    fn percentiles_of_a_known_set() {
        let mut h = Histogram::new();
        (1..=1000).for_each(|v| h.record(v * 1000));
        assert_eq!(
            [0.0, 50.0, 99.0, 99.9, 100.0].map(|p| h.percentile(p)),
            [1_000, 500_000, 990_000, 999_000, 1_000_000]
        );
        assert_eq!(h.mean(), 500_500.0);
        assert_eq!(Histogram::new().percentile(99.0), 0);
    }

    #[test]
    fn a_value_that_stands_alone_in_its_bucket_is_exact_however_often_it_came() {
        let mut h = Histogram::new();
        (0..900).for_each(|_| h.record(96_123));
        (0..90).for_each(|_| h.record(2_000_001));
        (0..10).for_each(|_| h.record(77_777_777));
        assert_eq!(
            [50.0, 90.0, 90.1, 99.0, 99.9].map(|p| h.percentile(p)),
            [96_123, 96_123, 2_000_001, 2_000_001, 77_777_777]
        );
        // fio's are the middles of 96,256 - 1,024 to 96,255 and so on, whatever was in there.
        assert_eq!([50.0, 99.0, 99.9].map(|p| h.percentile_of_fio(p)), [95_744, 2_007_040, 78_118_912]);
    }

    /// Latencies as drives have them: a few values that come often, and anything beside.
    fn latencies() -> impl Strategy<Value = Vec<Nanos>> {
        let any = prop_oneof![
            0..64u64,
            0..100_000u64,
            0..10_000_000_000u64,
            90_000..110_000u64,
            Just(96_123),
            Just(u64::MAX)
        ];
        prop::collection::vec(any, 1..400)
    }

    proptest! {
        #[test]
        fn percentiles_lie_in_the_bucket_of_the_value_of_their_rank(
            mut values in latencies(),
            percents in prop::collection::vec(0.0..=100.0f64, 20),
        ) {
            let mut h = Histogram::new();
            values.iter().for_each(|&v| h.record(v));
            values.sort_unstable();
            let exact_at = |percent| values[rank(percent, values.len() as u64) as usize - 1];
            for &percent in percents.iter().chain(&[0.0, 50.0, 99.0, 100.0]) {
                let (exact, found) = (exact_at(percent), h.percentile(percent));
                prop_assert_eq!(bucket(found), bucket(exact), "{} %: {} is {}", percent, exact, found);
                prop_assert!(found >= h.min() && found <= h.max());
                let alone = values.iter().all(|&v| v == exact || bucket(v) != bucket(exact));
                prop_assert!(!alone || found == exact, "{} %: {} is {}", percent, exact, found);
            }
            prop_assert_eq!((h.percentile(0.0), h.percentile(100.0)), (h.min(), h.max()));
        }

        #[test]
        fn percentiles_never_decrease(values in latencies(), mut percents in prop::collection::vec(0.0..=100.0f64, 40)) {
            let mut h = Histogram::new();
            values.iter().for_each(|&v| h.record(v));
            percents.sort_by(f64::total_cmp);
            let found: Vec<Nanos> = percents.iter().map(|&p| h.percentile(p)).collect();
            prop_assert!(found.is_sorted(), "{:?}", found);
        }

        #[test]
        fn percentiles_lie_closer_in_the_mean_than_the_tops_of_their_buckets(
            values in prop::collection::vec(100_000..10_000_000u64, 2_000),
        ) {
            let mut h = Histogram::new();
            values.iter().for_each(|&v| h.record(v));
            let mut sorted = values;
            sorted.sort_unstable();
            let (mut interpolated, mut tops) = (0, 0);
            for percent in 1..100 {
                let exact = sorted[rank(f64::from(percent), 2_000) as usize - 1];
                interpolated += h.percentile(f64::from(percent)).abs_diff(exact);
                tops += upper(bucket(exact)) - exact;
            }
            prop_assert!(interpolated * 3 < tops, "{} against {}", interpolated, tops);
        }

        #[test]
        fn two_histograms_add_without_loss(a in latencies(), b in latencies()) {
            let of = |values: &[Nanos]| {
                let mut h = Histogram::new();
                values.iter().for_each(|&v| h.record(v));
                h
            };
            let mut sum = of(&a);
            sum.merge(&of(&b));
            let whole = of(&[a, b].concat());
            prop_assert_eq!(&sum.buckets, &whole.buckets);
            prop_assert_eq!((sum.count, sum.min, sum.max, sum.sum), (whole.count, whole.min, whole.max, whole.sum));
        }
    }
}
