//! Names and numbers by which a drive is known.

use ssdlab_core::Fnv1a;

use crate::export::Export;

/// Largest transfer of one command.
pub const MOST_TRANSFER_BYTES: u64 = 8 << 20;
/// Longest stretch of one WRITE SAME.
pub const MOST_SAME_BYTES: u64 = MOST_TRANSFER_BYTES;
/// Longest stretch of one UNMAP, and most of its descriptors.
pub const MOST_UNMAP_BYTES: u64 = 512 << 20;
pub const MOST_UNMAP_DESCRIPTORS: u32 = 256;

/// Text of a fixed length: printable ASCII, blanks at the end.
#[must_use]
pub fn text(of: &str, length: usize) -> Vec<u8> {
    let printable = |byte: u8| if (0x20..0x7f).contains(&byte) { byte } else { b'-' };
    let mut out: Vec<u8> = of.bytes().map(printable).take(length).collect();
    out.resize(length, b' ');
    out
}

/// The model, as an ATA drive tells it: 40 characters.
#[must_use]
pub fn model(export: &Export) -> Vec<u8> {
    text(&export.name, 40)
}

/// The revision of the firmware, of which SCSI shows the last four characters: this program's version.
#[must_use]
pub fn firmware() -> Vec<u8> {
    let version = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    text(&format!("SSDL{version}"), 8)
}

/// A world-wide name that was assigned locally (NAA 3).
#[must_use]
pub fn world_wide_name(export: &Export) -> u64 {
    Fnv1a::of(export.serial.as_bytes()) & !(0xf << 60) | 3 << 60
}

/// Logical blocks of a drive.
#[must_use]
pub fn blocks(export: &Export) -> u64 {
    export.size_bytes / u64::from(export.sector_bytes)
}

/// By which power of two a physical block is larger than a logical one.
#[must_use]
pub fn physical_exponent(export: &Export) -> u8 {
    (export.physical_bytes / export.sector_bytes).max(1).ilog2() as u8
}
