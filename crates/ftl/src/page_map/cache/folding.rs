//! Where the host's rows go on a drive with an SLC cache, and which superblock of it is folded.

use ssdlab_nand::{BlockId, CellMode};

use super::{CachePolicy, Room, SlcCache};
use crate::op::{OpKind, OpSink};
use crate::page_map::PageMap;
use crate::page_map::superblock::{State, SuperblockId};
use crate::translation::Unfolded;

impl PageMap {
    fn cache(&self) -> &SlcCache {
        self.cache.as_ref().expect("asked only where there is one")
    }

    fn policy(&self) -> &dyn CachePolicy {
        self.cache().policy.get()
    }

    fn cache_room(&self, domain: usize) -> Room {
        let cache = &self.cache().domains[domain];
        Room {
            free: self.allocator.free(domain),
            coming: self.allocator.coming(domain),
            pool_free: self.allocator.pool_free(domain),
            pool_coming: self.allocator.pool_coming(domain),
            cached: cache.cached.len() as u32,
            slc_open: self.allocator.cache_is_open(domain),
            pressed: cache.pressed,
        }
    }

    /// Decides where the host's next rows go, as far as the cache takes them. Where the policy's choice has no room, the
    /// other does.
    pub(in crate::page_map) fn aim_cache(&mut self, domain: usize) {
        let mut room = self.cache_room(domain);
        room.pressed = self.policy().is_pressed(room.pressed, &room);
        let opens_native = self.allocator.may_open(domain);
        let opens_slc = if self.superblocks.has_pool() { room.pool_free > 0 } else { opens_native };
        let native_fits = self.allocator.host_is_open(domain, 0) || opens_native;
        let slc_fits = room.slc_open || opens_slc;
        let to_slc = if self.writes_last_rows_alone() {
            // A superblock of the die's own mode holds more.
            room.slc_open || room.pool_free > 0
        } else if self.policy().wants_slc(&room) {
            slc_fits || !native_fits || self.policy().waits() && (room.pool_coming > 0 || self.fold_fits(domain))
        } else {
            !native_fits && slc_fits
        };
        if let Some(cache) = &mut self.cache {
            let cache = &mut cache.domains[domain];
            (cache.to_slc, cache.pressed) = (to_slc, room.pressed);
        }
    }

    /// The host has filled a superblock at one bit per cell.
    pub(in crate::page_map) fn cache_superblock_filled(&mut self, domain: usize, sb: SuperblockId) {
        if self.superblocks.in_pool(sb) {
            self.superblocks.set_state(sb, State::Cached);
        }
        if let Some(cache) = &mut self.cache {
            cache.domains[domain].cached.push_back(sb);
        }
    }

    /// A superblock is no longer cached, if it was.
    pub(in crate::page_map) fn leave_cache(&mut self, domain: usize, sb: SuperblockId) {
        if let Some(cache) = &mut self.cache {
            cache.domains[domain].cached.retain(|&cached| cached != sb);
        }
    }

    /// The next superblock to fold: one that holds nothing any more, else one whose data are due to be moved, else the oldest
    /// of the cache.
    pub(in crate::page_map) fn fold_candidate(&self, domain: usize) -> Option<SuperblockId> {
        let cached = &self.cache().domains[domain].cached;
        let empty = |sb: &SuperblockId| self.superblocks.valid(*sb) == 0;
        if self.superblocks.has_pool() {
            let due = || self.due_in_cache(domain).or(cached.front().copied());
            return cached.iter().copied().find(empty).or_else(due);
        }
        let mut closed = self.superblocks.of_domain(domain).filter(|&sb| self.superblocks.state(sb) == State::Closed);
        closed.find(empty).or(cached.front().copied())
    }

    /// Whether there is a superblock to fold, and room for what it holds.
    pub(in crate::page_map) fn fold_fits(&self, domain: usize) -> bool {
        let fits = |sb: SuperblockId| self.has_room_to_fold(domain) || self.superblocks.valid(sb) == 0;
        !self.is_read_only() && self.fold_candidate(domain).is_some_and(fits)
    }

    /// Whether what a superblock of the cache holds has room elsewhere, whatever host and collector use up meanwhile.
    pub(in crate::page_map) fn has_room_to_fold(&self, domain: usize) -> bool {
        !self.superblocks.has_pool() || self.allocator.free(domain) >= 3 + self.allocator.pool_coming(domain)
    }

    /// Folds a superblock if the policy wants one folded while the host writes. Returns whether it began to.
    pub(in crate::page_map) fn fold_if_due(&mut self, domain: usize, sink: &mut impl OpSink) -> bool {
        let busy = self.collector.domain(domain).is_collecting();
        if busy || !self.policy().fold_is_due(&self.cache_room(domain)) || !self.fold_fits(domain) {
            return false;
        }
        self.start_fold(domain, false, sink);
        true
    }

    /// The drive is idle: folds one superblock of every domain that has any. Returns what is left to do.
    pub fn fold_in_background(&mut self, sink: &mut impl OpSink) -> Unfolded {
        let mut left = Unfolded::Nothing;
        if self.cache.is_none() || self.is_read_only() {
            return left;
        }
        self.collector.note_rest();
        for domain in 0..self.allocator.domains() {
            // What is moved to make room comes first.
            if self.pacing.follows_host() {
                self.go_on_in_step(domain, sink);
            }
            if !self.collector.domain(domain).is_collecting() && self.fold_fits(domain) {
                self.start_fold(domain, true, sink);
            }
            left = left.max(if self.collector.domain(domain).is_collecting() || self.fold_fits(domain) {
                Unfolded::More
            } else if self.fold_candidate(domain).is_some() {
                Unfolded::NoRoom
            } else {
                Unfolded::Nothing
            });
        }
        left
    }

    /// The operation that reads what the collector moves out of a block.
    pub(in crate::page_map) fn read_kind(&self, block: BlockId) -> OpKind {
        if self.is_slc(block) { OpKind::FoldRead } else { OpKind::GcRead }
    }

    /// The operation that programs what the collector has read from a block.
    pub(in crate::page_map) fn program_kind(&self, from: Option<BlockId>) -> OpKind {
        if from.is_some_and(|block| self.is_slc(block)) { self.policy().fold_program() } else { OpKind::GcProgram }
    }

    fn is_slc(&self, block: BlockId) -> bool {
        self.medium.mode(block) == CellMode::Slc
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::DieId;

    use super::*;
    use ssdlab_nand::LogicalPage;

    use crate::op::FlashOp;
    use crate::page_map::small;

    #[test]
    fn a_fold_begins_while_three_superblocks_are_free_and_no_fewer() {
        let mut map = small::map_with_cache();
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        for page in 0..32 {
            map.write(LogicalPage::new(page), 1, 0);
            map.dispatch(&mut ops);
            small::work(&mut map, &mut ops);
        }
        assert_eq!(map.cache().cached(0).count(), 2, "both superblocks of the cache are full");
        let mut begins = |free| {
            small::leave_free(&mut map, free);
            let mut of_now = map.clone();
            (of_now.fold_in_background(&mut ops), !std::mem::take(&mut ops).is_empty())
        };
        assert_eq!(
            [4, 3, 2, 1].map(&mut begins),
            [(Unfolded::More, true), (Unfolded::More, true), (Unfolded::NoRoom, false), (Unfolded::NoRoom, false)]
        );
    }
}
