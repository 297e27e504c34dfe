//! Latency curves: how slow the slowest requests are, as far as there are requests.

use ssdlab_core::{Bucket, Histogram, Nanos, rank, to_us};

use super::figures::{chart, series};
use crate::outcome::{Axis, Chart, Mark, SHARE_BELOW};

/// The id of that chart.
pub(crate) const TAIL_CHART: &str = "latency-percentiles";

/// Latency by the share of requests that do not exceed it, a line for each named histogram.
pub(crate) fn tail_chart(runs: &[(&str, &Histogram)]) -> Chart {
    chart(
        TAIL_CHART,
        "Latency percentiles",
        "The latency that the given share of requests does not exceed. Each line ends at the slowest request of that run.",
        Mark::Line,
        Axis { min: Some(1.0), ..Axis::log("share of requests", SHARE_BELOW) },
        Axis::log("latency", "us"),
        runs.iter().map(|(name, h)| series(name, tail_curve(h))).collect(),
    )
}

/// Every bucket of a histogram as two points, of its smallest and its largest value in microseconds: the staircase of
/// [`Histogram::percentile`]. The position is 1/(1 - p), where p is the share of requests up to there: all but one
/// request in so many are as fast. The slowest stands at the number of requests, since of it no larger share is known.
fn tail_curve(h: &Histogram) -> Vec<[f64; 2]> {
    let all = h.count();
    let position = |faster: u64| all as f64 / (all - faster.min(all - 1)) as f64;
    let mut points = Vec::new();
    let mut faster = 0;
    for bucket in h.buckets() {
        points.push([position(faster), to_us(bucket.low)]);
        faster += bucket.count;
        points.push([position(faster), to_us(bucket.high)]);
    }
    points.dedup();
    points
}

/// The latency of a curve at `position`: between its points it is straight over the logarithms; where it rises
/// upright, the upper end.
#[must_use]
pub fn latency_at(curve: &[[f64; 2]], position: f64) -> Option<f64> {
    let above = curve.partition_point(|p| p[0] <= position);
    let before = curve[..above].last()?;
    let Some(after) = curve.get(above).filter(|after| after[1] > before[1] && before[1] > 0.0) else {
        return Some(before[1]);
    };
    let share = libm::log(position / before[0]) / libm::log(after[0] / before[0]);
    Some(before[1] * libm::pow(after[1] / before[1], share))
}

/// The latency that `percent` of the requests of a curve do not exceed. Of a whole curve, which goes on to the slowest of its
/// requests, as [`Histogram::percentile`] has it: the figures of a run and the table of its curve must not differ. Of another it is
/// even over the share of the requests between the points.
#[must_use]
pub fn percentile_of(curve: &[[f64; 2]], percent: f64, is_whole: bool) -> Option<f64> {
    let share = |position: f64| 1.0 - 1.0 / position;
    // A share that ends with a point must not be rounded past it.
    let position = 100.0 / (100.0 - percent) * (1.0 - 1e-9);
    let above = curve.partition_point(|p| p[0] < position);
    let (Some(after), Some(before)) = (curve.get(above), above.checked_sub(1).map(|i| curve[i])) else {
        return Some(curve.get(above).or(curve.last())?[1]);
    };
    if is_whole {
        let all = curve.last()?[0];
        // Requests up to a point. The slowest stands where the one before it does.
        let up_to =
            |i: usize| if i + 1 == curve.len() { all as u64 } else { libm::round(all - all / curve[i][0]) as u64 };
        let (faster, count) = (up_to(above - 1), up_to(above).saturating_sub(up_to(above - 1)).max(1));
        let [low, high] = [before[1], after[1]].map(|us| libm::round(us * 1e3) as Nanos);
        let nth = rank(percent, all as u64).saturating_sub(faster).clamp(1, count);
        return Some(to_us(Bucket { count, low, high }.value(nth)));
    }
    let part = (share(position) - share(before[0])) / (share(after[0]) - share(before[0]));
    Some(before[1] + part * (after[1] - before[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(of: &[(u64, u64)]) -> Histogram {
        let mut h = Histogram::new();
        of.iter().for_each(|&(us, count)| (0..count).for_each(|_| h.record(us * 1000)));
        h
    }

    #[test]
    fn the_curve_is_the_staircase_of_the_percentiles_and_ends_at_the_slowest() {
        let h = histogram(&[(100, 900), (2_000, 99), (80_000, 1)]);
        let points = tail_curve(&h);
        assert_eq!(points, [[1.0, 100.0], [10.0, 100.0], [10.0, 2e3], [1000.0, 2e3], [1000.0, 80e3]]);
        for (percent, position) in [(50.0, 2.0), (89.0, 9.0), (99.0, 100.0)] {
            assert_eq!(latency_at(&points, position), Some(to_us(h.percentile(percent))));
        }
        assert_eq!(latency_at(&points, 1e9), Some(80e3));
        assert_eq!(tail_curve(&histogram(&[(5, 1)])), [[1.0, 5.0]]);
        assert!(tail_curve(&Histogram::new()).is_empty() && latency_at(&[], 2.0).is_none());
    }

    #[test]
    fn every_bucket_is_on_the_curve_and_none_falls() {
        let mut h = Histogram::new();
        (0..10_000_u64).for_each(|n| h.record(50_000 + n * n));
        let points = tail_curve(&h);
        for bucket in h.buckets() {
            assert!(
                points.iter().any(|p| p[1] == to_us(bucket.low)) && points.iter().any(|p| p[1] == to_us(bucket.high))
            );
        }
        assert!(points.is_sorted_by(|a, b| a[0] <= b[0] && a[1] <= b[1]));
        assert_eq!(points.last(), Some(&[1e4, to_us(h.max())]));
        // Between points the curve keeps to the percentiles, to within a bucket.
        for percent in [10.0, 33.3, 75.0, 95.0, 99.5, 99.95] {
            let (drawn, exact) = (latency_at(&points, 100.0 / (100.0 - percent)), to_us(h.percentile(percent)));
            assert!(drawn.is_some_and(|us| (us / exact - 1.0).abs() < 0.016), "{percent}: {drawn:?} for {exact}");
            assert_eq!(percentile_of(&points, percent, true), Some(exact), "{percent}");
            let told = percentile_of(&points, percent, false);
            assert!(told.is_some_and(|us| (us / exact - 1.0).abs() < 2e-3), "{percent}: {told:?} for {exact}");
        }
        let coarse = histogram(&[(100, 900), (2_000, 99), (80_000, 1)]);
        for (percent, us) in [(50.0, 100.0), (90.0, 100.0), (99.0, 2e3), (99.9, 2e3), (99.99, 80e3)] {
            assert_eq!(percentile_of(&tail_curve(&coarse), percent, true), Some(us), "{percent}");
        }
        assert_eq!(percentile_of(&[], 99.0, true), None);
    }

    #[test]
    fn a_percentile_of_few_requests_in_a_bucket_is_that_of_their_histogram() {
        for count in [1, 2, 3, 10, 99, 100, 101, 1_000, 1_001, 10_000] {
            let mut h = Histogram::new();
            // Some to a bucket, and several among the slowest.
            (0..count).for_each(|n| h.record(7_000_000 + n * n % 977 * 1_234));
            let points = tail_curve(&h);
            for percent in [50.0, 90.0, 95.0, 99.0, 99.9, 99.99] {
                let exact = to_us(h.percentile(percent));
                assert_eq!(percentile_of(&points, percent, true), Some(exact), "{percent} of {count}");
            }
        }
    }
}
