//! MSR Cambridge CSV: `timestamp,hostname,disk,Read|Write,offset,size,response`, with or without a row of headings. Times are Windows
//! filetime (100 ns since 1601), offset and size bytes. The response time is that of the traced system and is not
//! used.

use ssdlab_core::Op;

use super::number::whole;
use super::{Parsed, Raw};

pub(super) fn parse(line: &str) -> Result<Parsed<'_>, String> {
    let mut fields = line.split(',');
    let mut field = || fields.next();
    let (Some(time), Some(host), Some(disk), Some(kind), Some(offset), Some(size), Some(_), None) =
        (field(), field(), field(), field(), field(), field(), field(), field())
    else {
        return Err(format!("`{line}` must have 7 fields: timestamp,host,disk,Read|Write,offset,size,response"));
    };
    let op = match kind.trim() {
        k if k.eq_ignore_ascii_case("read") => Op::Read,
        k if k.eq_ignore_ascii_case("write") => Op::Write,
        other => return Err(format!("type `{other}` must be Read or Write")),
    };
    whole(disk, "disk number")?;
    let start = time.len() + 1;
    Parsed::request(Raw {
        at: u128::from(whole(time, "timestamp")?) * 100,
        op,
        device: &line[start..start + host.len() + 1 + disk.len()],
        offset_bytes: whole(offset, "offset")?,
        length_bytes: whole(size, "size")?,
        fua: false,
    })
}
