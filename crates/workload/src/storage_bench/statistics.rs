//! A stream's own figures, in the bins of the publication.

use ssdlab_core::{Nanos, Op};

use super::published::{depth_bin, size_bin};
use super::stream::Step;

/// Counts requests as the publication did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// By [`super::SIZE_BINS`].
    pub sizes: [u64; 8],
    /// By [`super::DEPTH_BINS`].
    pub depths: [u64; 8],
    depth_sum: u64,
    /// Requests that begin where the last request of the same operation ended.
    pub sequential: u64,
    ends: [Option<u64>; 2],
    pub pauses: u64,
    pub pause_total: Nanos,
    pub pause_longest: Nanos,
}

impl Statistics {
    #[inline]
    pub fn record(&mut self, step: &Step) {
        let c = &step.command;
        let slot = if c.op == Op::Write {
            self.writes += 1;
            self.written_bytes += c.length_bytes;
            1
        } else {
            self.reads += 1;
            self.read_bytes += c.length_bytes;
            0
        };
        self.sequential += u64::from(self.ends[slot] == Some(c.offset_bytes));
        self.ends[slot] = Some(c.offset_bytes + c.length_bytes);
        self.sizes[size_bin(c.length_bytes)] += 1;
        self.depths[depth_bin(step.depth)] += 1;
        self.depth_sum += u64::from(step.depth);
        self.pauses += u64::from(step.pause > 0);
        self.pause_total += step.pause;
        self.pause_longest = self.pause_longest.max(step.pause);
    }

    #[must_use]
    pub fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// Mean queue depth that requests are sent at, themselves included; 0 without requests.
    #[must_use]
    pub fn mean_depth(&self) -> f64 {
        self.depth_sum as f64 / self.requests().max(1) as f64
    }

    /// `part` of the requests in per cent; 0 without requests.
    #[must_use]
    pub fn percent(&self, part: u64) -> f64 {
        100.0 * part as f64 / self.requests().max(1) as f64
    }
}
