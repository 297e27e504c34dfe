//! A job file's error in the form of every other message.

use ssdlab_catalog::Diagnostic;
use ssdlab_workload::fio::JobFileError;

use crate::failure::Failure;
use crate::place::at_line;

pub fn job_file_failure(error: &JobFileError) -> Failure {
    let at = |what: String, file: &str, line: usize| at_line(Diagnostic::new(what), file, line as u64);
    Failure::BadInput(match error {
        JobFileError::Read { file, source } => Diagnostic::new(format!("cannot read the job file {file}: {source}"))
            .help("give the path of a readable fio job file"),
        JobFileError::Empty { file } => Diagnostic::new(format!("{file} has no job"))
            .help("a job file needs at least one section such as [job] besides [global]"),
        JobFileError::Syntax { file, line, problem } => at(problem.clone(), file, *line),
        JobFileError::UnknownOption { file, line, option, nearest } => {
            let what = at(format!("unknown option `{option}`"), file, *line);
            match nearest {
                Some(name) => what.help(format!("did you mean `{name}`?")),
                None => what.help("docs/fio-jobs.md lists the options that are understood"),
            }
        }
        JobFileError::Value { file, line, option, problem } => at(format!("{option}: {problem}"), file, *line),
        JobFileError::Job { file, line, job, problem } => at(format!("job `{job}`: {problem}"), file, *line),
    })
}
