//! What a host sends to a drive: access patterns, fio job files, block traces and storage benches.
//!
//! | to describe a load by | begin at |
//! |---|---|
//! | block size, order, mix of reads and writes | [`Pattern`] |
//! | a known name, such as Iometer's file server | [`pattern::named`] |
//! | a fio job file | [`fio::JobFile`] |
//! | a stand-in for a Storage Bench trace | [`storage_bench::Plan`] |
//! | applications as in the StorageMark indexes | [`application_mix::Stream`] |
//! | a recording of a real host | [`trace::TraceSource`], [`trace::Placement`] |
//!
//! **What it is not.** This crate produces commands and sends none: queue depth, think time, rates, replay speed and
//! the measuring belong to the bench, which asks a [`Source`] for its next command whenever it has room for one.
//! Nothing here knows how a drive works or what the data is; there is no data. It is not a fio: host software
//! (engines, files, buffers, processors) is not simulated, and offsets are drawn like fio's, not equal to them.
//!
//! **Limits.** Offsets and lengths are 64-bit bytes in whole 512-byte sectors. A trace is streamed and may have any
//! length; a line of it may have 64 KiB. A job may have 4,096 clones. The same description and seed give the same
//! commands on every machine: no clock, no environment, no hash order, and mathematics from `libm`.
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

pub mod application_mix;
pub mod fio;
pub mod pattern;
pub mod storage_bench;
pub mod trace;

pub use pattern::{
    AccessPattern, AgedFill, BlockSizes, Command, Distribution, Extent, Mix, Order, Pattern, PatternError, Source,
    Zone, ZoneExtent,
};
