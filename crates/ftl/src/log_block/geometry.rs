//! Where a logical page belongs: superblock, lane and row.
//!
//! A *superblock* is one block of each die of a *column*: dies on different channels, one each, its *lanes*. Superblocks
//! of neighbouring columns are striped together, so that a sequential stream keeps all of their dies busy:
//!
//! ```text
//! page = ((group x rows + row) x stripe + superblock of the group) x lanes + lane
//! ```
//!
//! A page never leaves its die: only so can a merge copy it within the die.

use std::ops::Range;

use ssdlab_nand::{DieId, LogicalPage};

/// Where a page belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub superblock: u32,
    pub lane: u32,
    pub row: u32,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Dies of a column.
    pub lanes: u32,
    pub columns: u32,
    /// Superblocks striped together, in as many columns.
    pub stripe: u32,
    /// Pages of a block.
    pub rows: u32,
    pub logical_pages: u32,
}

impl Geometry {
    /// Logical superblocks.
    #[must_use]
    pub fn superblocks(&self) -> u32 {
        self.logical_pages.div_ceil(self.group_pages()) * self.stripe
    }

    /// The most logical superblocks that any column holds.
    #[must_use]
    pub fn superblocks_of_a_column(&self) -> u32 {
        self.logical_pages.div_ceil(self.group_pages()).div_ceil(self.columns / self.stripe)
    }

    /// Pages of superblocks that are striped together.
    fn group_pages(&self) -> u32 {
        self.stripe * self.lanes * self.rows
    }

    #[inline]
    #[must_use]
    pub fn spot(&self, page: LogicalPage) -> Spot {
        let (group, within) = (page.number() / self.group_pages(), page.number() % self.group_pages());
        let (rest, lane) = (within / self.lanes, within % self.lanes);
        Spot { superblock: group * self.stripe + rest % self.stripe, lane, row: rest / self.stripe }
    }

    /// Whether the drive has this page.
    #[inline]
    #[must_use]
    pub fn has(&self, page: LogicalPage) -> bool {
        page.number() < self.logical_pages
    }

    /// The page that belongs there; `None` behind the last one.
    #[inline]
    #[must_use]
    pub fn page(&self, spot: Spot) -> Option<LogicalPage> {
        Some(self.page_number(spot)).filter(|&page| self.has(page))
    }

    /// The same, counted on behind the last one.
    #[must_use]
    pub fn page_number(&self, spot: Spot) -> LogicalPage {
        let group = spot.superblock / self.stripe;
        let rest = spot.row * self.stripe + spot.superblock % self.stripe;
        LogicalPage::new(group * self.group_pages() + rest * self.lanes + spot.lane)
    }

    /// From a page to the one that belongs in the next row of its block.
    #[inline]
    #[must_use]
    pub fn pages_of_a_row(&self) -> u32 {
        self.stripe * self.lanes
    }

    /// The column that a logical superblock always stays in.
    #[inline]
    #[must_use]
    pub fn column(&self, superblock: u32) -> u32 {
        let groups = self.columns / self.stripe;
        superblock / self.stripe % groups * self.stripe + superblock % self.stripe
    }

    /// The die of a lane.
    #[inline]
    #[must_use]
    pub fn die(&self, column: u32, lane: u32) -> DieId {
        DieId::new(column * self.lanes + lane)
    }

    /// Numbers of the dies of a column, by lane.
    #[must_use]
    pub fn dies(&self, column: u32) -> Range<usize> {
        self.die(column, 0).index()..self.die(column + 1, 0).index()
    }

    /// Column and lane of a die.
    #[inline]
    #[must_use]
    pub fn column_and_lane(&self, die: DieId) -> (u32, u32) {
        (die.number() / self.lanes, die.number() % self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ssdlab_nand::LogicalPages;

    use super::*;

    #[test]
    fn every_page_has_a_place_of_its_own_and_is_found_there() {
        let geometry = Geometry { lanes: 4, columns: 6, stripe: 3, rows: 16, logical_pages: 4 * 3 * 16 * 5 - 7 };
        let mut taken = BTreeSet::new();
        for page in LogicalPage::all(geometry.logical_pages).each() {
            let spot = geometry.spot(page);
            assert!(spot.superblock < geometry.superblocks() && spot.lane < 4 && spot.row < 16);
            assert!(taken.insert((spot.superblock, spot.lane, spot.row)));
            assert_eq!(geometry.page(spot), Some(page));
        }
        assert_eq!(geometry.page(geometry.spot(LogicalPage::new(geometry.logical_pages))), None);
    }

    #[test]
    fn a_stream_visits_all_lanes_then_all_columns_of_its_group_and_groups_take_turns() {
        let geometry = Geometry { lanes: 2, columns: 4, stripe: 2, rows: 8, logical_pages: 1000 };
        let dies = |pages: std::ops::Range<u32>| -> Vec<u32> {
            pages
                .map(|p| geometry.spot(LogicalPage::new(p)))
                .map(|s| geometry.die(geometry.column(s.superblock), s.lane).number())
                .collect()
        };
        assert_eq!(dies(0..5), [0, 1, 2, 3, 0]);
        assert_eq!(dies(32..36), [4, 5, 6, 7]);
        assert_eq!(dies(64..66), [0, 1]);
        assert_eq!(geometry.superblocks_of_a_column(), 16);
    }
}
