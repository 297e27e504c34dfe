//! A drive's life beyond what is simulated: data that grow old, wear that has been computed rather than written, and
//! what has been lost.

use std::ops::Range;

use ssdlab_nand::BlockHistory;

use super::SimulatedSsd;

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    /// Lets `seconds` of calendar time pass at 30 °C in which the drive does nothing: its data grow older, the simulated
    /// clock stands still. Without `[ecc]` in the drive file nothing changes.
    pub fn age(&mut self, seconds: u64) {
        if let Some(correction) = &mut self.schedule.correction {
            correction.age(seconds);
        }
    }

    /// Wears every good block by `cycles` program/erase cycles in the die's own cell mode. What they hold stays.
    pub fn wear(&mut self, cycles: u32) {
        let ppb = u64::from(cycles) * 1_000_000_000 / u64::from(self.ftl.medium().rated_cycles());
        self.wear_each(|_, _| (cycles, ppb));
    }

    /// What every block has been through, in order of their numbers: a point to measure wear from.
    #[must_use]
    pub fn histories(&self) -> Vec<BlockHistory> {
        let medium = self.ftl.medium();
        (0..medium.layout().block_count()).map(|block| medium.history(block)).collect()
    }

    /// Wears every good block `times` as much again as it has been worn since `earlier`: for looking ahead in steady
    /// work. Blocks keep their differences; what they hold stays.
    ///
    /// # Panics
    /// If `earlier` is not of this drive.
    pub fn repeat_wear(&mut self, earlier: &[BlockHistory], times: f64) {
        self.wear_each(|block, now| {
            let then = earlier[block];
            let erases = f64::from(now.erases.saturating_sub(then.erases)) * times;
            let ppb = now.wear_ppb.saturating_sub(then.wear_ppb) as f64 * times;
            ((erases + 0.5) as u32, (ppb + 0.5) as u64)
        });
    }

    /// Wears every good block by as many erases, and as many thousand-millionths of its life, as `more` says of it.
    pub fn wear_each(&mut self, more: impl Fn(usize, BlockHistory) -> (u32, u64)) {
        for block in 0..self.ftl.medium().layout().block_count() {
            if !self.ftl.medium().is_bad(block) {
                let (erases, ppb) = more(block as usize, self.ftl.medium().history(block));
                self.ftl.wear(block, erases, ppb);
            }
        }
        if let Some(correction) = &mut self.schedule.correction {
            correction.renew_all();
        }
    }

    /// Logical 4 KiB pages whose data were found to be lost, and that the host has not written or trimmed since.
    #[must_use]
    pub fn lost_pages(&self) -> Vec<u32> {
        self.schedule.correction.as_ref().map_or_else(Vec::new, |c| c.lost().collect())
    }

    #[inline]
    pub(super) fn has_lost(&self, lpns: Range<u32>) -> bool {
        self.schedule.correction.as_ref().is_some_and(|c| c.has_lost(lpns))
    }

    /// The host gives or takes away data: what was lost there is no longer missed.
    #[inline]
    pub(super) fn forgive_lost(&mut self, lpns: Range<u32>) {
        if let Some(correction) = &mut self.schedule.correction {
            correction.forgive(lpns);
        }
    }
}
