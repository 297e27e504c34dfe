//! Where map pages live on flash: a ring of rows, one map page each.
//!
//! A map page that is written out goes to the next row of the ring. The ring is larger than the map, so that many of its
//! rows are out of date when their turn comes; those that are not are moved on first. While one place of the ring is
//! written, the place after it stands erased, and the one after that is emptied, row for row as rows are written, so
//! that moving is spread as evenly as the pages to be moved are, and what is erased has had its copy on flash for the
//! length of a whole place.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, EMPTY_TAG, Layout, LogicalPage, Medium, SequenceNumber};

use crate::op::{FlashOp, NOBODY, OpKind, OpSink};
use crate::page_map::system_ring::{RingRow, SystemRing};

/// First spare entry of a row that holds a map page; the second, where there is one, is the page's number.
pub const TAG_MAP: u32 = 0xFFFF_FFF2;
/// Rows of the ring for each hundred map pages, beside the places kept clear (estimate: half as many again keeps
/// moving below one row for each that is written out).
const RING_PERCENT: u64 = 150;
/// Places of the ring that hold nothing up to date, or are on their way there.
const CLEAR_PLACES: u32 = 3;
const NOWHERE: u32 = u32::MAX;

/// See the module's own page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Area {
    ring: SystemRing,
    /// By map page: its row in all of flash, or [`NOWHERE`].
    rows: Vec<u32>,
    /// By place and row of the ring: the map page last written there.
    owners: Vec<Vec<u32>>,
    /// Pages decided on that wait for a row.
    owed: VecDeque<u32>,
    written: u64,
    moved: u64,
}

/// A row's number over all blocks, by pages of the die's own mode, and the way back.
fn row_number(block: BlockId, page: u32, layout: &Layout) -> u32 {
    block.number() * layout.pages + page
}

fn place_of(row: u32, layout: &Layout) -> (BlockId, u32) {
    (BlockId::new(row / layout.pages), row % layout.pages)
}

impl Area {
    /// Places of a ring over all dies that so many map pages need.
    #[must_use]
    pub fn places(map_pages: u32, layout: &Layout) -> u32 {
        let rows = (u64::from(map_pages) * RING_PERCENT).div_ceil(100);
        rows.div_ceil(u64::from(layout.pages * layout.dies)) as u32 + CLEAR_PLACES
    }

    #[must_use]
    pub fn new(places: Vec<Vec<BlockId>>, map_pages: u32, layout: &Layout) -> Self {
        let owners = vec![vec![NOWHERE; (layout.pages * layout.dies) as usize]; places.len()];
        let rows = vec![NOWHERE; map_pages as usize];
        Area { ring: SystemRing::new(places), rows, owners, owed: VecDeque::new(), written: 0, moved: 0 }
    }

