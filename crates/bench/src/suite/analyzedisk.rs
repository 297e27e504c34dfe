//! `analyzedisk`: the service time test of Intel's IPEAK AnalyzeDisk, a distribution of single-sector accesses.

use ssdlab_core::{MICROSECOND, MILLISECOND, Nanos, Op, SECTOR_BYTES};
use ssdlab_workload::{Mix, Pattern};

use super::common::{build, fill_drive, gigabytes, note_if_few};
use super::context::Context;
use super::definition::{PLAIN, TestDef, integer, metric};
use super::figures::{chart, put, put_causes_of_run, put_counters, put_latencies, series};
use super::stalls::{put_stalls, show_stalls};
use super::tail::tail_chart;
use crate::error::BenchError;
use crate::host::{Host, Job, SlowestSeen};
use crate::measure::{Measurement, ServiceTimes, Stalls};
use crate::outcome::{Axis, Mark, Outcome, Series};

/// Points of a line of the linear distribution, at most.
const MOST_BINS: u64 = 2_000;
const BINS_PER_DECADE: u32 = 25;
/// After the writes the drive is asked for a sector this often …
const PROBE_INTERVAL: Nanos = 100 * MILLISECOND;
/// … until so many reads in a row were as fast as this share of the reads before the writes, in per cent.
const USUAL_READS: u32 = 10;
const USUAL_PERCENT: f64 = 99.0;
/// The chart covers this share of the requests, in per cent, so that a few slow ones do not squeeze the others.
const DRAWN_PERCENT: f64 = 99.5;
/// A line that another is so many times as high as lies on the axis: of a chart it has the height of three pixels.
const MOST_TIMES_HIGHER: f64 = 100.0;

pub(super) const DEF: TestDef = TestDef {
    name: "analyzedisk",
    title: "AnalyzeDisk service time",
    summary: "25,000 random single-sector reads over the whole of a full drive, then as many buffered writes, one at a \
              time: the distribution of service times, and how long the drive stays busy afterwards.",
    params: &[
        integer("requests", "25000", "", 1, 10_000_000, "number of reads, and of writes"),
        integer(
            "bin_us",
            "5",
            "us",
            1,
            1_000_000,
            "width of the linear distribution's bins; wider where the drive is so slow that there would be more than \
             2,000. Not published",
        )
        .beside_method(),
        integer(
            "flush_limit_seconds",
            "3600",
            "s",
            1,
            1_000_000,
            "how long the drive is watched after the writes, at most",
        )
        .beside_method(),
    ],
    metrics: &[
        metric("latency_mean_read", "us", "mean service time of reads").likewise(&[
            "latency_p50_read",
            "latency_p90_read",
            "latency_p99_read",
            "latency_p99_9_read",
            "latency_p99_99_read",
            "latency_max_read",
        ]),
        metric("latency_mean_write", "us", "mean service time of writes, with the write cache as the drive has it")
            .likewise(&[
                "latency_p50_write",
                "latency_p90_write",
                "latency_p99_write",
                "latency_p99_9_write",
                "latency_p99_99_write",
                "latency_max_write",
            ]),
        metric(
            "flush_seconds",
            "s",
            "time after the last write until the drive is at rest, or serves ten reads in a row, one every 0.1 s, as \
             fast as the slowest of a hundred before the writes: what it still writes back holds the reads up no more",
        )
        .lower(),
    ],
    weight: 6.0,
    sends_single_sectors: true,
    ..PLAIN
};

/// The reads, or the writes.
struct Run {
    op: Op,
    times: ServiceTimes,
    measurement: Measurement,
    stalls: Stalls,
    slowest_seen: Option<SlowestSeen>,
}

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    ctx.shrink_requests("requests");
    let requests = ctx.params.integer("requests");
    let (runs, counters, flush, capacity) = ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        ctx.monitor().step(0.0, 0.8);
        fill_drive(host)?;
        ctx.settle(host)?;
        let before = host.counters();
        let mut runs = Vec::new();
        for (i, (op, mix)) in [(Op::Read, Mix::Read), (Op::Write, Mix::Write)].into_iter().enumerate() {
            ctx.monitor().step(0.8 + 0.1 * i as f64, (0.9 + 0.1 * i as f64).min(1.0));
            let source =
                build(ctx, &Pattern::random(mix, capacity, SECTOR_BYTES), if i == 0 { "reads" } else { "writes" })?;
            let mut meters = (ServiceTimes::default(), (Measurement::default(), Stalls::default()));
            host.watch_slowest();
            host.run(&mut [ctx.job(source, 1).for_requests(requests)], &mut meters)?;
            let slowest_seen = host.slowest_seen();
            let (times, (measurement, stalls)) = meters;
            measurement.check_causes().map_err(BenchError::Books)?;
            runs.push(Run { op, times, measurement, stalls, slowest_seen });
        }
        let counters = host.counters().since(&before);
        let flush = until_calm(ctx, host, &runs[0].measurement)?;
        Ok((runs, counters, flush, capacity))
    })?;
    let method = format!(
        "The drive ({} GB) was filled in sequence. Then {requests} reads of one sector at random addresses, and \
         {requests} writes, one at a time.",
        gigabytes(capacity)
    );
    let mut out = ctx.outcome("", method);
    let bin = ctx.params.integer("bin_us") * MICROSECOND;
    let (mut lines, mut log_lines) = (Vec::new(), Vec::new());
    let mut histograms = Vec::new();
    let mut elapsed = 0;
    for Run { op, times, measurement: m, stalls, .. } in &runs {
        let name = op.name();
        put_latencies(&mut out, &m.latency(), &format!("_{name}"));
        put_stalls(&mut out, stalls, &format!("_{name}"));
        put_causes_of_run(&mut out, &format!("single-sector {name}"), m);
        let covered = times.percentile(DRAWN_PERCENT);
        lines.push(series(name, times.density(bin.max(covered / MOST_BINS), DRAWN_PERCENT)));
        log_lines.push(series(name, times.density_by_decade(BINS_PER_DECADE)));
        histograms.push((name, m.latency()));
        elapsed += m.elapsed();
    }
    put_counters(&mut out, &counters, elapsed);
    match flush {
        Some(time) => put(&mut out, "flush_seconds", time as f64 / 1e9, "s"),
        None => out.notes.push(format!(
            "After the writes, the drive did not come to rest and held reads up for as long as it was watched ({} s).",
            ctx.params.integer("flush_limit_seconds")
        )),
    }
    note_if_few(requests, &mut out.notes);
    match hidden(&lines) {
        Some(why) => out.notes.push(why),
        None => out.charts.push(chart(
            "service-time-density",
            "Distribution of service times",
            "Probability density: the area under a line between two times is the share of requests between them.",
            Mark::Line,
            Axis { min: Some(0.0), ..Axis::linear("service time", "us") },
            Axis { min: Some(0.0), ..Axis::linear("probability density", "1/us") },
            lines,
        )),
    }
    out.charts.push(chart(
        "service-time-density-log",
        "Distribution of service times, over all orders of magnitude",
        "Probability density over the logarithm of time: the area under a line between two times is the share of \
         requests between them, with 1 for all of them in one decade.",
        Mark::Line,
        Axis::log("service time", "us"),
        Axis { min: Some(0.0), ..Axis::linear("probability density", "1/decade") },
        log_lines,
    ));
    let lines: Vec<_> = histograms.iter().map(|(n, h)| (*n, h)).collect();
    out.charts.push(tail_chart(&lines));
    show_stalls(&mut out, &runs[1].stalls, "Single-sector writes");
    out.slowest_seen = slowest_of_all(runs.into_iter().filter_map(|run| run.slowest_seen)).map(Box::new);
    Ok(out)
}

