//! `storagemark-boot`: a stand-in for the Boot & Launch StorageMark 2008.

use ssdlab_workload::application_mix::Application;

use super::context::Context;
use super::definition::{PLAIN, TestDef};
use super::storagemark::{BEFORE, LEADS, METRICS, REFERENCE, requests, run_storagemark};
use crate::error::BenchError;
use crate::outcome::Outcome;

pub(super) const DEF: TestDef = TestDef {
    name: "storagemark-boot",
    title: "Application mix: boot and launch (stand-in)",
    summary: "Windows and programs are started, right after the desktop mix. A stand-in for a trace that was never published; index with the WD Raptor WD360GD at 100.",
    params: &[requests("200000"), BEFORE],
    metrics: METRICS,
    weight: 7.0,
    leads: LEADS,
    reference: Some(REFERENCE),
    sends_single_sectors: true,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    run_storagemark(ctx, Application::BootAndLaunch)
}
