//! A trace's error in the form of every other message.

use std::io::ErrorKind;

use ssdlab_catalog::{Diagnostic, Place};
use ssdlab_workload::trace::{FORMATS, TraceError};

use crate::failure::Failure;

/// A trace that can be read, and asks for nothing.
pub fn no_request(file: &str) -> Failure {
    Failure::bad_input(format!("{file} holds no request to a drive"))
        .help("a trace needs at least one read, write, trim or flush; of blkparse, the lines of D events are taken")
}

/// Why a trace cannot be replayed.
pub fn trace_failure(error: &TraceError) -> Failure {
    failure(error, "name it with --format")
}

/// Why `check` knows no trace in a file.
pub fn check_failure(error: &TraceError) -> Failure {
    failure(
        error,
        "if it is no trace, name what it is with --as; of a trace, `ssdlab replay` takes the format with --format",
    )
}

/// `of_unknown`: what to do about a format that is not recognised.
fn failure(error: &TraceError, of_unknown: &str) -> Failure {
    let formats = || format!("the formats are {}", FORMATS.map(|f| f.1).join(", "));
    let diagnostic = match error {
        TraceError::Read { file, source } => {
            let diagnostic = Diagnostic::new(format!("cannot read the trace {file}: {source}"));
            match source.kind() {
                // Of what is in the file, the message says itself what to do.
                ErrorKind::InvalidData => diagnostic,
                _ => diagnostic.help("give the path of a readable trace file"),
            }
        }
        TraceError::Empty { file } => {
            Diagnostic::new(format!("the trace {file} is empty")).help("a trace has at least one request")
        }
        TraceError::UnknownFormat { file } => {
            Diagnostic::new(format!("the format of the trace {file} is not recognised"))
                .help(format!("{of_unknown}; {}", formats()))
        }
        TraceError::UnknownFormatName { name } => {
            let diagnostic = Diagnostic::new(format!("there is no trace format `{name}`"));
            match ssdlab_core::nearest(name, FORMATS.iter().map(|f| f.1)).first() {
                Some(close) => diagnostic.help(format!("did you mean {close}?")),
                None => diagnostic,
            }
            .help(formats())
        }
        TraceError::Line { file, line, text, problem } => {
            Diagnostic::new(problem.clone()).at(Place::of_line_text(file, *line, text))
        }
        TraceError::Record { file, byte, problem } => {
            Diagnostic::new(format!("{file}: record at byte {byte}: {problem}"))
        }
    };
    Failure::BadInput(diagnostic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_asked_for_where_it_is_at_fault() {
        let told = |kind| {
            let source = std::io::Error::new(kind, "it is so");
            trace_failure(&TraceError::Read { file: "t".to_owned(), source }).to_string()
        };
        for kind in [ErrorKind::NotFound, ErrorKind::InvalidInput] {
            assert!(told(kind).contains("give the path"), "{}", told(kind));
        }
        assert!(!told(ErrorKind::InvalidData).contains("help"), "{}", told(ErrorKind::InvalidData));
    }
}
