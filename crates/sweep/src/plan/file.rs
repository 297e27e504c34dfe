//! The text of a plan: what is where, and what serde reads of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Deserialize;
use ssdlab_bench::ParamError;
use ssdlab_bench::suite::Better;
use ssdlab_catalog::{Diagnostic, Place};
use toml::{Table, Value};
use toml_edit::{Document, Item, TableLike};

/// The plan as a file has it. Swept keys are read from the document instead, where their order and places are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanFile {
    pub drive: String,
    pub title: Option<String>,
    pub seeds: Option<Vec<u64>>,
    #[serde(default, rename = "set")]
    _set: Table,
    #[serde(default, rename = "grid")]
    _grid: Table,
    /// How many rows there are; an empty one leaves no trace in the document's values.
    #[serde(default)]
    pub list: Vec<Table>,
    #[serde(default)]
    pub test: Vec<TestEntry>,
    #[serde(default)]
    pub charts: ChartsFile,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TestEntry {
    /// A test of the bench …
    pub name: Option<String>,
    /// … or a fio job file, relative to the plan.
    pub job: Option<String>,
    #[serde(default, rename = "set")]
    _set: Table,
    /// Of a job: what is written first.
    pub prefill: Option<PrefillWord>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PrefillWord {
    Read,
    Drive,
    None,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChartsFile {
    pub metrics: Option<Vec<String>>,
    pub x: Option<Vec<String>>,
    #[serde(default)]
    pub pareto: Vec<ParetoFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParetoFile {
    pub x: String,
    pub y: String,
    pub x_better: Option<Better>,
    pub y_better: Option<Better>,
}

/// Keys and values of a TOML text by path: `grid.gc.policy`, `grid.gc.policy[2]`, `test[0].set.queue_depth`.
pub(crate) struct PlanText<'a> {
    pub file: &'a str,
    text: &'a str,
    keys: BTreeMap<String, Range<usize>>,
    values: BTreeMap<String, Range<usize>>,
    /// Values that are no tables, in the order of the file, by path.
    pub leaves: Vec<(String, Value)>,
}

/// Arrays of tables, which a file can write in either way: `[[test]]`, or `test = [{ … }]`.
const ARRAYS_OF_TABLES: [&str; 3] = ["test", "list", "charts.pareto"];

impl<'a> PlanText<'a> {
    /// The text must be TOML; of other text nothing is found.
    pub fn new(file: &'a str, text: &'a str) -> Self {
        let mut plan = PlanText { file, text, keys: BTreeMap::new(), values: BTreeMap::new(), leaves: Vec::new() };
        if let Ok(document) = Document::parse(text) {
            plan.table(document.as_table(), "");
        }
        plan
    }

    fn table(&mut self, table: &dyn TableLike, prefix: &str) {
        for (name, item) in table.iter() {
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            if let Some(span) = table.key(name).and_then(toml_edit::Key::span).or(item.span()) {
                self.keys.insert(path.clone(), span);
            }
            self.item(item, path);
        }
    }

    fn item(&mut self, item: &Item, path: String) {
        if let Some(span) = item.span() {
            self.values.insert(path.clone(), span);
        }
        if let Some(tables) = item.as_array_of_tables() {
            for (i, table) in tables.iter().enumerate() {
                let path = format!("{path}[{i}]");
                if let Some(span) = table.span() {
                    self.values.insert(path.clone(), span);
                }
                self.table(table, &path);
            }
        } else if let Some(table) = item.as_table_like() {
            self.table(table, &path);
        } else if let (Some(array), true) = (item.as_array(), ARRAYS_OF_TABLES.contains(&path.as_str())) {
            for (i, element) in array.iter().enumerate() {
                let path = format!("{path}[{i}]");
                if let Some(span) = element.span() {
                    self.values.insert(path.clone(), span);
                }
                // What is no table there was refused when the plan was read.
                if let Some(table) = element.as_inline_table() {
                    self.table(table, &path);
                }
            }
        } else if let Some(value) = item.as_value() {
            for (i, element) in value.as_array().into_iter().flatten().enumerate() {
                if let Some(span) = element.span() {
                    self.values.insert(format!("{path}[{i}]"), span);
                }
            }
            self.leaves.push((path, plain(value)));
        }
    }

    /// `gc.policy` and `"gc.policy"` are one key, which has one place.
    ///
    /// # Errors
    /// If a key stands twice in a section.
    pub fn check_once(&self) -> Result<(), Diagnostic> {
        let mut seen = BTreeSet::new();
        match self.leaves.iter().find(|(path, _)| !seen.insert(path)) {
            None => Ok(()),
            Some((path, _)) => {
                let key = path.split_once('.').map_or(path.as_str(), |(_, key)| key);
                let error = Diagnostic::new(format!("`{key}` stands twice, with and without quotation marks"));
                Err(self.at_key(error.help("a key has one place"), path))
            }
        }
    }

    /// What stands below `section`, in the order of the file: paths without the section.
    pub fn below(&self, section: &str) -> Vec<(&str, &Value)> {
        self.leaves.iter().filter_map(|(path, v)| Some((path.strip_prefix(section)?.strip_prefix('.')?, v))).collect()
    }

    /// Points at the key of this path, or at what is next to it upwards.
    pub fn at_key(&self, error: Diagnostic, path: &str) -> Diagnostic {
        self.at(error, &self.keys, path)
    }

    /// Points at the value of this path, or at what is next to it upwards.
    pub fn at_value(&self, error: Diagnostic, path: &str) -> Diagnostic {
        self.at(error, &self.values, path)
    }

    /// An error about a test's parameter: a name is wrong at the key, anything else at the value.
    pub fn at_parameter(&self, error: ParamError, path: &str) -> Diagnostic {
        if matches!(error, ParamError::Unknown { .. }) {
            self.at_key(error.into(), key_path(path))
        } else {
            self.at_value(error.into(), path)
        }
    }

    fn at(&self, error: Diagnostic, spans: &BTreeMap<String, Range<usize>>, path: &str) -> Diagnostic {
        let mut path = path;
        loop {
            if let Some(span) = spans.get(path) {
                return error.at(Place::new(self.file, self.text, span.clone()));
            }
            match path.rfind(['.', '[']) {
                Some(at) => path = &path[..at],
                None => return error.at(Place::new(self.file, self.text, 0..0)),
            }
        }
    }
}

/// The value alone, without its place and comments.
fn plain(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(v) => Value::String(v.value().clone()),
        toml_edit::Value::Integer(v) => Value::Integer(*v.value()),
        toml_edit::Value::Float(v) => Value::Float(*v.value()),
        toml_edit::Value::Boolean(v) => Value::Boolean(*v.value()),
        toml_edit::Value::Datetime(v) => Value::String(v.value().to_string()),
        toml_edit::Value::Array(v) => Value::Array(v.iter().map(plain).collect()),
        toml_edit::Value::InlineTable(v) => Value::Table(v.iter().map(|(k, v)| (k.to_owned(), plain(v))).collect()),
    }
}

/// The path of a grid key without the number of its value.
pub(super) fn key_path(path: &str) -> &str {
    match path.rfind('[') {
        Some(at) if path.ends_with(']') => &path[..at],
        _ => path,
    }
}
