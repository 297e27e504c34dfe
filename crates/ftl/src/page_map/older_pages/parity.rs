//! Parity of older pages: before a page is programmed, the older pages of its word line are covered by a parity row, which is
//! programmed at one bit per cell into the copy area of `copies.rs`.
//!
//! A cut comes to all dies at once and interrupts one program on each, so a stripe across dies would lose several of its
//! pages together. Within a block it is one program that is interrupted, which takes the older pages of one word line along. So a
//! stripe lies in one block: pages of one kind (lower, middle) on several word lines that are open, of which a cut takes
//! one at most. All others of the stripe can be read after the cut, and give the page back. How many there are follows from
//! the order of the die's pages: as many as come before the first program that endangers one of them. Of dies
//! that allow another order, DAC 2016 has a parity page for a whole block ("… using relaxed program sequence").
//!
//! Firmware sums up the parity in RAM while rows pass through (a row for each open block and kind); what was written before
//! the power came it reads once more. The spare area of a parity row lists the sequence numbers of the rows of its stripe.
//! Rows of the copy area are planned when a program is given to its die, which does everything in that order: a parity row of
//! an area block that is to be erased covers nothing that is planned behind the erase.
//!
//! A recovery takes a destroyed row for readable if it can be rebuilt. Where that is the newest, it reads the parity and the
//! other rows, and programs the row anew in the copy area, with its number; from then on it is a copy like those of
//! `copies.rs`. Area blocks with parity that is needed are not erased by that recovery. What a recovery itself programs
//! over older pages, it copies first.

use super::WIDEST;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, CellMode, DieId, EMPTY_TAG, SequenceNumber};

use super::copies::{BLOCKS_OF_A_DIE, Next};
use crate::op::{FlashOp, OpSink};
use crate::page_map::PageMap;
use crate::page_map::map::Place;
use crate::page_map::recovery::RecoveryFault;
use crate::translation::{LostPage, Repair, RepairKind};

/// Blocks of each die that are kept: as many as for copies, and more where they are very small. A recovery needs the parity of a word
/// line's older pages, room to rebuild them, and room to copy as many that it endangers itself. `pages_at_one_bit`: what a block has at one
/// bit per cell.
#[must_use]
pub fn blocks_for_parity(bits_per_cell: u32, pages_at_one_bit: u32) -> u32 {
    let older = bits_per_cell - 1;
    BLOCKS_OF_A_DIE + 3 * older / pages_at_one_bit.max(1)
}

/// What a parity row holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stripe {
    /// Sequence numbers of its rows.
    of: Vec<SequenceNumber>,
    /// The sum of what they hold, unit by unit.
    sum: Vec<u32>,
}

/// What firmware in RAM knows of a die.
#[derive(Clone, Debug, Default)]
struct OfDie {
    /// Where the next parity row goes: a block of the area, and a page.
    cursor: Option<(BlockId, u32)>,
    /// Rows that parity covers, by number, and in which block of the area it lies.
    covered: Vec<(SequenceNumber, BlockId)>,
    /// Blocks of the area whose erase waits for the die, with the rows that are planned in them behind it.
    planned: VecDeque<(BlockId, Vec<Stripe>)>,
}

/// See the module's own page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Parity {
    /// Rows of the area with parity, from when they were queued until their block is erased.
    #[serde(with = "crate::page_map::pairs")]
    stripes: BTreeMap<(BlockId, u32), Stripe>,
    #[serde(skip)]
    dies: Vec<OfDie>,
    /// Rows from this number on have passed through RAM since the power came.
    #[serde(skip)]
    in_ram_from: SequenceNumber,
    /// During a recovery: destroyed rows that can be rebuilt.
    #[serde(skip)]
    can_be_rebuilt: BTreeSet<(BlockId, u32)>,
}

impl Parity {
    /// All blocks of the area have been erased; so many dies.
    pub fn begin_empty(&mut self, dies: usize) {
        self.stripes.clear();
        self.forget(dies, SequenceNumber::FIRST);
    }

    /// The power went; `next`: the number of the row that is queued next.
    fn forget(&mut self, dies: usize, next: SequenceNumber) {
        self.dies = vec![OfDie::default(); dies];
        self.in_ram_from = next;
        self.can_be_rebuilt.clear();
    }

    /// A block of the area has been erased.
    pub fn erased(&mut self, block: BlockId) {
        self.stripes.retain(|row, _| row.0 != block);
    }

