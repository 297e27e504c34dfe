//! Sparse pages. What holds only zeroes is not stored, and what nobody wrote takes no memory. Clones share their pages
//! until one of them changes a page.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use ssdlab_core::UNIT_BYTES;

use crate::pages::{PAGE_BYTES, Page, prefetch};

/// Pages of a leaf: 2 MiB.
const LEAF_PAGES: usize = 512;

/// One page as it once was: its bytes, and the number of the write that made them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// As [`ssdlab_device::Held::Write`] counts them; 0: never written, or trimmed since.
    pub number: u8,
    /// `None`: zeroes.
    pub page: Option<Page>,
}

impl Version {
    /// A page that was never written.
    pub const NOTHING: Version = Version { number: 0, page: None };
}

#[derive(Clone)]
struct Leaf {
    pages: [Option<Page>; LEAF_PAGES],
    numbers: [u8; LEAF_PAGES],
}

/// Every page was written once, with zeroes. Shared by all stores.
static ZEROES: LazyLock<Arc<Leaf>> =
    LazyLock::new(|| Arc::new(Leaf { pages: [const { None }; LEAF_PAGES], numbers: [1; LEAF_PAGES] }));

impl Leaf {
    fn holds_nothing(&self) -> bool {
        self.numbers.iter().all(|&n| n == 0) && self.pages.iter().all(Option::is_none)
    }
}

/// Pages of a leaf that take memory. The one that many places share is not looked through for each of them.
fn stored_in(leaf: &Arc<Leaf>) -> u64 {
    if Arc::ptr_eq(leaf, &ZEROES) { 0 } else { leaf.pages.iter().flatten().count() as u64 }
}

/// See the module's own page.
#[derive(Clone)]
pub struct Store {
    capacity_bytes: u64,
    leaves: Vec<Option<Arc<Leaf>>>,
    stored_pages: u64,
    /// Pages whose bytes are gone.
    lost: BTreeSet<u32>,
    /// By leaf: whether pages of it were trimmed, which a device may forget.
    trimmed: Vec<bool>,
}

/// What a stretch of bytes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Never written, or trimmed: reads as zeroes.
    Hole,
    /// Written, with zeroes.
    Zeroes,
    /// Lost pages are, too: a host that reads them hears that they are.
    Data,
}

impl Store {
    /// The largest device whose bytes can be held.
    pub const MAX_CAPACITY_BYTES: u64 = UNIT_BYTES * u32::MAX as u64;

    /// # Panics
    /// If the capacity is greater than [`Store::MAX_CAPACITY_BYTES`].
    #[must_use]
    pub fn new(capacity_bytes: u64) -> Self {
        assert!(capacity_bytes <= Self::MAX_CAPACITY_BYTES, "{capacity_bytes} bytes are more than a store can number");
        let leaves = capacity_bytes.div_ceil((LEAF_PAGES * PAGE_BYTES) as u64);
        let leaves = leaves as usize;
        let (lost, trimmed) = (BTreeSet::new(), vec![false; leaves]);
        Store { capacity_bytes, leaves: vec![None; leaves], stored_pages: 0, lost, trimmed }
    }

    /// A store whose every page was written once, with zeroes.
    ///
    /// # Panics
    /// As [`Store::new`].
    #[must_use]
    pub fn written_once(capacity_bytes: u64) -> Self {
        let mut store = Store::new(capacity_bytes);
        store.leaves.fill(Some(Arc::clone(&ZEROES)));
        store
    }

    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Pages that take memory.
    #[must_use]
    pub fn stored_pages(&self) -> u64 {
        self.stored_pages
    }

    #[inline]
    #[must_use]
    pub fn page(&self, unit: u32) -> Option<&Page> {
        let leaf = self.leaves[unit as usize / LEAF_PAGES].as_ref()?;
        leaf.pages[unit as usize % LEAF_PAGES].as_ref()
    }

    #[inline]
    #[must_use]
    pub fn number(&self, unit: u32) -> u8 {
        let leaf = self.leaves[unit as usize / LEAF_PAGES].as_ref();
        leaf.map_or(0, |leaf| leaf.numbers[unit as usize % LEAF_PAGES])
    }

    /// Asks the processor for what [`Store::replace`] of this page touches.
    #[inline]
    pub fn prefetch(&self, unit: u32) {
        if let Some(leaf) = &self.leaves[unit as usize / LEAF_PAGES] {
            let at = unit as usize % LEAF_PAGES;
            // Whether the leaf is shared stands before it.
            prefetch(Arc::as_ptr(leaf).cast::<u8>().wrapping_sub(1));
            prefetch(&raw const leaf.pages[at]);
            prefetch(&raw const leaf.numbers[at]);
        }
    }

