//! fio's normal layout, line by line as fio prints it, and at its end where the time went.

use std::fmt::{self, Write as _};

use ssdlab_core::MILLISECOND;

use super::number::{Unit, short};
use super::report::{Direction, FioReport, JobReport, Latency, Table, TimeShares, together};

/// Characters that fio spends on a number.
const DIGITS: usize = 4;
/// Slowest commands told for each entry.
const SLOWEST: usize = 3;

impl FioReport {
    /// fio's normal layout, and below it where the time went.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        write(&mut out, self).expect("a String takes all that is written to it");
        out
    }
}

fn write(out: &mut String, report: &FioReport) -> fmt::Result {
    for job in &report.jobs {
        header(out, job)?;
    }
    writeln!(out, "{}", report.version)?;
    let clones: u32 = report.jobs.iter().map(|j| j.header.clones).sum();
    writeln!(out, "Starting {clones} {}", if clones == 1 { "process" } else { "processes" })?;
    for job in &report.jobs {
        write_job(out, job, &report.ssdlab.device)?;
    }
    let mut groups: Vec<u32> = report.jobs.iter().map(|j| j.groupid).collect();
    groups.dedup();
    for group in groups {
        let members: Vec<&JobReport> = report.jobs.iter().filter(|j| j.groupid == group).collect();
        status(out, group, &members)?;
    }
    details(out, report)
}

fn header(out: &mut String, job: &JobReport) -> fmt::Result {
    let rw = job.options.get("rw").map_or("", String::as_str);
    let size = |n: u64| short(n, DIGITS, true, Unit::Bytes);
    let [reads, writes, trims] = job.header.blocks.map(|(min, max)| format!("{}-{}", size(min), size(max)));
    writeln!(
        out,
        "{}: (g={}): rw={}, bs=(R) {}, (W) {}, (T) {}, ioengine=ssdlab, iodepth={}",
        job.jobname, job.groupid, rw, reads, writes, trims, job.header.depth
    )?;
    if job.header.clones > 1 {
        writeln!(out, "...")?;
    }
    Ok(())
}

fn write_job(out: &mut String, job: &JobReport, device: &str) -> fmt::Result {
    let (name, group, clones) = (&job.jobname, job.groupid, job.header.clones);
    writeln!(out, "\n{name}: (groupid={group}, jobs={clones}): err= 0: pid=0: on {device}")?;
    for (word, direction) in job.directions() {
        if direction.total_ios > 0 {
            write_direction(out, word, direction)?;
        }
    }
    distribution(out, "nsec", &job.latency_ns)?;
    distribution(out, "usec", &job.latency_us)?;
    distribution(out, "msec", &job.latency_ms)?;
    if job.sync.total_ios > 0 {
        writeln!(out, "  fsync/fdatasync/sync_file_range:")?;
        latency(out, "sync", &job.sync.lat_ns)?;
        percentiles(out, "sync", &job.sync.lat_ns)?;
    }
    writeln!(out, "  cpu          : usr=0.00%, sys=0.00%, ctx=0, majf=0, minf=0")?;
    writeln!(out, "  IO depths    : {}", percents(&job.iodepth_level))?;
    writeln!(out, "     submit    : {}", percents(&job.iodepth_submit))?;
    writeln!(out, "     complete  : {}", percents(&job.iodepth_complete))?;
    writeln!(
        out,
        "     issued rwts: total={},{},{},{} short=0,0,0,0 dropped=0,0,0,0",
        job.header.ios[0], job.header.ios[1], job.header.ios[2], job.sync.total_ios
    )?;
    writeln!(
        out,
        "     latency   : target={}, window={}, percentile={:.2}%, depth={}",
        job.latency_target, job.latency_window, job.latency_percentile, job.latency_depth
    )?;
    let Some(steady) = &job.steadystate else { return Ok(()) };
    let (binary, decimal) = rate(steady.data.bw_mean as u64);
    writeln!(
        out,
        "  steadystate  : attained={}, bw={binary} ({decimal}), iops={}, {}={}",
        if steady.attained == 1 { "yes" } else { "no" },
        short(steady.data.iops_mean as u64, DIGITS, false, Unit::None),
        steady.of,
        steady.criterion
    )
}

