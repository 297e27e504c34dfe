//! Superblocks: what is opened, written, collected and erased together.

use ssdlab_nand::{BlockId, Layout, Medium};

use crate::spec::SuperblockSpan;

/// A superblock's number. With one-die superblocks it is the block's own number.
pub type SuperblockId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Erased and ready to be opened.
    Free,
    /// Being written.
    Open,
    /// Written to its end; a candidate for collection.
    Closed,
    /// Written to its end with one bit per cell, of those set aside for that: waits to be folded.
    Cached,
    /// Being collected, or waiting to be erased.
    Victim,
    /// Kept for the journal and checkpoints.
    System,
    /// Kept back as replacement, or without a good block.
    Reserved,
}

/// State and valid counts of all superblocks, and which blocks they are made of.
///
/// A superblock over all dies takes the block of its own number on each of them. Where that block is bad, firmware
/// puts one from the reserve in its place, so that all superblocks are of one size; a superblock for which the
/// reserve has run out is not used.
#[derive(Clone, Debug)]
pub struct Superblocks {
    span: SuperblockSpan,
    blocks_per_die: u32,
    dies: u32,
    pub state: Vec<State>,
    /// Valid units.
    pub valid: Vec<u32>,
    /// Stream of what an open, closed or collected superblock holds.
    pub stream: Vec<u8>,
    /// Erases still under way.
    pub erasing: Vec<u8>,
    /// Which ones are set aside for one bit per cell; empty where none are.
    pub pool: Vec<bool>,
    /// Over all dies: block by die and superblock, and the way back.
    block_of: Vec<BlockId>,
    superblock_of: Vec<SuperblockId>,
    /// Good, erased blocks of each die that replace those that go bad, the next one last.
    reserve: Vec<Vec<BlockId>>,
}

const UNUSED: SuperblockId = SuperblockId::MAX;

impl Superblocks {
    /// Forms superblocks; the `reserve` highest-numbered blocks of every die are kept back.
    #[must_use]
    pub fn new(span: SuperblockSpan, medium: &Medium, reserve: u32) -> Self {
        let layout = medium.layout();
        let count = match span {
            SuperblockSpan::AllDies => layout.blocks,
            SuperblockSpan::OneDie => layout.block_count(),
        };
        let mut s = Superblocks {
            span,
            blocks_per_die: layout.blocks,
            dies: layout.dies,
            state: vec![State::Free; count as usize],
            valid: vec![0; count as usize],
            stream: vec![0; count as usize],
            erasing: vec![0; count as usize],
            pool: Vec::new(),
            block_of: Vec::new(),
            superblock_of: Vec::new(),
            reserve: vec![Vec::new(); layout.dies as usize],
        };
        let first_reserved = layout.blocks.saturating_sub(reserve);
        match span {
            SuperblockSpan::AllDies => s.replace_bad_blocks(medium, first_reserved),
            SuperblockSpan::OneDie => {
                for sb in 0..count {
                    if medium.is_bad(sb) || sb % layout.blocks >= first_reserved {
                        s.state[sb as usize] = State::Reserved;
                    }
                    if !medium.is_bad(sb) && sb % layout.blocks >= first_reserved {
                        s.reserve[(sb / layout.blocks) as usize].push(sb);
                    }
                }
                s.reserve.iter_mut().for_each(|blocks| blocks.reverse());
            }
        }
        s
    }

    fn replace_bad_blocks(&mut self, medium: &Medium, first_reserved: u32) {
        let blocks = self.blocks_per_die;
        self.block_of = (0..self.dies * blocks).collect();
        self.superblock_of = (0..self.dies * blocks).map(|b| b % blocks).collect();
        for die in 0..self.dies {
            let base = die * blocks;
            let mut reserve = (first_reserved..blocks).map(|b| base + b).filter(|&b| !medium.is_bad(b));
            for sb in 0..first_reserved {
                if !medium.is_bad(base + sb) {
                    continue;
                }
                self.superblock_of[(base + sb) as usize] = UNUSED;
                match reserve.next() {
                    Some(b) => {
                        self.block_of[(base + sb) as usize] = b;
                        self.superblock_of[b as usize] = sb;
                    }
                    None => self.state[sb as usize] = State::Reserved,
                }
            }
            self.reserve[die as usize] = reserve.rev().collect();
        }
        self.state[first_reserved as usize..].fill(State::Reserved);
        for sb in 0..first_reserved {
            if self.state[sb as usize] == State::Reserved {
                self.give_up(sb, medium);
            }
        }
    }

    /// Puts a superblock out of use: the good blocks of an erased one replace others from now on.
    pub fn give_up(&mut self, sb: SuperblockId, medium: &Medium) {
        self.state[sb as usize] = State::Reserved;
        if !self.pool.is_empty() {
            self.pool[sb as usize] = false;
        }
        for die in 0..self.dies {
            let block = self.block_on(sb, die);
            if medium.layout().die_of(block).0 == die && !medium.is_bad(block) {
                self.reserve[die as usize].insert(0, block);
            }
        }
    }

    /// A good, erased block of this die from the reserve.
    pub fn take_reserve(&mut self, die: u32) -> Option<BlockId> {
        self.reserve[die as usize].pop()
    }

    /// Blocks left in the reserve of the die that has fewest.
    #[must_use]
    pub fn reserve_left(&self) -> u32 {
        self.reserve.iter().map(|blocks| blocks.len() as u32).min().unwrap_or(0)
    }

