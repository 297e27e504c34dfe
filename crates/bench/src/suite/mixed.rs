//! The two mixed tests share this: six mixes of reads and writes on a full drive.

use ssdlab_device::Counters;
use ssdlab_workload::{Mix, Pattern};

use super::common::{Timed, amount, build, fill_drive, fit_span, size, timed};
use super::context::Context;
use super::definition::{MetricDef, metric};
use super::figures::{
    by_category, categories, chart, mean, put, put_causes_of_run, put_counters, put_latencies, series,
};
use super::stalls::note_outlasted;
use crate::error::BenchError;
use crate::measure::{Energy, Measurement};
use crate::outcome::{Axis, Mark, Outcome};

/// Per cent of reads, in the order of the published graphs.
const READ_PERCENTS: [u32; 6] = [100, 80, 60, 40, 20, 0];

/// A mean over mixes that nobody has all of would rank drives by what they do with pure writes.
pub(super) const LEADS: &[&str] = &["bandwidth_read80", "bandwidth_read40", "bandwidth_read0"];

pub(super) const METRICS: &[MetricDef] = &[
    metric("bandwidth", "MB/s", "here: the mean of the six rates"),
    metric("iops", "IOPS", "the same in requests a second"),
    metric("bandwidth_read{percent}", "MB/s", "the rate at so many per cent of reads: 100, 80, 60, 40, 20, 0"),
    metric("power_read{percent}", "W", "mean power of that run, where the device meters energy"),
];

/// Where the requests of a mix go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Addresses {
    Random,
    /// Reads and writes share one place that advances.
    OneSequence,
    /// Reads and writes each have a place of their own that advances.
    TwoSequences,
}

impl Addresses {
    fn pattern(self, mix: Mix, span: u64, block: u64) -> Pattern {
        match self {
            Addresses::Random => Pattern::random(mix, span, block),
            Addresses::OneSequence => Pattern::sequential(mix, span, block).at_one_place(),
            Addresses::TwoSequences => Pattern::sequential(mix, span, block),
        }
    }

    fn order(self) -> &'static str {
        if self == Addresses::Random { "random" } else { "sequential" }
    }

    /// What the method adds about them.
    fn sentence(self) -> &'static str {
        match self {
            Addresses::Random => "",
            Addresses::OneSequence => " Reads and writes went on from one common place.",
            Addresses::TwoSequences => " Reads and writes each went on from a place of their own.",
        }
    }
}

/// Reads `block_size`, `queue_depth`, `span_bytes` (0: the whole drive) and `seconds` from the parameters.
pub(super) fn run_mixed(ctx: &mut Context<'_>, addresses: Addresses) -> Result<Outcome, BenchError> {
    let (block, depth) = (ctx.params.integer("block_size"), ctx.params.depth("queue_depth"));
    let asked = ctx.params.integer("span_bytes");
    let mut notes = Vec::new();
    let (span, runs) = ctx.on_copies(
        &READ_PERCENTS,
        |host| {
            let capacity = host.info().capacity_bytes;
            ctx.monitor().step_of(0, READ_PERCENTS.len() + 1);
            // A real drive is prepared for each mix.
            notes.clear();
            let span = fit_span(if asked == 0 { capacity } else { asked }, capacity, block, &mut notes)?;
            fill_drive(host)?;
            ctx.settle(host)?;
            Ok(span)
        },
        |host, &span, i, &read_percent| {
            ctx.monitor().step_of(i + 1, READ_PERCENTS.len() + 1);
            let mix = Mix::ReadWrite { read_percent };
            let source = build(ctx, &addresses.pattern(mix, span, block), &format!("read{read_percent}"))?;
            timed(host, &mut ctx.job(source, depth).for_nanos(ctx.nanos("seconds")))
        },
    )?;
    let counters = runs.iter().fold(Counters::default(), |sum, run| sum.plus(&run.counters));
    let order = addresses.order();
    let method = format!(
        "The drive was filled with 128 KiB sequential writes. Then {} {order} requests at QD{depth} over {}, {} s \
         each with 100, 80, 60, 40, 20 and 0 % reads, each mix {}.{}",
        size(block),
        amount(span),
        ctx.params.seconds("seconds"),
        ctx.each_filled(),
        addresses.sentence(),
    );
    let mut out = ctx.outcome("", method);
    out.notes = notes;
    let rates: Vec<f64> = runs.iter().map(|r| r.measurement.mb_per_s()).collect();
    let iops: Vec<f64> = runs.iter().map(|r| r.measurement.iops()).collect();
    put(&mut out, "bandwidth", mean(&rates), "MB/s");
    put(&mut out, "iops", mean(&iops), "IOPS");
    let mut all = Measurement::default();
    let mut elapsed = 0;
    for ((run, rate), percent) in runs.iter().zip(&rates).zip(READ_PERCENTS) {
        put(&mut out, &format!("bandwidth_read{percent}"), *rate, "MB/s");
        put_causes_of_run(&mut out, &format!("{percent} % reads"), &run.measurement);
        note_outlasted(&mut out, &run.stalls, &format!("With {percent} % reads, when"));
        all.merge(&run.measurement);
        elapsed += run.counted;
    }
    put_latencies(&mut out, &all.latency(), "");
    put_counters(&mut out, &counters, elapsed);
    let names = READ_PERCENTS.iter().map(|p| format!("{p}/{}", 100 - p)).collect();
    out.charts.push(chart(
        "bandwidth-by-mix",
        &format!("Mixed {} {order}: bandwidth by share of reads", size(block)),
        "From reads alone on the left to writes alone on the right. Every mix starts from the same state: filled once in sequence.",
        Mark::Line,
        categories("reads/writes", "%", names),
        Axis { min: Some(0.0), ..Axis::linear("bandwidth", "MB/s") },
        vec![series(&format!("{} {order}, QD{depth}", size(block)), by_category(&rates))],
    ));
    let watts = |r: &Timed| Energy::of(&r.counters, r.counted).map(|e| e.watts());
    if let Some(watts) = runs.iter().map(watts).collect::<Option<Vec<f64>>>() {
        for (watts, percent) in watts.iter().zip(READ_PERCENTS) {
            put(&mut out, &format!("power_read{percent}"), *watts, "W");
        }
        let names = READ_PERCENTS.iter().map(|p| format!("{p}/{}", 100 - p)).collect();
        out.charts.push(chart(
            "power-by-mix",
            &format!("Mixed {} {order}: power by share of reads", size(block)),
            "",
            Mark::Line,
            categories("reads/writes", "%", names),
            Axis { min: Some(0.0), ..Axis::linear("power", "W") },
            vec![series(&format!("{} {order}, QD{depth}", size(block)), by_category(&watts))],
        ));
    }
    Ok(out)
}
