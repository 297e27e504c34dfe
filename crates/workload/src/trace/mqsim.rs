//! MQSim ASCII: `time device lba sectors type`, separated by blanks; type 0 is a write, 1 a read. MQSim keeps the
//! unit of time in another file; nanoseconds are its default.

use ssdlab_core::Op;

use super::number::{sectors, whole};
use super::{Parsed, Raw};

pub(super) fn parse(line: &str) -> Result<Parsed<'_>, String> {
    let mut fields = line.split_ascii_whitespace();
    let mut field = || fields.next();
    let (Some(time), Some(device), Some(lba), Some(count), Some(kind), None) =
        (field(), field(), field(), field(), field(), field())
    else {
        return Err(format!("`{line}` must have 5 fields: time device lba sectors type"));
    };
    let op = match kind {
        "0" => Op::Write,
        "1" => Op::Read,
        other => return Err(format!("type `{other}` must be 0 (write) or 1 (read)")),
    };
    whole(device, "device")?;
    Parsed::request(Raw {
        at: u128::from(whole(time, "time")?),
        op,
        device,
        offset_bytes: sectors(lba, "LBA")?,
        length_bytes: sectors(count, "length")?,
        fua: false,
    })
}
