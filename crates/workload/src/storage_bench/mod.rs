//! Stand-ins for the AnandTech Storage Bench: the Destroyer (2013), Heavy and Light (2011).
//!
//! The traces themselves were never published; figures about them were ([`Published`]). A [`Stream`] is a
//! deterministic stand-in that meets every one of those figures: numbers of reads and writes, bytes read and written,
//! sizes of requests, sequential share, queue depths, and a limit on idle time. What was not published (sizes and
//! depths of some traces, and everything about addresses) is an estimate, kept apart in [`Estimate`] and described in
//! `docs/storage-bench.md`.
//!
//! Figures are met by counting down, not by rolling dice: every class of request has a number that are left, and the
//! stream draws without putting back. Its totals are exact at the end, whatever the seed, and its memory is constant
//! however long it is.
//!
//! ```
//! use ssdlab_core::Rng;
//! use ssdlab_workload::storage_bench::{Plan, Statistics, Trace};
//!
//! // A hundredth of the Light trace, over the first 10 GB of a drive.
//! let plan = Plan::new(Trace::Light, 8_323, 10_000_000_000)?;
//! let mut counted = Statistics::default();
//! for step in plan.stream(25_000_000, &Rng::new(1)) {
//!     counted.record(&step);
//! }
//! assert_eq!(counted.requests(), 8_323);
//! assert_eq!(counted.reads, 3_726);
//! # Ok::<(), ssdlab_workload::storage_bench::PlanError>(())
//! ```

mod apportion;
mod classes;
mod depths;
mod error;
mod places;
mod plan;
mod published;
mod statistics;
mod stream;

pub use error::PlanError;
pub use plan::{Joint, Plan};
pub use published::{DEPTH_BINS, Estimate, Published, SIZE_BINS, Trace, depth_bin, size_bin};
pub use statistics::Statistics;
pub use stream::{Step, Stream};
