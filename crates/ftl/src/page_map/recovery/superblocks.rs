//! What each superblock is after a cut: free, open still, or closed.
//!
//! An erased superblock is free. Of those that are written in part, the newest of each part (host, collector, cache, by
//! stream) goes on being written; the others are closed as they are, and what is left of them is gained by collecting them.
//! One that holds nothing of use is closed too, however little of it is written: it is collected next, that is, erased.
//!
//! In a superblock that goes on, all dies must have come to the same page: those that were behind are filled up with rows
//! that hold nothing, and so is every page that shares its cells with a torn one.
//!
//! That takes room, which is gained again once those superblocks are collected. A drive that has been cut, and has no free
//! superblock, collects what holds least, whatever its policy, closes open superblocks for it, and mixes streams. If
//! what is left of the collector's open superblock does not hold even the least, blocks that were kept to replace bad ones
//! make another superblock, for good. Without such blocks nothing can be gained any more, and the drive becomes read-only: a
//! spare area at the brink does not outlast many cuts.

use std::collections::BTreeMap;

use ssdlab_nand::{BlockId, CellMode};

use crate::page_map::PageMap;
use crate::page_map::allocator::Allocator;
use crate::page_map::frontier::Frontier;
use crate::page_map::superblock::{Role, State, SuperblockId};
use crate::translation::Repair;

/// A superblock with something in it.
#[derive(Clone, Copy, Debug)]
struct Written {
    sb: SuperblockId,
    /// How many rows were queued since its newest.
    age: u64,
    /// Where it can go on being written; `None`: nowhere, or it is not worth it.
    goes_on_at: Option<u32>,
    slc: bool,
}

impl PageMap {
    /// Finds the state of every superblock, and goes on with those that were open.
    pub(super) fn rebuild_superblocks(&mut self, repairs: &mut Vec<Repair>) {
        let mut domains = Vec::new();
        for domain in 0..self.superblocks.domains() as usize {
            let mut written: Vec<Written> = Vec::new();
            for sb in self.superblocks.of_domain(domain) {
                if self.superblocks.state(sb) == State::Free {
                    self.count_valid(sb);
                    let found = self.look_at_superblock(sb);
                    let rows =
                        found.map_or(0, |w| w.goes_on_at.map_or(u32::MAX, |page| page * self.superblocks.width()));
                    self.recovery.origins.forget_from(sb, rows);
                    written.extend(found);
                }
            }
            // The oldest first: the order in which they would be closed.
            written.sort_by_key(|w| (std::cmp::Reverse(w.age), w.sb));
            let mut open = self.choose_open(&written, domain);
            self.leave_out_what_copies_have_no_room_for(&written, &mut open);
            for w in &written {
                let cached = w.slc && self.superblocks.in_pool(w.sb);
                let state = match () {
                    () if open.contains_key(&w.sb) => State::Open,
                    () if cached => State::Cached,
                    () => State::Closed,
                };
                self.superblocks.set_state(w.sb, state);
            }
            domains.push((written, open));
        }
        let frontier = self.gc.frontier;
        self.allocator = Allocator::new(&self.superblocks, frontier, self.least_worn_first, self.row_units);
        for (domain, (written, open)) in domains.into_iter().enumerate() {
            for w in written {
                match open.get(&w.sb) {
                    Some(&role) => self.go_on(domain, &w, role, repairs),
                    None => self.close_again(domain, &w),
                }
            }
            self.see_to_room(domain);
        }
    }

    /// Sees to it that a collection can gain a superblock, if none is free.
    fn see_to_room(&mut self, domain: usize) {
        if self.allocator.free(domain) > 0 || self.is_read_only() {
            return;
        }
        let closed = self.superblocks.of_domain(domain).filter(|&sb| self.superblocks.state(sb) == State::Closed);
        let Some(least) = closed.min_by_key(|&sb| self.superblocks.valid(sb)) else { return };
        let (valid, row) = (self.superblocks.valid(least), self.row_units);
        // What is compressed may leave gaps.
        let rows = if self.unit_shift > 0 { (2 * valid).div_ceil(row) } else { valid.div_ceil(row) };
        if valid == 0 || rows <= self.allocator.collector_rows_left(domain) {
            return;
        }
        match self.superblocks.enlist_reserve(domain) {
            Some(sb) => {
                // It may have gone out of use at a cut that came into its erase.
                self.recovery.erased(sb);
                self.allocator.add_free(domain, sb);
            }
            None => self.bad_blocks.make_read_only(),
        }
    }

