//! What a host sends to a drive: access patterns, fio job files and block traces.
//!
//! This crate produces commands. It does not send them: queue depth, think time, rates and the measuring belong to
//! the bench, which asks a [`Source`] for its next command whenever it has room for one. Nothing here knows how a
//! drive works, looks at the clock or remembers anything between runs: the same description and seed give the same
//! commands on every machine.
//!
//! ```
//! use ssdlab_core::Rng;
//! use ssdlab_workload::{Pattern, Source};
//!
//! // 4 KiB random writes over the first 8 GB of a drive, for ever.
//! let mut writes = Pattern::random_write(8_000_000_000, 4096).build(&Rng::new(1))?;
//! let command = writes.next().unwrap();
//! assert_eq!(command.length_bytes, 4096);
//! assert!(command.offset_bytes + 4096 <= 8_000_000_000);
//! # Ok::<(), ssdlab_workload::PatternError>(())
//! ```

pub mod fio;
pub mod pattern;

pub use pattern::{
    AccessPattern, BlockSizes, Command, Distribution, Extent, Mix, Order, Pattern, PatternError,
    Source,
};
