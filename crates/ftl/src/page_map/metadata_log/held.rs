//! What a trim took from flash: pages, each with the number of the row that held it.
//!
//! A trim may take a whole drive, and wait for its journal row through thousands of others. So pages that follow each other in one row
//! are noted as one run, and a run as its length, the pages left out before it, and by how much the number of its row differs from
//! that of the run before: mostly one byte each.

use std::fmt;
use std::ops::Range;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ssdlab_nand::{LogicalPage, LogicalPages, SequenceNumber};

/// See the module's own page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held(Box<[u8]>);

impl Held {
    /// Every page with the number of its row, in order.
    pub fn each(&self) -> impl Iterator<Item = (LogicalPage, SequenceNumber)> + '_ {
        self.runs().flat_map(|Run { pages, row }| pages.each().map(move |page| (page, row)))
    }

    fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let (mut bytes, mut before) = (&*self.0, Run::default());
        std::iter::from_fn(move || {
            before = before.next_of(&mut bytes)?;
            Some(before.clone())
        })
    }
}

/// What several trims took. Unlike that of one it is kept in a file.
#[derive(Clone, Debug, Default)]
pub struct HeldByTrims(Vec<Held>);

impl HeldByTrims {
    /// What these took out of rows of numbers that `counts`.
    #[must_use]
    pub fn of<'a>(trims: impl Iterator<Item = &'a Held>, counts: impl Fn(SequenceNumber) -> bool) -> Self {
        let those_that_count = |held: &Held| {
            let mut writer = HeldWriter::default();
            held.runs().filter(|run| counts(run.row)).for_each(|run| writer.push_run(run));
            writer.finish()
        };
        HeldByTrims(trims.map(those_that_count).filter(|held| !held.0.is_empty()).collect())
    }

    /// Every page with the number of its row, in the order of the trims.
    pub fn each(&self) -> impl Iterator<Item = (LogicalPage, SequenceNumber)> + '_ {
        self.0.iter().flat_map(Held::each)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.0.iter().flat_map(Held::runs)
    }
}

/// Notes pages, one after the other.
#[derive(Clone, Debug, Default)]
pub struct HeldWriter {
    bytes: Vec<u8>,
    /// The last run in `bytes`, and the one that may go on.
    before: Run,
    run: Run,
}

impl HeldWriter {
    /// A page was held by the row of this number. Pages come in rising order.
    #[inline]
    pub fn push(&mut self, page: LogicalPage, row: SequenceNumber) {
        if self.run.pages.end != page || self.run.row != row {
            self.push_run(Run { pages: page.run(0), row });
        }
        self.run.pages.end += 1;
    }

    fn push_run(&mut self, run: Run) {
        self.end_run();
        self.run = run;
    }

    #[must_use]
    pub fn finish(mut self) -> Held {
        self.end_run();
        Held(self.bytes.into_boxed_slice())
    }

    fn end_run(&mut self) {
        if self.run.pages.count() == 0 {
            return;
        }
        let left_out = self.run.pages.start - self.before.pages.end;
        put(&mut self.bytes, u64::from(self.run.pages.count()) << 1 | u64::from(left_out > 0));
        if left_out > 0 {
            put(&mut self.bytes, left_out.into());
        }
        let risen = self.run.row.number().wrapping_sub(self.before.row.number()) as i64;
        put(&mut self.bytes, (risen << 1 ^ risen >> 63) as u64);
        self.before = self.run.clone();
    }
}

/// Pages of one row.
#[derive(Clone, Debug)]
struct Run {
    pages: Range<LogicalPage>,
    row: SequenceNumber,
}

impl Default for Run {
    fn default() -> Self {
        Run { pages: LogicalPage::all(0), row: SequenceNumber::FIRST }
    }
}

impl Run {
    /// The run that comes after this one; `None` after the last.
    fn next_of(&self, bytes: &mut &[u8]) -> Option<Run> {
        let head = take(bytes)?;
        let left_out = if head & 1 == 0 { 0 } else { take(bytes)? };
        let risen = take(bytes)?;
        let risen = risen >> 1 ^ (risen & 1).wrapping_neg();
        let first = self.pages.end + left_out as u32;
        let row = SequenceNumber::new(self.row.number().wrapping_add(risen));
        Some(Run { pages: first.run((head >> 1) as u32), row })
    }
}

/// Seven bits a byte, the low ones first; the eighth tells that more follow.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

// In a file it is a list of pages and rows. No file needs it: a recovery begins with what the cut has left of it.
impl Serialize for Held {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(std::iter::empty::<(LogicalPage, SequenceNumber)>())
    }
}

impl<'de> Deserialize<'de> for Held {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<(LogicalPage, SequenceNumber)>::deserialize(deserializer).map(|_| Held::default())
    }
}

/// In a file: first page, pages and row of each run.
type SavedRun = (LogicalPage, u32, SequenceNumber);

