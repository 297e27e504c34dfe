//! A die of which only the geometry matters: where tests, examples and experiments begin.

use crate::{Bus, CellModes, DieSpec, Features, Geometry, PageOrder, Timing, Wear};

impl DieSpec {
    /// 50 µs for a read, 500 µs for a program, 1 ms for an erase, whatever the page; a bus that takes no time; rated
    /// for 1,000 cycles, without a factory bad block, reduced modes, energy or errors. Fields are meant to be replaced.
    ///
    /// ```
    /// use ssdlab_nand::{DieSpec, Geometry, PageOrder};
    /// let geometry = Geometry {
    ///     planes: 1,
    ///     blocks_per_plane: 16,
    ///     pages_per_block: 32,
    ///     page_bytes: 4096,
    ///     spare_bytes: 0,
    ///     bits_per_cell: 1,
    ///     page_order: PageOrder::Uniform,
    /// };
    /// let mut die = DieSpec::plain(geometry);
    /// die.wear.factory_bad_blocks_per_10000 = 100;
    /// assert_eq!((die.raw_bytes(), die.validate().is_ok()), (2 << 20, true));
    /// ```
    #[must_use]
    pub fn plain(geometry: Geometry) -> Self {
        let pages = if geometry.page_order == PageOrder::Uniform { 1 } else { geometry.bits_per_cell as usize };
        DieSpec {
            description: String::new(),
            timing: Timing { read_us: vec![50.0; pages], program_us: vec![500.0; pages], erase_ms: 1.0 },
            bus: Bus { mega_transfers_per_s: 0.0, command_us: 0.0 },
            wear: Wear { rated_program_erase_cycles: 1000, factory_bad_blocks_per_10000: 0 },
            modes: CellModes::default(),
            features: Features::default(),
            variation: None,
            power: None,
            errors: None,
            geometry,
        }
    }
}
