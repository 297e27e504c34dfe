//! Errors as exceptions with the words of the command line. The classes are those of `ssdlab._errors`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_catalog::Diagnostic;
use ssdlab_cli::failure::Failure;

/// What the input was that cannot be used: the name of an exception class.
#[derive(Clone, Copy, Debug)]
pub enum Wrong {
    Drive,
    Parameter,
    Test,
    Job,
    Trace,
    Plan,
    Results,
    Folder,
}

impl Wrong {
    fn class(self) -> &'static str {
        match self {
            Wrong::Drive => "DriveFileError",
            Wrong::Parameter => "ParameterError",
            Wrong::Test => "TestError",
            Wrong::Job => "JobFileError",
            Wrong::Trace => "TraceError",
            Wrong::Plan => "PlanError",
            Wrong::Results => "ResultsError",
            Wrong::Folder => "FolderError",
        }
    }
}

/// A failure of a command. Bad input is of the class `wrong`.
pub fn exception(py: Python<'_>, failure: &Failure, wrong: Wrong) -> PyErr {
    match failure {
        Failure::BadInput(diagnostic) => diagnosed(py, diagnostic, wrong.class()),
        Failure::Run(diagnostic) => diagnosed(py, diagnostic, "RunError"),
        Failure::Command(_) | Failure::ReaderGone => raise(py, "RunError", &failure.to_string(), None),
    }
}

pub fn bad_input(py: Python<'_>, diagnostic: &Diagnostic, wrong: Wrong) -> PyErr {
    diagnosed(py, diagnostic, wrong.class())
}

/// A run that failed.
pub fn run_error(py: Python<'_>, what: impl Into<String>) -> PyErr {
    diagnosed(py, &Diagnostic::new(what), "RunError")
}

/// A value of an argument that does not fit.
pub fn value_error(what: impl Into<String>) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(what.into())
}

fn diagnosed(py: Python<'_>, diagnostic: &Diagnostic, class: &str) -> PyErr {
    let details = PyDict::new(py);
    let set = || -> PyResult<()> {
        details.set_item("what", &diagnostic.what)?;
        details.set_item("help", &diagnostic.help)?;
        if let Some(place) = &diagnostic.place {
            details.set_item("file", &place.file)?;
            details.set_item("line", place.line)?;
            details.set_item("column", place.column)?;
        }
        Ok(())
    };
    match set() {
        Ok(()) => raise(py, class, &diagnostic.to_string(), Some(&details)),
        Err(e) => e,
    }
}

fn raise(py: Python<'_>, class: &str, message: &str, details: Option<&Bound<'_, PyDict>>) -> PyErr {
    let made = py
        .import("ssdlab._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call((message,), details));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(e) => e,
    }
}
