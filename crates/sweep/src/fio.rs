//! A fio report as metrics.

use std::collections::BTreeMap;

use ssdlab_bench::Metric;
use ssdlab_bench::fio_run::{Direction, FioReport, JobReport};

/// What a fio job gives: the entries of the report together, by direction, as far as they ran together: of jobs that came one
/// after the other (`stonewall`, `wait_for`), those of the last turn that has any of the direction, and
/// earlier ones that had not ended when it began. Latencies are those of the slowest
/// entry, percentiles as well: those of several entries cannot be put together. `mixed` where every job reports reads and
/// writes together; reads and writes where every job reports them apart.
pub(crate) const FIO_METRICS: &[(&str, &str)] = &[
    ("read_iops", "IOPS"),
    ("read_bandwidth", "MB/s"),
    ("read_latency_mean", "us"),
    ("read_latency_p50", "us"),
    ("read_latency_p99", "us"),
    ("read_latency_p99_9", "us"),
    ("read_latency_max", "us"),
    ("write_iops", "IOPS"),
    ("write_bandwidth", "MB/s"),
    ("write_latency_mean", "us"),
    ("write_latency_p50", "us"),
    ("write_latency_p99", "us"),
    ("write_latency_p99_9", "us"),
    ("write_latency_max", "us"),
    ("mixed_iops", "IOPS"),
    ("mixed_bandwidth", "MB/s"),
    ("mixed_latency_mean", "us"),
    ("mixed_latency_p50", "us"),
    ("mixed_latency_p99", "us"),
    ("mixed_latency_p99_9", "us"),
    ("mixed_latency_max", "us"),
    ("trim_iops", "IOPS"),
    ("trim_bandwidth", "MB/s"),
    ("trim_latency_mean", "us"),
    ("trim_latency_p50", "us"),
    ("trim_latency_p99", "us"),
    ("trim_latency_p99_9", "us"),
    ("trim_latency_max", "us"),
    ("waf", "ratio"),
];

pub(crate) fn fio_metrics(report: &FioReport) -> BTreeMap<String, Metric> {
    let mut metrics = BTreeMap::new();
    let mut put = |key: String, value: f64, unit: &str| {
        metrics.insert(key, Metric::new(value, unit));
    };
    // Where a job reports reads and writes together, sums of the others alone would pass for all.
    let apart = report.jobs.iter().all(|job| job.read.is_some() || job.mixed.is_none());
    let together = report.jobs.iter().all(|job| job.mixed.is_some());
    type Pick = fn(&JobReport) -> Option<&Direction>;
    let directions: [(&str, bool, Pick); 4] = [
        ("read", apart, |job| job.read.as_ref()),
        ("write", apart, |job| job.write.as_ref()),
        ("trim", apart, |job| job.trim.as_ref()),
        ("mixed", together, |job| job.mixed.as_ref()),
    ];
    for (name, _, pick) in directions.into_iter().filter(|(_, holds, _)| *holds) {
        let active = |job: &JobReport| pick(job).is_some_and(|d| d.total_ios > 0);
        let entries: Vec<&Direction> = report.last_together(active).into_iter().filter_map(pick).collect();
        if entries.is_empty() {
            continue;
        }
        let slowest = |of: &dyn Fn(&Direction) -> f64| entries.iter().map(|d| of(d)).fold(0.0, f64::max) / 1e3;
        // What took no time has no rate: zeros would be taken for the slowest of all.
        if entries.iter().all(|d| d.iops > 0.0) {
            put(format!("{name}_iops"), entries.iter().map(|d| d.iops).sum(), "IOPS");
            put(format!("{name}_bandwidth"), entries.iter().map(|d| d.bw_bytes as f64).sum::<f64>() / 1e6, "MB/s");
        }
        put(format!("{name}_latency_mean"), slowest(&|d| d.clat_ns.mean), "us");
        put(format!("{name}_latency_max"), slowest(&|d| d.clat_ns.max as f64), "us");
        for (percent, key) in [(50.0, "p50"), (99.0, "p99"), (99.9, "p99_9")] {
            // Whatever `percentile_list` says.
            let of = |d: &Direction| d.clat_ns.at_percent(percent).map_or(0.0, |ns| ns as f64);
            put(format!("{name}_latency_{key}"), slowest(&of), "us");
        }
    }
    if let Some(waf) = report.ssdlab.last_waf {
        put("waf".to_owned(), waf, "ratio");
    }
    metrics
}
