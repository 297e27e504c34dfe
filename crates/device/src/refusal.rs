//! Why a device does not accept a command.

use ssdlab_core::Op;
use thiserror::Error;

/// A command that the device did not accept. Nothing of it has happened, and it will not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("{} at byte {offset_bytes}: the length must not be zero", op.name())]
    Empty { op: Op, offset_bytes: u64 },
    #[error(
        "{} at byte {offset_bytes}, {length_bytes} bytes long: offset and length must be multiples of {sector_bytes} bytes",
        op.name()
    )]
    NotWholeSectors { op: Op, offset_bytes: u64, length_bytes: u64, sector_bytes: u32 },
    #[error(
        "{} at byte {offset_bytes}, {length_bytes} bytes long: the command reaches beyond the end of the device, which has \
         {capacity_bytes} bytes",
        op.name()
    )]
    BeyondCapacity { op: Op, offset_bytes: u64, length_bytes: u64, capacity_bytes: u64 },
    #[error("{} at byte {offset_bytes} carries data, but the device holds no contents", op.name())]
    NoContents { op: Op, offset_bytes: u64 },
    #[error("stream {stream}: the device has {streams}, numbered from 0")]
    NoSuchStream { stream: u8, streams: u8 },
    #[error("the device does not support the command {}", op.name())]
    Unsupported { op: Op },
    #[error("{}: the device may only be read", op.name())]
    ReadOnly { op: Op },
}
