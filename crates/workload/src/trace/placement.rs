//! Brings the addresses of a trace onto a drive, and says what it had to adjust.
//!
//! Traces were recorded on other disks. Their devices are laid side by side or folded over each other; the result is
//! wrapped modulo the drive or scaled onto it; requests that are not whole sectors are widened; requests that cross
//! the end of the drive are split, and those that are larger than it are clipped. Every adjustment is counted in a
//! [`PlacementReport`] in which counts and bytes add up:
//!
//! `commands = requests + splits`, and `placed_bytes = bytes + widened_bytes − clipped_bytes`.

use ssdlab_core::{Op, SECTOR_BYTES, UNIT_BYTES};

use super::reader::TraceRecord;
use super::summary::TraceSummary;
use crate::pattern::Command;

/// Bytes of the pieces that scaling moves, so that sequential runs inside them stay sequential.
pub const PIECE: u64 = 1 << 20;

/// What happens to addresses beyond the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// Address modulo drive: what fits stays where it was.
    #[default]
    Wrap,
    /// The trace's span is stretched or shrunk linearly onto the whole drive, in pieces of 1 MiB; several pieces may
    /// fall on one when shrunk.
    Scale,
}

/// How several devices share the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// One behind the other, in the order of their first request, each as long as its highest address.
    #[default]
    SideBySide,
    /// All from the start of the drive, over each other.
    Folded,
}

/// How to place a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementSpec {
    pub fit: Fit,
    pub devices: Devices,
    /// The smallest request of the drive, in bytes; a power of two. Requests are widened to whole ones.
    pub sector_bytes: u32,
}

impl Default for PlacementSpec {
    fn default() -> Self {
        PlacementSpec { fit: Fit::default(), devices: Devices::default(), sector_bytes: SECTOR_BYTES as u32 }
    }
}

/// What was adjusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacementReport {
    /// Requests of the trace, and their bytes.
    pub requests: u64,
    pub bytes: u64,
    /// Commands to the drive, and their bytes.
    pub commands: u64,
    pub placed_bytes: u64,
    /// Requests whose address was wrapped or scaled (laying devices side by side does not count).
    pub moved: u64,
    /// Requests that were widened to whole sectors, and by how much.
    pub widened: u64,
    pub widened_bytes: u64,
    /// Requests that became two commands.
    pub splits: u64,
    /// Requests that were larger than the drive, and how much they lost.
    pub clipped: u64,
    pub clipped_bytes: u64,
    /// Devices of the trace, their span as laid out (2^64 - 1 if it is longer), and the part of the drive that is used.
    pub devices: u64,
    pub trace_span_bytes: u64,
    pub drive_bytes: u64,
}

impl PlacementReport {
    /// The adjustments in words, one line each; empty if nothing was adjusted.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.devices > 1 {
            let span = match self.trace_span_bytes {
                u64::MAX => "2^64 bytes or more".to_owned(),
                bytes => format!("{bytes} bytes"),
            };
            lines.push(format!("{} devices of the trace share the drive, spanning {span}", self.devices));
        }
        let mut add = |count: u64, text: String| {
            if count > 0 {
                lines.push(text);
            }
        };
        add(self.moved, format!("{} requests were moved onto the drive's {} bytes", self.moved, self.drive_bytes));
        add(
            self.widened,
            format!("{} requests were widened to whole sectors, by {} bytes", self.widened, self.widened_bytes),
        );
        add(self.splits, format!("{} requests crossed the end of the drive and were split", self.splits));
        add(self.clipped, format!("{} requests were clipped, by {} bytes", self.clipped, self.clipped_bytes));
        lines
    }
}

/// The one or two commands that a request became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub first: Command,
    pub second: Option<Command>,
}

impl IntoIterator for Placed {
    type Item = Command;
    type IntoIter = std::iter::Chain<std::iter::Once<Command>, std::option::IntoIter<Command>>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self.first).chain(self.second)
    }
}

/// Places the requests of one trace onto one drive.
#[derive(Clone, Debug)]
pub struct Placement {
    spec: PlacementSpec,
    /// Where each device begins.
    bases: Vec<u128>,
    span: u128,
    drive: u64,
    report: PlacementReport,
}

