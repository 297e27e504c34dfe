//! Requests that a program holds, a row each: a trace that never was a file, and is read as quickly as memory.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | number of the command; no compressed file and no text with a byte order mark begins with one |
//! | 8 | time in ns |
//! | 8 | offset in bytes |
//! | 8 | length in bytes |
//!
//! Numbers are little-endian.

use ssdlab_core::{Nanos, Op};

use super::{Parsed, Raw};

pub(super) const ROW_BYTES: usize = 25;

pub(super) fn push(rows: &mut Vec<u8>, at: Nanos, op: Op, offset_bytes: u64, length_bytes: u64) {
    rows.push(op as u8);
    for number in [at, offset_bytes, length_bytes] {
        rows.extend_from_slice(&number.to_le_bytes());
    }
}

/// `row` must be as long as rows are.
pub(super) fn parse(row: &[u8]) -> Result<Parsed<'static>, String> {
    let number = |k: usize| u64::from_le_bytes(std::array::from_fn(|i| row[1 + 8 * k + i]));
    let op = Op::ALL.get(usize::from(row[0])).copied();
    let op = op.ok_or_else(|| format!("there is no command of number {}", row[0]))?;
    let (offset_bytes, length_bytes) = if op == Op::Flush { (0, 0) } else { (number(1), number(2)) };
    Parsed::request(Raw { at: number(0).into(), op, device: "0", offset_bytes, length_bytes, fua: false })
}
