//! The files of a finished sweep: the table and the page of charts.

use std::path::{Path, PathBuf};

use crate::charts;
use crate::plan::Plan;
use crate::repeats::intervals_csv;
use crate::run::State;
use crate::store::{StoreError, refused, write_whole};
use crate::table::Table;

/// Writes `results.csv`, of a plan of several seeds also `intervals.csv`, with the feature `parquet` also `results.parquet`, and `index.html` into `out`; each whole or
/// not at all. `version` is the program's.
///
/// # Errors
/// If the file system refuses, or a figure is infinite and has no place in a chart.
pub fn write_results(out: &Path, plan: &Plan, states: &[State], version: &str) -> Result<Vec<PathBuf>, StoreError> {
    let table = Table::new(plan, states);
    let mut files = vec![("results.csv", table.to_csv().into_bytes())];
    #[cfg(feature = "parquet")]
    files.push((
        "results.parquet",
        crate::parquet::bytes(&table)
            .map_err(|e| refused("make", &out.join("results.parquet"), std::io::Error::other(e)))?,
    ));
    if plan.seeds.len() > 1 {
        files.push(("intervals.csv", intervals_csv(plan, states).into_bytes()));
    }
    let names: Vec<String> = files.iter().map(|f| f.0.to_owned()).collect();
    let page = ssdlab_report::sweep_html(&charts::page(plan, states, version, names))
        .map_err(|e| refused("make", &out.join("index.html"), std::io::Error::other(e)))?;
    files.push(("index.html", page.into_bytes()));
    let mut written = Vec::new();
    for (name, bytes) in files {
        let path = out.join(name);
        write_whole(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}
