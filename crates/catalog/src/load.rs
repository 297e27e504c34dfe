//! Reads a drive or die file: strictly, with every error at its line, and on top of a `base` if it names one.

use serde::de::DeserializeOwned;
use ssdlab_core::nearest;
use ssdlab_device::name_of_file;
use ssdlab_keys::{KeyTable, SpecError};
use toml::Table;

use crate::diagnostic::{Diagnostic, Place};
use crate::embedded::{EmbeddedFile, find};
use crate::explain::{explain, help_for_value};
use crate::keys::{KeyPlace, SpecRow, key_at, keys_of, rows_of};
use crate::kind::{KINDS, Kind};

/// A file that was read, with what is needed to point into it later.
pub(crate) struct Loaded<T> {
    pub spec: T,
    pub rows: Vec<SpecRow>,
    /// Name of the catalog file that it builds on.
    pub base: Option<String>,
    pub source: SourceText,
}

impl<T> Loaded<T> {
    /// What is said of a file that changes one of the catalog and has no description of its own, so that it is not mistaken for that
    /// one. Its name is that of the file: where it lies makes no other device of it.
    pub(crate) fn description_of_changes(&self, name: &str) -> Option<String> {
        let base = self.base.as_ref().filter(|_| !self.source.has("description"))?;
        Some(format!("{base} with the changes of {}", name_of_file(name)))
    }
}

/// The text of a file and where its keys are.
#[derive(Clone, Debug)]
pub(crate) struct SourceText {
    file: String,
    text: String,
    keys: Vec<KeyPlace>,
    /// What the file has from those that it builds on.
    of_base: Vec<String>,
    /// The keys that such a file can have.
    known: fn() -> &'static KeyTable,
}

impl SourceText {
    fn new(kind: &Kind, file: &str, text: &str) -> Self {
        let (file, text, keys) = (file.to_owned(), text.to_owned(), keys_of(text));
        SourceText { file, text, keys, of_base: Vec::new(), known: kind.keys }
    }
}

/// The key by which a file builds on one of the catalog.
const BASE: &str = "base";
/// The key that names what of the base this file leaves out: keys, or whole sections.
const WITHOUT: &str = "without";

pub(crate) fn load<T: DeserializeOwned>(kind: &Kind, file: &str, text: &str) -> Result<Loaded<T>, Diagnostic> {
    let mut source = SourceText::new(kind, file, text);
    let mut own: Table = toml::from_str(text).map_err(|e| source.problem(&e, kind, text))?;
    source.of_this_kind(&own, kind)?;
    source.no_lists_of_sections(&own, kind)?;
    let Some(base) = own.get(BASE) else {
        if own.contains_key(WITHOUT) {
            let error = Diagnostic::new("`without` leaves out what a base has, and there is no `base`");
            return Err(error.at(source.value_place(WITHOUT)).help("leave the keys themselves out"));
        }
        let spec = toml::from_str(text).map_err(|e| source.problem(&e, kind, text))?;
        return Ok(Loaded { spec, rows: rows_of(text, (kind.keys)()), base: None, source });
    };
    let base = source.find_base(base, kind)?;
    let without = source.without(&mut own, base, kind)?;
    let merged = with_base(base, own, &without, kind)?.to_string();
    let spec = toml::from_str(&merged).map_err(|e| source.problem(&e, kind, &merged))?;
    let of_base = rows_without(base, &without, kind)?;
    source.of_base = of_base.iter().map(|row| row.key.clone()).collect();
    let rows = overlay(of_base, rows_of(text, (kind.keys)()));
    Ok(Loaded { spec, rows, base: Some(base.name.to_owned()), source })
}

/// The values of a file and of the one that it builds on, as one table.
pub(crate) fn merged(kind: &Kind, file: &str, text: &str) -> Result<Table, Diagnostic> {
    let source = SourceText::new(kind, file, text);
    let mut own: Table = toml::from_str(text).map_err(|e| source.problem(&e, kind, text))?;
    source.of_this_kind(&own, kind)?;
    source.no_lists_of_sections(&own, kind)?;
    let Some(base) = own.get(BASE) else { return Ok(own) };
    let base = source.find_base(base, kind)?;
    let without = source.without(&mut own, base, kind)?;
    with_base(base, own, &without, kind)
}

