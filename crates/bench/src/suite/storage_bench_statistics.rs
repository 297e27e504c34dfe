//! What was published about a trace beside what the stand-in has.

use ssdlab_core::format_duration;
use ssdlab_workload::storage_bench::{DEPTH_BINS, Published, SIZE_BINS, Statistics, Trace};

use super::figures::put;
use crate::host::Playback;
use crate::outcome::{Outcome, Table};

const NOT_PUBLISHED: &str = "not found";

pub(super) fn put_statistics(out: &mut Outcome, s: &Statistics) {
    put(out, "trace_reads", s.reads as f64, "count");
    put(out, "trace_writes", s.writes as f64, "count");
    put(out, "trace_read_gb", s.read_bytes as f64 / 1e9, "GB");
    put(out, "trace_written_gb", s.written_bytes as f64 / 1e9, "GB");
    put(out, "trace_sequential", s.percent(s.sequential), "%");
    put(out, "trace_depth_mean", s.mean_depth(), "count");
}

/// The table "published / stand-in", in the publication's own bins.
pub(super) fn statistics_table(trace: Trace, s: &Statistics, playback: &Playback) -> Table {
    let p = trace.published();
    let share = s.requests() as f64 / p.requests() as f64;
    let mut rows = vec![
        row("requests", &grouped(p.requests()), &grouped(s.requests()), ""),
        row("reads", &grouped(p.reads), &grouped(s.reads), ""),
        row("writes", &grouped(p.writes), &grouped(s.writes), ""),
        row("read", &gb(p.read_bytes), &gb(s.read_bytes), ""),
        row("written", &gb(p.written_bytes), &gb(s.written_bytes), ""),
        row("sequential requests", &percent(p.sequential_percent, 0), &percent(s.percent(s.sequential), 1), ""),
        row("mean queue depth", &mean_depth(p), &decimals(s.mean_depth(), 2), &decimals(reached_mean(playback), 2)),
    ];
    for (i, bin) in SIZE_BINS.iter().enumerate() {
        let published = p.size_percent.map_or(NOT_PUBLISHED.to_owned(), |bins| percent(bins[i], 1));
        rows.push(row(&format!("size: {bin}"), &published, &percent(s.percent(s.sizes[i]), 1), ""));
    }
    for (i, bin) in DEPTH_BINS.iter().enumerate() {
        let published = p.depth_percent.map_or(NOT_PUBLISHED.to_owned(), |bins| percent(bins[i], 1));
        let reached = s.percent(playback.depths[i]);
        let ours = percent(s.percent(s.depths[i]), 1);
        rows.push(row(&format!("queue depth: {bin}"), &published, &ours, &percent(reached, 1)));
    }
    rows.push(row("longest pause", "25 ms (stated from 2017 on)", &format_duration(s.pause_longest), ""));
    rows.push(row("pauses together", NOT_PUBLISHED, &format_duration(s.pause_total), ""));
    let mut caption =
        "The stand-in's figures were counted from the requests as they were played. “In playback” is the \
                       depth that requests really met. Where nothing was found, the stand-in's figure is an estimate. \
                       Gigabytes are taken as decimal."
            .to_owned();
    if s.requests() != p.requests() {
        caption.push_str(&format!(" This run is shortened to {} of the trace.", percent(100.0 * share, 3)));
    }
    Table {
        title: format!("{}: published figures and the stand-in's", p.name),
        caption,
        columns: ["", "published", "stand-in", "in playback"].map(str::to_owned).to_vec(),
        rows,
    }
}

fn row(name: &str, published: &str, ours: &str, reached: &str) -> Vec<String> {
    [name, published, ours, reached].map(str::to_owned).to_vec()
}

fn reached_mean(playback: &Playback) -> f64 {
    playback.depth_sum as f64 / playback.run.requests.max(1) as f64
}

fn mean_depth(p: &Published) -> String {
    p.mean_depth.map_or("4.6 (contradicts its bins)".to_owned(), |mean| decimals(mean, 1))
}

fn gb(bytes: u64) -> String {
    format!("{} GB", decimals(bytes as f64 / 1e9, 2))
}

fn percent(value: f64, digits: usize) -> String {
    format!("{} %", decimals(value, digits))
}

fn decimals(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}

/// `49,810,000`.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1_000, 49_810_000].map(grouped), ["0", "999", "1,000", "49,810,000"]);
    }
}
