//! `ssdlab._native`: what the Python package `ssdlab` (`python/`) is made of.
//!
//! The package's own files hold what people see: classes, documentation, plots. Here is what must be fast or must have
//! the words of the command line. Devices, reviews and messages are those of the command (`ssdlab-cli`); columns leave
//! as Arrow ([`table`]); whatever takes its time runs on a thread of its own ([`watched`]).

mod drive;
mod failure;
mod fleet;
mod folder;
mod live;
mod outcome;
mod policy;
mod records;
mod review;
mod sweep;
mod table;
mod trace;
mod watched;

use std::path::PathBuf;

use pyo3::prelude::*;
use ssdlab_bench::replay::ReplaySpec;
use ssdlab_catalog::Diagnostic;
use ssdlab_cli::args::ListWhat;
use ssdlab_core::input;
use ssdlab_sweep::Plan;
use ssdlab_workload::fio::JobFileError;

use crate::failure::{Wrong, bad_input, exception};

/// Runs a command line, of which the first word is the name of the program; returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| ssdlab_cli::command(words))
}

/// What there is, as `ssdlab list WHAT --json` prints it.
#[pyfunction]
fn list_json(py: Python<'_>, what: &str) -> PyResult<String> {
    let what = match what {
        "devices" => ListWhat::Devices,
        "tests" => ListWhat::Tests,
        "adapters" => ListWhat::Adapters,
        "nand" => ListWhat::Nand,
        other => return Err(failure::value_error(format!("`{other}` is none of devices, tests, adapters and nand"))),
    };
    let document = ssdlab_cli::commands::list::document(what).map_err(|f| exception(py, &f, Wrong::Drive))?;
    Ok(document.to_string())
}

/// The text of a job file.
#[pyfunction]
fn job_file_text(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    input::read_text(&path).map_err(|source| {
        let error = JobFileError::Read { file: path.display().to_string(), source };
        bad_input(py, &Diagnostic::from(&error), Wrong::Job)
    })
}

/// The text of the plan of a sweep.
#[pyfunction]
fn plan_text(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    Plan::text(&path).map_err(|e| bad_input(py, &e, Wrong::Plan))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("FINGERPRINT", ssdlab_sweep::FINGERPRINT)?;
    module.add("LIVES", ssdlab_fleet::fingerprint())?;
    module.add("MOST_REPLAY_DEPTH", ReplaySpec::MOST_QUEUE_DEPTH)?;
    module.add_class::<drive::Drive>()?;
    module.add_class::<fleet::Fleet>()?;
    module.add_class::<fleet::FleetSummary>()?;
    module.add_class::<folder::Folder>()?;
    module.add_class::<live::Live>()?;
    module.add_class::<outcome::Outcome>()?;
    module.add_class::<outcome::JobReport>()?;
    module.add_class::<review::Review>()?;
    module.add_class::<sweep::SweepPlan>()?;
    module.add_class::<sweep::SweepStates>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(job_file_text, module)?)?;
    module.add_function(wrap_pyfunction!(list_json, module)?)?;
    module.add_function(wrap_pyfunction!(plan_text, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::check_class, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::check_fleet, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::measure_life, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::live_through, module)?)?;
    module.add_function(wrap_pyfunction!(outcome::bins_table, module)?)?;
    module.add_function(wrap_pyfunction!(review::claims_json, module)?)?;
    module.add_function(wrap_pyfunction!(review::compare_json, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_facts, module)?)?;
    Ok(())
}
