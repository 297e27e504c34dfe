//! Closing a log: which chores bring its superblock into one piece again.

use serde::{Deserialize, Serialize};

use super::LogBlock;
use super::chores::{Chore, Why};
use super::logs::Log;
use super::superblocks::Place;
use crate::translation::is_plausible;

/// Merges by kind since the drive was new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merges {
    /// The log held the whole superblock, in order: it takes its place.
    pub switch: u64,
    /// The log held the beginning of the superblock, in order: the rest was copied into it.
    pub partial: u64,
    /// Everything was copied into a third superblock.
    pub full: u64,
}

impl Merges {
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        [self.switch, self.partial, self.full].into_iter().all(is_plausible)
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.switch + self.partial + self.full
    }
}

impl LogBlock {
    /// Plans what closes the log number `k`.
    pub(super) fn close(&mut self, k: usize) {
        let log = self.logs.close(k);
        match log.owner {
            Some(owner) if log.is_in_order() => self.complete(&log, owner),
            Some(owner) => {
                self.merge_fully(owner);
                self.chores.push(log.column, Chore::Erase { place: log.place });
            }
            None => {
                for superblock in self.superblocks_in(&log) {
                    self.merge_fully(superblock);
                }
                self.chores.push(log.column, Chore::Erase { place: log.place });
            }
        }
        self.relocate_if_due();
    }

    /// Adds to a log in order what it lacks of its superblock, and puts it in the superblock's place.
    fn complete(&mut self, log: &Log, superblock: u32) {
        let ends: Vec<u32> = {
            let (_, work) = self.at_work();
            (0..work.geometry.lanes).map(|lane| work.rows_in_use(superblock, lane)).collect()
        };
        let lanes: Vec<(u32, u32)> = log.next.iter().zip(ends).map(|(&next, end)| (next, end.max(next))).collect();
        let why = if lanes.iter().all(|(next, end)| next == end) { Why::Switch } else { Why::PartialMerge };
        *self.count_of(why) += 1;
        self.chores.push(log.column, Chore::Copy { superblock, into: log.place, lanes });
        self.chores.push(log.column, Chore::Install { superblock, place: log.place, why });
    }

    /// Copies a superblock's pages, wherever they are, into a fresh one.
    pub(super) fn merge_fully(&mut self, superblock: u32) {
        self.bring_together(superblock, Why::FullMerge);
    }

    fn bring_together(&mut self, superblock: u32, why: Why) {
        *self.count_of(why) += 1;
        self.chores.push(self.geometry.column(superblock), Chore::Move { superblock, why });
    }

    fn count_of(&mut self, why: Why) -> &mut u64 {
        match why {
            Why::Switch => &mut self.merges.switch,
            Why::PartialMerge => &mut self.merges.partial,
            Why::FullMerge => &mut self.merges.full,
            Why::Relocation => &mut self.relocations,
        }
    }

    /// The power goes: what is planned and not done counts no more. A stripe that has not moved as a whole is due still.
    pub(super) fn take_back_planned(&mut self) {
        let unfinished: Vec<(u32, Why)> = self.chores.unfinished().collect();
        for (superblock, why) in unfinished {
            *self.count_of(why) -= 1;
            let stripe = |superblock: u32| superblock / self.geometry.stripe;
            let is_due = || self.to_relocate.iter().any(|&other| stripe(other) == stripe(superblock));
            if why == Why::Relocation && !is_due() {
                self.relocate_at = self.relocate_at.saturating_sub(self.relocate_after_merges.map_or(0, u64::from));
            }
        }
        self.relocate_at = self.relocate_at.min(self.merges.partial + self.merges.full);
    }

    /// Logical superblocks with valid pages in a shared log, in order.
    fn superblocks_in(&self, log: &Log) -> Vec<u32> {
        let medium = self.contents.medium();
        let mut found = Vec::new();
        for (lane, &rows) in (0..).zip(&log.next) {
            let block = self.superblocks.block(log.place, lane);
            for row in 0..rows {
                let unit = medium.layout().row_start(block, row);
                let page = medium.lpn(unit);
                if self.geometry.has(page) && self.contents.unit(page) == Some(unit) {
                    found.push(self.geometry.spot(page).superblock);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Static wear levelling: after so many merges that copied, the stripe whose superblocks have been erased least often in the mean
    /// moves, one superblock after the other.
    fn relocate_if_due(&mut self) {
        let Some(period) = self.relocate_after_merges.map(u64::from) else { return };
        let copied = self.merges.partial + self.merges.full;
        if copied < self.relocate_at + period {
            return;
        }
        let stripe = self.geometry.stripe;
        let mut wait: Vec<u32> = self.to_relocate.iter().map(|superblock| superblock / stripe).collect();
        wait.dedup();
        let mut due = wait.len() as u64 + 1;
        while copied >= self.relocate_at + period * due {
            if self.relocate_coldest() {
                due += 1;
            } else {
                // Its time is over: otherwise, of short periods, ever more would be due at once.
                self.relocate_at += period;
            }
        }
    }

    /// Returns whether any superblock is to move: none is where all stripes wait already, or where those of the coldest are open.
    fn relocate_coldest(&mut self) -> bool {
        let stripe = self.geometry.stripe as usize;
        let erases = |places: &[Option<Place>]| -> Option<u64> {
            let of_each = || places.iter().flatten().map(|&place| u64::from(self.superblocks.erases(place)));
            // Of a stripe that holds data in some of its superblocks alone, as if it did in all.
            let mapped = of_each().count() as u64;
            (mapped > 0).then(|| of_each().sum::<u64>() * stripe as u64 / mapped)
        };
        let waits = |k: usize| self.to_relocate.iter().any(|&superblock| superblock as usize / stripe == k);
        let stripes = self.data.chunks(stripe).enumerate().filter(|&(k, _)| !waits(k));
        let coldest = stripes.filter_map(|(k, places)| Some((erases(places)?, k))).min();
        let Some((_, coldest)) = coldest else { return false };
        let waited = self.to_relocate.len();
        for superblock in (coldest * stripe) as u32..((coldest + 1) * stripe) as u32 {
            // One that is open in a log moves when it is merged.
            if self.data[superblock as usize].is_some() && self.logs.owned_by(superblock).is_none() {
                self.to_relocate.push_back(superblock);
            }
        }
        self.to_relocate.len() > waited
    }

    /// Plans the move of the next superblock that is to be relocated, if there is one. The next stripe is due so many merges after the
    /// one that moves with it.
    pub(super) fn relocate_next(&mut self) {
        let Some(superblock) = self.to_relocate.pop_front() else { return };
        self.bring_together(superblock, Why::Relocation);
        let stripe = self.geometry.stripe;
        if self.to_relocate.front().is_none_or(|next| next / stripe != superblock / stripe) {
            self.relocate_at += self.relocate_after_merges.map_or(0, u64::from);
        }
    }
}
