//! What firmware does besides taking in what the host writes: copies and erases, one chore of a column at a time.
//!
//! The lanes of a superblock work side by side, and so do columns; the superblocks of a column one after the other.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, DieId, LogicalPage, Medium, Outcome, UnitAddress};

use super::contents::Contents;
use super::geometry::{Geometry, Spot};
use super::superblocks::{Place, Superblocks, Use};
use crate::op::{FlashOp, OpKind, OpSink};
use crate::translation::is_plausible;

/// See the module's own page.
#[derive(Clone, Debug)]
pub enum Chore {
    /// Brings rows of a logical superblock to where they belong in a physical one: for each lane, from a row up to
    /// another.
    Copy {
        superblock: u32,
        into: Place,
        lanes: Vec<(u32, u32)>,
    },
    /// Copies all of a logical superblock, wherever its pages are, into a free physical one, which takes its place.
    Move {
        superblock: u32,
        why: Why,
    },
    /// From now on the logical superblock is that physical one; the one before is erased.
    Install {
        superblock: u32,
        place: Place,
        why: Why,
    },
    Erase {
        place: Place,
    },
}

/// Why a superblock is brought into one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Switch,
    PartialMerge,
    FullMerge,
    Relocation,
}

/// Rows that are fetched ahead, where copies follow each other.
const ROWS_AHEAD: u32 = 8;

/// A lane that copies.
#[derive(Clone, Copy, Debug)]
struct Lane {
    row: u32,
    end: u32,
    /// The page that belongs in `row`; one behind the drive's last if there is none.
    page: LogicalPage,
    /// What is copied into.
    block: BlockId,
    die: DieId,
    /// Where the row is copied from that is being read or programmed.
    from: Option<UnitAddress>,
}

/// The chore under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnderWay {
    Nothing,
    /// See [`Chores::lanes`].
    Copy {
        lanes_left: u32,
    },
    Erase {
        place: Place,
        lanes_left: u32,
    },
}

/// Copies and erases done.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ChoreCounters {
    pub rows_read: u64,
    pub rows_copied: u64,
    pub padding_rows: u64,
    pub block_erases: u64,
}

impl ChoreCounters {
    pub fn is_plausible(&self) -> bool {
        [self.rows_read, self.rows_copied, self.padding_rows, self.block_erases].into_iter().all(is_plausible)
    }
}

/// What chores work on.
pub struct Workplace<'a> {
    pub geometry: &'a Geometry,
    /// Units that cross the bus for each page that is copied: 1 if it is corrected on its way.
    pub units_out: u32,
    pub contents: &'a mut Contents,
    pub superblocks: &'a mut Superblocks,
    /// By logical superblock: where it is.
    pub data: &'a mut [Option<Place>],
}

impl Workplace<'_> {
    /// Rows of a lane up to the last that holds a page.
    pub fn rows_in_use(&self, superblock: u32, lane: u32) -> u32 {
        let holds = |row| {
            let page = self.geometry.page(Spot { superblock, lane, row });
            page.is_some_and(|page| self.contents.unit(page).is_some())
        };
        (0..self.geometry.rows).rev().find(|&row| holds(row)).map_or(0, |row| row + 1)
    }
}

/// Chores of all columns.
#[derive(Clone, Debug)]
pub struct Chores {
    columns: Vec<ColumnChores>,
    /// By die: what it copies, or has copied last.
    lanes: Vec<Lane>,
    /// Columns that have any.
    busy: u32,
    counters: ChoreCounters,
}

/// Chores of a column in their order, the one under way first.
#[derive(Clone, Debug)]
struct ColumnChores {
    waiting: VecDeque<Chore>,
    under_way: UnderWay,
}

impl Chores {
    #[must_use]
    pub fn new(columns: u32, dies: u32) -> Self {
        let none = ColumnChores { waiting: VecDeque::new(), under_way: UnderWay::Nothing };
        let lane =
            Lane { row: 0, end: 0, page: LogicalPage::FIRST, block: BlockId::default(), die: DieId::FIRST, from: None };
        Chores {
            columns: vec![none; columns as usize],
            lanes: vec![lane; dies as usize],
            busy: 0,
            counters: ChoreCounters::default(),
        }
    }

    /// All that was planned or under way is forgotten.
    pub fn forget_all(&mut self) {
        for chores in &mut self.columns {
            chores.waiting.clear();
            chores.under_way = UnderWay::Nothing;
        }
        self.busy = 0;
    }