    /// A block has gone bad, and another takes its place.
    pub fn replace(&mut self, from: BlockId, to: BlockId) {
        let renamed = |block: BlockId| if block == from { to } else { block };
        let stripes = std::mem::take(&mut self.stripes);
        self.stripes = stripes.into_iter().map(|((block, page), stripe)| ((renamed(block), page), stripe)).collect();
        for die in &mut self.dies {
            let blocks = die.cursor.iter_mut().map(|cursor| &mut cursor.0);
            let blocks = blocks.chain(die.covered.iter_mut().map(|covered| &mut covered.1));
            let blocks = blocks.chain(die.planned.iter_mut().map(|planned| &mut planned.0));
            blocks.for_each(|block| *block = renamed(*block));
        }
    }

    /// Blocks with parity rows.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.stripes.keys().map(|row| row.0)
    }

    /// Whether these can be parity rows of so many units each.
    #[must_use]
    pub fn is_sound(&self, row_units: u32) -> bool {
        let of_row =
            |stripe: &Stripe| (1..=WIDEST).contains(&stripe.of.len()) && stripe.sum.len() == row_units as usize;
        self.stripes.values().all(of_row)
    }

    /// During a recovery: whether a destroyed row can be rebuilt.
    #[must_use]
    pub fn can_rebuild(&self, row: (BlockId, u32)) -> bool {
        self.can_be_rebuilt.contains(&row)
    }

    fn covers(&self, die: DieId, number: SequenceNumber) -> bool {
        self.dies.get(die.index()).is_some_and(|die| die.covered.iter().any(|covered| covered.0 == number))
    }
}

impl PageMap {
    /// A program of a row is about to be given to its die: covers what it endangers, ahead of it.
    pub(super) fn cover_endangered(&mut self, die: DieId, block: BlockId, page: u32, sink: &mut impl OpSink) {
        if self.recovery.skips_parity() {
            return;
        }
        let older: Vec<u32> = self.medium.older_pages(block, page).collect();
        // To cover one may take the parity of another away, with a block of the area.
        for _ in 0..2 * older.len() {
            let open = |&page: &u32| self.is_to_be_covered(die, block, page);
            let Some(uncovered) = older.iter().copied().find(open) else { break };
            let Some(to) = self.place_parity(die, sink) else { break };
            self.cover(die, block, page, uncovered, to, sink);
        }
        // A word line that is complete needs no parity any more.
        if self.medium.last_of_word_line(block, page) == page
            && let Some(of_die) = self.parity.as_mut().and_then(|parity| parity.dies.get_mut(die.index()))
        {
            let numbers: Vec<SequenceNumber> = older.iter().map(|&page| self.medium.sequence(block, page)).collect();
            of_die.covered.retain(|covered| !numbers.contains(&covered.0));
        }
    }

    fn is_to_be_covered(&self, die: DieId, block: BlockId, page: u32) -> bool {
        let covered = |parity: &Parity| parity.covers(die, self.medium.sequence(block, page));
        self.is_worth_a_copy(block, page) && !self.parity.as_deref().is_some_and(covered)
    }

    /// Programs the parity of a page and of all others of its kind in the block whose word lines are open before `page`.
    fn cover(
        &mut self,
        die: DieId,
        block: BlockId,
        page: u32,
        uncovered: u32,
        to: (BlockId, u32),
        sink: &mut impl OpSink,
    ) {
        let kind = |page: u32| self.medium.older_pages(block, page).count();
        let pages: Vec<u32> = (0..page)
            .rev()
            .take(WIDEST)
            .filter(|&other| self.medium.last_of_word_line(block, other) >= page && kind(other) == kind(uncovered))
            .filter(|&other| self.is_to_be_covered(die, block, other))
            .collect();
        let of: Vec<SequenceNumber> = pages.iter().map(|&page| self.medium.sequence(block, page)).collect();
        let sum = self.sum_of(block, &pages);
        let Some(parity) = &mut self.parity else { return };
        for (&page, &number) in pages.iter().zip(&of) {
            parity.dies[die.index()].covered.push((number, to.0));
            if number < parity.in_ram_from {
                sink.enqueue(die, FlashOp::safety_read(block, page, self.row_units));
            }
        }
        let stripe = Stripe { of, sum };
        let waits = parity.dies[die.index()].planned.iter_mut().rev().find(|planned| planned.0 == to.0);
        match waits {
            Some(planned) => planned.1.push(stripe),
            None => self.queue_parity(to, stripe),
        }
        sink.enqueue(die, FlashOp::parity_program(to.0, to.1, self.row_units));
    }

