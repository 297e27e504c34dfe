//! Copies of older pages: each page that shares its cells with one that is about to be programmed is read and programmed
//! once more, at one bit per cell, where no later program endangers it.
//!
//! Every die has blocks of its own for this, so that its queue keeps the order: read of the older page, program of the copy,
//! then the program that endangers it. A copy takes the spare area along, sequence number included, and so is neither newer
//! nor older than the page. It is of use only while that program is under way; once all pages of a block have been
//! programmed, another block is erased and taken, whatever copies it holds. Whether a page has been flushed makes no
//! difference (estimate: the simplest firmware; US8819337 copies what was flushed since it was written).
//!
//! A recovery looks at the copies after everything else: where a cut has destroyed a page, its copy has the same number
//! and counts. The page then lives in the copy area until the same recovery has programmed it anew where data live
//! ([`RepairKind::Rescue`]), or, if nothing is free then, until the collector has freed a superblock. A block with such a
//! page is not erased by that recovery, so that a cut in its course finds the copy again. What a recovery itself programs
//! over older pages, it copies first. What could not be programmed anew is brought together, so that each die has two
//! blocks for new copies; a drive on which that cannot be done takes no more writes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, CellMode, DieId, Dies, EMPTY_TAG, LogicalPage, Medium, SequenceNumber};

use crate::op::{FlashOp, OpKind, OpSink};
use crate::page_map::PageMap;
use crate::page_map::allocator::Writer;
use crate::page_map::validity::Validity;
use crate::translation::{Repair, RepairKind};

/// Blocks of each die that are kept for copies: the one that is written, one that can be erased, and one that may hold what
/// a recovery found no room for. Estimate.
pub const BLOCKS_OF_A_DIE: u32 = 3;

/// Blocks that new copies take in turn: the last one is full when the next is erased, and may hold a copy that is needed.
const IN_TURN: usize = 2;

/// Where the next copy on a die goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Row(BlockId, u32),
    /// This block is to be erased first.
    Erase(BlockId),
    /// All blocks hold pages that live there.
    Full,
}

/// See the module's own page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CopyArea {
    /// By die: its blocks, and which of them was written last.
    blocks: Vec<Vec<BlockId>>,
    current: Vec<usize>,
    rows: u64,
    /// By die: the row whose copy waits for an erase.
    #[serde(skip)]
    waiting: Vec<Option<(BlockId, u32)>>,
    /// Blocks in which a recovery has found data. They are not erased before nothing of that is valid any more, and the
    /// programs of host and collector have ended that may have written it anew: how many had been issued then.
    #[serde(skip)]
    kept: Vec<(BlockId, Option<(u64, u64)>)>,
    /// Rows with data that are being read to be moved.
    #[serde(skip)]
    moving: Vec<(BlockId, u32)>,
}

impl CopyArea {
    /// Begins on erased blocks, those of each die.
    pub fn begin_empty(&mut self, blocks: Vec<Vec<BlockId>>) {
        self.blocks = blocks;
        self.forget();
    }

    /// The power went.
    fn forget(&mut self) {
        self.current = vec![0; self.blocks.len()];
        self.waiting = vec![None; self.blocks.len()];
        self.kept.clear();
        self.moving.clear();
    }

    /// Rows programmed: copies, and what was moved out of the area.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// A row of the area is being programmed.
    pub fn count_row(&mut self) {
        self.rows += 1;
    }

    /// So many rows of the area never came to be.
    pub fn take_back_rows(&mut self, rows: u64) {
        self.rows -= rows;
    }

    /// The blocks of a die, in turn, from the one behind `block` to the one before it.
    pub fn blocks_after(&self, die: DieId, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let blocks = self.blocks.get(die.index()).map_or(&[][..], Vec::as_slice);
        let at = blocks.iter().position(|&other| other == block).unwrap_or(0);
        (1..blocks.len()).map(move |k| blocks[(at + k) % blocks.len()])
    }

