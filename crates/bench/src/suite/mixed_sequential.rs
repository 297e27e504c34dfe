//! `mixed-sequential`: 128 KiB sequential reads and writes in six mixes.
//!
//! Reads and writes each advance in sequence, from a place of their own, both beginning at the first address. The
//! reviews do not say whether one position was shared.

use super::definition::{AS_IT_IS, TestDef, WHOLE_SPAN, block, depth, seconds};
use super::mixed::{METRICS, run_mixed};
use crate::context::Context;
use crate::error::BenchError;
use crate::lab::Lab;
use crate::outcome::Outcome;

pub(super) const DEF: TestDef = TestDef {
    name: "mixed-sequential",
    title: "Mixed 128 KiB sequential",
    summary: "Six mixes of 128 KiB sequential reads and writes at QD1 over all of a full drive.",
    params: &[
        block("block_size", "131072", "request size"),
        depth("queue_depth", "1", "requests in flight; 1 as of March 2015, 3 is known from October 2015"),
        WHOLE_SPAN,
        seconds("seconds", "180", "length of each mix. Not published for this test; 3 minutes is the suite's norm"),
    ],
    metrics: METRICS,
    variants: AS_IT_IS,
    weight: 20.0,
};

pub(super) fn run<L: Lab>(ctx: &mut Context<L>) -> Result<Outcome, BenchError> {
    run_mixed(ctx, false)
}
