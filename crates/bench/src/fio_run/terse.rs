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
    let nothing = Direction::default();
    let (read, write) = match &job.mixed {
        Some(mixed) if job.read.is_none() => (mixed, &nothing),
        _ => (job.read.as_ref().unwrap_or(&nothing), job.write.as_ref().unwrap_or(&nothing)),
    };
    direction(out, read)?;
    direction(out, write)?;
    write!(out, ";{:.6}%;{:.6}%;{};{};{}", job.usr_cpu, job.sys_cpu, job.ctx, job.majf, job.minf)?;
    shares(out, &job.iodepth_level, 1)?;
    shares(out, &job.latency_us, 2)?;
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
    let list = d.clat_ns.percentile.as_deref().unwrap_or_default();
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

fn shares(out: &mut String, table: &Table, decimals: usize) -> fmt::Result {
    table.0.iter().try_for_each(|(_, share)| write!(out, ";{share:.decimals$}%"))
}
