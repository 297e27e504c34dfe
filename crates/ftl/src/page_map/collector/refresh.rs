//! Data that are moved because they are old, or have been read often: their superblock becomes a victim, whatever is dead
//! in it.
//!
//! A superblock that holds much gains nothing, and takes a free one meanwhile: so none is moved unless more are free than a
//! collection for space begins at, with one to spare. One that is set aside for an SLC cache is folded, where there is room to
//! fold besides.

use ssdlab_nand::{BlockId, SequenceNumber};

use super::domain::{Purpose, Refresh, Trigger};
use crate::op::OpSink;
use crate::page_map::PageMap;
use crate::page_map::gc::VictimSelector;
use crate::page_map::superblock::{State, SuperblockId};

impl PageMap {
    /// The data of a block have been read often: its superblock is moved as soon as there is room, even while the host is busy.
    pub(in crate::page_map) fn refresh_superblock_of(&mut self, block: BlockId, sink: &mut impl OpSink) {
        let Some(sb) = self.superblocks.of_block_checked(block).filter(|&sb| self.can_be_refreshed(sb)) else {
            return;
        };
        let d = self.want_refresh(sb, true);
        if self.refresh_if_due(d, sink) {
            self.note_writable(d);
        }
    }

    /// The drive is idle: superblocks of which a block is due are moved, as long as it is.
    pub(in crate::page_map) fn refresh_while_idle(&mut self, is_due: &dyn Fn(BlockId) -> bool, sink: &mut impl OpSink) {
        for d in 0..self.collector.domains.len() {
            for sb in self.superblocks.of_domain(d) {
                let dies = self.superblocks.dies_of(d);
                if self.can_be_refreshed(sb) && dies.iter().any(|die| is_due(self.superblocks.block_on(sb, die))) {
                    self.want_refresh(sb, false);
                }
            }
            self.refresh_if_due(d, sink);
        }
    }

    fn can_be_refreshed(&self, sb: SuperblockId) -> bool {
        self.is_written_and_holds_data(sb) && !self.is_read_only()
    }

    fn is_written_and_holds_data(&self, sb: SuperblockId) -> bool {
        matches!(self.superblocks.state(sb), State::Closed | State::Cached) && self.superblocks.valid(sb) > 0
    }

    /// Puts a superblock in line, unless it stands there. Returns its domain.
    fn want_refresh(&mut self, sb: SuperblockId, urgent: bool) -> usize {
        let (_, d) = self.superblocks.local(sb, self.medium.layout());
        let first_row = self.first_row(sb);
        let refreshes = &mut self.collector.domains[d].refreshes;
        match refreshes.iter_mut().find(|refresh| refresh.superblock == sb) {
            Some(refresh) => *refresh = Refresh { superblock: sb, first_row, urgent: urgent || refresh.urgent },
            None => refreshes.push_back(Refresh { superblock: sb, first_row, urgent }),
        }
        d
    }

    /// What is moved next; `None` if nothing is in line, or there is no room to.
    pub(super) fn refresh_candidate(&self, d: usize) -> Option<&Refresh> {
        if self.free_without_victim(d) <= self.collector.start_free + 1 {
            return None;
        }
        let fits = |sb: SuperblockId| !self.superblocks.in_pool(sb) || self.has_room_to_fold(d);
        let mut line = self.collector.domains[d].refreshes.iter();
        line.find(|refresh| fits(refresh.superblock) && self.still_stands(refresh))
    }

    /// The first in line of those that are set aside for the SLC cache: it is folded before its turn.
    pub(in crate::page_map) fn due_in_cache(&self, d: usize) -> Option<SuperblockId> {
        let mut line = self.collector.domain(d).refreshes.iter();
        let due = line.find(|refresh| self.superblocks.in_pool(refresh.superblock) && self.still_stands(refresh));
        due.map(|refresh| refresh.superblock)
    }

    /// Whether it holds what it held when this was asked for. Of one that holds nothing any more there is nothing to move.
    fn still_stands(&self, refresh: &Refresh) -> bool {
        let sb = refresh.superblock;
        self.is_written_and_holds_data(sb) && self.first_row(sb) == refresh.first_row
    }

    /// The number of a superblock's first row.
    fn first_row(&self, sb: SuperblockId) -> SequenceNumber {
        self.medium.sequence(self.superblocks.any_block(sb), 0)
    }

    /// Begins to move the next superblock in line, if nothing is collected. Returns whether it did.
    #[inline]
    pub(super) fn refresh_if_due(&mut self, d: usize, sink: &mut impl OpSink) -> bool {
        !self.collector.domains[d].refreshes.is_empty() && self.refresh_next(d, sink)
    }

    #[cold]
    fn refresh_next(&mut self, d: usize, sink: &mut impl OpSink) -> bool {
        if self.collector.domains[d].is_collecting() || self.is_frozen() {
            return false;
        }
        while self.collector.domains[d].refreshes.front().is_some_and(|first| !self.still_stands(first)) {
            self.collector.domains[d].refreshes.pop_front();
        }
        // Of those that other collections have moved since, none makes what follows more urgent.
        let Some(&Refresh { superblock, urgent, .. }) = self.refresh_candidate(d) else { return false };
        let in_pool = self.superblocks.in_pool(superblock);
        let purpose = if in_pool { Purpose::FoldsCache } else { Purpose::RefreshesData };
        self.start(d, purpose, if urgent { Trigger::Need } else { Trigger::DriveIdle });
        self.collector_step(d, sink);
        true
    }

