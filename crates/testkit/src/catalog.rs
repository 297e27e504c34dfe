//! Drives and dies of the catalog, without its loader: crates below the catalog are tested with them, too.

use ssdlab_nand::DieSpec;
use ssdlab_ssd::DriveSpec;

const DRIVE: &str = include_str!("../../../catalog/drives/ideal-32die.toml");
const DIE: &str = include_str!("../../../catalog/nand/ideal.toml");

/// The catalog's ideal drive of 32 dies.
///
/// # Panics
/// If its file does not describe a drive.
#[must_use]
pub fn ideal_drive() -> DriveSpec {
    ideal_drive_with("")
}

/// The same with sections added to its file.
///
/// # Panics
/// If the whole does not describe a drive.
#[must_use]
pub fn ideal_drive_with(sections: &str) -> DriveSpec {
    toml::from_str(&format!("{DRIVE}\n{sections}")).expect("a drive")
}

/// The die of the ideal drive: one plane of 4 KiB pages, one bit per cell.
///
/// # Panics
/// If its file does not describe a die.
#[must_use]
pub fn ideal_die() -> DieSpec {
    toml::from_str(DIE).expect("a die")
}
