//! Traces as they come from Python: files, and tables of requests.

use pyo3::prelude::*;
use ssdlab_bench::HostError;
use ssdlab_bench::replay::ReplayError;
use ssdlab_catalog::Diagnostic;
use ssdlab_cli::commands::replay::failure;
use ssdlab_cli::trace_error::trace_failure;
use ssdlab_core::Op;
use ssdlab_workload::trace::{Format, TraceSource, TraceSummary};

use crate::failure::{Wrong, bad_input, exception};
use crate::watched::watched;

/// A file, or the columns of a table: nanoseconds, bytes, bytes (eight bytes each), numbers of commands (a byte each).
#[derive(FromPyObject)]
pub enum Trace {
    Path(std::path::PathBuf),
    Table(Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>),
}

impl Trace {
    /// Where it is read from. A table is of a format that it is told here.
    pub fn source(self, py: Python<'_>, format: Option<&str>) -> PyResult<(TraceSource, Option<Format>)> {
        match self {
            Trace::Path(path) => {
                let format = format.map(str::parse).transpose();
                let format = format.map_err(|e| exception(py, &trace_failure(&e), Wrong::Trace))?;
                Ok((TraceSource::from(path.as_path()), format))
            }
            Trace::Table(time, offset, length, op) => {
                let source = watched(py, None, move |_| table_source(&time, &offset, &length, &op))?;
                Ok((source.map_err(|d| bad_input(py, &d, Wrong::Trace))?, None))
            }
        }
    }
}

/// Requests between two looks at whether to stop.
const LOOK_EVERY: u64 = 1 << 16;

/// Reads a trace to its end: its format, its requests, and the bytes that it reads and writes.
#[pyfunction]
pub fn trace_facts(
    py: Python<'_>,
    trace: Trace,
    format: Option<&str>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(&'static str, u64, u64, u64)> {
    let (source, format) = trace.source(py, format)?;
    let read = watched(py, progress, move |watch| {
        let mut reader = source.open(format)?;
        let mut summary = TraceSummary::default();
        for record in reader.by_ref() {
            summary.add(&record?);
            let look = summary.requests.is_multiple_of(LOOK_EVERY);
            if look && watch.cancel.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(ReplayError::from(HostError::Cancelled));
            }
        }
        if summary.requests == 0 {
            return Err(ReplayError::NoRequest { file: source.name() });
        }
        Ok((reader.format().name(), summary.requests, summary.read_bytes, summary.write_bytes))
    })?;
    read.map_err(|e| exception(py, &failure(e), Wrong::Trace))
}

const SECTOR_BYTES: u64 = 512;

/// Values of eight bytes each, as NumPy stores them.
pub fn u64s(bytes: &[u8]) -> impl ExactSizeIterator<Item = u64> + '_ {
    bytes.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b))
}

/// The rows of a table as a trace.
///
/// # Errors
/// The first row that is no request, counted from 0.
pub fn table_source(time: &[u8], offset: &[u8], length: &[u8], op: &[u8]) -> Result<TraceSource, Diagnostic> {
    let columns = || u64s(time).zip(u64s(offset)).zip(u64s(length)).zip(op);
    for (row, (((_, offset), length), &op)) in columns().enumerate() {
        let wrong = |what: String| Diagnostic::new(format!("row {row} of the table: {what}"));
        match Op::ALL.get(usize::from(op)) {
            Some(Op::Flush) => {}
            Some(Op::Read | Op::Write | Op::Trim) => {
                let whole = offset.is_multiple_of(SECTOR_BYTES) && length.is_multiple_of(SECTOR_BYTES);
                if length == 0 || !whole {
                    let what = format!("offset {offset} and length {length}");
                    return Err(wrong(what).help(format!("give whole sectors of {SECTOR_BYTES} bytes, at least one")));
                }
                if offset.checked_add(length).is_none() {
                    return Err(wrong(format!("offset {offset} plus length {length} overflows 2^64 bytes")));
                }
            }
            _ => return Err(wrong("the command is none of read, write, trim and flush".to_owned())),
        }
    }
    Ok(TraceSource::table(
        columns().map(|(((at, offset), length), &op)| (at, Op::ALL[usize::from(op)], offset, length)),
    ))
}
