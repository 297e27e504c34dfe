//! One drive in one test with one seed, and what came of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use ssdlab_bench::fio_run::{FioError, FioOptions, run_file_whole};
use ssdlab_bench::plan::guarded;
use ssdlab_bench::suite::run_test;
use ssdlab_bench::{BenchError, HostError, Lab, Metric, Monitor, PoweredOn};
use ssdlab_catalog::{BuildSsd, DeviceRecipe, Parts, by_file_names, of_spare, reference_identity};
use ssdlab_device::{Device, Status};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, Model, build_unexplained};

use crate::fio::fio_metrics;
use crate::swept::Cell;
use crate::task::{Task, What};
use crate::{FINGERPRINT, SCHEMA};

/// Why a job file is none for a sweep.
const NO_FIGURE: &str = "the jobs give no figure: either nothing of theirs was measured, or some report reads and writes together and others apart";

/// A point of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Row of the table, from 1.
    pub number: usize,
    /// A value for each swept key, in the order of the plan's axes.
    pub cells: Vec<Cell>,
    /// Which of the plan's tasks.
    pub task: usize,
    pub seed: u64,
    /// What the point is, in 32 hexadecimal digits: the same drive, test, parameters, seed and program give the same
    /// key, anything else another.
    pub key: String,
    /// Settings of the test, those of the task and the swept ones.
    pub settings: Vec<(String, String)>,
    drive: String,
    /// The drive to build, or why there can be none.
    built: Result<Built, String>,
}

/// What to build.
#[derive(Clone, Debug)]
pub(crate) enum Built {
    /// Alone, so that a plan of many drives stays small.
    Ssd(Box<BareSsd>),
    Device(Arc<DeviceRecipe>),
}

/// What an SSD is built of.
#[derive(Clone, Debug)]
pub(crate) struct BareSsd {
    /// As which model it is drawn.
    drawn_as: String,
    drive: DriveSpec,
    die: DieSpec,
    /// As [`Drive::capacity_follows`](ssdlab_catalog::Drive::capacity_follows).
    capacity_follows: bool,
}

impl Built {
    pub fn of(recipe: DeviceRecipe) -> Self {
        match recipe.parts {
            Parts::Ssd(drive) => {
                let drawn_as = drive.model().drawn_as.to_owned();
                let capacity_follows = drive.capacity_follows();
                Built::Ssd(Box::new(BareSsd { drawn_as, drive: drive.spec, die: drive.die.spec, capacity_follows }))
            }
            _ => Built::Device(Arc::new(recipe)),
        }
    }
}

/// What a point gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointResult {
    Finished {
        capacity_bytes: u64,
        /// Spare area of the drive as built, in per cent of its capacity; `None` for a device without.
        spare_percent: Option<f64>,
        metrics: BTreeMap<String, Metric>,
        /// What the test has to say about its own figures.
        notes: Vec<String>,
    },
    /// There can be no such drive, or the test makes no sense on it or ends with an error of the drive, and why. As final as a
    /// figure.
    Impossible { reason: String },
}

/// Why a point has no result.
#[derive(Debug)]
pub enum PointError {
    Cancelled,
    /// The simulator or the test failed: a bug, told in full.
    Failed(String),
}

struct PointLab<'a> {
    name: &'a str,
    built: &'a Built,
    /// What the drive said of itself when it was last built.
    facts: Mutex<(u64, Option<f64>)>,
}

impl Lab for PointLab<'_> {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        // The whole path of a drive as reviews use it, with every read checked; only the breakdown, which a table has no
        // place for, is off.
        let device: Box<dyn Device> = match self.built {
            Built::Ssd(ssd) => {
                let model = Model { name: self.name, drawn_as: &ssd.drawn_as };
                let as_asked = |e| if ssd.capacity_follows { of_spare(e) } else { e };
                build_unexplained(model, &ssd.drive, &ssd.die, seed).map_err(|e| as_asked(e).to_string())?
            }
            Built::Device(recipe) => {
                let ssd: &BuildSsd<'_> =
                    &|drive, seed| build_unexplained(drive.model(), &drive.spec, &drive.die.spec, seed);
                recipe.build_with(seed, ssd).map_err(|e| e.to_string())?
            }
        };
        let info = device.info();
        *self.facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            (info.capacity_bytes, info.over_provisioning_percent);
        Ok(device.into())
    }

    fn name(&self) -> &str {
        self.name
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        ssdlab_catalog::reference(model, seed)
    }
}

impl Point {
    pub(crate) fn new(
        drive: &str,
        cells: Vec<Cell>,
        index: usize,
        task: &Task,
        parameters: &[(String, String)],
        seed: u64,
        built: Result<Built, String>,
    ) -> Self {
        let (what, settings) = match &task.what {
            What::Test { def, settings } => {
                let settings = [settings.as_slice(), parameters].concat();
                let resolved = def.resolve(&settings, false);
                let params = resolved.map(|p| p.to_json()).unwrap_or_default();
                (json!({ "test": def.name, "params": params, "reference": reference_identity(def) }), settings)
            }
            // As they were read: what a file includes, and what its variables stand for, is in it.
            What::Job { file, prefill } => {
                (json!({ "jobs": file.identity(), "prefill": format!("{prefill:?}") }), Vec::new())
            }
        };
        let built_json = match &built {
            Ok(Built::Ssd(ssd)) => json!({ "drive": ssd.drive, "die": ssd.die, "drawn_as": ssd.drawn_as }),
            Ok(Built::Device(recipe)) => recipe.identity(),
            Err(reason) => json!({ "impossible": reason }),
        };
        // Where its file lies makes no other point.
        let name = by_file_names(drive);
        let identity = json!({
            "schema": SCHEMA, "program": FINGERPRINT, "name": name, "built": built_json, "task": what, "seed": seed,
        });
        let key = hex(&identity.to_string());
        Point { number: 0, cells, task: index, seed, key, settings, drive: drive.to_owned(), built }
    }

