//! Recovery from a power cut.
//!
//! What survives is on flash: pages with their spare areas, each with its logical address and the sequence number of its
//! write, and the table of blocks, which says what each superblock is for (data of which logical superblock, or a log) and
//! which firmware writes whenever that changes. A copy takes its spare area along, number included, so that it is never newer
//! than what it was copied from. Everything in RAM is found again:
//!
//! 1. Of each page the newest copy counts, in the data superblock or in a log (`newest.rs`). A superblock that was being
//!    merged into is no data superblock before the table says so: until then the old one and the log have everything, and
//!    what the merge had copied is erased.
//! 2. A page whose newest copy a cut has destroyed is lost, unless another copy has the same number: firmware knows the
//!    address from the rows that followed, which repeat it (estimate), and answers with a media error rather than with older
//!    data. It notes that until the page is written or trimmed.
//! 3. Logs are not gone on with: every log in which a page lives is merged as soon as the drive is ready, and what is neither
//!    data nor log is erased before that, half-erased blocks among it. The host's first writes wait for it.
//!
//! Rows from before the erase point ([`crate::Translation::void_all`]) hold nothing, readable or not. It is kept until a recovery
//! finds none of them any more.
//!
//! Trims are forgotten: a trimmed page comes back as what its copies say.
//!
//! Sequence numbers go on behind the greatest that was ever given: firmware leaves a gap.

mod fault;
mod newest;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{LogicalPage, LogicalPages, SequenceNumber, UnitAddress};

use super::LogBlock;
use super::chores::Chore;
use super::contents::NOWHERE;
use super::superblocks::{Place, Use};
use crate::translation::{LostPage, Recovered};
use newest::Newest;

pub use fault::LogBlockFault;

/// What firmware notes on flash beside the table of blocks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recovery {
    /// Pages that cuts have destroyed, and the sequence number of the copy that is gone.
    lost: BTreeMap<LogicalPage, SequenceNumber>,
    /// The erase point: rows of numbers before this one are void.
    void_before: Option<SequenceNumber>,
}

impl Recovery {
    /// The host has trimmed these pages.
    pub fn forget(&mut self, pages: &Range<LogicalPage>) {
        if !self.lost.is_empty() {
            self.lost.retain(|page, _| !pages.contains(page));
        }
    }

    /// All flash has been erased.
    pub fn forget_all(&mut self) {
        *self = Recovery::default();
    }

    /// All rows so far are void; `next`: the number of the row that is queued next.
    pub fn void_all(&mut self, next: SequenceNumber) {
        *self = Recovery { void_before: Some(next), ..Recovery::default() };
    }

    /// Whether this is of a drive with so many pages. `next`: the number of the row that is queued next.
    pub fn is_sound(&self, logical_pages: u32, next: SequenceNumber) -> bool {
        self.lost.iter().all(|(&page, &sequence)| page.number() < logical_pages && sequence < next)
            && self.void_before.is_none_or(|point| point <= next)
    }
}

impl LogBlock {
    /// See [`crate::Translation::recover`].
    pub(super) fn recover(&mut self) -> Recovered {
        let all = LogicalPage::all(self.geometry.logical_pages);
        let waited: Vec<LogicalPage> = all.each().filter(|&page| self.host.waits(page)).collect();
        self.forget_ram();
        self.spoil_noted();
        let medium = self.contents.medium();
        let void_before = self.recovery.void_before;
        let mut newest = Newest::find(&self.geometry, medium, &self.superblocks, &self.data, void_before, self.fault);
        self.spoil_found(&mut newest.destroyed);
        // Once none is left there is nothing that the point could tell.
        self.recovery.void_before = void_before.filter(|_| newest.any_void);
        let (lives, lost) = self.settle_lost(newest);
        let mut changed = self.contents.found(lives);
        changed.extend(waited);
        changed.sort_unstable();
        changed.dedup();
        let looks = self.plan_merges();
        Recovered { changed: Some(changed), lost, looks: Some(looks), ..Recovered::default() }
    }

    fn forget_ram(&mut self) {
        self.host.forget_all();
        self.command_end = LogicalPage::FIRST;
        self.held = None;
        self.forced_to = 0;
        self.logs.forget_all();
        self.chores.forget_all();
        self.to_relocate.clear();
    }

    /// Where each page lives, without those that are lost; and these.
    fn settle_lost(&mut self, newest: Newest) -> (Vec<UnitAddress>, Vec<LostPage>) {
        let Newest { mut lives, destroyed, .. } = newest;
        let medium = self.contents.medium();
        let known = std::mem::take(&mut self.recovery.lost);
        let mut gone: BTreeMap<LogicalPage, (SequenceNumber, Option<_>)> =
            known.iter().map(|(&page, &sequence)| (page, (sequence, None))).collect();
        for (page, sequence, mode) in destroyed {
            let newer = gone.get(&page).is_none_or(|&(other, _)| sequence > other);
            if newer {
                gone.insert(page, (sequence, Some(mode)));
            }
        }
        let mut lost = Vec::new();
        for (page, (sequence, mode)) in gone {
            let unit = lives[page.index()];
            let found = (unit != NOWHERE).then(|| {
                let (block, row) = medium.layout().row_of(unit);
                medium.sequence(block, row)
            });
            // Another copy of the same write is as good.
            if found.is_some_and(|found| sequence <= found) {
                continue;
            }
            lives[page.index()] = NOWHERE;
            self.recovery.lost.insert(page, sequence);
            lost.push(LostPage { page, mode });
        }
        (lives, lost)
    }

