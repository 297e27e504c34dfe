//! Comma-separated traces of cloud providers and data centres, with or without a row of headings.
//!
//! | format | fields | unit of time | unit of address |
//! |---|---|---|---|
//! | Alibaba | device,R\|W,offset,length,time | µs | bytes |
//! | Tencent | time,offset,size,0\|1,volume (0 read, 1 write) | s | sectors |
//! | Systor '17 | time,response,R\|W,LUN,offset,size | s, decimal | bytes |
//! | CloudPhysics | version,time,op,size,lbn (op: SCSI command, hexadecimal) | s | sectors, size in bytes |

use ssdlab_core::{MICROSECOND, Op, SECOND};

use super::format::Format;
use super::number::{seconds, sectors, whole};
use super::{Parsed, Raw};

/// Exactly `N` fields, trimmed.
fn fields<'a, const N: usize>(line: &'a str, names: &str) -> Result<[&'a str; N], String> {
    let mut parts = line.split(',').map(str::trim);
    let fields = std::array::from_fn(|_| parts.next());
    match (fields.iter().all(Option::is_some), parts.next()) {
        (true, None) => Ok(fields.map(Option::unwrap_or_default)),
        _ => Err(format!("`{line}` must have {N} fields: {names}")),
    }
}

fn letter(text: &str) -> Result<Op, String> {
    match text {
        "R" | "r" => Ok(Op::Read),
        "W" | "w" => Ok(Op::Write),
        other => Err(format!("opcode `{other}` must be R or W")),
    }
}

/// Whether a line names the columns: its fields are words where those of a request are numbers.
pub(super) fn is_heading(line: &str) -> bool {
    let mut fields = line.split(',').map(str::trim);
    line.contains(',')
        && fields.next().is_some_and(|f| f.starts_with(|c: char| c.is_ascii_alphabetic()) && f.len() > 1)
        && fields.all(|f| f.is_empty() || f.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

pub(super) fn parse(line: &str, format: Format) -> Result<Parsed<'_>, String> {
    let raw = |at, op, device, offset_bytes, length_bytes| {
        Parsed::request(Raw { at, op, device, offset_bytes, length_bytes, fua: false })
    };
    match format {
        Format::Alibaba => {
            let [device, op, offset, length, time] = fields(line, "device,R|W,offset,length,time")?;
            whole(device, "device")?;
            let at = u128::from(whole(time, "time")?) * u128::from(MICROSECOND);
            raw(at, letter(op)?, device, whole(offset, "offset")?, whole(length, "length")?)
        }
        Format::Tencent => {
            let [time, offset, size, op, volume] = fields(line, "time,offset,size,0|1,volume")?;
            whole(volume, "volume")?;
            let op = match op {
                "0" => Op::Read,
                "1" => Op::Write,
                other => return Err(format!("type `{other}` must be 0 (read) or 1 (write)")),
            };
            let at = u128::from(whole(time, "time")?) * u128::from(SECOND);
            raw(at, op, volume, sectors(offset, "offset")?, sectors(size, "size")?)
        }
        Format::Systor => {
            let [time, _response, op, lun, offset, size] = fields(line, "time,response,R|W,LUN,offset,size")?;
            whole(lun, "LUN")?;
            // Requests that were traced without their kind say nothing to a drive.
            if op.is_empty() {
                return Ok(Parsed::Skipped);
            }
            raw(seconds(time, "time")?, letter(op)?, lun, whole(offset, "offset")?, whole(size, "size")?)
        }
        _ => {
            let [version, time, op, size, lbn] = fields(line, "version,time,op,size,lbn")?;
            whole(version, "version")?;
            let command = u16::from_str_radix(op.trim_start_matches("0x"), 16)
                .ok()
                .filter(|c| *c <= 0xFF)
                .ok_or_else(|| format!("op `{op}` must be a SCSI command, two hexadecimal digits such as 2a"))?;
            let at = u128::from(whole(time, "time")?) * u128::from(SECOND);
            let (lbn, size) = (sectors(lbn, "lbn")?, whole(size, "size")?);
            match super::vscsi::operation(command) {
                Some(Op::Flush) => raw(at, Op::Flush, "0", 0, 0),
                // SCSI allows a transfer of nothing.
                Some(_) if size == 0 => Ok(Parsed::Skipped),
                Some(op) => raw(at, op, "0", lbn, size),
                None => Ok(Parsed::Skipped),
            }
        }
    }
}
