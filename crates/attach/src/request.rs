//! What a client wants of the drive, and what comes of it, in no protocol's words.

use ssdlab_core::{Nanos, Op};
use thiserror::Error;

/// A stretch of bytes of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub offset_bytes: u64,
    pub length_bytes: u64,
}

/// See the module's own page.
#[derive(Debug)]
pub struct DriveRequest {
    /// Whose it is: the number of a connection.
    pub owner: u64,
    /// By this the owner knows it again.
    pub cookie: u64,
    pub op: Op,
    /// Of a flush: nothing.
    pub extent: Extent,
    /// Of a trim: what else is trimmed.
    pub further: Vec<Extent>,
    /// Of a write: nothing else, or zeroes if there are no data.
    pub data: Vec<u8>,
    /// It ends once what it changes is on the medium.
    pub fua: bool,
    /// A flush after which the drive stands by: a cut is clean then, until the next request.
    pub stands_by: bool,
    /// A read whose data nobody wants.
    pub cache_only: bool,
    /// Of a read: bytes that stay free before the first piece of its data, for what its protocol says first.
    pub headroom_bytes: usize,
}

impl DriveRequest {
    /// A request without data.
    #[must_use]
    pub fn new(owner: u64, cookie: u64, op: Op, offset_bytes: u64, length_bytes: u64) -> Self {
        DriveRequest {
            owner,
            cookie,
            op,
            extent: Extent { offset_bytes, length_bytes },
            further: Vec::new(),
            data: Vec::new(),
            fua: false,
            stands_by: false,
            cache_only: false,
            headroom_bytes: 0,
        }
    }

    /// Bytes that it holds until it is answered: those that it brings, or that are brought to it.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        match self.op {
            Op::Read if !self.cache_only => self.extent.length_bytes,
            _ => self.data.len() as u64,
        }
    }
}

/// What a request becomes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// There was nothing to do.
    Done,
    /// An [`Outcome`] will come; the request holds so many bytes until then.
    Later { held_bytes: u64 },
}

/// The end of a request.
#[derive(Debug)]
pub struct Outcome {
    pub owner: u64,
    pub cookie: u64,
    /// What the request held.
    pub held_bytes: u64,
    /// The data of a read, in order, the first behind its headroom; of other requests there are none.
    pub result: Result<Vec<Vec<u8>>, DriveError>,
    /// When the client should have the answer.
    pub due: Nanos,
}

/// Why a request has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DriveError {
    #[error("no whole sectors, or otherwise not what the drive takes")]
    Invalid,
    #[error("beyond the end of the drive")]
    OutOfRange,
    #[error("the drive is served read-only")]
    NotPermitted,
    #[error("no memory is left for contents, or the disk of the image is full")]
    NoSpace,
    #[error("the drive cannot read, or write, its medium there")]
    Medium,
    #[error("the drive accepts no more writes")]
    WriteProtected,
    #[error("the drive is locked")]
    Locked,
    #[error("the drive gave the command up")]
    Aborted,
    #[error("a command that does not follow the one before it")]
    Sequence,
    #[error("the drive has no such command")]
    NotSupported,
    #[error("the drive has no power")]
    NoPower,
}