    /// Plans what brings every superblock into one piece. Returns how many spare areas of a die have been read: of the first
    /// page of each block, and of all pages of logs.
    fn plan_merges(&mut self) -> u32 {
        for place in self.superblocks.find_free(self.contents.medium()) {
            self.chores.push(self.superblocks.column(place), Chore::Erase { place });
        }
        let layout = self.contents.medium().layout();
        let (blocks, mut looks) = (layout.blocks, vec![0; layout.dies as usize]);
        let mut moved = BTreeSet::new();
        let logs: Vec<Place> =
            (0..self.superblocks.count()).filter(|&place| self.superblocks.use_of(place) == Use::Log).collect();
        for place in logs {
            let column = self.superblocks.column(place);
            let mut within = BTreeSet::new();
            for lane in 0..self.geometry.lanes {
                let medium = self.contents.medium();
                let block = self.superblocks.block(place, lane);
                let rows = medium.finished_pages(block);
                looks[self.geometry.die(column, lane).index()] += rows;
                let start = medium.layout().row_start(block, 0);
                let living = start.run(rows).filter(|&unit| {
                    let page = medium.lpn(unit);
                    self.geometry.has(page) && self.contents.unit(page) == Some(unit)
                });
                within.extend(living.map(|unit| self.geometry.spot(medium.lpn(unit)).superblock));
            }
            for superblock in within {
                if moved.insert(superblock) {
                    self.merge_fully(superblock);
                }
            }
            self.chores.push(column, Chore::Erase { place });
        }
        blocks + looks.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;
    use crate::log_block::LogScheme;
    use crate::log_block::small::{PAGES, drive, work};
    use crate::translation::{Stretch, Translation};

    fn write(drive: &mut LogBlock, page: u32, n: u8) {
        let mut ops = Vec::new();
        let page = LogicalPage::new(page);
        drive.write_begins(page.run(1), false);
        drive.write_units(&Stretch { first: page, units: 1, stream: 0, from: 0, each: 0 }, |_| n);
        drive.dispatch(&mut ops);
        drive.force(drive.accepted_units(), &mut ops);
        work(drive, &mut ops);
    }

    /// As if so many rows had been written, and erased again.
    fn pass_rows(drive: &mut LogBlock, rows: u64) {
        let next = SequenceNumber::new(drive.medium().rows_queued() + rows);
        drive.medium_mut().resume_sequence(std::iter::once(next));
    }

    /// A cut, and what is found after it. A drive that loads what this one has saved finds the same.
    fn cut_and_recover(drive: &mut LogBlock, scheme: LogScheme) -> Vec<Option<u8>> {
        Translation::cut_power(drive, &[]);
        let saved = Translation::save(drive);
        let mut loaded = crate::log_block::small::drive(scheme);
        assert_eq!(Translation::load(&mut loaded, &saved), Ok(()));
        assert_eq!(Translation::save(&loaded), saved);
        let recovered = |drive: &mut LogBlock| {
            assert_eq!(Translation::recover(drive).lost, []);
            let mut ops = Vec::new();
            Translation::resume(drive, &mut ops);
            work(drive, &mut ops);
            LogicalPage::all(PAGES).each().map(|page| drive.write_number(page)).collect::<Vec<_>>()
        };
        let found = recovered(drive);
        assert_eq!(recovered(&mut loaded), found);
        found
    }

    /// As many rows as an earlier test of order, of 32 bits, took for one behind or for none, or refused to load; and more.
    const LONG: [u64; 6] = [(1 << 31) - (1 << 28), (1 << 31) - 100, (1 << 31) + 100, (1 << 32) - 100, 1 << 32, 5 << 32];

    #[test]
    fn the_newest_copy_counts_however_old_the_others_are() {
        let both = [LogScheme::Fast, LogScheme::Bast];
        for (rows, scheme) in LONG.into_iter().flat_map(|rows| both.map(|scheme| (rows, scheme))) {
            let mut drive = drive(scheme);
            let mut last = [Some(1); PAGES as usize];
            (0..PAGES).for_each(|page| write(&mut drive, page, 1));
            pass_rows(&mut drive, rows);
            let mut rng = Rng::new(1);
            for round in 2..30 {
                for _ in 0..3 {
                    let page = rng.below(20) as u32;
                    last[page as usize] = Some(round);
                    write(&mut drive, page, round);
                }
                let found = cut_and_recover(&mut drive, scheme);
                assert_eq!(found, last, "{rows} rows, {scheme:?}, round {round}");
            }
        }
    }

    #[test]
    fn what_was_voided_long_ago_does_not_come_back() {
        for rows in LONG {
            let mut drive = drive(LogScheme::Fast);
            (0..PAGES).for_each(|page| write(&mut drive, page, 1));
            let mut ops = Vec::new();
            Translation::void_all(&mut drive, &mut ops);
            work(&mut drive, &mut ops);
            pass_rows(&mut drive, rows);
            (0..3).for_each(|page| write(&mut drive, page, 2));
            let found = cut_and_recover(&mut drive, LogScheme::Fast);
            let right = (0..).zip(&found).all(|(page, found)| *found == (page < 3).then_some(2));
            assert!(right, "{rows} rows: {found:?}");
        }
    }
}
