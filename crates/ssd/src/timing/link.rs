//! The host link.

use ssdlab_core::{Nanos, nanos_from_us};

use super::{Interval, TimingRule, TimingViolation};
use crate::frontend::{LinkGeneration, LinkSpec, PcieSpec};

/// Judges data on the link: on each wire one transfer at a time, each as long as its frames or packets.
#[derive(Clone, Debug)]
pub struct LinkReferee {
    /// Coded bits a nanosecond times two: 3, 6, 12; 0 for an ideal link.
    half_gigabits: u64,
    /// What the host controller takes for each data frame.
    host_frame: Nanos,
    free_at: Nanos,
    pcie: Option<Box<PcieReferee>>,
}

/// The same of PCI Express.
#[derive(Clone, Debug)]
struct PcieReferee {
    /// Bits a nanosecond on all lanes times two.
    half_gigabits: u64,
    /// Coded bits of sixteen bytes.
    coded: u64,
    payload: u64,
    /// To the drive; to the host is the other's.
    free_at: Nanos,
}

impl PcieReferee {
    fn new(spec: &LinkSpec) -> Option<Self> {
        let (half_gigabits, coded) = match spec.generation {
            LinkGeneration::Pcie1 => (5, 160),
            LinkGeneration::Pcie2 => (10, 160),
            LinkGeneration::Pcie3 => (16, 130),
            LinkGeneration::Pcie4 => (32, 130),
            LinkGeneration::Pcie5 => (64, 130),
            LinkGeneration::Sata1 | LinkGeneration::Sata2 | LinkGeneration::Sata3 | LinkGeneration::Ideal => {
                return None;
            }
        };
        let PcieSpec { lanes, max_payload_bytes, .. } = spec.pcie.as_ref()?;
        let half_gigabits = half_gigabits * u64::from(*lanes);
        Some(PcieReferee { half_gigabits, coded, payload: u64::from(*max_payload_bytes), free_at: 0 })
    }

    /// Payload in packets with 24 bytes each around it towards the host, and 20 towards the drive, which has asked for them, 512
    /// bytes at a time; bits as coded.
    #[inline(never)]
    fn least(&self, bytes: u64, to_drive: bool) -> Nanos {
        let (around, payload) = if to_drive { (20, self.payload.min(512)) } else { (24, self.payload) };
        (bytes + bytes.div_ceil(payload) * around) * self.coded * 2 / (16 * self.half_gigabits)
    }
}

impl LinkReferee {
    #[must_use]
    pub fn new(spec: &LinkSpec) -> Self {
        let half_gigabits = match spec.generation {
            LinkGeneration::Sata1 => 3,
            LinkGeneration::Sata2 => 6,
            LinkGeneration::Sata3 => 12,
            _ => 0,
        };
        let pcie = PcieReferee::new(spec).map(Box::new);
        LinkReferee { half_gigabits, host_frame: nanos_from_us(spec.host_frame_us), free_at: 0, pcie }
    }

    /// The power is gone: nothing is on the wire.
    pub fn power_cut(&mut self) {
        self.free_at = 0;
        if let Some(pcie) = &mut self.pcie {
            pcie.free_at = 0;
        }
    }

    /// What `bytes` of data take at the least. Serial ATA: payload in frames of 8 KiB with 256 bytes each around it, and 280 bytes
    /// of announcement; towards the drive, 256 bytes for each frame but the first, which the drive must ask for; ten coded
    /// bits a byte, and two dwords of 256 for ALIGN.
    #[must_use]
    pub fn least(&self, bytes: u64, to_drive: bool) -> Nanos {
        if bytes == 0 {
            return 0;
        }
        if let Some(pcie) = &self.pcie {
            return pcie.least(bytes, to_drive);
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
        let least = self.least(bytes, to_drive);
        let free_at = match &mut self.pcie {
            Some(pcie) if to_drive => &mut pcie.free_at,
            _ => &mut self.free_at,
        };
        require(TimingRule::LinkBusy, from, *free_at)?;
        require(TimingRule::FrameTime, to, from + least)?;
        *free_at = to;
        Ok(())
    }
}
