//! What can be wrong with a trace. Every message names the file, the place and what would be right.

use thiserror::Error;

use super::format::format_names;

#[derive(Debug, Error)]
pub enum TraceError {
    #[error("{file}: cannot be read: {source}")]
    Read { file: String, source: std::io::Error },
    #[error("{file}: is empty; a trace has at least one request")]
    Empty { file: String },
    #[error("{file}: the format is not recognised; name it, one of: {}", format_names())]
    UnknownFormat { file: String },
    #[error("unknown trace format `{name}`; use one of: {}", format_names())]
    UnknownFormatName { name: String },
    /// A line of a text format.
    #[error("{file}:{line}: {problem}")]
    Line {
        file: String,
        line: u64,
        /// The line, or its beginning.
        text: String,
        problem: String,
    },
    /// A record of a binary format.
    #[error("{file}: record at byte {byte}: {problem}")]
    Record { file: String, byte: u64, problem: String },
}
