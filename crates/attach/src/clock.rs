//! The drive's clock, driven by the machine's.
#![allow(clippy::disallowed_methods)] // What is served in real time has to look at the clock.

use std::time::{Duration, Instant};

use ssdlab_core::Nanos;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    /// The drive's time at that instant.
    base: Nanos,
    /// Seconds of the machine for one of the drive.
    scale: f64,
}

impl Clock {
    #[must_use]
    pub fn start(base: Nanos, scale: f64) -> Self {
        Clock { started: Instant::now(), base, scale }
    }

    /// The drive's time.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.at(Instant::now())
    }

    /// The drive's time at an instant.
    #[must_use]
    pub fn at(&self, instant: Instant) -> Nanos {
        let passed = instant.saturating_duration_since(self.started).as_nanos() as u64;
        self.base + if self.scale == 1.0 { passed } else { (passed as f64 / self.scale) as u64 }
    }

    /// How long the machine takes from one time of the drive to a later one.
    #[must_use]
    pub fn wall(&self, from: Nanos, to: Nanos) -> Duration {
        let span = to.saturating_sub(from);
        Duration::from_nanos(if self.scale == 1.0 { span } else { (span as f64 * self.scale) as u64 })
    }

    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The drive's time since it was started.
    #[must_use]
    pub fn since_start(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.base)
    }
}

/// The machine's time.
#[must_use]
pub fn instant() -> Instant {
    Instant::now()
}
