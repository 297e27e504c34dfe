//! In what order rows were programmed.
//!
//! Every row gets a number when its program is queued, drive-wide, in order: of two copies of a page the one in the row of the
//! greater number is newer. A row may lie for as long as the drive lives, and a copy may keep its number for longer still. So numbers
//! have 64 bits, and never begin anew: what is compared is always told apart, however old it is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::memory::{self, Table};

/// The number of a row in the order in which rows were programmed; see the module's own page. As packed as two words of 32 bits,
/// since tables keep it beside a page or a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
#[repr(Rust, packed(4))]
pub struct SequenceNumber(u64);

impl SequenceNumber {
    /// That of the first row.
    pub const FIRST: SequenceNumber = SequenceNumber(0);

    #[inline]
    #[must_use]
    pub const fn new(number: u64) -> Self {
        SequenceNumber(number)
    }

    /// How many rows came before.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// That of the row after this one.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        SequenceNumber(self.0.wrapping_add(1))
    }

    /// Whether a drive can have lived to give it. Many more follow, so that none needs to be checked when it is given.
    #[must_use]
    pub(crate) fn is_plausible(self) -> bool {
        self.0 < 1 << 56
    }
}

impl From<u64> for SequenceNumber {
    fn from(number: u64) -> Self {
        SequenceNumber::new(number)
    }
}

impl From<SequenceNumber> for u64 {
    fn from(sequence: SequenceNumber) -> u64 {
        sequence.number()
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&{ self.0 }, f)
    }
}

/// A table of numbers, at four bytes each; at eight from the first on that has more than 32 bits. Numbers that nobody has set are
/// [`SequenceNumber::FIRST`].
#[derive(Clone, Debug)]
pub struct SequenceTable {
    low: Table<u32>,
    /// The upper halves; empty while all are zero.
    high: Table<u32>,
    /// Numbers from this one on have an upper half that is to be noted: [`LONG`], or all once there are any.
    noted_from: u64,
}

/// The first number of more than 32 bits.
const LONG: u64 = 1 << 32;

impl SequenceTable {
    #[must_use]
    pub fn new(len: usize) -> Self {
        SequenceTable { low: Table::zeroed(len), high: Table::zeroed(0), noted_from: LONG }
    }

    /// The number of a place.
    ///
    /// # Panics
    /// If there is no such place; and so do the others.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> SequenceNumber {
        let low = self.low[at];
        let high = if self.high.is_empty() { 0 } else { self.high[at] };
        SequenceNumber(u64::from(high) << 32 | u64::from(low))
    }

    #[inline(always)]
    pub fn set(&mut self, at: usize, number: SequenceNumber) {
        self.low[at] = number.0 as u32;
        if number.0 >= self.noted_from {
            self.set_high(at, (number.0 >> 32) as u32);
        }
    }

    /// A place gets the number of another one.
    #[inline(always)]
    pub fn copy(&mut self, from: usize, to: usize) {
        self.low[to] = self.low[from];
        if !self.high.is_empty() {
            self.set_high(to, self.high[from]);
        }
    }

    /// Asks the processor to fetch a number. There may be no such place.
    #[inline(always)]
    pub fn prefetch(&self, at: usize) {
        memory::prefetch(&self.low, at);
    }

    #[cold]
    fn set_high(&mut self, at: usize, high: u32) {
        if self.high.is_empty() {
            (self.high, self.noted_from) = (Table::zeroed(self.low.len()), 0);
        }
        self.high[at] = high;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST_OF_32_BITS: SequenceNumber = SequenceNumber::new(u32::MAX as u64);

    #[test]
    fn later_numbers_are_greater_however_far_apart() {
        let rising =
            [0, 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 40].map(SequenceNumber::new);
        assert!(rising.is_sorted_by(|a, b| a < b));
        assert_eq!((LAST_OF_32_BITS.next(), SequenceNumber::FIRST.next()), (rising[5], rising[1]));
        assert!(LAST_OF_32_BITS.next() > LAST_OF_32_BITS);
    }

    #[test]
    fn numbers_beside_a_page_take_no_room_for_alignment() {
        assert_eq!(size_of::<(crate::LogicalPage, SequenceNumber)>(), 12);
    }

    #[test]
    fn a_table_takes_four_bytes_a_number_until_one_has_more() {
        let mut table = SequenceTable::new(4);
        table.set(1, LAST_OF_32_BITS);
        table.copy(1, 3);
        assert_eq!((table.low.len(), table.high.len()), (4, 0));
        table.set(2, LAST_OF_32_BITS.next());
        assert_eq!(table.high.len(), 4);
        let all = |table: &SequenceTable| [0, 1, 2, 3].map(|at| table.get(at).number());
        assert_eq!(all(&table), [0, u32::MAX.into(), 1 << 32, u32::MAX.into()]);
        table.copy(2, 0);
        table.copy(1, 2);
        assert_eq!(all(&table), [1 << 32, u32::MAX.into(), u32::MAX.into(), u32::MAX.into()]);
        // A place that had a long one takes a short one.
        table.set(0, SequenceNumber::new(7));
        assert_eq!(table.get(0), SequenceNumber::new(7));
    }
}
