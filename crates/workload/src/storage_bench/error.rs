//! Why a trace cannot be laid out.

use super::places::SMALLEST_FOOTPRINT_BYTES;

/// Fewer requests cannot hold the published proportions.
pub(super) const FEWEST_REQUESTS: u64 = 1_000;

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
