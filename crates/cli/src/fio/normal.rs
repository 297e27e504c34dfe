//! fio's normal layout, as people know it.

use std::fmt::Write as _;

use ssdlab_core::Histogram;

use super::FIO_VERSION;
use super::report::{DIRECTIONS, JobReport, MS_BINS, NS_BINS, PERCENTILES, Spread, US_BINS, latency_bins};

/// The report of all jobs, then the status of each group.
pub fn normal(reports: &[JobReport]) -> String {
    let mut out = format!("{FIO_VERSION} (ssdlab {})\n", env!("CARGO_PKG_VERSION"));
    for report in reports {
        // Writing to a String cannot fail.
        let _ = job(&mut out, report);
    }
    let mut groups: Vec<u32> = reports.iter().map(|r| r.group).collect();
    groups.dedup();
    for group in groups {
        let members: Vec<&JobReport> = reports.iter().filter(|r| r.group == group).collect();
        let _ = status(&mut out, group, &members);
    }
    out
}

fn job(out: &mut String, report: &JobReport) -> std::fmt::Result {
    writeln!(out, "\n{}: (groupid={}, jobs={}): err= 0:", report.name, report.group, report.members)?;
    for (index, (op, name)) in DIRECTIONS.iter().enumerate() {
        let stats = report.stats(*op);
        if stats.latency.count() == 0 {
            continue;
        }
        let seconds = report.seconds();
        let rate = stats.bytes as f64 / seconds;
        writeln!(
            out,
            "  {name:>5}: IOPS={}, BW={} ({})({}/{}msec)",
            si(stats.latency.count() as f64 / seconds),
            binary_rate(rate),
            decimal_rate(rate),
            binary(stats.bytes as f64),
            report.runtime_ms()
        )?;
        latency(out, "clat", &stats.latency)?;
        latency(out, " lat", &stats.latency)?;
        percentiles(out, &stats.latency)?;
        let samples = &report.samples[index];
        let bw = Spread::of(&samples.iter().map(|s| s.bytes as f64 / 1024.0).collect::<Vec<_>>());
        let iops = Spread::of(&samples.iter().map(|s| s.requests as f64).collect::<Vec<_>>());
        writeln!(
            out,
            "   bw (  KiB/s): min={:.0}, max={:.0}, per=100.00%, avg={:.2}, stdev={:.2}, samples={}",
            bw.min, bw.max, bw.mean, bw.stddev, bw.samples
        )?;
        writeln!(
            out,
            "   iops        : min={:.0}, max={:.0}, avg={:.2}, stdev={:.2}, samples={}",
            iops.min, iops.max, iops.mean, iops.stddev, iops.samples
        )?;
    }
    let all = report.all.latency();
    for (unit, name, limits, floor) in [
        (1, "nsec", &NS_BINS[..], 0),
        (1_000, "usec", &US_BINS[..], 1_000),
        (1_000_000, "msec", &MS_BINS[..], 1_000_000),
    ] {
        let shares: Vec<String> = latency_bins(&all, unit, limits, floor)
            .into_iter()
            .filter(|(_, share)| *share >= 0.005)
            .map(|(limit, share)| format!("{limit}={share:.2}%"))
            .collect();
        if !shares.is_empty() {
            writeln!(out, "  lat ({name})   : {}", shares.join(", "))?;
        }
    }
    let total = |i: usize| report.stats(DIRECTIONS[i].0).latency.count();
    let flushes = report.stats(ssdlab_core::Op::Flush).latency.count();
    writeln!(
        out,
        "     issued rwts: total={},{},{},{flushes} short=0,0,0,0 dropped=0,0,0,0",
        total(0),
        total(1),
        total(2)
    )?;
    writeln!(out, "     latency   : target=0, window=0, percentile=100.00%, depth={}", report.queue_depth)
}

fn latency(out: &mut String, name: &str, h: &Histogram) -> std::fmt::Result {
    let (unit, word) = unit_of(h.min().max(1), h.mean());
    let scaled = |v: f64| v / unit;
    writeln!(
        out,
        "    {name} ({word}): min={:.0}, max={:.0}, avg={:.2}, stdev={:.2}",
        scaled(h.min() as f64),
        scaled(h.max() as f64),
        scaled(h.mean()),
        scaled(h.stddev())
    )
}

