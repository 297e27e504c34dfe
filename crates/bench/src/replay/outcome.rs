//! The figures of a replay.

use std::collections::BTreeMap;

use serde_json::json;
use ssdlab_core::{Histogram, MILLISECOND, Nanos, format_duration, to_us};
use ssdlab_workload::trace::{Devices, Fit};

use super::{Replayed, Speed};
use crate::explain;
use crate::lab::stored_note;
use crate::outcome::{Axis, Mark, Outcome};
use crate::suite::figures::{chart, put, put_counters, put_latencies, put_percentile, series, share_written};
use crate::suite::tail::tail_chart;

/// What stands as the test of a replay.
pub const TEST: &str = "replay";

/// Of a replay at recorded times, rates are the trace's, and a latency from sending omits the wait for a tag.
pub const LEADS: &[&str] =
    &["latency_p99_from_arrival", "latency_mean_from_arrival", "delayed", "iops", "bandwidth", "latency_p99"];

pub(super) fn outcome(r: &Replayed) -> Outcome {
    let mut out = Outcome {
        test: TEST.to_owned(),
        device: r.device.clone(),
        title: format!("Replay of {}", file_name(r)),
        method: method(r),
        params: params(r),
        tables: explain::tail_tables("replay", &r.measurement),
        time_shares: explain::time_shares("replay", &r.measurement),
        slowest: explain::slowest(&r.measurement),
        notes: notes(r),
        slowest_seen: r.slowest_seen.clone().map(Box::new),
        ..Outcome::default()
    };
    put_counts(&mut out, r);
    let m = &r.measurement;
    put(&mut out, "iops", m.iops(), "IOPS");
    put(&mut out, "bandwidth", m.mb_per_s(), "MB/s");
    put(&mut out, "duration", m.elapsed() as f64 / 1e9, "s");
    put_latencies(&mut out, &m.latency(), "");
    for (op, stats) in m.ops() {
        put_latencies(&mut out, &stats.latency, &format!("_{}", op.name()));
    }
    put_counters(&mut out, &r.counters, m.elapsed());
    if let Some(lag) = &r.lag {
        let h = &lag.distribution;
        put(&mut out, "delayed", lag.delayed as f64, "count");
        put(&mut out, "lag_mean", h.mean() / 1e3, "us");
        for (percent, key) in [(50.0, "lag_p50"), (99.0, "lag_p99"), (99.9, "lag_p99_9")] {
            put_percentile(&mut out, key, h, percent);
        }
        put(&mut out, "lag_max", to_us(h.max()), "us");
        put_latencies(&mut out, &lag.responses(), "_from_arrival");
    }
    put_charts(&mut out, r);
    out
}

/// What the file holds, and what became of it.
fn put_counts(out: &mut Outcome, r: &Replayed) {
    let (s, p) = (&r.summary, &r.placement);
    for (key, count) in [
        ("trace_requests", s.requests),
        ("trace_reads", s.reads),
        ("trace_writes", s.writes),
        ("trace_trims", s.trims),
        ("trace_flushes", s.flushes),
        ("commands", p.commands),
        ("moved", p.moved),
        ("widened", p.widened),
        ("split", p.splits),
        ("clipped", p.clipped),
    ] {
        put(out, key, count as f64, "count");
    }
    for (key, bytes) in [
        ("trace_read_bytes", s.read_bytes),
        ("trace_write_bytes", s.write_bytes),
        ("trace_trim_bytes", s.trim_bytes),
        ("placed_bytes", p.placed_bytes),
    ] {
        put(out, key, bytes as f64, "B");
    }
    put(out, "trace_duration", s.duration as f64 / 1e9, "s");
    if let Some(percent) = s.read_percent() {
        put(out, "trace_read_share", percent, "%");
    }
}

