//! How many program/erase cycles a cell mode lasts under an error correction.

use serde::{Deserialize, Serialize};

use crate::ladder::Ladder;
use ssdlab_nand::rber::{ModeErrors, Stress, YEAR_HOURS};

/// What must still hold at the end of life.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Uncorrectable errors per bit read.
    pub uber: f64,
    /// Retention without power, as hours at 30 °C.
    pub retention_hours: f64,
    /// Reads of the block since it was written.
    pub block_reads: f64,
    /// Error rate of the block that must hold, relative to a typical one (see
    /// [`ssdlab_nand::rber::ErrorSpec::block_factor`]).
    pub block_factor: f64,
}

impl Target {
    /// JESD218's client class: UBER 1e-15 after a year without power at 30 °C, on a typical block.
    #[must_use]
    pub fn client() -> Self {
        Target { uber: 1e-15, retention_hours: YEAR_HOURS, block_reads: 0.0, block_factor: 1.0 }
    }
}

/// The program/erase cycles at which the UBER, averaged over the kinds of pages, reaches the target. Zero if even a new
/// block misses it.
#[must_use]
pub fn cycles(errors: &ModeErrors, ladder: &Ladder, target: &Target) -> f64 {
    let uber = |cycles: f64| {
        let stress = Stress { cycles, retention_hours: target.retention_hours, block_reads: target.block_reads };
        let rber = errors.rber(&stress).times(target.block_factor);
        let kinds = errors.references_per_page.len() as f64;
        errors.page_factors().map(|factor| ladder.uber(rber.times(factor))).sum::<f64>() / kinds
    };
    if uber(0.0) >= target.uber {
        return 0.0;
    }
    crate::solve::rising(1e-3, 1e8, |cycles| uber(cycles) - target.uber)
}
