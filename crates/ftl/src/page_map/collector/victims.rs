//! Victims: chosen, and erased once nothing on them is needed any more.

use super::domain::{Finishing, Purpose, Quota, Reading};
use crate::op::OpSink;
use crate::page_map::PageMap;
use crate::page_map::gc::{Candidates, VictimSelector};
use crate::page_map::superblock::{State, SuperblockId};

/// Victims from one look at the spread of wear to the next.
const WEAR_CHECK_INTERVAL: u32 = 64;

/// Whether a collection goes on that has gained nothing for long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vain {
    No,
    TakeLeast,
    GiveUp,
}

impl PageMap {
    /// Chooses the next victim and begins to read it.
    pub(super) fn next_victim(&mut self, d: usize) -> bool {
        let domain = &self.collector.domains[d];
        // Units of one victim are staged before those of the next, so that it is free again before the next needs
        // the room that it leaves.
        let Some(collection) = domain.collection().copied().filter(|c| c.quota != Quota::Over) else { return false };
        if domain.units_reading > 0 {
            return false;
        }
        if collection.purpose == Purpose::FoldsCache {
            return self.next_fold_victim(d);
        }
        if collection.purpose == Purpose::RefreshesData {
            return self.next_refresh_victim(d);
        }
        if !self.can_gain(d) && !self.gain_by_closing(d) {
            self.give_up(d);
            return false;
        }
        if !self.space_is_wanted(d, collection.trigger) {
            return false;
        }
        let vain = self.works_in_vain(d);
        if vain == Vain::GiveUp {
            self.give_up(d);
            return false;
        }
        self.collector.domains[d].victims_since_look += 1;
        let goes_by_gain = vain == Vain::TakeLeast || self.is_short_of_room_after_cuts(d);
        let cold = if goes_by_gain { None } else { self.cold_victim(d) };
        let Some(local) = cold.or_else(|| self.pick(d, goes_by_gain)) else { return false };
        self.take_victim(d, self.superblocks.global(local, d));
        true
    }

    /// Nothing can be gained before something dies.
    fn give_up(&mut self, d: usize) {
        self.collector.stalled.insert(d as u32);
        self.collector.domains[d].choose_no_more();
    }

    /// Whether as many victims have been chosen as move everything twice, and the host has changed nothing meanwhile. Then
    /// what still counts as dead are gaps, which move along; but a policy that draws may just have missed where it is, and
    /// the superblocks that hold least come first before it gives up.
    fn works_in_vain(&mut self, d: usize) -> Vain {
        let changes = self.counters.host_units + self.counters.trimmed_units;
        let all = u64::from(self.superblocks.per_domain());
        let domain = &mut self.collector.domains[d];
        let chosen = u64::from(domain.want_victim(changes));
        match chosen {
            _ if chosen <= 2 * all => Vain::No,
            _ if chosen <= 3 * all && domain.selector.may_miss() => Vain::TakeLeast,
            _ => Vain::GiveUp,
        }
    }

    /// The superblock of the cache that is folded next becomes the victim.
    fn next_fold_victim(&mut self, d: usize) -> bool {
        let Some(sb) = self.fold_candidate(d) else {
            self.collector.domains[d].choose_no_more();
            return false;
        };
        if self.superblocks.state(sb) == State::Closed {
            let (local, _) = self.superblocks.local(sb, self.medium.layout());
            self.collector.domains[d].selector.remove(local);
            self.take_victim(d, sb);
            return true;
        }
        self.superblocks.set_state(sb, State::Victim);
        self.leave_cache(d, sb);
        self.allocator.expect(d, true);
        let domain = &mut self.collector.domains[d];
        // What it gives back is a superblock of the cache: worth a row of padding, so that it need not wait.
        domain.gained = domain.gained.saturating_add(self.row_units);
        domain.begin_victim(Reading::new(sb, self.superblocks.dies_of(d)));
        true
    }