    /// While the drive starts: what is kept on a die takes the place of what was written last, which is kept if it is needed.
    pub fn go_on_from_kept(&mut self) {
        for (blocks, current) in self.blocks.iter().zip(&mut self.current) {
            let kept = |block: &BlockId| self.kept.iter().any(|kept| kept.0 == *block);
            *current = blocks.iter().position(kept).unwrap_or(*current);
        }
    }

    /// The next copy on a die goes into this block.
    fn go_on_in(&mut self, die: DieId, block: BlockId) {
        let blocks = &self.blocks[die.index()];
        let at = blocks.iter().position(|&other| other == block);
        self.current[die.index()] = at.unwrap_or(self.current[die.index()]);
    }

    /// Whether a block is not to be erased yet.
    #[must_use]
    pub fn is_kept(&self, block: BlockId) -> bool {
        self.kept.iter().any(|kept| kept.0 == block)
    }

    /// All blocks of the area.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.blocks.iter().flatten().copied()
    }

    /// Whether this is an area of as many blocks of as many dies.
    #[must_use]
    pub fn is_shaped_like(&self, other: &CopyArea) -> bool {
        let counts = |area: &CopyArea| area.blocks.iter().map(Vec::len).collect::<Vec<_>>();
        counts(self) == counts(other)
    }

    /// Where the next copy on a die goes. `holds_data`: whether pages live in a block.
    fn next(&mut self, die: DieId, medium: &Medium, holds_data: impl Fn(BlockId) -> bool) -> Next {
        let Some(blocks) = self.blocks.get(die.index()) else { return Next::Full };
        let current = self.current[die.index()];
        for k in 0..blocks.len() {
            let at = (current + k) % blocks.len();
            let block = blocks[at];
            if medium.is_bad(block) {
                continue;
            }
            let half_erased = medium.is_half_erased(block);
            let page = medium.issued_pages(block);
            if !half_erased && page < medium.pages(block) {
                self.current[die.index()] = at;
                return Next::Row(block, page);
            }
            // The block that was written last may hold a copy that is needed now.
            if half_erased || (k > 0 && !holds_data(block)) {
                self.current[die.index()] = at;
                return Next::Erase(block);
            }
        }
        Next::Full
    }

    /// Copies for which a die has room, blocks that it can erase included. `pages`: of a block at one bit per cell.
    fn room(&self, die: DieId, medium: &Medium, pages: u32, holds_data: impl Fn(BlockId) -> bool) -> u32 {
        let Some(blocks) = self.blocks.get(die.index()) else { return 0 };
        let current = self.current[die.index()];
        let of_block = |(at, &block): (usize, &BlockId)| {
            let issued = medium.issued_pages(block);
            match () {
                () if medium.is_bad(block) => 0,
                () if medium.is_half_erased(block) || issued == 0 => pages,
                () if issued < medium.pages(block) => medium.pages(block) - issued,
                () if at == current || holds_data(block) => 0,
                () => pages,
            }
        };
        blocks.iter().enumerate().map(of_block).sum()
    }
}

impl PageMap {
    /// A program of a row is about to be given to its die: asks for copies of what it endangers, ahead of it.
    #[inline(never)]
    pub(in crate::page_map) fn copy_endangered(
        &mut self,
        die: DieId,
        block: BlockId,
        page: u32,
        sink: &mut impl OpSink,
    ) {
        if self.parity.is_some() {
            return self.cover_endangered(die, block, page, sink);
        }
        for older in self.medium.older_pages(block, page) {
            if self.is_worth_a_copy(block, older) {
                sink.enqueue(die, FlashOp::safety_read(block, older, self.row_units));
            }
        }
    }

    /// Whether a row holds any page of the host's. Pages that have been written again since count too: the new ones may not
    /// be on flash yet.
    pub(super) fn is_worth_a_copy(&self, block: BlockId, page: u32) -> bool {
        let start = self.medium.layout().row_start(block, page);
        self.medium.is_readable(block, page)
            && start.run(self.row_units).any(|unit| self.medium.lpn(unit) != LogicalPage::NONE)
    }

