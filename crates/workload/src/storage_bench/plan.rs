//! A trace laid out: everything that does not depend on chance.

use ssdlab_core::UNIT_BYTES;

use super::classes::{Class, classes};
use super::depths::Hillscape;
use super::error::{FEWEST_REQUESTS, PlanError};
use super::places::SMALLEST_FOOTPRINT_BYTES;
use super::published::Trace;

/// A trace of a given length over a given range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(super) trace: Trace,
    pub(super) requests: u64,
    pub(super) footprint_bytes: u64,
    pub(super) classes: Vec<Class>,
    pub(super) depths: Hillscape,
    pub(super) pauses: u64,
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
        })
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
