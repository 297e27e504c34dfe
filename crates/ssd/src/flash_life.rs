//! A drive's life beyond what is simulated: data that grow old, wear that has been computed rather than written, and
//! what has been lost.

use std::ops::Range;

use ssdlab_device::{Differences, EccScheme, ExpectedErrors, Flash, MOST_WEAR_RECORDS, Wear};
use ssdlab_ftl::Translation;
use ssdlab_nand::{BlockHistory, BlockId, LogicalPage};

use crate::SimulatedSsd;
use crate::backend::{Correction, Loss};
use crate::wear_forecast::WearForecast;

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Lets `seconds` of calendar time pass at 30 °C in which the drive does nothing: its data grow older, the simulated
    /// clock stands still. Without `[ecc]` in the drive file nothing changes.
    pub fn age(&mut self, seconds: u64) {
        if let Some(correction) = self.backend.correction_mut() {
            correction.age(seconds, self.now, self.translation.medium());
        }
    }

    /// Wears every block that does work by `cycles` program/erase cycles in the die's own cell mode. What they hold stays.
    pub fn wear_out(&mut self, cycles: u32) {
        let ppb = u64::from(cycles) * 1_000_000_000 / u64::from(self.translation.medium().rated_cycles());
        let blocks = self.working_blocks();
        self.wear_each(blocks.into_iter().map(|block| (block, cycles, ppb)));
    }

    /// Wears blocks, each by so many erases and thousand-millionths of its life.
    pub(crate) fn wear_each(&mut self, more: impl Iterator<Item = (BlockId, u32, u64)>) {
        for (block, erases, ppb) in more {
            self.translation.medium_mut().wear(block, erases, ppb);
        }
        if let Some(correction) = self.backend.correction_mut() {
            correction.renew_all();
        }
    }

    /// Good blocks, but for those that are kept back to replace others: nothing is written to these, and they do not wear.
    pub(crate) fn working_blocks(&self) -> Vec<BlockId> {
        let medium = self.translation.medium();
        let mut works: Vec<bool> = medium.layout().all_blocks().map(|block| !medium.is_bad(block)).collect();
        self.translation.kept_back().into_iter().for_each(|block| works[block.index()] = false);
        medium.layout().all_blocks().filter(|&block| works[block.index()]).collect()
    }

    /// Logical 4 KiB pages whose data were found to be lost, and that the host has not written or trimmed since.
    #[must_use]
    pub fn lost_pages(&self) -> Vec<LogicalPage> {
        self.backend.correction().map_or_else(Vec::new, |c| c.lost_pages().collect())
    }

    /// Whether any of these pages is among [`Self::lost_pages`], or was destroyed by a power cut.
    #[inline(always)]
    #[must_use]
    pub fn has_lost(&self, lpns: Range<LogicalPage>) -> bool {
        // Only a drive that checks has a plug.
        (CHECK && self.plug.has_lost(lpns.clone())) || self.backend.correction().is_some_and(|c| c.has_lost(lpns))
    }

    /// From now on a list is kept of every unit that a read finds lost, for tests: [`Self::take_losses`].
    pub fn note_losses(&mut self) {
        if let Some(correction) = self.backend.correction_mut() {
            correction.note_losses();
        }
    }

    /// What was found lost since this was last asked for, in order; nothing without [`Self::note_losses`].
    pub fn take_losses(&mut self) -> Vec<Loss> {
        self.backend.correction_mut().map_or_else(Vec::new, Correction::take_losses)
    }

    /// The host gives or takes away data: what was lost there is no longer missed.
    #[inline]
    pub(crate) fn forgive_lost(&mut self, lpns: Range<LogicalPage>) {
        if CHECK {
            self.plug.forgive_lost(lpns.clone());
        }
        if let Some(correction) = self.backend.correction_mut() {
            correction.forgive_lost(lpns);
        }
    }
}

/// The wear of every block at the last records, and how far the drive was wound forward since.
#[derive(Clone, Debug, Default)]
pub struct WearNotes {
    /// Oldest first.
    notes: Vec<Vec<BlockHistory>>,
    /// In times of what all windows between the records wear.
    wound: f64,
}

impl WearNotes {
    /// What each of these blocks has worn in each window, in thousand-millionths of its life.
    fn windows(&self, blocks: &[BlockId]) -> Vec<Vec<f64>> {
        let worn = |from: &[BlockHistory], to: &[BlockHistory]| {
            blocks.iter().map(|&k| (to[k.index()].wear_ppb - from[k.index()].wear_ppb) as f64).collect()
        };
        self.notes.windows(2).map(|pair| worn(&pair[0], &pair[1])).collect()
    }

