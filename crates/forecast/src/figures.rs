//! Figures that are looked at: a metric of a test with its settings.

use std::collections::BTreeMap;

use ssdlab_bench::Metric;
use ssdlab_bench::suite::{TestDef, find_test};
use ssdlab_report::HEADLINES;

/// The metrics of a test, or why there are none.
pub(crate) type Metrics = Result<BTreeMap<String, Metric>, String>;

/// Behind the title of a figure of a run that has not settled.
const NOT_SETTLED: &str = " (not settled)";

/// Units of what has no dimension.
const PURE_NUMBERS: [&str; 2] = ["ratio", "%"];

/// One figure of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub title: String,
    pub test: &'static TestDef,
    /// Parameters that differ from the test's defaults.
    pub settings: BTreeMap<String, String>,
    pub metric: String,
}

impl Figure {
    /// The same, with a title that fits what its test found: what the steady state is called is none if the drive has not settled.
    pub(crate) fn said_of(&self, metrics: &Metrics) -> Figure {
        let steady = metrics.as_ref().ok().and_then(|metrics| metrics.get("steady"));
        let is_said = self.title.ends_with(NOT_SETTLED);
        match !is_said && steady.is_some_and(|steady| steady.value == 0.0) {
            true => Figure { title: format!("{}{NOT_SETTLED}", self.title), ..self.clone() },
            false => self.clone(),
        }
    }

    /// Whether it has no dimension, as shares, correlations and factors: most of these have bounds, which they do not approach in
    /// proportion to anything.
    pub(crate) fn is_pure_number(&self) -> bool {
        self.test.metric(&self.metric).is_some_and(|metric| PURE_NUMBERS.contains(&metric.unit))
    }

    pub(crate) fn settings_list(&self) -> Vec<(String, String)> {
        self.settings.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
    }
}

/// The figures by which a review compares drives. In a quick run, only those that then rank drives as a full run does.
///
/// # Panics
/// If a headline names a test that is not in the suite.
#[must_use]
pub fn headlines(quick: bool) -> Vec<Figure> {
    HEADLINES
        .iter()
        .filter(|headline| headline.is_shown(quick))
        .map(|headline| {
            let test = find_test(headline.test).expect("headlines are of the suite");
            let variant = test.variants.iter().find(|v| headline.fits(test.name, v.name));
            let settings = variant.map(|v| v.settings().into_iter().collect()).unwrap_or_default();
            Figure { title: headline.title.to_owned(), test, settings, metric: headline.metric.to_owned() }
        })
        .collect()
}

/// Title, test, settings and metric.
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

/// The figures of a prediction: what reviews of drives of the time print.
const PREDICTED: &[Row] = &[
    ("sequential read", "sequential-read", &[], "bandwidth"),
    ("sequential write", "sequential-write", &[], "bandwidth"),
    ("random read, QD1", "random-read", &[("queue_depth", "1")], "iops"),
    ("random read, QD32", "random-read", &[("queue_depth", "32")], "iops"),
    ("random write, QD1", "random-write", &[("queue_depth", "1")], "iops"),
    ("random write, QD32", "random-write", &[("queue_depth", "32")], "iops"),
    ("what is written fast", "slc-cache", &[], "stage1_amount"),
    ("write rate at first", "slc-cache", &[], "stage1_bandwidth"),
    ("write rate after that", "slc-cache", &[], "stage2_bandwidth"),
    ("steady random write", "consistency", &[], "iops_mean_tail"),
    ("worst second of it", "consistency", &[], "iops_min"),
    ("how regular it is", "consistency", &[], "iops_autocorrelation_max"),
    ("sequential read after random overwriting", "fragmented-read", &[], "read_bandwidth"),
    ("slowest zone of it", "fragmented-read", &[], "read_bandwidth_min"),
    ("Heavy, data rate", "heavy", &[("form", "2015")], "bandwidth"),
    ("power, sequential write", "sequential-write", &[], "power_mean"),
];

/// The figures of a prediction.
///
/// # Panics
/// If one names a test that is not in the suite.
#[must_use]
pub fn predicted() -> Vec<Figure> {
    let figure = |&(title, test, settings, metric): &Row| Figure {
        title: title.to_owned(),
        test: find_test(test).expect("predicted figures are of the suite"),
        settings: settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect(),
        metric: metric.to_owned(),
    };
    PREDICTED.iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::plan::PlanJob;

    use super::*;

    #[test]
    fn a_drive_that_has_not_settled_has_no_steady_figure() {
        let figure = headlines(false).into_iter().find(|f| f.test.name == "consistency").expect("it is a headline");
        let found = |steady: f64| Ok(BTreeMap::from([("steady".to_owned(), Metric::new(steady, "ratio"))]));
        assert_eq!(figure.said_of(&found(1.0)).title, "Steady random write");
        assert_eq!(figure.said_of(&found(0.0)).title, "Steady random write (not settled)");
        assert_eq!(figure.said_of(&found(0.0)).said_of(&found(0.0)).title, "Steady random write (not settled)");
        assert_eq!(figure.said_of(&Ok(BTreeMap::new())).title, "Steady random write");
    }

    #[test]
    fn every_figure_is_one_of_its_test() {
        for figure in headlines(false).into_iter().chain(predicted()) {
            let job = PlanJob { lab: 0, test: figure.test, variant: String::new(), settings: figure.settings_list() };
            job.check(false).unwrap_or_else(|e| panic!("{}: {e}", figure.title));
            let known = figure.test.metric(&figure.metric).is_some();
            assert!(known, "{}: {} has no {}", figure.title, figure.test.name, figure.metric);
        }
    }
}
