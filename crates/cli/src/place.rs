//! Shows the line of a file that a message is about.

use std::fs::File;
use std::io::{BufRead as _, BufReader};

use ssdlab_catalog::{Diagnostic, Place};

/// Adds the line (from 1) of a text file; without it, if the file cannot be read again, only its number.
pub fn at_line(diagnostic: Diagnostic, file: &str, line: u64) -> Diagnostic {
    let text = File::open(file).ok().and_then(|f| {
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        let bytes = BufReader::new(f).split(b'\n').nth(index)?.ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    });
    let text = text.unwrap_or_default();
    let start = text.len() - text.trim_start().len();
    let mut place = Place::new(file, &text, start..text.trim_end().len().max(start));
    place.line = usize::try_from(line).unwrap_or(usize::MAX);
    diagnostic.at(place)
}
