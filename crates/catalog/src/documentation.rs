//! What is written for people and programs from the declarations of the keys: tables for `docs/drive-files.md`,
//! `docs/disks.md` and `docs/arrays.md`, and JSON Schemas for `docs/schema`.

use std::fmt::Write as _;

use serde_json::Value;
use ssdlab_keys::{Key, Kind};

use crate::kind::Kind as FileKind;
use crate::kind::{ADAPTER, DIE, DISK, DRIVE};

/// A kind of file that ssdlab reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    Drive,
    Die,
    Disk,
    Adapter,
}

/// `document` with the tables of keys of `files` as they are now, between the markers that say where each belongs.
///
/// # Panics
/// If a marker is missing.
#[must_use]
pub fn with_tables(document: &str, files: &[File]) -> String {
    let mut text = document.to_owned();
    for file in files {
        let word = file.word();
        let begin = format!("<!-- Keys of a {word} file, written by `make keys`. -->\n");
        let end = format!("<!-- End of the keys of a {word} file. -->\n");
        let place = |marker: &str| text.find(marker).unwrap_or_else(|| panic!("the document has no {marker}"));
        let (from, to) = (place(&begin) + begin.len(), place(&end));
        text.replace_range(from..to, &format!("\n{}", file.markdown()));
    }
    text
}

impl File {
    fn kind(self) -> FileKind {
        match self {
            File::Drive => DRIVE,
            File::Die => DIE,
            File::Disk => DISK,
            File::Adapter => ADAPTER,
        }
    }

    fn word(self) -> &'static str {
        match self {
            File::Drive => "drive",
            File::Die => "die",
            File::Disk => "disk",
            File::Adapter => "host adapter",
        }
    }

    /// JSON Schema of such a file, draft 2020-12.
    #[must_use]
    pub fn schema(self) -> Value {
        let kind = self.kind();
        (kind.keys)().file_schema(
            &format!("ssdlab {} file", self.word()),
            &format!("A {} of the catalog on which the file builds.", kind.word),
        )
    }

    /// Tables of every key in Markdown, a section each.
    #[must_use]
    pub fn markdown(self) -> String {
        let table = (self.kind().keys)();
        let mut text = String::new();
        for section in &table.sections {
            let keys: Vec<&Key> = table.keys.iter().filter(|key| key.split().0 == section.path).collect();
            if keys.is_empty() {
                continue;
            }
            let title =
                if section.path.is_empty() { "before the first section".into() } else { heading(&section.path) };
            let _ = write!(text, "### {}: {title}\n\n", section.heading);
            let optional = if section.required { "" } else { "Optional. " };
            let meaning = format!("{optional}{}", section.doc);
            if !section.path.is_empty() && !meaning.is_empty() {
                let _ = write!(text, "{}\n\n", meaning.trim_end());
            }
            text.push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
            keys.iter().for_each(|key| text.push_str(&line(key)));
            text.push('\n');
        }
        text
    }
}

fn heading(path: &str) -> String {
    format!("`[{path}]`")
}

fn line(key: &Key) -> String {
    let default = match (&key.default, key.required) {
        (Some(Value::String(text)), _) => format!("`{text}`"),
        (Some(value), _) => value.to_string(),
        (None, true) => String::new(),
        (None, false) => "absent".to_owned(),
    };
    let mut meaning = key.doc.clone();
    if let Kind::Choice(choices) = &key.kind {
        for choice in choices.iter().filter(|choice| !choice.doc.is_empty()) {
            let _ = write!(meaning, "<br>`{}`: {}", choice.name, choice.doc);
        }
    }
    format!("| `{}` | {} | {default} | {meaning} |\n", key.path, values(key))
}

/// What can stand behind the key.
fn values(key: &Key) -> String {
    let numbers = |what: &str| {
        let range = key.range_in_words();
        let unit = if key.unit.is_empty() { what } else { &key.unit };
        if range.is_empty() { unit.to_owned() } else { format!("{unit}: {range}") }
    };
    match &key.kind {
        Kind::Text => "text".to_owned(),
        Kind::Truth => "true, false".to_owned(),
        Kind::Choice(choices) => choices.iter().map(|c| format!("`{}`", c.name)).collect::<Vec<_>>().join(", "),
        Kind::Whole => numbers("count"),
        Kind::Number => numbers("number"),
        Kind::List(_) => format!("list, {}", numbers("count")),
    }
}