    /// Makes a closed superblock, which the policy no longer lists, the one that is read.
    pub(super) fn take_victim(&mut self, d: usize, sb: SuperblockId) {
        debug_assert_eq!(self.superblocks.state(sb), State::Closed);
        self.superblocks.set_state(sb, State::Victim);
        let valid = self.superblocks.valid(sb);
        let dead = self.superblock_units - valid;
        self.leave_cache(d, sb);
        self.allocator.expect(d, false);
        let domain = &mut self.collector.domains[d];
        domain.gained = domain.gained.saturating_add(dead);
        domain.dead -= u64::from(dead);
        let held = domain.units_held();
        domain.credit.begin_victim(self.pacing.credit_for_moved_unit_micro(dead, valid), held);
        domain.begin_victim(Reading::new(sb, self.superblocks.dies_of(d)));
    }

    /// The policy's choice; `goes_by_gain`: what frees most, whatever the policy would choose.
    fn pick(&mut self, d: usize, goes_by_gain: bool) -> Option<u32> {
        if goes_by_gain && let Some(local) = self.least_valid(d) {
            self.collector.domains[d].selector.remove(local);
            return Some(local);
        }
        let candidates = Candidates {
            valid: self.superblocks.valid_of_domain(d),
            capacity: self.superblock_units,
            clock: self.units_written(),
        };
        self.collector.domains[d].selector.pick(&candidates, &mut self.rng)
    }

    /// The closed superblock that holds least.
    fn least_valid(&self, d: usize) -> Option<u32> {
        let closed = self.superblocks.of_domain(d).filter(|&sb| self.superblocks.state(sb) == State::Closed);
        let least = closed.min_by_key(|&sb| self.superblocks.valid(sb))?;
        Some(self.superblocks.local(least, self.medium.layout()).0)
    }

    /// Closed superblocks in which nothing is valid go on to be erased at once, whatever the policy would do.
    pub(in crate::page_map) fn erase_empty(&mut self, d: usize, sink: &mut impl OpSink) {
        for sb in self.superblocks.of_domain(d) {
            if self.is_empty(sb) {
                self.finish_empty(d, sb, sink);
            }
        }
        self.erase_where_finished(d, sink);
    }

    /// Whether a superblock has been written to its end, and holds nothing.
    fn is_empty(&self, sb: SuperblockId) -> bool {
        self.superblocks.valid(sb) == 0 && matches!(self.superblocks.state(sb), State::Closed | State::Cached)
    }

    /// An empty superblock needs no reading: it is erased once the programs have ended that replaced what it held.
    fn finish_empty(&mut self, d: usize, sb: SuperblockId, sink: &mut impl OpSink) {
        self.pad(sink);
        let state = self.superblocks.state(sb);
        let (local, _) = self.superblocks.local(sb, self.medium.layout());
        let domain = &mut self.collector.domains[d];
        if state == State::Closed {
            domain.selector.remove(local);
            domain.dead -= u64::from(self.superblock_units);
        }
        let programs = domain.programs.issued();
        let host_programs = self.host.programs().issued();
        domain.finishing.push_back(Finishing { superblock: sb, programs, host_programs });
        self.collector.finishing.insert(d as u32);
        self.superblocks.set_state(sb, State::Victim);
        self.leave_cache(d, sb);
        self.allocator.expect(d, state == State::Cached);
    }

    /// TRIM has taken a unit of this superblock: notes whether that has emptied it.
    pub(in crate::page_map) fn note_emptied(&mut self, sb: SuperblockId) {
        if self.is_empty(sb) {
            let (_, domain) = self.superblocks.local(sb, self.medium.layout());
            self.collector.emptied.insert(domain as u32);
        }
    }

    /// Whether superblocks that TRIM has emptied wait to be erased.
    #[inline]
    pub(in crate::page_map) fn has_emptied(&self) -> bool {
        !self.collector.emptied.is_empty()
    }

    /// TRIM has emptied superblocks: brings what was trimmed to flash, and then erases them.
    #[cold]
    pub(in crate::page_map) fn save_and_erase_emptied(&mut self, sink: &mut impl OpSink) {
        if self.is_frozen() {
            return;
        }
        self.log.save_trims_in_turn(&mut self.medium, sink);
        self.erase_emptied(sink);
    }