/// The other kind of file that this table is one of: it names a base of that kind, or all of its keys are that kind's and some
/// of them not this one's.
pub(crate) fn other_kind(own: &Table, kind: &Kind) -> Option<&'static Kind> {
    let base = own.get(BASE).and_then(toml::Value::as_str);
    let builds_on = |kind: &Kind| base.is_some_and(|name| find(kind.catalog, name).is_some());
    let knows = |kind: &Kind| {
        own.keys().all(|name| {
            [BASE, WITHOUT].contains(&name.as_str()) || (kind.keys)().keys.iter().any(|key| is_within(&key.path, name))
        })
    };
    let mut others = KINDS.into_iter().filter(|other| other.word != kind.word);
    others
        .find(|other| if base.is_some() { builds_on(other) && !builds_on(kind) } else { knows(other) && !knows(kind) })
}

/// A file of the catalog.
struct Level {
    own: Table,
    /// What it builds on, and what of that it leaves out.
    base: Option<(&'static EmbeddedFile, Vec<String>)>,
}

impl Level {
    fn read(file: &EmbeddedFile, kind: &Kind) -> Result<Level, Diagnostic> {
        let mut own: Table = toml::from_str(file.text).map_err(|e| Diagnostic::new(format!("{}: {e}", file.path)))?;
        let Some(name) = own.get(BASE) else { return Ok(Level { own, base: None }) };
        let base = name.as_str().and_then(|name| find(kind.catalog, name));
        let base = base.ok_or_else(|| Diagnostic::new(format!("{}: there is no {} {name}", file.path, kind.word)))?;
        let without = match own.remove(WITHOUT) {
            Some(list) => {
                texts_of(&list).ok_or_else(|| Diagnostic::new(format!("{}: `without` = {list}", file.path)))?
            }
            None => Vec::new(),
        };
        Ok(Level { own, base: Some((base, without)) })
    }
}

/// The texts of a list; `None` if it is no list of texts.
fn texts_of(list: &toml::Value) -> Option<Vec<String>> {
    list.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

/// What a file of the catalog says, on top of those that it builds on.
fn whole(file: &EmbeddedFile, kind: &Kind) -> Result<Table, Diagnostic> {
    let Level { own, base } = Level::read(file, kind)?;
    match base {
        Some((deeper, without)) => with_base(deeper, own, &without, kind),
        None => Ok(own),
    }
}

fn with_base(base: &EmbeddedFile, mut changes: Table, without: &[String], kind: &Kind) -> Result<Table, Diagnostic> {
    let mut merged = whole(base, kind)?;
    without.iter().for_each(|path| _ = take(&mut merged, path));
    changes.remove(BASE);
    merge(&mut merged, changes);
    Ok(merged)
}

/// How many of the keys that a file lacks are named.
const NAMED: usize = 60;

/// All that a file lacks, where what it lacks is its fault.
fn all_missing(error: &toml::de::Error, kind: &Kind, parsed: &str) -> Option<String> {
    if !error.message().starts_with("missing field") {
        return None;
    }
    let values: toml::Value = toml::from_str(parsed).ok()?;
    let missing: Vec<&str> = (kind.keys)().missing(&values).into_iter().map(|key| key.path.as_str()).collect();
    let more = missing.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = missing[..missing.len().min(NAMED)].join(", ");
    (missing.len() > 1).then(|| format!("{} keys are missing in all: {named}{more}", missing.len()))
}

/// The first path at which a list stands where a section belongs.
fn list_for_section(table: &Table, prefix: &str, keys: &KeyTable) -> Option<String> {
    table.iter().find_map(|(name, value)| {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            toml::Value::Array(_) if keys.section_of(&path).is_some() => Some(path),
            toml::Value::Table(inner) => list_for_section(inner, &path, keys),
            _ => None,
        }
    })
}

/// Takes a key or a section out of a table.
fn take(table: &mut Table, path: &str) -> Option<toml::Value> {
    match path.split_once('.') {
        None => table.remove(path),
        Some((section, rest)) => take(table.get_mut(section)?.as_table_mut()?, rest),
    }
}

/// Whether a table has this key or section.
fn is_there(table: &Table, path: &str) -> bool {
    match path.split_once('.') {
        None => table.contains_key(path),
        Some((section, rest)) => {
            table.get(section).and_then(toml::Value::as_table).is_some_and(|inner| is_there(inner, rest))
        }
    }
}

/// Whether a key is this one, or in this section.
fn is_within(key: &str, path: &str) -> bool {
    key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn rows_with_bases(file: &EmbeddedFile, kind: &Kind) -> Result<Vec<SpecRow>, Diagnostic> {
    let own = rows_of(file.text, (kind.keys)());
    Ok(match Level::read(file, kind)?.base {
        Some((base, without)) => overlay(rows_without(base, &without, kind)?, own),
        None => own,
    })
}

/// The rows of a file of the catalog that another one builds on which leaves these paths out.
fn rows_without(base: &EmbeddedFile, without: &[String], kind: &Kind) -> Result<Vec<SpecRow>, Diagnostic> {
    let mut rows = rows_with_bases(base, kind)?;
    rows.retain(|row| !without.iter().any(|path| is_within(&row.key, path)));
    Ok(rows)
}

/// Reads a TOML file of another kind, with every error at its line. `manual` names the document that explains it.
///
/// # Errors
/// What is wrong with it, and where.
pub fn parse<T: DeserializeOwned>(file: &str, text: &str, manual: &str) -> Result<T, Diagnostic> {
    toml::from_str(text).map_err(|e| {
        let problem = explain(&e, &[]);
        let missing = problem.what.starts_with("missing key");
        let mut diagnostic = Diagnostic::new(problem.what).at(Place::new(file, text, problem.span.unwrap_or(0..0)));
        if missing {
            return diagnostic.help(format!("add it; {manual} shows what these files look like"));
        }
        diagnostic.help = problem.help.into_iter().map(|help| help.replace("docs/drive-files.md", manual)).collect();
        diagnostic
    })
}

/// Tables are merged key by key; anything else is replaced.
fn merge(into: &mut Table, changes: Table) {
    for (key, change) in changes {
        match (into.get_mut(&key), change) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, change) => {
                into.insert(key, change);
            }
        }
    }
}

