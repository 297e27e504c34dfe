//! What requests wait for: which cause may be named as the one, and in which words.

use std::collections::BTreeMap;

use ssdlab_bench::{SlowIo, TimeShare};
use ssdlab_core::{CAUSES, Cause};

/// A cause that a sentence names alone has so much of the time, in per cent: one of several that weigh alike is not what
/// requests wait for.
pub(super) const MOST: f64 = 50.0;

/// Where the time of requests went.
pub(super) struct Times {
    /// In the order of [`CAUSES`].
    us: [f64; CAUSES.len()],
    all: f64,
}

impl Times {
    pub fn of(share: &TimeShare) -> Times {
        Times::sum([(&share.mean_us, share.latency_mean_us)].into_iter())
    }

    pub fn of_slowest(slowest: &[SlowIo]) -> Times {
        Times::sum(slowest.iter().map(|io| (&io.causes_us, io.latency_us)))
    }

    fn sum<'a>(requests: impl Iterator<Item = (&'a BTreeMap<String, f64>, f64)>) -> Times {
        requests.fold(Times { us: [0.0; CAUSES.len()], all: 0.0 }, |Times { us, all }, (causes, latency)| Times {
            us: std::array::from_fn(|i| us[i] + causes.get(CAUSES[i].key()).copied().unwrap_or(0.0)),
            all: all + latency,
        })
    }

    /// Without these.
    pub fn but(&self, causes: &[Cause]) -> Times {
        let us = std::array::from_fn(|i| if causes.contains(&CAUSES[i]) { 0.0 } else { self.us[i] });
        Times { all: us.iter().sum(), us }
    }

    /// Of all of them together, in microseconds.
    pub const fn all_us(&self) -> f64 {
        self.all
    }

    pub fn percent(&self, cause: Cause) -> f64 {
        100.0 * self.us[cause as usize] / self.all.max(1e-9)
    }

    /// The cause, other than these, that has most of it, with its share in per cent; `None` if all took no time.
    pub fn largest_but(&self, causes: &[Cause]) -> Option<(Cause, f64)> {
        let others =
            CAUSES.into_iter().filter(|cause| !causes.contains(cause)).map(|cause| (cause, self.percent(cause)));
        // Of equal ones the first in report order.
        others.rev().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|&(_, percent)| percent > 0.0)
    }

    /// The same if it may be named alone.
    pub fn main_but(&self, causes: &[Cause]) -> Option<(Cause, f64)> {
        self.largest_but(causes).filter(|&(_, percent)| percent >= MOST)
    }
}

/// What a request waits for, so that "it waits for" can stand before it.
pub(super) const fn awaited(cause: Cause) -> &'static str {
    match cause {
        Cause::Link => "the transfer over the host link",
        Cause::Controller => "the controller to process the command",
        Cause::Buffer => "room in the write buffer",
        Cause::Queue => "requests before it in the queue",
        Cause::NotQueued => "a FLUSH or TRIM that goes alone",
        Cause::Bus => "the bus to the flash",
        Cause::Read => "a flash read",
        Cause::Program => "a flash program",
        Cause::Erase => "an erase",
        Cause::GarbageCollection => "garbage collection",
        Cause::Metadata => "the mapping table to be written",
        Cause::EccRetry => "a read to be tried again",
        Cause::Fold => "the SLC cache to be emptied",
        Cause::Merge => "a block merge",
        Cause::Seek => "a seek",
        Cause::Rotation => "the platter to come round",
        Cause::Transfer => "the platter to pass by",
        Cause::Destage => "cached writes to be written back",
        Cause::AdapterCache => "room in the adapter's cache",
        Cause::AdapterFlush => "a flush of the adapter's cache",
        Cause::Heat => "the drive to cool down",
    }
}
