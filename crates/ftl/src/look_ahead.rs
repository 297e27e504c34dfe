//! Asking the processor for map entries before they are needed. Changes no result.
//!
//! Which units a collector moves is known when it asks for a read, long before their map entries are. Asked for all at
//! once, they would wait for one another; so a cursor follows the reads and asks for a few with every step.

use std::collections::VecDeque;

use ssdlab_nand::UnitAddress;

use crate::staging::Run;
use crate::translation::Ftl;

/// Runs beyond which a step asks for more at once.
const BACKLOG: usize = 24;

/// Units whose map entries are still to be asked for.
#[derive(Clone, Debug, Default)]
pub struct LookAhead {
    runs: VecDeque<Run>,
}

impl Ftl {
    /// A collector is going to read `rows` rows from a unit on.
    #[inline]
    pub(crate) fn look_ahead(&mut self, first: UnitAddress, rows: u32) {
        for line in (0..(rows * self.row_units) as usize).step_by(16) {
            self.medium.prefetch_tag(first as usize + line);
        }
        let mut row = 0;
        while row < rows {
            let width = self.rows_per_span.min(rows - row) * self.row_units;
            let start = first + row * self.row_units;
            let units = self.validity.span(start) & (u64::MAX >> (64 - width));
            self.look_ahead.runs.push_back(Run { start, units });
            row += self.rows_per_span;
        }
    }

    /// Asks for the entries of the next few units of one run.
    #[inline]
    pub(crate) fn look_ahead_step(&mut self, units: u32) {
        if self.look_ahead.runs.is_empty() {
            return;
        }
        let units = if self.look_ahead.runs.len() > BACKLOG { 4 * units } else { units };
        let format = self.medium.format();
        let Some(run) = self.look_ahead.runs.front_mut() else { return };
        let tags = self.medium.tags_from(run.start);
        for _ in 0..units {
            if run.units == 0 {
                self.look_ahead.runs.pop_front();
                return;
            }
            self.map.prefetch(format.address(tags[(run.units.trailing_zeros() & 63) as usize]));
            run.units &= run.units - 1;
        }
    }
}