    /// Erases of a block in all windows.
    fn erases(&self, block: BlockId) -> f64 {
        let [first, .., last] = self.notes.as_slice() else { return 0.0 };
        f64::from(last[block.index()].erases - first[block.index()].erases)
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> Flash for SimulatedSsd<EXPLAIN, CHECK, T> {
    fn wear(&self) -> Wear {
        let blocks = self.working_blocks();
        let histories = || blocks.iter().map(|&block| self.translation.medium().history(block));
        let n = blocks.len().max(1) as f64;
        Wear {
            least: histories().map(|h| h.wear_ppb).min().unwrap_or(0) as f64 / 1e9,
            mean: histories().map(|h| h.wear_ppb).sum::<u64>() as f64 / 1e9 / n,
            most: histories().map(|h| h.wear_ppb).max().unwrap_or(0) as f64 / 1e9,
            erases_least: histories().map(|h| h.erases).min().unwrap_or(0),
            erases_mean: histories().map(|h| f64::from(h.erases)).sum::<f64>() / n,
            erases_most: histories().map(|h| h.erases).max().unwrap_or(0),
        }
    }

    fn record_wear(&mut self) {
        let medium = self.translation.medium();
        let now = medium.layout().all_blocks().map(|block| medium.history(block)).collect();
        let WearNotes { notes, wound } = &mut self.wear_notes;
        if notes.len() == MOST_WEAR_RECORDS {
            notes.remove(0);
        }
        notes.push(now);
        *wound = 0.0;
    }

    fn fast_forward(&mut self, to_mean_wear: f64, differences: Differences) {
        let missing = (to_mean_wear - self.wear().mean) * 1e9;
        if missing <= 0.0 {
            return;
        }
        let blocks = self.working_blocks();
        let windows = self.wear_notes.windows(&blocks);
        let forecast = WearForecast::new(&windows);
        // Erases for each thousand-millionth of life: a block of a cache that is set aside has more of them than others.
        let ratio = |some: &mut dyn Iterator<Item = usize>| {
            let (erases, ppb) = some.fold((0.0, 0.0), |(erases, ppb), k| {
                (erases + self.wear_notes.erases(blocks[k]), ppb + windows.iter().map(|window| window[k]).sum::<f64>())
            });
            if ppb > 0.0 { erases / ppb } else { 0.0 }
        };
        let of_crowd = ratio(&mut (0..blocks.len()).filter(|&k| forecast.is_in_crowd(k)));
        // In one go or in steps: blocks have worn as far.
        let (from, to) = (self.wear_notes.wound, self.wear_notes.wound + missing / forecast.mean());
        let more: Vec<(BlockId, u32, u64)> = blocks
            .iter()
            .enumerate()
            .map(|(k, &block)| {
                let ppb = (forecast.worn(k, to, differences) - forecast.worn(k, from, differences)).max(0.0);
                let erases = if forecast.is_in_crowd(k) { of_crowd } else { ratio(&mut std::iter::once(k)) };
                (block, (ppb * erases + 0.5) as u32, (ppb + 0.5) as u64)
            })
            .collect();
        self.wear_notes.wound = to;
        self.wear_each(more.into_iter());
    }

    fn begin_retention(&mut self, seconds: u64) {
        if let Some(correction) = self.backend.correction_mut() {
            correction.shelve(seconds, self.now, self.translation.medium());
        }
    }

    fn end_retention(&mut self) {
        if let Some(correction) = self.backend.correction_mut() {
            correction.unshelve();
        }
    }

    fn expected_errors(&self, scheme: EccScheme, wear_factor: f64, retention_hours: f64) -> Option<ExpectedErrors> {
        let correction = self.backend.correction()?;
        let ladder = match scheme {
            EccScheme::Installed => None,
            EccScheme::HardBch => Some(correction.hard_bch()?),
        };
        // Every block: the few that are worn most decide when the first data are lost.
        let mut sum = ExpectedErrors::default();
        for block in self.translation.medium().layout().all_blocks() {
            let of =
                correction.outlook(block, ladder.as_ref(), wear_factor, retention_hours, self.now, &self.translation);
            sum.units += of.units;
            sum.reread += of.reread;
            sum.lost += of.lost;
        }
        Some(sum)
    }
}
