//! Standard output: whole documents, tables, and readers that leave early.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde_json::Value;
use ssdlab_core::input;

use crate::failure::Failure;

/// What `-` stands for, in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// Prints `text`, with control characters escaped: names and descriptions come from files.
///
/// # Errors
/// As [`print_raw`].
pub fn print(text: &str) -> Result<(), Failure> {
    print_raw(&input::printable(text, &['\n', '\t']))
}

/// A line on standard error. If nobody can read it, that is no reason to stop.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", input::printable(text, &['\n', '\t']));
}

/// Failures of several things that are all to be done, whatever becomes of the others.
#[derive(Default)]
pub struct Failures(Vec<Failure>);

impl Failures {
    /// What came of one of them, if it could be done.
    pub fn note<T>(&mut self, done: Result<T, Failure>) -> Option<T> {
        done.map_err(|failure| self.0.push(failure)).ok()
    }

    /// Says all but the first, which is what the command ends with. That a reader has gone is nothing wrong beside them.
    ///
    /// # Errors
    /// The first failure.
    pub fn conclude(self) -> Result<(), Failure> {
        let (gone, mut others): (Vec<_>, Vec<_>) =
            self.0.into_iter().partition(|failure| matches!(failure, Failure::ReaderGone));
        if others.is_empty() {
            return gone.into_iter().next().map_or(Ok(()), Err);
        }
        let first = others.remove(0);
        others.iter().for_each(|failure| complain(&failure.to_string()));
        Err(first)
    }
}

/// Prints `text` as it is.
///
/// # Errors
/// [`Failure::ReaderGone`] if the reader has closed the pipe; a failed run if output cannot be written.
pub fn print_raw(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::run(format!("cannot write to standard output: {e}")),
    })
}

/// Prints one JSON document and nothing else.
///
/// # Errors
/// As [`print_raw`].
pub fn print_json(document: &Value) -> Result<(), Failure> {
    print_json_text(&format!("{document:#}\n"))
}

/// Prints a JSON document that is text already.
///
/// # Errors
/// As [`print_raw`].
pub fn print_json_text(json: &str) -> Result<(), Failure> {
    print_raw(&printable_json(json))
}

/// JSON with what would move a terminal's cursor escaped as JSON does it, so that a parser reads what was meant. Such characters
/// stand in strings only.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    let escaped = |c: char| c != '\n' && input::is_unprintable(c);
    if !json.contains(escaped) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            c if escaped(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}").expect("a String takes all that is written to it");
                }
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A table whose columns are as wide as their widest cell, left-aligned, two spaces apart; the last is not padded.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|c| {
            let cells = rows.iter().filter_map(|row| row.get(c));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - cell.chars().count() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_verdict_is_told_to_nobody_all_the_same() {
        let ended = |all: Vec<Result<(), Failure>>| {
            let mut failures = Failures::default();
            all.into_iter().for_each(|done| _ = failures.note(done));
            failures.conclude().map_err(|failure| failure.exit_code())
        };
        assert_eq!(ended(vec![Ok(()), Ok(())]), Ok(()));
        assert_eq!(ended(vec![Err(Failure::ReaderGone), Ok(())]), Err(0));
        assert_eq!(ended(vec![Err(Failure::ReaderGone), Err(Failure::run("missed"))]), Err(1));
        assert_eq!(ended(vec![Err(Failure::bad_input("first")), Err(Failure::run("second"))]), Err(2));
    }

    #[test]
    fn json_is_read_back_as_it_was_and_moves_no_cursor() {
        for c in "\u{7f}\u{9b}\u{200e}\u{2028}\u{202e}\u{2069}\u{feff}\u{1b}".chars() {
            let document = json!({ "name": format!("größe{c}\t1 µs") });
            let shown = printable_json(&format!("{document:#}\n")).into_owned();
            assert!(!shown.contains(|c| c != '\n' && input::is_unprintable(c)), "{shown:?}");
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), document);
        }
    }

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_blanks() {
        let rows = [["name", "µs"], ["a", "12"]].map(|r| r.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "name  µs\na     12\n");
    }
}