fn rate(bytes: u64) -> (String, String) {
    (short(bytes, DIGITS, true, Unit::BytesPerSecond), short(bytes, DIGITS, false, Unit::BytesPerSecond))
}

fn write_direction(out: &mut String, word: &str, d: &Direction) -> fmt::Result {
    let (binary, decimal) = rate(d.bw_bytes);
    writeln!(
        out,
        "  {word}: IOPS={}, BW={binary} ({decimal})({}/{}msec)",
        short(d.iops as u64, DIGITS, false, Unit::None),
        short(d.io_bytes, DIGITS, true, Unit::Bytes),
        d.runtime
    )?;
    latency(out, "clat", &d.clat_ns)?;
    latency(out, " lat", &d.lat_ns)?;
    percentiles(out, "clat", &d.clat_ns)?;
    percentiles(out, "lat", &d.lat_ns)?;
    let mib = d.bw_mean > 1024.0 * 1024.0;
    let (unit, by) = if mib { ("MiB", 1024) } else { ("KiB", 1) };
    let by_f = f64::from(by as u32);
    writeln!(
        out,
        "   bw ({unit:>5}/s): min={:5}, max={:5}, per={:3.2}%, avg={:5.2}, stdev={:5.2}, samples={}",
        d.bw_min / by,
        d.bw_max / by,
        d.bw_agg,
        d.bw_mean / by_f,
        d.bw_dev / by_f,
        d.bw_samples
    )?;
    writeln!(
        out,
        "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
        d.iops_min, d.iops_max, d.iops_mean, d.iops_stddev, d.iops_samples
    )
}

/// fio's choice of unit: a coarser one if even the smallest value and the spread still show in it.
fn latency(out: &mut String, word: &str, l: &Latency) -> fmt::Result {
    let (by, unit) = match l {
        _ if l.min > 2_000_000 && l.max > 99_999_999 && l.stddev > 1e6 => (1_000_000, "msec"),
        _ if l.min > 2_000 && l.max > 99_999 && l.stddev > 1e3 => (1_000, "usec"),
        _ => (1, "nsec"),
    };
    let number = |v: u64| short(v / by, 6, false, Unit::None);
    let by_f = by as f64;
    writeln!(
        out,
        "    {word} ({unit}): min={}, max={}, avg={:5.2}, stdev={:5.2}",
        number(l.min),
        number(l.max),
        l.mean / by_f,
        l.stddev / by_f
    )
}

fn percentiles(out: &mut String, word: &str, l: &Latency) -> fmt::Result {
    let list = l.percentile.as_deref().unwrap_or_default();
    let (Some(first), Some(last)) = (list.first(), list.last()) else { return Ok(()) };
    let (by, unit) = match (first.1, last.1) {
        (min, max) if min > 2_000_000 && max > 99_999_999 => (1_000_000, "msec"),
        (min, max) if min > 2_000 && max > 99_999 => (1_000, "usec"),
        _ => (1, "nsec"),
    };
    writeln!(out, "    {word} percentiles ({unit}):")?;
    // Rounded up, as fio does.
    let width = last.1.div_ceil(by).to_string().len().max(5);
    // What fits into 80 columns.
    let per_line = (73 / (12 + width)).max(1);
    let lines: Vec<String> = list
        .chunks(per_line)
        .map(|line| {
            let cells = line.iter().map(|(p, v)| format!(" {p:5.2}th=[{:width$}]", v.div_ceil(by)));
            format!("     |{}", cells.collect::<Vec<_>>().join(","))
        })
        .collect();
    writeln!(out, "{}", lines.join(",\n"))
}

fn distribution(out: &mut String, unit: &str, table: &Table) -> fmt::Result {
    // What is there at all is at least 0.01 %, as in fio.
    let shown = table.0.iter().filter(|(_, share)| *share > 0.0);
    let cells: Vec<String> = shown.map(|(label, share)| format!("{label}={:3.2}%", share.max(0.01))).collect();
    for line in cells.chunks(5) {
        writeln!(out, "  lat ({unit})   : {}", line.join(", "))?;
    }
    Ok(())
}

