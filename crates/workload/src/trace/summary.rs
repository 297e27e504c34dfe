//! What a trace holds, counted in one pass.

use std::io::Read;

use ssdlab_core::{Fnv1a, Nanos, Op};

use super::error::TraceError;
use super::reader::{Stamps, TraceReader, TraceRecord};

/// Bins of request sizes: label and smallest size in bytes. Each reaches up to the next.
pub const SIZE_BINS: [(&str, u64); 7] = [
    ("<4 KiB", 0),
    ("4 KiB", 4 << 10),
    ("8 KiB", 8 << 10),
    ("16 KiB", 16 << 10),
    ("32 KiB", 32 << 10),
    ("64 KiB", 64 << 10),
    ("128 KiB+", 128 << 10),
];

/// Counts and bytes of a trace, as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSummary {
    pub requests: u64,
    pub reads: u64,
    pub writes: u64,
    pub trims: u64,
    pub flushes: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub trim_bytes: u64,
    /// Arrival of the last request after the first.
    pub duration: Nanos,
    /// Requests other than flushes that do not begin and end on 4 KiB boundaries.
    pub unaligned: u64,
    /// Those of them that are writes.
    pub unaligned_writes: u64,
    /// End of the highest request of each device, in bytes, by device index.
    pub device_bytes: Vec<u64>,
    /// Reads and writes by size, in the bins of [`SIZE_BINS`].
    pub size_bins: [u64; SIZE_BINS.len()],
    /// What the time stamps are like.
    pub stamps: Stamps,
    /// Lines or records that are no requests to a drive.
    pub skipped: u64,
    /// Of all requests in their order: equal for traces that ask for the same.
    pub digest: Fnv1a,
}

impl TraceSummary {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// The first error in the trace.
    pub fn read<R: Read>(reader: &mut TraceReader<R>) -> Result<Self, TraceError> {
        let mut summary = TraceSummary::default();
        for record in reader.by_ref() {
            summary.add(&record?);
        }
        summary.close(reader);
        Ok(summary)
    }

    /// Takes over what only the reader knows, at the end of the trace.
    pub fn close<R: Read>(&mut self, reader: &TraceReader<R>) {
        self.stamps = reader.stamps();
        self.skipped = reader.skipped();
    }

    /// Counts one request.
    pub fn add(&mut self, record: &TraceRecord) {
        self.requests += 1;
        for number in [record.at, record.offset_bytes, record.length_bytes, record.device.into()] {
            self.digest.add(&number.to_le_bytes());
        }
        self.digest.add(&[record.op as u8, record.fua.into()]);
        self.duration = self.duration.max(record.at);
        let device = record.device as usize;
        if self.device_bytes.len() <= device {
            self.device_bytes.resize(device + 1, 0);
        }
        let (count, bytes) = match record.op {
            Op::Read => (&mut self.reads, &mut self.read_bytes),
            Op::Write | Op::WriteZeroes => (&mut self.writes, &mut self.write_bytes),
            Op::Trim => (&mut self.trims, &mut self.trim_bytes),
            Op::Flush => {
                self.flushes += 1;
                return;
            }
        };
        *count += 1;
        // A sum that does not fit is that of a broken trace; it must not break the reader.
        *bytes = bytes.saturating_add(record.length_bytes);
        let end = record.offset_bytes.saturating_add(record.length_bytes);
        self.device_bytes[device] = self.device_bytes[device].max(end);
        let unaligned = u64::from(!record.offset_bytes.is_multiple_of(4096) || !end.is_multiple_of(4096));
        self.unaligned += unaligned;
        if matches!(record.op, Op::Write | Op::WriteZeroes) {
            self.unaligned_writes += unaligned;
        }
        if record.op != Op::Trim {
            let bin = SIZE_BINS.iter().rposition(|b| b.1 <= record.length_bytes).unwrap_or(0);
            self.size_bins[bin] += 1;
        }
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.write_bytes).saturating_add(self.trim_bytes)
    }

    /// Reads in per cent of reads and writes; `None` without either.
    #[must_use]
    pub fn read_percent(&self) -> Option<f64> {
        let both = self.reads + self.writes;
        (both > 0).then(|| self.reads as f64 * 100.0 / both as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_that_ask_for_something_else_have_another_digest() {
        let request = TraceRecord { at: 5, op: Op::Write, device: 0, offset_bytes: 0, length_bytes: 4096, fua: false };
        let digest = |records: &[TraceRecord]| {
            let mut summary = TraceSummary::default();
            records.iter().for_each(|record| summary.add(record));
            summary.digest
        };
        let other = |change: fn(&mut TraceRecord)| {
            let mut other = request;
            change(&mut other);
            digest(&[request, other])
        };
        let same = other(|_| ());
        assert_eq!(same, digest(&[request, request]));
        let changes: [fn(&mut TraceRecord); 6] = [
            |r| r.at = 6,
            |r| r.op = Op::WriteZeroes,
            |r| r.device = 1,
            |r| r.offset_bytes = 4096,
            |r| r.length_bytes = 8192,
            |r| r.fua = true,
        ];
        assert!(changes.into_iter().all(|change| other(change) != same));
        assert_ne!(digest(&[request]), same);
    }
}
