//! fio's I/O logs. A header line, then
//! - version 2: `file action [offset length]`, where the action `wait` takes a time in the place of the offset;
//! - version 3: `microseconds file action [offset length]`, no `wait`.
//!
//! fio's manual says that a version 2 `wait` is in microseconds after the wait before it. fio's code sleeps until so
//! many *milliseconds* after the start of the run. The code is followed, because logs were made to work with it.
//! Requests between two waits arrive together.
//!
//! `sync`, `datasync`, `sync_file_range` and `syncfs` are flushes. `add`, `open`, `close` and `unlink` concern files and
//! are skipped, as is a `wait` in version 3 (fio ignores it too).

use ssdlab_core::{MICROSECOND, MILLISECOND, Op};

use super::number::whole;
use super::{Parsed, Raw};

pub(super) const HEADER_V2: &str = "fio version 2 iolog";
pub(super) const HEADER_V3: &str = "fio version 3 iolog";

/// Checks the first line.
pub(super) fn header(line: &str, expected: &str) -> Result<(), String> {
    if line.trim() == expected { Ok(()) } else { Err(format!("`{line}` must be the header `{expected}`")) }
}

/// `clock` is the time of the last wait, kept between lines.
pub(super) fn parse_v2<'a>(line: &'a str, clock: &mut u128) -> Result<Parsed<'a>, String> {
    let fields: Fields<'a> = Fields::of(line.split_ascii_whitespace());
    match fields {
        Fields([Some(_), Some("wait"), Some(time), Some(_), None]) => {
            let until = u128::from(whole(time, "wait")?) * u128::from(MILLISECOND);
            *clock = until.max(*clock);
            Ok(Parsed::Skipped)
        }
        Fields([Some(_), Some("wait"), ..]) => Err(format!("`{line}` must be: file wait milliseconds 0")),
        Fields([Some(file), Some(action), offset, length, None]) => request(*clock, file, action, offset, length),
        _ => Err(format!("`{line}` must be: file action [offset length]")),
    }
}

pub(super) fn parse_v3(line: &str) -> Result<Parsed<'_>, String> {
    let malformed = || format!("`{line}` must be: microseconds file action [offset length]");
    let mut words = line.split_ascii_whitespace();
    let at = u128::from(whole(words.next().ok_or_else(malformed)?, "time")?) * u128::from(MICROSECOND);
    match Fields::of(words) {
        Fields([Some(_), Some("wait"), ..]) => Ok(Parsed::Skipped),
        Fields([Some(file), Some(action), offset, length, None]) => request(at, file, action, offset, length),
        _ => Err(malformed()),
    }
}

/// Up to five words; the fifth stands for too many.
struct Fields<'a>([Option<&'a str>; 5]);

impl<'a> Fields<'a> {
    fn of(mut words: impl Iterator<Item = &'a str>) -> Self {
        Fields(std::array::from_fn(|_| words.next()))
    }
}

fn request<'a>(
    at: u128,
    device: &'a str,
    action: &str,
    offset: Option<&str>,
    length: Option<&str>,
) -> Result<Parsed<'a>, String> {
    let op = match action {
        "read" => Op::Read,
        "write" => Op::Write,
        "trim" => Op::Trim,
        "sync" | "datasync" | "sync_file_range" | "syncfs" => {
            return Parsed::request(Raw { at, op: Op::Flush, device, offset_bytes: 0, length_bytes: 0, fua: false });
        }
        "add" | "open" | "close" | "unlink" => return Ok(Parsed::Skipped),
        other => {
            return Err(format!(
                "action `{other}` must be read, write, trim, sync, datasync, sync_file_range, syncfs, wait, add, open, \
                 close or unlink"
            ));
        }
    };
    let (Some(offset), Some(length)) = (offset, length) else {
        return Err(format!("`{action}` needs an offset and a length in bytes"));
    };
    Parsed::request(Raw {
        at,
        op,
        device,
        offset_bytes: whole(offset, "offset")?,
        length_bytes: whole(length, "length")?,
        fua: false,
    })
}