    fn sum_of(&self, block: BlockId, pages: &[u32]) -> Vec<u32> {
        let mut sum = vec![0; self.row_units as usize];
        for &page in pages {
            let start = self.medium.layout().row_start(block, page);
            (0..).zip(&mut sum).for_each(|(k, sum)| *sum ^= self.medium.tag(start + k));
        }
        sum
    }

    /// A parity row is the next of a block that is erased by now.
    fn queue_parity(&mut self, (block, page): (BlockId, u32), stripe: Stripe) {
        self.open_copy_block(block);
        // What it holds are no pages of the host's.
        let row = self.medium.queue_program(block, page).expect("parity rows are programmed in order");
        row.tags.fill(EMPTY_TAG);
        self.begin_extents(self.medium.layout().row_start(block, page), 0, 0);
        if let (Some(parity), Some(copies)) = (&mut self.parity, &mut self.copies) {
            parity.stripes.insert((block, page), stripe);
            copies.count_row();
        }
    }

    /// Takes the next row of a die's area; `None`: all its blocks hold pages that live there.
    fn place_parity(&mut self, die: DieId, sink: &mut impl OpSink) -> Option<(BlockId, u32)> {
        let pages = self.medium.pages_in_mode(CellMode::Slc);
        self.release_copies();
        let cursor = self.parity.as_ref()?.dies.get(die.index())?.cursor;
        let at = match cursor {
            Some(at) if at.1 < pages => at,
            Some((full, _)) => self.open_another(die, full, sink)?,
            None => match self.next_copy(die) {
                Next::Row(block, page) => (block, page),
                Next::Erase(block) => self.plan_erase(die, block, sink),
                Next::Full => return None,
            },
        };
        self.parity.as_mut()?.dies[die.index()].cursor = Some((at.0, at.1 + 1));
        Some(at)
    }

    /// Another block of a die's area than the one that is full, or will be.
    fn open_another(&mut self, die: DieId, full: BlockId, sink: &mut impl OpSink) -> Option<(BlockId, u32)> {
        let copies = self.copies.as_ref()?;
        let waits = |block: BlockId| {
            self.parity.as_ref().is_some_and(|parity| parity.dies[die.index()].planned.iter().any(|at| at.0 == block))
        };
        let room = |block: BlockId| {
            let issued = self.medium.issued_pages(block);
            let partly = !self.medium.is_half_erased(block) && !waits(block);
            let pages = if issued == 0 { u32::MAX } else { self.medium.pages(block) };
            (partly && issued < pages).then_some((block, issued))
        };
        let others: Vec<BlockId> = copies.blocks_after(die, full).filter(|&block| !self.medium.is_bad(block)).collect();
        for &block in &others {
            if room(block).is_some() {
                return room(block);
            }
            if self.medium.is_half_erased(block) || !copies.is_kept(block) {
                return Some(self.plan_erase(die, block, sink));
            }
        }
        None
    }

    fn plan_erase(&mut self, die: DieId, block: BlockId, sink: &mut impl OpSink) -> (BlockId, u32) {
        if let Some(parity) = &mut self.parity {
            let of_die = &mut parity.dies[die.index()];
            of_die.covered.retain(|covered| covered.1 != block);
            of_die.planned.push_back((block, Vec::new()));
        }
        sink.enqueue(die, FlashOp::area_erase(block));
        (block, 0)
    }

    /// A block of the area has been erased, or another one has come for it: queues what was planned there.
    #[cold]
    pub(in crate::page_map) fn parity_block_erased(&mut self, asked: BlockId, block: BlockId, sink: &mut impl OpSink) {
        let die = self.medium.layout().die_of(block).0;
        let Some(parity) = &mut self.parity else { return };
        parity.erased(block);
        let (_, stripes) = parity.dies[die.index()].planned.pop_front().expect("every erase of the area is planned");
        for (page, stripe) in (0..).zip(stripes) {
            self.queue_parity((block, page), stripe);
        }
        if asked != block {
            sink.retarget(die, asked, block, &[]);
        }
    }

    // ---- recovery -----------------------------------------------------------------------------------------------

