//! The machine's clock.
#![allow(clippy::disallowed_methods)] // A real drive is measured in real time.

use std::time::{Duration, Instant};

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

    /// Waits until `to`.
    pub(crate) fn sleep_until(&self, to: Nanos) {
        let now = self.now();
        if to > now {
            std::thread::sleep(Duration::from_nanos(to - now));
        }
    }
}