    /// An older page has been read, or a copy that is to be moved.
    #[cold]
    pub(in crate::page_map) fn safety_read_ended(&mut self, block: BlockId, page: u32, sink: &mut impl OpSink) {
        if self.is_copy_block(block) {
            self.move_copy(block, page, sink);
        } else if self.parity.is_none() {
            self.copy_older_page(block, page, sink);
        }
    }

    /// Copies an older page: that goes ahead of what waits for the die.
    fn copy_older_page(&mut self, block: BlockId, page: u32, sink: &mut impl OpSink) {
        let die = self.medium.layout().die_of(block).0;
        self.release_copies();
        match self.next_copy(die) {
            Next::Row(to, row) => {
                self.open_copy_block(to);
                self.medium.copy_row_to((block, page), (to, row)).expect("copies are programmed in order");
                self.copy_extents((block, page), (to, row));
                if let Some(copies) = &mut self.copies {
                    copies.rows += 1;
                }
                let op = FlashOp::program(OpKind::SafetyProgram, to, row, self.row_units, 0);
                sink.enqueue_first(die, op);
            }
            Next::Erase(full) => {
                if let Some(copies) = &mut self.copies {
                    copies.waiting[die.index()] = Some((block, page));
                }
                sink.enqueue_first(die, FlashOp::erase(full));
            }
            // A recovery leaves room, or a drive that is read-only: only what was accepted before is programmed.
            Next::Full => {}
        }
    }

    /// A block of the area has been erased, `asked` or what has come in its place: the copy that has waited for it is made.
    #[cold]
    pub(in crate::page_map) fn copy_block_erased(&mut self, asked: BlockId, block: BlockId, sink: &mut impl OpSink) {
        if self.parity.is_some() {
            return self.parity_block_erased(asked, block, sink);
        }
        let die = self.medium.layout().die_of(block).0;
        let waiting = self.copies.as_mut().and_then(|copies| copies.waiting[die.index()].take());
        if let Some((block, page)) = waiting {
            self.copy_older_page(block, page, sink);
        }
    }

    /// Whether a block is kept for copies.
    pub(in crate::page_map) fn is_copy_block(&self, block: BlockId) -> bool {
        let die = self.medium.layout().die_of(block).0;
        let of_die = self.copies.as_ref().and_then(|copies| copies.blocks.get(die.index()));
        of_die.is_some_and(|blocks| blocks.contains(&block))
    }

    /// A block has gone bad: if it was kept for copies, another takes its place.
    pub(in crate::page_map) fn replace_copy_block(&mut self, from: BlockId, to: BlockId) {
        let Some(copies) = &mut self.copies else { return };
        let kept = copies.kept.iter_mut().map(|kept| &mut kept.0);
        let moving = copies.moving.iter_mut().map(|row| &mut row.0);
        let blocks = copies.blocks.iter_mut().flatten().chain(kept).chain(moving);
        blocks.filter(|block| **block == from).for_each(|block| *block = to);
        if let Some(parity) = &mut self.parity {
            parity.replace(from, to);
        }
    }

    /// Something is free: reads what a recovery has left in the copy area, to move it.
    #[cold]
    pub(in crate::page_map) fn move_copies(&mut self, domain: usize, sink: &mut impl OpSink) {
        let Some(copies) = &self.copies else { return };
        if copies.kept.is_empty() || !self.may_move_copies(domain) {
            return;
        }
        let layout = self.medium.layout();
        let in_domain = |block| self.superblocks.domain_of_die(layout.die_of(block).0) == domain;
        let kept = copies.kept.iter().map(|kept| kept.0).filter(|&block| in_domain(block));
        let rows = kept.flat_map(|block| (0..self.medium.finished_pages(block)).map(move |page| (block, page)));
        let holds = |row: &(BlockId, u32)| self.validity.row(layout.row_start(row.0, row.1)) != 0;
        let rows: Vec<(BlockId, u32)> = rows.filter(|row| holds(row) && !copies.moving.contains(row)).collect();
        for (block, page) in rows {
            sink.enqueue(self.medium.layout().die_of(block).0, FlashOp::safety_read(block, page, self.row_units));
            if let Some(copies) = &mut self.copies {
                copies.moving.push((block, page));
            }
        }
    }

