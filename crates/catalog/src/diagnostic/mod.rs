//! The one form of every message about bad input: what, where, what would be right.

mod from_bench;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::ops::Range;
use std::path::Path;

use ssdlab_core::input;

/// A piece of a text file that a message points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File name as the user gave it, or a path within the catalog.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The line itself, without its end.
    pub text: String,
    /// Characters to underline.
    pub width: usize,
}

impl Place {
    /// The place of the bytes `span` in `text`; only the part on the first line is underlined.
    #[must_use]
    pub fn new(file: &str, text: &str, span: Range<usize>) -> Self {
        let start = floor_char_boundary(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let end = floor_char_boundary(text, span.end.clamp(start, line_end));
        Place {
            file: file.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            text: text[line_start..line_end].trim_end().to_owned(),
            width: text[start..end].trim_end().chars().count().max(1),
        }
    }

    /// A whole line (from 1) of a file, which is read for it; empty if that fails.
    #[must_use]
    pub fn of_line(file: &str, line: u64) -> Self {
        let text = line_of(Path::new(file), line).unwrap_or_default();
        Place::of_line_text(
            file,
            line,
            String::from_utf8_lossy(input::without_mark(&text)).trim_end_matches(['\r', '\n']),
        )
    }

    /// A whole line (from 1) with the text `text`.
    #[must_use]
    pub fn of_line_text(file: &str, line: u64, text: &str) -> Self {
        let start = text.len() - text.trim_start().len();
        let place = Place::new(file, text, start..text.trim_end().len().max(start));
        Place { line: usize::try_from(line).unwrap_or(usize::MAX), ..place }
    }
}

/// Longest piece of a line that is read to show it.
const MAX_LINE_BYTES: u64 = 64 << 10;

fn line_of(file: &Path, line: u64) -> io::Result<Vec<u8>> {
    let mut reader = BufReader::new(input::open_regular(file)?);
    for _ in 1..line {
        reader.skip_until(b'\n')?;
    }
    let mut text = Vec::new();
    reader.take(MAX_LINE_BYTES).read_until(b'\n', &mut text)?;
    Ok(text)
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Bad input, told so that it can be put right. Its `Display` is the whole message, from `error:` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub what: String,
    /// Boxed because errors are rare and results are moved around a lot.
    pub place: Option<Box<Place>>,
    pub help: Vec<String>,
}

impl Diagnostic {
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Diagnostic { what: what.into(), place: None, help: Vec::new() }
    }

    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(Box::new(place));
        self
    }

    /// Shows the line of `text` if the message points into `file`, which cannot be read again.
    #[must_use]
    pub fn within(mut self, file: &str, text: &str) -> Self {
        if let Some(place) = self.place.as_mut().filter(|place| place.file == file && place.text.is_empty()) {
            let line = text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
            **place = Place::of_line_text(file, place.line as u64, line);
        }
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

/// Characters of a line that a message shows, around what it marks.
const SHOWN: usize = 200;
/// Of them, those before what is marked.
const SHOWN_BEFORE: usize = 60;
/// Longest sentence and longest help of a message; the help may list every drive and test there is.
const MAX_WHAT: usize = 500;
const MAX_HELP: usize = 4000;

/// The part of a line that is shown, and the marks under it.
fn excerpt(place: &Place) -> (String, String) {
    let (before, marked) = (place.column - 1, place.width);
    let length = place.text.chars().count();
    let from = if length <= SHOWN { 0 } else { before.saturating_sub(SHOWN_BEFORE).min(length - SHOWN) };
    let to = length.min(from + SHOWN);
    let (mut line, mut marks) = (String::new(), String::new());
    if from > 0 {
        line.push('…');
        marks.push(' ');
    }
    for (i, c) in place.text.chars().enumerate().skip(from).take(to - from) {
        let shown = input::printable(c.encode_utf8(&mut [0; 4]), &['\t']).into_owned();
        let width = shown.chars().count();
        line.push_str(&shown);
        // Tabs stay tabs, so that the mark stands under what it marks.
        let under = if i < before && c == '\t' {
            "\t"
        } else if i < before {
            " "
        } else {
            "^"
        };
        if i < before + marked {
            marks.push_str(&under.repeat(width));
        }
    }
    if to < length {
        line.push('…');
    }
    // The end of a line can be marked, too, where nothing stands.
    if before + marked > to && to == length {
        let missing = before + marked - to.max(before);
        marks.push_str(&" ".repeat(before.saturating_sub(to)));
        marks.push_str(&"^".repeat(missing.min(SHOWN)));
    }
    (line, marks)
}

/// At most so many characters, in lines that a terminal can show.
fn sentence(text: &str, longest: usize) -> Cow<'_, str> {
    if text.chars().nth(longest).is_none() {
        input::printable(text, &['\n', '\t'])
    } else {
        input::shortened(text, longest)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", sentence(&self.what, MAX_WHAT))?;
        if let Some(place) = &self.place {
            let gutter = place.line.to_string().len();
            let (line, marks) = excerpt(place);
            write!(
                f,
                "\n{:gutter$}--> {}:{}:{}\n{:gutter$} |\n{} | {line}\n{:gutter$} | {marks}",
                "",
                input::printable(&place.file, &[]),
                place.line,
                place.column,
                "",
                place.line,
                "",
            )?;
        }
        for help in &self.help {
            write!(f, "\n  = help: {}", sentence(help, MAX_HELP))?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_under_the_words_it_is_about() {
        let text = "a = 1\n\tmiß = 2 # x\n";
        let start = text.find("= 2").unwrap();
        let place = Place::new("f.toml", text, start..start + 3);
        let shown = Diagnostic::new("no").at(place).help("yes").to_string();
        assert_eq!(shown, "error: no\n --> f.toml:2:6\n  |\n2 | \tmiß = 2 # x\n  | \t    ^^^\n  = help: yes");
    }

    #[test]
    fn of_a_long_line_only_the_surroundings_of_the_mark_are_shown() {
        let text = format!("{}WRONG{}", "a".repeat(10_000_000), "b".repeat(10_000_000));
        let shown = Diagnostic::new("no").at(Place::new("f", &text, 10_000_000..10_000_005)).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(shown.chars().count() < 400, "{}", shown.len());
        let marked = lines[4].find('^').map(|i| lines[4][..i].chars().count()).unwrap();
        assert_eq!(lines[3].chars().skip(marked).take(5).collect::<String>(), "WRONG");
        assert_eq!(lines[4].matches('^').count(), 5);
        let all = Diagnostic::new("x".repeat(5_000_000)).help("y".repeat(5_000_000)).to_string();
        assert!(all.len() < 6_000, "{}", all.len());
    }

    #[test]
    fn what_would_move_the_cursor_is_escaped_wherever_it_stands() {
        let text = "a\x1b[2Jb = 1";
        let place = Place::new("f\x07", text, 8..9);
        let shown = Diagnostic::new("no \x1b[31m").at(place).help("\r").to_string();
        assert_eq!(
            shown,
            "error: no \\x1b[31m\n --> f\\x07:1:9\n  |\n1 | a\\x1b[2Jb = 1\n  |            ^\n  = help: \\r"
        );
    }

    #[test]
    fn a_place_beyond_the_end_or_within_a_character_is_still_shown() {
        let text = "ä";
        assert_eq!(Place::new("f", text, 1..9).column, 1);
        assert_eq!(Place::new("f", text, 7..9).line, 1);
        assert_eq!(Place::new("f", "", 0..0).width, 1);
    }
}
