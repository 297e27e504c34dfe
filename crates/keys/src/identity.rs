//! What sets one spec apart from others of its kind.

use serde::Serialize;
use toml::Value;

use crate::check::find;
use crate::table::KeyTable;

impl KeyTable {
    /// A line for each value that is not its key's default, by key. Two specs that differ in a value differ in it; a key
    /// that comes with a later version and has a default, or can be left out, changes nothing of it.
    ///
    /// # Panics
    /// If `spec` has a number that a file cannot hold: it has not passed [`KeyTable::check`].
    #[must_use]
    pub fn identity(&self, spec: &impl Serialize) -> String {
        let values = Value::try_from(spec).expect("it has been checked");
        let mut lines: Vec<String> = self
            .keys
            .iter()
            .filter_map(|key| {
                let value = find(&values, &key.path)?;
                let is_default = key.default.as_ref().is_some_and(|default| is_same(value, default));
                (!is_default).then(|| format!("{} = {value}\n", key.path))
            })
            .collect();
        lines.sort_unstable();
        lines.concat()
    }
}

/// Whether a value is what a schema says: 1 and 1.0 are.
fn is_same(value: &Value, default: &serde_json::Value) -> bool {
    match (value, default) {
        (Value::Integer(v), default) => default.as_f64() == Some(*v as f64),
        (Value::Float(v), default) => default.as_f64() == Some(*v),
        (Value::String(v), default) => default.as_str() == Some(v),
        (Value::Boolean(v), default) => default.as_bool() == Some(*v),
        (Value::Array(v), serde_json::Value::Array(defaults)) => {
            v.len() == defaults.len() && v.iter().zip(defaults).all(|(v, default)| is_same(v, default))
        }
        _ => false,
    }
}
