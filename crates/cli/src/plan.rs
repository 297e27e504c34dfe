//! Runs tests on drives, with progress, and sorts what came of them.

use std::num::NonZeroUsize;

use ssdlab_bench::plan::{JobResult, PlanJob, PlanOptions, run_plan_keeping};
use ssdlab_bench::{BenchError, HostError, Lab, Outcome, ParamError};
use ssdlab_catalog::DIE_PREFIX;
use ssdlab_device::Refusal;
use ssdlab_keys::KeyTable;
use ssdlab_nand::die_keys;
use ssdlab_report::LeftOut;
use ssdlab_ssd::drive_keys;

use crate::failure::Failure;
use crate::lab::Tested;
use crate::output::complain;
use crate::progress::{Bar, CANCEL, stop_on_ctrl_c};

/// What came of a plan.
#[derive(Default)]
pub struct Results {
    /// In the order of the plan.
    pub outcomes: Vec<Outcome>,
    /// One for each test that failed.
    pub failures: Vec<Failure>,
    /// Tests that a drive does not allow (no TRIM, no flash …), and why.
    pub unsuitable: Vec<Unsuitable>,
    /// Tests that Ctrl-C stopped or kept from beginning.
    pub cancelled: Vec<String>,
    /// Every test without an outcome, in the order of the plan.
    pub left_out: Vec<LeftOut>,
    /// Whether any test ran to its end.
    ran: bool,
    /// Whether finished tests are kept for a later run.
    pub resumable: bool,
}

/// A test that makes no sense on a drive.
pub struct Unsuitable {
    pub left_out: LeftOut,
    failure: Failure,
}

/// Whether it ended because it would have written without consent.
pub fn may_only_be_read(error: &BenchError) -> bool {
    matches!(error, BenchError::Host(HostError::Refused(Refusal::ReadOnly { .. })))
}

/// How tests are told to fill nothing.
const NO_FILLING: &str = "prefill=none";
/// How `run` and `replay` are.
pub const NO_FILLING_OPTION: &str = "--prefill none";

/// What whoever was not allowed to write can do; `no_filling` is how the command is told to fill nothing.
pub fn help_to_write(device: &str, no_filling: &str) -> String {
    format!(
        "`--destroy {device}` lets it be written, and destroys everything on it; what only reads needs no more than to leave \
         its filling out ({no_filling})"
    )
}

/// What a report says of a test that ended in this error. It is unfinished unless it makes no sense on the device, or may not
/// write to it.
pub fn left_out(job: &PlanJob, device: &str, error: &BenchError) -> LeftOut {
    let sectors = matches!(error, BenchError::Host(HostError::Refused(Refusal::NotWholeSectors { .. })));
    LeftOut {
        device: device.to_owned(),
        test: job.test.name.to_owned(),
        variant: job.variant.clone(),
        why: error.to_string(),
        unfinished: !(matches!(error, BenchError::Unsuitable(_)) || sectors || may_only_be_read(error)),
    }
}

/// What a report says of a test that was stopped.
pub fn stopped(job: &PlanJob, device: &str) -> LeftOut {
    let (test, variant) = (job.test.name.to_owned(), job.variant.clone());
    LeftOut { device: device.to_owned(), test, variant, why: "it was stopped".to_owned(), unfinished: true }
}

/// Runs the plan.
///
/// # Errors
/// A setting that a test does not take; nothing has run then.
pub fn run<D: Tested + Lab>(drives: &[D], jobs: &[PlanJob], options: PlanOptions) -> Result<Results, Failure> {
    run_keeping(drives, jobs, options, &Keep { found: Vec::new(), keep: &|_, _| {} })
}

/// What was finished before, and what to do with a test that ends.
pub struct Keep<'a> {
    /// In the order of the plan; shorter than the plan if there is no more.
    pub found: Vec<Option<Outcome>>,
    /// Called with the place in the plan.
    pub keep: &'a (dyn Fn(usize, &Outcome) + Sync),
}

/// As [`run`], but what was found finished is not run again.
///
/// # Errors
/// As [`run`].
pub fn run_keeping<D: Tested + Lab>(
    drives: &[D],
    jobs: &[PlanJob],
    options: PlanOptions,
    keep: &Keep<'_>,
) -> Result<Results, Failure> {
    for job in jobs {
        job.check(options.quick).map_err(param_failure)?;
    }
    stop_on_ctrl_c()?;
    let names: Vec<&str> = drives.iter().map(Lab::name).collect();
    let found = |place: usize| keep.found.get(place).and_then(Option::as_ref);
    let places: Vec<usize> = (0..jobs.len()).filter(|&place| found(place).is_none()).collect();
    let to_run: Vec<PlanJob> = places.iter().map(|&place| jobs[place].clone()).collect();
    let bar = Bar::for_plan(&to_run, &names);
    // What runs beside a real device would be measured with it.
    let threads = if drives.iter().any(Tested::is_real) { Some(NonZeroUsize::MIN) } else { options.threads };
    let options = PlanOptions { threads, ..options };
    let finished = |index: usize, outcome: &Outcome| {
        bar.finished(index);
        (keep.keep)(places[index], outcome);
    };
    let results = run_plan_keeping(drives, &to_run, options, &|p| bar.plan(p), &finished, &CANCEL);
    drop(bar);
    let mut results = results.into_iter();
    let results = (0..jobs.len()).map(|place| match found(place) {
        Some(outcome) => JobResult::Finished(Box::new(outcome.clone())),
        None => results.next().unwrap_or(JobResult::Cancelled),
    });
    Ok(Results::sorted(jobs, &names, results))
}

