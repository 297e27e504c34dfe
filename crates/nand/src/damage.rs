//! What a power cut does to flash.
//!
//! A *program* that the array was at is torn: its row cannot be read, and takes no other program until its block is
//! erased. Its cells may hold older rows of the same word line; these are destroyed with it, however long ago they were
//! written, unless somebody fed the die to the end of that pass. A cut in an *erase* leaves a block that must be erased
//! again before anything is programmed into it; nothing in it can be read. What was only queued never happened.
//!
//! The dies make no difference between a cut early in a program and one late in it (estimate: measurements find a quarter
//! to a half of the bits of a lower page wrong, far beyond any correction). Not modelled: pages that read well right after
//! a cut and fail later.
//!
//! One-pass dies ([`crate::PageOrder::WordLines`]), where each page stands for a share of one program, lose the word line
//! as a whole as well.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::address::BlockId;

/// What a die's array was at when the power went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    Program {
        block: BlockId,
        page: u32,
        /// Capacitors have kept the older pages of its word line safe.
        spares_older: bool,
    },
    Erase {
        block: BlockId,
    },
}

/// What became of the rows that a cut met: block and page of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Queued, never begun.
    pub undone: Vec<(BlockId, u32)>,
    /// Under way.
    pub torn: Vec<(BlockId, u32)>,
    /// Programmed before, and destroyed.
    pub destroyed: Vec<(BlockId, u32)>,
}

/// Rows that cannot be read, and blocks that are neither erased nor written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Damage {
    /// By block and page: whether the row's own program was torn; else it had been finished, and was destroyed later.
    pub rows: BTreeMap<BlockId, BTreeMap<u32, bool>>,
    pub half_erased: BTreeSet<BlockId>,
}

impl Damage {
    #[inline]
    pub fn is_none(&self) -> bool {
        self.rows.is_empty() && self.half_erased.is_empty()
    }

    /// Blocks that something happened to.
    pub fn blocks(&self) -> impl Iterator<Item = &BlockId> {
        self.rows.keys().chain(&self.half_erased)
    }

    pub fn is_half_erased(&self, block: BlockId) -> bool {
        self.half_erased.contains(&block)
    }
}
