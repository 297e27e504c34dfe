//! SPC ASCII (the UMass Financial and WebSearch traces): `asu,lba,size,R|W,seconds`, further fields allowed. LBA in
//! blocks of 512 bytes, size in bytes.

use ssdlab_core::Op;

use super::number::{seconds, sectors, whole};
use super::{Parsed, Raw};

pub(super) fn parse(line: &str) -> Result<Parsed<'_>, String> {
    let mut fields = line.split(',').map(str::trim);
    let mut field = || fields.next();
    let (Some(asu), Some(lba), Some(size), Some(kind), Some(time)) = (field(), field(), field(), field(), field())
    else {
        return Err(format!("`{line}` must have at least 5 fields: asu,lba,size,R|W,seconds"));
    };
    let op = match kind {
        "R" | "r" => Op::Read,
        "W" | "w" => Op::Write,
        other => return Err(format!("opcode `{other}` must be R or W")),
    };
    whole(asu, "ASU")?;
    // Where the decimal sign is a comma, the time falls into two fields; all known traces write it with decimals.
    let decimals = field().filter(|next| !next.is_empty() && next.bytes().all(|b| b.is_ascii_digit()));
    if let (false, Some(decimals)) = (time.contains('.'), decimals) {
        return Err(format!("timestamp `{time},{decimals}` has a decimal comma; write {time}.{decimals}"));
    }
    Parsed::request(Raw {
        at: seconds(time, "timestamp")?,
        op,
        device: asu,
        offset_bytes: sectors(lba, "LBA")?,
        length_bytes: whole(size, "size")?,
        fua: false,
    })
}
