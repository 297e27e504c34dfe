//! What can be wrong with a job file. Every message names the file, the line and what would be right.

use thiserror::Error;

#[derive(Debug, Error)]
pub enum JobFileError {
    #[error("{file}: cannot be read: {source}")]
    Read { file: String, source: std::io::Error },
    #[error("{file}:{line}: {problem}")]
    Syntax { file: String, line: usize, problem: String },
    #[error("{file}:{line}: unknown option `{option}`{}", nearest.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    UnknownOption { file: String, line: usize, option: String, nearest: Option<&'static str> },
    #[error("{file}:{line}: {option}: {problem}")]
    Value { file: String, line: usize, option: String, problem: String },
    #[error("{file}: no job; a job file needs at least one section such as `[job]` besides `[global]`")]
    Empty { file: String },
    /// The job is sound, but not for this drive, or its options contradict each other.
    #[error("{file}:{line}: job `{job}`: {problem}")]
    Job { file: String, line: usize, job: String, problem: String },
}
