//! Keys of a TOML file with their places, and the comment behind each value: where the value comes from.

use std::ops::Range;

use serde::Serialize;
use ssdlab_keys::{KeyTable, SpecError};
use toml_edit::{Document, TableLike};

/// Spare area in per cent of the capacity sold. A drive that builds its flash to an exact spare
/// (`flash.exact_spare_per_10000`) keeps its capacity and gets more or less flash; any other keeps its flash and is
/// sold as more or less capacity.
pub const OVER_PROVISIONING: &str = "over_provisioning_percent";

/// What could not be built of a drive whose capacity follows from its spare area ([`crate::Drive::capacity_follows`]), by the key that was
/// given. How many blocks are bad is known only when it is built.
#[must_use]
pub fn of_spare(error: SpecError) -> SpecError {
    match error.key.as_str() {
        "capacity_bytes" => SpecError::new(
            OVER_PROVISIONING,
            format!("too little: {}", error.problem),
            "use more of it: the flash is given, and the capacity follows from both",
        ),
        _ => error,
    }
}

/// Where a value comes from, as the comment behind it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A datasheet, a review, a standard, or the definition of an ideal drive.
    Source(String),
    /// Nobody has published it. The text gives the reason for the choice.
    Estimate(String),
    /// The file does not say.
    Unstated,
}

/// The word with which the comment behind an estimate begins.
const MARK: &str = "estimate";

impl Origin {
    fn of_comment(comment: Option<&str>) -> Self {
        match comment {
            None | Some("") => Origin::Unstated,
            Some(text) => match text.split_at_checked(MARK.len()) {
                Some((word, reason))
                    if word.eq_ignore_ascii_case(MARK) && !reason.starts_with(char::is_alphanumeric) =>
                {
                    Origin::Estimate(reason.trim_start_matches([':', ',', ' ']).to_owned())
                }
                _ => Origin::Source(text.to_owned()),
            },
        }
    }
}

/// One value of a drive or die file, for specification tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecRow {
    /// Dotted path, such as `timing.erase_ms`.
    pub key: String,
    /// Its section for people: `Die timing`.
    pub section: String,
    /// The key for people, without its unit: `erase`.
    pub heading: String,
    /// Of the value; empty for counts, names and truths.
    pub unit: String,
    /// As written in the file.
    pub value: String,
    pub origin: Origin,
}

impl SpecRow {
    /// A key of a drive with a value that its file does not give; `None` if drives have no such key.
    pub fn of_drive(path: &str, value: &str, origin: Origin) -> Option<Self> {
        row(ssdlab_ssd::drive_keys(), path, value, origin)
    }
}

/// A key of a file: bytes of the key, of its value, and the comment behind it.
#[derive(Clone, Debug)]
pub(crate) struct KeyPlace {
    pub path: String,
    pub key: Range<usize>,
    pub value: Range<usize>,
    pub comment: Option<String>,
    /// A `[table]` rather than a value.
    pub is_table: bool,
}

/// Every key of `text`, in order of appearance. Empty if the text is not TOML.
pub(crate) fn keys_of(text: &str) -> Vec<KeyPlace> {
    let mut keys = Vec::new();
    if let Ok(document) = Document::parse(text) {
        walk(document.as_table(), "", text, &mut keys);
    }
    keys.sort_by_key(|k| k.key.start);
    keys
}

/// The innermost key of `text` whose name or value is at this byte.
pub(crate) fn key_at(text: &str, at: usize) -> Option<KeyPlace> {
    let here = keys_of(text).into_iter().filter(|k| k.key.contains(&at) || k.value.contains(&at));
    here.max_by_key(|k| k.path.len())
}

fn walk(table: &dyn TableLike, prefix: &str, text: &str, keys: &mut Vec<KeyPlace>) {
    for (name, item) in table.iter() {
        let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        let value = item.span().unwrap_or(0..0);
        let key = table.key(name).and_then(toml_edit::Key::span).unwrap_or(value.clone());
        let nested = item.as_table_like();
        keys.push(KeyPlace {
            path: path.clone(),
            key,
            comment: trailing_comment(text, value.end),
            value,
            is_table: nested.is_some(),
        });
        if let Some(nested) = nested {
            walk(nested, &path, text, keys);
        }
    }
}

/// The comment on the line on which a value ends. A value is followed by nothing but a comment.
fn trailing_comment(text: &str, value_end: usize) -> Option<String> {
    let line = text.get(value_end..)?.lines().next()?;
    let comment = line.trim_start().strip_prefix('#')?;
    Some(comment.trim().to_owned())
}

/// The values of a file as rows of a specification table. `base`, which is no key of the drive or die, is left out.
pub(crate) fn rows_of(text: &str, table: &KeyTable) -> Vec<SpecRow> {
    let row = |place: KeyPlace| {
        let value = text.get(place.value).unwrap_or_default().trim_matches('"');
        row(table, &place.path, value, Origin::of_comment(place.comment.as_deref()))
    };
    keys_of(text).into_iter().filter_map(row).collect()
}

/// A row of a specification table; `None` if there is no such key.
pub(crate) fn row(table: &KeyTable, path: &str, value: &str, origin: Origin) -> Option<SpecRow> {
    let key = table.key(path)?;
    let section = table.section_of(key.split().0)?;
    Some(SpecRow {
        key: path.to_owned(),
        section: section.heading.clone(),
        heading: key.heading.clone(),
        unit: key.unit.clone(),
        value: value.to_owned(),
        origin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_marked_by_a_whole_word_in_any_letters() {
        let of = |text| Origin::of_comment(Some(text));
        for text in ["estimate: halfway", "Estimate: halfway", "ESTIMATE, halfway", "estimate halfway"] {
            assert_eq!(of(text), Origin::Estimate("halfway".into()), "{text}");
        }
        for text in ["estimated from a review", "estimä", "data sheet, an estimate"] {
            assert_eq!(of(text), Origin::Source(text.into()));
        }
        assert_eq!(of("estimate"), Origin::Estimate(String::new()));
    }

    #[test]
    fn rows_carry_the_value_as_written_and_the_comment_as_origin() {
        let text = "base = \"ideal\"\ndescription = \"x # y\" # review, p. 3\n[timing]\n\
                    read_us = [60.0, 90.0] # estimate: halfway\nerase_ms = 3.0\n# not behind a value\n";
        let rows = rows_of(text, ssdlab_nand::die_keys());
        let first = SpecRow {
            key: "description".into(),
            section: "Die".into(),
            heading: "description".into(),
            unit: String::new(),
            value: "x # y".into(),
            origin: Origin::Source("review, p. 3".into()),
        };
        assert_eq!(rows[0], first);
        let (read, erase) = (&rows[1], &rows[2]);
        assert_eq!((read.key.as_str(), read.value.as_str()), ("timing.read_us", "[60.0, 90.0]"));
        assert_eq!((read.section.as_str(), read.heading.as_str(), read.unit.as_str()), ("Die timing", "read", "µs"));
        assert_eq!((&read.origin, &erase.origin), (&Origin::Estimate("halfway".into()), &Origin::Unstated));
    }
}
