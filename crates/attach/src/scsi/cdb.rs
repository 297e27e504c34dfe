//! Fields of a command descriptor block.

use super::words::*;

/// A number of some bytes, the highest first.
#[must_use]
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Where a command reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRange {
    pub lba: u64,
    pub blocks: u64,
    /// The byte after the operation code.
    pub flags: u8,
}

/// The blocks of a command of 6, 10, 12 or 16 bytes.
#[must_use]
pub fn block_range(cdb: &[u8; 16]) -> BlockRange {
    match cdb[0] >> 5 {
        0 => {
            let blocks = if cdb[4] == 0 { 256 } else { cdb[4].into() };
            BlockRange { lba: number(&cdb[1..4]) & 0x1f_ffff, blocks, flags: 0 }
        }
        1 | 2 => BlockRange { lba: number(&cdb[2..6]), blocks: number(&cdb[7..9]), flags: cdb[1] },
        5 => BlockRange { lba: number(&cdb[2..6]), blocks: number(&cdb[6..10]), flags: cdb[1] },
        _ => BlockRange { lba: number(&cdb[2..10]), blocks: number(&cdb[10..14]), flags: cdb[1] },
    }
}

/// Whether a command asks for an auto contingent allegiance if it fails: NACA of its CONTROL byte, the last one.
#[must_use]
pub fn asks_for_allegiance(cdb: &[u8; 16]) -> bool {
    let control = match cdb[0] >> 5 {
        0 => 5,
        1 | 2 => 9,
        5 => 11,
        _ => 15,
    };
    cdb[control] & 4 != 0
}

/// Whether a command writes blocks, reads them, or compares them, as (10), (12), (16) and (6) have it in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    Read,
    Write,
    Verify,
    WriteAndVerify,
}

/// See [`Transfer`].
#[must_use]
pub fn transfer(code: u8) -> Option<Transfer> {
    match code {
        READ_6 | READ_10 | READ_12 | READ_16 => Some(Transfer::Read),
        WRITE_6 | WRITE_10 | WRITE_12 | WRITE_16 => Some(Transfer::Write),
        VERIFY_10 | VERIFY_12 | VERIFY_16 => Some(Transfer::Verify),
        WRITE_AND_VERIFY_10 | WRITE_AND_VERIFY_12 | WRITE_AND_VERIFY_16 => Some(Transfer::WriteAndVerify),
        _ => None,
    }
}