    pub fn push(&mut self, column: u32, chore: Chore) {
        let chores = &mut self.columns[column as usize];
        self.busy += u32::from(chores.is_idle());
        chores.waiting.push_back(chore);
    }

    #[inline]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.busy == 0
    }

    /// Columns that have chores.
    #[inline]
    #[must_use]
    pub fn busy(&self) -> u32 {
        self.busy
    }

    #[inline]
    #[must_use]
    pub fn is_busy(&self, column: u32) -> bool {
        !self.columns[column as usize].is_idle()
    }

    #[must_use]
    pub fn counters(&self) -> ChoreCounters {
        self.counters
    }

    /// A drive that was saved had done so much.
    pub fn set_counters(&mut self, counters: ChoreCounters) {
        self.counters = counters;
    }

    /// Blocks have been erased that no chore has.
    pub fn count_erases(&mut self, blocks: u64) {
        self.counters.block_erases += blocks;
    }

    /// The physical superblocks that belong to no data and to no log meanwhile.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        self.columns.iter().flat_map(ColumnChores::places)
    }

    /// Superblocks that are being copied into, and what takes their place once that is done.
    pub fn installs_under_way(&self) -> impl Iterator<Item = (u32, Place)> {
        self.columns.iter().filter_map(|column| match (column.under_way, column.waiting.front()) {
            (UnderWay::Copy { .. }, Some(&Chore::Install { superblock, place, .. })) => Some((superblock, place)),
            _ => None,
        })
    }

    /// Physical superblocks that are being erased.
    pub fn erases_under_way(&self) -> impl Iterator<Item = Place> {
        self.columns.iter().filter_map(|column| match column.under_way {
            UnderWay::Erase { place, .. } => Some(place),
            _ => None,
        })
    }

    /// Superblocks that are not in one piece yet, and why they are to be.
    pub fn unfinished(&self) -> impl Iterator<Item = (u32, Why)> {
        self.columns.iter().flat_map(|column| &column.waiting).filter_map(|chore| match *chore {
            Chore::Move { superblock, why } | Chore::Install { superblock, why, .. } => Some((superblock, why)),
            Chore::Copy { .. } | Chore::Erase { .. } => None,
        })
    }

    /// The power goes, while dies are at the programs of these rows: reads and programs that have not ended count no more. Returns how
    /// many of those programs are of copies.
    pub fn take_back_queued(&mut self, torn: &[(BlockId, u32)], geometry: &Geometry, medium: &Medium) -> u32 {
        let mut torn_copies = 0;
        let copying = self.columns.iter().enumerate().filter(|(_, c)| matches!(c.under_way, UnderWay::Copy { .. }));
        for (column, _) in copying {
            for lane in self.lanes[geometry.dies(column as u32)].iter().filter(|lane| lane.row < lane.end) {
                let is_queued = medium.issued_pages(lane.block) > lane.row;
                match lane.from {
                    _ if torn.contains(&(lane.block, lane.row)) => torn_copies += 1,
                    Some(_) if is_queued => self.counters.rows_copied -= 1,
                    Some(_) => self.counters.rows_read -= 1,
                    None if is_queued => self.counters.padding_rows -= 1,
                    None => {}
                }
            }
        }
        torn_copies
    }

    /// Begins what waits in columns that have nothing under way.
    pub fn go_on(&mut self, work: &mut Workplace<'_>, sink: &mut impl OpSink) {
        for column in &mut self.columns {
            if !column.is_idle() {
                column.go_on(&mut self.lanes, &mut self.counters, work, sink);
                self.busy -= u32::from(column.is_idle());
            }
        }
    }

    /// See [`crate::Translation::copying_beside`].
    #[inline]
    pub fn copying_beside(&self, die: DieId, geometry: &Geometry) -> Range<u32> {
        if self.busy > 1 {
            return 0..0;
        }
        let dies = geometry.dies(geometry.column_and_lane(die).0);
        dies.start as u32..dies.end as u32
    }

    /// See [`crate::Translation::copies_into`].
    #[inline]
    pub fn copies_into(&self, die: DieId) -> u32 {
        self.lanes[die.index()].row
    }

    /// See [`crate::Translation::copy_whole`].
    #[inline(always)]
    pub fn copy_whole(&mut self, die: DieId, work: &mut Workplace<'_>) -> Option<FlashOp> {
        let lane = &mut self.lanes[die.index()];
        let next = lane.next(work)?;
        work.contents.copy_whole(lane.page, lane.from?, lane.block, lane.row);
        self.counters.rows_copied += 1;
        self.counters.rows_read += 1;
        Some(lane.go_on(next, work))
    }

    /// See [`crate::Translation::copy_next`].
    pub fn copy_next(&mut self, die: DieId, work: &mut Workplace<'_>) -> Option<FlashOp> {
        let lane = &mut self.lanes[die.index()];
        let next = lane.next(work)?;
        lane.programmed(work);
        self.counters.rows_read += 1;
        Some(lane.go_on(next, work))
    }

    /// A read, program or erase of a chore has ended.
    ///
    /// # Panics
    /// If the operation belongs to no chore.
    pub fn done(&mut self, die: DieId, op: &FlashOp, work: &mut Workplace<'_>, sink: &mut impl OpSink) {
        let chores = &mut self.columns[work.geometry.column_and_lane(die).0 as usize];
        if chores.done(&mut self.lanes[die.index()], op, &mut self.counters, work, sink) {
            chores.go_on(&mut self.lanes, &mut self.counters, work, sink);
            self.busy -= u32::from(chores.is_idle());
        }
    }
}

