//! The host link.

use ssdlab_core::{Nanos, nanos_from_us};

use super::{Interval, TimingRule, TimingViolation};
use crate::spec::{LinkGeneration, LinkSpec};

/// Judges data on the link: one direction, one transfer at a time, each as long as its frames.
#[derive(Clone, Debug)]
pub struct LinkReferee {
    /// Coded bits a nanosecond times two: 3, 6, 12; 0 for an ideal link.
    half_gigabits: u64,
    /// What the host controller takes for each data frame.
    host_frame: Nanos,
    free_at: Nanos,
}

impl LinkReferee {
    #[must_use]
    pub fn new(spec: &LinkSpec) -> Self {
        let half_gigabits = match spec.generation {
            LinkGeneration::Sata1 => 3,
            LinkGeneration::Sata2 => 6,
            LinkGeneration::Sata3 => 12,
            LinkGeneration::Ideal => 0,
        };
        LinkReferee { half_gigabits, host_frame: nanos_from_us(spec.host_frame_us), free_at: 0 }
    }

    /// The power is gone: nothing is on the wire.
    pub fn power_cut(&mut self) {
        self.free_at = 0;
    }

    /// What `bytes` of data take at the least: payload in frames of 8 KiB with 256 bytes each around it, and 280 bytes
    /// of announcement; towards the drive, 256 bytes for each frame but the first, which the drive must ask for; ten coded
    /// bits a byte, and two dwords of 256 for ALIGN.
    #[must_use]
    pub fn least(&self, bytes: u64, to_drive: bool) -> Nanos {
        if bytes == 0 {
            return 0;
        }
        let frames = bytes.div_ceil(8192);
        let host = frames * self.host_frame;
        if self.half_gigabits == 0 {
            return host;
        }
        let asked_for = if to_drive { frames - 1 } else { 0 };
        let coded = (bytes + (frames + asked_for) * 256 + 280) * 10;
        host + coded * 2 * 256 / (254 * self.half_gigabits)
    }

    /// Accepts a transfer of `bytes`, or says why the link would not have carried it.
    ///
    /// # Errors
    /// [`TimingRule::LinkBusy`] or [`TimingRule::FrameTime`]; nothing is changed.
    pub fn issue(&mut self, transfer: Interval, bytes: u64, to_drive: bool) -> Result<(), TimingViolation> {
        let Interval { from, to } = transfer;
        let require = |rule, at, earliest| {
            if at >= earliest { Ok(()) } else { Err(TimingViolation { rule, place: 0, at, earliest }) }
        };
        require(TimingRule::LinkBusy, from, self.free_at)?;
        require(TimingRule::FrameTime, to, from + self.least(bytes, to_drive))?;
        self.free_at = to;
        Ok(())
    }
}