    /// The power went: finds out which destroyed rows can be rebuilt.
    pub(in crate::page_map) fn look_for_parity(&mut self) {
        let Some(mut parity) = self.parity.take() else { return };
        let dies = self.superblocks.dies() as usize;
        parity.forget(dies, self.medium.next_sequence());
        let is_there = |&(block, page): &(BlockId, u32)| {
            let programmed = !self.medium.is_half_erased(block) && page < self.medium.finished_pages(block);
            programmed && self.is_copy_block(block) && self.medium.is_readable(block, page)
        };
        parity.stripes.retain(|row, _| is_there(row));
        if !self.recovery.has_fault(RecoveryFault::ForgetsCopies) {
            let copied = self.readable_numbers();
            let rows = self.medium.blocks_with_unreadable_rows().filter(|&block| self.may_hold_data(block));
            let rows = rows.flat_map(|block| self.medium.unreadable_pages(block).map(move |page| (block, page)));
            let whole = |&(block, page): &(BlockId, u32)| {
                let gone = self.medium.is_torn(block, page) || copied.contains(&self.medium.sequence(block, page));
                !gone && self.stripe_of(&parity, block, page).is_some()
            };
            parity.can_be_rebuilt = rows.filter(whole).collect();
        }
        self.parity = Some(parity);
    }

    /// The parity row by which a destroyed row can be rebuilt, and how many other rows must be read.
    fn stripe_of(&self, parity: &Parity, block: BlockId, page: u32) -> Option<((BlockId, u32), u32)> {
        let (layout, number) = (self.medium.layout(), self.medium.sequence(block, page));
        let die = layout.die_of(block).0;
        let place = |number: SequenceNumber| {
            let mut pages = 0..self.medium.finished_pages(block);
            pages.find(|&page| self.medium.sequence(block, page) == number && self.medium.is_readable(block, page))
        };
        let of_row = |(&row, stripe): (&(BlockId, u32), &Stripe)| {
            if layout.die_of(row.0).0 != die || !stripe.of.contains(&number) {
                return None;
            }
            let others = stripe.of.iter().filter(|&&other| other != number);
            let others: Vec<u32> = others.map(|&other| place(other)).collect::<Option<_>>()?;
            let rebuilt = self.sum_of(block, &others).into_iter().zip(&stripe.sum).map(|(sum, parity)| sum ^ parity);
            // The rows that followed repeat the addresses: what comes out must be what was there.
            let start = layout.row_start(block, page);
            let as_it_was = (0..).zip(rebuilt).all(|(k, tag)| self.medium.tag(start + k) == tag);
            as_it_was.then_some((row, others.len() as u32))
        };
        parity.stripes.iter().find_map(of_row)
    }

    /// The newest copy of each page has been found: rebuilds the destroyed rows among them, each into the area of its die.
    /// Without room there, what they held is lost.
    pub(in crate::page_map) fn rebuild_from_parity(&mut self, lost: &mut Vec<LostPage>, repairs: &mut Vec<Repair>) {
        let Some(parity) = self.parity.take() else { return };
        let holds =
            |&&(block, page): &&(BlockId, u32)| self.validity.row(self.medium.layout().row_start(block, page)) != 0;
        let rows: Vec<(BlockId, u32)> = parity.can_be_rebuilt.iter().filter(holds).copied().collect();
        let stripes = rows.iter().map(|&(block, page)| self.stripe_of(&parity, block, page).expect("found before"));
        let stripes: Vec<((BlockId, u32), u32)> = stripes.collect();
        self.parity = Some(parity);
        for &((block, _), _) in &stripes {
            self.keep_copies_in(block);
        }
        if let Some(copies) = &mut self.copies {
            copies.go_on_from_kept();
        }
        for (row, (_, reads)) in rows.into_iter().zip(stripes) {
            let die = self.medium.layout().die_of(row.0).0;
            match self.next_copy_at_start(die, repairs) {
                Some(to) if !self.is_frozen() => self.rebuild_row(row, to, reads, repairs),
                _ => self.lose_row(row, lost),
            }
        }
    }

    fn rebuild_row(&mut self, from: (BlockId, u32), to: (BlockId, u32), reads: u32, repairs: &mut Vec<Repair>) {
        self.open_copy_block(to.0);
        self.medium.rebuild_row_at_start(from, to).expect("copies are programmed in order");
        let units = self.live_on_in(from, to);
        self.superblocks.gain_valid(self.superblocks.of_block(to.0), units);
        self.keep_copies_in(to.0);
        repairs.push(Repair { block: to.0, kind: RepairKind::Rebuild { page: to.1, reads } });
    }

