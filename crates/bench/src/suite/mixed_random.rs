//! `mixed-random`: 4 KiB random reads and writes in six mixes.

use super::context::Context;
use super::definition::{PLAIN, TestDef, block, depth, seconds, span};
use super::mixed::{Addresses, LEADS, METRICS, run_mixed};
use crate::error::BenchError;
use crate::outcome::Outcome;

pub(super) const DEF: TestDef = TestDef {
    name: "mixed-random",
    title: "Mixed 4 KiB random",
    summary: "Six mixes of 4 KiB random reads and writes at QD3 over 16 GB of a full drive.",
    params: &[
        block("block_size", "4096", "request size, and alignment"),
        depth("queue_depth", "3", "requests in flight"),
        span("span_bytes", "16GB", "the test stays within the first so many bytes"),
        seconds("seconds", "180", "length of each mix. Not published for this test; 3 minutes is the suite's norm"),
    ],
    metrics: METRICS,
    weight: 25.0,
    leads: LEADS,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    run_mixed(ctx, Addresses::Random)
}
