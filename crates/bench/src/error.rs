//! What can go wrong between asking for a test and having its outcome.

use ssdlab_core::{Nanos, Op, format_duration};
use ssdlab_device::{Refusal, Status};

use crate::params::ParamError;

/// An error of the host side: a command that cannot be sent, or a device that does not answer as it must.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The device did not accept a command.
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("job {job}: {reason}")]
    BadJob { job: usize, reason: String },
    #[error("arrival {index} comes at {}, before the one ahead of it: arrivals must be in time order", format_duration(*at))]
    ArrivalOrder { index: u64, at: Nanos },
    #[error("the device did not balance: {0}")]
    Unbalanced(String),
    #[error(
        "the device failed a command: {} at byte {offset_bytes}, {length_bytes} bytes long, ended with {status}{trouble} after {}",
        op.name(),
        format_duration(*at)
    )]
    Failed {
        op: Op,
        offset_bytes: u64,
        length_bytes: u64,
        status: Status,
        /// What else the device says, in brackets.
        trouble: String,
        at: Nanos,
    },
    #[error("the device has {in_flight} commands and will never finish them (seen at {})", format_duration(*at))]
    Stalled { in_flight: u64, at: Nanos },
    #[error(
        "the device ended {commands} commands in {} (seen at {}): it takes next to no time for this workload, so that a run of a given duration would hardly ever end",
        format_duration(*within),
        format_duration(*at)
    )]
    TimeStands { commands: u32, within: Nanos, at: Nanos },
    #[error("it had not ended after {} of simulated time, the longest possible", format_duration(*limit))]
    TooLong { limit: Nanos },
    #[error("cancelled")]
    Cancelled,
}

/// An error of a test.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The drive could not be built or powered on.
    #[error("the device could not be made: {0}")]
    Device(String),
    /// [`ssdlab_device::Device::check_books`] found a bug in the device.
    #[error("the device's books do not balance, so its figures cannot be trusted: {0}")]
    Books(String),
    /// The test makes no sense on this device (no TRIM, span too small …).
    #[error("{0}")]
    Unsuitable(String),
    #[error("the test panicked: {0}")]
    Panicked(String),
}

impl BenchError {
    /// What follows the life of a device from its beginning cannot begin with one that is worn.
    #[must_use]
    pub fn worn_before(name: &str) -> Self {
        BenchError::Unsuitable(format!(
            "{name} is worn already, and this follows the life of a new drive: leave [used] out of the drive file"
        ))
    }

    /// Whether the user stopped the test, so that nothing is wrong.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, BenchError::Host(HostError::Cancelled))
    }
}
