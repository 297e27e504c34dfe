//! Asking the processor of this machine for map entries before they are needed. Changes no result.
//!
//! Which units a collector moves is known when a die begins to read them, long before their map entries are. Asked
//! for all at once, they would wait for one another; asked for much earlier, they would be out of the caches again.
//! So a cursor follows the reads under way and asks for a few entries with every event.

use std::collections::VecDeque;

use ssdlab_nand::{Medium, UnitAddress};

use super::map::Map;
use super::validity::Validity;
use crate::op::FlashOp;

/// Entries asked for with one event, and as many again for each read that waits behind the one in front. With fewer they come too late.
const STEP: u32 = 3;
/// At most so many with one event: they wait for one another, and the program with them (docs/performance.md).
const MOST: u32 = 30;

/// Reads whose units' map entries are still to be asked for.
#[derive(Clone, Debug, Default)]
pub struct MapPrefetch {
    reads: VecDeque<FlashOp>,
    /// Of the read in front: units from here on, and which of the next 64 are still to be looked at.
    at: UnitAddress,
    left: u64,
    /// Where the read in front ends.
    end: UnitAddress,
}

impl MapPrefetch {
    /// A die begins to read what a collector will move.
    #[inline]
    pub fn follow(&mut self, op: FlashOp) {
        self.reads.push_back(op);
    }

    #[inline(always)]
    pub fn step(&mut self, map: &Map, medium: &Medium, validity: &Validity) {
        // Most drives do not collect most of the time.
        if self.left != 0 || !self.reads.is_empty() || self.at + 64 < self.end {
            self.ask(map, medium, validity);
        }
    }

    fn ask(&mut self, map: &Map, medium: &Medium, validity: &Validity) {
        let mut entries = (STEP * (1 + self.reads.len() as u32)).min(MOST);
        while entries > 0 {
            if self.left == 0 && !self.next_span(medium, validity) {
                return;
            }
            let format = medium.format();
            let tags = medium.tags_from(self.at);
            let mut left = self.left;
            while left != 0 && entries != 0 {
                map.prefetch(format.address(tags[(left.trailing_zeros() & 63) as usize]));
                left &= left - 1;
                entries -= 1;
            }
            self.left = left;
        }
    }

    /// Goes on to the next units; returns whether there are any.
    #[inline]
    fn next_span(&mut self, medium: &Medium, validity: &Validity) -> bool {
        self.at += 64;
        if self.at >= self.end {
            let Some(op) = self.reads.pop_front() else {
                self.at = self.end;
                return false;
            };
            let rows = op.rows().ilog2() + 1;
            let layout = medium.layout();
            self.at = layout.row_start(op.block(), op.page());
            self.end = self.at + rows * layout.row_units;
        }
        self.left = validity.span(self.at) & (u64::MAX >> (64 - (self.end - self.at).min(64)));
        true
    }
}
