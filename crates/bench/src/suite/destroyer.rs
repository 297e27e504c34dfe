//! `destroyer`: a stand-in for the trace of Storage Bench 2013.

use ssdlab_workload::storage_bench::Trace;

use super::context::Context;
use super::definition::{PLAIN, TestDef, choice};
use super::storage_bench::{FOOTPRINT, IDLE_CAP, JOINT, LEADS, METRICS, STATE, requests, run_storage_bench};
use crate::error::BenchError;
use crate::outcome::Outcome;

pub(super) const DEF: TestDef = TestDef {
    name: "destroyer",
    title: "Storage Bench 2013: The Destroyer (stand-in)",
    summary: "49.8 million requests, 1583 GB read and 876 GB written, at the published queue depths and sizes as far as \
              they are known: a stand-in for a trace that was never published. Data rate and service time (2013); \
              slow requests and power as well (2015).",
    params: &[
        choice("form", "2015", &["2013", "2015"], "whose figures and charts: the trace is the same"),
        requests("49810000"),
        STATE,
        JOINT,
        FOOTPRINT,
        IDLE_CAP,
    ],
    metrics: METRICS,
    weight: 120.0,
    leads: LEADS,
    sends_single_sectors: true,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    run_storage_bench(ctx, Trace::Destroyer)
}
