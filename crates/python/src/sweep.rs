//! Sweeps, point by point, so that any executor can run them: a point is known by its key, and its result is a text that
//! says so.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use ssdlab_bench::Monitor;
use ssdlab_catalog::Diagnostic;
use ssdlab_cli::commands;
use ssdlab_cli::failure::Failure;
use ssdlab_sweep::{
    Column as SweptColumn, Plan, PointError, State, Store, Table as SweptTable, point_text, read_point, sweep,
};

use crate::failure::{Wrong, bad_input, exception, run_error};
use crate::folder::Folder;
use crate::table::{Column, Table};
use crate::watched::watched;

/// A plan that was read and checked.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct SweepPlan {
    plan: Arc<Plan>,
}

/// What is known of each point of a plan.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct SweepStates {
    plan: Arc<Plan>,
    states: Arc<Vec<State>>,
}

/// By the texts of points that are finished and the failures of others.
fn states_of(
    plan: &Plan,
    finished: &BTreeMap<String, String>,
    failed: &BTreeMap<String, String>,
) -> Result<Vec<State>, String> {
    let state = |point: &ssdlab_sweep::Point| {
        if let Some(known) = point.known() {
            return Ok(State::Done(known));
        }
        match (finished.get(&point.key), failed.get(&point.key)) {
            (Some(text), _) => read_point(&point.key, text).map(State::Done),
            (None, Some(why)) => Ok(State::Failed(why.clone())),
            (None, None) => Ok(State::NotRun),
        }
    };
    plan.points.iter().map(state).collect()
}

fn refused(py: Python<'_>, error: impl std::fmt::Display) -> PyErr {
    exception(py, &Failure::bad_input(error.to_string()).help("choose another folder"), Wrong::Folder)
}

#[pymethods]
impl SweepPlan {
    /// Reads the text of a plan; files that it names lie beside `file`.
    #[new]
    fn new(py: Python<'_>, file: &str, text: &str) -> PyResult<SweepPlan> {
        let (file, text) = (file.to_owned(), text.to_owned());
        let plan = watched(py, None, move |_| Plan::parse(&file, &text))?;
        Ok(SweepPlan { plan: Arc::new(plan.map_err(|d| bad_input(py, &d, Wrong::Plan))?) })
    }

    fn __len__(&self) -> usize {
        self.plan.points.len()
    }

    #[getter]
    fn title(&self) -> &str {
        &self.plan.title
    }

    /// Keys of the points that have to be run, each once, in the order of the plan.
    fn keys(&self) -> Vec<&str> {
        let mut seen = std::collections::BTreeSet::new();
        let to_run = self.plan.points.iter().filter(|p| p.known().is_none());
        to_run.map(|p| p.key.as_str()).filter(|key| seen.insert(*key)).collect()
    }

    /// A point in words.
    fn describe(&self, key: &str) -> Option<String> {
        let index = self.plan.points.iter().position(|p| p.key == key)?;
        Some(self.plan.describe(index))
    }

    /// Runs a point; its result as a text that can be kept, or (None, why it failed). Failures are bugs.
    #[pyo3(signature = (key, progress=None))]
    fn run_point(
        &self,
        py: Python<'_>,
        key: &str,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Option<String>, String)> {
        let Some(index) = self.plan.points.iter().position(|p| p.key == key) else {
            let other = Diagnostic::new(format!("the plan has no point {key} here"))
                .help("use the same version of ssdlab, and the same files that the plan names, on every machine");
            return Err(bad_input(py, &other, Wrong::Plan));
        };
        let plan = Arc::clone(&self.plan);
        let result = watched(py, progress, move |watch| {
            let point = &plan.points[index];
            let report = |done: f64| watch.report(done);
            let result = point.run(&plan.tasks[point.task], &Monitor::new(&report, &watch.cancel))?;
            point_text(&point.key, &plan.describe(index), &result).map_err(|e| PointError::Failed(e.to_string()))
        })?;
        Ok(match result {
            Ok(text) => (Some(text), String::new()),
            Err(PointError::Failed(why)) => (None, why),
            Err(PointError::Cancelled) => (None, "stopped".to_owned()),
        })
    }

    /// Why the text cannot be used as the result of the point `key`; `None` if it can.
    fn flaw(&self, key: &str, text: &str) -> Option<String> {
        read_point(key, text).err()
    }

    /// What is known of each point, by the texts of those that are finished and the failures of others. Every text is checked.
    fn states(
        &self,
        py: Python<'_>,
        finished: BTreeMap<String, String>,
        failed: BTreeMap<String, String>,
    ) -> PyResult<SweepStates> {
        let plan = Arc::clone(&self.plan);
        let states = watched(py, None, move |_| states_of(&plan, &finished, &failed))?;
        let states = states.map_err(|e| run_error(py, e))?;
        Ok(SweepStates { plan: Arc::clone(&self.plan), states: Arc::new(states) })
    }

    /// Runs what the store in the folder does not have, on threads of this process.
    fn run_here(
        &self,
        py: Python<'_>,
        folder: PyRef<'_, Folder>,
        threads: Option<NonZeroUsize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<BTreeMap<String, String>> {
        let store = Store::open(folder.path()).map_err(|e| refused(py, e))?;
        let plan = Arc::clone(&self.plan);
        let result = watched(py, progress, move |watch| {
            sweep(&plan, &store, threads, &|p| watch.report(p.done), &watch.cancel)
        })?;
        let result = result.map_err(|e| {
            let failure = Failure::run(e.to_string());
            let failure = failure.help("what is finished is kept; the same call goes on from there");
            exception(py, &failure, Wrong::Folder)
        })?;
        let failed = self.plan.points.iter().zip(result.states).filter_map(|(point, state)| match state {
            State::Failed(why) => Some((point.key.clone(), why)),
            _ => None,
        });
        Ok(failed.collect())
    }
}

#[pymethods]
impl SweepStates {
    /// The table of results: a row a point.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let column = |(name, unit, column): (String, String, SweptColumn)| match column {
            SweptColumn::Text(values) => Column::text(&name, values),
            SweptColumn::Number(values) => Column::optional(&name, &unit, values),
        };
        let (plan, states) = (Arc::clone(&self.plan), Arc::clone(&self.states));
        watched(py, None, move |_| {
            Table::new(SweptTable::new(&plan, &states).columns.into_iter().map(column).collect())
        })
    }

    /// Why points are impossible, a line a reason; and the error that none is possible at all, if so.
    fn impossible(&self, py: Python<'_>) -> (String, Option<PyErr>) {
        let (why, none) = py.detach(|| {
            (commands::sweep::why_impossible(&self.plan, &self.states), commands::sweep::none_possible(&self.states))
        });
        (why, none.map(|f| exception(py, &f, Wrong::Plan)))
    }

    /// Writes the table and the page of charts, as `ssdlab sweep` does; returns the paths.
    fn write(&self, py: Python<'_>, folder: PyRef<'_, Folder>) -> PyResult<Vec<PathBuf>> {
        folder.write(py, |folder| commands::sweep::write(folder, &self.plan, &self.states))
    }
}