    /// Puts block `to` of the reserve in the place of `from`, with all that it holds. Returns the superblocks that
    /// `from` belonged to and `to` belongs to: with one-die superblocks they differ.
    pub fn replace(&mut self, from: BlockId, to: BlockId) -> (SuperblockId, SuperblockId) {
        let old = self.of_block(from) as usize;
        let new = match self.span {
            SuperblockSpan::AllDies => {
                let die = from / self.blocks_per_die;
                self.block_of[(die * self.blocks_per_die) as usize + old] = to;
                self.superblock_of[from as usize] = UNUSED;
                self.superblock_of[to as usize] = old as SuperblockId;
                old
            }
            SuperblockSpan::OneDie => {
                let new = to as usize;
                self.state[new] = std::mem::replace(&mut self.state[old], State::Reserved);
                self.valid[new] = std::mem::take(&mut self.valid[old]);
                self.erasing[new] = std::mem::take(&mut self.erasing[old]);
                if !self.pool.is_empty() {
                    self.pool[new] = std::mem::take(&mut self.pool[old]);
                }
                self.stream[new] = self.stream[old];
                new
            }
        };
        (old as SuperblockId, new as SuperblockId)
    }

    /// Whether all blocks of a superblock are good.
    #[must_use]
    pub fn is_sound(&self, sb: SuperblockId, set: u32, medium: &Medium) -> bool {
        let members = self.dies_of_set(set);
        (0..self.dies).filter(|die| members >> die & 1 != 0).all(|die| !medium.is_bad(self.block_on(sb, die)))
    }

    #[must_use]
    pub fn span(&self) -> SuperblockSpan {
        self.span
    }

    #[must_use]
    pub fn dies(&self) -> u32 {
        self.dies
    }

    /// Whether a superblock is set aside for one bit per cell.
    #[inline]
    #[must_use]
    pub fn in_pool(&self, sb: SuperblockId) -> bool {
        !self.pool.is_empty() && self.pool[sb as usize]
    }

    #[must_use]
    pub fn count(&self) -> u32 {
        self.state.len() as u32
    }

    /// Sets of superblocks that are collected together.
    #[must_use]
    pub fn sets(&self) -> u32 {
        match self.span {
            SuperblockSpan::AllDies => 1,
            SuperblockSpan::OneDie => self.dies,
        }
    }

    #[must_use]
    pub fn per_set(&self) -> u32 {
        self.blocks_per_die
    }

    /// Dies of one superblock.
    #[must_use]
    pub fn width(&self) -> u32 {
        match self.span {
            SuperblockSpan::AllDies => self.dies,
            SuperblockSpan::OneDie => 1,
        }
    }

    /// Number within its set, and the set.
    #[inline]
    #[must_use]
    pub fn local(&self, sb: SuperblockId, layout: &Layout) -> (u32, u32) {
        match self.span {
            SuperblockSpan::AllDies => (sb, 0),
            SuperblockSpan::OneDie => {
                let (die, index) = layout.die_of(sb);
                (index, die)
            }
        }
    }

    #[inline]
    #[must_use]
    pub fn global(&self, local: u32, set: u32) -> SuperblockId {
        set * self.blocks_per_die + local
    }

    /// The superblock that a block belongs to.
    #[inline]
    #[must_use]
    pub fn of_block(&self, block: BlockId) -> SuperblockId {
        match self.span {
            SuperblockSpan::AllDies => self.superblock_of[block as usize],
            SuperblockSpan::OneDie => block,
        }
    }

    /// The block that a superblock has on a die.
    #[inline]
    #[must_use]
    pub fn block_on(&self, sb: SuperblockId, die: u32) -> BlockId {
        match self.span {
            SuperblockSpan::AllDies => self.block_of[(die * self.blocks_per_die + sb) as usize],
            SuperblockSpan::OneDie => sb,
        }
    }

    /// Dies of a set's superblocks, one bit each.
    #[inline]
    #[must_use]
    pub fn dies_of_set(&self, set: u32) -> u64 {
        match self.span {
            SuperblockSpan::AllDies => u64::MAX >> (64 - self.dies),
            SuperblockSpan::OneDie => 1 << set,
        }
    }

    /// A block of a superblock, to ask for its wear.
    #[must_use]
    pub fn any_block(&self, sb: SuperblockId) -> BlockId {
        self.block_on(sb, 0)
    }

    /// Valid counts of one set.
    #[inline]
    #[must_use]
    pub fn valid_of_set(&self, set: u32) -> &[u32] {
        let from = (set * self.blocks_per_die) as usize;
        &self.valid[from..from + self.blocks_per_die as usize]
    }

    /// Units that a superblock can hold.
    #[must_use]
    pub fn capacity(&self, layout: &Layout) -> u32 {
        self.width() * layout.block_units
    }
}

/// An open superblock, written row by row: one page of every good die, then the next page.
#[derive(Clone, Copy, Debug)]
pub struct Frontier {
    pub superblock: SuperblockId,
    page: u32,
    /// Pages of its blocks, in the cell mode in which it was opened.
    pages: u32,
    /// Dies still to be written at this page.
    left: u64,
}

impl Frontier {
    #[must_use]
    pub fn new(superblock: SuperblockId, members: u64, pages: u32) -> Self {
        Frontier { superblock, page: 0, pages, left: members }
    }

    /// Rows still to be taken.
    #[must_use]
    pub fn rows_left(&self, width: u32) -> u32 {
        (self.pages - self.page - 1) * width + self.left.count_ones()
    }

    /// Takes the next row: die and page; and whether it was the last of the superblock.
    #[inline]
    pub fn take(&mut self, members: u64) -> (u32, u32, bool) {
        let die = self.left.trailing_zeros();
        let page = self.page;
        self.left &= self.left - 1;
        if self.left == 0 {
            self.left = members;
            self.page += 1;
        }
        (die, page, self.page == self.pages)
    }
}
