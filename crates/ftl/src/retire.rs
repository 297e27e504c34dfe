//! Blocks that go bad in use.
//!
//! A *program* that fails leaves its data in the controller's RAM, where a row stays until its program has ended. A
//! block from the reserve of the same die takes the failed block's place, page by page: what the failed block holds
//! is read and programmed into the same pages, then the failed row and those that waited behind it go where they
//! would have gone. So a superblock keeps its shape, and nothing that was promised is ever without a copy on flash:
//! the failed block is not erased. Copied rows keep their sequence numbers, by which a recovery orders them.
//!
//! An *erase* that fails needs no copying: a block from the reserve takes the place, or the superblock goes out of
//! use, and its other blocks become reserve.
//!
//! When a die's reserve is used up, a free superblock is given up for it, as long as the spare area can do with one
//! less; else the drive becomes *read-only*: the device refuses writes from then on, and what it has accepted before
//! is still written, with the last free superblocks for a reserve. If those are used up too, the flash is *frozen*:
//! nothing is programmed or erased any more, and what is still in RAM can be read from there.

use ssdlab_nand::{BlockId, UnitAddress};

use crate::gc::VictimSelector;
use crate::op::{FlashOp, OpKind, OpSink};
use crate::superblock::{State, SuperblockId};
use crate::translation::Ftl;

/// What has gone bad so far, and what follows from it.
#[derive(Clone, Debug, Default)]
pub struct Retirement {
    pub program_failures: u64,
    pub erase_failures: u64,
    /// Rows programmed again because of blocks that went bad.
    pub rows: u64,
    pub read_only: bool,
    pub frozen: bool,
}

impl Retirement {
    pub fn any_failure(&self) -> bool {
        self.program_failures + self.erase_failures > 0
    }
}

