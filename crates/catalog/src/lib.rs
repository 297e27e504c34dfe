//! What ssdlab knows as data: drives, disks, die types and published figures, each value with its source.
//!
//! The files of `catalog/` are embedded in the binary. [`device`] turns what a user gives (a catalog name, the path of
//! a file of one's own, or a device expression) into a [`DeviceRecipe`]. [`resolve`] does so for names of drives alone,
//! which it turns into a [`Drive`]. [`claims`] lays published figures beside simulated
//! ones. Every error is a [`Diagnostic`]: what is wrong, where, and what would be right.
//!
//! ```
//! let drive = ssdlab_catalog::resolve("jmf667h-toshiba-128gb").unwrap();
//! assert_eq!(drive.spec.capacity_bytes, 128_035_676_160);
//! let dies = drive.rows.iter().find(|row| row.key == "flash.dies").unwrap();
//! assert_eq!(dies.value, "16");
//! ```

/// Its examples run as those of the crates do.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct RustPage;

mod adapter;
pub mod claims;
mod device;
mod diagnostic;
mod disk;
pub mod documentation;
mod embedded;
mod explain;
mod keys;
mod kind;
mod load;
mod resolve;
mod template;

pub use adapter::{Adapter, adapter, adapter_names, parse_adapter};
pub use device::{
    BuildSsd, DEVICE, DEVICE_ARGUMENT, DeviceRecipe, DeviceTemplate, Function, Parts, as_written, by_file_names,
    device, one_spelling, reference, reference_identity,
};
pub use diagnostic::{Diagnostic, Place};
pub use disk::{Disk, disk, disk_names, parse_disk};
pub use keys::{OVER_PROVISIONING, Origin, SpecRow, of_spare};
pub use load::parse;
pub use resolve::{
    Die, Drive, array_names, die, die_names, drive_names, is_of_catalog, parse_die, parse_drive, resolve,
};
pub use template::{DIE_PREFIX, Refusal, Template, is_key_without_section};
