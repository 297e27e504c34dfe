//! What the journal says of TRIM: writes and moves can be told from the spare areas of data rows, trims cannot.
//!
//! A trim is an entry of the journal like any other. It is on flash once the program of its journal row has ended; until
//! then a power cut forgets it, and the drive may return what was there before. FLUSH does not change that. What was
//! overwritten before does not come back: of every row that was programmed the journal knows.
//!
//! Not modelled: the bytes of a journal row. What its rows, the checkpoints and the map pages that follow them say of trims
//! is kept as one table of address ranges, each with the sequence number from which on rows are newer than the trim.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, LogicalPage, SequenceNumber};

use super::held::Held;

/// Logical pages that were trimmed before any row of this number or a later one was queued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trim {
    pub pages: Range<LogicalPage>,
    pub before_row: SequenceNumber,
    /// Pages that held something on flash, with the number of the row that held it.
    pub held: Held,
}

/// The trims of one journal row.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    block: BlockId,
    page: u32,
    trims: Vec<Trim>,
}

/// See the module's own page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Trims {
    /// In no journal row yet.
    pending: Vec<Trim>,
    /// In rows decided on that wait for a place, by their number.
    due: VecDeque<(u64, Vec<Trim>)>,
    /// In rows given to dies.
    under_way: Vec<Row>,
    on_flash: TrimTable,
}

impl Trims {
    pub fn note(&mut self, trim: Trim) {
        self.pending.push(trim);
    }

    /// A journal row has been decided on.
    #[inline]
    pub fn row_due(&mut self, number: u64) {
        self.on_flash.is_due = !self.on_flash.ranges.is_empty();
        if !self.pending.is_empty() {
            self.due.push_back((number, std::mem::take(&mut self.pending)));
        }
    }

    /// A journal row is given to a die.
    #[inline]
    pub fn row_begun(&mut self, number: u64, block: BlockId, page: u32) {
        if self.due.front().is_some_and(|due| due.0 == number)
            && let Some((_, trims)) = self.due.pop_front()
        {
            self.under_way.push(Row { block, page, trims });
        }
    }

    /// A program of the system area has ended.
    #[inline]
    pub fn row_ended(&mut self, block: BlockId, page: u32) {
        if let Some(at) = self.under_way.iter().position(|row| (row.block, row.page) == (block, page)) {
            let row = self.under_way.swap_remove(at);
            self.on_flash.add_row(row.trims);
        }
    }

    /// A block has gone bad, and another takes its place.
    pub fn replace(&mut self, from: BlockId, to: BlockId) {
        self.under_way.iter_mut().filter(|row| row.block == from).for_each(|row| row.block = to);
    }

    /// Whether any trim is in no journal row yet.
    #[must_use]
    pub fn any_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether a journal row with trims is not on flash yet.
    #[must_use]
    pub fn any_on_its_way(&self) -> bool {
        !self.due.is_empty() || !self.under_way.is_empty()
    }

    /// What a power cut would forget now.
    pub fn unsaved(&self) -> impl Iterator<Item = &Trim> {
        let due = self.due.iter().flat_map(|due| &due.1);
        let under_way = self.under_way.iter().flat_map(|row| &row.trims);
        self.pending.iter().chain(due).chain(under_way)
    }

    /// The power went: what is not on flash is gone.
    pub fn forget_unsaved(&mut self) {
        *self = Trims { on_flash: std::mem::take(&mut self.on_flash), ..Trims::default() };
    }

    #[must_use]
    pub fn on_flash(&self) -> &TrimTable {
        &self.on_flash
    }

    pub fn on_flash_mut(&mut self) -> &mut TrimTable {
        &mut self.on_flash
    }
}

/// By first page of a range: its end, and the number of [`Trim::before_row`]. Ranges do not overlap.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrimTable {
    ranges: BTreeMap<LogicalPage, (LogicalPage, SequenceNumber)>,
    last_row: Vec<Trim>,
    /// Whether a look at ranges is due, and where it goes on.
    #[serde(skip)]
    is_due: bool,
    #[serde(skip)]
    look_from: Option<LogicalPage>,
}

