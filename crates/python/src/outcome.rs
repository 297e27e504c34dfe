//! What came of a test, a replay or a job file.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use ssdlab_bench::fio_run::FioReport;
use ssdlab_bench::replay;
use ssdlab_cli::commands::review::write_into;
use ssdlab_cli::folder::{OutputFolder, Writes};
use ssdlab_cli::lab::{BEGINS_AS_SAVED, SimulatedDrive};
use ssdlab_cli::review_of::review_of;
use ssdlab_core::{Histogram, Op};
use ssdlab_report::results_json;

use crate::failure::{Wrong, exception, run_error};
use crate::records::Records;
use crate::table::{Column, Table};

/// The outcome of one test on one drive.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct Outcome {
    /// The model.
    drive: Arc<SimulatedDrive>,
    /// The digest of the saved drive that it began as, if it did. What was saved may be large, and is not kept.
    begins_as: Option<String>,
    outcome: ssdlab_bench::Outcome,
    seed: u64,
    quick: bool,
    records: Option<Records>,
    /// Latencies by command, where they are kept.
    pub histograms: Vec<(Op, Histogram)>,
}

impl Outcome {
    pub fn new(
        drive: Arc<SimulatedDrive>,
        begins_as: Option<String>,
        outcome: ssdlab_bench::Outcome,
        seed: u64,
        quick: bool,
        records: Option<Records>,
    ) -> Self {
        Outcome { drive, begins_as, outcome, seed, quick, records, histograms: Vec::new() }
    }

    fn review(&self) -> ssdlab_report::Review {
        let mut review = review_of(&[&*self.drive], vec![self.outcome.clone()], Vec::new(), self.seed, self.quick);
        if let Some(digest) = &self.begins_as {
            for device in &mut review.devices {
                device.traits.push(BEGINS_AS_SAVED.to_owned());
                device.facts.begins_as = Some(digest.clone());
            }
        }
        review
    }

    /// What the command writes that has such an outcome.
    fn writes(&self) -> Writes {
        Writes::page(if self.outcome.test == replay::TEST { "replay" } else { "test" })
    }
}

fn records_table(records: Option<&Records>) -> Option<(Table, u64)> {
    records.map(|r| (r.clone().into_table(), r.left_out))
}

#[pymethods]
impl Outcome {
    /// The document that `ssdlab test --json` prints.
    fn results_json(&self, py: Python<'_>) -> PyResult<String> {
        results_json(&self.review()).map_err(|e| run_error(py, e.to_string()))
    }

    /// All of it but the points of its charts, in JSON.
    fn outcome_json(&self, py: Python<'_>) -> PyResult<String> {
        let mut outcome = self.outcome.clone();
        for series in outcome.charts.iter_mut().flat_map(|c| &mut c.series) {
            series.points.clear();
        }
        serde_json::to_string(&outcome).map_err(|e| run_error(py, e.to_string()))
    }

    /// The digest of the saved drive that it began as, all of it, its seed, and whether it was a quick one: for a drive's `restored`.
    fn parts(&self, py: Python<'_>) -> PyResult<(Option<String>, String, u64, bool)> {
        let text = serde_json::to_string(&self.outcome).map_err(|e| run_error(py, e.to_string()))?;
        Ok((self.begins_as.clone(), text, self.seed, self.quick))
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// The points of a chart: `series`, `x`, `y`.
    fn chart(&self, id: &str) -> PyResult<Table> {
        let Some(chart) = self.outcome.charts.iter().find(|c| c.id == id) else {
            let known = self.outcome.charts.iter().map(|c| c.id.as_str()).collect::<Vec<_>>().join(", ");
            return Err(PyKeyError::new_err(format!("there is no chart `{id}`; there are {known}")));
        };
        let points = || chart.series.iter().flat_map(|s| s.points.iter().map(move |p| (s, p)));
        Ok(Table::new(vec![
            Column::text("series", points().map(|(s, _)| s.name.clone()).collect()),
            Column::f64("x", &chart.x.unit, points().map(|(_, p)| p[0]).collect()),
            Column::f64("y", &chart.y.unit, points().map(|(_, p)| p[1]).collect()),
        ]))
    }

    /// Every command that the drive answered, and how many were left out; `None` if none was asked for.
    fn records(&self, py: Python<'_>) -> Option<(Table, u64)> {
        py.detach(|| records_table(self.records.as_ref()))
    }

    /// Latencies by command: `op`, `latency` (the largest of a bucket), `count`. Empty of a test that keeps none.
    fn histogram(&self) -> Table {
        let buckets = || self.histograms.iter().flat_map(|(op, h)| h.tops().map(move |(at, n)| (op, at, n)));
        Table::new(vec![
            Column::text("op", buckets().map(|(op, _, _)| op.name().to_owned()).collect()),
            Column::u64("latency", "ns", buckets().map(|(_, at, _)| at).collect()),
            Column::u64("count", "", buckets().map(|(_, _, n)| n).collect()),
        ])
    }

    /// Writes the page, the series and results.json, as `--out` of `ssdlab test` or `ssdlab replay` does.
    fn save(&self, py: Python<'_>, dir: PathBuf, force: bool) -> PyResult<()> {
        let write = || write_into(&mut OutputFolder::open(&dir, self.writes(), force)?, &self.review());
        py.detach(write).map(|_| ()).map_err(|f| exception(py, &f, Wrong::Folder))
    }
}

/// Bins of latencies as a table: job, command, nanoseconds, number.
#[pyfunction]
pub fn bins_table(bins: Vec<(String, String, u64, u64)>) -> Table {
    Table::new(vec![
        Column::text("job", bins.iter().map(|b| b.0.clone()).collect()),
        Column::text("op", bins.iter().map(|b| b.1.clone()).collect()),
        Column::u64("latency", "ns", bins.iter().map(|b| b.2).collect()),
        Column::u64("count", "", bins.iter().map(|b| b.3).collect()),
    ])
}

/// The report of a fio job file.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct JobReport {
    report: FioReport,
    #[pyo3(get)]
    notices: Vec<String>,
    records: Option<Records>,
}

impl JobReport {
    pub fn new(report: FioReport, notices: Vec<String>, records: Option<Records>) -> Self {
        JobReport { report, notices, records }
    }
}

#[pymethods]
impl JobReport {
    /// As `ssdlab run --output-format json` prints it.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        self.report.to_json().map_err(|e| run_error(py, e.to_string()))
    }

    /// The same with every bin of the latencies.
    fn json_plus(&self, py: Python<'_>) -> PyResult<String> {
        self.report.to_json_plus().map_err(|e| run_error(py, e.to_string()))
    }

    /// In fio's own layout.
    fn text(&self) -> String {
        self.report.to_text()
    }

    /// As of [`Outcome`].
    fn records(&self, py: Python<'_>) -> Option<(Table, u64)> {
        py.detach(|| records_table(self.records.as_ref()))
    }
}
