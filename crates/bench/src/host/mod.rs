//! The host side: keeps a device busy as a test, a job file or a trace demands.
//!
//! - [`Host::run`] is the closed loop: jobs that keep a number of commands in flight;
//! - [`Host::replay`] is the open loop: commands that arrive at given times;
//! - [`Host::play`] plays back requests at the queue depths they were recorded with;
//! - [`Host::fill`], [`Host::idle`], [`Host::trim`] and [`Host::secure_erase`] prepare a device.
//!
//! Everything here is generic over the workload and the meter, so that a command costs the host a few nanoseconds: no
//! allocation, and two virtual calls into the device for each command.

mod balance;
mod closed;
mod job;
mod open;
mod play;
pub(crate) mod port;
mod prepare;
mod slowest_seen;

pub use closed::Run;
pub use job::{Job, Limits};
pub use open::{Arrival, Replay};
pub use play::Playback;
pub(crate) use prepare::cannot_be_saved;
pub use prepare::{FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, PREFILL_REST, TRIM_COMMAND_BYTES};
pub(crate) use slowest_seen::cannot_tell;
pub use slowest_seen::{SlowestSeen, Watch};

use ssdlab_core::Nanos;
use ssdlab_device::{Counters, Device, DeviceInfo};

use crate::error::BenchError;
use crate::monitor::Monitor;
use port::Port;

/// Windows' storahci sends at most 1 MiB in one command; larger requests are split.
pub const STORAHCI_MAX_TRANSFER_BYTES: u64 = 1 << 20;
/// 65,536 sectors: what one ATA READ/WRITE FPDMA QUEUED command can carry.
pub const ATA_MAX_TRANSFER_BYTES: u64 = 32 << 20;

/// A host with one device attached. Its clock starts at zero when it is made and never runs backwards.
///
/// After an error the device may still hold commands; the host refuses to go on.
pub struct Host<'a> {
    pub(crate) port: Port<'a>,
    monitor: &'a Monitor<'a>,
}

impl<'a> Host<'a> {
    /// Attaches a device that has just been powered on (its time is zero).
    #[must_use]
    pub fn new(device: &'a mut dyn Device, monitor: &'a Monitor<'a>) -> Self {
        Host { port: Port::new(device), monitor }
    }

    /// Attaches a device that another host has used until `now`, its time included: a copy of one, say.
    #[must_use]
    pub fn resuming(device: &'a mut dyn Device, monitor: &'a Monitor<'a>, now: Nanos) -> Self {
        let mut host = Host::new(device, monitor);
        host.port.start_at(now);
        host
    }

    /// Requests larger than this are split into several commands; the request completes when all of them have.
    /// [`STORAHCI_MAX_TRANSFER_BYTES`] unless set.
    ///
    /// # Panics
    /// If it is not a positive multiple of 512.
    pub fn set_max_transfer_bytes(&mut self, bytes: u64) {
        self.port.set_max_transfer_bytes(bytes);
    }

    /// From now on, [`ssdlab_core::MAX_DURATION`] of simulated time is left: what has not ended by then ends in
    /// [`crate::HostError::TooLong`]. Without this call there is no limit.
    pub fn limit_time(&mut self) {
        self.port.limit_time();
    }

    /// From now on, what the parts of the device do while the slowest request waits is kept for [`Host::slowest_seen`]. What was
    /// kept before is forgotten. Returns whether the device can tell.
    pub fn watch_slowest(&mut self) -> bool {
        self.port.watch_slowest()
    }

    /// Whether [`Host::watch_slowest`] can.
    pub(crate) fn can_be_watched(&mut self) -> bool {
        self.port.device.recorder().is_some()
    }

    /// What was kept since [`Host::watch_slowest`]; `None` if no request has ended since, or it was not called.
    pub fn slowest_seen(&mut self) -> Option<SlowestSeen> {
        self.port.slowest_seen()
    }

    /// The time on the host's and the device's clock.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.port.now
    }

    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.port.device.info()
    }

    /// What all parts of the device have counted since it was powered on, up to now.
    #[must_use]
    pub fn counters(&mut self) -> Counters {
        self.port.counters()
    }

    #[must_use]
    pub fn device(&self) -> &dyn Device {
        self.port.device
    }

    /// The device, for what no host command does.
    pub fn device_mut(&mut self) -> &mut dyn Device {
        self.port.device
    }

    /// Where progress goes.
    #[must_use]
    pub fn monitor(&self) -> &'a Monitor<'a> {
        self.monitor
    }

    /// Lets the device check itself.
    ///
    /// # Errors
    /// [`BenchError::Books`] with the first discrepancy.
    pub fn check_books(&self) -> Result<(), BenchError> {
        self.port.device.check_books().map_err(BenchError::Books)
    }
}

#[cfg(test)]
mod tests;