fn put_charts(out: &mut Outcome, r: &Replayed) {
    let lasted = r.measurement.elapsed();
    let mut caption = match r.rate.window_s() {
        _ if r.rate.is_within_one(lasted) => "One dot, at the end of the run: the mean of all of it.".to_owned(),
        1 => "One dot a second.".to_owned(),
        n => format!("One dot every {n} seconds: the mean of that time."),
    };
    let points = r.rate.points(lasted);
    if points.len() < r.rate.windows() {
        caption.push_str(" What came after the last whole one is left out.");
    }
    out.charts.push(chart(
        "iops-over-time",
        "Requests over time",
        &caption,
        Mark::Scatter,
        Axis::linear("time", "s"),
        Axis { min: Some(0.0), ..Axis::linear("completed", "IOPS") },
        vec![series("completed", points)],
    ));
    let mut lines: Vec<(&str, &Histogram)> = r.measurement.ops().map(|(op, s)| (op.name(), &s.latency)).collect();
    let responses = r.lag.as_ref().map(super::Lag::responses);
    lines.extend(responses.as_ref().map(|h| ("all, from arrival", h)));
    lines.extend(r.lag.as_ref().map(|lag| ("replay lag", &lag.distribution)));
    // The axis is logarithmic: what never takes time has no line.
    lines.retain(|(_, h)| h.max() > 0);
    out.charts.push(tail_chart(&lines));
}

/// The trace's name without its folders, which mean nothing on another machine.
pub(super) fn file_name(r: &Replayed) -> String {
    r.spec.trace.file_name()
}

pub(super) fn method(r: &Replayed) -> String {
    let it_was = r.begins.it_was();
    let drive = if r.spec.prefill {
        let and_rested =
            if r.rested > 0 { format!(", and rested for {}", format_duration(r.rested)) } else { String::new() };
        format!("{it_was}; it was written once in sequence, all of it{and_rested}.")
    } else if r.rested > 0 {
        format!("{} It rested for {}.", r.begins.unwritten(), format_duration(r.rested))
    } else {
        r.begins.unwritten().to_owned()
    };
    let when = match r.spec.speed {
        Speed::Times(1.0) => "at the recorded times".to_owned(),
        Speed::Times(factor) => format!("{factor} times as fast as recorded"),
        Speed::AsSoonAsPossible => "in order, as soon as there was room".to_owned(),
    };
    format!(
        "{drive} Then the {} requests of {} (format {}) were sent {when}, with at most {} in flight.",
        r.summary.requests,
        file_name(r),
        r.format,
        r.spec.queue_depth
    )
}

/// The parameter that tells traces of one name from each other.
pub const TRACE_DIGEST: &str = "trace_digest";

