//! Keys of a TOML file with their places, and the comment behind each value: where the value comes from.

use std::ops::Range;

use serde::Serialize;
use toml_edit::{Document, TableLike};

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

impl Origin {
    fn of_comment(comment: Option<&str>) -> Self {
        match comment {
            None | Some("") => Origin::Unstated,
            Some(text) => match text.strip_prefix("estimate") {
                Some(reason) => Origin::Estimate(reason.trim_start_matches([':', ',', ' ']).to_owned()),
                None => Origin::Source(text.to_owned()),
            },
        }
    }
}

/// One value of a drive or die file, for specification tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecRow {
    /// Dotted path, such as `timing.erase_ms`.
    pub key: String,
    /// As written in the file.
    pub value: String,
    pub origin: Origin,
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

/// The values of a file as rows of a specification table.
pub(crate) fn rows_of(text: &str) -> Vec<SpecRow> {
    keys_of(text)
        .into_iter()
        .filter(|k| !k.is_table)
        .map(|k| SpecRow {
            value: text.get(k.value).unwrap_or_default().trim_matches('"').to_owned(),
            origin: Origin::of_comment(k.comment.as_deref()),
            key: k.path,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_carry_the_value_as_written_and_the_comment_as_origin() {
        let rows = rows_of(
            "a = \"x # y\" # review, p. 3\n[t]\nb = [1.0, 2.5] # estimate: halfway\nc = 3\n# not behind a value\n",
        );
        assert_eq!(
            rows[0],
            SpecRow { key: "a".into(), value: "x # y".into(), origin: Origin::Source("review, p. 3".into()) }
        );
        assert_eq!(rows[1].key, "t.b");
        assert_eq!(rows[1].value, "[1.0, 2.5]");
        assert_eq!(rows[1].origin, Origin::Estimate("halfway".into()));
        assert_eq!(rows[2].origin, Origin::Unstated);
    }
}
