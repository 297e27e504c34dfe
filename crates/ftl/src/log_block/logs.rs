//! Open log superblocks, and what each can take.

use ssdlab_nand::LogicalPage;

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
    opened: u64,
    last_use: u64,
    /// It was opened, or begun on a lane, for this page, and has taken none since.
    pub awaits: Option<LogicalPage>,
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
    /// Most logs that are open at once. Shared logs, which serve their own column only, have none but the column's.
    limit: usize,
    /// Most logs of a column.
    column_limit: usize,
    /// In no order.
    open: Vec<Log>,
    /// By column.
    in_column: Vec<u32>,
    /// By logical superblock: which of the open logs belongs to it.
    of_superblock: Vec<u32>,
    uses: u64,
}

/// In [`Logs::of_superblock`]: none.
const NO_LOG: u32 = u32::MAX;

impl Logs {
    /// Logs of a column for which it must have blocks to spare, if so many can be open at once: all that it may have if they are
    /// shared, and otherwise as many as if they were spread evenly.
    #[must_use]
    pub fn of_each_column(scheme: LogScheme, limit: u32, columns: u32) -> u32 {
        if scheme == LogScheme::Fast { (limit / columns).max(1) } else { limit.div_ceil(columns) }
    }

    /// `column_limit`: blocks that a column can spare, at least [`Logs::of_each_column`].
    #[must_use]
    pub fn new(scheme: LogScheme, limit: u32, column_limit: u32, geometry: &Geometry) -> Self {
        let shared = scheme == LogScheme::Fast;
        let each = if shared { Self::of_each_column(scheme, limit, geometry.columns) } else { column_limit };
        Logs {
            scheme,
            rows: geometry.rows,
            limit: if shared { usize::MAX } else { limit as usize },
            column_limit: each as usize,
            open: Vec::new(),
            in_column: vec![0; geometry.columns as usize],
            of_superblock: vec![NO_LOG; geometry.superblocks() as usize],
            uses: 0,
        }
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
        let found = if self.is_shared() { self.newest_of(column) } else { self.owned_by(spot.superblock) };
        let Some(k) = found else { return Room::Missing };
        let next = self.open[k].next[spot.lane as usize];
        match self.scheme {
            LogScheme::Replacement if next == 0 && spot.row > 0 && self.open[k].in_order => Room::AfterCopying(k),
            _ if next < self.rows => Room::Now(k),
            LogScheme::Replacement | LogScheme::Bast => Room::Exhausted(k),
            LogScheme::Fast => Room::Missing,
        }
    }

    /// The log that belongs to a superblock.
    #[must_use]
    pub fn owned_by(&self, superblock: u32) -> Option<usize> {
        Some(self.of_superblock[superblock as usize]).filter(|&k| k != NO_LOG).map(|k| k as usize)
    }

    /// The log of a column that was opened last.
    fn newest_of(&self, column: u32) -> Option<usize> {
        self.of_column(column).max_by_key(|&k| self.open[k].opened)
    }

    fn of_column(&self, column: u32) -> impl Iterator<Item = usize> {
        (0..self.open.len()).filter(move |&k| self.open[k].column == column)
    }

    /// Whether so many more logs can be opened, so many of them of `column`.
    #[must_use]
    pub fn has_slots(&self, all: usize, column: u32, of_column: usize) -> bool {
        self.open.len() + all <= self.limit && self.is_column_below_limit(column, of_column)
    }

    fn is_column_below_limit(&self, column: u32, more: usize) -> bool {
        self.in_column[column as usize] as usize + more <= self.column_limit
    }

    /// The log to be closed first for a superblock of `column`, of those that are not kept: the one that was used longest
    /// ago, of that column if this has too many; of shared ones, the one that was opened first.
    #[must_use]
    pub fn to_close(&self, column: u32, of_column: usize, is_kept: impl Fn(&Log) -> bool) -> Option<usize> {
        let full = !self.is_column_below_limit(column, of_column);
        let old = (0..self.open.len()).filter(|&k| {
            let log = &self.open[k];
            (!full || log.column == column) && !is_kept(log)
        });
        if self.is_shared() {
            old.min_by_key(|&k| self.open[k].opened)
        } else {
            old.min_by_key(|&k| self.open[k].last_use)
        }
    }

    /// Opens a log for a page of the superblock `owner`.
    pub fn open(&mut self, place: Place, owner: u32, column: u32, lanes: u32, page: LogicalPage) {
        let owner = (!self.is_shared()).then_some(owner);
        self.uses += 1;
        if let Some(owner) = owner {
            self.of_superblock[owner as usize] = self.open.len() as u32;
        }
        self.in_column[column as usize] += 1;
        let (next, opened) = (vec![0; lanes as usize], self.uses);
        let awaits = Some(page);
        self.open.push(Log { place, owner, column, next, in_order: true, opened, last_use: opened, awaits });
    }

    /// Takes the next page of a lane, for the page that belongs in `row`. Returns where it is.
    pub fn take(&mut self, k: usize, lane: u32, row: u32) -> (Place, u32) {
        self.uses += 1;
        let log = &mut self.open[k];
        log.last_use = self.uses;
        log.awaits = None;
        let next = &mut log.next[lane as usize];
        log.in_order &= *next == row;
        *next += 1;
        (log.place, *next - 1)
    }

    /// The rows before `row` of a lane have been copied, for the page that belongs there.
    pub fn copied(&mut self, k: usize, lane: u32, row: u32, page: LogicalPage) {
        let log = &mut self.open[k];
        log.next[lane as usize] = row;
        log.awaits = Some(page);
    }

    /// A log that is merged from now on.
    pub fn close(&mut self, k: usize) -> Log {
        let log = self.open.swap_remove(k);
        self.in_column[log.column as usize] -= 1;
        if let Some(owner) = log.owner {
            self.of_superblock[owner as usize] = NO_LOG;
        }
        // The last one has taken its place.
        if let Some(owner) = self.open.get(k).and_then(|moved| moved.owner) {
            self.of_superblock[owner as usize] = k as u32;
        }
        log
    }

    pub fn forget_all(&mut self) {
        self.open.clear();
        self.in_column.fill(0);
        self.of_superblock.fill(NO_LOG);
    }
}

impl Log {
    /// Whether what it holds is the beginning of its superblock, page by page where it belongs: the rest can be added.
    #[must_use]
    pub fn is_in_order(&self) -> bool {
        self.in_order && self.owner.is_some()
    }
}
