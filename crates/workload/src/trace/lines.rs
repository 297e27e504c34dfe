//! Lines of a text trace, one at a time, with a limit on their length.

use std::io::{self, BufRead, Read};

/// No known format has lines near this; a binary file given as text does.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// What was read.
pub(super) enum Line {
    /// The buffer holds a line without its end.
    Text,
    /// Longer than any line may be.
    TooLong,
    End,
}

/// Reads the next line into `buffer`.
pub(super) fn read(reader: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Line> {
    buffer.clear();
    let n = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', buffer)?;
    if n == 0 {
        return Ok(Line::End);
    }
    if buffer.last() == Some(&b'\n') {
        buffer.pop();
    } else if n as u64 == MAX_LINE_BYTES {
        return Ok(Line::TooLong);
    }
    Ok(Line::Text)
}
