//! The map from logical pages to flash, and which units of flash are valid.

use ssdlab_nand::{UnitAddress, memory};

/// A logical page that was never written, or was trimmed.
pub const UNMAPPED: u32 = u32::MAX;
/// Set in an entry that points at a slot of the write buffer rather than at flash.
const BUFFERED: u32 = 1 << 31;

/// Where a logical page lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Unmapped,
    /// Slot of the write buffer.
    Buffer(u32),
    Flash(UnitAddress),
}

/// Four bytes a logical page.
#[derive(Clone, Debug)]
pub struct Map {
    entries: Vec<u32>,
}

impl Map {
    #[must_use]
    pub fn new(logical_pages: u32) -> Self {
        Map { entries: memory::filled(logical_pages as usize, UNMAPPED) }
    }

    #[must_use]
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    #[inline]
    #[must_use]
    pub fn get(&self, lpn: u32) -> Place {
        let e = self.entries[lpn as usize];
        if e == UNMAPPED {
            Place::Unmapped
        } else if e & BUFFERED != 0 {
            Place::Buffer(e & !BUFFERED)
        } else {
            Place::Flash(e)
        }
    }

    /// The same for a number that may be no page at all.
    #[must_use]
    pub fn get_checked(&self, lpn: u32) -> Option<Place> {
        (lpn < self.len()).then(|| self.get(lpn))
    }

    #[inline]
    pub fn set_flash(&mut self, lpn: u32, unit: UnitAddress) {
        self.entries[lpn as usize] = unit;
    }

    /// Points `old.len()` pages from `lpn` on, none of which is in the write buffer, at as many units from `unit` on.
    /// Tells where they were; returns how many were nowhere.
    #[inline]
    pub fn replace_run(&mut self, lpn: u32, unit: UnitAddress, old: &mut [u32]) -> u32 {
        let entries = &mut self.entries[lpn as usize..lpn as usize + old.len()];
        let mut new = 0;
        for ((entry, old), unit) in entries.iter_mut().zip(old).zip(unit..) {
            debug_assert!(*entry == UNMAPPED || *entry & BUFFERED == 0);
            new += u32::from(*entry == UNMAPPED);
            *old = std::mem::replace(entry, unit);
        }
        new
    }

    #[inline]
    pub fn set_buffer(&mut self, lpn: u32, slot: u32) {
        self.entries[lpn as usize] = BUFFERED | slot;
    }

    /// Points a page that lives at `from` at its copy; returns whether it did live there.
    #[inline]
    pub fn move_flash(&mut self, lpn: u32, from: UnitAddress, to: UnitAddress) -> bool {
        match self.entries.get_mut(lpn as usize) {
            Some(entry) if *entry == from => {
                *entry = to;
                true
            }
            _ => false,
        }
    }

    #[inline]
    pub fn unmap(&mut self, lpn: u32) {
        self.entries[lpn as usize] = UNMAPPED;
    }

    #[inline]
    pub fn prefetch(&self, lpn: u32) {
        memory::prefetch(&self.entries, lpn as usize);
    }

    pub fn clear(&mut self) {
        self.entries.fill(UNMAPPED);
    }
}

/// One bit a unit of flash.
#[derive(Clone, Debug)]
pub struct Validity {
    words: Vec<u64>,
    row_mask: u64,
}

impl Validity {
    #[must_use]
    pub fn new(units: usize, row_units: u32) -> Self {
        let row_mask = if row_units == 64 { u64::MAX } else { (1 << row_units) - 1 };
        Validity { words: memory::filled(units.div_ceil(64) + 1, 0), row_mask }
    }

    #[inline]
    #[must_use]
    pub fn get(&self, unit: UnitAddress) -> bool {
        self.words[unit as usize / 64] >> (unit % 64) & 1 != 0
    }

    #[inline]
    pub fn clear(&mut self, unit: UnitAddress) {
        let word = &mut self.words[unit as usize / 64];
        let bit = 1 << (unit % 64);
        assert!(*word & bit != 0, "unit {unit} died twice");
        *word &= !bit;
    }

    /// Valid bits of the 64 units from `start` on.
    #[inline]
    #[must_use]
    pub fn span(&self, start: UnitAddress) -> u64 {
        let (word, shift) = (start as usize / 64, start % 64);
        // A shift by 64 in two steps where nothing comes from the next word.
        self.words[word] >> shift | self.words[word + 1] << 1 << (63 - shift)
    }

    /// Clears several bits of the 64 units from `start` on.
    #[inline]
    pub fn clear_span(&mut self, start: UnitAddress, bits: u64) {
        let (word, shift) = (start as usize / 64, start % 64);
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
        self.words[start as usize / 64] >> (start % 64) & self.row_mask
    }

    #[inline]
    pub fn set_row(&mut self, start: UnitAddress, valid: u64) {
        self.words[start as usize / 64] |= valid << (start % 64);
    }

    #[inline]
    pub fn prefetch(&self, unit: UnitAddress) {
        memory::prefetch(&self.words, unit as usize / 64);
    }

    pub fn clear_all(&mut self) {
        self.words.fill(0);
    }
}