    /// Whether power cuts have left a domain without a free superblock, and none is on its way: the collector must do with
    /// what is left of those that are open.
    #[inline]
    pub(in crate::page_map) fn is_short_of_room_after_cuts(&self, domain: usize) -> bool {
        self.recovery.cuts > 0 && self.allocator.free_or_coming(domain) == 0
    }

    /// Another stream whose open superblock takes what the collector moves, on a drive that power cuts have left without a
    /// free one.
    #[cold]
    pub(in crate::page_map) fn other_stream_with_room(&self, domain: usize) -> Option<u8> {
        let has_room = |&stream: &u8| self.allocator.collector_has_room(domain, stream);
        (0..self.allocator.streams()).find(has_room).filter(|_| self.recovery.cuts > 0)
    }

    /// Pages that cuts have left without use are gained only once their superblock is collected. If a collection can gain
    /// nothing because of them, open superblocks are closed as they are. Returns whether it can gain something then.
    #[cold]
    pub(in crate::page_map) fn gain_by_closing(&mut self, domain: usize) -> bool {
        while self.recovery.cuts > 0
            && !self.can_gain(domain)
            && let Some(sb) = self.allocator.dispensable(domain)
        {
            self.allocator.close(domain, sb);
            let slc = self.medium.mode(self.superblocks.any_block(sb)) != self.medium.native_mode();
            if slc && let Some(cache) = &mut self.cache {
                cache.found(domain, sb);
            }
            if slc && self.superblocks.in_pool(sb) {
                self.superblocks.set_state(sb, State::Cached);
                continue;
            }
            self.superblocks.set_state(sb, State::Closed);
            let (local, _) = self.superblocks.local(sb, self.medium.layout());
            let valid = self.superblocks.valid(sb);
            let clock = self.units_written();
            self.collector.closed(domain, local, valid, self.superblock_units - valid, clock);
        }
        self.can_gain(domain)
    }

    fn count_valid(&mut self, sb: SuperblockId) {
        let layout = self.medium.layout();
        let mut valid = 0;
        for block in self.superblocks.blocks_of(sb) {
            let (mut at, end) = (layout.row_start(block, 0), layout.row_start(block, 0) + layout.block_units);
            while at < end {
                let width = (end - at).min(64);
                valid += (self.validity.span(at) & (u64::MAX >> (64 - width))).count_ones();
                at += width;
            }
        }
        self.superblocks.gain_valid(sb, valid);
    }

    fn look_at_superblock(&self, sb: SuperblockId) -> Option<Written> {
        let blocks: Vec<BlockId> = self.superblocks.blocks_of(sb).collect();
        let mut used = blocks.iter().copied().filter(|&block| !self.medium.is_erased(block));
        let first = used.next()?;
        let pages = self.medium.pages(first);
        let goes_on_at = blocks.iter().map(|&block| self.first_page_of_use(block)).max().unwrap_or(pages);
        let frozen = self.is_frozen() || blocks.iter().any(|&block| self.medium.is_bad(block));
        let useful = self.superblocks.valid(sb) > 0 && goes_on_at < pages && !frozen;
        let newest = |block: BlockId| {
            let finished = self.medium.finished_pages(block);
            let last = finished.checked_sub(1)?;
            Some(self.medium.rows_queued().saturating_sub(self.medium.sequence(block, last).number()))
        };
        Some(Written {
            sb,
            age: blocks.iter().filter_map(|&block| newest(block)).min().unwrap_or(u64::MAX),
            goes_on_at: useful.then_some(goes_on_at),
            slc: self.medium.mode(first) == CellMode::Slc && self.medium.native_mode() != CellMode::Slc,
        })
    }