impl TrimTable {
    /// A journal row has come to be on flash. Of one range the later trim counts; rows end in any order.
    fn add_row(&mut self, trims: Vec<Trim>) {
        for trim in &trims {
            self.add(trim);
        }
        self.last_row = trims;
        self.last_row.iter_mut().for_each(|trim| trim.held = Held::default());
    }

    fn add(&mut self, trim: &Trim) {
        let Range { mut start, end } = trim.pages.clone();
        // What lies in the way gives room, unless it is newer.
        let before = self.ranges.range(..start).next_back().filter(|before| before.1.0 > start);
        let first = before.map_or(start, |(&first, _)| first);
        let old: Vec<(LogicalPage, (LogicalPage, SequenceNumber))> =
            self.ranges.range(first..end).map(|(&from, &range)| (from, range)).collect();
        for (from, (to, row)) in old {
            if trim.before_row < row {
                self.insert(start..from, trim.before_row);
                start = to;
                continue;
            }
            self.ranges.remove(&from);
            self.insert(from..start, row);
            self.insert(end..to, row);
        }
        self.insert(start..end, trim.before_row);
    }

    fn insert(&mut self, pages: Range<LogicalPage>, row: SequenceNumber) {
        if pages.start < pages.end {
            self.ranges.insert(pages.start, (pages.end, row));
        }
    }

    /// Rows from this number on are newer than the last trim of a page; `None` if it was never trimmed.
    #[must_use]
    pub fn of(&self, page: LogicalPage) -> Option<SequenceNumber> {
        let (_, &(end, row)) = self.ranges.range(..=page).next_back()?;
        (page < end).then_some(row)
    }

    #[inline]
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Looks at the next ranges, `most` of them, and forgets pages at either end of one for which `is_settled` says that no row older
    /// than the trim can come to count again. Settled pages between others stay: to forget them would take room.
    pub fn let_go(&mut self, most: u32, is_settled: impl Fn(LogicalPage, SequenceNumber) -> bool) {
        self.is_due = false;
        let from = self.look_from.take().unwrap_or(LogicalPage::FIRST);
        let mut shorter = Vec::new();
        let mut looks = self.ranges.range(from..);
        for (&first, &(end, row)) in looks.by_ref().take(most as usize) {
            let mut pages = first..end;
            while pages.start < pages.end && is_settled(pages.start, row) {
                pages.start += 1;
            }
            while pages.start < pages.end && is_settled(before(pages.end), row) {
                pages.end = before(pages.end);
            }
            if pages != (first..end) {
                shorter.push((first, pages, row));
            }
        }
        self.look_from = looks.next().map(|(&first, _)| first);
        for (first, pages, row) in shorter {
            self.ranges.remove(&first);
            self.insert(pages, row);
        }
    }

    /// A recovery has concluded that a page was trimmed before rows of this number, and notes that.
    pub fn conclude(&mut self, page: LogicalPage, before_row: SequenceNumber) {
        self.add(&Trim { pages: page.run(1), before_row, held: Held::default() });
    }

    /// Whether the ranges are of a drive with so many pages, one behind the other. `next`: the number of the row that is
    /// queued next.
    #[must_use]
    pub fn is_sound(&self, logical_pages: u32, next: SequenceNumber) -> bool {
        let mut before = LogicalPage::FIRST;
        self.ranges().all(|(pages, row)| {
            let behind = std::mem::replace(&mut before, pages.end) <= pages.start;
            behind && pages.start < pages.end && pages.end.number() <= logical_pages && row <= next
        })
    }

    /// Every range, with [`Trim::before_row`].
    pub fn ranges(&self) -> impl Iterator<Item = (Range<LogicalPage>, SequenceNumber)> + '_ {
        self.ranges.iter().map(|(&start, &(end, row))| (start..end, row))
    }

    /// The trims of the journal row that came last.
    #[must_use]
    pub fn last_row(&self) -> &[Trim] {
        &self.last_row
    }
}