fn params(r: &Replayed) -> BTreeMap<String, serde_json::Value> {
    let placement = match r.spec.placement.fit {
        Fit::Wrap => "wrap",
        Fit::Scale => "scale",
    };
    let devices = match r.spec.placement.devices {
        Devices::SideBySide => "side-by-side",
        Devices::Folded => "folded",
    };
    [
        ("trace", json!(file_name(r))),
        (TRACE_DIGEST, json!(format!("{:016x}", r.summary.digest.value()))),
        ("format", json!(r.format.name())),
        ("speed", json!(r.spec.speed.to_string())),
        ("queue_depth", json!(r.spec.queue_depth)),
        ("placement", json!(placement)),
        ("devices", json!(devices)),
        ("prefill", json!(r.spec.prefill)),
        ("rest_seconds", json!(r.rested as f64 / 1e9)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

/// A trace that writes less than one part in so many of the drive says little of its write amplification.
const ENOUGH_WRITTEN: u64 = 10;

/// Stamps that lie whole multiples of so much apart are coarser than a drive is quick.
const COARSE: Nanos = MILLISECOND;
/// A replay that takes longer than the trace by more than one part in so many has fallen behind it.
const BEHIND: Nanos = 20;

/// Whether the replay was over about when the trace was.
pub(super) fn keeps_up(r: &Replayed) -> bool {
    let sent = r.spec.speed.scaled(r.summary.duration);
    r.measurement.elapsed() <= sent + sent / BEHIND
}

/// Where stamps make requests arrive together that a host may have sent one after the other.
fn bursts(r: &Replayed) -> Vec<String> {
    let (stamps, timed) = (&r.summary.stamps, r.lag.is_some());
    let mut notes = Vec::new();
    if stamps.backwards > 0 {
        let back = format_duration(stamps.farthest_back);
        let counted =
            format!("{} requests were stamped earlier than one before them, by up to {back}", stamps.backwards);
        notes.push(if timed {
            format!(
                "Adjusted: {counted}, and arrived together with the latest before them. {BURST}sort the trace by time."
            )
        } else {
            format!("{counted}; they were sent in the order of the file.")
        });
    }
    if timed && stamps.together > 0 && (stamps.grain == 0 || stamps.grain >= COARSE) {
        let stamped = match stamps.grain {
            0 => "All requests of the trace bear one time stamp".to_owned(),
            grain => format!(
                "The time stamps of the trace lie whole multiples of {} apart, and {} of its {} requests bear that of \
                 the one before them",
                format_duration(grain),
                stamps.together,
                r.summary.requests
            ),
        };
        notes.push(format!("{stamped}. {BURST}replay it without times (`asap`)."));
    }
    notes
}

/// What follows from it.
const BURST: &str = "Waits for a tag and latencies from arrival are then those of bursts that may never have been: ";

/// What was adjusted, and what the reader must know.
pub(super) fn notes(r: &Replayed) -> Vec<String> {
    let s = &r.summary;
    let mut notes: Vec<String> = stored_note(r.stored_days).into_iter().chain(bursts(r)).collect();
    notes.extend(r.placement.lines().into_iter().map(|line| format!("Adjusted: {line}.")));
    if s.unaligned > 0 {
        let requests = format!("{} requests of the trace do not begin and end on 4 KiB boundaries", s.unaligned);
        // A disk writes single sectors.
        notes.push(match s.unaligned_writes {
            writes if r.counters.flash.is_none() || writes == 0 => format!("{requests}."),
            all if all == s.unaligned => format!("{requests}; such writes make the drive read before it writes."),
            writes => format!("{requests}; the {writes} writes among them make the drive read before it writes."),
        });
    }
    if s.skipped > 0 {
        notes.push(format!("{} lines or records of the trace are no requests to a drive.", s.skipped));
    }
    if let Some(lag) = r.lag.as_ref().filter(|l| l.delayed > 0) {
        notes.push(format!(
            "Replay lag: {} of {} commands were sent later than they arrived, because all {} tags were taken; the \
             longest waited {}.{}",
            lag.delayed,
            r.placement.commands,
            r.spec.queue_depth,
            format_duration(lag.distribution.max()),
            if keeps_up(r) {
                String::new()
            } else {
                format!(
                    " The replay took {} where the trace sends for {}: the drive fell behind, and a host that waits for \
                     answers would have sent later.",
                    format_duration(r.measurement.elapsed()),
                    format_duration(r.spec.speed.scaled(s.duration))
                )
            }
        ));
    }
    if r.grew {
        notes.push(
            "The trace grew while it was replayed; what was added since the beginning was not replayed.".to_owned(),
        );
    }
    let written = r.counters.host.write_bytes;
    if r.counters.flash.is_some() && written > 0 && written < r.capacity_bytes / ENOUGH_WRITTEN {
        let share = share_written(written, r.capacity_bytes);
        notes.push(if r.spec.prefill || r.begins.may_hold_data() {
            format!(
                "The trace has written {share} of the drive. What the drive programs meanwhile of the data that lay there \
                 before counts in the write amplification, too; that of a steady state takes one to two drive writes."
            )
        } else {
            format!(
                "The trace has written {share} of the drive, and nothing lay there before. The write amplification is that \
                 of a drive with room to spare; that of a steady state takes one to two drive writes."
            )
        });
    }
    // Rounded up: what was read is never nothing.
    let amount = |bytes: u64| match bytes {
        b if b < 1_000_000 => format!("{} kB", b.div_ceil(1_000)),
        b => format!("{} MB", b.div_ceil(1_000_000)),
    };
    let unmapped = r.counters.flash.map_or(0, |f| f.unmapped_read_bytes);
    if unmapped > 0 {
        notes.push(format!(
            "Of what was read, {} are at addresses that held nothing, which the drive answers without flash.",
            amount(unmapped)
        ));
    }
    notes
}
