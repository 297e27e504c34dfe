//! What a run on a drive in small cannot tell of the drive.

use super::consistency::COUNTS_RATES;
use super::definition::QUICK_DIVISOR;
use super::regularity::PERIODS_CHART;
use super::slc_cache::{RECOVERY, RECOVERY_CHART, STAGES};
use super::stalls::LONGEST_GAPS;
use super::tail::{TAIL_CHART, percentile_of};
use crate::explain::TAIL_BY_CAUSE;
use crate::outcome::Outcome;

/// Amounts are those of the small drive, and a pause for one superblock is as much shorter as the superblock is smaller. So is
/// the time from one to the next, which is in [`PERIODS`].
const PAUSES: [&str; 7] = [
    "latency_p99_9",
    "latency_p99_99",
    "latency_max",
    "stall_",
    "longest_gap_share",
    "seconds_over_",
    "zero_iops_seconds",
];
const PERIODS: [&str; 3] = ["iops_period", "iops_run_", "iops_autocorrelation_lag"];
const AMOUNTS: [&str; 4] = ["GB", "TB", "B", "J"];

/// Where a curve of percentiles has 99 %. Slower ones depend on the size of the drive.
const ONE_IN_A_HUNDRED: f64 = 100.0;

/// What is told of such a curve: of one that ends there, nobody can tell any more which request of how many it is.
const TOLD_OF_CURVES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// Leaves such figures out, with the tables and charts of pauses, and says so.
pub(super) fn leave_out(outcome: &mut Outcome) {
    let of_trace = |key: &str| key.starts_with("trace_");
    let is_period = |key: &str| PERIODS.iter().any(|p| key.starts_with(p));
    let had_periods = outcome.metrics.keys().any(|key| is_period(key));
    outcome.metrics.retain(|key, metric| {
        let pause = PAUSES.iter().any(|p| key.starts_with(p));
        let amount = AMOUNTS.contains(&metric.unit.as_str()) && !of_trace(key);
        !pause && !is_period(key) && !amount
    });
    outcome.slowest.clear();
    outcome.slowest_seen = None;
    outcome.charts.retain(|chart| !["stalls", "felt", RECOVERY_CHART, PERIODS_CHART].contains(&chart.id.as_str()));
    let of_size = |title: &str| [LONGEST_GAPS, RECOVERY, STAGES].contains(&title) || title.starts_with(TAIL_BY_CAUSE);
    outcome.tables.retain(|table| !of_size(&table.title));
    for chart in outcome.charts.iter_mut().filter(|chart| chart.id == TAIL_CHART) {
        for series in &mut chart.series {
            let requests = series.points.last().map_or(0.0, |p| p[0]);
            let told =
                TOLD_OF_CURVES.map(|percent| (100.0 / (100.0 - percent), percentile_of(&series.points, percent, true)));
            series.points.retain(|p| p[0] <= ONE_IN_A_HUNDRED);
            for (position, us) in told.into_iter().filter(|(position, _)| *position <= requests) {
                let at = series.points.partition_point(|p| p[0] < position);
                let point = us.map(|us| [position, us]).filter(|point| series.points.get(at) != Some(point));
                series.points.splice(at..at, point);
            }
        }
        chart.caption = "The latency that the given share of requests does not exceed, up to 99 %.".to_owned();
    }
    let and_stalls =
        if had_periods { ", stalls, and times after which the rate repeats itself" } else { " and stalls" };
    outcome.notes.push(format!(
        "Amounts, the longest latencies{and_stalls} are left out: they depend on the size of the drive."
    ));
    if ["iops_min", "iops_over_stddev"].iter().any(|key| outcome.metrics.contains_key(*key)) {
        outcome.notes.push(if outcome.test == COUNTS_RATES {
            format!(
                "Rates of single seconds, the lowest and how far they spread, are of {QUICK_DIVISOR} moments a second where enough \
                 requests complete in each."
            )
        } else {
            format!(
                "The lowest and the highest second are whole seconds, each of which is like {QUICK_DIVISOR} s of the whole drive: \
                 single seconds of a full run may lie further apart."
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Metric;
    use crate::suite::regularity::Regularity;
    use crate::suite::tail::tail_chart;

    #[test]
    fn only_the_test_that_counts_moments_says_that_it_does() {
        let notes = |test: &str, key: &str| {
            let metrics = [(key.to_owned(), Metric::new(1.0, "IOPS"))].into();
            let mut outcome = Outcome { test: test.into(), metrics, ..Outcome::default() };
            leave_out(&mut outcome);
            outcome.notes.join(" ")
        };
        assert!(notes(COUNTS_RATES, "iops_min").contains("of 8 moments a second"));
        let whole = notes("random-write", "iops_min");
        assert!(whole.contains("like 8 s of the whole drive") && !whole.contains("moments"), "{whole}");
        assert!(!notes("random-write", "iops").contains("second"));
    }

    #[test]
    fn rates_stay_and_what_depends_on_the_size_goes() {
        let metrics = [
            ("iops", 1.0, "IOPS"),
            ("latency_p99", 1.0, "us"),
            ("latency_max", 1.0, "us"),
            ("stage1_amount", 3.0, "GB"),
            ("trace_read_gb", 3.0, "GB"),
            ("stall_longest", 3.0, "us"),
            // One that takes its time whatever the size of the drive is a larger share of an eighth of the run.
            ("longest_gap_share", 30.0, "%"),
            ("longest_gap_share_write", 30.0, "%"),
            // Of superblocks that are as much smaller.
            ("iops_autocorrelation_max", 0.9, "ratio"),
            ("iops_autocorrelation_lag", 1.5, "s"),
            ("iops_period", 1.5, "s"),
            ("iops_period_autocorrelation", 0.9, "ratio"),
            ("iops_run_mean", 0.5, "s"),
            ("iops_run_longest", 2.0, "s"),
        ];
        let mut outcome = Outcome {
            test: "t".into(),
            device: "d".into(),
            metrics: metrics.iter().map(|&(k, v, u)| (k.to_owned(), Metric::new(v, u))).collect(),
            ..Outcome::default()
        };
        // Of 20,000 requests, 1 % lies within one bucket.
        let mut h = ssdlab_core::Histogram::new();
        (0..20_000_u64).for_each(|n| h.record(if n < 19_700 { 300_000 + n % 3_000 } else { 12_000_000 + n }));
        outcome.charts.push(tail_chart(&[("whole run", &h)]));
        let metronome: Vec<f64> = (0..600).map(|i| if i % 7 == 0 { 300.0 } else { 5_700.0 }).collect();
        outcome.charts.extend(Regularity::of(&metronome).chart("", 8));
        assert_eq!(outcome.charts.len(), 2);
        leave_out(&mut outcome);
        assert_eq!(outcome.charts.len(), 1, "what repeats itself does so after an eighth of the time");
        let curve = &outcome.charts[0].series[0].points;
        let (end, p99) = (curve[curve.len() - 1], ssdlab_core::to_us(h.percentile(99.0)));
        assert!(end[0] == 100.0 && (end[1] / p99 - 1.0).abs() < 1e-3, "{curve:?}, {p99}");
        // Nobody can tell any more of how many requests it is; what is told of it is that of all.
        for (percent, us) in TOLD_OF_CURVES.map(|percent| (percent, ssdlab_core::to_us(h.percentile(percent)))) {
            let told = percentile_of(curve, percent, false);
            assert!(told.is_some_and(|told| (told / us - 1.0).abs() < 1e-8), "{percent}: {told:?} for {us}");
        }
        let left: Vec<&str> = outcome.metrics.keys().map(String::as_str).collect();
        assert_eq!(left, ["iops", "iops_autocorrelation_max", "latency_p99", "trace_read_gb"]);
        assert!(outcome.notes.len() == 1 && outcome.notes[0].contains("repeats itself"), "{:?}", outcome.notes);
    }
}
