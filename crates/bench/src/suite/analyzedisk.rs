//! `analyzedisk`: the service time test of Intel's IPEAK AnalyzeDisk, a distribution of single-sector accesses.

use ssdlab_core::{MICROSECOND, Op};
use ssdlab_workload::{Mix, Pattern};

use super::common::{build, fill_drive, gigabytes};
use super::context::Context;
use super::definition::{AS_IT_IS, TestDef, integer, metric};
use super::figures::{chart, percentile_chart, put_causes, put_counters, put_latencies, series};
use crate::error::BenchError;
use crate::measure::{Measurement, ServiceTimes};
use crate::outcome::{Axis, Mark, Outcome};

/// The chart covers this share of the requests, in per cent, so that a few slow ones do not squeeze the others.
const DRAWN_PERCENT: f64 = 99.5;

pub(super) const DEF: TestDef = TestDef {
    name: "analyzedisk",
    title: "AnalyzeDisk service time",
    summary: "25,000 random single-sector reads over the whole of a full drive, then as many writes, one at a time: the \
              distribution of service times.",
    params: &[
        integer("requests", "25000", "", 1, 10_000_000, "number of reads, and of writes"),
        integer("bin_us", "5", "us", 1, 1_000_000, "width of the distribution's bins. Not published"),
    ],
    metrics: &[
        metric("latency_mean_read", "us", "mean service time of reads; likewise latency_p50_read … latency_max_read"),
        metric(
            "latency_mean_write",
            "us",
            "mean service time of writes, with the write cache as the drive has it; likewise latency_p50_write … latency_max_write",
        ),
    ],
    variants: AS_IT_IS,
    weight: 6.0,
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let requests = ctx.params.integer("requests");
    let (runs, counters, capacity) = ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        ctx.monitor().step(0.0, 0.8);
        fill_drive(host)?;
        ctx.settle(host)?;
        let before = host.counters();
        let mut runs = Vec::new();
        for (i, (op, mix)) in [(Op::Read, Mix::Read), (Op::Write, Mix::Write)].into_iter().enumerate() {
            ctx.monitor().step(0.8 + 0.1 * i as f64, (0.9 + 0.1 * i as f64).min(1.0));
            let source = build(ctx, &Pattern::random(mix, capacity, 512), if i == 0 { "reads" } else { "writes" })?;
            let mut meters = (ServiceTimes::default(), Measurement::default());
            host.run(&mut [ctx.job(source, 1).for_requests(requests)], &mut meters)?;
            meters.1.check_causes().map_err(BenchError::Books)?;
            runs.push((op, meters));
        }
        Ok((runs, host.counters().since(&before), capacity))
    })?;
    let method = format!(
        "The drive ({} GB) was filled in sequence. Then {requests} reads of one sector at random addresses, and \
         {requests} writes, one at a time.",
        gigabytes(capacity)
    );
    let mut out = ctx.outcome("", method);
    let bin = ctx.params.integer("bin_us") * MICROSECOND;
    let mut lines = Vec::new();
    let mut histograms = Vec::new();
    let mut elapsed = 0;
    for (op, (times, m)) in &runs {
        let name = op.name();
        put_latencies(&mut out, &m.latency(), &format!("_{name}"));
        put_causes(&mut out, &format!("single-sector {name}"), m);
        lines.push(series(name, times.density(bin, DRAWN_PERCENT)));
        histograms.push((name, m.latency()));
        elapsed += m.elapsed();
    }
    put_counters(&mut out, &counters, elapsed);
    out.charts.push(chart(
        "service-time-density",
        "Distribution of service times",
        "Probability density: the area under a line between two times is the share of requests between them.",
        Mark::Line,
        Axis { min: Some(0.0), ..Axis::linear("service time", "us") },
        Axis { min: Some(0.0), ..Axis::linear("probability density", "1/us") },
        lines,
    ));
    let lines: Vec<_> = histograms.iter().map(|(n, h)| (*n, h)).collect();
    out.charts.push(percentile_chart(&lines));
    Ok(out)
}
