//! Runs tests on drives, with progress, and sorts what came of them.

use std::num::NonZeroUsize;

use ssdlab_bench::plan::{JobResult, PlanJob, PlanOptions, run_plan};
use ssdlab_bench::{BenchError, Outcome, ParamError};

use crate::failure::Failure;
use crate::lab::SimulatedDrive;
use crate::progress::{Bar, CANCEL, stop_on_ctrl_c};

/// What came of a plan.
pub struct Results {
    /// In the order of the plan.
    pub outcomes: Vec<Outcome>,
    /// One for each test that failed.
    pub failures: Vec<Failure>,
    /// Tests that a drive does not allow (no TRIM, no flash …), and why.
    pub unsuitable: Vec<Unsuitable>,
    /// Tests that Ctrl-C stopped or kept from beginning.
    pub cancelled: usize,
}

/// A test that makes no sense on a drive.
pub struct Unsuitable {
    pub what: String,
    failure: Failure,
}

/// Runs the plan.
///
/// # Errors
/// A setting that a test does not take; nothing has run then.
pub fn run(
    drives: &[SimulatedDrive],
    jobs: &[PlanJob],
    threads: Option<u16>,
    seed: u64,
    quick: bool,
) -> Result<Results, Failure> {
    for job in jobs {
        job.check(quick).map_err(param_failure)?;
    }
    stop_on_ctrl_c()?;
    let names: Vec<&str> = drives.iter().map(SimulatedDrive::device).collect();
    let bar = Bar::for_plan(jobs, &names);
    let threads = threads.and_then(|n| NonZeroUsize::new(n.into()));
    let options = PlanOptions { threads, seed, quick };
    let results = run_plan(drives, jobs, options, &|p| bar.plan(p), &CANCEL);
    drop(bar);
    let mut sorted = Results { outcomes: Vec::new(), failures: Vec::new(), unsuitable: Vec::new(), cancelled: 0 };
    for (job, result) in jobs.iter().zip(results) {
        match result {
            JobResult::Finished(outcome) => sorted.outcomes.push(*outcome),
            JobResult::Failed(error @ BenchError::Unsuitable(_)) => {
                let what = format!("{} on {}: {error}", job.test.name, names[job.lab]);
                let failure = bench_failure(job.test.name, names[job.lab], error);
                sorted.unsuitable.push(Unsuitable { what, failure });
            }
            JobResult::Failed(error) => sorted.failures.push(bench_failure(job.test.name, names[job.lab], error)),
            JobResult::Cancelled => sorted.cancelled += 1,
        }
    }
    Ok(sorted)
}

impl Results {
    /// Prints every failure, and returns how the command ends.
    ///
    /// # Errors
    /// The last failure, or that the run was stopped.
    pub fn conclude(mut self) -> Result<(), Failure> {
        self.failures.extend(self.unsuitable.into_iter().map(|u| u.failure));
        if self.cancelled > 0 {
            self.failures.push(Failure::run(format!("stopped: {} test(s) did not finish", self.cancelled)));
        }
        let last = self.failures.pop();
        for failure in &self.failures {
            eprintln!("{failure}");
        }
        last.map_or(Ok(()), Err)
    }
}

/// A name or value that a test does not take.
pub fn param_failure(error: ParamError) -> Failure {
    Failure::BadInput(error.into())
}

fn bench_failure(test: &str, device: &str, error: BenchError) -> Failure {
    let what = format!("test {test} on {device}: {error}");
    match error {
        BenchError::Param(error) => param_failure(error),
        // The drive or the settings do not allow the test.
        BenchError::Unsuitable(_) => Failure::bad_input(what)
            .help("choose another drive or other settings; `ssdlab list tests` shows what a test takes"),
        _ => Failure::run(what),
    }
}