    /// Erases the next superblock that TRIM has emptied in each domain, where none is being erased for that: once the trims
    /// are on flash, so that a power cut finds nothing older in place of what was erased.
    #[cold]
    pub(in crate::page_map) fn erase_emptied(&mut self, sink: &mut impl OpSink) {
        if self.log.unsaved_trims().next().is_some() || self.is_frozen() {
            return;
        }
        for d in 0..self.collector.domains.len() {
            let waits = self.collector.emptied.contains(d as u32) && self.collector.domains[d].emptying.is_none();
            if !waits {
                continue;
            }
            match self.superblocks.of_domain(d).find(|&sb| self.is_empty(sb)) {
                Some(sb) => {
                    self.collector.domains[d].emptying = Some(sb);
                    self.finish_empty(d, sb, sink);
                    self.erase_where_finished(d, sink);
                }
                None => self.collector.emptied.remove(d as u32),
            }
        }
    }

    /// A superblock has been erased while others wait that TRIM has emptied: if it was one of them, the next one follows.
    #[cold]
    pub(in crate::page_map) fn emptied_one(&mut self, d: usize, sb: SuperblockId, sink: &mut impl OpSink) {
        if self.collector.domains[d].emptying.take_if(|emptying| *emptying == sb).is_some() {
            self.erase_emptied(sink);
        }
    }

    /// Static wear levelling: every so often, if wear has spread too far, the least worn closed superblock, as it
    /// holds data that never move by themselves. One at a time: it gains nothing, and the host may wait for more. Victims are
    /// counted and not collections, since under load one collection may go on without end.
    fn cold_victim(&mut self, d: usize) -> Option<u32> {
        let limit = self.static_spread_erases?;
        let domain = &mut self.collector.domains[d];
        if domain.victims_since_look < WEAR_CHECK_INTERVAL {
            return None;
        }
        domain.victims_since_look = 0;
        let mut coldest: Option<(u32, SuperblockId)> = None;
        let mut most = 0;
        for sb in self.superblocks.of_domain(d) {
            // What never takes data of the die's own mode is levelled by no move.
            let apart = matches!(self.superblocks.state(sb), State::Reserved | State::System);
            if apart || self.superblocks.in_pool(sb) {
                continue;
            }
            let erases = self.superblocks.most_erases(sb, &self.medium);
            most = most.max(erases);
            if self.superblocks.state(sb) == State::Closed && coldest.is_none_or(|(e, _)| erases < e) {
                coldest = Some((erases, sb));
            }
        }
        let (erases, sb) = coldest?;
        (most - erases > limit).then(|| {
            let (local, _) = self.superblocks.local(sb, self.medium.layout());
            let domain = &mut self.collector.domains[d];
            domain.selector.remove(local);
            local
        })
    }

    /// Victims without a valid unit left go on to be erased.
    pub(super) fn retire_victims(&mut self, d: usize, sink: &mut impl OpSink) {
        let moving = &self.collector.domains[d].moving;
        if moving.is_empty() || moving.iter().all(|&sb| self.superblocks.valid(sb) > 0) {
            return;
        }
        // What has replaced that may be in cells that a later program shares.
        self.pad(sink);
        let domain = &mut self.collector.domains[d];
        let (superblocks, layout) = (&self.superblocks, self.medium.layout());
        let host_programs = self.host.programs().issued();
        let mut k = 0;
        while k < domain.moving.len() {
            let sb = domain.moving[k];
            if superblocks.valid(sb) > 0 {
                k += 1;
                continue;
            }
            domain.moving.remove(k);
            // What is staged of it has died since; it must not be taken for what will be written there next.
            domain.staged.retain(|unit| superblocks.of_unit(unit, layout) != sb);
            let programs = domain.programs.issued();
            domain.finishing.push_back(Finishing { superblock: sb, programs, host_programs });
            self.collector.finishing.insert(d as u32);
        }
        self.erase_where_finished(d, sink);
    }

    /// After a host program has ended: victims that waited for it.
    #[inline]
    pub(in crate::page_map) fn erase_finished(&mut self, sink: &mut impl OpSink) {
        if !self.collector.finishing.is_empty() {
            self.erase_finished_somewhere(sink);
        }
    }

