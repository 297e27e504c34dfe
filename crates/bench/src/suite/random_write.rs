//! `random-write`: 4 KiB random writes over an 8 GB span, at QD3 and QD32, 3 minutes.

use ssdlab_core::Op;

use super::context::Context;
use super::definition::{PLAIN, TestDef, Variant, block, choice, depth, seconds, span};
use super::rate::run_rate;
use crate::error::BenchError;
use crate::outcome::Outcome;

const PREFILLS: &[&str] = &["none", "span", "drive"];

pub(super) const DEF: TestDef = TestDef {
    name: "random-write",
    title: "4 KiB random write",
    summary: "4 KiB random writes over an 8 GB span, at QD3 and QD32, 3 minutes.",
    params: &[
        block("block_size", "4096", "request size, and alignment"),
        depth("queue_depth", "32", "requests in flight; the published runs are 3 and 32"),
        span("span_bytes", "8GB", "the test writes within the first so many bytes of the drive"),
        seconds("seconds", "180", "length of the run"),
        choice(
            "prefill",
            "none",
            PREFILLS,
            "what is filled in sequence before. The state of the drive was not published for this test; a fresh drive is assumed",
        ),
    ],
    metrics: &[],
    variants: &[
        Variant { name: "QD3", settings: &[("queue_depth", "3")], in_review: true },
        Variant { name: "QD32", settings: &[("queue_depth", "32")], in_review: true },
    ],
    weight: 14.0,
    hangs_on_time: true,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    run_rate(ctx, Op::Write, true)
}