    /// The first page of a block that may be programmed after a cut; where firmware pads, no program from there on shares
    /// cells with data.
    fn first_page_of_use(&self, block: BlockId) -> u32 {
        let first = self.medium.first_page_of_use(block);
        if self.padding.is_some() { first.max(self.closed_from(block)) } else { first }
    }

    /// Which superblocks of a domain go on, and whose they are: one for each part.
    fn choose_open(&self, written: &[Written], domain: usize) -> BTreeMap<SuperblockId, Role> {
        let mut parts: BTreeMap<(Role, u8), Written> = BTreeMap::new();
        for w in written.iter().filter(|w| w.goes_on_at.is_some()) {
            let role = if w.slc { Role::Cache } else { self.superblocks.role(w.sb) };
            let stream = if role == Role::Cache { 0 } else { self.superblocks.stream(w.sb) };
            parts.insert((role, stream), *w);
        }
        // Without a free superblock, what is left for the collector must be as much as there is.
        let free = self.superblocks.of_domain(domain).any(|sb| {
            let listed = written.iter().any(|w| w.sb == sb);
            self.superblocks.state(sb) == State::Free && !listed && !self.superblocks.in_pool(sb)
        });
        let (host, collector) = ((Role::Host, 0), (Role::Collector, 0));
        let begins = |part: &(Role, u8)| parts.get(part).and_then(|w| w.goes_on_at);
        if !free
            && !self.shares_frontier()
            && let Some(of_host) = begins(&host)
            && begins(&collector).is_none_or(|of_collector| of_host < of_collector)
        {
            let (of_host, of_collector) = (parts.remove(&host), parts.remove(&collector));
            parts.extend(of_host.map(|w| (collector, w)));
            parts.extend(of_collector.map(|w| (host, w)));
        }
        parts.into_iter().map(|((role, _), w)| (w.sb, role)).collect()
    }

    /// Filling up dies that are behind takes copies, where firmware makes some: superblocks for which there is no room are
    /// closed as they are.
    fn leave_out_what_copies_have_no_room_for(&self, written: &[Written], open: &mut BTreeMap<SuperblockId, Role>) {
        let mut taken: BTreeMap<BlockId, u32> = BTreeMap::new();
        for w in written {
            let Some(page) = w.goes_on_at.filter(|_| open.contains_key(&w.sb)) else { continue };
            let layout = self.medium.layout();
            let needed: Vec<(BlockId, u32)> = self
                .superblocks
                .blocks_of(w.sb)
                .map(|block| (layout.block_at(layout.die_of(block).0, 0), self.copies_to_fill(block, page)))
                .collect();
            let fits = needed.iter().all(|&(die, copies)| {
                let before = taken.get(&die).copied().unwrap_or(0);
                copies == 0 || before + copies <= self.room_for_copies(layout.die_of(die).0)
            });
            if fits {
                needed.into_iter().for_each(|(die, copies)| *taken.entry(die).or_default() += copies);
            } else {
                open.remove(&w.sb);
            }
        }
    }

    fn shares_frontier(&self) -> bool {
        self.gc.frontier == crate::spec::Frontier::Shared
    }

    fn go_on(&mut self, domain: usize, w: &Written, role: Role, repairs: &mut Vec<Repair>) {
        let page = w.goes_on_at.expect("chosen for it");
        let dies = self.superblocks.dies_of(domain);
        self.open_as_others(w);
        for die in dies.iter() {
            let block = self.superblocks.block_on(w.sb, die);
            for page in self.medium.issued_pages(block)..page {
                self.copy_endangered_at_start(block, page, repairs);
                self.fill_row(block, page, repairs);
            }
        }
        let pages = self.medium.pages(self.superblocks.block_on(w.sb, dies.first));
        let stream = if role == Role::Cache { 0 } else { self.superblocks.stream(w.sb) };
        self.superblocks.set_role(w.sb, role);
        self.allocator.reopen(domain, role, stream, Frontier::at(w.sb, dies, pages, page));
    }

