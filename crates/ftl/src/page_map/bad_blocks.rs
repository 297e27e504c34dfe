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

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, DieId, Medium, UnitAddress};

use super::PageMap;
use super::superblock::{State, SuperblockId, Superblocks};
use crate::op::{FlashOp, OpKind, OpSink};
use crate::spec::spare_superblocks;
use crate::translation::{Translation, is_plausible};

/// What the drive can still do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Usability {
    #[default]
    Full,
    ReadOnly,
    Frozen,
}

/// What has gone bad so far, and what follows from it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BadBlocks {
    program_failures: u64,
    erase_failures: u64,
    /// Rows programmed again because of blocks that went bad.
    rows: u64,
    usability: Usability,
    /// Blocks whose rows are being copied, and where to. Part of the table of blocks, which a power cut leaves as it is.
    moving: Vec<(BlockId, BlockId)>,
}

impl BadBlocks {
    #[must_use]
    pub fn program_failures(&self) -> u64 {
        self.program_failures
    }

    #[must_use]
    pub fn erase_failures(&self) -> u64 {
        self.erase_failures
    }

    /// Rows programmed again because of blocks that went bad.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// So many of them never came to be.
    pub fn take_back_rows(&mut self, rows: u64) {
        self.rows -= rows;
    }

    #[must_use]
    pub fn any_failure(&self) -> bool {
        self.program_failures + self.erase_failures > 0
    }

    /// An erase has failed.
    pub fn count_erase_failure(&mut self) {
        self.erase_failures += 1;
    }

    /// The rows of a block are being copied into another. What the first was still to receive, the other receives.
    fn moves(&mut self, from: BlockId, to: BlockId, held: u32) {
        self.moving.iter_mut().filter(|moving| moving.1 == from).for_each(|moving| moving.1 = to);
        if held > 0 {
            self.moving.push((from, to));
        }
    }

    /// Blocks that are being copied into others.
    #[must_use]
    pub fn moving(&self) -> &[(BlockId, BlockId)] {
        &self.moving
    }

    /// Whether what is being copied is: out of a bad block into a good one of its die that holds data.
    #[must_use]
    pub fn can_go_on_moving(&self, medium: &Medium, superblocks: &Superblocks) -> bool {
        let layout = medium.layout();
        let counts = [self.program_failures, self.erase_failures, self.rows];
        counts.into_iter().all(is_plausible)
            && self.moving.iter().all(|&(from, to)| {
                let of_sb = superblocks.of_block_checked(to);
                layout.die_of(from).0 == layout.die_of(to).0
                    && medium.is_bad(from)
                    && !medium.is_bad(to)
                    && !medium.is_half_erased(from)
                    && of_sb.is_some_and(|sb| superblocks.state(sb) != State::Reserved)
            })
    }

    /// Copies that were thought to be whole are not.
    pub fn move_again(&mut self, moving: Vec<(BlockId, BlockId)>) {
        self.moving.extend(moving);
    }

    /// A block holds everything that it was to receive.
    pub fn moved(&mut self, to: BlockId) {
        self.moving.retain(|moving| moving.1 != to);
    }

    /// From now on the drive takes no more writes.
    pub fn make_read_only(&mut self) {
        self.usability = self.usability.max(Usability::ReadOnly);
    }
}