impl ColumnChores {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && matches!(self.under_way, UnderWay::Nothing)
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        let of = |chore: &Chore| match chore {
            Chore::Copy { .. } | Chore::Move { .. } => None,
            Chore::Install { place, .. } | Chore::Erase { place } => Some(*place),
        };
        let erasing = match self.under_way {
            UnderWay::Erase { place, .. } => Some(place),
            _ => None,
        };
        self.waiting.iter().filter_map(of).chain(erasing)
    }

    /// Begins what waits, as far as nothing is under way.
    fn go_on(
        &mut self,
        lanes_of_all: &mut [Lane],
        counters: &mut ChoreCounters,
        work: &mut Workplace<'_>,
        sink: &mut impl OpSink,
    ) {
        while matches!(self.under_way, UnderWay::Nothing) {
            let Some(chore) = self.waiting.pop_front() else { return };
            match chore {
                Chore::Copy { superblock, into, lanes } => {
                    let lanes = lanes_that_copy(superblock, into, &lanes, lanes_of_all, work);
                    self.begin_copy(lanes, counters, work, sink);
                }
                Chore::Move { superblock, why } => {
                    let into = work.superblocks.take(work.geometry.column(superblock));
                    let lanes: Vec<_> =
                        (0..work.geometry.lanes).map(|k| (0, work.rows_in_use(superblock, k))).collect();
                    self.waiting.push_front(Chore::Install { superblock, place: into, why });
                    let lanes = lanes_that_copy(superblock, into, &lanes, lanes_of_all, work);
                    self.begin_copy(lanes, counters, work, sink);
                }
                Chore::Install { superblock, place, .. } => {
                    let was_log = work.superblocks.use_of(place) == Use::Log;
                    work.superblocks.set_use(place, Use::Data);
                    if let Some(old) = work.data[superblock as usize].replace(place) {
                        // What the host has written to a log may still be under way on some dies; the old data are needed
                        // until then, and each die erases them after that. What was copied is on flash.
                        work.superblocks.set_use(old, if was_log { Use::Log } else { Use::None });
                        self.waiting.push_front(Chore::Erase { place: old });
                    }
                }
                Chore::Erase { place } => {
                    let lanes_left = work.geometry.lanes;
                    self.under_way = UnderWay::Erase { place, lanes_left };
                    let column = work.superblocks.column(place);
                    for lane in 0..lanes_left {
                        let block = work.superblocks.block(place, lane);
                        sink.enqueue(work.geometry.die(column, lane), FlashOp::erase(block));
                    }
                }
            }
        }
    }

    fn begin_copy(
        &mut self,
        lanes: &mut [Lane],
        counters: &mut ChoreCounters,
        work: &mut Workplace<'_>,
        sink: &mut impl OpSink,
    ) {
        let lanes_left = lanes.iter().filter(|lane| lane.row < lane.end).count() as u32;
        if lanes_left > 0 {
            self.under_way = UnderWay::Copy { lanes_left };
        }
        lanes.iter_mut().filter(|lane| lane.row < lane.end).for_each(|lane| lane.begin(counters, work, sink));
    }

    /// Returns whether the chore under way has ended.
    #[inline]
    fn done(
        &mut self,
        lane: &mut Lane,
        op: &FlashOp,
        counters: &mut ChoreCounters,
        work: &mut Workplace<'_>,
        sink: &mut impl OpSink,
    ) -> bool {
        let lanes_left = match (op.kind(), &mut self.under_way) {
            (OpKind::CopyRead, UnderWay::Copy { .. }) => {
                lane.program(counters, work, sink);
                return false;
            }
            (OpKind::CopyProgram, UnderWay::Copy { lanes_left }) => {
                lane.programmed(work);
                lane.row += 1;
                lane.page += work.geometry.pages_of_a_row();
                if lane.row < lane.end {
                    lane.begin(counters, work, sink);
                    return false;
                }
                lanes_left
            }
            (OpKind::Erase, UnderWay::Erase { place, lanes_left }) => {
                assert_eq!(work.contents.erase(op.block()), Outcome::Done, "faults are injected into page maps only");
                counters.block_erases += 1;
                if *lanes_left == 1 {
                    work.superblocks.set_use(*place, Use::None);
                    work.superblocks.give_back(*place);
                }
                lanes_left
            }
            (kind, under_way) => panic!("{kind:?} ended while {under_way:?}"),
        };
        *lanes_left -= 1;
        let ended = *lanes_left == 0;
        if ended {
            self.under_way = UnderWay::Nothing;
        }
        ended
    }
}