    #[inline(never)]
    fn erase_finished_somewhere(&mut self, sink: &mut impl OpSink) {
        for d in 0..self.collector.domains.len() {
            if self.collector.finishing.contains(d as u32) {
                self.erase_where_finished(d, sink);
            }
        }
    }

    pub(super) fn erase_where_finished(&mut self, d: usize, sink: &mut impl OpSink) {
        if self.writes_last_rows_alone() {
            return;
        }
        while let Some(&Finishing { superblock, programs, host_programs }) = self.collector.domains[d].finishing.front()
        {
            let collected = self.collector.domains[d].programs.head() >= programs;
            if !collected || self.host.programs().head() < host_programs {
                return;
            }
            self.collector.domains[d].finishing.pop_front();
            self.erase(d, superblock, sink);
        }
        self.collector.finishing.remove(d as u32);
    }

    fn erase(&mut self, d: usize, sb: SuperblockId, sink: &mut impl OpSink) {
        let dies = self.superblocks.dies_of(d);
        self.superblocks.begin_erase(sb, dies.count());
        for die in dies.iter() {
            self.enqueue_erase(d, die, self.superblocks.block_on(sb, die), sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieId, LogicalPage};

    use crate::op::{FlashOp, OpKind};
    use crate::page_map::superblock::State;
    use crate::page_map::{PageMap, small};
    use crate::translation::Translation;

    /// Rows that the collector has written after many writes to few pages, where the blocks of the journal or those of data that
    /// never move have been erased 3000 times more than the others. Data are moved from `spread` on.
    fn rows_moved(spread: Option<u32>, worn: State) -> u64 {
        let mut map = small::map(true);
        map.static_spread_erases = spread;
        let mut rng = Rng::new(1);
        let mut ops = Vec::new();
        let mut write = |map: &mut _, page: u32| {
            PageMap::write(map, LogicalPage::new(page), 1, 0);
            map.dispatch(&mut ops);
            small::work(map, &mut ops);
        };
        (0..small::PAGES).for_each(|page| write(&mut map, page));
        let worn = map.superblocks.of_domain(0).find(|&sb| map.superblocks.state(sb) == worn).expect("there are such");
        map.medium.wear(map.superblocks.any_block(worn), 3000, 0);
        (0..20_000).for_each(|_| write(&mut map, rng.below(150) as u32));
        map.counters().gc_rows
    }

    #[test]
    fn data_are_not_moved_to_level_blocks_that_never_hold_any() {
        assert_eq!(rows_moved(Some(2500), State::System), rows_moved(None, State::System));
        assert!(rows_moved(Some(2500), State::Free) > rows_moved(None, State::Free));
    }

    /// The host writes whenever there is room, so that a collection takes one victim after the other.
    #[test]
    fn levelling_does_not_wait_for_the_ends_of_collections() {
        let mut map = small::map(true);
        map.static_spread_erases = Some(10);
        let mut rng = Rng::new(1);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        let mut write = |map: &mut PageMap, page: u32| {
            while map.waiting_units() >= 16 {
                let host = ops.iter().position(|(_, op)| op.kind() == OpKind::HostProgram);
                let (die, op) = ops.remove(host.unwrap_or(0));
                map.began(&op);
                map.done(die, op, &mut ops);
                map.dispatch(&mut ops);
            }
            map.write(LogicalPage::new(page), 1, 0);
            map.dispatch(&mut ops);
        };
        (0..small::PAGES).for_each(|page| write(&mut map, page));
        (0..6_000).for_each(|_| write(&mut map, rng.below(150) as u32));
        let data = map.superblocks.of_domain(0).filter(|&sb| map.superblocks.state(sb) != State::System);
        let erases: Vec<u32> = data.map(|sb| map.superblocks.most_erases(sb, &map.medium)).collect();
        let counters = map.counters();
        assert!(counters.collections * 3 < counters.block_erases, "{counters:?}");
        assert!(erases.iter().all(|&e| e > 0), "after {} collections: {erases:?}", counters.collections);
    }
}
