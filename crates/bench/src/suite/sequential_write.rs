//! `sequential-write`: 128 KiB sequential writes over the whole drive at QD1, 1 minute.

use ssdlab_core::Op;

use super::context::Context;
use super::definition::{PLAIN, TestDef, WHOLE_SPAN, block, choice, depth, seconds};
use super::rate::run_rate;
use crate::error::BenchError;
use crate::outcome::Outcome;

const PREFILLS: &[&str] = &["none", "span", "drive"];

pub(super) const DEF: TestDef = TestDef {
    name: "sequential-write",
    title: "128 KiB sequential write",
    summary: "128 KiB sequential writes over the whole drive at QD1, 1 minute.",
    params: &[
        block("block_size", "131072", "request size"),
        depth("queue_depth", "1", "requests in flight"),
        WHOLE_SPAN,
        seconds("seconds", "60", "length of the run"),
        choice(
            "prefill",
            "none",
            PREFILLS,
            "what is filled in sequence before. The state of the drive was not published for this test; a fresh drive is assumed",
        ),
    ],
    metrics: &[],
    weight: 5.0,
    leads: &["bandwidth"],
    in_sequence: true,
    hangs_on_time: true,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    run_rate(ctx, Op::Write, false)
}
