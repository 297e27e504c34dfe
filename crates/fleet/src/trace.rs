//! A trace as a class of work: its addresses and sizes, rotated and scaled, as often as a life takes.

use serde::{Deserialize, Serialize};
use ssdlab_bench::host::Host;
use ssdlab_bench::{BenchError, HostError};
use ssdlab_core::{Op, Rng};
use ssdlab_workload::trace::{
    Fit, Format, Placement, PlacementSpec, SCALED_PIECE_BYTES, SourceReader, TraceError, TraceRecord, TraceSource,
    TraceSummary,
};
use ssdlab_workload::{Command, Source};

/// Addresses turn by whole mapping units, so that what was aligned stays so.
const UNIT: u64 = 4096;
/// What a pass may write, in capacities of the drive: each point of a life takes one.
const LONGEST_PASS: f64 = 16.0;
/// Bytes read for each byte written: with more, wear is not what a life is about.
const MOST_READS: f64 = 99.0;
const LEAST_SCALE: f64 = 1e-6;
const MOST_SCALE: f64 = 1e6;
const MOST_PIECES: u64 = 1 << 40;
/// Traces of so many requests at most are kept; others are read again each time. Some 40 bytes each.
const KEPT: u64 = 1 << 20;
/// Requests between two looks at the monitor.
const LOOK_EVERY: u64 = 1 << 16;

/// What a class of work says of its trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracedWork {
    /// For tables.
    pub name: String,
    pub format: Option<String>,
    /// Of the trace's bytes, by whoever gives it: lives of two traces are not taken for each other.
    pub digest: String,
    pub requests: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Of addresses, for the whole drive. If not given, so that the trace spans all that holds data.
    pub scale: Option<f64>,
}

impl TracedWork {
    pub(crate) fn check(&self) -> Result<(), String> {
        let name = &self.name;
        if let Some(scale) = self.scale
            && !(LEAST_SCALE..=MOST_SCALE).contains(&scale)
        {
            return Err(format!("scale is {scale}; it must lie between {LEAST_SCALE} and {MOST_SCALE}"));
        }
        if self.write_bytes == 0 {
            return Err(format!("the trace {name} writes nothing, so that no life could be told from it"));
        }
        if self.reads_per_write() > MOST_READS {
            return Err(format!(
                "the trace {name} reads {:.0} bytes for each byte that it writes; at most {MOST_READS} are possible",
                self.reads_per_write()
            ));
        }
        self.format()?;
        Ok(())
    }

    fn format(&self) -> Result<Option<Format>, String> {
        self.format.as_deref().map(str::parse).transpose().map_err(|e: TraceError| e.to_string())
    }

    pub(crate) fn reads_per_write(&self) -> f64 {
        self.read_bytes as f64 / self.write_bytes as f64
    }
}

/// Requests of a trace without their times, one pass after the other.
pub(crate) struct Traced {
    source: TraceSource,
    format: Format,
    summary: TraceSummary,
    placement: Placement,
    span: u64,
    rotation: u64,
    /// All of them, of a short trace.
    kept: Option<Vec<TraceRecord>>,
    reader: Option<SourceReader>,
    /// Of this pass.
    seen: u64,
    /// What became of a request and has not been sent. At most three: it is cut where the scaled trace ends, and where the
    /// span does.
    rest: Vec<Command>,
    /// Bytes that may still be written.
    allowed: f64,
    fault: Option<TraceError>,
    changed: bool,
}

impl Traced {
    pub(crate) fn new(
        what: &TracedWork,
        source: &TraceSource,
        host: &Host<'_>,
        span: u64,
        by: u32,
        rng: &Rng,
    ) -> Result<Traced, BenchError> {
        let mut reader = source.open(what.format().map_err(BenchError::Unsuitable)?).map_err(refused)?;
        let (summary, kept) = summed(&mut reader, host)?;
        let same = (summary.requests, summary.read_bytes, summary.write_bytes);
        if same != (what.requests, what.read_bytes, what.write_bytes) {
            return Err(changed(source));
        }
        if summary.trims > 0 && !host.info().supports_trim {
            return Err(BenchError::Unsuitable("the trace trims, but the drive does not support TRIM".to_owned()));
        }
        if span < UNIT {
            return Err(BenchError::Unsuitable(format!("a trace needs {UNIT} bytes that hold data at least")));
        }
        let onto = |bytes| {
            let spec = PlacementSpec { fit: Fit::Scale, ..PlacementSpec::default() };
            Placement::new(spec, &summary, bytes)
        };
        let mut placement = onto(span);
        if let Some(scale) = what.scale {
            let pieces =
                placement.report().trace_span_bytes.div_ceil(SCALED_PIECE_BYTES) as f64 * scale / f64::from(by);
            placement = onto((libm::ceil(pieces) as u64).clamp(1, MOST_PIECES) * SCALED_PIECE_BYTES);
        }
        let rotation = rng.stream("rotation").below(span / UNIT) * UNIT;
        Ok(Traced {
            source: source.clone(),
            format: reader.format(),
            summary,
            placement,
            span,
            rotation,
            kept,
            reader: None,
            seen: 0,
            rest: Vec::new(),
            allowed: 0.0,
            fault: None,
            changed: false,
        })
    }

