//! The words that every other crate of ssdlab uses: time and its causes, random numbers and latency histograms; and what
//! several need: threads that share jobs, panics as results, files that people give, "did you mean".
//!
//! Nothing here knows what a drive is. Nothing here looks at the clock, the environment or a hash order: the same
//! input and seed give the same bytes on every machine.
//!
//! ```
//! use ssdlab_core::{Rng, Histogram};
//! let mut rng = Rng::new(1).stream("latency");
//! let mut h = Histogram::new();
//! for _ in 0..1000 { h.record(50_000 + rng.below(1000)); }
//! assert!(h.percentile(99.0) >= 50_000);
//! ```

mod die_set;
mod divide;
mod fnv;
mod histogram;
pub mod input;
mod io;
mod nearest;
mod number_type;
mod panics;
mod ring;
mod rng;
mod time;
mod workers;

pub use die_set::{DieSet, MAX_DIES};
pub use divide::FastDiv;
pub use fnv::Fnv1a;
pub use histogram::{Bucket, HISTOGRAM_BUCKETS, Histogram, rank};
pub use io::{Breakdown, CAUSES, Cause, Op};
pub use nearest::nearest;
pub use panics::catch_panic;
pub use ring::Ring;
pub use rng::Rng;
pub use time::{
    MAX_DURATION, MICROSECOND, MILLISECOND, Nanos, SECOND, format_duration, nanos_from_ms, nanos_from_us, to_us,
};
pub use workers::Workers;

/// Bytes of a page as hosts know it, which most drives map by itself.
pub const UNIT_BYTES: u64 = 4096;
/// Bytes of one sector, the smallest thing a host can address.
pub const SECTOR_BYTES: u64 = 512;
