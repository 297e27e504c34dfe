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
/// The longest name of a program, in bytes: the kernel keeps no more.
const LONGEST_PROGRAM: usize = 15;

/// Where in the statistics that blkparse appends a line stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Summary {
    #[default]
    None,
    /// Behind the name of a program, which its statistics must follow: damaged events may end as such a line does.
    Program,
    /// In the statistics of a program: what else follows is damaged.
    OfProgram,
    /// In those of a CPU or device, which stand last: whatever follows but an event is passed over.
    Whole,
}

impl Summary {
    /// Where the next line stands.
    fn next(self, line: &str) -> Result<Self, String> {
        Ok(match self {
            Summary::Program if is_statistic(line) => Summary::OfProgram,
            Summary::Program => {
                return Err(format!(
                    "`{line}` follows what would be the name of a program, and is no statistics of one"
                ));
            }
            _ if is_event(line) => Summary::None,
            _ if self == Summary::Whole || begins_whole(line) => Summary::Whole,
            Summary::OfProgram if is_statistic(line) => Summary::OfProgram,
            _ if is_program(line) => Summary::Program,
            _ => Summary::None,
        })
    }
}

pub(super) fn parse<'a>(line: &'a str, summary: &mut Summary) -> Result<Parsed<'a>, String> {
    if names_input(line) {
        return Ok(Parsed::Skipped);
    }
    *summary = summary.next(line)?;
    if *summary != Summary::None {
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

/// Whether the line is the heading of the statistics of a CPU or a device.
fn begins_whole(line: &str) -> bool {
    line.starts_with("Total (")
        || line.strip_prefix("CPU").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether the line is the heading of the statistics of a program: `name (pid)` or `name (pid, ...)`.
fn is_program(line: &str) -> bool {
    let parts = line.strip_suffix(')').and_then(|line| line.rsplit_once('('));
    parts.is_some_and(|(name, pid)| {
        // A program may have no name.
        name.trim_end().len() <= LONGEST_PROGRAM && is_number(pid.strip_suffix(", ...").unwrap_or(pid))
    })
}

/// Whether the line is one of statistics: `Reads Queued:           1,        4KiB`.
fn is_statistic(line: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'.');
    line.split_once(':').is_some_and(|(name, _)| !name.is_empty() && name.split_ascii_whitespace().all(is_word))
}