impl Serialize for HeldByTrims {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Some forms want to know first how many come.
        let mut runs = serializer.serialize_seq(Some(self.runs().count()))?;
        for Run { pages, row } in self.runs() {
            let run: SavedRun = (pages.start, pages.count(), row);
            runs.serialize_element(&run)?;
        }
        runs.end()
    }
}

impl<'de> Deserialize<'de> for HeldByTrims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RunsOfFile)
    }
}

/// Takes the runs of a file in, one after the other.
struct RunsOfFile;

impl<'de> Visitor<'de> for RunsOfFile {
    type Value = HeldByTrims;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("runs of pages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut runs: A) -> Result<HeldByTrims, A::Error> {
        let (mut held, mut writer) = (Vec::new(), HeldWriter::default());
        while let Some((first, count, row)) = runs.next_element::<SavedRun>()? {
            if count == 0 || first.number().checked_add(count).is_none() {
                return Err(A::Error::custom("no such pages"));
            }
            // Those of a trim rise.
            if first < writer.run.pages.end {
                held.push(std::mem::take(&mut writer).finish());
            }
            writer.push_run(Run { pages: first.run(count), row });
        }
        held.push(writer.finish());
        held.retain(|held| !held.0.is_empty());
        Ok(HeldByTrims(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(pages: &[(LogicalPage, SequenceNumber)]) -> Held {
        let mut writer = HeldWriter::default();
        pages.iter().for_each(|&(page, row)| writer.push(page, row));
        writer.finish()
    }

    #[test]
    fn every_page_comes_back_with_its_row() {
        let mut rng = ssdlab_core::Rng::new(5);
        for _ in 0..200 {
            let (mut page, mut row) = (rng.below(1 << 20) as u32, 1 << rng.below(50));
            let mut pages = Vec::new();
            for _ in 0..rng.below(300) {
                if rng.chance(1, 3) {
                    let [few, many] = [rng.below(20), rng.below(50)];
                    page += rng.below(1 << few) as u32;
                    row = row / 2 + rng.below(1 << many);
                }
                pages.push((LogicalPage::new(page), SequenceNumber::new(row)));
                page += 1;
            }
            assert_eq!(note(&pages).each().collect::<Vec<_>>(), pages);
        }
        let [page, next] = [u32::MAX - 2, u32::MAX - 1].map(LogicalPage::new);
        let last = [(page, SequenceNumber::new(u64::MAX)), (next, SequenceNumber::FIRST)];
        assert_eq!(note(&last).each().collect::<Vec<_>>(), last);
    }

    #[test]
    fn a_page_takes_a_byte_where_its_row_holds_others_and_six_where_rows_lie_anywhere() {
        let size = |row: &mut dyn FnMut(u32) -> u64| {
            let page = |page| (LogicalPage::new(page), SequenceNumber::new(row(page)));
            note(&(0..100_000).map(page).collect::<Vec<_>>()).0.len()
        };
        assert!(size(&mut |page| u64::from(page / 4)) < 100_000);
        let mut rng = ssdlab_core::Rng::new(6);
        assert!(size(&mut |_| rng.below(1 << 27)) < 600_000);
    }

    #[test]
    fn what_several_trims_took_comes_back_from_a_file_and_takes_no_more_room_than_each() {
        let number = |(page, row)| (LogicalPage::new(page), SequenceNumber::new(row));
        let pages = |pages: Vec<(u32, u64)>| note(&pages.into_iter().map(number).collect::<Vec<_>>());
        let trims = [
            pages((0..100_000).map(|page| (page, u64::from(page / 4))).collect()),
            Held::default(),
            pages(vec![(7, 3), (8, 3), (9, 40)]),
            pages(vec![(10, 1 << 40)]),
        ];
        let held = HeldByTrims::of(trims.iter(), |row| row != SequenceNumber::new(3));
        let all = trims.iter().flat_map(Held::each);
        let expected: Vec<_> = all.filter(|held| held.1 != SequenceNumber::new(3)).collect();
        assert_eq!(held.each().collect::<Vec<_>>(), expected);
        assert!(held.0.iter().map(|held| held.0.len()).sum::<usize>() < 100_000);
        let saved = postcard::to_stdvec(&held).expect("a vector takes everything");
        let loaded: HeldByTrims = postcard::from_bytes(&saved).expect("it is as it was saved");
        assert_eq!(loaded.each().collect::<Vec<_>>(), expected);
        assert_eq!(postcard::to_stdvec(&loaded), Ok(saved));
        for run in [(5, 0, 1), (u32::MAX - 1, 2, 1)] {
            let bytes = postcard::to_stdvec(&[run].as_slice()).expect("a vector takes everything");
            assert!(postcard::from_bytes::<HeldByTrims>(&bytes).is_err(), "{run:?}");
        }
    }
}