/// Why a linear axis cannot show these lines together, if it cannot.
fn hidden(lines: &[Series]) -> Option<String> {
    let mut peaks: Vec<(&str, f64)> =
        lines.iter().map(|line| (line.name.as_str(), line.points.iter().map(|p| p[1]).fold(0.0, f64::max))).collect();
    peaks.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(hidden, low), .., (higher, high)] = peaks[..] else { return None };
    (low < high / MOST_TIMES_HIGHER).then(|| {
        format!(
            "The distribution of service times over a linear axis is left out: the line of {higher}s would be {:.0} times as high as \
             that of {hidden}s, which would lie on the axis. That over all orders of magnitude has both.",
            high / low
        )
    })
}

/// Of the slowest of each run, the slowest; of equal ones the last.
fn slowest_of_all(seen: impl Iterator<Item = SlowestSeen>) -> Option<SlowestSeen> {
    seen.max_by_key(|seen| seen.slower.unwrap_or_else(|| seen.request.latency()))
}

/// Time until the drive is at rest or serves reads as it did before the writes; `None` if it does not within the limit.
fn until_calm(ctx: &Context<'_>, host: &mut Host<'_>, reads: &Measurement) -> Result<Option<Nanos>, BenchError> {
    let capacity = host.info().capacity_bytes;
    let usual = reads.op(Op::Read).latency.percentile(USUAL_PERCENT);
    let written = host.now();
    let limit = written + ctx.nanos("flush_limit_seconds");
    let mut probes = build(ctx, &Pattern::random(Mix::Read, capacity, SECTOR_BYTES), "probes")?;
    // When the present row of usual reads began, and how many there are.
    let (mut since, mut usual_reads) = (written, 0);
    loop {
        // Nobody sees whether a real drive is at rest.
        if host.device().clock().is_none() && host.device().next_event().is_none() {
            return Ok(Some(since - written));
        }
        let sent = host.now();
        let mut meter = Measurement::default();
        host.run(&mut [Job::new(&mut probes, 1).for_requests(1)], &mut meter)?;
        if meter.latency().max() <= usual {
            usual_reads += 1;
        } else {
            (since, usual_reads) = (host.now(), 0);
        }
        if usual_reads == USUAL_READS {
            return Ok(Some(since - written));
        }
        if host.now() >= limit {
            return Ok(None);
        }
        host.idle((sent + PROBE_INTERVAL).saturating_sub(host.now()))?;
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Breakdown;
    use ssdlab_device::{Completion, Status, Timeline};

    use super::*;

    /// A page says "its slowest request" of it.
    #[test]
    fn the_timeline_is_of_the_slowest_of_reads_and_writes() {
        let seen = |op, latency: Nanos, slower| {
            let (status, breakdown) = (Status::Ok, Breakdown::default());
            let (submitted, completed): (Nanos, Nanos) = (100, 100 + latency);
            let request =
                Completion { tag: 1, op, status, offset_bytes: 0, length_bytes: 512, submitted, completed, breakdown };
            SlowestSeen { request, from: 0, timeline: Timeline::default(), slower, starting: 0 }
        };
        let shown = |of: [SlowestSeen; 2]| slowest_of_all(of.into_iter()).map(|seen| seen.request.op);
        assert_eq!(shown([seen(Op::Read, 90, None), seen(Op::Write, 50, None)]), Some(Op::Read));
        assert_eq!(shown([seen(Op::Read, 50, None), seen(Op::Write, 90, None)]), Some(Op::Write));
        // It stands for one that is slower than both.
        assert_eq!(shown([seen(Op::Read, 90, None), seen(Op::Write, 89, Some(91))]), Some(Op::Write));
        assert_eq!(slowest_of_all(std::iter::empty()), None);
    }
}
