//! The run of random writes over every address of a drive: what the first screen draws, and what most is told of.

use ssdlab_bench::Outcome;
use ssdlab_bench::suite::{is_as_declared, is_of_whole_drive};

use crate::review::Review;

/// The test that it is a run of.
pub(crate) const TEST: &str = "consistency";

/// Its variant by which drives are compared, and the one of the same writes with a fifth of the flash left unused.
pub(crate) const VARIANT: &str = "2013";
pub(crate) const SPACIOUS: &str = "2013, 25 % over-provisioning";

/// Its figures of the last part: the mean of the seconds, and the lowest of them.
pub(crate) const MEAN: &str = "iops_mean_tail";
pub(crate) const LOWEST: &str = "iops_min";

/// The run of a device by which drives are compared.
pub(crate) fn compared<'r>(review: &'r Review, device: &str) -> Option<&'r Outcome> {
    runs(review, device).find(|o| o.variant == VARIANT)
}

/// The run of a device that is drawn: that one, or else one of the same writes for longer.
pub(crate) fn drawn<'r>(review: &'r Review, device: &str) -> Option<&'r Outcome> {
    compared(review, device).or_else(|| runs(review, device).next())
}

/// The runs that are drawn, in the order of the drives.
pub(crate) fn all_drawn(review: &Review) -> Vec<&Outcome> {
    review.devices.iter().filter_map(|d| drawn(review, &d.facts.name)).collect()
}

fn runs<'r>(review: &'r Review, device: &str) -> impl Iterator<Item = &'r Outcome> {
    let of_device = review.outcomes.iter().filter(move |o| o.device == device && o.test == TEST);
    of_device.filter(|o| is_of_whole_drive(o) && is_as_declared(o))
}

/// Seconds and IOPS of a run from its begin.
pub(crate) fn curve_of(run: &Outcome) -> &[[f64; 2]] {
    let whole = run.charts.iter().find(|c| c.id.starts_with("iops-whole"));
    whole.and_then(|c| c.series.first()).map_or(&[], |s| &s.points)
}

/// The same of the run of a device that is drawn; empty if there is none.
pub(crate) fn curve<'r>(review: &'r Review, device: &str) -> &'r [[f64; 2]] {
    drawn(review, device).map_or(&[], curve_of)
}

/// A figure of the last part of a run, settled or not: one that came to no steady state may have none, and then it is what
/// its chart shows.
pub(crate) fn so_far(run: &Outcome, metric: &str) -> Option<f64> {
    let drawn = || {
        let chart = run.charts.iter().find(|chart| chart.id.starts_with("iops-tail"))?;
        let rates = chart.series.first()?.points.iter().map(|p| p[1]);
        let count = rates.len();
        match metric {
            MEAN => (count > 0).then(|| rates.sum::<f64>() / count as f64),
            LOWEST => rates.reduce(f64::min),
            _ => None,
        }
    };
    run.metrics.get(metric).map(|m| m.value).or_else(drawn)
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::{Axis, Chart, Mark, Metric, Series};

    use super::*;

    #[test]
    fn a_run_without_a_steady_state_stood_where_its_chart_shows() {
        let chart = Chart {
            id: "iops-tail-log".into(),
            title: String::new(),
            caption: String::new(),
            mark: Mark::Scatter,
            x: Axis::linear("time", "s"),
            y: Axis::log("IOPS", "IOPS"),
            series: vec![Series { name: String::new(), points: vec![[1.0, 900.0], [2.0, 300.0], [3.0, 600.0]] }],
            overlay_drives: false,
        };
        let mut run = Outcome { test: TEST.into(), charts: vec![chart], ..Outcome::default() };
        let at = |run: &Outcome| [MEAN, LOWEST, "latency_p50_tail"].map(|key| so_far(run, key));
        assert_eq!(at(&run), [Some(600.0), Some(300.0), None]);
        run.metrics.insert(MEAN.to_owned(), Metric::new(610.0, "IOPS"));
        assert_eq!(at(&run)[0], Some(610.0));
        run.charts.clear();
        assert_eq!(at(&run), [Some(610.0), None, None]);
    }
}
