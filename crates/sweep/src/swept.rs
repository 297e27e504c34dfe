//! Swept keys and their values.

use toml::Value;

/// What stands before a test's parameter among the swept keys.
pub const TEST_PREFIX: &str = "test.";

/// A swept key with its values, each once, in the order of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub key: String,
    pub values: Vec<Cell>,
}

/// A value of a swept key.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// As it stands in the table.
    pub text: String,
    /// Its number, if it is one.
    pub number: Option<f64>,
}

impl Cell {
    /// The same of two that stand for one value, as `20` and `20.0` do.
    pub(crate) fn identity(&self) -> String {
        // -0 is 0.
        self.number.map_or_else(|| self.text.clone(), |number| (number + 0.0).to_string())
    }

    pub(crate) fn of(value: &Value) -> Self {
        let number = match value {
            Value::Integer(v) => Some(*v as f64),
            Value::Float(v) => Some(*v),
            _ => None,
        };
        let text = match value {
            Value::String(v) => v.clone(),
            Value::Float(v) => v.to_string(),
            other => other.to_string(),
        };
        Cell { text, number }
    }
}