    /// Whether moving a row leaves the collector a free superblock.
    fn may_move_copies(&self, domain: usize) -> bool {
        let must_open = u32::from(self.allocator.collector_rows_left(domain) == 0);
        let room = self.allocator.free(domain) > must_open && self.allocator.collector_has_room(domain, 0);
        room && !self.is_read_only()
    }

    fn move_copy(&mut self, block: BlockId, page: u32, sink: &mut impl OpSink) {
        let Some(copies) = &mut self.copies else { return };
        copies.moving.retain(|&row| row != (block, page));
        let layout = self.medium.layout();
        let (domain, start) = (self.superblocks.domain_of_die(layout.die_of(block).0), layout.row_start(block, page));
        if self.validity.row(start) != 0 && self.may_move_copies(domain) {
            self.move_row(domain, start, sink);
            self.start_if_due(domain, sink);
            self.note_writable(domain);
            if let Some(copies) = &mut self.copies {
                copies.rows += 1;
            }
        }
    }

    /// A copy has been programmed, or one has been moved.
    #[cold]
    pub(in crate::page_map) fn safety_program_ended(&mut self, op: &FlashOp, sink: &mut impl OpSink) {
        if !self.is_copy_block(op.block()) {
            self.row_is_moved(op, sink);
        }
    }

    pub(super) fn next_copy(&mut self, die: DieId) -> Next {
        let PageMap { copies: Some(copies), medium, .. } = self else { return Next::Full };
        let kept = std::mem::take(&mut copies.kept);
        let next = copies.next(die, medium, |block| kept.iter().any(|kept| kept.0 == block));
        copies.kept = kept;
        next
    }

    /// Lets go of blocks whose data are not wanted any more, and written anew if they were replaced.
    pub(in crate::page_map) fn release_copies(&mut self) {
        let PageMap { copies: Some(copies), medium, validity, host, superblocks, collector, padding, .. } = self else {
            return;
        };
        copies.kept.retain_mut(|(block, programs)| {
            let is_read = copies.moving.iter().any(|row| row.0 == *block);
            if is_read || units_in(*block, medium, validity) > 0 {
                return true;
            }
            let domain = superblocks.domain_of_die(medium.layout().die_of(*block).0);
            let (host, moved) = (host.programs(), collector.domain(domain).programs());
            let issued = *programs.get_or_insert((host.issued(), moved.issued()));
            let open = padding.as_ref().is_some_and(|padding| padding.closed_in_programs(host.head()) < issued.0);
            open || host.head() < issued.0 || moved.head() < issued.1
        });
    }

    pub(super) fn open_copy_block(&mut self, block: BlockId) {
        if self.medium.issued_pages(block) == 0 {
            self.medium.open(block, CellMode::Slc).expect("it is erased, and its die has the mode");
        }
    }

    /// Where extents begin in a copy, on a drive that compresses.
    pub(super) fn copy_extents(&mut self, from: (BlockId, u32), to: (BlockId, u32)) {
        let layout = self.medium.layout();
        let (from, to) = (layout.row_start(from.0, from.1), layout.row_start(to.0, to.1));
        if let Some(compression) = &mut self.compression {
            let begins = compression.extents().row(from);
            compression.set_row(to, begins);
        }
    }

    // ---- recovery -----------------------------------------------------------------------------------------------