    #[must_use]
    pub fn version(&self, unit: u32) -> Version {
        Version { number: self.number(unit), page: self.page(unit).cloned() }
    }

    /// Replaces a page; returns what it was.
    pub fn replace(&mut self, unit: u32, new: Version) -> Version {
        let leaf = &mut self.leaves[unit as usize / LEAF_PAGES];
        if leaf.is_none() && new == Version::NOTHING {
            return Version::NOTHING;
        }
        let empty = || Arc::new(Leaf { pages: [const { None }; LEAF_PAGES], numbers: [0; LEAF_PAGES] });
        let leaf = Arc::make_mut(leaf.get_or_insert_with(empty));
        let at = unit as usize % LEAF_PAGES;
        self.stored_pages += u64::from(new.page.is_some());
        let page = std::mem::replace(&mut leaf.pages[at], new.page);
        self.stored_pages -= u64::from(page.is_some());
        Version { number: std::mem::replace(&mut leaf.numbers[at], new.number), page }
    }

    /// Forgets whole pages; `forgotten` hears what each held that held something.
    pub fn forget(&mut self, units: std::ops::Range<u32>, mut forgotten: impl FnMut(u32, Version)) {
        for (leaf, pages) in by_leaf(units.clone()) {
            if self.leaves[leaf].is_none() {
                continue;
            }
            self.note_trimmed(pages.start);
            for unit in pages {
                let old = self.replace(unit, Version::NOTHING);
                if old != Version::NOTHING {
                    forgotten(unit, old);
                }
            }
            self.leaves[leaf].take_if(|leaf| leaf.holds_nothing());
        }
        self.forget_lost(units);
    }

    /// As [`Store::forget`], and nobody hears what they held: however many they are, it takes next to no time.
    pub fn clear(&mut self, units: std::ops::Range<u32>) {
        for (leaf, pages) in by_leaf(units.clone()) {
            if self.leaves[leaf].is_none() {
                continue;
            }
            self.note_trimmed(pages.start);
            if pages.len() == LEAF_PAGES {
                let old = self.leaves[leaf].take();
                self.stored_pages -= old.as_ref().map_or(0, stored_in);
            } else {
                pages.for_each(|unit| drop(self.replace(unit, Version::NOTHING)));
                self.leaves[leaf].take_if(|leaf| leaf.holds_nothing());
            }
        }
        self.forget_lost(units);
    }

    fn forget_lost(&mut self, units: std::ops::Range<u32>) {
        if units.start < units.end {
            let lost: Vec<u32> = self.lost.range(units).copied().collect();
            for unit in lost {
                self.lost.remove(&unit);
                self.note_trimmed(unit);
            }
        }
    }

    /// Whole pages were written once, with zeroes. However many they are, they take next to no memory.
    pub fn write_zeroes(&mut self, units: std::ops::Range<u32>) {
        for (leaf, units) in by_leaf(units.clone()) {
            if units.len() == LEAF_PAGES {
                // An image can say the same of its whole drive again and again.
                if self.leaves[leaf].as_ref().is_some_and(|held| Arc::ptr_eq(held, &ZEROES)) {
                    continue;
                }
                let old = self.leaves[leaf].replace(Arc::clone(&ZEROES));
                self.stored_pages -= old.as_ref().map_or(0, stored_in);
            } else {
                units.for_each(|unit| drop(self.replace(unit, Version { number: 1, page: None })));
            }
        }
        let found: Vec<u32> = self.lost_in(units).collect();
        found.into_iter().for_each(|unit| self.mark_found(unit));
    }

    /// Whole pages were trimmed, and read as before. Lost ones stay lost.
    pub fn trim_and_keep(&mut self, units: std::ops::Range<u32>) {
        for (leaf, units) in by_leaf(units) {
            self.note_trimmed(units.start);
            let leaf = &mut self.leaves[leaf];
            if units.len() == LEAF_PAGES {
                // One that is shared is not copied only to be forgotten.
                leaf.take_if(|held| stored_in(held) == 0);
            }
            if let Some(held) = leaf {
                let at = units.start as usize % LEAF_PAGES;
                let held = Arc::make_mut(held);
                held.numbers[at..at + units.len()].fill(0);
                if held.holds_nothing() {
                    *leaf = None;
                }
            }
        }
    }

    /// Pages about here were trimmed, which a device may forget.
    pub fn note_trimmed(&mut self, unit: u32) {
        self.trimmed[unit as usize / LEAF_PAGES] = true;
    }

