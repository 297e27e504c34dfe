//! Where requests go. Nothing about addresses was published; all of this is an estimate.
//!
//! A sequential request begins where the one before of the same operation ended. Of the others, small ones have the
//! locality of the JESD219 enterprise workload (half of them in 5 % of the addresses, three tenths in the next 15 %,
//! the rest in the last 80 %), because small requests are metadata and databases; large ones, which belong to files,
//! begin anywhere.

use ssdlab_core::{Op, Rng, SECTOR_BYTES, UNIT_BYTES};

/// Requests of this size and above begin anywhere.
const LARGE_BYTES: u64 = 64 << 10;
/// (per cent of the small requests, per cent of the addresses).
const LOCALITY: [(u64, u64); 3] = [(50, 5), (30, 15), (20, 80)];
/// The largest request must fit behind any place.
pub(super) const SMALLEST_FOOTPRINT_BYTES: u64 = 16 << 20;

#[derive(Clone, Debug)]
pub(super) struct Places {
    footprint_bytes: u64,
    /// Where the last read and the last write ended.
    ends: [Option<u64>; 2],
    rng: Rng,
}

impl Places {
    pub(super) fn new(footprint_bytes: u64, rng: Rng) -> Self {
        debug_assert!(footprint_bytes >= SMALLEST_FOOTPRINT_BYTES && footprint_bytes.is_multiple_of(UNIT_BYTES));
        Places { footprint_bytes, ends: [None; 2], rng }
    }

    fn slot(op: Op) -> usize {
        usize::from(op == Op::Write)
    }

    /// Where a sequential request would begin; `None` at the end of the addresses, and where a request of whole
    /// 4 KiB units would have to begin inside one.
    #[inline]
    pub(super) fn sequel(&self, op: Op, length_bytes: u64) -> Option<u64> {
        let end = self.ends[Self::slot(op)]?;
        let aligned = length_bytes < UNIT_BYTES || end.is_multiple_of(UNIT_BYTES);
        (aligned && end + length_bytes <= self.footprint_bytes).then_some(end)
    }

    /// A place that is not the sequel.
    #[inline]
    pub(super) fn elsewhere(&mut self, op: Op, length_bytes: u64) -> u64 {
        let align = if length_bytes < UNIT_BYTES { SECTOR_BYTES } else { UNIT_BYTES };
        let room = self.footprint_bytes - length_bytes;
        let (from, span) = if length_bytes >= LARGE_BYTES { (0, room) } else { self.zone(room) };
        let at = from + self.rng.below(span / align + 1) * align;
        if self.ends[Self::slot(op)] == Some(at) {
            return if at >= align { at - align } else { at + align };
        }
        at
    }

    fn zone(&mut self, room: u64) -> (u64, u64) {
        let mut draw = self.rng.below(100);
        let mut from = 0;
        for (share, addresses) in LOCALITY {
            let span = room / 100 * addresses / UNIT_BYTES * UNIT_BYTES;
            if draw < share {
                return (from, span);
            }
            draw -= share;
            from += span;
        }
        (0, room)
    }

    #[inline]
    pub(super) fn went(&mut self, op: Op, offset_bytes: u64, length_bytes: u64) {
        self.ends[Self::slot(op)] = Some(offset_bytes + length_bytes);
    }
}
