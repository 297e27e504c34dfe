//! Reviews, published figures, and results side by side.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use ssdlab_bench::plan::{PlanJob, PlanOptions, run_plan};
use ssdlab_bench::{Outcome as BenchOutcome, parse_settings};
use ssdlab_catalog::claims;
use ssdlab_cli::commands::claims::{Asked, check_published, document, needed_jobs};
use ssdlab_cli::commands::compare;
use ssdlab_cli::commands::review::{chosen_tests, jobs_of, with_settings, write_into};
use ssdlab_cli::failure::Failure;
use ssdlab_cli::figures::Figures;
use ssdlab_cli::folder::{OutputFolder, Writes};
use ssdlab_cli::lab::{SimulatedDrive, drives};
use ssdlab_cli::plan::{Results, param_failure};
use ssdlab_cli::review_of::{claims_about, review_of};
use ssdlab_cli::side_by_side;
use ssdlab_report::{ResultsDocument, results_json, terminal_summary};

use crate::drive::Drive;
use crate::failure::{Wrong, exception, run_error};
use crate::outcome::Outcome;
use crate::watched::watched;

/// Tests of one or several drives, and the published figures about them.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct Review {
    drives: Vec<Arc<SimulatedDrive>>,
    review: ssdlab_report::Review,
    /// Why tests have no outcome.
    #[pyo3(get)]
    failures: Vec<String>,
}

/// Runs tests on all cores. If none ran, the error is the one with which a command would end.
fn run(
    py: Python<'_>,
    drives: &[Arc<SimulatedDrive>],
    jobs: Vec<PlanJob>,
    options: PlanOptions,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    for job in &jobs {
        job.check(options.quick).map_err(|e| exception(py, &param_failure(e), Wrong::Parameter))?;
    }
    let of_run: Vec<Arc<SimulatedDrive>> = drives.to_vec();
    let results = watched(py, progress, move |watch| {
        let labs: Vec<&SimulatedDrive> = of_run.iter().map(|d| &**d).collect();
        let names: Vec<&str> = labs.iter().map(|lab| lab.device()).collect();
        Results::sorted(&jobs, &names, run_plan(&labs, &jobs, options, &|p| watch.report(p.done), &watch.cancel))
    })?;
    if results.outcomes.is_empty() {
        let last = results.into_failures().pop();
        return last.map_or_else(|| Ok(Results::default()), |last| Err(exception(py, &last, Wrong::Test)));
    }
    Ok(results)
}

