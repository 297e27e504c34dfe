//! What a host asks of a device.

use std::num::NonZeroU32;

use ssdlab_core::Op;

/// One command as the host sends it. Offset and length are bytes, in whole sectors of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the host and returned in the completion. A device never interprets it.
    pub tag: u64,
    pub op: Op,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    /// Force unit access: a write is acknowledged only when it is on the medium.
    pub fua: bool,
    pub hints: Hints,
    /// The data that travel with the command; `None`: no bytes travel.
    pub payload: Option<PayloadId>,
}

/// What a host may tell of the data of a write. A device that makes no use of a hint ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Data of one stream will be overwritten at about the same time (SATA and NVMe streams). 0 is the stream of data
    /// that the host says nothing about. Must be less than [`crate::DeviceInfo::streams`].
    pub stream: u8,
    /// By how many thousandths of its size the data can be compressed. 0: not at all; 750: to a quarter; 1000 or more:
    /// every byte is the same.
    pub compressibility_per_1000: u16,
}

/// Number of a buffer that the device's contents hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayloadId(pub NonZeroU32);

impl Request {
    /// A command without hints or payload.
    #[inline]
    #[must_use]
    pub const fn new(tag: u64, op: Op, offset_bytes: u64, length_bytes: u64) -> Self {
        let hints = Hints { stream: 0, compressibility_per_1000: 0 };
        Request { tag, op, offset_bytes, length_bytes, fua: false, hints, payload: None }
    }

    #[inline]
    #[must_use]
    pub const fn read(tag: u64, offset_bytes: u64, length_bytes: u64) -> Self {
        Self::new(tag, Op::Read, offset_bytes, length_bytes)
    }

    #[inline]
    #[must_use]
    pub const fn write(tag: u64, offset_bytes: u64, length_bytes: u64) -> Self {
        Self::new(tag, Op::Write, offset_bytes, length_bytes)
    }

    #[inline]
    #[must_use]
    pub const fn trim(tag: u64, offset_bytes: u64, length_bytes: u64) -> Self {
        Self::new(tag, Op::Trim, offset_bytes, length_bytes)
    }

    #[inline]
    #[must_use]
    pub const fn write_zeroes(tag: u64, offset_bytes: u64, length_bytes: u64) -> Self {
        Self::new(tag, Op::WriteZeroes, offset_bytes, length_bytes)
    }

    #[inline]
    #[must_use]
    pub const fn flush(tag: u64) -> Self {
        Self::new(tag, Op::Flush, 0, 0)
    }

    #[inline]
    #[must_use]
    pub const fn with_fua(self, fua: bool) -> Self {
        Request { fua, ..self }
    }

    #[inline]
    #[must_use]
    pub const fn with_hints(self, hints: Hints) -> Self {
        Request { hints, ..self }
    }

    #[inline]
    #[must_use]
    pub const fn with_stream(self, stream: u8) -> Self {
        Request { hints: Hints { stream, ..self.hints }, ..self }
    }

    #[inline]
    #[must_use]
    pub const fn with_compressibility(self, per_1000: u16) -> Self {
        Request { hints: Hints { compressibility_per_1000: per_1000, ..self.hints }, ..self }
    }

    #[inline]
    #[must_use]
    pub const fn with_payload(self, payload: PayloadId) -> Self {
        Request { payload: Some(payload), ..self }
    }
}

// Queues hold requests by the thousand and the hot loop copies each.
const _: () = assert!(std::mem::size_of::<Request>() <= 40);
