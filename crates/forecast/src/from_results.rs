//! Measurements that stand in results of a real drive: the value, and all parameters that it was measured with.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use ssdlab_bench::suite::TestDef;
use ssdlab_report::{ResultRow, ResultsDocument};
use toml::Value;

/// A figure of the results, and what it was measured with.
pub(crate) struct Found {
    pub(crate) value: f64,
    pub(crate) unit: String,
    pub(crate) set: BTreeMap<String, Value>,
    pub(crate) device: String,
    /// Why its run had not settled, if the results say that.
    pub(crate) not_settled: Option<String>,
}

/// The figure `metric` of the one run of `test` whose parameters are as `set` says.
///
/// # Errors
/// If there is none, or more than one.
pub(crate) fn find(
    results: &ResultsDocument,
    test: &TestDef,
    set: &BTreeMap<String, Value>,
    metric: &str,
) -> Result<Found, String> {
    let settings: Vec<(String, String)> = set.iter().map(|(k, v)| (k.clone(), text(v))).collect();
    let asked = test.resolve(&settings, false).map_err(|e| e.to_string())?.to_json();
    let same = |row: &&ResultRow| row.test == test.name && set.keys().all(|key| row.params.get(key) == asked.get(key));
    let rows: Vec<&ResultRow> = results.results.iter().filter(same).collect();
    let row = match rows.as_slice() {
        [row] => *row,
        [] => return Err(format!("the results have no run of {} with these parameters", test.name)),
        _ => {
            return Err(format!(
                "the results have {} runs of {} with these parameters: `set` must tell them apart",
                rows.len(),
                test.name
            ));
        }
    };
    if row.small_by.is_some() {
        return Err(format!("the results of {} are of a drive in small", test.name));
    }
    let figure = row.metrics.get(metric);
    let figure = figure.ok_or_else(|| format!("the results of {} have no figure `{metric}`", test.name))?;
    let known = |key: &str| test.all_params().any(|p| p.key == key);
    let set = row.params.iter().filter(|(key, _)| known(key)).map(|(key, v)| (key.clone(), Value::String(plain(v))));
    let first = results.all_devices().next().map(|d| d.name.clone()).unwrap_or_default();
    Ok(Found {
        value: figure.value,
        unit: figure.unit.clone(),
        set: set.collect(),
        device: row.device.clone().unwrap_or(first),
        not_settled: row.not_steady.first().map(|not_steady| not_steady.why.clone()),
    })
}

/// A parameter as one would write it behind `--set`.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
