//! What the pages are after a power cut: what the device says that it has kept.

use std::collections::BTreeSet;
use std::ops::Range;

use ssdlab_device::{Held, Plug};

use super::{Bytes, Written};
use crate::pages::PAGE_BYTES;
use crate::store::{Version, page_of};

/// What the last cut has left, in pages of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AfterCut {
    /// Pages of writes that were never answered, and that the device has kept all the same.
    pub unanswered_kept: u64,
    /// Pages of answered writes that came back as they were before.
    pub reverted: u64,
    /// Pages that the device cannot read any more.
    pub unreadable: u64,
    /// Pages that came back as a version whose bytes were no longer kept. They are unreadable from now on.
    pub forgotten: u64,
}

/// Where the pages are that [`AfterCut`] counts: stretches of bytes, the first [`AfterCutPlaces::MOST`] of each kind by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AfterCutPlaces {
    pub unanswered_kept: Vec<Range<u64>>,
    pub reverted: Vec<Range<u64>>,
    pub unreadable: Vec<Range<u64>>,
    pub forgotten: Vec<Range<u64>>,
}

impl AfterCutPlaces {
    /// Stretches of each kind.
    pub const MOST: usize = 8;
}

/// The pages that are not what they were, by what has become of them.
#[derive(Default)]
struct Report {
    unanswered_kept: Vec<u32>,
    reverted: Vec<u32>,
    unreadable: Vec<u32>,
    forgotten: Vec<u32>,
}

impl Report {
    fn counts(&self) -> AfterCut {
        AfterCut {
            unanswered_kept: self.unanswered_kept.len() as u64,
            reverted: self.reverted.len() as u64,
            unreadable: self.unreadable.len() as u64,
            forgotten: self.forgotten.len() as u64,
        }
    }

    fn places(self) -> AfterCutPlaces {
        AfterCutPlaces {
            unanswered_kept: stretches(self.unanswered_kept),
            reverted: stretches(self.reverted),
            unreadable: stretches(self.unreadable),
            forgotten: stretches(self.forgotten),
        }
    }
}

/// The first stretches of bytes that these pages make.
fn stretches(mut pages: Vec<u32>) -> Vec<Range<u64>> {
    pages.sort_unstable();
    let runs = pages.chunk_by(|a, b| *b == a + 1).take(AfterCutPlaces::MOST);
    let byte = |page: u32| u64::from(page) * PAGE_BYTES as u64;
    runs.map(|run| byte(run[0])..byte(run[0]) + (run.len() * PAGE_BYTES) as u64).collect()
}

/// What a page may be after the cut.
struct Candidate {
    page: u32,
    version: Version,
    answered: bool,
    /// Its bytes are known in part only.
    lost: bool,
}

/// All of them, by page; of each page from the oldest to the newest that was answered, then those that were not.
struct Candidates(Vec<Candidate>);

impl Candidates {
    fn of_page(&self, page: u32) -> &[Candidate] {
        let from = self.0.partition_point(|c| c.page < page);
        let to = self.0.partition_point(|c| c.page <= page);
        &self.0[from..to]
    }

    /// Each page once.
    fn pages(&self) -> impl Iterator<Item = u32> {
        self.0.chunk_by(|a, b| a.page == b.page).map(|of_page| of_page[0].page)
    }
}

impl Bytes {
    /// Asks the device, which has power again, what it has kept, and makes that the bytes. Returns the pages that are not what
    /// they were.
    pub fn settle(&mut self, plug: &dyn Plug) -> Vec<u32> {
        let answered = self.superseded.take();
        let answered = answered.map(|(page, version)| Candidate { page, version, answered: true, lost: false });
        let torn = std::mem::take(&mut self.torn).into_iter();
        let torn = torn.map(|torn| {
            let Written { page, version, stays_lost: lost } = torn;
            Candidate { page, version, answered: false, lost }
        });
        let mut candidates = Candidates(answered.chain(torn).collect());
        candidates.0.sort_by_key(|c| c.page);
        let differing = self.differing(plug, &candidates);
        let mut report = Report::default();
        for &(page, held) in &differing {
            match held {
                Held::Nothing => self.go_back(page, 0, candidates.of_page(page), &mut report),
                Held::Write(number) => self.go_back(page, number, candidates.of_page(page), &mut report),
                Held::Mixed(newest) => {
                    let sectors = plug.sectors((page / self.unit_pages()).into());
                    self.mix(page, newest, sectors, candidates.of_page(page), &mut report);
                }
                Held::Unreadable => {
                    report.unreadable.push(page);
                    self.lose(page, 0);
                }
            }
        }
        self.after_cut = Some((report.counts(), report.places()));
        // Of a page that holds nothing now, or nothing that can be read, an older version may still be found by a later
        // start of the device.
        let empty: BTreeSet<u32> = candidates.pages().filter(|&page| self.store.number(page) == 0).collect();
        for Candidate { page, version, lost, .. } in candidates.0 {
            if version.number != 0 && !lost && empty.contains(&page) {
                self.superseded.haunt(page, version);
            }
        }
        self.lost_before.retain(|&(page, _)| self.store.number(page) == 0);
        differing.into_iter().map(|(page, _)| page).collect()
    }

