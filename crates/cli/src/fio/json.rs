//! fio's JSON, with its field names.

use serde_json::{Map, Value, json};
use ssdlab_core::{Histogram, Nanos};
use ssdlab_workload::fio::JobFile;

use super::FIO_VERSION;
use super::report::{DIRECTIONS, JobReport, MS_BINS, NS_BINS, PERCENTILES, Spread, US_BINS, latency_bins};

/// The document that `fio --output-format=json` prints. Times of day are zero: a result does not depend on when it
/// was made. What ssdlab knows beyond fio is added under `ssdlab` by the caller.
pub fn json(file: &JobFile, reports: &[JobReport]) -> Value {
    json!({
        "fio version": FIO_VERSION,
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "Thu Jan  1 00:00:00 1970",
        "global options": {},
        "jobs": reports.iter().map(job).collect::<Vec<_>>(),
        "disk_util": [],
        "ssdlab": {"job_file": file.file, "notices": file.notices()},
    })
}

fn job(report: &JobReport) -> Value {
    let mut out = Map::new();
    let options: Map<String, Value> = report.options.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
    out.insert("jobname".into(), json!(report.name));
    out.insert("groupid".into(), json!(report.group));
    out.insert("job_start".into(), json!(0));
    out.insert("error".into(), json!(0));
    out.insert("eta".into(), json!(0));
    out.insert("elapsed".into(), json!(report.runtime_ms().div_ceil(1000)));
    out.insert("job options".into(), Value::Object(options));
    for (i, (_, name)) in DIRECTIONS.iter().enumerate() {
        out.insert((*name).into(), direction(report, i));
    }
    let flushes = &report.stats(ssdlab_core::Op::Flush).latency;
    out.insert("sync".into(), json!({"total_ios": flushes.count(), "lat_ns": latency(flushes, true)}));
    out.insert("job_runtime".into(), json!(report.runtime_ms()));
    for zero in ["usr_cpu", "sys_cpu"] {
        out.insert(zero.into(), json!(0.0));
    }
    for zero in ["ctx", "majf", "minf"] {
        out.insert(zero.into(), json!(0));
    }
    let all = report.all.latency();
    out.insert("latency_ns".into(), bins(&latency_bins(&all, 1, &NS_BINS, 0), None));
    out.insert("latency_us".into(), bins(&latency_bins(&all, 1_000, &US_BINS, 1_000), None));
    let over = all.share_over(2_000_000_000) * 100.0;
    out.insert("latency_ms".into(), bins(&latency_bins(&all, 1_000_000, &MS_BINS, 1_000_000), Some(over)));
    out.insert("latency_depth".into(), json!(report.queue_depth));
    out.insert("latency_target".into(), json!(0));
    out.insert("latency_percentile".into(), json!(100.0));
    out.insert("latency_window".into(), json!(0));
    Value::Object(out)
}

fn direction(report: &JobReport, index: usize) -> Value {
    let stats = report.stats(DIRECTIONS[index].0);
    let count = stats.latency.count();
    let seconds = report.seconds();
    let samples = &report.samples[index];
    let bw = Spread::of(&samples.iter().map(|s| s.bytes as f64 / 1024.0).collect::<Vec<_>>());
    let iops = Spread::of(&samples.iter().map(|s| s.requests as f64).collect::<Vec<_>>());
    let bytes_per_s = if count == 0 { 0.0 } else { stats.bytes as f64 / seconds };
    json!({
        "io_bytes": stats.bytes,
        "io_kbytes": stats.bytes / 1024,
        "bw_bytes": bytes_per_s as u64,
        "bw": (bytes_per_s / 1024.0) as u64,
        "iops": if count == 0 { 0.0 } else { count as f64 / seconds },
        "runtime": if count == 0 { 0 } else { report.runtime_ms() },
        "total_ios": count,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": latency(&Histogram::new(), false),
        "clat_ns": latency(&stats.latency, true),
        "lat_ns": latency(&stats.latency, false),
        "bw_min": bw.min as u64,
        "bw_max": bw.max as u64,
        "bw_agg": if count == 0 { 0.0 } else { 100.0 },
        "bw_mean": bw.mean,
        "bw_dev": bw.stddev,
        "bw_samples": bw.samples,
        "iops_min": iops.min as u64,
        "iops_max": iops.max as u64,
        "iops_mean": iops.mean,
        "iops_stddev": iops.stddev,
        "iops_samples": iops.samples,
    })
}

fn latency(h: &Histogram, percentiles: bool) -> Value {
    let none = h.count() == 0;
    let mut out = json!({
        "min": if none { 0 } else { h.min() },
        "max": h.max(),
        "mean": if none { 0.0 } else { h.mean() },
        "stddev": if none { 0.0 } else { h.stddev() },
        "N": h.count(),
    });
    if percentiles && !none {
        let list: Map<String, Value> =
            PERCENTILES.iter().map(|&p| (format!("{p:.6}"), json!(h.percentile(p) as Nanos))).collect();
        out["percentile"] = Value::Object(list);
    }
    out
}

fn bins(shares: &[(u64, f64)], over: Option<f64>) -> Value {
    let mut out: Map<String, Value> = shares.iter().map(|(limit, share)| (limit.to_string(), json!(share))).collect();
    if let Some(over) = over {
        out.insert(">=2000".into(), json!(over));
    }
    Value::Object(out)
}
