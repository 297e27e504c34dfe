//! `random-read`: 4 KiB random reads over 8 GB of a full drive, at QD3 and QD32, 3 minutes.

use ssdlab_core::Op;

use super::context::Context;
use super::definition::{PLAIN, TestDef, Variant, block, choice, depth, seconds, span};
use super::rate::run_rate;
use crate::error::BenchError;
use crate::outcome::Outcome;

const PREFILLS: &[&str] = &["none", "span", "drive"];

pub(super) const DEF: TestDef = TestDef {
    name: "random-read",
    title: "4 KiB random read",
    summary: "4 KiB random reads over 8 GB of a full drive, at QD3 and QD32, 3 minutes.",
    params: &[
        block("block_size", "4096", "request size, and alignment"),
        depth("queue_depth", "32", "requests in flight; the published runs are 3 and 32"),
        span("span_bytes", "8GB", "the test reads within the first so many bytes of the drive"),
        seconds("seconds", "180", "length of the run"),
        choice(
            "prefill",
            "drive",
            PREFILLS,
            "what is filled in sequence before: the whole drive, as in 2009 (drives in used state) and 2015 (full \
             drives); reads of empty addresses, or of a cache that is as large as the drive is empty, would flatter it",
        ),
    ],
    metrics: &[],
    variants: &[
        Variant { name: "QD3", settings: &[("queue_depth", "3")], in_review: true },
        Variant { name: "QD32", settings: &[("queue_depth", "32")], in_review: true },
    ],
    weight: 14.0,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    run_rate(ctx, Op::Read, true)
}
