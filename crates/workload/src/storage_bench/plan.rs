//! A trace laid out: everything that does not depend on chance.

use ssdlab_core::{Nanos, Rng, UNIT_BYTES};

use super::classes::{Class, classes};
use super::depths::Hillscape;
use super::places::SMALLEST_FOOTPRINT_BYTES;
use super::published::Trace;
use super::stream::Stream;

/// Fewer requests cannot hold the published proportions.
const FEWEST_REQUESTS: u64 = 1_000;

/// Why a trace cannot be laid out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    #[error(
        "a trace of {requests} requests cannot keep the published proportions; it needs at least {FEWEST_REQUESTS}"
    )]
    TooShort { requests: u64 },
    #[error(
        "{footprint_bytes} bytes are too few addresses for the trace; it needs at least {SMALLEST_FOOTPRINT_BYTES}"
    )]
    TooNarrow { footprint_bytes: u64 },
    /// The figures of a trace contradict each other; a mistake in this crate.
    #[error("the figures of {trace} contradict each other: {problem}")]
    Contradiction { trace: &'static str, problem: String },
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

    /// The requests, in an order and at places that `rng` decides on. No pause is longer than `idle_cap`.
    #[must_use]
    pub fn stream(&self, idle_cap: Nanos, rng: &Rng) -> Stream {
        Stream::new(self, idle_cap, rng)
    }
}
