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
    /// Being collected, or waiting to be erased.
    Victim,
    /// Kept for the journal and checkpoints.
    System,
    /// Kept back as replacement, or without a good block.
    Reserved,
}

/// State and valid counts of all superblocks.
#[derive(Clone, Debug)]
pub struct Superblocks {
    span: SuperblockSpan,
    blocks_per_die: u32,
    dies: u32,
    pub state: Vec<State>,
    /// Valid units.
    pub valid: Vec<u32>,
    /// Good dies, one bit each.
    members: Vec<u64>,
    /// Erases still under way.
    pub erasing: Vec<u8>,
}

impl Superblocks {
    #[must_use]
    pub fn new(span: SuperblockSpan, medium: &Medium) -> Self {
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
            members: vec![0; count as usize],
            erasing: vec![0; count as usize],
        };
        for sb in 0..count {
            s.members[sb as usize] = match span {
                SuperblockSpan::AllDies => {
                    (0..layout.dies).filter(|d| !medium.is_bad(d * layout.blocks + sb)).fold(0, |m, d| m | 1 << d)
                }
                SuperblockSpan::OneDie => u64::from(!medium.is_bad(sb)) << (sb / layout.blocks),
            };
            if s.members[sb as usize] == 0 {
                s.state[sb as usize] = State::Reserved;
            }
        }
        s
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

    #[inline]
    #[must_use]
    pub fn of_block(&self, block: BlockId, layout: &Layout) -> SuperblockId {
        match self.span {
            SuperblockSpan::AllDies => layout.die_of(block).1,
            SuperblockSpan::OneDie => block,
        }
    }

    /// The block that a superblock has on a die.
    #[inline]
    #[must_use]
    pub fn block_on(&self, sb: SuperblockId, die: u32) -> BlockId {
        match self.span {
            SuperblockSpan::AllDies => die * self.blocks_per_die + sb,
            SuperblockSpan::OneDie => sb,
        }
    }

    /// Good dies, one bit each.
    #[inline]
    #[must_use]
    pub fn members(&self, sb: SuperblockId) -> u64 {
        self.members[sb as usize]
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
    pub fn capacity(&self, sb: SuperblockId, layout: &Layout) -> u32 {
        self.members(sb).count_ones() * layout.block_units
    }
}

/// An open superblock, written row by row: one page of every good die, then the next page.
#[derive(Clone, Copy, Debug)]
pub struct Frontier {
    pub superblock: SuperblockId,
    page: u32,
    /// Dies still to be written at this page.
    left: u64,
}

impl Frontier {
    #[must_use]
    pub fn new(superblock: SuperblockId, members: u64) -> Self {
        Frontier { superblock, page: 0, left: members }
    }

    /// Takes the next row: die and page; and whether it was the last of the superblock.
    #[inline]
    pub fn take(&mut self, members: u64, pages: u32) -> (u32, u32, bool) {
        let die = self.left.trailing_zeros();
        let page = self.page;
        self.left &= self.left - 1;
        if self.left == 0 {
            self.left = members;
            self.page += 1;
        }
        (die, page, self.page == pages)
    }
}
