//! `old-data`: sequential reads of data just written, of the same data long after, and once the drive has rested.
//!
//! Charge leaks out of flash, and reads at references that no longer fit must be repeated (docs/error-correction.md). What
//! a drive's firmware does about it while it rests (`[refresh]`) shows in the third read.

use ssdlab_core::SECOND;
use ssdlab_device::{Counters, EccScheme, ExpectedErrors};

use super::common::{FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, flash, gigabytes, size};
use super::context::Context;
use super::definition::{PLAIN, TestDef, Variant, block, depth, integer, metric, number};
use super::figures::{put, put_causes_of_run, put_counters, put_latencies};
use crate::error::BenchError;
use crate::host::Host;
use crate::measure::Measurement;
use crate::outcome::Outcome;

pub(super) const DEF: TestDef = TestDef {
    name: "old-data",
    title: "Reading old data",
    summary: "A part of the drive is written in sequence and read; read again after a time without power at 30 °C; and once \
              more after a rest with power. A method of our own: reviews read files of an owner's drive by their age.",
    params: &[
        block("block_size", "131072", "size of the reads"),
        depth("queue_depth", "1", "reads in flight. Not published: a program that reads files one after the other"),
        number("span_share", "0.25", "of the capacity", 0.001, 1.0, "how much is written and read"),
        integer("days", "90", "days", 0, 36_500, "time without power, at 30 °C, before the data are read again"),
        integer(
            "rest_minutes",
            "60",
            "min",
            0,
            10_000,
            "time with power and without commands, after that. A drive that moves old data while it rests does so here",
        ),
    ],
    metrics: &[
        metric("fresh_read", "MB/s", "sequential read of data just written"),
        metric("old_read", "MB/s", "the same after `days` without power"),
        metric("rested_read", "MB/s", "the same after a rest"),
        metric(
            "reread_fresh",
            "%",
            "units that the plain read does not bring of data just written, as the error model expects",
        ),
        metric("reread_old", "%", "the same after `days`"),
        metric("reread_rested", "%", "the same after the rest"),
        metric("lost_old", "units", "units that nothing brings back after `days`, as expected"),
        metric("moved_at_rest", "GB", "what the drive programmed into its flash while it rested"),
    ],
    variants: &[Variant { name: "", settings: &[], in_review: false }],
    weight: 15.0,
    ..PLAIN
};

const DAY_S: u64 = 86_400;

/// What was found in one read of all data.
struct ReadBack {
    measured: Measurement,
    counters: Counters,
    /// What the model of errors expected of it.
    outlook: ExpectedErrors,
}

impl ReadBack {
    fn run(ctx: &Context<'_>, host: &mut Host<'_>, span: u64) -> Result<Self, BenchError> {
        let block = ctx.params.integer("block_size").min(span);
        let outlook = flash(host)?.expected_errors(EccScheme::Installed, 1.0, 0.0).unwrap_or_default();
        let before = host.counters();
        let mut measured = Measurement::default();
        host.read_through(0, span / block * block, block, ctx.params.depth("queue_depth"), &mut measured)?;
        measured.check_causes().map_err(BenchError::Books)?;
        Ok(ReadBack { measured, counters: host.counters().since(&before), outlook })
    }

    fn reread_percent(&self) -> f64 {
        100.0 * self.outlook.reread / self.outlook.units.max(1.0)
    }
}

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let (days, minutes) = (ctx.params.integer("days"), ctx.params.integer("rest_minutes"));
    let share = ctx.params.number("span_share");
    let (span, [fresh, old, rested], moved) = ctx.on_fresh_drive(|host| {
        let monitor = ctx.monitor();
        let span = (host.info().capacity_bytes as f64 * share) as u64;
        let span = (span / FILL_BLOCK_BYTES).max(1) * FILL_BLOCK_BYTES;
        flash(host)?;
        monitor.step(0.0, 0.3);
        host.fill(0, span, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, &mut ())?;
        host.settle()?;
        monitor.step(0.3, 0.45);
        let fresh = ReadBack::run(ctx, host, span)?;
        flash(host)?.begin_retention(days * DAY_S);
        monitor.step(0.45, 0.7);
        let old = ReadBack::run(ctx, host, span)?;
        monitor.step(0.7, 0.85);
        let before = host.counters();
        host.idle(minutes * 60 * SECOND)?;
        let moved = host.counters().since(&before).flash.map_or(0, |flash| flash.program_bytes());
        monitor.step(0.85, 1.0);
        let rested = ReadBack::run(ctx, host, span)?;
        Ok((span, [fresh, old, rested], moved))
    })?;
    ctx.monitor().step(1.0, 1.0);
    let method = format!(
        "{} GB were written in sequence and read with {} requests at QD{}, read again after {days} days without power at \
         30 °C, and once more after {minutes} minutes with power and without commands.",
        gigabytes(span),
        size(ctx.params.integer("block_size")),
        ctx.params.depth("queue_depth"),
    );
    let mut out = ctx.outcome("", method);
    put(&mut out, "fresh_read", fresh.measured.mb_per_s(), "MB/s");
    put(&mut out, "old_read", old.measured.mb_per_s(), "MB/s");
    put(&mut out, "rested_read", rested.measured.mb_per_s(), "MB/s");
    put(&mut out, "reread_fresh", fresh.reread_percent(), "%");
    put(&mut out, "reread_old", old.reread_percent(), "%");
    put(&mut out, "reread_rested", rested.reread_percent(), "%");
    put(&mut out, "lost_old", ctx.lost_of_whole(old.outlook), "units");
    put(&mut out, "moved_at_rest", moved as f64 / 1e9, "GB");
    put_latencies(&mut out, &old.measured.latency(), "");
    put_counters(&mut out, &old.counters, old.measured.elapsed());
    for (label, read) in [("data just written", &fresh), ("old data", &old), ("after a rest", &rested)] {
        put_causes_of_run(&mut out, label, &read.measured);
    }
    Ok(out)
}