/// Tests that are named among those that did not finish.
const NAMED: usize = 5;

impl Results {
    /// Sorts what came of each of the jobs, on drives of these names.
    pub fn sorted(jobs: &[PlanJob], names: &[&str], results: impl IntoIterator<Item = JobResult>) -> Self {
        let mut sorted = Results::default();
        for (job, result) in jobs.iter().zip(results) {
            match result {
                JobResult::Finished(outcome) => {
                    sorted.ran = true;
                    sorted.outcomes.push(*outcome);
                }
                JobResult::Failed(error) => {
                    let left_out = left_out(job, names[job.lab], &error);
                    let failure = bench_failure(job.test.name, names[job.lab], error);
                    sorted.left_out.push(left_out.clone());
                    if left_out.unfinished {
                        sorted.failures.push(failure);
                    } else {
                        sorted.unsuitable.push(Unsuitable { left_out, failure });
                    }
                }
                JobResult::Cancelled => {
                    sorted.left_out.push(stopped(job, names[job.lab]));
                    sorted.cancelled.push(format!("{} on {}", job.test.name, names[job.lab]));
                }
            }
        }
        sorted
    }

    /// Why tests have no outcome: failures, and behind them what drives do not allow.
    pub fn without_outcome(&self) -> Vec<String> {
        let unsuitable = self.unsuitable.iter().map(|unsuitable| &unsuitable.failure);
        self.failures.iter().chain(unsuitable).map(ToString::to_string).collect()
    }

    /// Whether every test that its drive allows has an outcome.
    pub fn is_whole(&self) -> bool {
        self.failures.is_empty() && self.cancelled.is_empty()
    }

    /// Prints every failure, and returns how the command ends.
    ///
    /// # Errors
    /// The last failure, or that the run was stopped.
    pub fn conclude(self) -> Result<(), Failure> {
        if self.ran {
            for Unsuitable { left_out, .. } in &self.unsuitable {
                complain(&format!("left out: {} on {}: {}", left_out.run(), left_out.device, left_out.why));
            }
        }
        let mut failures = self.into_failures();
        let last = failures.pop();
        for failure in &failures {
            complain(&failure.to_string());
        }
        last.map_or(Ok(()), Err)
    }

    /// Every failure. If no test ran, what drives do not allow is among them: otherwise it is no wrong input.
    pub fn into_failures(mut self) -> Vec<Failure> {
        if !self.ran {
            self.failures.extend(self.unsuitable.into_iter().map(|u| u.failure));
        }
        if !self.cancelled.is_empty() {
            let named = &self.cancelled[..self.cancelled.len().min(NAMED)];
            let rest = if named.len() < self.cancelled.len() { ", …" } else { "" };
            let (count, named) = (self.cancelled.len(), named.join(", "));
            let stopped = Failure::run(format!("stopped: {count} test(s) did not finish: {named}{rest}"));
            self.failures.push(if self.resumable {
                stopped.help("the same command goes on from there")
            } else {
                stopped
            });
        }
        self.failures
    }
}

/// A name or value that a test does not take.
pub fn param_failure(error: ParamError) -> Failure {
    param_failure_on(false, error)
}

/// As [`param_failure`], of a test on a simulated drive, or on a real one, which has no drive file.
pub fn param_failure_on(is_real: bool, error: ParamError) -> Failure {
    let of_drive = match &error {
        ParamError::Unknown { key, .. } => keys_of_drive_called(key),
        _ => Vec::new(),
    };
    let failure = Failure::BadInput(error.into());
    if of_drive.is_empty() {
        return failure;
    }
    let keys = of_drive.join(" or ");
    failure.help(if is_real {
        format!("a real device has no keys of drive files, such as {keys}")
    } else {
        format!("did you mean {keys} of the drive file?")
    })
}

/// The keys of drive and die files that are called so in their section, as `--set` takes them.
fn keys_of_drive_called(name: &str) -> Vec<String> {
    let of = |table: &'static KeyTable, before: &'static str| {
        let called = table.keys.iter().filter(move |key| key.split().1 == name);
        called.map(move |key| format!("`{before}{}`", key.path))
    };
    of(drive_keys(), "").chain(of(die_keys(), DIE_PREFIX)).collect()
}

/// Why a test has no outcome, in the words of every other message.
pub fn bench_failure(test: &str, device: &str, error: BenchError) -> Failure {
    let what = format!("test {test} on {device}: {error}");
    match error {
        BenchError::Param(error) => param_failure(error),
        BenchError::Host(HostError::Refused(Refusal::NotWholeSectors { .. })) => Failure::bad_input(what)
            .help("ask for requests of whole sectors (block_size); a test of fixed sizes needs another drive"),
        error if may_only_be_read(&error) => Failure::bad_input(what).help(help_to_write(device, NO_FILLING)),
        // The drive or the settings do not allow the test.
        BenchError::Unsuitable(_) => Failure::bad_input(what)
            .help("choose another drive or other settings; `ssdlab list tests` shows what a test takes"),
        _ => Failure::run(what),
    }
}