/// The page before one that is not the first.
fn before(page: LogicalPage) -> LogicalPage {
    LogicalPage::new(page.number() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_nand::LogicalPages;

    fn trim(pages: Range<u32>, before_row: u64) -> Trim {
        let pages = LogicalPage::new(pages.start)..LogicalPage::new(pages.end);
        Trim { pages, before_row: SequenceNumber::new(before_row), held: Held::default() }
    }

    #[test]
    fn a_trim_counts_once_its_row_has_ended_and_not_before() {
        let mut trims = Trims::default();
        trims.note(trim(3..7, 20));
        trims.row_due(1);
        trims.note(trim(9..10, 21));
        trims.row_begun(0, BlockId::new(5), 0);
        trims.row_begun(1, BlockId::new(5), 1);
        assert_eq!((trims.unsaved().count(), trims.on_flash().of(LogicalPage::new(4))), (2, None));
        trims.replace(BlockId::new(5), BlockId::new(6));
        trims.row_ended(BlockId::new(5), 1);
        trims.row_ended(BlockId::new(6), 1);
        assert_eq!(
            (
                trims.unsaved().count(),
                trims.on_flash().of(LogicalPage::new(4)),
                trims.on_flash().of(LogicalPage::new(9))
            ),
            (1, Some(SequenceNumber::new(20)), None)
        );
        trims.forget_unsaved();
        assert_eq!(
            (trims.unsaved().count(), trims.on_flash().of(LogicalPage::new(6))),
            (0, Some(SequenceNumber::new(20)))
        );
    }

    #[test]
    fn of_several_trims_of_a_page_the_latest_counts_in_whatever_order_their_rows_end() {
        let mut rng = ssdlab_core::Rng::new(3);
        for _ in 0..200 {
            let (mut table, mut plain) = (TrimTable::default(), [None::<SequenceNumber>; 64]);
            for _ in 0..30 {
                let (start, row) = (rng.below(60) as u32, rng.below(1000) << 23);
                let pages = start..start + 1 + rng.below(u64::from(64 - start)) as u32;
                plain[pages.start as usize..pages.end as usize]
                    .iter_mut()
                    .for_each(|p| *p = (*p).max(Some(SequenceNumber::new(row))));
                table.add_row(vec![trim(pages, row)]);
            }
            let found: Vec<_> = LogicalPage::all(64).each().map(|page| table.of(page)).collect();
            assert_eq!(found, plain);
            let mut end = LogicalPage::FIRST;
            assert!(table.ranges().all(|(range, _)| std::mem::replace(&mut end, range.end) <= range.start));
        }
    }

    #[test]
    fn pages_at_the_ends_of_ranges_are_let_go_of_some_ranges_at_each_look() {
        let mut table = TrimTable::default();
        table.add_row((0..10).map(|k| trim(10 * k..10 * k + 5, 20 + u64::from(k))).collect());
        let found = |table: &TrimTable| -> Vec<(u32, u32, u64)> {
            table.ranges().map(|(pages, row)| (pages.start.number(), pages.end.number(), row.number())).collect()
        };
        // Of the first two ranges all but one page, of the third one in the middle, and the next as a whole.
        let settled = |page: LogicalPage, _| matches!(page.number(), 0..=3 | 10..=12 | 14 | 22 | 30..=34);
        table.let_go(3, settled);
        let shorter = [(4, 5, 20), (13, 14, 21), (20, 25, 22)];
        assert_eq!((found(&table)[..3].to_vec(), found(&table).len()), (shorter.to_vec(), 10));
        table.let_go(3, settled);
        assert_eq!((found(&table)[3], found(&table).len()), ((40, 45, 24), 9));
        // What is there by then is as new as the row says, and the last look goes on from the beginning.
        let newer = |_: LogicalPage, row: SequenceNumber| row.number() < 22;
        (0..2).for_each(|_| table.let_go(4, newer));
        assert_eq!((found(&table)[0], found(&table).len()), ((20, 25, 22), 7));
    }
}
