//! A replay for people.

use std::fmt::{self, Write as _};

use ssdlab_core::{CAUSES, Histogram, format_duration};

use super::{Replayed, outcome};
use crate::explain;
use crate::measure::OpStats;
use crate::suite::figures::tells;

/// How many of the slowest I/Os are told.
const SLOWEST: usize = 5;

pub(super) fn text(r: &Replayed) -> String {
    let mut out = String::new();
    write(&mut out, r).expect("a String takes all that is written to it");
    out
}

fn write(out: &mut String, r: &Replayed) -> fmt::Result {
    writeln!(out, "Replay of {} on {}\n{}\n", outcome::file_name(r), r.device, outcome::method(r))?;
    let s = &r.summary;
    writeln!(out, "  trace     {} requests in {}", s.requests, format_duration(s.duration))?;
    for (word, count, bytes) in [
        ("reads", s.reads, s.read_bytes),
        ("writes", s.writes, s.write_bytes),
        ("trims", s.trims, s.trim_bytes),
        ("flushes", s.flushes, 0),
    ] {
        if count > 0 {
            let share = count as f64 * 100.0 / s.requests as f64;
            writeln!(out, "  {word:<9} {count} ({share:.1} %), {:.1} MB", bytes as f64 / 1e6)?;
        }
    }
    let m = &r.measurement;
    writeln!(
        out,
        "  replayed  {} commands in {}: {:.0} IOPS, {:.1} MB/s{}",
        m.requests(),
        format_duration(m.elapsed()),
        m.iops(),
        m.mb_per_s(),
        // Sent at their times, they come no faster to a faster drive; one that falls behind has a rate of its own.
        if r.lag.is_some() && outcome::keeps_up(r) { ", as the trace sends them" } else { "" }
    )?;
    if let Some(lag) = r.lag.as_ref().filter(|l| l.delayed > 0) {
        let share = lag.delayed as f64 * 100.0 / m.requests().max(1) as f64;
        writeln!(out, "  delayed   {} commands ({share:.1} %), for want of a tag", lag.delayed)?;
    }
    if let Some(waf) = r.counters.waf() {
        let why =
            if waf < 1.0 { " (data that are not programmed yet, were overwritten before, or compressed)" } else { "" };
        writeln!(out, "  write amplification {waf:.3}{why}")?;
    }
    writeln!(
        out,
        "\n  {:<19} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "mean", "50 %", "90 %", "99 %", "99.9 %", "max"
    )?;
    // What the host's program saw comes first: from sending, a drive that falls behind looks as quick as ever.
    for (op, responses) in r.lag.iter().flat_map(|lag| &lag.response) {
        percentiles(out, &format!("{}, from arrival", op.name()), responses)?;
    }
    for (op, stats) in m.ops() {
        let word = if r.lag.is_some() { format!("{}, from sending", op.name()) } else { op.name().to_owned() };
        percentiles(out, &word, &stats.latency)?;
    }
    if let Some(lag) = &r.lag {
        percentiles(out, "replay lag", &lag.distribution)?;
    }
    writeln!(out, "\nWhere the time went (mean us):")?;
    for (op, stats) in m.ops() {
        shares(out, op.name(), stats)?;
    }
    writeln!(out, "\nThe slowest requests:")?;
    for io in explain::slowest(m).iter().take(SLOWEST) {
        writeln!(out, "  {} of {} bytes at {:.3} s, {}", io.op, io.length_bytes, io.at_s, io.sentence)?;
    }
    for table in explain::tail_tables("replay", m) {
        writeln!(out, "\n{}:", table.title)?;
        let rows: Vec<&Vec<String>> = std::iter::once(&table.columns).chain(&table.rows).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        for row in &rows {
            let [a, b, c] = [width(0), width(1), width(2)];
            writeln!(out, "  {:<a$}  {:<b$}  {:<c$}  {}", row[0], row[1], row[2], row[3])?;
        }
    }
    let notes = outcome::notes(r);
    if !notes.is_empty() {
        writeln!(out)?;
    }
    for note in notes {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

fn percentiles(out: &mut String, word: &str, h: &Histogram) -> fmt::Result {
    let mean = format_duration((h.mean() + 0.5) as u64);
    write!(out, "  {word:<19} {mean:>9}")?;
    for percent in [50.0, 90.0, 99.0, 99.9] {
        // Of too few commands it would be the slowest under another name.
        let text = if tells(h, percent) { format_duration(h.percentile(percent)) } else { "-".to_owned() };
        write!(out, " {text:>9}")?;
    }
    writeln!(out, " {:>9}", format_duration(h.max()))
}

fn shares(out: &mut String, word: &str, stats: &OpStats) -> fmt::Result {
    let count = stats.latency.count().max(1) as f64;
    let breakdown = stats.breakdown();
    let mut parts: Vec<(&str, f64)> =
        CAUSES.iter().map(|&c| (c.label(), breakdown.get(c) as f64 / 1e3 / count)).collect();
    // Largest first; equal ones in the order of the causes.
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let list: Vec<String> =
        parts.iter().filter(|p| p.1 >= 0.05).map(|(label, us)| format!("{label} {us:.1}")).collect();
    let sum = if list.is_empty() { String::new() } else { format!(" = {}", list.join(" + ")) };
    writeln!(out, "  {word}: {:.1}{sum}", stats.latency.mean() / 1e3)
}
