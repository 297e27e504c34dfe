//! What a host gets back.

use std::fmt;

use serde::{Deserialize, Serialize};
use ssdlab_core::{Breakdown, Nanos, Op};

use crate::request::Request;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    Ok,
    /// The data could not be corrected: the host gets an error, never wrong data.
    MediaError,
    /// The device accepts no more writes: worn out, or write-protected.
    ReadOnly,
    /// The device is locked and gives no access to its data.
    Locked,
    /// The device gave the command up, and nothing is known of what it had done.
    Aborted,
    /// The device has gone: pulled, or without power.
    Gone,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Ok => "success",
            Status::MediaError => "a media error",
            Status::ReadOnly => "an error: the device is read-only",
            Status::Locked => "an error: the device is locked",
            Status::Aborted => "an abort",
            Status::Gone => "an error: the device is gone",
        })
    }
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    pub tag: u64,
    pub op: Op,
    pub status: Status,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub submitted: Nanos,
    pub completed: Nanos,
    /// Sums to `completed - submitted`; all zero from a device that does not measure it.
    pub breakdown: Breakdown,
}

impl Completion {
    /// A request that is under way, as if it ended now, with nothing said of where its time went.
    #[must_use]
    pub fn under_way(request: &Request, submitted: Nanos, now: Nanos) -> Self {
        let Request { tag, op, offset_bytes, length_bytes, .. } = *request;
        let (completed, breakdown) = (now.max(submitted), Breakdown::NOTHING);
        Completion { tag, op, status: Status::Ok, offset_bytes, length_bytes, submitted, completed, breakdown }
    }

    #[inline]
    #[must_use]
    pub fn latency(&self) -> Nanos {
        self.completed - self.submitted
    }
}
