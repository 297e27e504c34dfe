//! `storagemark-streaming`: a stand-in for Tweakers' trace of a streaming-media server.

use ssdlab_workload::application_mix::Application;

use super::context::Context;
use super::definition::{PLAIN, TestDef};
use super::storagemark::{BEFORE, LEADS, METRICS, REFERENCE, requests, run_storagemark};
use crate::error::BenchError;
use crate::outcome::Outcome;

pub(super) const DEF: TestDef = TestDef {
    name: "storagemark-streaming",
    title: "Application mix: streaming-media server (stand-in)",
    summary: "Many streams at once, 96 % reads and writes of 25 kB, right after the mixes before it. A stand-in for a trace that was never published; index with the WD Raptor WD360GD at 100.",
    params: &[requests("300000"), BEFORE],
    metrics: METRICS,
    weight: 16.0,
    leads: LEADS,
    reference: Some(REFERENCE),
    sends_single_sectors: true,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    run_storagemark(ctx, Application::StreamingServer)
}
