//! Turns bench and job-file errors into diagnostics.

use ssdlab_bench::ParamError;
use ssdlab_workload::fio::JobFileError;

use super::{Diagnostic, Place};

impl Diagnostic {
    fn did_you_mean(self, nearest: &[String]) -> Self {
        if nearest.is_empty() { self } else { self.help(format!("did you mean {}?", nearest.join(" or "))) }
    }

    /// Points at a line (from 1) of a text file; if the file cannot be read again, only its number is shown.
    #[must_use]
    pub fn at_line(self, file: &str, line: u64) -> Self {
        self.at(Place::of_line(file, line))
    }
}

/// A name or value that a test does not take.
impl From<ParamError> for Diagnostic {
    fn from(error: ParamError) -> Self {
        match error {
            ParamError::Unknown { test, key, nearest, known } => {
                Diagnostic::new(format!("test {test} has no parameter `{key}`"))
                    .did_you_mean(&nearest)
                    .help(format!("its parameters are {}", known.join(", ")))
            }
            ParamError::UnknownTest { name, nearest, known } => Diagnostic::new(format!("there is no test `{name}`"))
                .did_you_mean(&nearest)
                .help(format!("the tests are {}", known.join(", "))),
            ParamError::Value { test, key, value, expected } => {
                Diagnostic::new(format!("test {test}: {key}={value} does not fit")).help(expected)
            }
            ParamError::Form(text) => Diagnostic::new(format!("`{text}` is not a setting"))
                .help("settings have the form KEY=VALUE, as in --set queue_depth=32"),
            twice @ ParamError::Twice { .. } => Diagnostic::new(twice.to_string()).help("keep one of them"),
        }
    }
}

impl From<&JobFileError> for Diagnostic {
    fn from(error: &JobFileError) -> Self {
        let at = |what: &str, file: &str, line: usize| Diagnostic::new(what).at_line(file, line as u64);
        match error {
            JobFileError::Read { file, source } => {
                Diagnostic::new(format!("cannot read the job file {file}: {source}"))
                    .help("give the path of a readable fio job file")
            }
            JobFileError::Empty { file } => Diagnostic::new(format!("{file} has no job"))
                .help("a job file needs at least one section such as [job] besides [global]"),
            JobFileError::Syntax { file, line, problem } => at(problem, file, *line),
            JobFileError::UnknownOption { file, line, option, nearest } => {
                let what = at(&format!("unknown option `{option}`"), file, *line);
                match nearest {
                    Some(name) => what.help(format!("did you mean `{name}`?")),
                    None => what.help("docs/fio-jobs.md lists the options that are understood"),
                }
            }
            JobFileError::Value { file, line, option, problem } => at(&format!("{option}: {problem}"), file, *line),
            JobFileError::Job { file, line, job, problem } => at(&format!("job `{job}`: {problem}"), file, *line),
        }
    }
}
