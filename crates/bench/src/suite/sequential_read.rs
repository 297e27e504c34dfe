//! `sequential-read`: 128 KiB sequential reads over the whole drive at QD1, 1 minute.

use ssdlab_core::Op;

use super::context::Context;
use super::definition::{PLAIN, TestDef, WHOLE_SPAN, block, choice, depth, seconds};
use super::rate::run_rate;
use crate::error::BenchError;
use crate::outcome::Outcome;

const PREFILLS: &[&str] = &["none", "span", "drive"];

pub(super) const DEF: TestDef = TestDef {
    name: "sequential-read",
    title: "128 KiB sequential read",
    summary: "128 KiB sequential reads over the whole drive at QD1, 1 minute.",
    params: &[
        block("block_size", "131072", "request size"),
        depth("queue_depth", "1", "requests in flight"),
        WHOLE_SPAN,
        seconds("seconds", "60", "length of the run"),
        choice(
            "prefill",
            "drive",
            PREFILLS,
            "what is filled in sequence before; reads of empty addresses would flatter the drive",
        ),
    ],
    metrics: &[],
    weight: 8.0,
    leads: &["bandwidth"],
    in_sequence: true,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    run_rate(ctx, Op::Read, false)
}
