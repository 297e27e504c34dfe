//! The firmware: the processor that all of it runs on, rounds of the collector, and idle work.

mod idle;
mod idle_folding;
mod processor;
mod refresh;
mod rounds;

use ssdlab_core::Nanos;

use crate::spec::DriveSpec;

pub use idle::Idle;
pub use processor::{Moving, Processed, Processor};
pub use refresh::Refresh;
pub use rounds::Rounds;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Firmware {
    pub processor: Processor,
    pub rounds: Rounds,
    pub idle: Idle,
    pub refresh: Refresh,
}

impl Firmware {
    /// `row_units`: mapping units that a die programs together.
    #[must_use]
    pub fn new(drive: &DriveSpec, row_units: u64) -> Self {
        Firmware {
            processor: Processor::new(drive, row_units),
            rounds: Rounds::new(drive),
            idle: Idle::new(drive),
            refresh: Refresh::new(drive.refresh.as_ref()),
        }
    }

    /// Whether all it does for a copy is to move the unit, which takes a known time.
    pub fn works_by_moves(&self) -> bool {
        !self.rounds.are_used() && self.processor.time_of_move().is_some()
    }

    /// The power is gone: nothing is being done, and nothing is due.
    pub fn power_cut(&mut self, now: Nanos) {
        self.processor.power_cut();
        self.rounds.power_cut();
        self.idle.rest_for_good(now);
    }
}
