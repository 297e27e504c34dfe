//! The results as one tidy table: a row a point, a column a swept key, fact or metric.

use ssdlab_bench::suite::STANDARD_METRICS;

use crate::plan::Plan;
use crate::point::PointResult;
use crate::run::State;

/// A column. Cells are empty where a row has no such figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    Text(Vec<String>),
    Number(Vec<Option<f64>>),
}

/// The rows of a plan in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Key, unit (or empty), values. Rows: `point`, `test`, `seed`, the swept keys, `status`, what is known of the
    /// drive, metrics in the order of reports, `reason`, `notes`.
    pub columns: Vec<(String, String, Column)>,
    pub rows: usize,
}

impl Table {
    #[must_use]
    pub fn new(plan: &Plan, states: &[State]) -> Table {
        let mut columns = Vec::new();
        let text = |of: &dyn Fn(usize) -> String| Column::Text((0..states.len()).map(of).collect());
        let number = |of: &dyn Fn(usize) -> Option<f64>| Column::Number((0..states.len()).map(of).collect());
        let mut put = |key: &str, unit: &str, column: Column| columns.push((key.to_owned(), unit.to_owned(), column));
        put("point", "", number(&|i| Some(plan.points[i].number as f64)));
        put("test", "", text(&|i| plan.tasks[plan.points[i].task].name.clone()));
        put("seed", "", number(&|i| Some(plan.points[i].seed as f64)));
        for (a, axis) in plan.axes.iter().enumerate() {
            let column = if axis.values.iter().all(|v| v.number.is_some()) {
                number(&|i| plan.points[i].cells[a].number)
            } else {
                text(&|i| plan.points[i].cells[a].text.clone())
            };
            put(&axis.key, "", column);
        }
        put("status", "", text(&|i| status(&states[i]).to_owned()));
        let fact = |i: usize| match &states[i] {
            State::Done(PointResult::Finished { capacity_bytes, spare_percent, .. }) => {
                Some((*capacity_bytes as f64, *spare_percent))
            }
            _ => None,
        };
        put(
            if plan.axes.iter().any(|a| a.key == "capacity_bytes") { "built_capacity_bytes" } else { "capacity_bytes" },
            "B",
            number(&|i| fact(i).map(|f| f.0)),
        );
        put("spare_percent", "%", number(&|i| fact(i).and_then(|f| f.1)));
        for (key, unit) in metric_keys(states) {
            put(&key, &unit, number(&|i| metric(&states[i], &key)));
        }
        put("reason", "", text(&|i| reason(&states[i]).to_owned()));
        put("notes", "", text(&|i| all_notes(plan, states, i)));
        Table { columns, rows: states.len() }
    }

    /// Comma-separated values (RFC 4180, line feeds), units in the header, every figure to its last digit.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let heads = self
            .columns
            .iter()
            .map(|(key, unit, _)| if unit.is_empty() { field(key) } else { field(&format!("{key} ({unit})")) });
        let mut out = heads.collect::<Vec<_>>().join(",");
        out.push('\n');
        for row in 0..self.rows {
            let cells = self.columns.iter().map(|(_, _, column)| match column {
                Column::Text(v) => field(&v[row]),
                Column::Number(v) => v[row].map_or(String::new(), |v| v.to_string()),
            });
            out.push_str(&cells.collect::<Vec<_>>().join(","));
            out.push('\n');
        }
        out
    }
}

/// Every metric of any point with its unit: those of all tests first, in the order of reports, then the others.
pub(crate) fn metric_keys(states: &[State]) -> Vec<(String, String)> {
    let mut keys: Vec<(String, String)> = Vec::new();
    for state in states {
        if let State::Done(PointResult::Finished { metrics, .. }) = state {
            for (key, m) in metrics {
                if !keys.iter().any(|k| k.0 == *key) {
                    keys.push((key.clone(), m.unit.clone()));
                }
            }
        }
    }
    let place = |key: &str| STANDARD_METRICS.iter().position(|m| m.key == key).unwrap_or(usize::MAX);
    keys.sort_by(|a, b| place(&a.0).cmp(&place(&b.0)).then_with(|| a.0.cmp(&b.0)));
    keys
}

pub(crate) fn metric(state: &State, key: &str) -> Option<f64> {
    match state {
        State::Done(PointResult::Finished { metrics, .. }) => metrics.get(key).map(|m| m.value),
        _ => None,
    }
}

pub(crate) fn status(state: &State) -> &'static str {
    match state {
        State::Done(PointResult::Finished { .. }) => "finished",
        State::Done(PointResult::Impossible { .. }) => "impossible",
        State::Failed(_) => "failed",
        State::NotRun => "not run",
    }
}

pub(crate) fn reason(state: &State) -> &str {
    match state {
        State::Done(PointResult::Impossible { reason }) | State::Failed(reason) => reason,
        _ => "",
    }
}

/// What the test said of its figures.
pub(crate) fn test_notes(state: &State) -> &[String] {
    match state {
        State::Done(PointResult::Finished { notes, .. }) => notes,
        _ => &[],
    }
}

/// The same, behind what is to be known of a job file: it holds of all of its points.
fn all_notes(plan: &Plan, states: &[State], i: usize) -> String {
    let of_file = match states[i] {
        State::Done(PointResult::Finished { .. }) => plan.tasks[plan.points[i].task].notices(),
        _ => Vec::new(),
    };
    let notes: Vec<&str> = of_file.iter().chain(test_notes(&states[i])).map(String::as_str).collect();
    notes.join(" ")
}

/// Quotes a field where it needs it.
pub(crate) fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