    /// What a pass writes.
    pub(crate) fn pass_bytes(&self, capacity_bytes: u64) -> Result<f64, BenchError> {
        let pass = self.summary.write_bytes as f64;
        let capacities = pass / capacity_bytes as f64;
        if capacities > LONGEST_PASS {
            return Err(BenchError::Unsuitable(format!(
                "the trace {} writes {capacities:.1} times as much as the drive that is measured holds, and at most \
                 {LONGEST_PASS} times are possible: measure a larger one (`small`), or give a part of the trace",
                self.source.file_name()
            )));
        }
        Ok(pass)
    }

    /// From now on, about so many bytes may be written.
    pub(crate) fn allow(&mut self, bytes: f64) {
        self.allowed = bytes;
    }

    /// # Errors
    /// What ended the trace.
    pub(crate) fn fault(&mut self) -> Result<(), BenchError> {
        match self.fault.take() {
            Some(fault) => Err(refused(fault)),
            None if self.changed => Err(changed(&self.source)),
            None => Ok(()),
        }
    }

    /// Takes the next request in; false at a fault.
    fn read(&mut self) -> Result<bool, TraceError> {
        let record = match (&self.kept, &mut self.reader) {
            (Some(kept), _) => kept.get(self.seen as usize).copied(),
            (None, Some(reader)) => reader.next().transpose()?,
            (None, none) => none.insert(self.source.open(Some(self.format))?).next().transpose()?,
        };
        match record {
            Some(record) => {
                self.seen += 1;
                for command in self.placement.place(&record) {
                    self.turn(command);
                }
                self.changed = self.seen > self.summary.requests;
            }
            None => {
                self.changed = self.seen != self.summary.requests;
                self.reader = None;
                self.seen = 0;
            }
        }
        Ok(!self.changed)
    }

    /// Turns the addresses; what comes over the end goes on at the beginning.
    fn turn(&mut self, command: Command) {
        if command.op == Op::Flush {
            self.rest.push(command);
            return;
        }
        let length = command.length_bytes.min(self.span);
        let offset = (command.offset_bytes % self.span + self.rotation) % self.span;
        let first = length.min(self.span - offset);
        self.rest.push(Command { offset_bytes: offset, length_bytes: first, ..command });
        if first < length {
            self.rest.push(Command { offset_bytes: 0, length_bytes: length - first, ..command });
        }
    }
}

impl Source for Traced {
    fn next(&mut self) -> Option<Command> {
        if self.allowed <= 0.0 {
            return None;
        }
        while self.rest.is_empty() {
            match self.read() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(fault) => {
                    self.fault = Some(fault);
                    return None;
                }
            }
        }
        let command = self.rest.remove(0);
        if command.op == Op::Write || command.op == Op::WriteZeroes {
            self.allowed -= command.length_bytes as f64;
        }
        Some(command)
    }
}

/// Reads a trace to its end; keeps its requests if they are few.
fn summed(reader: &mut SourceReader, host: &Host<'_>) -> Result<(TraceSummary, Option<Vec<TraceRecord>>), BenchError> {
    let (mut summary, mut kept) = (TraceSummary::default(), Some(Vec::new()));
    for record in reader {
        let record = record.map_err(refused)?;
        summary.add(&record);
        if summary.requests > KEPT {
            kept = None;
        }
        if let Some(kept) = &mut kept {
            kept.push(record);
        }
        if summary.requests.is_multiple_of(LOOK_EVERY) && !host.monitor().go_on(0.0) {
            return Err(HostError::Cancelled.into());
        }
    }
    Ok((summary, kept))
}

/// It was sound when the class was made.
fn refused(e: TraceError) -> BenchError {
    BenchError::Unsuitable(e.to_string())
}

fn changed(source: &TraceSource) -> BenchError {
    BenchError::Unsuitable(format!("{}: was changed while it was replayed", source.name()))
}

#[cfg(test)]
mod tests;
