//! Which units of flash belong together: where each logical unit begins, one bit for every unit of flash. A row's header
//! has it on a real drive.

use serde::{Deserialize, Serialize};
use ssdlab_nand::{UnitAddress, memory};

/// See the module's own page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Extents {
    /// Set where an extent begins, and where the padding of a row does.
    words: Vec<u64>,
    row_units: u32,
}

impl Extents {
    #[must_use]
    pub fn new(units: usize, row_units: u32) -> Self {
        Extents { words: memory::zeroed(units.div_ceil(64) + 1), row_units }
    }

    /// Whether these are of as much flash.
    #[must_use]
    pub fn is_shaped_like(&self, other: &Extents) -> bool {
        (self.words.len(), self.row_units) == (other.words.len(), other.row_units)
    }

    /// Where extents begin among the 64 units from `start` on, one bit each.
    #[inline]
    #[must_use]
    pub fn span(&self, start: UnitAddress) -> u64 {
        let (word, shift) = (start.index() / 64, start.bit());
        self.words[word] >> shift | self.words[word + 1] << 1 << (63 - shift)
    }

    /// Where extents begin in the row that starts at `start`.
    #[inline]
    #[must_use]
    pub fn row(&self, start: UnitAddress) -> u64 {
        self.span(start) & (u64::MAX >> (64 - self.row_units))
    }

    /// Sets what [`Extents::row`] tells.
    #[inline]
    pub fn set_row(&mut self, start: UnitAddress, begins: u64) {
        let shift = start.bit();
        let word = &mut self.words[start.index() / 64];
        *word = *word & !(u64::MAX >> (64 - self.row_units) << shift) | begins << shift;
    }

    /// Units of the extent that begins at `unit`.
    #[inline]
    #[must_use]
    pub fn len(&self, unit: UnitAddress) -> u32 {
        let left = self.row_units - (unit.number() & (self.row_units - 1));
        (self.span(unit) >> 1).trailing_zeros().saturating_add(1).min(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(unit: u32) -> UnitAddress {
        UnitAddress::new(unit)
    }

    #[test]
    fn extents_reach_to_the_next_one_or_to_the_end_of_their_row() {
        for row_units in [8, 64] {
            let mut e = Extents::new(256, row_units);
            e.set_row(at(128), 0b1001_0001);
            e.set_row(at(128 + row_units), 0b1);
            assert_eq!([128, 132, 135].map(|u| e.len(at(u))), [4, 3, row_units - 7]);
            assert_eq!(e.len(at(128 + row_units)), row_units);
            assert_eq!((e.row(at(128)), e.row(at(128 + row_units)), e.row(at(0))), (0b1001_0001, 1, 0));
            e.set_row(at(128), 0b1_0001);
            assert_eq!(e.len(at(132)), row_units - 4);
        }
    }
}
