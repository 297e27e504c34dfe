//! What a die is in each cell mode that it offers: pages, times and rated endurance.

use ssdlab_core::{Nanos, nanos_from_ms, nanos_from_us};

use crate::{CellMode, DieSpec, PageOrder};

/// All that a block is in one cell mode, with every question answered by page.
#[derive(Clone, Debug, PartialEq)]
pub struct ModeSpec {
    pub mode: CellMode,
    /// Pages of one plane's block; they take the first rows of its addresses.
    pub pages_per_block: u32,
    pub page_order: PageOrder,
    /// Program/erase cycles for which a block is rated if it always runs in this mode.
    pub rated_program_erase_cycles: u32,
    read_us: Vec<f64>,
    program_us: Vec<f64>,
    erase_ms: f64,
}

impl ModeSpec {
    /// Which bit of its cells a page is: 0 (lower, LSB), 1 (upper, CSB), 2 (MSB) or 3 (the fourth).
    #[must_use]
    pub fn kind(&self, page: u32) -> usize {
        debug_assert!(page < self.pages_per_block);
        self.page_order.kind_index(page, self.pages_per_block, self.mode.bits())
    }

    /// tR of a page, nanoseconds; a multi-plane read takes the same.
    #[must_use]
    pub fn read_time(&self, page: u32) -> Nanos {
        nanos_from_us(self.read_us[self.kind(page)])
    }

    /// tPROG of a page, nanoseconds; a multi-plane program takes the same.
    #[must_use]
    pub fn program_time(&self, page: u32) -> Nanos {
        nanos_from_us(self.program_us[self.kind(page)])
    }

    /// tBERS, nanoseconds.
    #[must_use]
    pub fn erase_time(&self) -> Nanos {
        nanos_from_ms(self.erase_ms)
    }
}

impl DieSpec {
    /// The mode with the most bits per cell, in which every block starts.
    ///
    /// # Panics
    /// If `geometry.bits_per_cell` is not 1 to 4, which [`DieSpec::validate`] refuses.
    #[must_use]
    pub fn native_mode(&self) -> CellMode {
        CellMode::from_bits(self.geometry.bits_per_cell).expect("one to four bits per cell")
    }

    /// What a block is in a mode; `None` if the die does not offer it.
    ///
    /// A block in a reduced mode keeps the pages that are the first bits of its word lines' cells: half of an
    /// `alternating` MLC block, a third of a TLC block. At two bits per cell they alternate, at three their word lines are
    /// programmed one after the other. L95B's blocks have 260 word lines, eight of them at the edges
    /// with one bit per cell at all times, so that they keep 260 of 512 pages.
    #[must_use]
    pub fn mode(&self, mode: CellMode) -> Option<ModeSpec> {
        let g = &self.geometry;
        if mode == self.native_mode() {
            return Some(ModeSpec {
                mode,
                pages_per_block: g.pages_per_block,
                page_order: g.page_order,
                rated_program_erase_cycles: self.wear.rated_program_erase_cycles,
                read_us: self.timing.read_us.clone(),
                program_us: self.timing.program_us.clone(),
                erase_ms: self.timing.erase_ms,
            });
        }
        let (reduced, page_order) = match mode {
            CellMode::Slc => (self.modes.slc.as_ref()?, PageOrder::Uniform),
            CellMode::Mlc => (self.modes.mlc.as_ref()?, PageOrder::Alternating),
            CellMode::Tlc => (self.modes.tlc.as_ref()?, PageOrder::WordLines),
            CellMode::Qlc => return None,
        };
        Some(ModeSpec {
            mode,
            pages_per_block: g.page_order.word_lines(g.pages_per_block, g.bits_per_cell) * mode.bits(),
            page_order,
            rated_program_erase_cycles: reduced.rated_program_erase_cycles,
            read_us: reduced.read_us.clone(),
            program_us: reduced.program_us.clone(),
            erase_ms: reduced.erase_ms,
        })
    }

    /// Whether any block can run in another mode than the die's own.
    #[must_use]
    pub fn has_several_modes(&self) -> bool {
        !self.modes.is_empty()
    }
}
