//! How addresses of a set of equal dies are laid out.
//!
//! The flash that belongs together is kept together: a *row* is the same page of every plane of one die, the most
//! that one multi-plane operation can move; a *block* here is one block of every plane of a die with the same
//! index, erased together. A unit is what a drive maps by itself: 4 KiB, or a few times that on drives that map coarsely,
//! or, where compressed data take less, an even share of it.
//!
//! ```text
//! unit address = ((die x blocks + block) x pages + page) x row_units + plane x units_per_page + unit
//! ```
//!
//! Addresses are those of the die's own cell mode. A block that runs with fewer bits per cell has fewer pages, and uses
//! the first of these rows only.

use std::ops::Range;

use ssdlab_core::FastDiv;

use crate::DieSpec;
use crate::address::{BlockId, DieId, UnitAddress};

/// Sizes and address arithmetic.
#[derive(Clone, Debug)]
pub struct Layout {
    pub dies: u32,
    pub planes: u32,
    /// Multi-plane blocks of one die.
    pub blocks: u32,
    /// Pages of a block in the die's own cell mode, which is the most that it can have.
    pub pages: u32,
    /// Bytes of a unit: a power of two, and at most a page.
    pub unit_bytes: u32,
    pub units_per_page: u32,
    /// Units of a row: planes x units_per_page.
    pub row_units: u32,
    /// Units of a multi-plane block.
    pub block_units: u32,
    by_block: FastDiv,
    by_blocks: FastDiv,
    row_shift: u32,
}

/// Planes that so many units in so many rows of a block lie on, at the least; of `page_units` a page, and `most` planes.
#[inline]
#[must_use]
pub fn planes_sensed(units: u32, rows: u32, page_units: u32, most: u32) -> u32 {
    units.div_ceil(page_units * rows.max(1)).min(most)
}

impl Layout {
    /// Lays out `dies` dies of a type, with `blocks` multi-plane blocks each, in units of 4 KiB.
    ///
    /// # Panics
    /// If the number of units does not fit 31 bits (8 TiB of 4 KiB), or a row is not a power of two of units.
    #[must_use]
    pub fn new(die: &DieSpec, dies: u32, blocks: u32) -> Self {
        Layout::with_units(die, dies, blocks, 4096)
    }

    /// The same with units of another size.
    ///
    /// # Panics
    /// As [`Layout::new`].
    #[must_use]
    pub fn with_units(die: &DieSpec, dies: u32, blocks: u32, unit_bytes: u32) -> Self {
        let g = &die.geometry;
        let units_per_page = die.units_per_page(unit_bytes);
        let row_units = g.planes * units_per_page;
        assert!(row_units.is_power_of_two() && row_units <= 64, "a row must be a power of two of units, 64 at most");
        let block_units = row_units * g.pages_per_block;
        assert!(
            u64::from(block_units) * u64::from(blocks) * u64::from(dies) < 1 << 31,
            "flash of 2^31 units or more is beyond 31-bit unit addresses"
        );
        Layout {
            dies,
            planes: g.planes,
            blocks,
            pages: g.pages_per_block,
            unit_bytes,
            units_per_page,
            row_units,
            block_units,
            by_block: FastDiv::new(block_units),
            by_blocks: FastDiv::new(blocks),
            row_shift: row_units.trailing_zeros(),
        }
    }

    /// Planes of a row on which units of it lie, one bit each. The row begins at `start`; units are told by the last
    /// six bits of their addresses.
    #[inline]
    #[must_use]
    pub fn planes_with(&self, start: UnitAddress, units: u64) -> u8 {
        let (page, units) = (u64::MAX >> (64 - self.units_per_page), units >> start.bit());
        (0..self.planes)
            .fold(0, |planes, plane| planes | u8::from(units & page << (plane * self.units_per_page) != 0) << plane)
    }

    /// All planes, one bit each.
    #[inline]
    #[must_use]
    pub fn all_planes(&self) -> u8 {
        (1 << self.planes) - 1
    }

    #[inline]
    #[must_use]
    pub fn units(&self) -> usize {
        self.dies as usize * self.blocks as usize * self.block_units as usize
    }

    /// Data bytes of a row.
    #[must_use]
    pub fn row_bytes(&self) -> u32 {
        self.row_units * self.unit_bytes
    }

    #[inline]
    #[must_use]
    pub fn block_count(&self) -> u32 {
        self.dies * self.blocks
    }

    #[inline]
    #[must_use]
    pub fn block_of(&self, unit: UnitAddress) -> BlockId {
        BlockId::new(self.by_block.quotient(unit.number()))
    }

    /// Block and page of a unit.
    #[inline]
    #[must_use]
    pub fn row_of(&self, unit: UnitAddress) -> (BlockId, u32) {
        let (block, rest) = self.by_block.split(unit.number());
        (BlockId::new(block), rest >> self.row_shift)
    }

    /// First unit of a row.
    #[inline]
    #[must_use]
    pub fn row_start(&self, block: BlockId, page: u32) -> UnitAddress {
        UnitAddress::new(block.number() * self.block_units + (page << self.row_shift))
    }

    /// Number of the row that begins with a unit, over all dies.
    #[inline]
    #[must_use]
    pub fn row_number(&self, start: UnitAddress) -> usize {
        (start.number() >> self.row_shift) as usize
    }

    /// The block of an index within a die.
    #[inline]
    #[must_use]
    pub fn block_at(&self, die: DieId, index: u32) -> BlockId {
        BlockId::new(die.number() * self.blocks + index)
    }

    /// Every block of every die, in order of its number.
    pub fn all_blocks(&self) -> impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + use<> {
        (0..self.block_count()).map(BlockId::new)
    }

    /// Number of a block's first plane, over all blocks; the others follow.
    #[inline]
    #[must_use]
    pub fn first_plane(&self, block: BlockId) -> usize {
        (block.number() * self.planes) as usize
    }

    /// Numbers of all planes of a block.
    #[inline]
    #[must_use]
    pub fn planes_of(&self, block: BlockId) -> Range<usize> {
        let first = self.first_plane(block);
        first..first + self.planes as usize
    }

    /// Die and index within the die.
    #[inline]
    #[must_use]
    pub fn die_of(&self, block: BlockId) -> (DieId, u32) {
        let (die, index) = self.by_blocks.split(block.number());
        (DieId::new(die), index)
    }
}