fn overlay(mut rows: Vec<SpecRow>, own: Vec<SpecRow>) -> Vec<SpecRow> {
    for row in own {
        match rows.iter_mut().find(|r| r.key == row.key) {
            Some(place) => *place = row,
            None => rows.push(row),
        }
    }
    rows
}

impl SourceText {
    fn find_base(&self, base: &toml::Value, kind: &Kind) -> Result<&'static EmbeddedFile, Diagnostic> {
        let Some(name) = base.as_str() else {
            return Err(Diagnostic::new("`base` does not fit here")
                .at(self.value_place(BASE))
                .help(format!("give the name of {} of the catalog in double quotes", kind.one())));
        };
        find(kind.catalog, name).ok_or_else(|| {
            let known = kind.catalog.iter().map(|f| f.name);
            let mut error = Diagnostic::new(format!("there is no {} `{name}`", kind.word)).at(self.value_place(BASE));
            if name.contains(['.', '/']) {
                return error.help(format!(
                    "a file builds on {} of the catalog, which is named without folder and ending",
                    kind.one()
                ));
            }
            let close = nearest(name, known.clone());
            if !close.is_empty() {
                error = error.help(format!("did you mean {}?", close.join(" or ")));
            }
            error.help(format!("the catalog has {}", known.collect::<Vec<_>>().join(", ")))
        })
    }

    /// What this file leaves out of its base; it is no key of the spec.
    fn without(&self, own: &mut Table, base: &EmbeddedFile, kind: &Kind) -> Result<Vec<String>, Diagnostic> {
        let Some(list) = own.remove(WITHOUT) else { return Ok(Vec::new()) };
        let Some(paths) = texts_of(&list) else {
            return Err(Diagnostic::new("`without` does not fit here")
                .at(self.value_place(WITHOUT))
                .help("write a list of keys and sections, such as without = [\"slc_cache.when_full\", \"ecc\"]"));
        };
        let of_base = whole(base, kind)?;
        if let Some(path) = paths.iter().find(|path| !is_there(&of_base, path)) {
            let error = Diagnostic::new(format!("there is no `{path}` in {} that could be left out", base.name));
            let help = format!("`ssdlab show {}` prints what there is, each key once", base.name);
            return Err(error.at(self.value_place(WITHOUT)).help(help));
        }
        Ok(paths)
    }

    fn of_this_kind(&self, own: &Table, kind: &Kind) -> Result<(), Diagnostic> {
        let Some(other) = other_kind(own, kind) else { return Ok(()) };
        let first = own.keys().map(|name| self.value_place(name)).min_by_key(|place| place.line);
        let error = Diagnostic::new(format!("this file describes {}, and {} is wanted", other.one(), kind.one()))
            .at(first.unwrap_or_else(|| self.place(0..0)));
        Err(error.help(format!("{} explains what {} consists of", kind.manual, kind.one())))
    }

    /// Refuses `[[gc]]` for `[gc]`, and `gc = [...]`: a list would be read as the values of the section's keys, in their order.
    fn no_lists_of_sections(&self, own: &Table, kind: &Kind) -> Result<(), Diagnostic> {
        let Some(path) = list_for_section(own, "", (kind.keys)()) else { return Ok(()) };
        let head = format!("[[{path}]]");
        let place = match self.text.find(&head) {
            Some(at) => self.place(at..at + head.len()),
            None => self.value_place(&path),
        };
        Err(Diagnostic::new(format!("`{path}` is one section, not a list"))
            .at(place)
            .help(format!("write [{path}], and its keys below")))
    }

    /// Explains an error in `parsed`, which is this file's text or this file merged with its base.
    fn problem(&self, error: &toml::de::Error, kind: &Kind, parsed: &str) -> Diagnostic {
        let problem = explain(error, &(kind.keys)().keys);
        let mut diagnostic = Diagnostic::new(problem.what);
        let manual = |help: String| help.replace("docs/drive-files.md", kind.manual);
        diagnostic.help = match help_for_value(error, parsed, (kind.keys)()) {
            Some(help) => vec![help],
            None => problem.help.into_iter().map(manual).collect(),
        };
        diagnostic.help.extend(all_missing(error, kind, parsed));
        let Some(span) = problem.span else {
            return diagnostic.at(self.place(0..0));
        };
        if parsed == self.text {
            return diagnostic.at(self.place(span));
        }
        // The error lies in the merged text: find the key there, then the same key in the user's file.
        match key_at(parsed, span.start) {
            Some(k) if k.key.contains(&span.start) => diagnostic.at(self.key_place(&k.path)),
            Some(k) => diagnostic.at(self.value_place(&k.path)),
            None => diagnostic.at(self.place(0..0)),
        }
    }

    /// A value that cannot be built, in the form of every other message.
    pub(crate) fn spec_error(&self, error: &SpecError) -> Diagnostic {
        let mut diagnostic =
            Diagnostic::new(format!("{}: {}", error.key, error.problem)).at(self.value_place(&error.key));
        if !self.has(&error.key) && self.of_base.contains(&error.key) {
            let key = &error.key;
            let is_required = (self.known)().key(key).is_some_and(|key| key.required);
            let or_without = if is_required { "" } else { ", or leave it out with `without`" };
            diagnostic = diagnostic.help(format!("{key} comes from the base: state it in this file, too{or_without}"));
        }
        diagnostic.help(error.expected.clone())
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.keys.iter().any(|k| k.path == path)
    }

    /// Where the value of `path` stands; failing that, its section, the line that names the base, or the top.
    pub(crate) fn value_place(&self, path: &str) -> Place {
        let mut wanted = path;
        loop {
            if let Some(key) = self.keys.iter().find(|k| k.path == wanted) {
                let span = if key.is_table { &key.key } else { &key.value };
                return self.place(span.clone());
            }
            match wanted.rsplit_once('.') {
                Some((parent, _)) => wanted = parent,
                None if wanted != BASE && self.has(BASE) => wanted = BASE,
                None => return self.place(0..0),
            }
        }
    }

    fn key_place(&self, path: &str) -> Place {
        match self.keys.iter().find(|k| k.path == path) {
            Some(key) => self.place(key.key.clone()),
            None => self.value_place(path),
        }
    }

    fn place(&self, span: std::ops::Range<usize>) -> Place {
        Place::new(&self.file, &self.text, span)
    }
}
