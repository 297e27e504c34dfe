//! How units and blocks of flash are named; what the names come from is in `layout.rs`.

use std::ops::{Add, AddAssign, Sub};

use ssdlab_core::number_type;

number_type! {
    /// Physical address of a unit: its number over all dies, blocks and pages.
    pub struct UnitAddress;
}

impl UnitAddress {
    /// In place of a unit where there is none.
    pub const NONE: UnitAddress = UnitAddress(u32::MAX);

    /// So many units from this one on.
    #[inline]
    pub fn run(self, units: u32) -> impl DoubleEndedIterator<Item = UnitAddress> + ExactSizeIterator {
        (self.0..self.0 + units).map(UnitAddress)
    }

    /// Its place in a table of 64-bit words with a bit for each unit.
    #[inline]
    #[must_use]
    pub const fn bit(self) -> u32 {
        self.number() % u64::BITS
    }
}

/// So many units on.
impl Add<u32> for UnitAddress {
    type Output = UnitAddress;

    #[inline]
    fn add(self, units: u32) -> UnitAddress {
        UnitAddress::new(self.number() + units)
    }
}

impl AddAssign<u32> for UnitAddress {
    #[inline]
    fn add_assign(&mut self, units: u32) {
        *self = *self + units;
    }
}

/// How many units one lies behind another.
impl Sub for UnitAddress {
    type Output = u32;

    #[inline]
    fn sub(self, first: UnitAddress) -> u32 {
        self.number() - first.number()
    }
}

number_type! {
    /// A multi-plane block: die x blocks + index.
    pub struct BlockId;
}
