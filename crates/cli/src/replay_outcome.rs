//! What a replay measured, as an outcome like that of any test.

use std::collections::BTreeMap;

use serde_json::json;
use ssdlab_bench::measure::{Measurement, Meter, PerSecond};
use ssdlab_bench::{Axis, Chart, Mark, Metric, Outcome, Series, explain, op_name};
use ssdlab_core::{Completion, Histogram, Nanos, format_duration, to_us};
use ssdlab_device::Counters;
use ssdlab_workload::trace::{Format, PlacementReport, TraceSummary};

use crate::args::{PlacementArg, PrefillArg, ReplayArgs};
use crate::commands::replay::Speed;

#[derive(Clone, Debug, Default)]
pub struct ReplayMeter {
    pub all: Measurement,
    pub seconds: PerSecond,
}

impl Meter for ReplayMeter {
    fn begin(&mut self, job: usize, at: Nanos) {
        self.all.begin(job, at);
        self.seconds.begin(job, at);
    }
    fn record(&mut self, job: usize, io: &Completion) {
        self.all.record(job, io);
        self.seconds.record(job, io);
    }
    fn end(&mut self, job: usize, at: Nanos) {
        self.all.end(job, at);
        self.seconds.end(job, at);
    }
}

/// Everything that came of a replay.
pub struct Replayed {
    pub summary: TraceSummary,
    pub placed: PlacementReport,
    pub counters: Counters,
    pub meter: ReplayMeter,
    /// How long requests waited for a tag after their arrival, and how many did; `None` if sent as soon as possible.
    pub lag: Option<(Histogram, u64)>,
}

pub fn outcome(args: &ReplayArgs, speed: Speed, format: Format, device: &str, replayed: &Replayed) -> Outcome {
    let Replayed { summary, placed, counters, meter, lag } = replayed;
    let mut metrics = BTreeMap::new();
    let mut put = |key: &str, value: f64, unit: &str| {
        metrics.insert(key.to_owned(), Metric::new(value, unit));
    };
    let all = &meter.all;
    put("iops", all.iops(), "IOPS");
    put("bandwidth", all.mb_per_s(), "MB/s");
    put("duration", all.elapsed() as f64 / 1e9, "s");
    put("trace_duration", summary.duration as f64 / 1e9, "s");
    for (key, count) in [
        ("trace_requests", summary.requests),
        ("trace_reads", summary.reads),
        ("trace_writes", summary.writes),
        ("trace_trims", summary.trims),
        ("trace_flushes", summary.flushes),
        ("commands", placed.commands),
        ("moved", placed.moved),
        ("widened", placed.widened),
        ("split", placed.splits),
        ("clipped", placed.clipped),
    ] {
        put(key, count as f64, "count");
    }
    for (key, bytes) in [
        ("trace_read_bytes", summary.read_bytes),
        ("trace_write_bytes", summary.write_bytes),
        ("trace_trim_bytes", summary.trim_bytes),
        ("placed_bytes", placed.placed_bytes),
    ] {
        put(key, bytes as f64, "B");
    }
    latencies(&mut put, &all.latency(), "");
    for (op, stats) in all.ops() {
        latencies(&mut put, &stats.latency, &format!("_{}", op_name(op)));
    }
    if let Some(waf) = counters.waf() {
        put("waf", waf, "ratio");
    }
    if let Some((lag, delayed)) = lag {
        put("delayed", *delayed as f64, "count");
        put("lag_mean", lag.mean() / 1e3, "us");
        put("lag_p99", to_us(lag.percentile(99.0)), "us");
        put("lag_max", to_us(lag.max()), "us");
    }
    Outcome {
        test: "replay".to_owned(),
        variant: String::new(),
        device: device.to_owned(),
        title: format!("Replay of {}", args.trace.display()),
        method: method(args, speed, format, summary),
        params: params(args, format),
        metrics,
        charts: vec![seconds_chart(&meter.seconds)],
        time_shares: explain::time_shares("replay", all),
        slowest: explain::slowest(all),
        verdict: None,
        notes: notes(summary, placed, counters, lag.as_ref()),
        shortened: None,
    }
}

