//! `hdtach`: sequential writes, then reads, over every address; the rate by position.

use ssdlab_core::Op;

use super::common::{erase, gigabytes, size};
use super::context::Context;
use super::definition::{PLAIN, TestDef, metric};
use super::figures::{chart, put, put_causes_of_run, put_counters, series};
use super::sweep::{BLOCK, DEPTH, Sweep, ZONES, axes};
use crate::error::BenchError;
use crate::outcome::{Mark, Outcome};

pub(super) const DEF: TestDef = TestDef {
    name: "hdtach",
    title: "HD Tach",
    summary: "A fresh drive is written in sequence from the first to the last address, then after a rest read the same way; \
              the rate is drawn by position. It shows cache zones and the traces of earlier use.",
    params: &[BLOCK, DEPTH, ZONES],
    metrics: &[
        metric("write_bandwidth", "MB/s", "mean over all addresses").likewise(&["read_bandwidth"]),
        metric("write_bandwidth_min", "MB/s", "the slowest zone").likewise(&["read_bandwidth_min"]),
        metric("write_bandwidth_max", "MB/s", "the fastest zone").likewise(&["read_bandwidth_max"]),
    ],
    weight: 15.0,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let mut notes = Vec::new();
    let (erased, write, read, counters, capacity) = ctx.on_fresh_drive(|host| {
        let erased = erase(ctx, host, &mut notes)?;
        ctx.monitor().step(0.0, 0.5);
        let before = host.counters();
        let write = Sweep::run(host, &ctx.params, Op::Write)?;
        let of_writes = host.counters().since(&before);
        ctx.monitor().step(0.5, 1.0);
        // What the drive still writes is no part of how fast it reads.
        ctx.settle(host)?;
        let before = host.counters();
        let read = Sweep::run(host, &ctx.params, Op::Read)?;
        // Both passes, without the rest between them.
        let counters = of_writes.plus(&host.counters().since(&before));
        Ok((erased, write, read, counters, host.info().capacity_bytes))
    })?;
    let method = format!(
        "{}, all {} GB were written in sequence with {} requests at QD{}, and after {} s of rest read the same way.",
        erased.in_words(),
        gigabytes(capacity),
        size(ctx.params.integer("block_size")),
        ctx.params.depth("queue_depth"),
        ctx.rest_seconds(),
    );
    let mut out = ctx.outcome("", method);
    out.notes = notes;
    let mut lines = Vec::new();
    for (name, sweep) in [("write", &write), ("read", &read)] {
        let (slowest, fastest) = sweep.range();
        put(&mut out, &format!("{name}_bandwidth"), sweep.mean(), "MB/s");
        put(&mut out, &format!("{name}_bandwidth_min"), slowest, "MB/s");
        put(&mut out, &format!("{name}_bandwidth_max"), fastest, "MB/s");
        put_causes_of_run(&mut out, &format!("sequential {name}"), &sweep.measurement);
        lines.push(series(name, sweep.points()));
    }
    put_counters(&mut out, &counters, write.measurement.elapsed() + read.measurement.elapsed());
    let (x, y) = axes();
    out.charts.push(chart("rate-by-position", "Rate by position", "", Mark::Line, x, y, lines));
    Ok(out)
}
