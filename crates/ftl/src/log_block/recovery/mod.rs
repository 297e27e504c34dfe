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
use ssdlab_nand::{LogicalPage, LogicalPages, UnitAddress};

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
    lost: BTreeMap<LogicalPage, u32>,
    /// The erase point: rows of numbers before this one are void.
    void_before: Option<u32>,
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
    pub fn void_all(&mut self, next: u32) {
        *self = Recovery { void_before: Some(next), ..Recovery::default() };
    }

    /// Whether this is of a drive with so many pages. `is_numbered`: whether rows have been given a number.
    pub fn is_sound(&self, logical_pages: u32, is_numbered: impl Fn(u32) -> bool) -> bool {
        self.lost.iter().all(|(&page, &sequence)| page.number() < logical_pages && is_numbered(sequence))
            && self.void_before.is_none_or(|point| is_numbered(point.wrapping_sub(1)))
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
        // Numbers begin anew after 2^32 rows: the point must not be kept for so long.
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
        self.logs.forget_all();
        self.chores.forget_all();
        self.to_relocate.clear();
    }

    /// Where each page lives, without those that are lost; and these.
    fn settle_lost(&mut self, newest: Newest) -> (Vec<UnitAddress>, Vec<LostPage>) {
        let Newest { mut lives, destroyed, .. } = newest;
        let medium = self.contents.medium();
        let known = std::mem::take(&mut self.recovery.lost);
        let mut gone: BTreeMap<LogicalPage, (u32, Option<_>)> =
            known.iter().map(|(&page, &sequence)| (page, (sequence, None))).collect();
        for (page, sequence, mode) in destroyed {
            let newer = gone.get(&page).is_none_or(|&(other, _)| is_newer(sequence, other));
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
            if found.is_some_and(|found| !is_newer(sequence, found)) {
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

/// Whether a sequence number was given after another. They begin anew after 2^32.
fn is_newer(sequence: u32, than: u32) -> bool {
    (sequence.wrapping_sub(than) as i32) > 0
}
