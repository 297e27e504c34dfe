//! A collector in step with the host (`host_share = "in-step"`): it begins as soon as the host has used up what the last victim
//! gained, to the row, and moves no more than the host has written for, so that it goes on all the time and takes the same share
//! of the dies' time from one second to the next.

use super::domain::{Purpose, Trigger};
use crate::op::OpSink;
use crate::page_map::PageMap;

impl PageMap {
    /// Whether what can be written, down to the row, is no more than a collection starts at.
    pub(super) fn is_a_row_short(&self, d: usize) -> bool {
        let superblock_rows = u64::from(self.superblock_units / self.row_units);
        let whole = u64::from(self.allocator.free_or_coming(d)) * superblock_rows;
        let open = u64::from(self.allocator.open_rows_left(d));
        let to_move = self.collector.to_move(d, &self.superblocks, self.unit_shift).units.div_ceil(self.row_units);
        (whole + open).saturating_sub(u64::from(to_move)) <= u64::from(self.collector.start_free + 1) * superblock_rows
    }

    /// Whether a collection waits until the host has written for what it has moved already. A host that has no room to write
    /// is not waited for, and none on an idle drive that collects ahead of need.
    #[inline]
    pub(super) fn waits_for_host(&self, d: usize) -> bool {
        self.pacing.follows_host() && self.is_ahead_of_host(d)
    }

    #[inline(never)]
    fn is_ahead_of_host(&self, d: usize) -> bool {
        let domain = &self.collector.domains[d];
        let collection = domain.collection();
        let needed = collection.is_some_and(|c| c.purpose == Purpose::FreesSpace && c.trigger == Trigger::Need);
        needed
            && !self.collector.ahead_now
            && domain.credit.covers(self.collector.buffer_units)
            && self.host_has_room_everywhere(d)
    }

    /// The host has written, or waits for room: a collection that waited for it goes on.
    #[cold]
    pub(super) fn go_on_in_step(&mut self, d: usize, sink: &mut impl OpSink) {
        if self.collector.domains[d].is_collecting() {
            self.collector_step(d, sink);
        }
    }
}
