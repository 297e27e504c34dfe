//! A table of requests as a trace.

use std::io::Write as _;

use ssdlab_catalog::Diagnostic;
use ssdlab_core::{Op, SECOND};
use ssdlab_workload::trace::TraceSource;

const SECTOR_BYTES: u64 = 512;

/// Values of eight bytes each, as NumPy stores them.
pub fn u64s(bytes: &[u8]) -> impl ExactSizeIterator<Item = u64> + '_ {
    bytes.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b))
}

/// The table in blkparse's text, which has times to the nanosecond and every command; it is read as a file would be.
///
/// # Errors
/// The first row that is no request, counted from 0.
pub fn table_source(time: &[u8], offset: &[u8], length: &[u8], op: &[u8]) -> Result<TraceSource, Diagnostic> {
    let mut text = Vec::with_capacity(op.len() * 48);
    let rows = u64s(time).zip(u64s(offset)).zip(u64s(length)).zip(op);
    for (row, (((time, offset), length), &op)) in rows.enumerate() {
        let wrong = |what: String| Diagnostic::new(format!("row {row} of the table: {what}"));
        let op = Op::ALL.get(usize::from(op)).copied();
        let letters = match op {
            Some(Op::Read) => "R",
            Some(Op::Write) => "W",
            Some(Op::Trim) => "D",
            Some(Op::Flush) => "F",
            _ => return Err(wrong("the command is none of read, write, trim and flush".to_owned())),
        };
        let (seconds, nanos) = (time / SECOND, time % SECOND);
        // A String of bytes takes all that is written to it.
        let _ = if op == Some(Op::Flush) {
            writeln!(text, "8,0 0 1 {seconds}.{nanos:09} 0 D F")
        } else {
            let whole = offset.is_multiple_of(SECTOR_BYTES) && length.is_multiple_of(SECTOR_BYTES);
            if length == 0 || !whole {
                let what = format!("offset {offset} and length {length}");
                return Err(wrong(what).help(format!("give whole sectors of {SECTOR_BYTES} bytes, at least one")));
            }
            let (sector, sectors) = (offset / SECTOR_BYTES, length / SECTOR_BYTES);
            writeln!(text, "8,0 0 1 {seconds}.{nanos:09} 0 D {letters} {sector} + {sectors}")
        };
    }
    Ok(TraceSource::Held { name: "table".to_owned(), bytes: text.into() })
}
