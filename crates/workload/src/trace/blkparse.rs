//! blkparse's default text: `maj,min cpu sequence seconds pid action RWBS sector + sectors [process]`.
//!
//! Lines with other actions than the issue of a request are skipped, and so are commands of that action that carry no
//! sectors and are no flush (SCSI pass-through). In RWBS, a first `F` means that a flush comes before; where there
//! is data too, the block layer issues that flush as an event of its own, so only the data is taken. An `F` after
//! the letter of the operation is force unit access. The statistics that blkparse appends, with `-s` also those of each
//! program, are passed over; the events of another trace may follow.

use ssdlab_core::Op;

use super::number::{seconds, sectors, whole};
use super::{Parsed, Raw};

/// The action of a request that is handed to the drive, after merging and scheduling.
const ISSUED: &str = "D";

pub(super) fn parse<'a>(line: &'a str, in_summary: &mut bool) -> Result<Parsed<'a>, String> {
    if names_input(line) {
        return Ok(Parsed::Skipped);
    }
    *in_summary = !is_event(line) && (*in_summary || begins_summary(line));
    if *in_summary {
        return Ok(Parsed::Summary);
    }
    let malformed =
        || format!("`{line}` must be maj,min cpu sequence seconds pid action RWBS sector + sectors [process]");
    let mut fields = line.split_ascii_whitespace();
    let mut field = || fields.next().ok_or_else(malformed);
    let (device, cpu, sequence, time, pid, action) = (field()?, field()?, field()?, field()?, field()?, field()?);
    let (major, minor) = device.split_once(',').ok_or_else(malformed)?;
    whole(major, "major device number")?;
    whole(minor, "minor device number")?;
    whole(cpu, "CPU")?;
    whole(sequence, "sequence number")?;
    whole(pid, "process id")?;
    let at = seconds(time, "time")?;
    if action != ISSUED {
        return Ok(Parsed::Skipped);
    }
    let rwbs = field()?;
    let (flush, rest) = match rwbs.strip_prefix('F') {
        Some(rest) => (true, rest),
        None => (false, rwbs),
    };
    let op = match rest.chars().next() {
        Some('R') => Some(Op::Read),
        Some('W') => Some(Op::Write),
        Some('D') => Some(Op::Trim),
        _ => None,
    };
    let place = (fields.next(), fields.next(), fields.next());
    let data = match (op, place) {
        (Some(op), (Some(sector), Some("+"), Some(count))) => {
            Some((op, sectors(sector, "sector")?, sectors(count, "number of sectors")?))
        }
        _ => None,
    };
    let raw = |op, offset_bytes, length_bytes, fua| Raw { at, op, device, offset_bytes, length_bytes, fua };
    match data {
        Some((_, _, 0)) if flush => Parsed::request(raw(Op::Flush, 0, 0, false)),
        // Drivers send commands of their own as empty ones.
        Some((_, _, 0)) => Ok(Parsed::Skipped),
        Some((op, offset, length)) => {
            Parsed::request(raw(op, offset, length, op == Op::Write && rest[1..].contains('F')))
        }
        None if flush => Parsed::request(raw(Op::Flush, 0, 0, false)),
        // Pass-through commands print their bytes: `R 36 (12 00 ...)`.
        None if op.is_none() || place.1.is_some_and(|t| t.starts_with('(')) => Ok(Parsed::Skipped),
        None => Err(malformed()),
    }
}

/// Whether the line names a file that blkparse has opened. There is one for each CPU, before all events.
pub(super) fn names_input(line: &str) -> bool {
    line.strip_prefix("Input file ").is_some_and(|rest| rest.ends_with(" added"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether the line begins as events do, with a device's numbers.
fn is_event(line: &str) -> bool {
    let device = line.split_ascii_whitespace().next().and_then(|first| first.split_once(','));
    device.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// Whether the line is the heading of statistics: of a CPU, a device, or a program: `name (pid)` or `name (pid, ...)`.
fn begins_summary(line: &str) -> bool {
    let process = || {
        let pid = line.strip_suffix(')')?.rsplit_once('(')?.1;
        Some(pid.strip_suffix(", ...").unwrap_or(pid))
    };
    line.starts_with("Total (")
        || line.strip_prefix("CPU").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || process().is_some_and(is_number)
}