    /// Pages of no number where some were trimmed: all that a device can bring back, and more.
    pub fn trimmed(&self) -> impl Iterator<Item = u32> + '_ {
        let units = self.capacity_bytes.div_ceil(UNIT_BYTES);
        let leaves = self.trimmed.iter().enumerate().filter(|leaf| *leaf.1);
        let pages = leaves.flat_map(|(k, _)| k * LEAF_PAGES..(k + 1) * LEAF_PAGES);
        pages
            .take_while(move |&page| (page as u64) < units)
            .map(|page| page as u32)
            .filter(|&page| self.number(page) == 0)
    }

    /// These pages read as zeroes, and count as written as before. Lost ones stay lost.
    pub fn blank(&mut self, units: std::ops::Range<u32>) {
        for (leaf, pages) in by_leaf(units) {
            if self.leaves[leaf].as_ref().is_none_or(|leaf| stored_in(leaf) == 0) {
                continue;
            }
            for unit in pages {
                if self.page(unit).is_some() {
                    self.replace(unit, Version { number: self.number(unit), page: None });
                }
            }
        }
    }

    /// Appends bytes to `out`.
    pub fn read(&self, offset_bytes: u64, length_bytes: u64, out: &mut Vec<u8>) {
        for piece in pieces(offset_bytes, length_bytes) {
            match self.page(piece.unit) {
                Some(page) => out.extend_from_slice(&page[piece.within]),
                None => out.resize(out.len() + piece.within.len(), 0),
            }
        }
    }

    /// Whether bytes of this range are gone.
    #[inline]
    #[must_use]
    pub fn any_lost(&self, offset_bytes: u64, length_bytes: u64) -> bool {
        if self.lost.is_empty() || length_bytes == 0 {
            return false;
        }
        let last = (offset_bytes + length_bytes - 1) / UNIT_BYTES;
        self.lost.range((offset_bytes / UNIT_BYTES) as u32..=last as u32).next().is_some()
    }

    #[inline]
    #[must_use]
    pub fn is_lost(&self, unit: u32) -> bool {
        !self.lost.is_empty() && self.lost.contains(&unit)
    }

    pub fn mark_lost(&mut self, unit: u32) {
        self.lost.insert(unit);
    }

    #[inline]
    pub fn mark_found(&mut self, unit: u32) {
        if !self.lost.is_empty() {
            self.lost.remove(&unit);
        }
    }

    /// Pages whose bytes are gone.
    pub fn lost(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.lost.iter().copied()
    }

    /// Those of these.
    pub fn lost_in(&self, units: std::ops::Range<u32>) -> impl Iterator<Item = u32> + '_ {
        self.lost.range(units).copied()
    }

    /// Every page that was ever written and not trimmed since.
    pub fn written(&self) -> impl Iterator<Item = (u32, u8, Option<&Page>)> + '_ {
        let leaves = self.leaves.iter().enumerate().filter_map(|(k, leaf)| Some((k, leaf.as_ref()?)));
        let units = self.capacity_bytes.div_ceil(UNIT_BYTES);
        let all = leaves.flat_map(|(k, leaf)| {
            let numbered = (0..LEAF_PAGES).filter(|&at| leaf.numbers[at] != 0 || leaf.pages[at].is_some());
            numbered.map(move |at| ((k * LEAF_PAGES + at) as u32, leaf.numbers[at], leaf.pages[at].as_ref()))
        });
        all.take_while(move |w| u64::from(w.0) < units)
    }

    /// What a range consists of, as (bytes, kind): neighbours differ, and the bytes add up to the range.
    pub fn stretches(&self, offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = (u64, Kind)> + '_ {
        self.stretches_with(&self.lost, offset_bytes, length_bytes)
    }

    /// As [`Store::stretches`], of what is stored: of lost pages nothing is.
    pub fn stored_stretches(&self, offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = (u64, Kind)> + '_ {
        const NONE: &BTreeSet<u32> = &BTreeSet::new();
        self.stretches_with(NONE, offset_bytes, length_bytes)
    }

    fn stretches_with<'a>(
        &'a self,
        lost: &'a BTreeSet<u32>,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> impl Iterator<Item = (u64, Kind)> + 'a {
        let kind = |unit: u32| if lost.contains(&unit) { Kind::Data } else { self.stored_kind(unit) };
        let end = offset_bytes + length_bytes;
        let mut at = offset_bytes;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (begin, first) = (at, kind((at / UNIT_BYTES) as u32));
            while at < end && kind((at / UNIT_BYTES) as u32) == first {
                let leaf_bytes = (LEAF_PAGES * PAGE_BYTES) as u64;
                let leaf = (at / leaf_bytes) as usize;
                let pages = (leaf * LEAF_PAGES) as u32..=(leaf * LEAF_PAGES + LEAF_PAGES - 1) as u32;
                let alike = self.leaves[leaf].is_none() && lost.range(pages).next().is_none();
                let step = if alike { leaf_bytes } else { UNIT_BYTES };
                at = end.min((at / step + 1) * step);
            }
            Some((at - begin, first))
        })
    }

    fn stored_kind(&self, unit: u32) -> Kind {
        match (self.page(unit), self.number(unit)) {
            (Some(_), _) => Kind::Data,
            (None, 0) => Kind::Hole,
            (None, _) => Kind::Zeroes,
        }
    }
}

