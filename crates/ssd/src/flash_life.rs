//! A drive's life beyond what is simulated: data that grow old, wear that has been computed rather than written, and
//! what has been lost.

use std::ops::Range;

use ssdlab_device::{EccScheme, ExpectedErrors, Flash, Wear};
use ssdlab_ftl::Translation;
use ssdlab_nand::{BlockHistory, BlockId, LogicalPage};

use crate::SimulatedSsd;
use crate::backend::{Correction, Loss};

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

/// The wear of every block at the last three notes, and how far the drive was wound forward since.
#[derive(Clone, Debug, Default)]
pub struct WearNotes {
    /// Oldest first.
    notes: Vec<Vec<BlockHistory>>,
    /// In times of what a window wears.
    wound: f64,
}

/// What blocks that work have worn in each of the two windows between the notes.
struct Windows {
    first: Vec<f64>,
    second: Vec<f64>,
    /// Erases for each thousand-millionth of life.
    erases_per_ppb: f64,
}

impl Windows {
    fn mean(window: &[f64]) -> f64 {
        window.iter().sum::<f64>() / window.len() as f64
    }

    /// Correlation of the blocks' wear in the two windows: how much of their differences comes again. 0 to 1.
    fn constancy(&self) -> f64 {
        let (m1, m2) = (Self::mean(&self.first), Self::mean(&self.second));
        let (mut both, mut v1, mut v2) = (0.0, 0.0, 0.0);
        for (a, b) in self.first.iter().zip(&self.second) {
            both += (a - m1) * (b - m2);
            v1 += (a - m1) * (a - m1);
            v2 += (b - m2) * (b - m2);
        }
        if v1 * v2 == 0.0 { 0.0 } else { (both / libm::sqrt(v1 * v2)).clamp(0.0, 1.0) }
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    fn windows(&self, blocks: &[BlockId]) -> Windows {
        let [a, b, c] = self.wear_notes.notes.as_slice() else { panic!("two windows of work lie between three notes") };
        let worn = |from: &[BlockHistory], to: &[BlockHistory]| -> Vec<f64> {
            blocks.iter().map(|&k| (to[k.index()].wear_ppb - from[k.index()].wear_ppb) as f64).collect()
        };
        let (first, second) = (worn(a, b), worn(b, c));
        let erases: u64 = blocks.iter().map(|&k| u64::from(c[k.index()].erases - a[k.index()].erases)).sum();
        let ppb: f64 = first.iter().chain(&second).sum();
        assert!(ppb > 0.0, "no block was worn between the notes");
        Windows { first, second, erases_per_ppb: erases as f64 / ppb }
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
        if notes.len() == 3 {
            notes.remove(0);
        }
        notes.push(now);
        *wound = 0.0;
    }

    fn fast_forward(&mut self, to_mean_wear: f64) {
        let missing = (to_mean_wear - self.wear().mean) * 1e9;
        if missing <= 0.0 {
            return;
        }
        let blocks = self.working_blocks();
        let windows = self.windows(&blocks);
        let mean = (Windows::mean(&windows.first) + Windows::mean(&windows.second)) / 2.0;
        let constancy = windows.constancy();
        let growth = |times: f64| constancy * times + (1.0 - constancy) * libm::sqrt(times);
        // In one go or in steps: what blocks differ by has grown as far.
        let (from, to) = (self.wear_notes.wound, self.wear_notes.wound + missing / mean);
        self.wear_notes.wound = to;
        let growth = growth(to) - growth(from);
        let worn = windows.first.iter().zip(&windows.second);
        self.wear_each(blocks.into_iter().zip(worn).map(|(block, (first, second))| {
            let own = (first + second) / 2.0 - mean;
            let ppb = (missing + own * growth).max(0.0);
            (block, (ppb * windows.erases_per_ppb + 0.5) as u32, (ppb + 0.5) as u64)
        }));
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
