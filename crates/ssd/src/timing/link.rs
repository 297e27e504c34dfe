//! The host link.

use ssdlab_core::Nanos;

use super::{Interval, TimingRule, TimingViolation};
use crate::spec::LinkGeneration;

/// Judges data on the link: one direction, one transfer at a time, each as long as its frames.
#[derive(Clone, Debug)]
pub struct LinkReferee {
    /// Coded bits a nanosecond times two: 3, 6, 12; 0 for an ideal link.
    half_gigabits: u64,
    free_at: Nanos,
}

impl LinkReferee {
    #[must_use]
    pub fn new(generation: LinkGeneration) -> Self {
        let half_gigabits = match generation {
            LinkGeneration::Sata1 => 3,
            LinkGeneration::Sata2 => 6,
            LinkGeneration::Sata3 => 12,
            LinkGeneration::Ideal => 0,
        };
        LinkReferee { half_gigabits, free_at: 0 }
    }

    /// The power is gone: nothing is on the wire.
    pub fn power_cut(&mut self) {
        self.free_at = 0;
    }

    /// What `bytes` of data take at the least: payload in frames of 8 KiB with 256 bytes each around it, and 280 bytes
    /// of announcement; ten coded bits a byte, and two dwords of 256 for ALIGN.
    #[must_use]
    pub fn least(&self, bytes: u64) -> Nanos {
        if self.half_gigabits == 0 || bytes == 0 {
            return 0;
        }
        let coded = (bytes + bytes.div_ceil(8192) * 256 + 280) * 10;
        coded * 2 * 256 / (254 * self.half_gigabits)
    }

    /// Accepts a transfer of `bytes`, or says why the link would not have carried it.
    ///
    /// # Errors
    /// [`TimingRule::LinkBusy`] or [`TimingRule::FrameTime`]; nothing is changed.
    pub fn issue(&mut self, transfer: Interval, bytes: u64) -> Result<(), TimingViolation> {
        let Interval { from, to } = transfer;
        let require = |rule, at, earliest| {
            if at >= earliest { Ok(()) } else { Err(TimingViolation { rule, place: 0, at, earliest }) }
        };
        require(TimingRule::LinkBusy, from, self.free_at)?;
        require(TimingRule::FrameTime, to, from + self.least(bytes))?;
        self.free_at = to;
        Ok(())
    }
}
