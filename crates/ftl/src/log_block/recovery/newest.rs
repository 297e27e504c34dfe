//! Of each page the newest copy that can be read.

use ssdlab_nand::{BlockId, CellMode, LogicalPage, Medium, SequenceNumber, UnitAddress};

use super::LogBlockFault;
use crate::log_block::contents::NOWHERE;
use crate::log_block::geometry::{Geometry, Spot};
use crate::log_block::superblocks::{Place, Superblocks, Use};

/// See the module's own page.
pub struct Newest {
    /// By page: where it is, or [`NOWHERE`].
    pub lives: Vec<UnitAddress>,
    /// Copies that cuts have destroyed: page, sequence number, and the cells that they were in.
    pub destroyed: Vec<(LogicalPage, SequenceNumber, CellMode)>,
    /// Whether any row is from before the erase point.
    pub any_void: bool,
}

/// A scan of superblocks.
struct Scan<'a> {
    geometry: &'a Geometry,
    medium: &'a Medium,
    superblocks: &'a Superblocks,
    newest: Newest,
    void_before: Option<SequenceNumber>,
    fault: Option<LogBlockFault>,
}

impl Newest {
    /// Looks into data superblocks, then into logs: of two copies with one number the one in its own place counts.
    pub fn find(
        geometry: &Geometry,
        medium: &Medium,
        superblocks: &Superblocks,
        data: &[Option<Place>],
        void_before: Option<SequenceNumber>,
        fault: Option<LogBlockFault>,
    ) -> Newest {
        let newest =
            Newest { lives: vec![NOWHERE; geometry.logical_pages as usize], destroyed: Vec::new(), any_void: false };
        let mut scan = Scan { geometry, medium, superblocks, newest, void_before, fault };
        for (place, superblock) in data.iter().zip(0..).filter_map(|(place, k)| Some(((*place)?, k))) {
            scan.look_at_data(place, superblock);
        }
        let passed_over = usize::from(fault == Some(LogBlockFault::SkipsLog));
        let logs = (0..superblocks.count()).filter(|&place| superblocks.use_of(place) == Use::Log);
        for place in logs.skip(passed_over) {
            scan.look_at_log(place);
        }
        scan.newest
    }
}

impl Scan<'_> {
    /// Every page is in its own row, or is not there.
    fn look_at_data(&mut self, place: Place, superblock: u32) {
        for lane in 0..self.geometry.lanes {
            let block = self.superblocks.block(place, lane);
            let damaged = self.is_damaged(block);
            let start = self.medium.layout().row_start(block, 0);
            let mut page = self.geometry.page_number(Spot { superblock, lane, row: 0 });
            for row in 0..self.medium.finished_pages(block) {
                if self.medium.lpn(start + row) == page
                    && self.geometry.has(page)
                    && !self.is_void(block, row)
                    && (!damaged || self.can_be_read(block, row))
                {
                    self.newest.lives[page.index()] = start + row;
                }
                page += self.geometry.pages_of_a_row();
            }
        }
    }

    fn look_at_log(&mut self, place: Place) {
        for lane in 0..self.geometry.lanes {
            let block = self.superblocks.block(place, lane);
            let damaged = self.is_damaged(block);
            let start = self.medium.layout().row_start(block, 0);
            for row in 0..self.medium.finished_pages(block) {
                let page = self.medium.lpn(start + row);
                if !self.geometry.has(page) || self.is_void(block, row) || damaged && !self.can_be_read(block, row) {
                    continue;
                }
                let lives = &mut self.newest.lives[page.index()];
                let newer = *lives == NOWHERE || {
                    let (other, other_row) = self.medium.layout().row_of(*lives);
                    self.fault != Some(LogBlockFault::IgnoresSequence)
                        && self.medium.sequence(block, row) > self.medium.sequence(other, other_row)
                };
                if newer {
                    *lives = start + row;
                }
            }
        }
    }

    /// Whether a row was programmed before the erase point, or copied from one that was.
    fn is_void(&mut self, block: BlockId, row: u32) -> bool {
        let is_void = self.void_before.is_some_and(|point| self.medium.sequence(block, row) < point);
        self.newest.any_void |= is_void;
        is_void
    }

    fn is_damaged(&self, block: BlockId) -> bool {
        self.medium.unreadable_pages(block).next().is_some()
    }

    /// Whether a row of a damaged block can be read. Of one that was destroyed, notes what it was.
    fn can_be_read(&mut self, block: BlockId, row: u32) -> bool {
        if self.medium.is_readable(block, row) {
            return true;
        }
        let page = self.medium.lpn(self.medium.layout().row_start(block, row));
        if !self.medium.is_torn(block, row) && self.geometry.has(page) {
            self.newest.destroyed.push((page, self.medium.sequence(block, row), self.medium.mode(block)));
        }
        false
    }
}