/// The lanes of a physical superblock, each with the rows of a logical one that it is to copy there.
fn lanes_that_copy<'a>(
    superblock: u32,
    into: Place,
    ranges: &[(u32, u32)],
    lanes: &'a mut [Lane],
    work: &Workplace<'_>,
) -> &'a mut [Lane] {
    let column = work.superblocks.column(into);
    let lanes = &mut lanes[work.geometry.dies(column)];
    for ((k, &(row, end)), lane) in (0..).zip(ranges).zip(&mut *lanes) {
        let page = work.geometry.page_number(Spot { superblock, lane: k, row });
        let (block, die) = (work.superblocks.block(into, k), work.geometry.die(column, k));
        *lane = Lane { row, end, page, block, die, from: None };
    }
    lanes
}

impl Lane {
    /// Asks for its row.
    #[inline]
    fn begin(&mut self, counters: &mut ChoreCounters, work: &mut Workplace<'_>, sink: &mut impl OpSink) {
        self.from = if work.geometry.has(self.page) { work.contents.unit(self.page) } else { None };
        match self.from {
            Some(unit) => {
                let (block, row) = work.contents.medium().layout().row_of(unit);
                counters.rows_read += 1;
                sink.enqueue(self.die, FlashOp::read(OpKind::CopyRead, block, row, 1, work.units_out));
            }
            None => self.program(counters, work, sink),
        }
    }

    #[inline]
    fn program(&self, counters: &mut ChoreCounters, work: &mut Workplace<'_>, sink: &mut impl OpSink) {
        work.contents.copy(self.from, self.block, self.row);
        match self.from {
            Some(_) => counters.rows_copied += 1,
            None => counters.padding_rows += 1,
        }
        sink.enqueue(self.die, FlashOp::program(OpKind::CopyProgram, self.block, self.row, 1, 0));
    }

    /// Where the page of the next row is to be copied from, if there is one.
    #[inline(always)]
    fn next(&self, work: &Workplace<'_>) -> Option<UnitAddress> {
        let page = self.page + work.geometry.pages_of_a_row();
        if self.row + 1 >= self.end || !work.geometry.has(page) { None } else { work.contents.unit(page) }
    }

    /// Its row has been programmed: the next one is to be read.
    #[inline(always)]
    fn go_on(&mut self, next: UnitAddress, work: &Workplace<'_>) -> FlashOp {
        self.row += 1;
        self.page += work.geometry.pages_of_a_row();
        self.from = Some(next);
        work.contents.prefetch(self.page + ROWS_AHEAD * work.geometry.pages_of_a_row());
        // Most rows follow one another where they come from.
        work.contents.medium().prefetch_copied(next + ROWS_AHEAD);
        let (block, row) = work.contents.medium().layout().row_of(next);
        FlashOp::read(OpKind::CopyRead, block, row, 1, work.units_out)
    }

    /// Its row has been programmed.
    #[inline]
    fn programmed(&mut self, work: &mut Workplace<'_>) {
        let outcome = work.contents.finish_program(self.block, self.row);
        assert_eq!(outcome, Outcome::Done, "faults are injected into page maps only");
        if let Some(from) = self.from {
            work.contents.copied(self.page, from, self.block, self.row);
        }
    }
}
