//! Runs a fio job file on a device, and reports as fio does.
//!
//! | file | what |
//! |---|---|
//! | `plan` | from the job file to the clones of each stage, checked against the drive |
//! | `task` | one clone: when it may send, when it must wait, when it has ended |
//! | `engine` | the clones of one stage side by side on the device |
//! | `latency_target`, `steady` | what ends a job or changes its depth while it runs |
//! | `meter` | what is measured of each reported entry |
//! | `report` | the figures under fio's JSON names |
//! | `outcome` | the same as a test's result: for the page and `results.json` |
//! | `logs` | `write_bw_log` and its like |
//! | `text`, `terse` | fio's normal and terse layouts |
//!
//! **How time passes.** Sending a command takes the host no time: what a device serves is what is measured, and fio's
//! submission latency does not occur. All else follows fio: a flush holds back the commands behind it in its job
//! until it has completed; think time begins when everything that the job has in flight has completed; commands in
//! flight when a runtime ends are waited for and counted; bandwidth is sampled every 500 ms.
//!
//! **The drive.** It is new. What the jobs of a file read is written first, in sequence, as fio lays out a file
//! before it reads it, and then the drive rests for [`PREFILL_REST`]. The rest of the drive stays as it left the factory
//! ([`Prefill`] says otherwise).
//!
//! ```
//! use ssdlab_bench::{Monitor, fio_run::{FioOptions, run_file}, model::ModelSpec};
//! use ssdlab_workload::fio::JobFile;
//!
//! let file = JobFile::parse("reads.fio", "[reads]\nrw=randread\nsize=1m\nioengine=libaio\niodepth=4\ntime_based\nruntime=1\n")?;
//! let report = run_file(&file, &ModelSpec::default(), FioOptions::default(), &Monitor::silent())?;
//! // Reads of 100 us, four at a time.
//! assert_eq!(report.jobs[0].reads().iops, 40_000.0);
//! assert!(report.to_text().contains("read: IOPS=40.0k, BW=156MiB/s (164MB/s)(156MiB/1000msec)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod engine;
mod latency_target;
mod logs;
mod meter;
mod number;
mod outcome;
mod plan;
mod report;
mod steady;
mod task;
mod terse;
#[cfg(test)]
mod tests;
mod text;

pub use logs::{LogSink, log_names};
pub use outcome::{ASKED, LEADS, OTHER_JOBS, PREFILL, REST, TEST};
pub use report::{Direction, FioReport, JobReport, Latency, RunFacts, Sync, TimeShares};
pub use steady::{SteadyData, SteadyReport};

use ssdlab_core::Nanos;
use ssdlab_device::Refusal;
use ssdlab_workload::fio::{JobFile, JobFileError};
use thiserror::Error;

use crate::error::{BenchError, HostError};
use crate::host::{Host, SlowestSeen, cannot_be_saved, cannot_tell};
use crate::lab::{Lab, PoweredOn, stored_note};
use crate::monitor::Monitor;
use crate::outcome::Outcome;
use engine::Ending;
use logs::AllLogs;
use meter::EntryMeter;
use plan::Plan;
use report::says_of_jobs;

/// Share of the progress that prefilling takes.
const PREFILL_SHARE: f64 = 0.2;

/// What came out of a job file: fio's report, and a result for each of its entries.
#[derive(Debug)]
pub struct FioRun {
    pub report: FioReport,
    /// Without entries that never began.
    pub outcomes: Vec<Outcome>,
    /// What of the job file has not run to its end, if it was stopped.
    pub stopped: Option<String>,
    /// Every entry of which that is so.
    pub unfinished: Vec<Unfinished>,
    /// What a reader must know of the rates, if the drive was fresh.
    pub fresh: Option<String>,
    /// Of jobs of which `latency_target` had found no depth when they were over, of those that were over within their ramp, of those
    /// whose rate had commands due while their queue was full, and of those that others kept from beginning.
    pub searches: Vec<String>,
    /// What the drive keeps without power, if that was asked for.
    pub kept: Option<Vec<u8>>,
    /// What its parts did while the slowest request waited, if that was asked for and a request was measured.
    pub slowest_seen: Option<SlowestSeen>,
}

/// An entry that has not run to its end.
#[derive(Debug)]
pub struct Unfinished {
    /// Its name, as that of its outcome.
    pub entry: String,
    /// Why, in a clause.
    pub why: String,
}

