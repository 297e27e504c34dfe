//! Which units of flash are valid: one bit each.

use ssdlab_nand::{UnitAddress, memory};

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Validity {
    words: Vec<u64>,
    row_mask: u64,
}

impl Validity {
    #[must_use]
    pub fn new(units: usize, row_units: u32) -> Self {
        let row_mask = if row_units == 64 { u64::MAX } else { (1 << row_units) - 1 };
        Validity { words: memory::zeroed(units.div_ceil(64) + 1), row_mask }
    }

    #[inline]
    #[must_use]
    pub fn get(&self, unit: UnitAddress) -> bool {
        self.words[unit.index() / 64] >> unit.bit() & 1 != 0
    }

    #[inline]
    pub fn clear(&mut self, unit: UnitAddress) {
        let word = &mut self.words[unit.index() / 64];
        let bit = 1 << unit.bit();
        assert!(*word & bit != 0, "unit {unit} died twice");
        *word &= !bit;
    }

    /// Valid bits of the 64 units from `start` on.
    #[inline]
    #[must_use]
    pub fn span(&self, start: UnitAddress) -> u64 {
        let (word, shift) = (start.index() / 64, start.bit());
        // A shift by 64 in two steps where nothing comes from the next word.
        self.words[word] >> shift | self.words[word + 1] << 1 << (63 - shift)
    }

    /// Clears several bits of the 64 units from `start` on.
    #[inline]
    pub fn clear_span(&mut self, start: UnitAddress, bits: u64) {
        let (word, shift) = (start.index() / 64, start.bit());
        let (low, high) = (bits << shift, bits >> 1 >> (63 - shift));
        let words = &mut self.words[word..word + 2];
        assert!(words[0] & low == low && words[1] & high == high, "a unit died twice");
        words[0] &= !low;
        words[1] &= !high;
    }

    /// Valid units of the row that starts at `start`, one bit each.
    #[inline]
    #[must_use]
    pub fn row(&self, start: UnitAddress) -> u64 {
        self.words[start.index() / 64] >> start.bit() & self.row_mask
    }

    #[inline]
    pub fn set_row(&mut self, start: UnitAddress, valid: u64) {
        self.words[start.index() / 64] |= valid << start.bit();
    }

    /// Sets several bits of one row; bit 0 is that of `unit`.
    pub fn set_units(&mut self, unit: UnitAddress, bits: u64) {
        self.words[unit.index() / 64] |= bits << unit.bit();
    }

    #[inline]
    pub fn prefetch(&self, unit: UnitAddress) {
        memory::prefetch(&self.words, unit.index() / 64);
    }

    pub fn clear_all(&mut self) {
        self.words.fill(0);
    }
}
