//! The firmware: the processor that all of it runs on, rounds of the collector, and idle work.

mod idle;
mod idle_folding;
mod processor;
mod rounds;

use ssdlab_core::Nanos;

use crate::spec::DriveSpec;

pub use idle::Idle;
pub use processor::{Processed, Processor};
pub use rounds::Rounds;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Firmware {
    pub processor: Processor,
    pub rounds: Rounds,
    pub idle: Idle,
}

impl Firmware {
    #[must_use]
    pub fn new(drive: &DriveSpec) -> Self {
        Firmware { processor: Processor::new(drive), rounds: Rounds::new(drive), idle: Idle::new(drive) }
    }

    /// The power is gone: nothing is being done, and nothing is due.
    pub fn power_cut(&mut self, now: Nanos) {
        self.processor.power_cut();
        self.rounds.power_cut();
        self.idle.rest_for_good(now);
    }
}
