//! A drive, disk or array that can be tested, and powered on for a host of one's own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use ssdlab_bench::fio_run::{FioError, FioOptions, FioRun, Prefill, log_names, run_file_whole};
use ssdlab_bench::host::SlowestSeen;
use ssdlab_bench::plan::{PlanJob, guarded};
use ssdlab_bench::replay::{ReplaySpec, Speed, replay_file};
use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_bench::{Lab, Monitor};
use ssdlab_catalog::{DeviceTemplate, Diagnostic};
use ssdlab_cli::apart::check_apart;
use ssdlab_cli::commands::{replay, run, show};
use ssdlab_cli::failure::Failure;
use ssdlab_cli::lab::{SimulatedDrive, Tested as _};
use ssdlab_cli::plan::{bench_failure, param_failure};
use ssdlab_cli::saved::{Keep, SavedDrive, Words};
use ssdlab_cli::timeline::TimelineFile;
use ssdlab_core::SECOND;
use ssdlab_workload::fio::JobFile;
use ssdlab_workload::trace::{Devices, Fit, PlacementSpec};

use crate::failure::{Wrong, bad_input, exception, value_error};
use crate::live::Live;
use crate::outcome::{JobReport, Outcome};
use crate::policy::{Policies, Studied};
use crate::records::{Recorded, Records};
use crate::trace::Trace;
use crate::watched::{Watch, watched};

/// A drive of the catalog, of a file, or a device expression, with changes of its keys.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct Drive {
    pub drive: Arc<SimulatedDrive>,
    policies: Policies,
}

/// Names and values, as a command line gives them.
type Settings = Vec<(String, String)>;

fn open(
    py: Python<'_>,
    template: Result<DeviceTemplate, Diagnostic>,
    changes: &Settings,
    policies: Policies,
) -> PyResult<Drive> {
    let changed = |template: DeviceTemplate| {
        if changes.is_empty() && policies.is_none() {
            return Ok(template.recipe);
        }
        template.set_with(changes, policies.functions())
    };
    let asked = |template: DeviceTemplate| policies.check_asked(&template.recipe).map(|()| template);
    let checked = |recipe| policies.check(&recipe).map(|()| recipe);
    let recipe =
        template.and_then(asked).and_then(changed).and_then(checked).map_err(|d| bad_input(py, &d, Wrong::Drive))?;
    // The specimen that is built to look at it; which one makes no difference to what it says of itself.
    let drive = watched(py, None, move |_| SimulatedDrive::of(recipe, 1))?;
    let drive = drive.map_err(|f| exception(py, &f, Wrong::Drive))?;
    Ok(Drive { drive: Arc::new(drive), policies })
}

/// Runs something on fresh drives; of each command a record is kept, up to a limit of zero or more.
fn recorded<T>(
    drive: &SimulatedDrive,
    policies: &Policies,
    watch: &Arc<Watch>,
    limit: usize,
    run: impl FnOnce(&dyn Lab) -> T,
) -> (T, Option<Records>) {
    let studied = Studied { drive, policies, watch };
    let fresh: &dyn Lab = if policies.is_none() { drive } else { &studied };
    if limit == 0 {
        return (run(fresh), None);
    }
    let lab = Recorded::new(fresh, limit);
    let result = run(&lab);
    (result, Some(lab.into_records()))
}

/// A saved drive to begin with, if it is not a new one, and the days for which it has lain without power since.
type Start = (Option<PathBuf>, u32);

const WORDS: Words = Words { seed_is: "seed=", seed: "seed", takes: "start takes what save has written" };

/// Where a drive is kept in the end, and where a timeline is written, if anywhere.
type Files = (Option<PathBuf>, Option<PathBuf>);

fn files(py: Python<'_>, (save, path): &Files) -> PyResult<(Keep, TimelineFile)> {
    let keep = Keep::at(save.as_deref()).map_err(|f| exception(py, &f, Wrong::Test))?;
    let timeline = TimelineFile::at(path.as_deref()).map_err(|f| exception(py, &f, Wrong::Test))?;
    check_apart(&[("save", save.as_deref()), ("timeline", path.as_deref())], None)
        .map_err(|f| exception(py, &f, Wrong::Test))?;
    Ok((keep, timeline))
}

impl Drive {
    fn starting(&self, py: Python<'_>, start: Start, seed: u64) -> PyResult<Arc<SimulatedDrive>> {
        let (Some(path), days) = start else { return Ok(Arc::clone(&self.drive)) };
        let drive = Arc::clone(&self.drive);
        let saved = watched(py, None, move |_| SavedDrive::stored(&path, days, drive.recipe(), seed, WORDS))?;
        let saved = saved.map_err(|f| exception(py, &f, Wrong::Drive))?;
        Ok(Arc::new(self.drive.starting(Some(saved))))
    }