    /// Pages of which the device holds something else than their last answered version.
    fn differing(&self, plug: &dyn Plug, candidates: &Candidates) -> Vec<(u32, Held)> {
        let written = self.store.written().map(|(page, number, _)| (page, number)).filter(|w| w.1 != 0);
        let empty = candidates.pages().filter(|&page| self.store.number(page) == 0).map(|page| (page, 0));
        let trimmed = self.store.trimmed().filter(|&page| candidates.of_page(page).is_empty()).map(|page| (page, 0));
        let mut differing = Vec::new();
        for (page, number) in written.chain(empty).chain(trimmed) {
            let held = plug.held((page / self.unit_pages()).into());
            let same = match held {
                Held::Nothing => number == 0,
                Held::Write(held) => number == held,
                Held::Mixed(_) | Held::Unreadable => false,
            };
            if !same {
                differing.push((page, held));
            }
        }
        differing
    }

    /// The page is what the write with this number made it; 0: it was never written.
    fn go_back(&mut self, page: u32, number: u8, candidates: &[Candidate], report: &mut Report) {
        // Of equal numbers the youngest.
        let found = candidates.iter().rfind(|c| c.version.number == number);
        match found {
            Some(Candidate { lost: true, .. }) => {
                report.forgotten.push(page);
                return self.lose(page, number);
            }
            None | Some(Candidate { answered: true, .. })
                if self.lost_before.contains(&(page, number)) && number != 0 =>
            {
                report.forgotten.push(page);
                return self.lose(page, number);
            }
            Some(Candidate { answered: false, .. }) => report.unanswered_kept.push(page),
            // A trim that the device has forgotten. The host may read what it will; the device goes on from that number.
            None if number != 0 && self.store.number(page) == 0 && !self.store.is_lost(page) => {
                let page_now = self.store.page(page).cloned();
                self.store.replace(page, Version { number, page: page_now });
                return self.store.mark_found(page);
            }
            None if number != 0 => {
                report.forgotten.push(page);
                return self.lose(page, number);
            }
            _ => report.reverted.push(page),
        }
        self.store.replace(page, found.map_or(Version::NOTHING, |c| c.version.clone()));
        self.store.mark_found(page);
    }

    /// The sectors of the page are of several writes.
    fn mix(&mut self, page: u32, newest: u8, sectors: [Held; 8], candidates: &[Candidate], report: &mut Report) {
        if self.mixed.get(&page) == Some(&sectors) {
            // The device says again what it said after the cut before.
            return;
        }
        let (current, is_lost) = (self.store.version(page), self.store.is_lost(page));
        let mut bytes = [0; PAGE_BYTES];
        let length = PAGE_BYTES / sectors.len();
        let mut unanswered = false;
        for (k, held) in sectors.into_iter().enumerate() {
            let Held::Write(number) = held else { continue };
            let youngest =
                |answered: bool| candidates.iter().rfind(|c| c.answered == answered && c.version.number == number);
            let version = match youngest(false) {
                Some(candidate) => {
                    unanswered = true;
                    (!candidate.lost).then_some(&candidate.version)
                }
                None if current.number == number => (!is_lost).then_some(&current),
                None if self.lost_before.contains(&(page, number)) => None,
                None => youngest(true).map(|candidate| &candidate.version),
            };
            let Some(version) = version else {
                report.forgotten.push(page);
                return self.lose(page, newest);
            };
            if let Some(of) = &version.page {
                bytes[k * length..(k + 1) * length].copy_from_slice(&of[k * length..(k + 1) * length]);
            }
        }
        if unanswered { &mut report.unanswered_kept } else { &mut report.reverted }.push(page);
        self.store.replace(page, Version { number: newest, page: page_of(&bytes) });
        self.store.mark_found(page);
        self.mixed.insert(page, sectors);
    }

    fn lose(&mut self, page: u32, number: u8) {
        self.store.replace(page, Version { number, page: None });
        self.store.mark_lost(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_first_stretches_by_address() {
        let report =
            Report { reverted: vec![9, 3, 4, 1], unreadable: (0..40).map(|k| 2 * k).collect(), ..Report::default() };
        assert_eq!((report.counts().reverted, report.counts().unreadable), (4, 40));
        let places = report.places();
        assert_eq!(places.reverted, [4096..8192, 12288..20480, 36864..40960]);
        assert_eq!((places.unreadable.len(), places.unreadable.last()), (AfterCutPlaces::MOST, Some(&(57344..61440))));
        assert_eq!((places.forgotten, places.unanswered_kept), (vec![], vec![]));
    }
}