/// Why a job file did not run to its end.
#[derive(Debug, Error)]
pub enum FioError {
    /// The job file does not suit the drive; nothing has run.
    #[error(transparent)]
    Job(#[from] JobFileError),
    #[error("a log cannot be written: {0}")]
    Log(#[source] std::io::Error),
    #[error(transparent)]
    Bench(#[from] BenchError),
}

impl From<engine::EngineError> for FioError {
    fn from(e: engine::EngineError) -> Self {
        match e {
            engine::EngineError::Host(e) => e.into(),
            engine::EngineError::Log(e) => FioError::Log(e),
        }
    }
}

impl From<HostError> for FioError {
    fn from(e: HostError) -> Self {
        FioError::Bench(e.into())
    }
}

/// What is written, in sequence, before the first job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefill {
    /// What jobs read.
    #[default]
    Read,
    /// The whole drive.
    Drive,
    /// Nothing: reads of what no job has written find nothing, and cost no flash.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FioOptions {
    /// Seed of every random number, where a job has no `randseed`.
    pub seed: u64,
    pub prefill: Prefill,
    /// How long the drive rests before the first job; `None`: for [`PREFILL_REST`] after what was written, else not at all.
    pub rest: Option<Nanos>,
    /// Whether the drive is shut down at the end, for [`FioRun::kept`].
    pub keep: bool,
    /// Whether its parts are watched, for [`FioRun::slowest_seen`].
    pub timeline: bool,
}

impl Default for FioOptions {
    fn default() -> Self {
        FioOptions { seed: 1, prefill: Prefill::default(), rest: None, keep: false, timeline: false }
    }
}

/// Runs the job file on a new device of `lab`.
///
/// # Errors
/// [`FioError::Job`] before anything runs, if a job does not fit the drive; [`FioError::Bench`] for what can go wrong
/// in any test, cancellation too.
pub fn run_file(
    file: &JobFile,
    lab: &dyn Lab,
    options: FioOptions,
    monitor: &Monitor<'_>,
) -> Result<FioReport, FioError> {
    Ok(run_file_whole(file, lab, options, monitor)?.report)
}

/// The same, with all that comes out of it.
///
/// # Errors
/// As [`run_file`].
pub fn run_file_whole(
    file: &JobFile,
    lab: &dyn Lab,
    options: FioOptions,
    monitor: &Monitor<'_>,
) -> Result<FioRun, FioError> {
    match run_file_logging(file, lab, options, &mut NoLogs, monitor)? {
        FioRun { stopped: Some(_), .. } => Err(HostError::Cancelled.into()),
        run => Ok(run),
    }
}

/// Where there is nothing to log.
struct NoLogs;

impl LogSink for NoLogs {
    fn append(&mut self, _name: &str, _text: &str) -> std::io::Result<()> {
        Ok(())
    }
}

/// As [`run_file`]; the logs that the jobs ask for go to `sink`. If it is stopped once jobs run, that is no error: they end as
/// if their runtimes were over, and what they did is reported.
///
/// # Errors
/// As [`run_file`], and [`FioError::Log`].
pub fn run_file_logging(
    file: &JobFile,
    lab: &dyn Lab,
    options: FioOptions,
    sink: &mut dyn LogSink,
    monitor: &Monitor<'_>,
) -> Result<FioRun, FioError> {
    let PoweredOn { mut device, ready } = lab.fresh(options.seed).map_err(BenchError::Device)?;
    let plan = Plan::new(file, device.info().capacity_bytes, options.seed)?;
    if plan.trims() && !device.info().supports_trim {
        let problem = format!("a job trims, but {} does not support TRIM", lab.name());
        return Err(BenchError::Unsuitable(problem).into());
    }
    let sector_bytes = device.info().sector_bytes;
    if let Some((job, bytes)) = plan.not_in_sectors(sector_bytes) {
        let name = lab.name();
        let problem =
            format!("job `{job}` sends {bytes} bytes at once, and {name} takes multiples of {sector_bytes} bytes");
        return Err(BenchError::Unsuitable(problem).into());
    }
    if device.info().read_only
        && let Some(op) = plan.changes()
    {
        return Err(HostError::Refused(Refusal::ReadOnly { op }).into());
    }
    let mut host = Host::resuming(&mut *device, monitor, ready);
    if options.keep && !host.can_be_put_away() {
        return Err(cannot_be_saved(lab.name()).into());
    }
    if options.timeline && !host.can_be_watched() {
        return Err(cannot_tell(lab.name()).into());
    }
    let prefilled = match options.prefill {
        Prefill::Read => plan.read_spans(),
        Prefill::Drive => vec![(0, host.info().capacity_bytes)],
        Prefill::Nothing => Vec::new(),
    };
    let share = if prefilled.is_empty() { 0.0 } else { PREFILL_SHARE };
    let part = |i: usize| share * i as f64 / prefilled.len() as f64;
    let rested = host.prefill(&prefilled, options.rest, |i| monitor.step(part(i), part(i + 1)))?;
    let before = host.counters();
    host.limit_time();
    if options.timeline {
        host.watch_slowest();
    }
    let mut entries = plan.entries();
    let mut watches = plan.watches();
    let stages = plan.stages.len() as f64;
    let mut logs = AllLogs::new(file, sink);
    let mut ending = Ending::Normal;
    for (i, stage) in plan.stages.into_iter().enumerate() {
        let at = |i: usize| (share + (1.0 - share) * i as f64 / stages).min(1.0);
        monitor.step(at(i), at(i + 1));
        ending = engine::run(&mut host, stage, &mut entries, &mut watches, &mut logs)?;
        if ending != Ending::Normal {
            break;
        }
    }
    let stopped = if ending == Ending::Stopped { says_of_a_stop(file, &entries) } else { None };
    let never = named(file, &entries, &|entry| !entry.has_run()).filter(|_| stopped.is_none());
    let never = never.map(|jobs| format!("{jobs} did not begin: a job that ends others (exitall) had ended before"));
    logs.end().map_err(FioError::Log)?;
    host.check_books()?;
    let measured = EntryMeter::run_of_all(entries.iter());
    let facts = RunFacts {
        device: lab.name().to_owned(),
        capacity_bytes: host.info().capacity_bytes,
        seed: options.seed,
        begins: lab.begins(),
        rested,
        prefilled_bytes: prefilled.iter().map(|(start, end)| end - start).sum(),
        counters: host.counters().since(&before),
        measured: measured.map(|run| run.since_its_beginning(&host.counters())),
    };
    let slowest_seen = host.slowest_seen();
    let kept = options.keep.then(|| host.put_away()).transpose()?;
    let unfinished = if stopped.is_some() { outcome::unfinished(file, &entries) } else { Vec::new() };
    let mut outcomes = outcome::outcomes(file, &entries, &facts, options, slowest_seen.as_ref());
    let fresh = facts.says_of_a_state_that_is_not_steady(file, &entries);
    let stored = stored_note(lab.stored_days());
    let said = || stored.iter().chain(&stopped).chain(&never).chain(&fresh).cloned();
    outcomes.iter_mut().for_each(|outcome| outcome.notes.extend(said()));
    let mut report = FioReport::new(file, &entries, &watches, &facts)?;
    report.ssdlab.notices.extend(stored.iter().chain(&fresh).cloned());
    report.ssdlab.stored = stored;
    if let Some(why) = stopped.as_ref().or(never.as_ref()) {
        report.leave_out_what_never_began(&entries, why);
    }
    let searches = says_of_jobs(file, &entries).chain(never).collect();
    Ok(FioRun { report, outcomes, stopped, unfinished, fresh, searches, kept, slowest_seen })
}

/// How many jobs a message names.
const MOST_NAMED: usize = 5;

/// Names of such entries, if there are any.
fn named(file: &JobFile, entries: &[EntryMeter], which: &dyn Fn(&EntryMeter) -> bool) -> Option<String> {
    let found: Vec<&EntryMeter> = entries.iter().filter(|e| which(e)).collect();
    let mut words: Vec<String> = found.iter().take(MOST_NAMED).map(|e| file.jobs[e.job].name.clone()).collect();
    if found.len() > MOST_NAMED {
        words.push(format!("{} more", found.len() - MOST_NAMED));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// Which jobs ended before their time, and which never began; `None` if the stop came when all was over.
fn says_of_a_stop(file: &JobFile, entries: &[EntryMeter]) -> Option<String> {
    let cut = named(file, entries, &|e| e.is_cut && e.has_run()).map(|jobs| format!("{jobs} ended before its time"));
    let lacks = |e: &EntryMeter| e.lacks_some && !e.is_cut && e.has_run();
    let lacks = named(file, entries, &lacks).map(|jobs| format!("not every job that is reported with {jobs} began"));
    let never = named(file, entries, &|e| !e.has_run()).map(|jobs| format!("{jobs} did not begin"));
    let all: Vec<String> = cut.into_iter().chain(lacks).chain(never).collect();
    (!all.is_empty()).then(|| format!("stopped: {}", all.join("; ")))
}
