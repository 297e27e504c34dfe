//! What tests of several crates need: small drives, read from the catalog or drawn at random.
//!
//! - [`ideal_drive`], [`ideal_die`]: the catalog's ideal drive and die, to be made small by the test.
//! - [`any_drive`]: a property-test strategy over small drives with a map of pages, of every policy of mapping and of collection;
//!   [`any_log_block_drive`]: the same with log blocks. What dies and drives have beside these (caches of SLC, compression,
//!   correction, protection from power cuts, suspend, caches of dies) torture draws.
//! - [`DIE_POWER`], [`DRIVE_POWER`]: what such a die and drive draw.
//! - [`opal`]: what a host says to a drive that can be locked.
//! - [`altered`], [`altered_drive`]: a saved state of which one value is another one.
//!
//! Drives of which only a few things matter begin with `DriveSpec::plain` and `DieSpec::plain`: a key that is new is
//! then learned there alone.

mod alter;
mod any_drive;
mod catalog;
pub mod opal;
mod power;

pub use alter::{altered, altered_drive, difference_of_drives};
pub use any_drive::{DrawnDrive, any_drive, any_log_block_drive};
pub use catalog::{ideal_die, ideal_drive, ideal_drive_with};
pub use power::{DIE_POWER, DRIVE_POWER};