/// fio's rule: a coarser unit as soon as the smallest value still shows in it.
fn unit_of(min: u64, mean: f64) -> (f64, &'static str) {
    if min > 2_000_000 && mean > 99_999_000.0 {
        (1e6, "msec")
    } else if min > 2_000 && mean > 99_999.0 {
        (1e3, "usec")
    } else {
        (1.0, "nsec")
    }
}

fn percentiles(out: &mut String, h: &Histogram) -> std::fmt::Result {
    let (unit, word) = unit_of(h.min().max(1), h.mean());
    writeln!(out, "    clat percentiles ({word}):")?;
    let values: Vec<String> = PERCENTILES.iter().map(|&p| format!("{:.0}", h.percentile(p) as f64 / unit)).collect();
    let width = values.iter().map(String::len).max().unwrap_or(0).max(5);
    let cells: Vec<String> =
        PERCENTILES.iter().zip(&values).map(|(p, v)| format!("{p:>5.2}th=[{v:>width$}]")).collect();
    let rows = cells.chunks(4).count();
    for (i, row) in cells.chunks(4).enumerate() {
        writeln!(out, "     | {}{}", row.join(", "), if i + 1 == rows { "" } else { "," })?;
    }
    Ok(())
}

fn status(out: &mut String, group: u32, members: &[&JobReport]) -> std::fmt::Result {
    writeln!(out, "\nRun status group {group} (all jobs):")?;
    for (op, name) in DIRECTIONS {
        let used: Vec<&&JobReport> = members.iter().filter(|r| r.stats(op).latency.count() > 0).collect();
        if used.is_empty() {
            continue;
        }
        let rates: Vec<f64> = used.iter().map(|r| r.stats(op).bytes as f64 / r.seconds()).collect();
        let bytes: u64 = used.iter().map(|r| r.stats(op).bytes).sum();
        let (shortest, longest) = (
            used.iter().map(|r| r.runtime.0 / 1_000_000).min().unwrap_or(0),
            used.iter().map(|r| r.runtime_ms()).max().unwrap_or(0),
        );
        let total = bytes as f64 * 1e3 / longest.max(1) as f64;
        let (low, high) =
            (rates.iter().copied().fold(f64::INFINITY, f64::min), rates.iter().copied().fold(0.0, f64::max));
        writeln!(
            out,
            "  {:>5}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={shortest}-{longest}msec",
            name.to_uppercase(),
            binary_rate(total),
            decimal_rate(total),
            binary_rate(low),
            binary_rate(high),
            decimal_rate(low),
            decimal_rate(high),
            binary(bytes as f64),
            decimal(bytes as f64),
        )?;
    }
    Ok(())
}

/// Three significant digits with a prefix.
fn scaled(value: f64, base: f64, prefixes: &[&str]) -> String {
    let mut value = value;
    let mut index = 0;
    while value >= base && index + 1 < prefixes.len() {
        value /= base;
        index += 1;
    }
    let digits = match value {
        v if v >= 100.0 || index == 0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{}", prefixes[index])
}

fn si(value: f64) -> String {
    if value < 10_000.0 { format!("{value:.0}") } else { scaled(value, 1000.0, &["", "k", "M", "G"]) }
}

fn binary(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

fn decimal(bytes: f64) -> String {
    scaled(bytes, 1000.0, &["B", "kB", "MB", "GB", "TB"])
}

fn binary_rate(bytes: f64) -> String {
    binary(bytes) + "/s"
}

fn decimal_rate(bytes: f64) -> String {
    decimal(bytes) + "/s"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_fio_prints_them() {
        assert_eq!(si(9_999.0), "9999");
        assert_eq!(si(75_900.0), "75.9k");
        assert_eq!(binary_rate(310_900_000.0), "296MiB/s");
        assert_eq!(decimal_rate(310_900_000.0), "311MB/s");
        assert_eq!(binary(1_073_741_824.0), "1.00GiB");
        assert_eq!(decimal(512.0), "512B");
    }
}
