//! Measurements that stand in results of a real drive: the value, and the parameters that it was measured with.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use ssdlab_bench::suite::TestDef;
use ssdlab_catalog::claims::setting;
use ssdlab_report::{ResultRow, ResultsDocument};
use toml::Value;

/// A figure of the results, and what it was measured with: what the test does anyway is left to it, so that a quick run of it is
/// shortened as ever.
pub(crate) struct Found {
    pub(crate) value: f64,
    pub(crate) unit: String,
    pub(crate) set: BTreeMap<String, Value>,
    pub(crate) device: String,
    /// Why its run had not settled, if the results say that.
    pub(crate) not_settled: Option<String>,
}

/// The figure `metric` of the one run of `test` on a real drive whose parameters are as `set` says.
///
/// # Errors
/// If there is none, or more than one, or one that no run at full length is like.
pub(crate) fn find(
    results: &ResultsDocument,
    test: &TestDef,
    set: &BTreeMap<String, Value>,
    metric: &str,
) -> Result<Found, String> {
    let settings: Vec<(String, String)> = set.iter().map(|(k, v)| (k.clone(), setting(v))).collect();
    let resolved = |settings: &[(String, String)]| test.resolve(settings, false).map(|p| p.to_json());
    let asked = resolved(&settings).map_err(|e| e.to_string())?;
    let own = resolved(&[]).map_err(|e| e.to_string())?;
    let first = results.all_devices().next().map_or("", |d| d.name.as_str());
    let device = |row: &ResultRow| row.device.clone().unwrap_or_else(|| first.to_owned());
    let real: Vec<&str> = results.all_devices().filter(|d| d.is_real()).map(|d| d.name.as_str()).collect();
    if real.is_empty() {
        return Err("the results are of no real drive".to_owned());
    }
    // A simulated drive may have been reviewed beside it.
    let same = |row: &&ResultRow| {
        let is_real = real.contains(&device(row).as_str());
        is_real && row.test == test.name && set.keys().all(|key| row.params.get(key) == asked.get(key))
    };
    let rows: Vec<&ResultRow> = results.results.iter().filter(same).collect();
    let row = match rows.as_slice() {
        [row] => *row,
        [] => return Err(format!("the results have no run of {} with these parameters", test.name)),
        [row, others @ ..] if others.iter().any(|other| device(other) != device(row)) => {
            return Err(format!(
                "the results have runs of {} with these parameters on several real drives ({}): name results of one of them",
                test.name,
                real.join(", ")
            ));
        }
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
    let known = |key: &str| test.all_params().find(|p| p.key == key);
    let differs = |(key, value): &(&String, &Json)| own.get(*key) != Some(*value);
    let mut set = BTreeMap::new();
    for (key, value) in row.params.iter().filter(differs) {
        let Some(def) = known(key) else { continue };
        let value = plain(value);
        if results.quick && def.parse(&value).is_err() {
            return Err(format!(
                "the results are of a quick run, of which no other run can have its {key} ({value} {}): measure without --quick",
                def.unit
            ));
        }
        set.insert(key.clone(), Value::String(value));
    }
    Ok(Found {
        value: figure.value,
        unit: figure.unit.clone(),
        set,
        device: device(row),
        not_settled: row.not_steady.first().map(|not_steady| not_steady.why.clone()),
    })
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
