//! `ssdlab run`: a fio job file on a drive.

use std::path::Path;

use ssdlab_bench::fio_run::{FioError, FioOptions, Prefill, run_file};
use ssdlab_bench::{BenchError, Monitor};
use ssdlab_catalog::Diagnostic;
use ssdlab_core::input;
use ssdlab_workload::fio::JobFile;

use crate::args::{OutputFormat, RunArgs, RunPrefillArg};
use crate::failure::Failure;
use crate::lab::SimulatedDrive;
use crate::output::{STANDARD_INPUT, complain, print};
use crate::progress::{Bar, CANCEL, stop_on_ctrl_c};

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let file = job_file(&args.job)?;
    let drive = SimulatedDrive::new(&args.device, args.seed)?;
    for notice in file.notices() {
        complain(&format!("notice: {notice}"));
    }
    let prefill = match args.prefill {
        RunPrefillArg::Read => Prefill::Read,
        RunPrefillArg::Drive => Prefill::Drive,
        RunPrefillArg::None => Prefill::Nothing,
    };
    stop_on_ctrl_c()?;
    let bar = Bar::new();
    let report = |done: f64| bar.set(done);
    let monitor = Monitor::new(&report, &CANCEL);
    let options = FioOptions { seed: args.seed, prefill };
    let report = run_file(&file, &drive, options, &monitor).map_err(failure)?;
    drop(bar);
    match args.output_format {
        OutputFormat::Normal => print(&report.to_text()),
        OutputFormat::Json => print(&report.to_json().map_err(|e| Failure::run(e.to_string()))?),
    }
}

/// A file, or what comes by standard input.
fn job_file(job: &Path) -> Result<JobFile, Failure> {
    if job != Path::new("-") {
        return JobFile::open(job).map_err(|e| Failure::BadInput((&e).into()));
    }
    let text = input::read_text_from(std::io::stdin().lock())
        .map_err(|e| Failure::bad_input(format!("cannot read the job file from {STANDARD_INPUT}: {e}")))?;
    JobFile::parse(STANDARD_INPUT, &text)
        .map_err(|e| Failure::BadInput(Diagnostic::from(&e).within(STANDARD_INPUT, &text)))
}

fn failure(error: FioError) -> Failure {
    match error {
        FioError::Job(e) => Failure::BadInput((&e).into()),
        FioError::Bench(e) if e.is_cancelled() => Failure::run("stopped before the jobs had ended"),
        FioError::Bench(BenchError::Unsuitable(what)) => Failure::bad_input(what).help("choose another drive"),
        FioError::Bench(e) => Failure::run(format!("the jobs failed: {e}")),
    }
}
