//! Refresh: data that are old, or have been read often, are moved before their errors grow too many.

use ssdlab_core::Nanos;
use ssdlab_ftl::Translation;
use ssdlab_nand::BlockId;

use crate::SimulatedSsd;
use crate::spec::RefreshSpec;

const DAY_S: f64 = 86_400.0;

/// When data are due. The time counts while the drive is idle, reads count at any time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refresh {
    after_s: Option<u32>,
    watches_reads: bool,
}

impl Refresh {
    #[must_use]
    pub fn new(spec: Option<&RefreshSpec>) -> Self {
        let Some(spec) = spec else { return Refresh::default() };
        Refresh {
            after_s: spec.after_days.map(|days| (days * DAY_S) as u32),
            watches_reads: spec.after_block_reads.is_some(),
        }
    }

    /// Whether blocks that are read too often are moved.
    #[inline]
    #[must_use]
    pub fn watches_reads(&self) -> bool {
        self.watches_reads
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// The drive is idle: what is old is moved, as long as it is. It is looked for once in a rest.
    pub(super) fn refresh_while_idle(&mut self) {
        let Some(after_s) = self.firmware.refresh.after_s else { return };
        let old = self.older_than(after_s, self.now);
        if !old.is_empty() {
            self.ask(|translation, queues| {
                translation.refresh_while_idle(&|block| old.binary_search(&block).is_ok(), queues);
            });
        }
    }

    /// Blocks whose oldest data were written so long ago, in order.
    fn older_than(&self, seconds: u32, now: Nanos) -> Vec<BlockId> {
        let medium = self.translation.medium();
        let Some(correction) = self.backend.correction() else { return Vec::new() };
        let is_old = |&block: &BlockId| {
            medium.finished_pages(block) > 0 && correction.age_s(medium.history(block), now) >= seconds
        };
        medium.layout().all_blocks().filter(is_old).collect()
    }

    /// Moves blocks that have been read too often.
    #[inline]
    pub(crate) fn refresh_much_read(&mut self) {
        while let Some(block) = self.backend.correction_mut().and_then(|correction| correction.take_much_read()) {
            self.ask(|translation, queues| translation.refresh(block, queues));
        }
    }
}