    /// All blocks that it lies in.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.ring.blocks()
    }

    /// Whether this is the area of such a map.
    #[must_use]
    pub fn is_shaped_like(&self, other: &Area) -> bool {
        let owners = |area: &Area| area.owners.iter().map(Vec::len).collect::<Vec<_>>();
        self.ring.is_shaped_like(&other.ring) && self.rows.len() == other.rows.len() && owners(self) == owners(other)
    }

    /// Whether every row on flash holds a page of such a map, or nothing.
    #[must_use]
    pub fn is_written_soundly(&self, medium: &Medium) -> bool {
        let (layout, pages) = (medium.layout(), self.rows.len() as u32);
        let row_is_sound = |block, page| {
            let start = layout.row_start(block, page);
            let known = || layout.row_units == 1 || medium.tag(start + 1) < pages;
            medium.tag(start) == EMPTY_TAG || medium.tag(start) == TAG_MAP && known()
        };
        self.owners.iter().flatten().all(|&owner| owner == NOWHERE || owner < pages)
            && self.blocks().all(|block| {
                medium.is_in_order(block) && (0..medium.finished_pages(block)).all(|page| row_is_sound(block, page))
            })
    }

    /// Rows programmed, those included that were moved.
    #[must_use]
    pub fn rows_written(&self) -> u64 {
        self.written
    }

    /// Rows that were only moved on.
    #[must_use]
    pub fn rows_moved(&self) -> u64 {
        self.moved
    }

    /// Reads so many bytes of a map page, its row or a part of one unit, for `tag` and the entry of a logical page
    /// ([`LogicalPage::NONE`]: to write the page again); returns whether there is one on flash.
    pub fn read(
        &mut self,
        page: u32,
        bytes: u32,
        (tag, lpn): (u16, LogicalPage),
        medium: &Medium,
        sink: &mut impl OpSink,
    ) -> bool {
        let row = self.rows[page as usize];
        if row == NOWHERE {
            return false;
        }
        let layout = medium.layout();
        let (block, at) = place_of(row, layout);
        if at >= medium.finished_pages(block) {
            return false; // still in RAM
        }
        let op = FlashOp::map_read(block, at, bytes.div_ceil(layout.unit_bytes), tag, lpn);
        let part = bytes * 8 / layout.unit_bytes;
        sink.enqueue(layout.die_of(block).0, if part < 8 { op.of_part(part as u8) } else { op });
        true
    }

    /// Writes a map page out.
    pub fn write(&mut self, page: u32, medium: &mut Medium, sink: &mut impl OpSink) {
        self.owed.push_back(page);
        self.write_owed(medium, sink);
    }

    fn write_owed(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        while let Some(&page) = self.owed.front() {
            let Some(row) = self.ring.next() else { return };
            self.owed.pop_front();
            self.program(page, row, medium, sink);
            if self.ring.at_start() {
                self.ring.erase_next(sink);
            }
            self.move_on(self.ring.ahead(2), row.index, medium, sink);
            self.ring.step(medium.layout());
        }
    }

    fn program(&mut self, page: u32, to: RingRow, medium: &mut Medium, sink: &mut impl OpSink) {
        let row = medium.queue_program(to.block, to.page).expect("a system ring is written in order");
        row.tags.fill(EMPTY_TAG);
        row.tags[0] = TAG_MAP;
        if let Some(number) = row.tags.get_mut(1) {
            *number = page;
        }
        let layout = medium.layout();
        self.rows[page as usize] = row_number(to.block, to.page, layout);
        self.owners[to.place][to.index as usize] = page;
        self.written += 1;
        let op = FlashOp::program(OpKind::MetadataProgram, to.block, to.page, layout.row_units, 0);
        sink.enqueue(to.die, op);
    }

    /// Moves a row of a place that will be erased, if it is up to date.
    fn move_on(&mut self, place: usize, index: u32, medium: &Medium, sink: &mut impl OpSink) {
        let Some(page) = self.up_to_date(place, index, medium.layout()) else { return };
        self.moved += 1;
        self.read(page, medium.layout().row_bytes(), (NOBODY, LogicalPage::NONE), medium, sink);
        // Ahead of new pages: what is owed longest must not be erased before.
        self.owed.push_front(page);
    }

    /// Map pages that have a row.
    #[must_use]
    pub fn pages_written(&self) -> u32 {
        self.rows.iter().filter(|&&row| row != NOWHERE).count() as u32
    }

    /// No map page is up to date any more: nothing of them is read, moved or written out.
    pub fn void_all(&mut self) {
        self.rows.fill(NOWHERE);
        self.owners.iter_mut().for_each(|rows| rows.fill(NOWHERE));
        self.owed.clear();
    }

    /// The power went: finds the map pages again by what the spare areas say, but for those of rows before `void_before`, where
    /// it is given. Returns the rows that must be programmed, with nothing in them, before the ring can go on.
    pub fn recover(&mut self, medium: &Medium, void_before: Option<SequenceNumber>) -> Vec<(BlockId, u32)> {
        let skipped = self.ring.recover(medium);
        let layout = medium.layout();
        self.owed.clear();
        self.rows.fill(NOWHERE);
        for place in 0..self.owners.len() {
            for index in 0..self.owners[place].len() {
                let (block, at) = self.ring.row(place, index as u32);
                let start = layout.row_start(block, at);
                let holds_map = at < medium.finished_pages(block)
                    && medium.is_readable(block, at)
                    && medium.tag(start) == TAG_MAP
                    && void_before.is_none_or(|point| medium.sequence(block, at) >= point);
                let owner = &mut self.owners[place][index];
                *owner = match layout.row_units {
                    _ if !holds_map => NOWHERE,
                    // A row of one unit has no second entry; its page is known from the directory.
                    1 => *owner,
                    _ => medium.tag(start + 1),
                };
                let Some(row) = self.rows.get_mut(*owner as usize) else { continue };
                let sequence_of = |(block, page)| medium.sequence(block, page);
                let before = (*row != NOWHERE).then(|| sequence_of(place_of(*row, layout)));
                if before.is_none_or(|before| medium.sequence(block, at) > before) {
                    *row = row_number(block, at, layout);
                }
            }
        }
        skipped
    }

    /// Goes on after [`Area::recover`]. What had been moved out of a place on paper, and is still needed, moves again.
    pub fn resume(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        let at_start = self.ring.at_start();
        let starts_erased = self.ring.is_erased(self.ring.ahead(0));
        // What will be erased at once.
        let leaving = [Some(1), (at_start && !starts_erased).then_some(0)];
        for ahead in leaving.into_iter().flatten() {
            let place = self.ring.ahead(ahead);
            for index in 0..self.owners[place].len() {
                if let Some(page) = self.up_to_date(place, index as u32, medium.layout()) {
                    self.rows[page as usize] = NOWHERE;
                    self.owed.push_back(page);
                }
            }
        }
        let next = self.ring.ahead(2);
        for index in 0..self.ring.next_index() {
            self.move_on(next, index, medium, sink);
        }
        self.ring.resume(sink);
        self.write_owed(medium, sink);
    }

    /// The map page that a row of the ring holds, if it is up to date. What was written there stays known until the row is erased: a
    /// cut may keep the next row of the page from being.
    fn up_to_date(&self, place: usize, index: u32, layout: &Layout) -> Option<u32> {
        let page = self.owners[place][index as usize];
        let (block, at) = self.ring.row(place, index);
        (page != NOWHERE && self.rows[page as usize] == row_number(block, at, layout)).then_some(page)
    }

    /// A block has gone bad: if it belongs to the ring, another takes its place and its rows.
    pub fn replace(&mut self, from: BlockId, to: BlockId, layout: &Layout) {
        if self.ring.replace(from, to) {
            for row in self.rows.iter_mut().filter(|row| **row != NOWHERE) {
                let (block, page) = place_of(*row, layout);
                if block == from {
                    *row = row_number(to, page, layout);
                }
            }
        }
    }

    /// A block has been erased; returns whether it was one of the ring.
    pub fn erased(&mut self, block: BlockId, medium: &mut Medium, sink: &mut impl OpSink) -> bool {
        let ours = self.ring.erased(block);
        if ours {
            self.write_owed(medium, sink);
        }
        ours
    }

    /// Checks that every map page lies where the ring says that it does.
    ///
    /// # Errors
    /// The first page that does not.
    pub fn check(&self, medium: &Medium) -> Result<(), String> {
        let layout = medium.layout();
        for (page, &row) in self.rows.iter().enumerate().filter(|(_, row)| **row != NOWHERE) {
            let (block, at) = place_of(row, layout);
            if at >= medium.issued_pages(block) {
                return Err(format!("map page {page} should lie in row {row}, which has been erased"));
            }
            let start = layout.row_start(block, at);
            let number = if layout.row_units > 1 { medium.tag(start + 1) } else { page as u32 };
            if medium.tag(start) != TAG_MAP || number != page as u32 {
                return Err(format!("map page {page} should lie in row {row}, which holds something else"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieId, DieSpec, Geometry, Outcome, PageOrder, TagFormat};

    use super::*;

    fn work(area: &mut Area, medium: &mut Medium, ops: &mut Vec<(DieId, FlashOp)>) {
        while !ops.is_empty() {
            let (_, op) = ops.remove(0);
            if op.kind() == OpKind::Erase {
                assert_eq!(medium.erase(op.block()), Ok(Outcome::Done));
                area.erased(op.block(), medium, ops);
            } else if op.kind().is_program() {
                medium.begin_program(op.block(), op.page()).expect("it is the next of its block");
                assert_eq!(medium.finish_program(op.block(), op.page()), Ok(Outcome::Done));
            }
        }
    }

    /// A map of three pages, of which the last has been written two hundred times.
    fn written() -> (Area, Medium, Vec<(DieId, FlashOp)>) {
        written_on(8192)
    }

    /// The same on dies with pages of so many bytes.
    fn written_on(page_bytes: u32) -> (Area, Medium, Vec<(DieId, FlashOp)>) {
        let die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 8,
            pages_per_block: 4,
            page_bytes,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        });
        let layout = Layout::new(&die, 2, 8);
        let mut medium = Medium::new(&die, layout.clone(), TagFormat::new(100), &Rng::new(1));
        let places =
            (0..Area::places(3, &layout)).map(|block| vec![BlockId::new(block), BlockId::new(8 + block)]).collect();
        let (mut area, mut ops) = (Area::new(places, 3, &layout), Vec::new());
        (0..2).for_each(|page| area.write(page, &mut medium, &mut ops));
        for _ in 0..200 {
            area.write(2, &mut medium, &mut ops);
            work(&mut area, &mut medium, &mut ops);
            assert_eq!(area.check(&medium), Ok(()));
        }
        (area, medium, ops)
    }

    #[test]
    fn a_map_page_that_never_changes_is_moved_on_before_its_row_is_erased() {
        let (mut area, medium, mut ops) = written();
        let layout = medium.layout();
        assert!(area.rows_moved() > 10);
        for page in 0..3 {
            let row = area.rows[page as usize];
            assert!(row % layout.pages < medium.finished_pages(BlockId::new(row / layout.pages)));
            assert!(area.read(page, 512, (NOBODY, LogicalPage::FIRST), &medium, &mut ops), "it is on flash");
        }
    }

    #[test]
    fn after_a_power_cut_the_newest_copy_of_each_map_page_counts() {
        let (mut area, mut medium, mut ops) = written();
        area.write(1, &mut medium, &mut ops);
        area.write(2, &mut medium, &mut ops);
        work(&mut area, &mut medium, &mut ops);
        let rows = area.rows.clone();
        medium.cut_power(&[]);
        area.recover(&medium, None);
        assert_eq!(area.rows, rows);
        assert_eq!(area.check(&medium), Ok(()));
    }

    #[test]
    fn a_map_page_that_was_being_moved_is_found_where_it_was() {
        for page_bytes in [4096, 8192] {
            let (mut area, mut medium, mut ops) = written_on(page_bytes);
            let mut cuts = 0;
            for _ in 0..400 {
                let moved = area.rows_moved();
                area.write(2, &mut medium, &mut ops);
                if area.rows_moved() > moved {
                    // Neither row is on flash yet.
                    ops.clear();
                    medium.cut_power(&[]);
                    for (block, page) in area.recover(&medium, None) {
                        let filled = medium.program_at_start(block, page, |tags| tags.fill(EMPTY_TAG));
                        filled.expect("it is the next of its block");
                    }
                    assert_eq!((area.pages_written(), area.check(&medium)), (3, Ok(())), "after {cuts} cuts");
                    area.resume(&mut medium, &mut ops);
                    cuts += 1;
                }
                work(&mut area, &mut medium, &mut ops);
            }
            assert!(cuts > 10, "{cuts} cuts of {page_bytes} bytes");
        }
    }

    #[test]
    fn what_is_void_does_not_come_back_after_a_power_cut() {
        let (mut area, mut medium, mut ops) = written();
        area.void_all();
        let point = medium.next_sequence();
        area.write(1, &mut medium, &mut ops);
        work(&mut area, &mut medium, &mut ops);
        medium.cut_power(&[]);
        area.recover(&medium, Some(point));
        assert_eq!(area.rows.iter().map(|&row| row == NOWHERE).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(area.check(&medium), Ok(()));
    }
}
