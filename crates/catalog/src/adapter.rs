//! Host adapters of the catalog, and adapter files of one's own.

use ssdlab_arrays::{AdapterSpec, adapter_keys};
use ssdlab_keys::SpecError;
use toml::{Table, Value};

use crate::diagnostic::Diagnostic;
use crate::embedded::{ADAPTERS, find};
use crate::keys::{Origin, SpecRow};
use crate::kind::ADAPTER;
use crate::load::{Loaded, load, merged};
use crate::template::{Refusal, read};

/// An adapter that was found, read and checked.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// Catalog name, or the path it was read from.
    pub name: String,
    pub spec: AdapterSpec,
    /// Every value of the adapter file, with its source.
    pub rows: Vec<SpecRow>,
}

/// Names of the adapters of the catalog, in alphabetical order.
pub fn adapter_names() -> impl Iterator<Item = &'static str> + Clone {
    ADAPTERS.iter().map(|f| f.name)
}

/// The adapter of the catalog with this name.
///
/// # Errors
/// What is wrong with its file: nothing, of an embedded one.
pub fn adapter(name: &str) -> Option<Result<Adapter, Diagnostic>> {
    find(ADAPTERS, name).map(|file| read_adapter(name, file.path, file.text, &[]).map_err(|unfit| unfit.problem))
}

/// Reads an adapter from the text of an adapter file; `file` is its name in messages.
///
/// # Errors
/// If it cannot be read or built.
pub fn parse_adapter(file: &str, text: &str) -> Result<Adapter, Diagnostic> {
    read_adapter(file, file, text, &[]).map_err(|unfit| unfit.problem)
}

/// Key of an adapter file by its path or its last word.
pub(crate) fn key_named(name: &str) -> Option<&'static str> {
    let mut keys = adapter_keys().keys.iter().map(|key| key.path.as_str()).filter(|path| *path != "kind");
    keys.find(|path| *path == name || path.rsplit('.').next() == Some(name) && *path != "link.name")
}

/// Why an adapter cannot be had.
pub(crate) struct Unfit {
    pub problem: Diagnostic,
    /// The key at fault, where it is not the file.
    pub key: Option<String>,
}

impl From<Diagnostic> for Unfit {
    fn from(problem: Diagnostic) -> Self {
        Unfit { problem, key: None }
    }
}

/// Reads an adapter, with other values for some of its keys.
pub(crate) fn read_adapter(name: &str, file: &str, text: &str, changes: &[(&str, &str)]) -> Result<Adapter, Unfit> {
    let loaded: Loaded<AdapterSpec> = load(&ADAPTER, file, text)?;
    loaded.spec.validate().map_err(|e| loaded.source.spec_error(&e))?;
    let (mut spec, mut rows) = (loaded.spec, loaded.rows);
    if !changes.is_empty() {
        let mut table = merged(&ADAPTER, file, text)?;
        for (key, value) in changes {
            set(&mut table, key, value);
            if let Some(row) = rows.iter_mut().find(|row| row.key == *key) {
                row.value = (*value).to_owned();
                row.origin = Origin::Source("device expression".to_owned());
            }
        }
        spec = read(&table, "", adapter_keys()).map_err(|refusal| match refusal {
            Refusal::Value { key, problem } => {
                let help =
                    problem.help.iter().map(|help| help.replace("docs/drive-files.md", ADAPTER.manual)).collect();
                Unfit {
                    problem: Diagnostic { what: format!("{key}: {}", problem.what), help, ..problem },
                    key: Some(key),
                }
            }
            Refusal::Impossible(e) => unfit(e),
        })?;
        spec.validate().map_err(unfit)?;
    }
    Ok(Adapter { name: name.to_owned(), spec, rows: rows.into_iter().filter(|row| row.key != "kind").collect() })
}

fn unfit(error: SpecError) -> Unfit {
    let problem = Diagnostic::new(format!("{}: {}", error.key, error.problem)).help(error.expected);
    Unfit { problem, key: Some(error.key) }
}

fn set(table: &mut Table, path: &str, value: &str) {
    if let Some((section, key)) = path.split_once('.') {
        if let Some(Value::Table(inner)) = table.get_mut(section) {
            set(inner, key, value);
        }
        return;
    }
    // A number where the file has a number with a fraction, too.
    let fraction = matches!(table.get(path), Some(Value::Float(_)));
    let value =
        if let Ok(whole) = value.parse::<i64>().map_err(|_| ()).and_then(|v| if fraction { Err(()) } else { Ok(v) }) {
            Value::Integer(whole)
        } else if let Ok(number) = value.parse::<f64>() {
            Value::Float(number)
        } else if let Ok(truth) = value.parse::<bool>() {
            Value::Boolean(truth)
        } else {
            Value::String(value.to_owned())
        };
    table.insert(path.to_owned(), value);
}
