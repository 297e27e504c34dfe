//! What one entry of a drive's map stands for, and how requests touch it.

use std::ops::Range;

#[cfg(test)]
use ssdlab_core::Op;
use ssdlab_core::SECTOR_BYTES;
use ssdlab_device::Request;
use ssdlab_nand::LogicalPage;

/// The size of a logical page: 4 KiB, or more on drives that map coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingUnit {
    shift: u32,
}

impl MappingUnit {
    /// Of so many bytes.
    ///
    /// # Panics
    /// If they are no power of two, or less than a sector.
    #[must_use]
    pub fn new(bytes: u32) -> Self {
        assert!(bytes.is_power_of_two() && u64::from(bytes) >= SECTOR_BYTES, "units of {bytes} bytes");
        MappingUnit { shift: bytes.trailing_zeros() }
    }

    #[inline]
    #[must_use]
    pub fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// Bytes of so many units.
    #[inline]
    #[must_use]
    pub fn bytes_of(self, units: u32) -> u64 {
        u64::from(units) << self.shift
    }

    /// The unit that a byte lies in.
    #[inline]
    #[must_use]
    pub fn of(self, offset_bytes: u64) -> LogicalPage {
        LogicalPage::new((offset_bytes >> self.shift) as u32)
    }

    /// The first unit that begins at a byte or after it.
    #[inline]
    #[must_use]
    pub fn from(self, offset_bytes: u64) -> LogicalPage {
        LogicalPage::new(((offset_bytes + self.bytes() - 1) >> self.shift) as u32)
    }

    #[inline]
    #[must_use]
    pub fn is_aligned(self, bytes: u64) -> bool {
        bytes & (self.bytes() - 1) == 0
    }

    /// The units that a request touches: the first, and the one after the last.
    #[inline]
    #[must_use]
    pub fn touched(self, r: &Request) -> (LogicalPage, LogicalPage) {
        (self.of(r.offset_bytes), self.from(r.offset_bytes + r.length_bytes))
    }

    /// The units that a request covers as a whole.
    #[must_use]
    pub fn covered(self, r: &Request) -> Range<LogicalPage> {
        self.from(r.offset_bytes)..self.of(r.offset_bytes + r.length_bytes)
    }

    /// Bytes of a unit that a request covers.
    #[must_use]
    pub fn bytes_in(self, r: &Request, unit: LogicalPage) -> u64 {
        let start = u64::from(unit.number()) << self.shift;
        (r.offset_bytes + r.length_bytes).min(start + self.bytes()) - r.offset_bytes.max(start)
    }

    /// The sectors of a unit that a request covers, one bit each.
    #[must_use]
    pub fn sectors(self, r: &Request, unit: LogicalPage) -> u64 {
        let from = r.offset_bytes.max(u64::from(unit.number()) << self.shift) & (self.bytes() - 1);
        let sectors = self.bytes_in(r, unit) / SECTOR_BYTES;
        (u64::MAX >> (64 - sectors)) << (from / SECTOR_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_page_may_be_covered_in_part() {
        let unit = MappingUnit::new(4096);
        let request = Request::new(0, Op::Write, 4096 + 3 * 512, 2 * 4096);
        let sectors: Vec<u64> = (1..4).map(|page| unit.sectors(&request, LogicalPage::new(page))).collect();
        assert_eq!(sectors, [0b1111_1000, 0b1111_1111, 0b0000_0111]);
        assert_eq!(unit.sectors(&Request::new(0, Op::Write, 7 * 512, 512), LogicalPage::FIRST), 0b1000_0000);
        let page = LogicalPage::new;
        assert_eq!((unit.touched(&request), unit.covered(&request)), ((page(1), page(4)), page(2)..page(3)));
    }

    #[test]
    fn of_larger_units_more_sectors_are_told_apart() {
        let unit = MappingUnit::new(32 << 10);
        let request = Request::new(0, Op::Write, (32 << 10) - 512, (32 << 10) + 1024);
        assert_eq!(unit.touched(&request), (LogicalPage::FIRST, LogicalPage::new(3)));
        let sectors: Vec<u64> = (0..3).map(|page| unit.sectors(&request, LogicalPage::new(page))).collect();
        assert_eq!(sectors, [1 << 63, u64::MAX, 1]);
        assert!(
            unit.covered(&request) == LogicalPage::new(1).run(1)
                && unit.is_aligned(64 << 10)
                && !unit.is_aligned(16 << 10)
        );
    }
}