impl Ftl {
    /// Whether the drive has run out of good blocks: it must take no more writes or trims.
    #[inline]
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.retirement.read_only
    }

    /// Whether not even what was accepted before can be written any more.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.retirement.frozen
    }

    /// Blocks that replace others, on the die that has fewest.
    #[must_use]
    pub fn reserve_blocks_left(&self) -> u32 {
        self.blocks.reserve_left()
    }

    /// The program of a row has failed; the medium has marked its block as bad.
    #[cold]
    pub(crate) fn program_failed(&mut self, op: &FlashOp, sink: &mut impl OpSink) {
        self.retirement.program_failures += 1;
        let Some(to) = self.replacement(op.block) else {
            self.retirement.frozen = true;
            return;
        };
        let from = op.block;
        let held = self.medium.finished_pages(from);
        self.move_block(from, to);
        let (old, new) = self.blocks.replace(from, to);
        let (die, set) = (u32::from(op.die), self.blocks.local(new, self.medium.layout()).1 as usize);
        self.substitute(set, old, new);
        // A die keeps its order: none of the block's rows is read by a collector before its last program has ended.
        let layout = self.medium.layout();
        assert!(!self.sets[set].staged.holds(|unit| layout.block_of(unit) == from), "a row was collected too early");
        self.replace_in_rings(from, to);
        self.note_copied(to, sink);
        let mut first = Vec::with_capacity(2 * held as usize + 1);
        for page in 0..held {
            let row = FlashOp { page: page as u16, rows: 1, tag: 0, units: self.row_units as u8, ready: 0, ..*op };
            first.push(FlashOp { kind: OpKind::RetireRead, block: from, ready: to, ..row });
            first.push(FlashOp { kind: OpKind::RetireProgram, block: to, ..row });
        }
        first.push(FlashOp { block: to, ready: sink.ready_code(0), ..*op });
        self.retirement.rows += u64::from(held) + 1;
        sink.retarget(die, from, to, &first);
        // A free superblock may have gone.
        self.start_if_due(set, sink);
        self.note_writable(set);
        self.dispatch(sink);
    }

    /// A block to put in the place of one that failed; `None` if there is none anywhere.
    fn replacement(&mut self, failed: BlockId) -> Option<BlockId> {
        let (die, _) = self.medium.layout().die_of(failed);
        if let Some(block) = self.blocks.take_reserve(die) {
            return Some(block);
        }
        let set = if self.blocks.sets() == 1 { 0 } else { die as usize };
        let superblock = u64::from(self.blocks.capacity(self.medium.layout()));
        let enough = self.usable_units() >= self.least_units() + superblock;
        // The collector counts on one.
        if !enough || self.sets[set].free.len() < 2 {
            self.retirement.read_only = true;
        }
        let sb = self.sets[set].free.pop_back()?;
        self.blocks.give_up(sb, &self.medium);
        self.note_writable(set);
        self.blocks.take_reserve(die)
    }

    /// Units of flash below which a drive cannot go on writing: its logical pages, and in every set of superblocks the open
    /// ones, those that make collection start, and one to collect into.
    fn least_units(&self) -> u64 {
        let open = 3 + 2 * (u32::from(self.streams) - 1) + u32::from(self.slc_cache.is_some());
        let spare = u64::from(self.gc.start_free_superblocks + open) * self.sets.len() as u64;
        (u64::from(self.map.len()) << self.unit_shift) + spare * u64::from(self.blocks.capacity(self.medium.layout()))
    }

    /// Begins all rows of a block again in another, and points the map there.
    fn move_block(&mut self, from: BlockId, to: BlockId) {
        let layout = self.medium.layout().clone();
        let mode = self.medium.mode(from);
        if self.medium.mode(to) != mode {
            let now_s = self.medium.history(from).programmed_at_s;
            self.medium.open(to, mode, now_s).expect("a block of the reserve is erased");
        }
        for page in 0..self.medium.issued_pages(from) {
            self.medium.copy_row(from, to, page).expect("a block of the reserve is erased");
            let (source, target) = (layout.row_start(from, page), layout.row_start(to, page));
            let valid = self.validity.row(source);
            let begins = self.begins_of_row(source);
            for k in (0..self.row_units).filter(|k| (valid & begins) >> k & 1 != 0) {
                self.redirect_unit(self.medium.lpn(source + k), source + k, target + k);
            }
            self.validity.clear_span(source, valid);
            self.validity.set_row(target, valid);
            if let Some(compression) = &mut self.compression {
                compression.extents.set_row(target, begins);
            }
        }
    }

    /// Where logical units begin in a row, one bit for each unit of flash.
    fn begins_of_row(&self, start: UnitAddress) -> u64 {
        self.compression.as_ref().map_or(u64::MAX, |compression| compression.extents.row(start))
    }

    /// With one-die superblocks the replacement is a superblock of its own: it takes over every part that the failed
    /// one plays in its set.
    fn substitute(&mut self, set: usize, old: SuperblockId, new: SuperblockId) {
        if old == new {
            return;
        }
        let clock = self.counters.host_units + self.counters.gc_units;
        let layout = self.medium.layout();
        let (old_local, new_local) = (self.blocks.local(old, layout).0, self.blocks.local(new, layout).0);
        let valid = self.blocks.valid[new as usize];
        let closed = self.blocks.state[new as usize] == State::Closed;
        let set = &mut self.sets[set];
        if closed {
            set.selector.remove(old_local);
            set.selector.close(new_local, valid, clock);
        }
        let open = set.host.iter_mut().chain(&mut set.gc).chain([&mut set.slc]).flatten();
        let parts = open.map(|open| &mut open.superblock).chain(set.cached.iter_mut());
        let parts = parts.chain(set.reading.iter_mut().map(|reading| &mut reading.superblock));
        let parts = parts.chain(set.moving.iter_mut());
        let parts = parts.chain(set.finishing.iter_mut().map(|finishing| &mut finishing.superblock));
        parts.filter(|sb| **sb == old).for_each(|sb| *sb = new);
    }

    /// The erase of a block has failed; the medium has marked it as bad. Returns what takes its place and counts as
    /// erased: a block from the reserve, or, for want of one, the failed block itself.
    #[cold]
    pub(crate) fn erase_failed(&mut self, failed: BlockId) -> BlockId {
        self.retirement.erase_failures += 1;
        let (die, _) = self.medium.layout().die_of(failed);
        let system = self.blocks.state[self.blocks.of_block(failed) as usize] == State::System;
        // The journal cannot do without its ring. A superblock can go: it is the reserve of the others then.
        let to = if system { self.replacement(failed) } else { self.blocks.take_reserve(die) };
        let Some(to) = to else {
            self.retirement.frozen |= system;
            return failed;
        };
        self.blocks.replace(failed, to);
        self.replace_in_rings(failed, to);
        to
    }

    fn replace_in_rings(&mut self, from: BlockId, to: BlockId) {
        if let Some(journal) = &mut self.journal {
            journal.replace(from, to);
        }
        if let Some(demand) = &mut self.demand_map {
            demand.replace(from, to, self.medium.layout());
        }
    }

    /// What has been copied into a block has new entries in the map.
    fn note_copied(&mut self, block: BlockId, sink: &mut impl OpSink) {
        for page in 0..self.medium.issued_pages(block) {
            let start = self.medium.layout().row_start(block, page);
            let valid = self.validity.row(start) & self.begins_of_row(start);
            for k in (0..self.row_units).filter(|k| valid >> k & 1 != 0) {
                let lpn = self.medium.lpn(start + k);
                if let Some(demand) = &mut self.demand_map {
                    demand.moved(lpn, &mut self.medium, sink);
                }
            }
        }
    }

    /// All blocks of a superblock have been erased, or have failed to be. Returns whether it can be used.
    pub(crate) fn keep_erased(&mut self, sb: SuperblockId, set: usize) -> bool {
        if self.retirement.erase_failures == 0 || self.blocks.is_sound(sb, set as u32, &self.medium) {
            return true;
        }
        self.blocks.give_up(sb, &self.medium);
        // Without another, the host or the collector may have counted on this one already.
        self.retirement.read_only |= self.sets[set].free.is_empty();
        self.check_room();
        false
    }

    /// Becomes read-only if what is left of the spare area is too little to work with.
    pub(crate) fn check_room(&mut self) {
        if self.retirement.any_failure() {
            self.retirement.read_only |= self.usable_units() < self.least_units();
        }
    }
}