    /// Blocks in which copies may be found.
    pub(in crate::page_map) fn copy_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let blocks = self.copies.iter().flat_map(|copies| copies.blocks());
        blocks.filter(|&block| !self.medium.is_bad(block) && !self.medium.is_half_erased(block))
    }

    /// Numbers of the rows of which there are copies: the rows themselves may have been erased since.
    pub(in crate::page_map) fn numbers_of_copies(&self) -> impl Iterator<Item = SequenceNumber> + '_ {
        let of_block =
            move |block| (0..self.medium.finished_pages(block)).map(move |page| self.medium.sequence(block, page));
        self.copy_blocks().flat_map(of_block)
    }

    /// The power went, and the newest copy of each page has been found.
    pub(in crate::page_map) fn recover_copies(&mut self) {
        let PageMap { copies: Some(copies), medium, validity, superblocks, .. } = self else { return };
        copies.forget();
        for block in copies.blocks.iter().flatten().copied() {
            let units = units_in(block, medium, validity);
            if units > 0 {
                superblocks.gain_valid(superblocks.of_block(block), units);
                copies.kept.push((block, None));
            }
        }
        self.write_off_what_was_copied();
    }

    /// Of a destroyed row of which there is a copy, or that can be rebuilt, nothing is missed from now on, whatever becomes of the copy.
    fn write_off_what_was_copied(&mut self) {
        let copied = self.readable_numbers();
        let rows = self.medium.blocks_with_unreadable_rows();
        let rows = rows.flat_map(|block| self.medium.unreadable_pages(block).map(move |page| (block, page)));
        let destroyed = rows.filter(|&(block, page)| !self.medium.is_torn(block, page));
        let numbered = destroyed.map(|(block, page)| ((block, page), self.medium.sequence(block, page)));
        let known = |row, number| {
            copied.contains(&number) || self.can_be_rebuilt(row) || self.recovery.is_written_off(row, number)
        };
        let written_off = numbered.filter(|&(row, number)| known(row, number)).collect();
        self.recovery.set_written_off(written_off);
    }

    /// Numbers of the rows of which there are copies that can be read.
    pub(super) fn readable_numbers(&self) -> BTreeSet<SequenceNumber> {
        self.readable_copies().map(|(block, page)| self.medium.sequence(block, page)).collect()
    }

    fn readable_copies(&self) -> impl Iterator<Item = (BlockId, u32)> + '_ {
        let rows = move |block| (0..self.medium.finished_pages(block)).map(move |page| (block, page));
        self.copy_blocks().flat_map(rows).filter(|&(block, page)| self.medium.is_readable(block, page))
    }

    /// Copies that filling a block up to a page takes.
    pub(in crate::page_map) fn copies_to_fill(&self, block: BlockId, to_page: u32) -> u32 {
        if self.copies.is_none() {
            return 0;
        }
        let endangered =
            (self.medium.issued_pages(block)..to_page).flat_map(|page| self.medium.older_pages(block, page));
        endangered.filter(|&older| self.is_worth_a_copy(block, older)).count() as u32
    }

    /// Copies for which a die has room while the drive starts; any number, where none are made.
    pub(in crate::page_map) fn room_for_copies(&self, die: DieId) -> u32 {
        let Some(copies) = &self.copies else { return u32::MAX };
        let pages = self.medium.pages_in_mode(CellMode::Slc);
        copies.room(die, &self.medium, pages, |block| copies.kept.iter().any(|kept| kept.0 == block))
    }

    /// The same as [`PageMap::copy_endangered`] for a drive that starts. There is room for the copies.
    pub(in crate::page_map) fn copy_endangered_at_start(
        &mut self,
        block: BlockId,
        page: u32,
        repairs: &mut Vec<Repair>,
    ) {
        if self.copies.is_none() {
            return;
        }
        let die = self.medium.layout().die_of(block).0;
        for older in self.medium.older_pages(block, page) {
            if !self.is_worth_a_copy(block, older) {
                continue;
            }
            let (to, row) = self.next_copy_at_start(die, repairs).expect("there is room for the copies");
            self.open_copy_block(to);
            self.medium.copy_row_to_at_start((block, older), (to, row)).expect("copies are programmed in order");
            self.copy_extents((block, older), (to, row));
            // A cut during this recovery may need it: nothing that has been erased comes back.
            self.keep_copies_in(to);
            repairs.push(Repair { block: to, kind: RepairKind::Save { page: row, of: older } });
        }
    }

    /// Where the next copy on a die that starts goes; erases a block for it.
    pub(super) fn next_copy_at_start(&mut self, die: DieId, repairs: &mut Vec<Repair>) -> Option<(BlockId, u32)> {
        let mut next = self.next_copy(die);
        if let Next::Erase(full) = next {
            self.erase_copy_block_at_start(full, repairs);
            next = self.next_copy(die);
        }
        match next {
            Next::Row(block, page) => Some((block, page)),
            Next::Erase(_) | Next::Full => None,
        }
    }

    fn erase_copy_block_at_start(&mut self, block: BlockId, repairs: &mut Vec<Repair>) {
        repairs.push(Repair::erase(block, &self.medium));
        self.medium.erase_at_start(block).expect("it is good");
        if let Some(parity) = &mut self.parity {
            parity.erased(block);
        }
    }

    /// A block of the area is not erased by this recovery.
    pub(super) fn keep_copies_in(&mut self, block: BlockId) {
        if let Some(copies) = self.copies.as_mut().filter(|copies| !copies.is_kept(block)) {
            copies.kept.push((block, None));
        }
    }

    /// Programs pages that live in the copy area anew where data live. Without a free superblock behind the collector's, or
    /// room for the copies that this may take, they stay: a drive at the brink has few cuts ahead.
    pub(in crate::page_map) fn rescue_copies(&mut self, repairs: &mut Vec<Repair>) {
        if self.is_frozen() || self.is_read_only() {
            return;
        }
        for die in Dies::all(self.superblocks.dies()).iter() {
            let domain = self.superblocks.domain_of_die(die);
            for block in self.copy_blocks_of(die) {
                for page in self.living_rows(block) {
                    if self.has_room_to_rescue(domain) {
                        self.rescue_row(domain, block, page, repairs);
                    }
                }
            }
        }
    }

    fn has_room_to_rescue(&self, domain: usize) -> bool {
        let most = self.medium.native_mode().bits() - 1;
        let mut dies = self.superblocks.dies_of(domain).iter();
        self.may_move_copies(domain) && dies.all(|die| self.room_for_copies(die) >= most)
    }

    fn rescue_row(&mut self, domain: usize, block: BlockId, page: u32, repairs: &mut Vec<Repair>) {
        let writer = Writer::Collector { stream: 0 };
        let place = self.allocator.take(domain, writer, &mut self.superblocks, &mut self.medium);
        let place = place.expect("checked for room");
        self.copy_endangered_at_start(place.block, place.page, repairs);
        let from = self.medium.layout().row_start(block, page);
        let valid = self.validity.row(from) & self.begins_of_row(from);
        let mut tags = [EMPTY_TAG; 64];
        for k in (0..self.row_units).filter(|k| valid >> k & 1 != 0) {
            tags[k as usize] = self.medium.tag(from + k);
        }
        let fill = |row: &mut [u32]| row.copy_from_slice(&tags[..row.len()]);
        self.medium.program_at_start(place.block, place.page, fill).expect("rows are taken in order");
        let valid = self.live_on_in((block, page), (place.block, place.page));
        repairs.push(Repair { block: place.block, kind: RepairKind::Rescue { page: place.page, of: page } });
        self.superblocks.lose_valid(self.superblocks.of_block(block), valid);
        self.add_valid(place.superblock, valid);
    }

    /// Brings what lives in the copy area together, where a die has too few blocks for new copies.
    pub(in crate::page_map) fn gather_copies(&mut self, repairs: &mut Vec<Repair>) {
        if self.copies.is_none() || self.is_frozen() || self.is_read_only() {
            return;
        }
        Dies::all(self.superblocks.dies()).iter().for_each(|die| self.gather_on_die(die, repairs));
    }

    /// No program may endanger older pages any more where a die has too few blocks for new copies.
    pub(in crate::page_map) fn check_room_for_copies(&mut self) {
        let has_room = |die: DieId| {
            let blocks = self.copy_blocks_of(die);
            let free = blocks.iter().filter(|&&block| self.living_rows(block).is_empty()).count();
            free == blocks.len() || free >= IN_TURN
        };
        if !Dies::all(self.superblocks.dies()).iter().all(has_room) {
            self.bad_blocks.make_read_only();
        }
    }

    /// The good blocks of a die that are kept for copies.
    fn copy_blocks_of(&self, die: DieId) -> Vec<BlockId> {
        let of_die = self.copies.as_ref().and_then(|copies| copies.blocks.get(die.index()));
        of_die.into_iter().flatten().copied().filter(|&block| !self.medium.is_bad(block)).collect()
    }

    /// Into a block that can be erased all that lives; else, into the one with most room what lives in another.
    fn gather_on_die(&mut self, die: DieId, repairs: &mut Vec<Repair>) {
        let blocks = self.copy_blocks_of(die);
        let pages = self.medium.pages_in_mode(CellMode::Slc);
        for _ in 0..blocks.len() {
            let living: Vec<(BlockId, Vec<u32>)> =
                blocks.iter().map(|&block| (block, self.living_rows(block))).filter(|of| !of.1.is_empty()).collect();
            if living.is_empty() || blocks.len() - living.len() >= IN_TURN {
                return;
            }
            let holds_nothing = |block: &&BlockId| {
                let is_kept = self.copies.as_ref().is_some_and(|copies| copies.is_kept(**block));
                !is_kept && living.iter().all(|of| of.0 != **block)
            };
            let empty = blocks.iter().copied().find(|block| holds_nothing(&block));
            let room = |block: BlockId| pages.saturating_sub(self.medium.issued_pages(block));
            let roomiest = living.iter().map(|of| of.0).max_by_key(|&block| room(block));
            let Some(to) = empty.or(roomiest) else { return };
            let mut others: Vec<&(BlockId, Vec<u32>)> = living.iter().filter(|of| of.0 != to).collect();
            others.sort_by_key(|of| of.1.len());
            if empty.is_none() {
                others.truncate(1);
            }
            let rows: Vec<(BlockId, u32)> =
                others.iter().flat_map(|of| of.1.iter().map(|&page| (of.0, page))).collect();
            let has_room = rows.len() as u32 <= if empty.is_some() { pages } else { room(to) };
            if rows.is_empty() || !has_room {
                return;
            }
            if empty.is_some() && !self.medium.is_erased(to) {
                self.erase_copy_block_at_start(to, repairs);
            }
            rows.into_iter().for_each(|row| self.move_within_area(row, to, repairs));
            if let Some(copies) = &mut self.copies {
                copies.go_on_in(die, to);
            }
        }
    }

    fn move_within_area(&mut self, from: (BlockId, u32), block: BlockId, repairs: &mut Vec<Repair>) {
        self.open_copy_block(block);
        let to = (block, self.medium.issued_pages(block));
        self.medium.copy_row_to_at_start(from, to).expect("copies are programmed in order");
        let units = self.live_on_in(from, to);
        repairs.push(Repair { block, kind: RepairKind::Rescue { page: to.1, of: from.1 } });
        self.superblocks.lose_valid(self.superblocks.of_block(from.0), units);
        self.superblocks.gain_valid(self.superblocks.of_block(block), units);
        self.keep_copies_in(block);
    }

    fn living_rows(&self, block: BlockId) -> Vec<u32> {
        let lives = |&page: &u32| self.validity.row(self.medium.layout().row_start(block, page)) != 0;
        (0..self.medium.finished_pages(block)).filter(lives).collect()
    }
}

/// Units that are valid in a block.
fn units_in(block: BlockId, medium: &Medium, validity: &Validity) -> u32 {
    let start = |page| medium.layout().row_start(block, page);
    (0..medium.finished_pages(block)).map(|page| validity.row(start(page)).count_ones()).sum()
}
