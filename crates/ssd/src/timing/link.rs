//! The host link.

use ssdlab_core::{Nanos, nanos_from_us};

use super::{Interval, TimingRule, TimingViolation};
use crate::frontend::{LinkGeneration, LinkSpec};

/// Judges data on the link: on each wire one transfer at a time, each as long as its frames or packets.
#[derive(Clone, Debug)]
pub struct LinkReferee {
    kind: Kind,
    /// To the host, to the drive.
    free_at: [Nanos; 2],
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Sata {
        /// Coded bits a nanosecond times two: 3, 6, 12; 0 for an ideal link.
        half_gigabits: u64,
        /// What the host controller takes for each data frame.
        host_frame: Nanos,
    },
    Pcie {
        /// Bits a nanosecond on all lanes times two.
        half_gigabits: u64,
        /// Coded bits of sixteen bytes.
        coded: u64,
        payload: u64,
    },
}

impl LinkReferee {
    #[must_use]
    pub fn new(spec: &LinkSpec) -> Self {
        let sata = |half_gigabits| Kind::Sata { half_gigabits, host_frame: nanos_from_us(spec.host_frame_us) };
        let pcie = |half_gigabits: u64, coded| {
            let pcie = spec.pcie.as_ref().expect("a validated drive");
            Kind::Pcie {
                half_gigabits: half_gigabits * u64::from(pcie.lanes),
                coded,
                payload: pcie.max_payload_bytes.into(),
            }
        };
        let kind = match spec.generation {
            LinkGeneration::Sata1 => sata(3),
            LinkGeneration::Sata2 => sata(6),
            LinkGeneration::Sata3 => sata(12),
            LinkGeneration::Ideal => sata(0),
            LinkGeneration::Pcie1 => pcie(5, 160),
            LinkGeneration::Pcie2 => pcie(10, 160),
            LinkGeneration::Pcie3 => pcie(16, 130),
            LinkGeneration::Pcie4 => pcie(32, 130),
        };
        LinkReferee { kind, free_at: [0; 2] }
    }

    /// The power is gone: nothing is on the wire.
    pub fn power_cut(&mut self) {
        self.free_at = [0; 2];
    }

    /// What `bytes` of data take at the least.
    ///
    /// Serial ATA: payload in frames of 8 KiB with 256 bytes each around it, and 280 bytes of announcement; towards the
    /// drive, 256 bytes for each frame but the first, which the drive must ask for; ten coded bits a byte, and two dwords of 256
    /// for ALIGN.
    ///
    /// PCI Express: payload in packets with 24 bytes each around it towards the host, and 20 towards the drive, which has asked
    /// for them; bits as coded.
    #[must_use]
    pub fn least(&self, bytes: u64, to_drive: bool) -> Nanos {
        if bytes == 0 {
            return 0;
        }
        match self.kind {
            Kind::Sata { half_gigabits, host_frame } => {
                let frames = bytes.div_ceil(8192);
                let host = frames * host_frame;
                if half_gigabits == 0 {
                    return host;
                }
                let asked_for = if to_drive { frames - 1 } else { 0 };
                let coded = (bytes + (frames + asked_for) * 256 + 280) * 10;
                host + coded * 2 * 256 / (254 * half_gigabits)
            }
            Kind::Pcie { half_gigabits, coded, payload } => {
                let around = if to_drive { 20 } else { 24 };
                (bytes + bytes.div_ceil(payload) * around) * coded * 2 / (16 * half_gigabits)
            }
        }
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
        let wire = usize::from(to_drive && matches!(self.kind, Kind::Pcie { .. }));
        require(TimingRule::LinkBusy, from, self.free_at[wire])?;
        require(TimingRule::FrameTime, to, from + self.least(bytes, to_drive))?;
        self.free_at[wire] = to;
        Ok(())
    }
}
