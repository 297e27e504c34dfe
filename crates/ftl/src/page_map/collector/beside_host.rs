//! Work ahead of need that goes on beside the host (`gc.background_beside_host`): its operations yield to all others, so that it
//! takes the dies that are idle. Where space runs out for the host meanwhile, they yield no more, and the work ends with what it
//! holds, as it does on other drives when the host comes back.

use ssdlab_nand::{BlockId, DieId};

use super::domain::{Purpose, Trigger};
use crate::op::{FlashOp, OpSink};
use crate::page_map::PageMap;
use crate::page_map::cache::SlcCache;

impl PageMap {
    /// Asks for an operation of a collection, which yields if the collection works ahead of need beside the host.
    #[inline(always)]
    pub(super) fn enqueue_for_collection(&self, d: usize, die: DieId, op: FlashOp, sink: &mut impl OpSink) {
        if self.collector.beside_host && self.collector.domains[d].works_ahead() {
            sink.enqueue_yielding(die, op);
        } else {
            sink.enqueue(die, op);
        }
    }

    /// Asks for the erase of a block of a victim, which yields unless the host may soon need it.
    #[inline]
    pub(super) fn enqueue_erase(&self, d: usize, die: DieId, block: BlockId, sink: &mut impl OpSink) {
        if self.collector.beside_host && !self.is_short_of_space(d) {
            sink.enqueue_yielding(die, FlashOp::erase(block));
        } else {
            sink.enqueue(die, FlashOp::erase(block));
        }
    }

    /// Whether the host may have to wait for work of the collector.
    fn is_short_of_space(&self, d: usize) -> bool {
        let no_cache =
            || self.superblocks.has_pool() && self.allocator.pool_free(d) == 0 && !self.allocator.cache_is_open(d);
        self.allocator.free(d) <= self.collector.start_free || no_cache()
    }

    /// A command of the host's has ended: collects ahead of need and folds, where that is to go on beside the host.
    pub fn work_beside_host(&mut self, sink: &mut impl OpSink) {
        if self.is_read_only() {
            return;
        }
        for d in 0..self.collector.domains.len() {
            if self.collector.domains[d].is_collecting() || self.is_short_of_space(d) {
                continue;
            }
            if self.collector.works_ahead && self.collects_ahead(d) {
                self.start(d, Purpose::FreesSpace, Trigger::DriveIdle);
                self.collector_step(d, sink);
            } else if self.cache.as_ref().is_some_and(SlcCache::folds_by_itself) && self.fold_fits(d) {
                self.start_fold(d, true, sink);
            }
        }
    }

    /// Where space has run out for the host, nothing yields to it any more.
    #[inline(never)]
    pub(in crate::page_map) fn press_where_short(&mut self, sink: &mut impl OpSink) {
        for d in 0..self.collector.domains.len() {
            if !self.is_short_of_space(d) {
                continue;
            }
            sink.bring_forward();
            if self.collector.domains[d].stop_working_ahead() {
                self.end_if_done(d);
                self.start_if_due(d, sink);
                self.note_writable(d);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_map::small;

    /// How often it was told that nothing yields any more.
    struct Told(u32);

    impl OpSink for Told {
        fn enqueue(&mut self, _: DieId, _: FlashOp) {}

        fn retarget(&mut self, _: DieId, _: BlockId, _: BlockId, _: &[FlashOp]) {}

        fn bring_forward(&mut self) {
            self.0 += 1;
        }
    }

    #[test]
    fn nothing_yields_any_more_once_as_few_superblocks_are_free_as_start_a_collection() {
        let mut map = small::map(false);
        map.collector.beside_host = true;
        let mut told = |free| {
            small::leave_free(&mut map, free);
            let mut told = Told(0);
            map.clone().press_where_short(&mut told);
            told.0
        };
        assert_eq!([4, 3, 2, 1].map(&mut told), [0, 0, 1, 1]);
    }
}