    /// The superblock that is moved next becomes the victim. If it is one that is folded by now, that is a collection of its own.
    pub(super) fn next_refresh_victim(&mut self, d: usize) -> bool {
        let next = self.refresh_candidate(d).map(|refresh| refresh.superblock);
        let Some(sb) = next.filter(|&sb| !self.superblocks.in_pool(sb)) else {
            self.collector.domains[d].choose_no_more();
            return false;
        };
        let (local, _) = self.superblocks.local(sb, self.medium.layout());
        let row_units = self.row_units;
        let domain = &mut self.collector.domains[d];
        domain.refreshes.retain(|refresh| refresh.superblock != sb);
        domain.selector.remove(local);
        // Its last units need not wait for others.
        domain.gained = domain.gained.saturating_add(row_units);
        self.take_victim(d, sb);
        true
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieId, GrowingFaults, LogicalPage};

    use crate::op::{FlashOp, OpKind};
    use crate::page_map::small;
    use crate::page_map::superblock::State;
    use crate::translation::Translation;

    #[test]
    fn data_that_are_due_are_moved_although_another_block_has_taken_the_place_of_theirs() {
        let mut map = small::map(true);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        for page in 0..32 {
            map.write(LogicalPage::new(page), 1, 0);
            map.dispatch(&mut ops);
        }
        // The last row of a superblock that is closed by now.
        let (die, last) = ops.pop().expect("every row has been asked for");
        small::work(&mut map, &mut ops);
        let sb = map.superblocks.of_block(last.block());
        assert_eq!(map.superblocks.state(sb), State::Closed);
        map.want_refresh(sb, true);
        let next = map.allocator.free_superblocks(0).last().expect("most are free");
        map.medium.wear(map.superblocks.block_on(next, die), 3, 0);
        let failing = GrowingFaults { programs_per_failure: 1, erases_per_failure: 0, in_bursts: false };
        map.medium.inject(failing, &Rng::new(1));
        map.began(&last);
        map.done(die, last, &mut ops);
        map.medium.inject(GrowingFaults::default(), &Rng::new(1));
        let (_, again) = ops.iter().find(|(_, op)| op.kind() == OpKind::HostProgram).expect("the row is written again");
        assert_ne!(again.block(), last.block());
        assert_eq!(map.superblocks.state(map.superblocks.of_block(again.block())), State::Victim);
        small::work(&mut map, &mut ops);
        assert_eq!(map.check_invariants(), Ok(()));
    }

    #[test]
    fn what_has_been_trimmed_since_leaves_the_line_without_being_moved() {
        let mut map = small::map(true);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        for page in 0..256 {
            map.write(LogicalPage::new(page), 1, 0);
            map.dispatch(&mut ops);
            small::work(&mut map, &mut ops);
        }
        // Six superblocks of 32 units each.
        for page in (0..192).step_by(32) {
            let unit = map.unit_of(LogicalPage::new(page)).expect("it is on flash");
            let sb = map.superblocks.of_unit(unit, map.medium.layout());
            assert_eq!(map.superblocks.state(sb), State::Closed);
            map.want_refresh(sb, true);
        }
        map.trim(LogicalPage::FIRST..LogicalPage::new(160), &mut ops);
        assert!(map.refresh_if_due(0, &mut ops));
        assert!(map.collector.domains[0].refreshes.is_empty(), "five hold nothing, and the last is being moved");
        small::work(&mut map, &mut ops);
        let moved = map.unit_of(LogicalPage::new(160)).expect("it is on flash");
        assert_eq!(map.counters.gc_units, 32, "at {moved}");
        assert_eq!(map.check_invariants(), Ok(()));
    }

    #[test]
    fn what_is_set_aside_for_a_cache_is_folded_before_its_turn_where_that_has_room() {
        let mut map = small::map_with_cache();
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        for page in 0..32 {
            map.write(LogicalPage::new(page), 1, 0);
            map.dispatch(&mut ops);
            small::work(&mut map, &mut ops);
        }
        let cached = [0, 16].map(|page| {
            let unit = map.unit_of(LogicalPage::new(page)).expect("it is on flash");
            map.superblocks.of_unit(unit, map.medium.layout())
        });
        let mut begun = |free| {
            small::leave_free(&mut map, free);
            let mut map = map.clone();
            map.refresh_superblock_of(map.superblocks.any_block(cached[1]), &mut ops);
            (cached.map(|sb| map.superblocks.state(sb)), map.collector.domains[0].is_folding())
        };
        assert_eq!(begun(4), ([State::Cached, State::Victim], true), "the younger one goes before the older");
        assert_eq!(begun(3), ([State::Cached; 2], false), "no more than collection begins at, and one to spare");
    }
}
