//! The machine's clock.
#![allow(clippy::disallowed_methods)] // A real drive is measured in real time.

use std::time::Instant;

use ssdlab_core::Nanos;

/// Time since a drive was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock(Instant::now())
    }

    pub(crate) fn now(&self) -> Nanos {
        self.0.elapsed().as_nanos() as Nanos
    }
}