/// These pages, leaf by leaf.
fn by_leaf(units: std::ops::Range<u32>) -> impl Iterator<Item = (usize, std::ops::Range<u32>)> {
    let mut unit = units.start;
    std::iter::from_fn(move || {
        if unit >= units.end {
            return None;
        }
        let (leaf, first) = (unit as usize / LEAF_PAGES, unit);
        unit = units.end.min(u32::try_from((leaf + 1) * LEAF_PAGES).unwrap_or(u32::MAX));
        Some((leaf, first..unit))
    })
}

/// What of a range lies in one page.
pub struct Piece {
    pub unit: u32,
    /// Within the page.
    pub within: std::ops::Range<usize>,
    /// Within the range.
    pub from: usize,
}

impl Piece {
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.within.len() == PAGE_BYTES
    }
}

/// A range, page by page.
pub fn pieces(offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = Piece> {
    let end = offset_bytes + length_bytes;
    let mut at = offset_bytes;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let first = (at % UNIT_BYTES) as usize;
        let length = (end - at).min(UNIT_BYTES - at % UNIT_BYTES) as usize;
        let piece =
            Piece { unit: (at / UNIT_BYTES) as u32, within: first..first + length, from: (at - offset_bytes) as usize };
        at += length as u64;
        Some(piece)
    })
}

/// A page of these bytes; `None` if all of them are zero.
///
/// # Panics
/// If they are not [`PAGE_BYTES`].
#[must_use]
pub fn page_of(bytes: &[u8]) -> Option<Page> {
    if is_zero(bytes) {
        return None;
    }
    Some(Page::new(bytes))
}

