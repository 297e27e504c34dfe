//! The state of one plane's block that every operation on it looks at.

use serde::{Deserialize, Serialize};

use crate::word_lines::WordLines;
use crate::{CellMode, DieSpec};

/// State of one plane's block since its last erase: eight bytes, as every program and read looks at it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct PlaneBlock {
    /// Pages whose programs have been queued.
    pub issued: u16,
    /// Pages whose programming has ended.
    pub finished: u16,
    /// Pages that it has in its mode.
    pub pages: u16,
    pub mode: CellMode,
    /// The die programs the page after the last that has ended. Kept for the first plane of a multi-plane block.
    pub programming: bool,
}

/// What the cell modes of a die come to for its blocks.
#[derive(Clone, Debug)]
pub(crate) struct Modes {
    pub native: CellMode,
    /// Pages of a block by mode; 0: not offered.
    pages: [u16; CellMode::COUNT],
    rated_cycles: [u32; CellMode::COUNT],
    /// By mode, where it is offered.
    word_lines: [Option<WordLines>; CellMode::COUNT],
}

impl Modes {
    pub fn new(die: &DieSpec) -> Self {
        let specs = CellMode::ALL.map(|mode| die.mode(mode));
        Modes {
            native: die.native_mode(),
            pages: specs.each_ref().map(|m| m.as_ref().map_or(0, |m| m.pages_per_block as u16)),
            word_lines: specs
                .each_ref()
                .map(|m| m.as_ref().map(|m| WordLines::new(m.page_order, m.pages_per_block, m.mode.bits()))),
            rated_cycles: specs.each_ref().map(|m| m.as_ref().map_or(1, |m| m.rated_program_erase_cycles)),
        }
    }

    /// Whether the die has a mode.
    pub fn offers(&self, mode: CellMode) -> bool {
        self.pages[mode.index()] > 0
    }

    /// A block without contents, in `mode`.
    pub fn empty_block(&self, mode: CellMode) -> PlaneBlock {
        PlaneBlock { issued: 0, finished: 0, pages: self.pages[mode.index()], mode, programming: false }
    }

    /// Which pages of a block in `mode` share their cells.
    pub fn word_lines(&self, mode: CellMode) -> &WordLines {
        self.word_lines[mode.index()].as_ref().expect("a block runs in a mode that its die offers")
    }

    /// Program/erase cycles for which a block in `mode` is rated.
    pub fn rated_cycles(&self, mode: CellMode) -> u32 {
        self.rated_cycles[mode.index()]
    }
}
