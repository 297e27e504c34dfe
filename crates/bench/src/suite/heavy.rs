//! `heavy`: a stand-in for the Heavy trace of Storage Bench 2011.

use ssdlab_workload::storage_bench::Trace;

use super::context::Context;
use super::definition::{PLAIN, TestDef, choice};
use super::storage_bench::{FOOTPRINT, IDLE_CAP, JOINT, LEADS, METRICS, STATE, requests, run_storage_bench};
use crate::error::BenchError;
use crate::outcome::Outcome;

pub(super) const DEF: TestDef = TestDef {
    name: "heavy",
    title: "Storage Bench 2011: Heavy (stand-in)",
    summary: "3.95 million requests, 48.6 GB read and 106.3 GB written: a stand-in for a trace that was never published, on an empty and on a full drive.",
    params: &[
        choice(
            "form",
            "2015",
            &["2011", "2013", "2015"],
            "whose figures and charts: the trace is the same. 2011 and 2013: data rate on an empty drive; 2015: service \
             time, slow requests and power as well, on an empty and on a full drive",
        ),
        requests("3950000"),
        STATE,
        JOINT,
        FOOTPRINT,
        IDLE_CAP,
    ],
    metrics: METRICS,
    weight: 16.0,
    leads: LEADS,
    sends_single_sectors: true,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    run_storage_bench(ctx, Trace::Heavy)
}