/// Whether a page holds zeroes only.
pub fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks_exact(64).all(|chunk| chunk.iter().fold(0, |all, b| all | b) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(byte: u8) -> Version {
        Version { number: 1, page: page_of(&[byte; PAGE_BYTES]) }
    }

    #[test]
    fn zeroes_are_not_stored_and_what_is_forgotten_takes_no_memory() {
        let mut store = Store::new(1 << 40);
        store.replace(7, filled(0));
        assert_eq!((store.stored_pages(), store.number(7)), (0, 1));
        store.replace(1 << 20, filled(3));
        assert_eq!(store.stored_pages(), 1);
        let mut heard = Vec::new();
        store.forget(0..(1 << 28), |unit, old| heard.push((unit, old.number)));
        assert_eq!((store.stored_pages(), heard), (0, vec![(7, 1), (1 << 20, 1)]));
        assert!(store.leaves.iter().all(Option::is_none));
    }

    #[test]
    fn zeroes_of_a_whole_store_take_one_leaf_and_none_once_they_are_trimmed() {
        let leaf_pages = LEAF_PAGES as u32;
        let mut store = Store::new(u64::from(4 * leaf_pages) * UNIT_BYTES);
        store.replace(leaf_pages + 1, filled(3));
        store.mark_lost(leaf_pages + 2);
        store.write_zeroes(3..4 * leaf_pages - 1);
        assert_eq!((store.stored_pages(), store.lost().len()), (0, 0));
        let numbers = |store: &Store| (0..4 * leaf_pages).filter(|&unit| store.number(unit) != 0).collect::<Vec<_>>();
        assert_eq!(numbers(&store), (3..4 * leaf_pages - 1).collect::<Vec<_>>());
        let [a, b] = [1, 2].map(|k| store.leaves[k].as_ref().unwrap());
        assert!(Arc::ptr_eq(a, b), "whole leaves are one");
        store.replace(leaf_pages, filled(7));
        store.mark_lost(3 * leaf_pages);
        store.trim_and_keep(0..4 * leaf_pages);
        assert_eq!((numbers(&store), store.stored_pages()), (vec![], 1));
        assert!(store.page(leaf_pages).is_some() && store.is_lost(3 * leaf_pages) && store.trimmed().count() == 2048);
        assert_eq!(store.leaves.iter().flatten().count(), 1);
    }

    #[test]
    fn clones_go_on_by_themselves() {
        let mut store = Store::new(1 << 30);
        store.replace(5, filled(1));
        let before = store.clone();
        store.replace(5, filled(2));
        store.replace(6, filled(2));
        assert_eq!((before.page(5).unwrap()[0], before.page(6)), (1, None));
        assert_eq!((before.stored_pages(), store.stored_pages()), (1, 2));
    }

    #[test]
    fn a_read_of_parts_of_pages_is_put_together() {
        let mut store = Store::new(1 << 30);
        store.replace(1, filled(9));
        let mut out = vec![1];
        store.read(4096 - 512, 512 + 4096 + 512, &mut out);
        let expected: Vec<u8> = [1].into_iter().chain([0; 512]).chain([9; 4096]).chain([0; 512]).collect();
        assert_eq!(out, expected);
    }

    #[test]
    fn stretches_add_up_and_neighbours_differ() {
        let mut store = Store::new(1 << 30);
        store.replace(1, filled(9));
        store.replace(2, filled(9));
        store.replace(3, filled(0));
        store.replace(600, filled(1));
        let all: Vec<_> = store.stretches(512, (700 << 12) - 512).collect();
        let expected = [
            (4096 - 512, Kind::Hole),
            (8192, Kind::Data),
            (4096, Kind::Zeroes),
            (596 << 12, Kind::Hole),
            (4096, Kind::Data),
            (99 << 12, Kind::Hole),
        ];
        assert_eq!(all, expected);
        assert_eq!(store.stretches(4096 + 512, 512).collect::<Vec<_>>(), [(512, Kind::Data)]);
    }

    #[test]
    fn lost_pages_are_told_as_data_and_not_stored() {
        let mut store = Store::new(1 << 30);
        store.mark_lost(3);
        store.mark_lost(1030);
        store.replace(1029, filled(9));
        store.replace(1031, Version { number: 1, page: None });
        store.mark_lost(1031);
        let told: Vec<_> = store.stretches(0, 1040 << 12).collect();
        let expected = [
            (3 << 12, Kind::Hole),
            (4096, Kind::Data),
            (1025 << 12, Kind::Hole),
            (3 << 12, Kind::Data),
            (8 << 12, Kind::Hole),
        ];
        assert_eq!(told, expected);
        assert_eq!(store.stretches((3 << 12) + 512, 512).collect::<Vec<_>>(), [(512, Kind::Data)]);
        let stored: Vec<_> = store.stored_stretches(0, 1040 << 12).collect();
        let expected = [
            (1029 << 12, Kind::Hole),
            (4096, Kind::Data),
            (4096, Kind::Hole),
            (4096, Kind::Zeroes),
            (8 << 12, Kind::Hole),
        ];
        assert_eq!(stored, expected);
    }

    #[test]
    fn lost_pages_are_lost_until_they_are_found() {
        let mut store = Store::new(1 << 30);
        store.mark_lost(3);
        assert!(store.any_lost(3 << 12, 512) && store.any_lost(0, 1 << 30));
        assert!(!store.any_lost(0, 3 << 12) && !store.any_lost(4 << 12, 512));
        store.forget(2..4, |_, _| {});
        assert_eq!(store.lost().len(), 0);
    }

    #[test]
    fn what_is_cleared_is_what_is_forgotten() {
        let mut store = Store::new(4 * LEAF_PAGES as u64 * UNIT_BYTES);
        store.write_zeroes(600..1700);
        [5, 520, 1100, 2000].iter().for_each(|&unit| drop(store.replace(unit, filled(3))));
        [7, 1030].iter().for_each(|&unit| store.mark_lost(unit));
        for pages in [0..0, 0..2048, 5..1600, 512..1536, 1100..1101] {
            let (mut forgotten, mut cleared) = (store.clone(), store.clone());
            forgotten.forget(pages.clone(), |_, _| {});
            cleared.clear(pages.clone());
            let all = |store: &Store| (0..2048).map(|unit| store.version(unit)).collect::<Vec<_>>();
            assert_eq!(all(&cleared), all(&forgotten), "{pages:?}");
            assert_eq!(cleared.stored_pages(), forgotten.stored_pages(), "{pages:?}");
            assert_eq!((&cleared.lost, &cleared.trimmed), (&forgotten.lost, &forgotten.trimmed), "{pages:?}");
            let there = |store: &Store| store.leaves.iter().map(Option::is_some).collect::<Vec<_>>();
            assert_eq!(there(&cleared), there(&forgotten), "{pages:?}");
        }
    }
}