impl Placement {
    /// `summary` must be that of the whole trace: it knows how far each device reaches. Of the drive, a remainder
    /// that is no multiple of 4 KiB (or of its sectors, if these are larger) is not used.
    ///
    /// # Panics
    /// If the drive has less than 4 KiB, or than a sector.
    #[must_use]
    pub fn new(spec: PlacementSpec, summary: &TraceSummary, capacity_bytes: u64) -> Self {
        // Whole mapping units, so that wrapping does not misalign a request that was aligned.
        let unit = UNIT_BYTES.max(spec.sector_bytes.into());
        assert!(capacity_bytes >= unit, "a drive of {capacity_bytes} bytes holds no block of {unit} bytes");
        let drive = capacity_bytes / unit * unit;
        // Bases stay aligned, so that no request is misaligned by its device's place.
        let (mut bases, mut span) = (Vec::new(), 0u128);
        for bytes in &summary.device_bytes {
            let extent = u128::from(*bytes).next_multiple_of(u128::from(unit));
            match spec.devices {
                Devices::SideBySide => {
                    bases.push(span);
                    span += extent;
                }
                Devices::Folded => {
                    bases.push(0);
                    span = span.max(extent);
                }
            }
        }
        let report = PlacementReport {
            devices: bases.len() as u64,
            trace_span_bytes: u64::try_from(span).unwrap_or(u64::MAX),
            drive_bytes: drive,
            ..Default::default()
        };
        Placement { spec, bases, span: span.max(1), drive, report }
    }

    #[must_use]
    pub fn report(&self) -> &PlacementReport {
        &self.report
    }

    /// The commands for a request.
    pub fn place(&mut self, record: &TraceRecord) -> Placed {
        self.report.requests += 1;
        if record.op == Op::Flush {
            self.report.commands += 1;
            return Placed { first: Command::FLUSH, second: None };
        }
        self.report.bytes = self.report.bytes.saturating_add(record.length_bytes);
        let (start, mut length) = self.widen(record);
        if length > self.drive {
            self.report.clipped += 1;
            self.report.clipped_bytes = self.report.clipped_bytes.saturating_add(length - self.drive);
            length = self.drive;
        }
        let base = self.bases.get(record.device as usize).copied().unwrap_or(0);
        let linear = base + u128::from(start);
        let offset = match self.spec.fit {
            Fit::Wrap => (linear % u128::from(self.drive)) as u64,
            Fit::Scale => self.scale(linear),
        };
        self.report.moved += u64::from(u128::from(offset) != linear);
        let left = self.drive - offset;
        let command =
            |offset_bytes, length_bytes| Command { op: record.op, offset_bytes, length_bytes, fua: record.fua };
        let placed = if length <= left {
            Placed { first: command(offset, length), second: None }
        } else {
            self.report.splits += 1;
            Placed { first: command(offset, left), second: Some(command(0, length - left)) }
        };
        for c in placed {
            self.report.commands += 1;
            self.report.placed_bytes = self.report.placed_bytes.saturating_add(c.length_bytes);
        }
        placed
    }

    /// Start and length in whole sectors.
    fn widen(&mut self, record: &TraceRecord) -> (u64, u64) {
        let sector = u64::from(self.spec.sector_bytes);
        let before = record.offset_bytes % sector;
        let length = u128::from(before) + u128::from(record.length_bytes);
        let whole = length.next_multiple_of(sector.into());
        // Only a request of nearly 2^64 bytes would not fit; it is clipped to the drive anyway.
        let whole = u64::try_from(whole).unwrap_or(u64::MAX / sector * sector);
        let added = whole.saturating_sub(record.length_bytes);
        if added > 0 {
            self.report.widened += 1;
            self.report.widened_bytes = self.report.widened_bytes.saturating_add(added);
        }
        (record.offset_bytes - before, whole)
    }

    /// Moves the piece in which the address lies, and keeps the place inside it.
    fn scale(&self, linear: u128) -> u64 {
        let piece = u128::from(PIECE.min(self.drive));
        let from = self.span.div_ceil(piece);
        let to = u128::from(self.drive) / piece;
        let moved = linear / piece * to / from * piece + linear % piece;
        (moved % u128::from(self.drive)) as u64
    }
}
