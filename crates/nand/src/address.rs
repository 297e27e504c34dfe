//! How units, blocks and dies of flash are named; what the names come from is in `layout.rs`.

use std::ops::{Add, AddAssign, Range, Sub};

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
    /// A logical page of the translation layer: what the host addresses, in units of the map.
    pub struct LogicalPage;
}

impl LogicalPage {
    /// In place of a page where there is none: what the spare area of a unit says that holds no data of the host (padding, or
    /// never programmed).
    pub const NONE: LogicalPage = LogicalPage(u32::MAX);
    pub const FIRST: LogicalPage = LogicalPage(0);

    /// So many pages from this one on.
    #[inline]
    #[must_use]
    pub const fn run(self, pages: u32) -> Range<LogicalPage> {
        self..LogicalPage(self.0 + pages)
    }

    /// All pages of a layer that has so many.
    #[inline]
    #[must_use]
    pub const fn all(count: u32) -> Range<LogicalPage> {
        LogicalPage::FIRST.run(count)
    }
}

/// So many pages on.
impl Add<u32> for LogicalPage {
    type Output = LogicalPage;

    #[inline]
    fn add(self, pages: u32) -> LogicalPage {
        LogicalPage(self.0 + pages)
    }
}

impl AddAssign<u32> for LogicalPage {
    #[inline]
    fn add_assign(&mut self, pages: u32) {
        *self = *self + pages;
    }
}

/// How many pages one lies behind another.
impl Sub for LogicalPage {
    type Output = u32;

    #[inline]
    fn sub(self, first: LogicalPage) -> u32 {
        self.0 - first.0
    }
}

/// What a range of plain numbers does by itself.
pub trait LogicalPages {
    fn each(&self) -> impl DoubleEndedIterator<Item = LogicalPage> + ExactSizeIterator + Clone + use<Self>;

    /// How many they are.
    fn count(&self) -> u32;
}

impl LogicalPages for Range<LogicalPage> {
    #[inline]
    fn each(&self) -> impl DoubleEndedIterator<Item = LogicalPage> + ExactSizeIterator + Clone + use<> {
        (self.start.0..self.end.0).map(LogicalPage)
    }

    #[inline]
    fn count(&self) -> u32 {
        self.end.0.saturating_sub(self.start.0)
    }
}

number_type! {
    /// A multi-plane block: die x blocks + index.
    pub struct BlockId;
}

number_type! {
    /// A die of a drive, over all of its channels.
    pub struct DieId;
}

impl DieId {
    pub const FIRST: DieId = DieId(0);

    /// The one after this.
    #[inline]
    #[must_use]
    pub const fn next(self) -> DieId {
        DieId(self.0 + 1)
    }
}

/// Dies that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dies {
    pub first: DieId,
    /// The one after the last.
    pub end: DieId,
}

impl Dies {
    /// So many dies from one on.
    #[inline]
    #[must_use]
    pub const fn run(first: DieId, count: u32) -> Dies {
        Dies { first, end: DieId(first.0 + count) }
    }

    /// All of a drive that has so many.
    #[inline]
    #[must_use]
    pub const fn all(count: u32) -> Dies {
        Dies::run(DieId::FIRST, count)
    }

    #[inline]
    #[must_use]
    pub const fn count(self) -> u32 {
        self.end.0 - self.first.0
    }

    #[inline]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = DieId> + ExactSizeIterator + use<> {
        (self.first.0..self.end.0).map(DieId)
    }
}
