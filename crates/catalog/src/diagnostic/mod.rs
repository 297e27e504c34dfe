//! The one form of every message about bad input: what, where, what would be right.

mod from_bench;

use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;

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
        let text = File::open(file).ok().and_then(|f| {
            let index = usize::try_from(line.checked_sub(1)?).ok()?;
            let bytes = BufReader::new(f).split(b'\n').nth(index)?.ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        });
        let text = text.unwrap_or_default();
        let start = text.len() - text.trim_start().len();
        let place = Place::new(file, &text, start..text.trim_end().len().max(start));
        Place { line: usize::try_from(line).unwrap_or(usize::MAX), ..place }
    }
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

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        if let Some(place) = &self.place {
            let gutter = place.line.to_string().len();
            let mark: String = place
                .text
                .chars()
                .take(place.column - 1)
                // Tabs stay tabs, so that the mark stands under what it marks.
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            write!(
                f,
                "\n{:gutter$}--> {}:{}:{}\n{:gutter$} |\n{} | {}\n{:gutter$} | {mark}{}",
                "",
                place.file,
                place.line,
                place.column,
                "",
                place.line,
                place.text,
                "",
                "^".repeat(place.width),
            )?;
        }
        for help in &self.help {
            write!(f, "\n  = help: {help}")?;
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
    fn a_place_beyond_the_end_or_within_a_character_is_still_shown() {
        let text = "ä";
        assert_eq!(Place::new("f", text, 1..9).column, 1);
        assert_eq!(Place::new("f", text, 7..9).line, 1);
        assert_eq!(Place::new("f", "", 0..0).width, 1);
    }
}