#[pymethods]
impl Review {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "called from Python, where a struct would be a class")]
    fn new(
        py: Python<'_>,
        drives: Vec<PyRef<'_, Drive>>,
        only: Vec<String>,
        settings: Vec<String>,
        figures: Option<PathBuf>,
        seed: u64,
        quick: bool,
        threads: Option<NonZeroUsize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Review> {
        let parameter = |f: Failure| exception(py, &f, Wrong::Parameter);
        let drives: Vec<Arc<SimulatedDrive>> = drives.iter().map(|d| Arc::clone(&d.drive)).collect();
        for (i, drive) in drives.iter().enumerate() {
            if drives[..i].iter().any(|other| other.device() == drive.device()) {
                let twice = Failure::bad_input(format!("{} is named twice", drive.device()));
                return Err(parameter(twice.help("name each drive once, or give changed ones names of their own")));
            }
        }
        let tests = chosen_tests(&only).map_err(parameter)?;
        let settings = parse_settings(&settings).map_err(|e| parameter(param_failure(e)))?;
        let jobs = with_settings(jobs_of(&drives, &tests, !only.is_empty()), &settings)
            .map_err(|e| parameter(param_failure(e)))?;
        let figures = Figures::read(figures.as_deref()).map_err(|f| exception(py, &f, Wrong::Drive))?;
        let names: Vec<String> = drives.iter().map(|d| d.device().to_owned()).collect();
        let figures = figures.about(&names);
        figures.concern(&names).map_err(parameter)?;
        let options = PlanOptions { threads, seed, quick };
        let mut results = run(py, &drives, jobs, options, progress)?;
        let left_out = std::mem::take(&mut results.left_out);
        let failures = results.without_outcome();
        let outcomes = results.outcomes;
        let claims = claims_about(&drives, &outcomes, figures.all());
        let review = ssdlab_report::Review { left_out, ..review_of(&drives, outcomes, claims, seed, quick) };
        Ok(Review { drives, review, failures })
    }

    /// The document that `ssdlab review` writes as results.json.
    fn results_json(&self, py: Python<'_>) -> PyResult<String> {
        results_json(&self.review).map_err(|e| run_error(py, e.to_string()))
    }

    /// As the command line shows it.
    fn text(&self) -> String {
        terminal_summary(&self.review, None, false)
    }

    /// Every outcome, in the order of the report.
    fn outcomes(&self) -> Vec<Outcome> {
        let of = |outcome: &BenchOutcome| {
            let drive = self.drives.iter().find(|d| d.device() == outcome.device).unwrap_or(&self.drives[0]);
            Outcome::new(Arc::clone(drive), None, outcome.clone(), self.review.seed, self.review.quick, None)
        };
        self.review.outcomes.iter().map(of).collect()
    }

    /// Writes index.html, results.json, series and charts, as `ssdlab review --out` does: into `unfinished` within the folder if
    /// tests did not finish.
    fn save(&self, py: Python<'_>, dir: PathBuf, force: bool) -> PyResult<()> {
        let write = || write_into(&mut OutputFolder::open(&dir, Writes::REVIEW, force)?, &self.review);
        py.detach(write).map(|_| ()).map_err(|f| exception(py, &f, Wrong::Folder))
    }
}

/// Published figures beside ours, as `ssdlab claims --json` prints them, and why tests have no outcome. Without devices, all.
#[pyfunction]
pub fn claims_json(
    py: Python<'_>,
    devices: Vec<String>,
    figures: Option<PathBuf>,
    seed: u64,
    quick: bool,
    threads: Option<NonZeroUsize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let figures = Figures::read(figures.as_deref()).map_err(|f| exception(py, &f, Wrong::Drive))?;
    let asked = Asked::of(figures, &devices).map_err(|f| exception(py, &f, Wrong::Drive))?;
    let Asked { claims: all, devices: names, everything } = asked;
    let drives = drives(&names, seed).map_err(|f| exception(py, &f, Wrong::Drive))?;
    let drives: Vec<Arc<SimulatedDrive>> = drives.into_iter().map(Arc::new).collect();
    let mut judged: Vec<&str> = drives.iter().map(|d| d.device()).collect();
    let jobs = check_published(&all, &judged).and_then(|()| needed_jobs(&all, &judged));
    let jobs = jobs.map_err(|f| exception(py, &f, Wrong::Drive))?;
    let results = run(py, &drives, jobs, PlanOptions { threads, seed, quick }, progress)?;
    if everything {
        judged.extend(claims::missing_drives(&all));
    }
    let mut document = document(&claims::evaluate(&all, &judged, &results.outcomes), seed, quick);
    document["complete"] = results.is_whole().into();
    document["failures"] = results.without_outcome().into();
    Ok(document.to_string())
}

/// The figures of two results.json side by side, as `ssdlab compare --json` prints them. Each is (text, name); without a
/// text, the name is the path of the file.
#[pyfunction]
pub fn compare_json(
    py: Python<'_>,
    first: (Option<String>, PathBuf),
    second: (Option<String>, PathBuf),
) -> PyResult<String> {
    let read = |(text, path): (Option<String>, PathBuf)| {
        let document = match text {
            None => compare::read(&path).map_err(Failure::from),
            Some(text) => ResultsDocument::from_json(&text, &path.display().to_string())
                .map_err(|e| Failure::bad_input(e.to_string())),
        };
        document.map_err(|f| exception(py, &f, Wrong::Results))
    };
    let documents = [read(first)?, read(second)?];
    Ok(side_by_side::document(&documents).map_err(|f| exception(py, &f, Wrong::Results))?.to_string())
}