    /// Writes what of these was asked for, the one also if the other cannot be written; returns why not.
    fn write(
        &self,
        py: Python<'_>,
        (keep, kept): (&Keep, Option<&[u8]>),
        (timeline, seen): (&TimelineFile, Option<&SlowestSeen>),
    ) -> Option<PyErr> {
        let capacity_bytes = self.drive.recipe().capacity_bytes();
        let written =
            [keep.write(capacity_bytes, kept, false).map(drop), timeline.write(seen, self.drive.name()).map(drop)];
        let besides = |first: Failure, other| match other {
            Failure::Run(other) => first.help(format!("besides: {}", other.what)),
            _ => first,
        };
        written.into_iter().filter_map(Result::err).reduce(besides).map(|f| exception(py, &f, Wrong::Test))
    }
}

#[pymethods]
impl Drive {
    /// A name of the catalog, the path of a file that ends in .toml, or a device expression; paths begin at `folder`, if
    /// there is one. `policies` has the functions, and is held by whoever has the drive.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        text: &str,
        folder: PathBuf,
        changes: Settings,
        policies: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Drive> {
        open(py, DeviceTemplate::open(text, &folder), &changes, Policies::new(policies)?)
    }

    /// The text of a drive, disk or array file, which is called `file` in messages.
    #[staticmethod]
    fn parse(
        py: Python<'_>,
        file: &str,
        text: &str,
        changes: Settings,
        policies: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Drive> {
        open(py, DeviceTemplate::parse(file, text), &changes, Policies::new(policies)?)
    }

    #[getter]
    fn name(&self) -> &str {
        self.drive.device()
    }

    #[getter]
    fn description(&self) -> &str {
        &self.drive.reviewed.facts.description
    }

    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.drive.recipe().capacity_bytes()
    }

    /// By how much the drive can be made smaller in proportion: a power of two, `most` at the most.
    fn divisor(&self, py: Python<'_>, most: u32) -> u32 {
        let recipe = self.drive.recipe();
        let mut powers = (0..most.max(1).ilog2() + 1).rev().map(|k| 1 << k);
        py.detach(|| powers.find(|&by| by == 1 || recipe.small(by).is_some()).unwrap_or(1))
    }

    /// Every value with its source, as `ssdlab show --json` prints them.
    fn show_json(&self) -> String {
        show::device_json(self.drive.recipe()).to_string()
    }

    /// What decides on its behaviour, in JSON: equal for equal drives.
    fn identity_json(&self) -> String {
        self.drive.identity().to_string()
    }

