//! Fleets: lives of a few drives, and from them the years of thousands.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use ssdlab_bench::plan::guarded;
use ssdlab_bench::{BenchError, Monitor};
use ssdlab_core::Workers;
use ssdlab_fleet::{Class, FleetSpec, Life, QuarterRow, State, Summary, Task, life, live};
use ssdlab_workload::trace::TraceSource;

use crate::drive::Drive;
use crate::failure::{Wrong, exception, run_error, value_error};
use crate::table::{Column, Table};
use crate::trace::Trace;
use crate::watched::watched;

/// A fleet whose lives have been measured.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct Fleet {
    fleet: std::sync::Arc<ssdlab_fleet::Fleet>,
}

/// Rows of any number of drives, year by year.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct FleetSummary {
    summary: Mutex<Summary>,
}

fn spec_of(json: &str) -> PyResult<FleetSpec> {
    let spec: FleetSpec = serde_json::from_str(json).map_err(|e| value_error(format!("fleet: {e}")))?;
    if spec.models.len() > MOST_KINDS || spec.classes.len() > MOST_KINDS {
        return Err(value_error(format!("a fleet has at most {MOST_KINDS} models, and as many classes of work")));
    }
    spec.check().map_err(value_error)?;
    Ok(spec)
}

/// Refuses a fleet that cannot be, before any life is measured.
#[pyfunction]
pub fn check_fleet(spec: &str) -> PyResult<()> {
    spec_of(spec).map(|_| ())
}

/// Refuses a class of work that cannot be.
#[pyfunction]
pub fn check_class(class: &str) -> PyResult<()> {
    class_of(class).map(|_| ())
}

fn class_of(json: &str) -> PyResult<Class> {
    let class: Class = serde_json::from_str(json).map_err(|e| value_error(format!("class: {e}")))?;
    class.check().map_err(|e| value_error(format!("class {}: {e}", class.name)))?;
    Ok(class)
}

fn source_of(py: Python<'_>, trace: Option<Trace>, class: &Class) -> PyResult<Option<TraceSource>> {
    let format = class.trace.as_ref().and_then(|of| of.format.as_deref());
    trace.map(|trace| Ok(trace.source(py, format)?.0)).transpose()
}

/// Runs `what` on a specimen of the drive, divided by `by` if that is more than one.
fn on_specimen<T: Send + 'static>(
    py: Python<'_>,
    drive: &Drive,
    by: u32,
    seed: u64,
    progress: Option<&Bound<'_, PyAny>>,
    what: impl FnOnce(&mut dyn ssdlab_device::Device, &Monitor<'_>) -> Result<T, BenchError> + Send + 'static,
) -> PyResult<T> {
    let recipe = drive.drive.recipe();
    let name = recipe.name.clone();
    let recipe = match by {
        1 => recipe.clone(),
        _ => recipe.small(by).ok_or_else(|| {
            value_error(format!("{name} cannot be had at 1/{by} of its size: give a smaller power of two as `small`"))
        })?,
    };
    let result = watched(py, progress, move |watch| {
        let built = recipe.build_with(seed, &|drive, seed| {
            ssdlab_ssd::build_unexplained(drive.model(), &drive.spec, &drive.die.spec, seed)
        });
        let report = |done: f64| watch.report(done);
        let monitor = Monitor::new(&report, &watch.cancel);
        guarded(|| what(&mut *built.map_err(|e| BenchError::Device(e.to_string()))?, &monitor))
    })?;
    result.map_err(|e| exception(py, &ssdlab_cli::plan::bench_failure("fleet", &name, e), Wrong::Test))
}

/// The life of a drive under a class of work, in JSON.
#[pyfunction]
pub fn measure_life(
    py: Python<'_>,
    drive: PyRef<'_, Drive>,
    class: &str,
    by: u32,
    seed: u64,
    trace: Option<Trace>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let class = class_of(class)?;
    let trace = source_of(py, trace, &class)?;
    let life = on_specimen(py, &drive, by, seed, progress, move |device, monitor| {
        life(device, &Task { class: &class, trace: trace.as_ref(), by, seed }, monitor)
    })?;
    serde_json::to_string(&life).map_err(|e| run_error(py, e.to_string()))
}

/// The state of a drive after `capacities` of writes, lived through write by write, in JSON; and what was written.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from Python, where a struct would be a class")]
pub fn live_through(
    py: Python<'_>,
    drive: PyRef<'_, Drive>,
    class: &str,
    by: u32,
    seed: u64,
    capacities: f64,
    trace: Option<Trace>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, f64)> {
    let class = class_of(class)?;
    let trace = source_of(py, trace, &class)?;
    let (point, written) = on_specimen(py, &drive, by, seed, progress, move |device, monitor| {
        live(device, &Task { class: &class, trace: trace.as_ref(), by, seed }, capacities, monitor)
    })?;
    Ok((serde_json::to_string(&point).map_err(|e| run_error(py, e.to_string()))?, written))
}

/// What a column of words can tell apart.
const MOST_KINDS: usize = i8::MAX as usize;

/// Drives that a worker takes at a time.
const CHUNK: u32 = 64;