impl PageMap {
    /// Whether the drive has run out of good blocks: it must take no more writes or trims.
    #[inline]
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.bad_blocks.usability >= Usability::ReadOnly
    }

    /// Whether not even what was accepted before can be written any more.
    #[inline]
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.bad_blocks.usability == Usability::Frozen
    }

    /// Blocks that replace others, on the die that has fewest.
    #[must_use]
    pub fn reserve_blocks_left(&self) -> u32 {
        self.superblocks.reserve_left()
    }

    /// The program of a row has failed; the medium has marked its block as bad.
    #[cold]
    pub(super) fn program_failed(&mut self, die: DieId, op: &FlashOp, sink: &mut impl OpSink) {
        self.bad_blocks.program_failures += 1;
        let Some(to) = self.replacement(op.block()) else {
            self.bad_blocks.usability = Usability::Frozen;
            self.programmed.ended(op.kind());
            return;
        };
        let from = op.block();
        let held = self.medium.finished_pages(from);
        self.bad_blocks.moves(from, to, held);
        self.move_block(from, to);
        self.superblocks.replace(from, to);
        let domain = self.superblocks.domain_of_die(die);
        // A die keeps its order: none of the block's rows is read by a collector before its last program has ended.
        assert!(!self.has_staged(domain, from), "a row was collected too early");
        self.log.replace(from, to, self.medium.layout());
        self.replace_copy_block(from, to);
        self.note_copied(to, sink);
        let mut first = Vec::with_capacity(2 * held as usize + 1);
        for page in 0..held {
            first.push(FlashOp::retire_read(from, page, self.row_units, to));
            first.push(FlashOp::program(OpKind::RetireProgram, to, page, self.row_units, 0));
        }
        first.push(op.again_in(to, sink.data_from(0)));
        self.bad_blocks.rows += u64::from(held) + 1;
        // The row that failed has been programmed, and is once more: it counts as what it is then.
        self.programmed.ended(OpKind::RetireProgram);
        sink.retarget(die, from, to, &first);
        // A free superblock may have gone.
        self.start_if_due(domain, sink);
        self.note_writable(domain);
        self.dispatch(sink);
    }

    /// A row has been copied into the block that replaces another.
    #[cold]
    pub(super) fn row_copied(&mut self, to: BlockId) {
        if self.medium.finished_pages(to) >= self.rows_to_copy(to) {
            self.bad_blocks.moved(to);
        }
    }

    /// Rows that a block has been given to take over from others.
    pub(super) fn rows_to_copy(&self, to: BlockId) -> u32 {
        let from = self.bad_blocks.moving.iter().filter(|moving| moving.1 == to);
        from.map(|&(from, _)| self.medium.finished_pages(from)).max().unwrap_or(0)
    }

    /// A block to put in the place of one that failed; `None` if there is none anywhere.
    fn replacement(&mut self, failed: BlockId) -> Option<BlockId> {
        let (die, _) = self.medium.layout().die_of(failed);
        if let Some(block) = self.superblocks.take_reserve(die) {
            return Some(block);
        }
        let domain = self.superblocks.domain_of_die(die);
        let enough = self.usable_units() >= self.least_units() + u64::from(self.superblock_units);
        // The collector counts on one.
        if !enough || self.allocator.free(domain) < 2 {
            self.bad_blocks.make_read_only();
        }
        let sb = self.allocator.give_up_free(domain)?;
        self.superblocks.give_up(sb, &self.medium);
        self.note_writable(domain);
        self.superblocks.take_reserve(die)
    }

    /// Units of flash below which a drive cannot go on writing: its logical pages, and what every domain needs beside them.
    fn least_units(&self) -> u64 {
        let spare = spare_superblocks(self.collector.start_free(), self.allocator.streams(), self.cache.is_some());
        let spare = u64::from(spare) * self.allocator.domains() as u64;
        (u64::from(self.map.logical_pages()) << self.unit_shift) + spare * u64::from(self.superblock_units)
    }

    /// Begins all rows of a block again in another, and points the map there.
    fn move_block(&mut self, from: BlockId, to: BlockId) {
        let mode = self.medium.mode(from);
        if self.medium.mode(to) != mode {
            self.medium.open(to, mode).expect("a block of the reserve is erased");
        }
        for page in 0..self.medium.issued_pages(from) {
            self.medium.copy_row(from, to, page).expect("a block of the reserve is erased");
            self.live_on_in((from, page), (to, page));
        }
    }

    /// What lives in a row lives from now on in another, which has been given the same. Returns how many units of flash that
    /// are; superblocks are not told.
    pub(super) fn live_on_in(&mut self, from: (BlockId, u32), to: (BlockId, u32)) -> u32 {
        let layout = self.medium.layout();
        let (source, target) = (layout.row_start(from.0, from.1), layout.row_start(to.0, to.1));
        let valid = self.validity.row(source);
        let begins = self.begins_of_row(source);
        for k in (0..self.row_units).filter(|k| (valid & begins) >> k & 1 != 0) {
            self.redirect_unit(self.medium.lpn(source + k), source + k, target + k);
        }
        self.validity.clear_span(source, valid);
        self.validity.set_row(target, valid);
        if let Some(compression) = &mut self.compression {
            compression.set_row(target, begins);
        }
        valid.count_ones()
    }

    /// Where logical units begin in a row, one bit for each unit of flash.
    pub(super) fn begins_of_row(&self, start: UnitAddress) -> u64 {
        self.compression.as_ref().map_or(u64::MAX, |compression| compression.extents().row(start))
    }

    /// The erase of a block has failed; the medium has marked it as bad. Returns what takes its place and counts as
    /// erased: a block from the reserve, or, for want of one, the failed block itself.
    #[cold]
    pub(super) fn erase_failed(&mut self, failed: BlockId) -> BlockId {
        self.bad_blocks.count_erase_failure();
        let (die, _) = self.medium.layout().die_of(failed);
        let system = self.superblocks.state(self.superblocks.of_block(failed)) == State::System;
        // The journal cannot do without its ring. A superblock can go: it is the reserve of the others then.
        let to = if system { self.replacement(failed) } else { self.superblocks.take_reserve(die) };
        let Some(to) = to else {
            if system {
                self.bad_blocks.usability = Usability::Frozen;
            }
            return failed;
        };
        self.superblocks.replace(failed, to);
        self.log.replace(failed, to, self.medium.layout());
        self.replace_copy_block(failed, to);
        to
    }

    /// What has been copied into a block has new entries in the map.
    fn note_copied(&mut self, block: BlockId, sink: &mut impl OpSink) {
        for page in 0..self.medium.issued_pages(block) {
            let start = self.medium.layout().row_start(block, page);
            let valid = self.validity.row(start) & self.begins_of_row(start);
            for k in (0..self.row_units).filter(|k| valid >> k & 1 != 0) {
                let lpn = self.medium.lpn(start + k);
                self.log.note_copied(lpn, &mut self.medium, sink);
            }
        }
    }

    /// All blocks of a superblock have been erased, or have failed to be. Returns whether it can be used.
    pub(super) fn keep_erased(&mut self, sb: SuperblockId, domain: usize) -> bool {
        if self.bad_blocks.erase_failures == 0 || self.superblocks.is_sound(sb, domain, &self.medium) {
            return true;
        }
        self.superblocks.give_up(sb, &self.medium);
        // Without another, the host or the collector may have counted on this one already.
        if self.allocator.free(domain) == 0 {
            self.bad_blocks.make_read_only();
        }
        self.check_room();
        false
    }

    /// Becomes read-only if what is left of the spare area is too little to work with.
    pub(super) fn check_room(&mut self) {
        if self.bad_blocks.any_failure() && self.usable_units() < self.least_units() {
            self.bad_blocks.make_read_only();
        }
    }
}
