//! Checks every value against the range of its key.

use serde::Serialize;
use toml::Value;

use crate::error::SpecError;
use crate::number::{limit, value, with_unit};
use crate::table::{Key, KeyTable};

/// Texts are for people, or names; reports and messages have them in a line.
const LONGEST_TEXT: usize = 1000;

impl KeyTable {
    /// Checks each value of `spec` by itself, in the order of the keys.
    ///
    /// The values are those that a file of this spec would have, so a spec that was read and one that was put
    /// together by a program meet the same check.
    ///
    /// # Errors
    /// The first value out of its range.
    pub fn check(&self, spec: &impl Serialize) -> Result<(), SpecError> {
        let values = Value::try_from(spec).map_err(|e| {
            SpecError::new("a whole number", e.to_string(), format!("use at most {}, as a file can hold", i64::MAX))
        })?;
        self.keys.iter().try_for_each(|key| match find(&values, &key.path) {
            Some(value) => self.check_value(key, value),
            None => Ok(()),
        })
    }

    /// The keys that `values` lack, in the order of the keys: all that a file needs, and all that a section needs which
    /// is there.
    #[must_use]
    pub fn missing(&self, values: &Value) -> Vec<&Key> {
        let is_needed = |path: &str| {
            let sections = path.match_indices('.').map(|(at, _)| &path[..at]);
            sections.fold(true, |needed, section| {
                find(values, section).is_some() || needed && self.section_of(section).is_some_and(|s| s.required)
            })
        };
        let is_missing = |key: &&Key| key.required && find(values, &key.path).is_none() && is_needed(&key.path);
        self.keys.iter().filter(is_missing).collect()
    }

    fn check_value(&self, key: &Key, found: &Value) -> Result<(), SpecError> {
        let (number, shown) = match found {
            Value::Integer(v) => (*v as f64, v.to_string()),
            Value::Float(v) => (*v, value(*v)),
            Value::Array(values) => {
                if let Some(least) = key.range.least_values.filter(|&least| values.len() < least) {
                    let problem = format!("{} value(s) are too few", values.len());
                    return Err(SpecError::new(&key.path, problem, format!("give {least} or more")));
                }
                return values.iter().try_for_each(|value| self.check_value(key, value));
            }
            Value::String(text) => {
                let letters = text.chars().count();
                if letters > LONGEST_TEXT {
                    let problem = format!("a text of {letters} characters is too long");
                    return Err(SpecError::new(&key.path, problem, format!("use at most {LONGEST_TEXT}")));
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        if key.range.allows(number) {
            return Ok(());
        }
        let step = key.range.multiple_of.filter(|_| !key.range.fits_steps(number));
        let problem = match step {
            Some(step) => format!("{shown} is not a multiple of {}", with_unit(&limit(step), &key.unit)),
            None => format!("{} is impossible", with_unit(&shown, &key.unit)),
        };
        let expected = format!("use {}{}", key.range.words(&key.unit), self.how_to_leave_out(key));
        Err(SpecError::new(&key.path, problem, expected))
    }

    /// For what can be left out as a whole, that it can.
    fn how_to_leave_out(&self, key: &Key) -> String {
        let section = key.split().0;
        let alone = self.keys.iter().filter(|other| other.split().0 == section).count() == 1;
        if !key.required && key.default.is_none() {
            ", or leave it out".to_owned()
        } else if alone && self.section_of(section).is_some_and(|s| !s.required) {
            format!(", or leave [{section}] out")
        } else {
            String::new()
        }
    }
}

pub(crate) fn find<'a>(values: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(values, |value, name| value.get(name))
}
