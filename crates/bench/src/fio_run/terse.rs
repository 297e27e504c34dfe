//! fio's terse layout, version 3: one line for each entry, fields separated by semicolons.

use std::fmt::{self, Write as _};

use super::report::{Direction, FioReport, JobReport, Latency, Table};

/// Percentiles of a line; where there are fewer, the rest is empty.
const PERCENTILES: usize = 20;

impl FioReport {
    /// fio's terse layout, version 3.
    #[must_use]
    pub fn to_terse(&self) -> String {
        let mut out = String::new();
        for job in &self.jobs {
            line(&mut out, &self.version, job).expect("a String takes all that is written to it");
        }
        out
    }
}

fn line(out: &mut String, version: &str, job: &JobReport) -> fmt::Result {
    let plain = |text: &str| text.replace([';', '\n'], "_");
    write!(out, "3;{version};{};{};{}", plain(&job.jobname), job.groupid, job.error)?;
    // Of directions that are told together there is one block, behind those of reads and writes if these are told as well.
    let nothing = Direction::default();
    if job.mixed.is_none() || job.read.is_some() {
        direction(out, job.read.as_ref().unwrap_or(&nothing))?;
        direction(out, job.write.as_ref().unwrap_or(&nothing))?;
    }
    if let Some(mixed) = &job.mixed {
        direction(out, mixed)?;
    }
    write!(out, ";{:.6}%;{:.6}%;{};{};{}", job.usr_cpu, job.sys_cpu, job.ctx, job.majf, job.minf)?;
    shares(out, &job.iodepth_level, 1)?;
    shares(out, &with_all_below(&job.latency_us, &job.latency_ns), 2)?;
    shares(out, &job.latency_ms, 2)?;
    if let Some(description) = job.options.get("description") {
        write!(out, ";{}", plain(description))?;
    }
    writeln!(out)
}

fn direction(out: &mut String, d: &Direction) -> fmt::Result {
    write!(out, ";{};{};{};{}", d.io_kbytes, d.bw, d.iops as u64, d.runtime)?;
    latency(out, &d.slat_ns)?;
    latency(out, &d.clat_ns)?;
    let list = d.lat_ns.percentile.as_ref().or(d.clat_ns.percentile.as_ref()).map_or(&[][..], Vec::as_slice);
    for i in 0..PERCENTILES {
        match list.get(i) {
            Some((percent, value)) => write!(out, ";{percent:.6}%={}", value / 1000)?,
            None => out.push_str(";0%=0"),
        }
    }
    latency(out, &d.lat_ns)?;
    write!(out, ";{};{};{:.6}%;{:.6};{:.6}", d.bw_min, d.bw_max, d.bw_agg, d.bw_mean, d.bw_dev)
}

/// In microseconds.
fn latency(out: &mut String, l: &Latency) -> fmt::Result {
    write!(out, ";{};{};{:.6};{:.6}", l.min / 1000, l.max / 1000, l.mean / 1e3, l.stddev / 1e3)
}

/// The first bin takes in what is faster: the layout has no bins for that.
fn with_all_below(table: &Table, below: &Table) -> Table {
    let mut all = table.clone();
    if let Some(first) = all.0.first_mut() {
        first.1 += below.0.iter().map(|bin| bin.1).sum::<f64>();
    }
    all
}

fn shares(out: &mut String, table: &Table, decimals: usize) -> fmt::Result {
    table.0.iter().try_for_each(|(_, share)| write!(out, ";{share:.decimals$}%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_faster_than_a_microsecond_stands_in_the_first_bin() {
        let table = |bins: &[(&str, f64)]| Table(bins.iter().map(|(l, s)| ((*l).to_owned(), *s)).collect());
        let us = table(&[("2", 1.0), ("4", 60.0)]);
        let all = with_all_below(&us, &table(&[("500", 30.0), ("1000", 9.0)]));
        assert_eq!(all, table(&[("2", 40.0), ("4", 60.0)]));
        let mut out = String::new();
        shares(&mut out, &all, 2).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(out, ";40.00%;60.00%");
    }
}