    /// Blocks of a superblock at one bit per cell that hold nothing yet run like the others.
    fn open_as_others(&mut self, w: &Written) {
        let blocks: Vec<BlockId> = self.superblocks.blocks_of(w.sb).collect();
        for block in blocks.into_iter().filter(|_| w.slc) {
            if self.medium.is_erased(block) && !self.medium.is_bad(block) {
                self.medium.open(block, CellMode::Slc).expect("it is erased, and its die has the mode");
            }
        }
    }

    fn close_again(&mut self, domain: usize, w: &Written) {
        self.open_as_others(w);
        if w.slc
            && let Some(cache) = &mut self.cache
        {
            cache.found(domain, w.sb);
        }
        if self.superblocks.state(w.sb) != State::Closed {
            return;
        }
        let (local, _) = self.superblocks.local(w.sb, self.medium.layout());
        let valid = self.superblocks.valid(w.sb);
        let clock = self.units_written_before(w.age);
        self.collector.closed(domain, local, valid, self.superblock_units - valid, clock);
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::{DieId, LogicalPage};

    use crate::op::FlashOp;
    use crate::page_map::PageMap;
    use crate::page_map::small;
    use crate::translation::Translation;

    #[test]
    fn a_superblock_made_of_reserve_holds_nothing_that_was_moved_there_before() {
        let mut map = small::map(true);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        for page in 0..64 {
            map.write(LogicalPage::new(page), 1, 0);
            map.dispatch(&mut ops);
            small::work(&mut map, &mut ops);
        }
        let written = map.superblocks.of_domain(0).next().expect("there are some");
        while let Some(sb) = map.allocator.give_up_free(0) {
            map.superblocks.give_up(sb, &map.medium);
            map.recovery.moved(written, sb, 3);
        }
        map.see_to_room(0);
        let enlisted = map.allocator.free_superblocks(0).next().expect("what is closed is full");
        assert_eq!(map.recovery.origin(enlisted, 3), None);
    }

    /// What the clock showed at some time, and what it is taken to have shown: half of what is written lies before.
    fn clocks(mut map: PageMap, mut write: impl FnMut(&mut PageMap, u32)) -> [u64; 2] {
        (0..small::PAGES).for_each(|page| write(&mut map, page));
        let (then, rows) = (map.units_written(), map.medium.rows_queued());
        (0..small::PAGES).for_each(|page| write(&mut map, page));
        assert_eq!(map.units_written_before(u64::MAX), 0);
        [then, map.units_written_before(map.medium.rows_queued() - rows)]
    }

    #[test]
    fn ages_after_a_cut_are_in_the_unit_of_those_before() {
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        let full = clocks(small::map(true), |map, page| {
            map.write(LogicalPage::new(page), 1, 0);
            map.dispatch(&mut ops);
            small::work(map, &mut ops);
        });
        let padded = clocks(small::map(true), |map, page| {
            map.write(LogicalPage::new(page), 1, 0);
            map.force(map.accepted_units(), &mut ops);
            small::work(map, &mut ops);
        });
        for [then, found] in [full, padded] {
            assert!(then > 0 && then.abs_diff(found) * 5 < then, "{found} for {then}");
        }
    }

    #[test]
    fn after_a_cut_the_policy_chooses_as_long_as_a_superblock_is_free() {
        let mut map = small::map(false);
        map.recovery.cuts = 1;
        while map.allocator.free(0) > 1 {
            map.allocator.give_up_free(0);
        }
        assert!(!map.is_short_of_room_after_cuts(0));
        map.allocator.give_up_free(0);
        assert!(map.is_short_of_room_after_cuts(0));
        map.recovery.cuts = 0;
        assert!(!map.is_short_of_room_after_cuts(0), "a drive that was never cut keeps to its policy");
    }
}