#[pymethods]
impl Fleet {
    /// `lives`: for each model, of each class, of each specimen, as [`measure_life`] gave them.
    #[new]
    fn new(spec: &str, lives: Vec<Vec<Vec<String>>>) -> PyResult<Fleet> {
        let spec = spec_of(spec)?;
        let read = |text: &String| serde_json::from_str::<Life>(text).map_err(|e| value_error(format!("life: {e}")));
        let lives = lives
            .iter()
            .map(|of| of.iter().map(|of| of.iter().map(read).collect()).collect())
            .collect::<PyResult<Vec<Vec<Vec<Life>>>>>()?;
        let fleet = ssdlab_fleet::Fleet::new(spec, lives).map_err(value_error)?;
        Ok(Fleet { fleet: std::sync::Arc::new(fleet) })
    }

    /// Rows of the drives from `first` on; they are added to `summary`.
    fn rows(&self, py: Python<'_>, first: u32, count: u32, summary: PyRef<'_, FleetSummary>) -> PyResult<Table> {
        let fleet = std::sync::Arc::clone(&self.fleet);
        let rows: Vec<QuarterRow> = watched(py, None, move |watch| {
            let go_on = || !watch.cancel.load(std::sync::atomic::Ordering::Relaxed);
            let chunks = count.div_ceil(CHUNK) as usize;
            let of_chunk = |_, chunk: usize| {
                let from = chunk as u32 * CHUNK;
                (from..(from + CHUNK).min(count)).flat_map(|d| fleet.rows(first + d)).collect::<Vec<_>>()
            };
            Workers::new(None).map(chunks, &go_on, &of_chunk).into_iter().flatten().flatten().collect()
        })?;
        let mut summary = summary.summary.lock().unwrap_or_else(PoisonError::into_inner);
        for row in &rows {
            summary.add(row, self.fleet.quarters());
        }
        let spec = &self.fleet.spec;
        let models: Vec<&str> = spec.models.iter().map(|m| m.0.as_str()).collect();
        let classes: Vec<&str> = spec.classes.iter().map(|c| c.name.as_str()).collect();
        let f64s = |name: &str, unit: &str, of: &dyn Fn(&QuarterRow) -> f64| {
            Column::f64(name, unit, rows.iter().map(of).collect())
        };
        let us = |name: &str, of: &dyn Fn(&QuarterRow) -> Option<f64>| {
            Column::optional(name, "us", rows.iter().map(of).collect())
        };
        Ok(Table::new(vec![
            Column::u32("drive", "", rows.iter().map(|r| r.drive).collect()),
            Column::words("model", &models, rows.iter().map(|r| r.drawn.model as i8).collect()),
            Column::words("class", &classes, rows.iter().map(|r| r.drawn.class as i8).collect()),
            f64s("drive_writes_per_day", "1/d", &|r| r.drawn.drive_writes_per_day),
            f64s("age_at_start", "days", &|r| r.drawn.age_days),
            f64s("ambient", "°C", &|r| r.drawn.celsius),
            Column::u32("quarter", "", rows.iter().map(|r| r.quarter).collect()),
            f64s("wear_mean", "ratio", &|r| r.wear_mean),
            f64s("wear_most", "ratio", &|r| r.wear_most),
            f64s("wear_measured", "ratio", &|r| r.wear_measured),
            f64s("waf", "ratio", &|r| r.waf),
            us("write_latency_p99", &|r| r.write_p99_us),
            us("read_latency_p99", &|r| r.read_p99_us),
            f64s("data_age", "h", &|r| r.data_hours),
            f64s("written", "TB", &|r| r.terabytes_written),
            f64s("expected_losses", "units of 4 KiB", &|r| r.expected_losses),
            Column::words("state", &State::WORDS, rows.iter().map(|r| r.state as i8).collect()),
        ]))
    }

    /// See `ssdlab_fleet::Fleet::never_lost`.
    fn never_lost(&self) -> Vec<String> {
        self.fleet.never_lost()
    }

    /// See `ssdlab_fleet::Fleet::told`.
    fn told(&self, drive: u32, days: f64) -> (usize, usize, f64, u64, [f64; 4]) {
        self.fleet.told(drive, days)
    }
}

#[pymethods]
impl FleetSummary {
    #[new]
    fn new() -> FleetSummary {
        FleetSummary { summary: Mutex::default() }
    }

    /// A row a year.
    fn table(&self) -> Table {
        let rows = self.summary.lock().unwrap_or_else(PoisonError::into_inner).rows();
        let mut columns = vec![
            Column::u32("year", "", rows.iter().map(|r| r.year).collect()),
            Column::u64("works", "", rows.iter().map(|r| r.works).collect()),
            Column::u64("lost_data", "", rows.iter().map(|r| r.lost_data).collect()),
            Column::u64("failed", "", rows.iter().map(|r| r.failed).collect()),
            Column::u64("beyond_measured", "", rows.iter().map(|r| r.beyond_measured).collect()),
            Column::u64("beyond_aged", "", rows.iter().map(|r| r.beyond_aged).collect()),
        ];
        for (k, percent) in ["p50", "p95", "p99"].into_iter().enumerate() {
            let mut put = |name: &str, unit: &str, of: &dyn Fn(&ssdlab_fleet::YearRow) -> Option<[f64; 3]>| {
                let values = rows.iter().map(|r| of(r).map(|of| of[k])).collect();
                columns.push(Column::optional(&format!("{name}_{percent}"), unit, values));
            };
            put("waf", "ratio", &|r| r.waf);
            put("wear", "ratio", &|r| r.wear);
            put("write_latency_p99", "us", &|r| r.write_p99_us);
            put("read_latency_p99", "us", &|r| r.read_p99_us);
        }
        Table::new(columns)
    }
}
