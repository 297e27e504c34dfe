//! Open log superblocks, and what each can take.

use std::collections::VecDeque;

use super::geometry::{Geometry, Spot};
use super::spec::LogScheme;
use super::superblocks::Place;

/// An open log superblock.
#[derive(Clone, Debug)]
pub struct Log {
    pub place: Place,
    /// The logical superblock that it belongs to; `None` if it is shared.
    pub owner: Option<u32>,
    pub column: u32,
    /// The next page to be programmed, by lane.
    pub next: Vec<u32>,
    /// By lane: whether each page so far lies in the row in which it belongs.
    in_order: bool,
    last_use: u64,
    /// It was opened, or begun on a lane, for a page that has not come yet: closing it now would be in vain.
    awaits_page: bool,
}

/// Whether a page of the host can go into a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Into this log, as the next page of its lane.
    Now(usize),
    /// Into this log, once the rows before have been copied.
    AfterCopying(usize),
    /// Its superblock's log cannot take it any more.
    Exhausted(usize),
    /// No log is open for it.
    Missing,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Logs {
    scheme: LogScheme,
    rows: u32,
    limit: usize,
    /// In the order of opening.
    open: VecDeque<Log>,
    uses: u64,
}

impl Logs {
    #[must_use]
    pub fn new(scheme: LogScheme, limit: u32, geometry: &Geometry) -> Self {
        // A shared log serves its own column only.
        let limit = if scheme == LogScheme::Fast { (limit / geometry.columns).max(1) } else { limit };
        Logs { scheme, rows: geometry.rows, limit: limit as usize, open: VecDeque::new(), uses: 0 }
    }

    /// Log superblocks that a column can have at once.
    #[must_use]
    pub fn most_in_a_column(&self) -> u32 {
        self.limit as u32
    }

    /// Whether logs take the pages of all superblocks of their column.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.scheme == LogScheme::Fast
    }

    pub fn iter(&self) -> impl Iterator<Item = &Log> {
        self.open.iter()
    }

    #[must_use]
    pub fn get(&self, k: usize) -> &Log {
        &self.open[k]
    }

    /// Whether a page of the host can go into a log, in a superblock of `column`.
    #[must_use]
    pub fn room(&self, spot: Spot, column: u32) -> Room {
        let mine = |log: &Log| match self.scheme {
            LogScheme::Fast => log.column == column,
            LogScheme::Replacement | LogScheme::Bast => log.owner == Some(spot.superblock),
        };
        let Some(k) = self.open.iter().rposition(mine) else { return Room::Missing };
        let next = self.open[k].next[spot.lane as usize];
        match self.scheme {
            LogScheme::Replacement if next == 0 && spot.row > 0 && self.open[k].in_order => Room::AfterCopying(k),
            _ if next < self.rows => Room::Now(k),
            LogScheme::Replacement | LogScheme::Bast => Room::Exhausted(k),
            LogScheme::Fast => Room::Missing,
        }
    }

    /// How many more logs can be open that a superblock of `column` could use.
    #[must_use]
    pub fn free_slots(&self, column: u32) -> usize {
        self.limit - self.competing(column).count()
    }

    /// The log to be closed first for a superblock of `column`, of those that await no page: the one that was used longest
    /// ago; of shared ones, the one that was opened first.
    #[must_use]
    pub fn to_close(&self, column: u32) -> Option<usize> {
        let old = self.competing(column).filter(|&k| !self.open[k].awaits_page);
        match self.scheme {
            LogScheme::Fast => old.min(),
            LogScheme::Replacement | LogScheme::Bast => old.min_by_key(|&k| self.open[k].last_use),
        }
    }

    /// Logs that share slots with those of `column`.
    fn competing(&self, column: u32) -> impl Iterator<Item = usize> {
        let shared = self.scheme == LogScheme::Fast;
        (0..self.open.len()).filter(move |&k| !shared || self.open[k].column == column)
    }

    pub fn open(&mut self, place: Place, owner: u32, column: u32, lanes: u32) {
        let owner = (self.scheme != LogScheme::Fast).then_some(owner);
        self.uses += 1;
        let next = vec![0; lanes as usize];
        self.open.push_back(Log { place, owner, column, next, in_order: true, last_use: self.uses, awaits_page: true });
    }

    /// Takes the next page of a lane, for the page that belongs in `row`. Returns where it is.
    pub fn take(&mut self, k: usize, lane: u32, row: u32) -> (Place, u32) {
        self.uses += 1;
        let log = &mut self.open[k];
        log.last_use = self.uses;
        log.awaits_page = false;
        let next = &mut log.next[lane as usize];
        log.in_order &= *next == row;
        *next += 1;
        (log.place, *next - 1)
    }

    /// The rows before `row` of a lane have been copied.
    pub fn copied(&mut self, k: usize, lane: u32, row: u32) {
        let log = &mut self.open[k];
        log.next[lane as usize] = row;
        log.awaits_page = true;
    }

    /// A log that is merged from now on.
    pub fn close(&mut self, k: usize) -> Log {
        self.open.remove(k).expect("it is open")
    }

    pub fn forget_all(&mut self) {
        self.open.clear();
    }
}

impl Log {
    /// Whether what it holds is the beginning of its superblock, page by page where it belongs: the rest can be added.
    #[must_use]
    pub fn is_in_order(&self) -> bool {
        self.in_order && self.owner.is_some()
    }
}
