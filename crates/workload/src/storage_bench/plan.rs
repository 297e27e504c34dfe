//! A trace laid out: everything that does not depend on chance.

use ssdlab_core::UNIT_BYTES;

use super::classes::{Class, classes};
use super::depths::Hillscape;
use super::error::{FEWEST_REQUESTS, PlanError};
use super::places::SMALLEST_FOOTPRINT_BYTES;
use super::published::Trace;

/// How the sizes of requests go with the depth of the queue. Each was published by itself, how they go together was not:
/// whatever is chosen here, every published figure is met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Joint {
    /// Any size at any depth.
    #[default]
    Independent,
    /// Deep queues are rather those of small requests, as of a program that starts.
    SmallDeep,
    /// Deep queues are rather those of large requests, as of files that are copied.
    LargeDeep,
}

impl Joint {
    /// The one in the middle, then the two ends between which every other choice lies.
    pub const ALL: [Joint; 3] = [Joint::Independent, Joint::SmallDeep, Joint::LargeDeep];
}

/// A trace of a given length over a given range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(super) trace: Trace,
    pub(super) requests: u64,
    pub(super) footprint_bytes: u64,
    pub(super) classes: Vec<Class>,
    pub(super) depths: Hillscape,
    pub(super) pauses: u64,
    pub(super) joint: Joint,
}

impl Plan {
    /// Lays out `requests` requests in the proportions of `trace` over the addresses `0..footprint_bytes` (taken
    /// down to whole 4 KiB).
    ///
    /// # Errors
    /// [`PlanError`] if there are too few requests or addresses.
    pub fn new(trace: Trace, requests: u64, footprint_bytes: u64) -> Result<Self, PlanError> {
        if requests < FEWEST_REQUESTS {
            return Err(PlanError::TooShort { requests });
        }
        if footprint_bytes < SMALLEST_FOOTPRINT_BYTES {
            return Err(PlanError::TooNarrow { footprint_bytes });
        }
        let depths = Hillscape::new(trace, requests);
        Ok(Plan {
            trace,
            requests,
            footprint_bytes: footprint_bytes / UNIT_BYTES * UNIT_BYTES,
            classes: classes(trace, requests)?,
            pauses: (requests / trace.estimate().requests_per_pause).min(depths.starts()),
            depths,
            joint: Joint::default(),
        })
    }

    /// The same with sizes and depths drawn together in this way.
    #[must_use]
    pub fn with_joint(self, joint: Joint) -> Self {
        Plan { joint, ..self }
    }

    #[must_use]
    pub fn trace(&self) -> Trace {
        self.trace
    }

    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    #[must_use]
    pub fn footprint_bytes(&self) -> u64 {
        self.footprint_bytes
    }
}
