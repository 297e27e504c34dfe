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
            && !self.collector.host_rests
            && domain.credit.covers(self.collector.buffer_units)
            && self.host_has_room_everywhere(d)
    }

    /// The host has written, waits for room or rests: a collection that waited for it goes on.
    #[cold]
    pub(in crate::page_map) fn go_on_in_step(&mut self, d: usize, sink: &mut impl OpSink) {
        if self.collector.domains[d].is_collecting() {
            self.collector_step(d, sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieId, LogicalPage};

    use crate::op::FlashOp;
    use crate::page_map::pacing::HostPacing;
    use crate::page_map::small;
    use crate::spec::{GcSpec, HostShare};
    use crate::translation::Translation;

    /// Of a drive that is written at random for long: how many rows were moved in all, and at most from one row of the host's
    /// to the next.
    fn rows_moved(host_share: HostShare) -> [u64; 2] {
        let (mut map, mut rng) = (small::map(false), Rng::new(5));
        map.pacing = HostPacing::new(&GcSpec { host_share, ..small::gc() });
        (map.room_changes_by_row, map.streams_freely) = (true, false);
        map.collector.buffer_units = 8;
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        let mut most = 0;
        for k in 0..12_000 {
            let before = map.counters();
            map.write(LogicalPage::new(rng.below(small::PAGES.into()) as u32), k as u8, 0);
            map.dispatch(&mut ops);
            small::work(&mut map, &mut ops);
            let rows = map.counters().host_rows - before.host_rows;
            if k > 4000 && rows == 1 {
                most = most.max(map.counters().gc_rows - before.gc_rows);
            }
        }
        assert_eq!(map.check_invariants(), Ok(()));
        [map.counters().gc_rows, most]
    }

    #[test]
    fn a_little_is_moved_for_each_row_of_the_host_and_no_more_in_all() {
        let [balanced, in_step] = [HostShare::Balanced, HostShare::InStep].map(rows_moved);
        assert!(in_step[1] * 2 <= balanced[1], "{in_step:?} {balanced:?}");
        assert!(in_step[0] < balanced[0] * 11 / 10, "{in_step:?} {balanced:?}");
    }
}
