//! Asking the processor for map entries before they are needed. Changes no result.
//!
//! Which units a collector moves is known when a die begins to read them, long before their map entries are. Asked
//! for all at once, they would wait for one another; asked for much earlier, they would be out of the caches again.
//! So a cursor follows the reads under way and asks for a few entries with every event.

use std::collections::VecDeque;

use ssdlab_ftl::{FlashOp, Ftl};

/// Entries asked for with one event; up to four times as many if reads pile up.
const STEP: u32 = 8;

/// Reads whose units' map entries are still to be asked for.
#[derive(Clone, Debug, Default)]
pub struct LookAhead {
    reads: VecDeque<FlashOp>,
    /// Of the read in front: units from here on, and which of the next 64 are still to be looked at.
    at: u32,
    left: u64,
    /// Where the read in front ends.
    end: u32,
}

impl LookAhead {
    #[inline]
    pub fn follow(&mut self, op: FlashOp) {
        self.reads.push_back(op);
    }

    #[inline]
    pub fn step(&mut self, ftl: &Ftl) {
        let mut entries = STEP * (1 + self.reads.len() as u32 / 2).min(4);
        while entries > 0 {
            if self.left == 0 && !self.next_span(ftl) {
                return;
            }
            (self.left, entries) = ftl.prefetch_moved(self.at, self.left, entries);
        }
    }

    /// Goes on to the next units; returns whether there are any.
    #[inline]
    fn next_span(&mut self, ftl: &Ftl) -> bool {
        self.at += 64;
        if self.at >= self.end {
            let Some(op) = self.reads.pop_front() else {
                self.at = self.end;
                return false;
            };
            let rows = op.rows.ilog2() + 1;
            let layout = ftl.medium().layout();
            self.at = layout.row_start(op.block, op.page.into());
            self.end = self.at + rows * layout.row_units;
        }
        self.left = ftl.valid_units(self.at) & (u64::MAX >> (64 - (self.end - self.at).min(64)));
        true
    }
}