fn percents(table: &Table) -> String {
    table.0.iter().map(|(label, share)| format!("{label}={share:3.1}%")).collect::<Vec<_>>().join(", ")
}

fn status(out: &mut String, group: u32, members: &[&JobReport]) -> fmt::Result {
    writeln!(out, "\nRun status group {group} (all jobs):")?;
    for (name, word) in [("mixed", "  MIXED"), ("read", "   READ"), ("write", "  WRITE"), ("trim", "   TRIM")] {
        let used: Vec<&Direction> = members
            .iter()
            .filter_map(|j| Some(j.directions().find(|d| d.0 == name)?.1))
            .filter(|d| d.total_ios > 0)
            .collect();
        let rates = || used.iter().map(|d| d.bw_bytes);
        let (Some(low), Some(high)) = (rates().min(), rates().max()) else { continue };
        let bytes: u64 = used.iter().map(|d| d.io_bytes).sum();
        let shortest = used.iter().map(|d| d.times.0).min().unwrap_or(0) / MILLISECOND;
        let longest = used.iter().map(|d| d.runtime).max().unwrap_or(0);
        let together = together(used.iter().copied());
        let [(all, all_si), (low, low_si), (high, high_si)] = [together, low, high].map(rate);
        writeln!(
            out,
            "{word}: bw={all} ({all_si}), {low}-{high} ({low_si}-{high_si}), io={} ({}), run={shortest}-{longest}msec",
            short(bytes, DIGITS, true, Unit::Bytes),
            short(bytes, DIGITS, false, Unit::Bytes),
        )?;
    }
    Ok(())
}

/// What fio cannot tell.
fn details(out: &mut String, report: &FioReport) -> fmt::Result {
    writeln!(out, "\nWhere the time went (mean us):")?;
    for job in &report.jobs {
        for (word, d) in job.directions() {
            times(out, &job.jobname, word, d.total_ios, d.clat_ns.mean, &d.ssdlab)?;
        }
        times(out, &job.jobname, "sync", job.sync.total_ios, job.sync.lat_ns.mean, &job.sync.ssdlab)?;
        for io in job.ssdlab.slowest.iter().take(SLOWEST) {
            writeln!(out, "  {}: slowest: {} at {:.3} s, {}", job.jobname, io.op, io.at_s, io.sentence)?;
        }
    }
    if let Some(waf) = report.ssdlab.waf {
        writeln!(out, "Write amplification: {waf:.3}")?;
    }
    let it_was = report.ssdlab.begins.it_was();
    match report.ssdlab.prefilled_bytes {
        0 => writeln!(out, "{it_was} when the first job began."),
        n => writeln!(
            out,
            "{it_was}; before the first job, {} were written in sequence.",
            short(n, DIGITS, false, Unit::Bytes)
        ),
    }?;
    report.ssdlab.stored.iter().try_for_each(|stored| writeln!(out, "{stored}"))
}

fn times(out: &mut String, job: &str, word: &str, ios: u64, mean_ns: f64, shares: &TimeShares) -> fmt::Result {
    if ios == 0 {
        return Ok(());
    }
    // Largest first; equal ones by name.
    let mut parts: Vec<(&String, f64)> = shares.time_us.iter().map(|(k, &v)| (k, v)).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let list: Vec<String> = parts.iter().filter(|p| p.1 >= 0.05).map(|(key, us)| format!("{key} {us:.1}")).collect();
    let where_it_went = match (parts.is_empty() && mean_ns > 0.0, list.is_empty()) {
        (true, _) => ", of which the device does not say where it went".to_owned(),
        (false, true) => String::new(),
        (false, false) => format!(" = {}", list.join(" + ")),
    };
    writeln!(out, "  {job}: {word}: {:.1}{where_it_went}", mean_ns / 1e3)
}