fn latencies(put: &mut impl FnMut(&str, f64, &str), h: &Histogram, suffix: &str) {
    put(&format!("latency_mean{suffix}"), h.mean() / 1e3, "us");
    for (percent, key) in [(50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99_9"), (99.99, "p99_99")] {
        put(&format!("latency_{key}{suffix}"), to_us(h.percentile(percent)), "us");
    }
    put(&format!("latency_max{suffix}"), to_us(h.max()), "us");
}

fn method(args: &ReplayArgs, speed: Speed, format: Format, summary: &TraceSummary) -> String {
    let when = match speed {
        Speed::Times(1.0) => "at the recorded times".to_owned(),
        Speed::Times(factor) => format!("{factor} times as fast as recorded"),
        Speed::AsSoonAsPossible => "as soon as the queue had room".to_owned(),
    };
    let prefill = match args.prefill {
        PrefillArg::Drive => "The drive was first filled in sequence",
        PrefillArg::None => "The drive was fresh, nothing written before",
    };
    format!(
        "{prefill}; then the {} requests of the trace (format {format}) were sent {when}, at most {} at a time.",
        summary.requests, args.queue_depth
    )
}

fn params(args: &ReplayArgs, format: Format) -> BTreeMap<String, serde_json::Value> {
    let placement = match args.placement {
        PlacementArg::Wrap => "wrap",
        PlacementArg::Scale => "scale",
    };
    let prefill = match args.prefill {
        PrefillArg::Drive => "drive",
        PrefillArg::None => "none",
    };
    BTreeMap::from([
        ("trace".to_owned(), json!(args.trace.display().to_string())),
        ("format".to_owned(), json!(format.name())),
        ("speed".to_owned(), json!(args.speed)),
        ("queue_depth".to_owned(), json!(args.queue_depth)),
        ("placement".to_owned(), json!(placement)),
        ("prefill".to_owned(), json!(prefill)),
    ])
}

/// What was adjusted, and what the reader must know.
fn notes(
    summary: &TraceSummary,
    placed: &PlacementReport,
    counters: &Counters,
    lag: Option<&(Histogram, u64)>,
) -> Vec<String> {
    let mut notes: Vec<String> = placed.lines().into_iter().map(|line| format!("Adjusted: {line}.")).collect();
    if summary.backwards > 0 {
        notes.push(format!(
            "Adjusted: {} requests were stamped earlier than the one before them and arrived together with it.",
            summary.backwards
        ));
    }
    if summary.skipped > 0 {
        notes.push(format!("{} lines or records of the trace are no requests to a drive.", summary.skipped));
    }
    if let Some((lag, delayed)) = lag.filter(|(_, delayed)| *delayed > 0) {
        notes.push(format!(
            "Replay lag: {delayed} requests were sent later than they arrived, because all tags were taken; the longest \
             waited {}.",
            format_duration(lag.max())
        ));
    }
    if counters.unmapped_read_units > 0 {
        notes.push(format!(
            "{} reads of 4 KiB went to addresses that had never been written, which the drive answers without flash.",
            counters.unmapped_read_units
        ));
    }
    notes
}

fn seconds_chart(seconds: &PerSecond) -> Chart {
    let points = seconds.iops().into_iter().enumerate().map(|(i, iops)| [(i + 1) as f64, iops]).collect();
    Chart {
        id: "iops-over-time".to_owned(),
        title: "Requests over time".to_owned(),
        caption: "One dot a second.".to_owned(),
        mark: Mark::Scatter,
        x: Axis::linear("time", "s"),
        y: Axis { min: Some(0.0), ..Axis::linear("IOPS", "IOPS") },
        series: vec![Series { name: "completed".to_owned(), points }],
        overlay_drives: false,
    }
}