    /// The result, where it is known without running anything.
    #[must_use]
    pub fn known(&self) -> Option<PointResult> {
        self.built.as_ref().err().map(|reason| PointResult::Impossible { reason: reason.clone() })
    }

    /// Builds the drive and runs the test.
    ///
    /// # Errors
    /// See [`PointError`]; neither is a property of the point.
    pub fn run(&self, task: &Task, monitor: &Monitor<'_>) -> Result<PointResult, PointError> {
        let built = match &self.built {
            Ok(built) => built,
            Err(reason) => return Ok(PointResult::Impossible { reason: reason.clone() }),
        };
        let lab = PointLab { name: &self.drive, built, facts: Mutex::new((0, None)) };
        let run = || match &task.what {
            What::Test { def, .. } => run_test(def, &lab, &self.settings, self.seed, false, monitor)
                .map(|outcome| (outcome.metrics, outcome.notes)),
            What::Job { file, prefill } => {
                let options = FioOptions { seed: self.seed, prefill: *prefill, ..FioOptions::default() };
                let run = run_file_whole(file, &lab, options, monitor).map_err(|e| match e {
                    FioError::Bench(e) => e,
                    FioError::Job(e) => BenchError::Unsuitable(e.to_string()),
                    // A sweep keeps no logs.
                    FioError::Log(e) => BenchError::Unsuitable(e.to_string()),
                })?;
                let metrics = fio_metrics(&run.report);
                if metrics.is_empty() {
                    return Err(BenchError::Unsuitable(NO_FIGURE.to_owned()));
                }
                // What is to be known of the file on any drive is no result: `Task::notices` tells it.
                let told = file.notices();
                Ok((metrics, run.report.ssdlab.notices.into_iter().filter(|note| !told.contains(note)).collect()))
            }
        };
        match guarded(run) {
            Ok((metrics, notes)) => {
                // JSON has no word for it, and a table would show nothing.
                if let Some((name, metric)) = metrics.iter().find(|(_, metric)| !metric.value.is_finite()) {
                    return Err(PointError::Failed(format!("{name} came to {}", metric.value)));
                }
                let (capacity_bytes, spare_percent) =
                    *lab.facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                Ok(PointResult::Finished { capacity_bytes, spare_percent, metrics, notes })
            }
            Err(BenchError::Device(reason)) => Ok(PointResult::Impossible { reason }),
            Err(e) if is_of_drive(&e) => Ok(PointResult::Impossible { reason: e.to_string() }),
            Err(e) if e.is_cancelled() => Err(PointError::Cancelled),
            Err(e) => Err(PointError::Failed(e.to_string())),
        }
    }
}

/// Whether an error says something of the drive that a test was to run on: it cannot be made, the test makes no sense on it, or not
/// with these parameters, or it loses data, takes no more writes, or takes no time or too much. Any other is of the program, and says
/// nothing of the drive.
#[must_use]
pub fn is_of_drive(error: &BenchError) -> bool {
    match error {
        BenchError::Device(_) | BenchError::Unsuitable(_) | BenchError::Param(_) => true,
        BenchError::Host(HostError::Failed { status, .. }) => matches!(status, Status::MediaError | Status::ReadOnly),
        BenchError::Host(e) => matches!(e, HostError::TooLong { .. } | HostError::TimeStands { .. }),
        BenchError::Books(_) | BenchError::Panicked(_) => false,
    }
}

pub(crate) fn hex(text: &str) -> String {
    digest(text.as_bytes())
}

/// The first 128 bits of a SHA-256 in hexadecimal.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Op;

    use super::*;

    #[test]
    fn what_a_drive_does_is_its_own_and_what_breaks_a_promise_is_a_bug() {
        let failed = |status| {
            let (offset_bytes, length_bytes, trouble) = (0, 4096, String::new());
            HostError::Failed { op: Op::Read, offset_bytes, length_bytes, status, trouble, at: 1 }
        };
        for of_drive in [
            failed(Status::MediaError),
            failed(Status::ReadOnly),
            HostError::TooLong { limit: 1 },
            HostError::TimeStands { commands: 9, within: 0, at: 1 },
        ] {
            assert!(is_of_drive(&of_drive.into()));
        }
        let of_program = [HostError::Stalled { in_flight: 1, at: 1 }, HostError::Unbalanced(String::new())];
        for bug in of_program.into_iter().chain([failed(Status::Gone), HostError::Cancelled]) {
            assert!(!is_of_drive(&bug.into()));
        }
        assert!(!is_of_drive(&BenchError::Books(String::new())) && !is_of_drive(&BenchError::Panicked(String::new())));
    }
}
