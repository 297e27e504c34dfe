//! `fragmented-read`: sequential reads of a drive whose addresses were written in random order.
//!
//! A drive that stripes what arrives together over its dies reads it back together. After random overwriting,
//! neighbouring addresses lie wherever there was room: several on one die, none on another, and a long read waits for
//! the busiest.

use ssdlab_core::Op;
use ssdlab_workload::{Distribution, Order, Pattern};

use super::common::{FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, build, gigabytes, size};
use super::context::Context;
use super::definition::{PLAIN, TestDef, Variant, block, choice, depth, metric, number};
use super::figures::{chart, put, put_causes_of_run, put_counters, put_counters_as, put_latencies, series};
use super::sweep::{BLOCK, DEPTH, Sweep, ZONES, axes};
use crate::error::BenchError;
use crate::measure::Measurement;
use crate::outcome::{Mark, Outcome};

pub(super) const DEF: TestDef = TestDef {
    name: "fragmented-read",
    title: "Sequential read after random overwriting",
    summary: "The drive is filled in sequence and read in sequence; then it is written at random, 4 KiB at QD32, as many \
              bytes as it has, and read in sequence again. The rates are drawn by position.",
    params: &[
        BLOCK,
        DEPTH,
        ZONES,
        number(
            "overwrite_share",
            "1",
            "of the capacity",
            0.01,
            100.0,
            "how much is written at random. Published: once",
        ),
        choice(
            "overwrite_order",
            "random",
            &["random", "once"],
            "random: each write goes anywhere, so that after one drive write some 37 % of the addresses are still as they \
             were filled (Iometer). once: every address in turn, in random order (fio without norandommap). Not published",
        ),
        block("overwrite_block_size", "4096", "size of the random writes"),
        depth("overwrite_queue_depth", "32", "random writes in flight. Not published"),
    ],
    metrics: &[
        metric("read_bandwidth", "MB/s", "mean over all addresses after the overwriting"),
        metric("read_bandwidth_min", "MB/s", "the slowest zone"),
        metric("clean_bandwidth", "MB/s", "mean over all addresses of the same reads before the overwriting"),
        metric("kept_share", "%", "the mean after the overwriting, of the mean before it").higher(),
        metric("read_bandwidth_max", "MB/s", "the fastest zone"),
        metric("overwrite_iops", "IOPS", "mean rate of the random writes"),
        metric("waf_overwrite", "ratio", "write amplification in them").lower(),
        metric("energy_overwrite", "J", "energy drawn in them, where the device meters it"),
        metric("power_mean_overwrite", "W", "mean power in them, where the device meters energy"),
        metric("held_for_heat_overwrite", "%", "for what share of them commands were held back by a hot drive").lower(),
    ],
    variants: &[
        Variant { name: "", settings: &[], in_review: false },
        Variant { name: "every address once", settings: &[("overwrite_order", "once")], in_review: false },
    ],
    weight: 25.0,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let once = ctx.params.choice("overwrite_order") == "once";
    let (block, depth) = (ctx.params.integer("overwrite_block_size"), ctx.params.depth("overwrite_queue_depth"));
    let share = ctx.params.number("overwrite_share");
    let (clean, overwrite, fragmented, overwrite_counters, counters, capacity) = ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        let monitor = ctx.monitor();
        monitor.step(0.0, 0.15);
        host.fill(0, capacity, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, &mut ())?;
        ctx.settle(host)?;
        monitor.step(0.15, 0.25);
        let clean = Sweep::run(host, &ctx.params, Op::Read)?;
        monitor.step(0.25, 0.9);
        let mut pattern = Pattern::random_write(capacity / block * block, block);
        if once {
            pattern.order = Order::Random(Distribution::EachBlockOnce);
        }
        let bytes = ((capacity as f64 * share) as u64 / block).max(1) * block;
        let before = host.counters();
        let mut overwrite = Measurement::default();
        let job = ctx.job(build(ctx, &pattern, "overwriting")?, depth).for_bytes(bytes);
        host.run(&mut [job], &mut overwrite)?;
        overwrite.check_causes().map_err(BenchError::Books)?;
        let overwrite_counters = host.counters().since(&before);
        ctx.settle(host)?;
        monitor.step(0.9, 1.0);
        let before = host.counters();
        let fragmented = Sweep::run(host, &ctx.params, Op::Read)?;
        Ok((clean, overwrite, fragmented, overwrite_counters, host.counters().since(&before), capacity))
    })?;
    let method = format!(
        "All {} GB were filled in sequence with 128 KiB writes and read with {} requests at QD{}. Then {} were \
         written at random, {} at QD{depth}, {}, and all was read again in the same way.",
        gigabytes(capacity),
        size(ctx.params.integer("block_size")),
        ctx.params.depth("queue_depth"),
        if share == 1.0 { "as many bytes".to_owned() } else { format!("{share} times as many bytes") },
        size(block),
        if once { "every address in turn" } else { "each write anywhere" },
    );
    let mut out = ctx.outcome(if once { "every address once" } else { "" }, method);
    let label = "sequential read after random overwriting";
    let (slowest, fastest) = fragmented.range();
    put(&mut out, "iops", fragmented.measurement.iops(), "IOPS");
    put(&mut out, "bandwidth", fragmented.measurement.mb_per_s(), "MB/s");
    put(&mut out, "read_bandwidth", fragmented.mean(), "MB/s");
    put(&mut out, "read_bandwidth_min", slowest, "MB/s");
    put(&mut out, "read_bandwidth_max", fastest, "MB/s");
    put(&mut out, "clean_bandwidth", clean.mean(), "MB/s");
    put(&mut out, "kept_share", 100.0 * fragmented.mean() / clean.mean(), "%");
    put(&mut out, "overwrite_iops", overwrite.iops(), "IOPS");
    put_latencies(&mut out, &fragmented.measurement.latency(), "");
    put_counters(&mut out, &counters, fragmented.measurement.elapsed());
    put_counters_as(&mut out, &overwrite_counters, overwrite.elapsed(), "_overwrite");
    put_causes_of_run(&mut out, "sequential read before it", &clean.measurement);
    put_causes_of_run(&mut out, label, &fragmented.measurement);
    let (x, y) = axes();
    let lines = vec![series("before", clean.points()), series("after random overwriting", fragmented.points())];
    out.charts.push(chart("read-by-position", "Sequential read rate by position", "", Mark::Line, x, y, lines));
    Ok(out)
}
