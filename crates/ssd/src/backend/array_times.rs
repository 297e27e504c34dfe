//! How long a die's array is busy with an operation, by cell mode and page.

use ssdlab_core::Nanos;
use ssdlab_nand::{CellMode, DieSpec, ModeSpec};

/// tR, tPROG and tBERS in whole nanoseconds, one entry a page.
#[derive(Clone, Debug)]
pub struct ArrayTimes {
    native: CellMode,
    several_modes: bool,
    /// By mode, then page; empty where the die does not offer the mode.
    pub(super) read: [Vec<Nanos>; CellMode::COUNT],
    pub(super) program: [Vec<Nanos>; CellMode::COUNT],
    pub(super) erase: [Nanos; CellMode::COUNT],
}

impl ArrayTimes {
    #[must_use]
    pub fn new(die: &DieSpec) -> Self {
        let modes = CellMode::ALL.map(|mode| die.mode(mode));
        let by_page = |time: fn(&ModeSpec, u32) -> Nanos| {
            modes
                .each_ref()
                .map(|mode| mode.iter().flat_map(|m| (0..m.pages_per_block).map(move |page| time(m, page))).collect())
        };
        ArrayTimes {
            native: die.native_mode(),
            several_modes: die.has_several_modes(),
            read: by_page(ModeSpec::read_time),
            program: by_page(ModeSpec::program_time),
            erase: modes.each_ref().map(|m| m.as_ref().map_or(0, ModeSpec::erase_time)),
        }
    }

    /// The die's own mode, in which blocks run that nothing else was said of.
    #[inline]
    #[must_use]
    pub fn native(&self) -> CellMode {
        self.native
    }

    #[inline]
    #[must_use]
    pub fn several_modes(&self) -> bool {
        self.several_modes
    }

    /// Read times of its own for every page of a block in the die's own mode.
    pub fn set_native_reads(&mut self, by_page: &[Nanos]) {
        let times = &mut self.read[self.native.index()];
        assert_eq!(by_page.len(), times.len(), "one read time for each page of a block");
        times.copy_from_slice(by_page);
    }

    /// tR by page.
    #[inline]
    #[must_use]
    pub fn read(&self, mode: CellMode) -> &[Nanos] {
        &self.read[mode.index()]
    }

    /// tPROG by page.
    #[inline]
    #[must_use]
    pub fn program(&self, mode: CellMode) -> &[Nanos] {
        &self.program[mode.index()]
    }

    #[inline]
    #[must_use]
    pub fn erase(&self, mode: CellMode) -> Nanos {
        self.erase[mode.index()]
    }
}