    #[expect(clippy::too_many_arguments, reason = "called from Python, where a struct would be a class")]
    fn test(
        &self,
        py: Python<'_>,
        name: &str,
        settings: Settings,
        start: Start,
        seed: u64,
        quick: bool,
        records: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Outcome> {
        let test = find_test(name).map_err(|e| exception(py, &param_failure(e), Wrong::Parameter))?;
        let job = PlanJob { lab: 0, test, variant: String::new(), settings };
        job.check(quick).map_err(|e| exception(py, &param_failure(e), Wrong::Parameter))?;
        let (drive, policies) = (self.starting(py, start, seed)?, self.policies.clone());
        let begins_as = drive.reviewed().facts.begins_as.clone();
        let (result, records) = watched(py, progress, move |watch| {
            let report = |done: f64| watch.report(done);
            let monitor = Monitor::new(&report, &watch.cancel);
            recorded(&drive, &policies, watch, records, |lab| {
                guarded(|| run_test(test, &lab, &job.settings, seed, quick, &monitor))
            })
        })?;
        let mut outcome =
            result.map_err(|e| exception(py, &bench_failure(test.name, self.drive.device(), e), Wrong::Test))?;
        outcome.notes.extend(self.policies.notes());
        Ok(Outcome::new(Arc::clone(&self.drive), begins_as, outcome, seed, quick, records))
    }

    /// An outcome of a test of this drive, of its parts, without records and histograms.
    fn restored(&self, begins_as: Option<String>, outcome: &str, seed: u64, quick: bool) -> PyResult<Outcome> {
        let outcome: ssdlab_bench::Outcome =
            serde_json::from_str(outcome).map_err(|e| value_error(format!("no outcome of a test: {e}")))?;
        // Where it ran, the drive may have had another path.
        let outcome = ssdlab_bench::Outcome { device: self.drive.device().to_owned(), ..outcome };
        Ok(Outcome::new(Arc::clone(&self.drive), begins_as, outcome, seed, quick, None))
    }

    /// Runs a fio job file, given as text.
    #[expect(clippy::too_many_arguments, reason = "called from Python, where a struct would be a class")]
    fn run(
        &self,
        py: Python<'_>,
        file: &str,
        text: &str,
        variables: BTreeMap<String, String>,
        prefill: &str,
        rest_seconds: Option<u64>,
        start: Start,
        written: Files,
        seed: u64,
        records: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(JobReport, Option<PyErr>)> {
        let prefill = match prefill {
            "read" => Prefill::Read,
            "drive" => Prefill::Drive,
            "none" => Prefill::Nothing,
            other => return Err(value_error(format!("prefill={other:?} is none of 'read', 'drive' and 'none'"))),
        };
        let value = |name: &str| variables.get(name).cloned();
        let job = JobFile::parse_with(file, text, &value)
            .map_err(|e| bad_input(py, &Diagnostic::from(&e).within(file, text), Wrong::Job))?;
        let mut notices = job.notices_on(self.drive.recipe().capacity_bytes());
        let logs = log_names(&job);
        if !logs.is_empty() {
            notices.push(format!(
                "no log is written from Python ({}): records=True keeps every command, and `ssdlab run` writes logs",
                logs.join(", ")
            ));
        }
        let (drive, policies) = (self.starting(py, start, seed)?, self.policies.clone());
        let (keep, timeline) = files(py, &written)?;
        let rest = rest_seconds.map(|seconds| seconds * SECOND);
        let options = FioOptions { seed, prefill, rest, keep: keep.is_asked_for(), timeline: timeline.is_asked_for() };
        let (result, records) = watched(py, progress, move |watch| {
            let report = |done: f64| watch.report(done);
            let monitor = Monitor::new(&report, &watch.cancel);
            recorded(&drive, &policies, watch, records, |lab| run_file_whole(&job, lab, options, &monitor))
        })?;
        let report = result.map_err(|e| match e {
            FioError::Job(e) => bad_input(py, &Diagnostic::from(&e).within(file, text), Wrong::Job),
            other => exception(py, &run::failure(other), Wrong::Test),
        })?;
        let FioRun { report, searches, fresh, kept, slowest_seen, .. } = report;
        notices.extend(searches);
        notices.extend(fresh);
        notices.extend(self.policies.notes());
        let unwritten = self.write(py, (&keep, kept.as_deref()), (&timeline, slowest_seen.as_ref()));
        Ok((JobReport::new(report, notices, records), unwritten))
    }

    /// Replays a trace: the path of a file, or the columns of a table.
    #[expect(clippy::too_many_arguments, reason = "called from Python, where a struct would be a class")]
    fn replay(
        &self,
        py: Python<'_>,
        trace: Trace,
        format: Option<&str>,
        speed: &str,
        queue_depth: u32,
        scale: bool,
        folded: bool,
        prefill: bool,
        rest_seconds: Option<u64>,
        start: Start,
        written: Files,
        seed: u64,
        records: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Outcome, Option<PyErr>)> {
        let (trace, format) = trace.source(py, format)?;
        let speed = speed.parse::<Speed>().map_err(|e| {
            value_error(format!("`{}` is not a speed: use recorded, asap, or a factor such as 2x or 0.5x", e.0))
        })?;
        let spec = ReplaySpec {
            trace,
            format,
            speed,
            queue_depth,
            placement: PlacementSpec {
                fit: if scale { Fit::Scale } else { Fit::Wrap },
                devices: if folded { Devices::Folded } else { Devices::SideBySide },
                ..Default::default()
            },
            prefill,
            rest: rest_seconds.map(|seconds| seconds * SECOND),
            seed,
            keep: false,
            timeline: false,
        };
        let (drive, policies) = (self.starting(py, start, seed)?, self.policies.clone());
        let begins_as = drive.reviewed().facts.begins_as.clone();
        let (keep, timeline) = files(py, &written)?;
        let spec = ReplaySpec { keep: keep.is_asked_for(), timeline: timeline.is_asked_for(), ..spec };
        let (result, records) = watched(py, progress, move |watch| {
            let report = |done: f64| watch.report(done);
            let monitor = Monitor::new(&report, &watch.cancel);
            recorded(&drive, &policies, watch, records, |lab| replay_file(&spec, lab, &monitor))
        })?;
        let replayed = result.map_err(|e| exception(py, &replay::failure(e), Wrong::Trace))?;
        let (kept, seen) = (replayed.kept.as_deref(), replayed.slowest_seen.as_ref());
        let unwritten = self.write(py, (&keep, kept), (&timeline, seen));
        let histograms = replayed.measurement.ops().map(|(op, stats)| (op, stats.latency.clone())).collect();
        let mut found = replayed.outcome();
        found.notes.extend(self.policies.notes());
        let mut outcome = Outcome::new(Arc::clone(&self.drive), begins_as, found, seed, false, records);
        outcome.histograms = histograms;
        Ok((outcome, unwritten))
    }

    /// A new specimen, powered on.
    fn power_on(&self, py: Python<'_>, seed: u64, explain: bool) -> PyResult<Live> {
        let (drive, policies) = (Arc::clone(&self.drive), self.policies.clone());
        // Who uses it hears what its functions raise: `heard_by`.
        let watch = Arc::new(Watch::default());
        let built = watched(py, None, move |_| {
            let build = if explain { Policies::build::<true> } else { Policies::build::<false> };
            build(&policies, drive.recipe(), seed, &watch)
        })?;
        Ok(Live::new(built.map_err(|d| bad_input(py, &d, Wrong::Drive))?, explain, !self.policies.is_none()))
    }
}
