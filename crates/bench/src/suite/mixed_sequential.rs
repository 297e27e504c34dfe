//! `mixed-sequential`: 128 KiB sequential reads and writes in six mixes.
//!
//! Reads and writes go on from one common place, as with Iometer, the tool of the reviews of 2015: each address is
//! either read or written, so that a drive which reads ahead meets gaps. `positions=separate` gives each a sequence of
//! its own, as fio does.

use super::context::Context;
use super::definition::{PLAIN, TestDef, WHOLE_SPAN, block, choice, depth, seconds};
use super::mixed::{Addresses, LEADS, METRICS, run_mixed};
use crate::error::BenchError;
use crate::outcome::Outcome;

pub(super) const DEF: TestDef = TestDef {
    name: "mixed-sequential",
    title: "Mixed 128 KiB sequential",
    summary: "Six mixes of 128 KiB sequential reads and writes at QD1 over all of a full drive.",
    params: &[
        block("block_size", "131072", "request size"),
        depth("queue_depth", "1", "requests in flight; 1 as of March 2015, 3 is known from October 2015"),
        WHOLE_SPAN,
        choice(
            "positions",
            "shared",
            &["shared", "separate"],
            "shared: reads and writes go on from one common place (as Iometer, which the reviews used, does; they do not \
             say so themselves); separate: each from a place of its own (as fio)",
        ),
        seconds("seconds", "180", "length of each mix. Not published for this test; 3 minutes is the suite's norm"),
    ],
    metrics: METRICS,
    weight: 20.0,
    leads: LEADS,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let shared = ctx.params.choice("positions") == "shared";
    run_mixed(ctx, if shared { Addresses::OneSequence } else { Addresses::TwoSequences })
}
