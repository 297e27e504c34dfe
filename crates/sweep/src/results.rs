//! The files of a sweep: the table and the page of charts, and how those of an unfinished one are called.

use std::path::{Path, PathBuf};

use crate::charts;
use crate::plan::Plan;
use crate::repeats::intervals_csv;
use crate::run::{State, is_unfinished};
use crate::store::{StoreError, refused, write_whole};
use crate::table::Table;

/// Names of the files of a finished sweep, each beside that of an unfinished one: whoever reads `results.csv` has every
/// point.
const FILES: [[&str; 2]; 4] = [
    ["results.csv", "unfinished.csv"],
    ["intervals.csv", "unfinished-intervals.csv"],
    ["results.parquet", "unfinished.parquet"],
    ["index.html", "unfinished.html"],
];

/// Every file that a sweep may write into its folder, beside the finished points.
pub const RESULT_FILES: [&str; 8] = {
    let [[a, b], [c, d], [e, f], [g, h]] = FILES;
    [a, c, e, g, b, d, f, h]
};

/// Those of a sweep that is not finished.
pub const UNFINISHED_FILES: [&str; 4] = {
    let [[_, b], [_, d], [_, f], [_, h]] = FILES;
    [b, d, f, h]
};

/// Writes `results.csv`, of a plan of several seeds also `intervals.csv`, with the feature `parquet` also `results.parquet`, and `index.html` into `out`; each whole or
/// not at all. Where points have not been run, the files are called `unfinished…` instead. `version` is the program's.
///
/// # Errors
/// If the file system refuses, or a figure is infinite and has no place in a chart.
pub fn write_results(out: &Path, plan: &Plan, states: &[State], version: &str) -> Result<Vec<PathBuf>, StoreError> {
    let table = Table::new(plan, states);
    let [csv, intervals, parquet, html] = FILES.map(|names| names[usize::from(is_unfinished(states))]);
    let mut files = vec![(csv, table.to_csv().into_bytes())];
    #[cfg(feature = "parquet")]
    files.push((
        parquet,
        crate::parquet::bytes(&table).map_err(|e| refused("make", &out.join(parquet), std::io::Error::other(e)))?,
    ));
    #[cfg(not(feature = "parquet"))]
    let _ = parquet;
    if plan.seeds.len() > 1 {
        files.push((intervals, intervals_csv(plan, states).into_bytes()));
    }
    let names: Vec<String> = files.iter().map(|f| f.0.to_owned()).collect();
    let page = ssdlab_report::sweep_html(&charts::page(plan, states, version, names))
        .map_err(|e| refused("make", &out.join(html), std::io::Error::other(e)))?;
    files.push((html, page.into_bytes()));
    let mut written = Vec::new();
    for (name, bytes) in files {
        let path = out.join(name);
        write_whole(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}
