//! VMware's vscsi traces, binary, little-endian, times in microseconds, addresses in 512-byte sectors.
//!
//! | version | record |
//! |---|---|
//! | 1, 32 bytes | u32 serial, u32 bytes, u32 scatter-gather entries, u16 SCSI command, u16 version, u64 sector, u64 time |
//! | 2, 40 bytes | u16 SCSI command, u16 version, u32 serial, u32 bytes, u32 scatter-gather entries, u64 sector, u64 time, u64 response time |
//!
//! The high byte of the version field is 1 or 2. READ and WRITE (6, 10, 12, 16), WRITE AND VERIFY and ORWRITE are
//! requests, SYNCHRONIZE CACHE is a flush. All other commands are skipped: they move no data of the medium, or the
//! record does not say what they touch. That is so of UNMAP and WRITE SAME, of commands of 32 bytes, which are told apart
//! by a field that is not recorded, and of COMPARE AND WRITE, whose length counts what it compares and what it writes.

use ssdlab_core::{MICROSECOND, Op, SECTOR_BYTES};

use super::format::Format;
use super::{Parsed, Raw};

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| record[at + i]))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| record[at + i]))
}

/// Version field, SCSI command, and where length, sector and time stand.
fn layout(format: Format, record: &[u8]) -> (u16, u16, usize, usize) {
    if format == Format::VscsiV2 {
        (u16_at(record, 2), u16_at(record, 0), 8, 16)
    } else {
        (u16_at(record, 14), u16_at(record, 12), 4, 16)
    }
}

fn version(format: Format) -> u16 {
    if format == Format::VscsiV2 { 2 } else { 1 }
}

/// Whether a record's version field and command are those of the format.
pub(super) fn looks_like(format: Format, record: &[u8]) -> bool {
    let (ver, command, ..) = layout(format, record);
    ver >> 8 == version(format) && command <= 0xFF
}

/// What a SCSI command does; `None` for those of which a record says no request to a drive.
pub(super) fn operation(command: u16) -> Option<Op> {
    match command {
        0x08 | 0x28 | 0xA8 | 0x88 => Some(Op::Read),
        0x0A | 0x2A | 0xAA | 0x8A | 0x2E | 0xAE | 0x8E | 0x8B => Some(Op::Write),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

/// `record` must be as long as the format's records are.
pub(super) fn parse(record: &[u8], format: Format) -> Result<Parsed<'static>, String> {
    let (ver, command, length, sector) = layout(format, record);
    if ver >> 8 != version(format) {
        return Err(format!("the version is {}; it must be {} in every record", ver >> 8, version(format)));
    }
    if command > 0xFF {
        return Err(format!("the SCSI command is {command:#06x}; it must be below 0x100"));
    }
    let Some(op) = operation(command) else { return Ok(Parsed::Skipped) };
    let at = u128::from(u64_at(record, 24)) * u128::from(MICROSECOND);
    let (offset_bytes, length_bytes) = if op == Op::Flush {
        (0, 0)
    } else {
        let lbn = u64_at(record, sector);
        let offset = lbn.checked_mul(SECTOR_BYTES).ok_or_else(|| format!("sector {lbn} lies beyond 2^64 bytes"))?;
        (offset, u64::from(u32_at(record, length)))
    };
    // SCSI allows a transfer of nothing.
    if op != Op::Flush && length_bytes == 0 {
        return Ok(Parsed::Skipped);
    }
    Parsed::request(Raw { at, op, device: "0", offset_bytes, length_bytes, fua: false })
}
