//! The machine's clock.
#![allow(clippy::disallowed_methods)] // A real drive is measured in real time.

use std::time::{Duration, Instant};

use ssdlab_core::Nanos;

/// Time since a drive was opened, without what it took to trim it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock(Instant::now())
    }

    /// One that shows `now` at this moment.
    pub(crate) fn showing(now: Nanos) -> Clock {
        let start = Instant::now();
        Clock(start.checked_sub(Duration::from_nanos(now)).unwrap_or(start))
    }

    pub(crate) fn now(&self) -> Nanos {
        self.0.elapsed().as_nanos() as Nanos
    }
}