    fn lose_row(&mut self, (block, page): (BlockId, u32), lost: &mut Vec<LostPage>) {
        let (start, mode) = (self.medium.layout().row_start(block, page), self.medium.mode(block));
        let valid = self.validity.row(start);
        for unit in (0..self.row_units).map(|k| start + k) {
            let lpn = self.medium.lpn(unit);
            if lpn.number() < self.map.logical_pages() && self.map.get(lpn) == Place::Flash(unit) {
                self.map.unmap(lpn);
                self.recovery.lose(lpn, self.medium.sequence(block, page));
                lost.push(LostPage { page: lpn, mode: Some(mode) });
            }
        }
        self.validity.clear_span(start, valid);
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::PageOrder;

    use super::*;
    use crate::op::OpKind;
    use crate::page_map::small;
    use crate::translation::Translation;

    /// Rows of the host's, and pages of each stripe, in order.
    fn stripes(order: PageOrder, pages: u32) -> (u64, Vec<usize>) {
        let mut map = small::map_with_parity(order, pages);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        let mut stripes = Vec::new();
        // A block full; each row of four pages by itself.
        for row in 0..pages {
            (0..4).for_each(|k| {
                _ = map.write(ssdlab_nand::LogicalPage::new((row * 4 + k) % small::PAGES), (row / 75 + 1) as u8, 0)
            });
            map.dispatch(&mut ops);
            let programs = ops.iter().map(|(_, op)| op).filter(|op| op.kind() == OpKind::SafetyProgram);
            let parity = map.parity.as_ref().expect("it has parity");
            stripes.extend(programs.map(|op| parity.stripes[&(op.block(), op.page())].of.len()));
            assert!(ops.iter().all(|(_, op)| op.kind() != OpKind::SafetyRead), "what is in RAM is not read");
            small::work(&mut map, &mut ops);
        }
        map.check_invariants().expect("the books balance");
        (map.counters().host_rows, stripes)
    }

    #[test]
    fn as_many_pages_share_a_parity_row_as_come_before_the_first_program_that_endangers_one_of_them() {
        assert_eq!(stripes(PageOrder::Alternating, 8), (8, vec![2, 2]));
        let (rows, stripes) = stripes(PageOrder::PairsL95b, 512);
        let pages: usize = stripes.iter().sum();
        assert_eq!((rows, pages), (512, 252), "each older page once");
        assert_eq!((stripes.iter().min(), stripes.iter().max(), stripes.len()), (Some(&2), Some(&4), 64));
    }

    #[test]
    fn a_page_whose_parity_is_about_to_be_erased_is_to_be_covered_anew() {
        let mut map = small::map_with_parity(PageOrder::Alternating, 8);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        let mut written = None;
        // The third row endangers the first; the parity covers the second as well.
        for row in 0..3 {
            (0..4).for_each(|k| _ = map.write(ssdlab_nand::LogicalPage::new(row * 4 + k), 1, 0));
            map.dispatch(&mut ops);
            written = ops.iter().find(|(_, op)| op.kind() == OpKind::HostProgram).map(|&(die, op)| (die, op.block()));
            small::work(&mut map, &mut ops);
        }
        let (die, block) = written.expect("a row is programmed");
        let parity = map.parity.as_ref().expect("it has parity");
        let area = parity.blocks().next().expect("a parity row is programmed");
        assert!(!map.is_to_be_covered(die, block, 1));
        map.plan_erase(die, area, &mut ops);
        assert!(map.is_to_be_covered(die, block, 1));
    }

    #[test]
    fn a_saved_stripe_has_as_many_units_as_a_row_and_rows_as_a_word_line_can_have() {
        let saved = |rows: usize, units: usize| {
            let stripe = Stripe { of: vec![SequenceNumber::new(7); rows], sum: vec![0; units] };
            Parity { stripes: BTreeMap::from([((BlockId::new(3), 1), stripe)]), ..Parity::default() }
        };
        assert!(saved(1, 4).is_sound(4) && saved(WIDEST, 4).is_sound(4) && Parity::default().is_sound(4));
        assert!(!saved(0, 4).is_sound(4) && !saved(WIDEST + 1, 4).is_sound(4));
        assert!(!saved(2, 3).is_sound(4) && !saved(2, 5).is_sound(4));
    }
}
