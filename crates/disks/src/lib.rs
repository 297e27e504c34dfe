//! Simulated hard disks.
//!
//! A [`Disk`] is a [`ssdlab_device::Device`] built from a [`DiskSpec`], the contents of a disk file. What it does follows
//! from its parts: where sectors lie (`geometry`), how long the arm takes (`seek`), which of the waiting places it
//! reaches first (`targets`), what it has read and reads on (`read_cache`), and what waits to be written
//! (`write_cache`).
//!
//! A disk has a plug (`plug`): a cut takes what its write cache has not written.
//!
//! Time is counted in whole nanoseconds; platters turn at exactly the same speed for ever. Sectors do not go bad and
//! are not remapped, no read is ever repeated, and the disk neither spins down nor parks its heads while it has power.
//!
//! ```
//! use ssdlab_device::{Device, Request};
//! use ssdlab_disks::{Disk, DiskSpec};
//!
//! let mut disk = Disk::new("plain", DiskSpec::plain(), 1)?;
//! disk.submit(0, Request::read(7, 1 << 20, 4096)).unwrap();
//! let mut done = Vec::new();
//! disk.advance_to_completion(u64::MAX, &mut done);
//! // No more than its longest seek and a turn.
//! assert!(done[0].latency() < 30_000_000);
//! # Ok::<(), ssdlab_keys::SpecError>(())
//! ```

mod as_plug;
mod commands;
mod disk;
mod geometry;
mod journal;
mod plain;
mod plug;
mod read_cache;
mod records;
mod seek;
mod spec;
mod targets;
mod validate;
mod waiting_reads;
mod write_cache;

pub use disk::Disk;
#[doc(hidden)]
pub use plug::SavedDisk;
pub use spec::{
    CacheSpec, ControllerSpec, DiskKind, DiskSpec, MediaSpec, NotQueued, PowerSpec, SeekSpec, ServiceOrder, TrackOrder,
    disk_keys,
};
