//! Finished tests of a run that has not ended: kept one by one, found again by what they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ssdlab_bench::plan::{PlanJob, PlanOptions};
use ssdlab_bench::{Lab, Metric, Outcome};
use ssdlab_catalog::reference_identity;
use ssdlab_core::input;
use ssdlab_forecast::KeptTests;
use ssdlab_sweep::{FINGERPRINT, digest, write_whole};

use crate::failure::Failure;
use crate::folder::OutputFolder;
use crate::lab::Tested;
use crate::output::complain;
use crate::plan::{self, Keep, Results};

const SCHEMA: &str = "ssdlab.finished-test/1";
/// Tests have long series; none comes near this.
const MAX_BYTES: u64 = 1 << 30;

/// A folder of finished tests, one file each, complete or not there.
#[derive(Debug)]
pub struct Finished {
    folder: PathBuf,
    /// Why the last test that could not be kept was not.
    unkept: Mutex<Option<String>>,
}

/// What a test is: the same drive, test, parameters, seed, length and program give the same key.
fn key<D: Tested>(drive: &D, job: &PlanJob, PlanOptions { seed, quick, .. }: PlanOptions) -> String {
    let params = job.test.resolve(&job.settings, quick);
    // A quick run shortens nothing that was set, not even to its default.
    let set: Option<BTreeSet<&String>> = quick.then(|| job.settings.iter().map(|(key, _)| key).collect());
    let identity = json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "program": FINGERPRINT,
        "device": drive.reviewed().facts.name,
        "built": drive.identity(),
        "test": job.test.name,
        "variant": job.variant,
        "params": params.map(|p| p.to_json()).unwrap_or_default(),
        "set": set,
        "reference": reference_identity(job.test),
        "seed": seed,
        "quick": quick,
    });
    digest(identity.to_string().as_bytes())
}

/// Runs the plan into a folder: what was finished there before is not run again, and each test that ends is kept. The
/// caller clears what is kept once its own files are written.
///
/// # Errors
/// As [`plan::run`], or if the folder cannot be written to.
pub fn run_into<D: Tested + Lab>(
    folder: &OutputFolder,
    drives: &[D],
    jobs: &[PlanJob],
    options: PlanOptions,
) -> Result<(Results, Finished), Failure> {
    let keys: Vec<String> = jobs.iter().map(|job| key(&drives[job.lab], job, options)).collect();
    let finished = Finished::open(folder.tests())?;
    let found: Vec<Option<Outcome>> = keys.iter().map(|key| finished.get(key)).collect();
    say_found(found.iter().flatten().count(), jobs.len());
    let keep = |place: usize, outcome: &Outcome| finished.put(&keys[place], outcome);
    let mut results = plan::run_keeping(drives, jobs, options, &Keep { found, keep: &keep })?;
    results.resumable = true;
    finished.say_unkept();
    Ok((results, finished))
}

fn say_found(count: usize, of: usize) {
    if count > 0 {
        complain(&format!("{count} of {of} tests were found finished"));
    }
}

impl Finished {
    /// Opens the folder. Tests of a run with other inputs stay in it until a run has ended.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn open(folder: PathBuf) -> Result<Self, Failure> {
        fs::create_dir_all(&folder)
            .map_err(|e| Failure::bad_input(format!("cannot write to {}: {e}", folder.display())))?;
        Ok(Finished { folder, unkept: Mutex::default() })
    }

    /// How many finished tests there are, of whatever run.
    pub fn count(&self) -> usize {
        self.files().count()
    }

    /// What was kept here, by its name: no other file is ours.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let is_kept = |path: &PathBuf| {
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            name.strip_suffix(".json").is_some_and(|key| key.len() >= 16 && key.bytes().all(|b| b.is_ascii_hexdigit()))
        };
        fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_kept)
    }

    /// What a test that was finished before found; `None` also for a file that was cut short or changed.
    fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let path = self.path(key);
        let file = input::open_regular(&path).ok()?;
        if file.metadata().ok()?.len() > MAX_BYTES {
            return None;
        }
        let mut document: Value = serde_json::from_reader(std::io::BufReader::new(file)).ok()?;
        let outcome = document.get_mut("outcome")?.take();
        let whole = document["key"] == key && document["digest"] == digest(outcome.to_string().as_bytes());
        if whole { serde_json::from_value(outcome).ok() } else { None }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    /// Keeps a finished test; after this it is there even if the machine loses power.
    fn put(&self, key: &str, outcome: &impl Serialize) {
        if let Err(e) = self.write(key, outcome) {
            *self.unkept.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
        }
    }

    fn write(&self, key: &str, outcome: &impl Serialize) -> Result<(), String> {
        let outcome = serde_json::to_value(outcome).map_err(|e| e.to_string())?;
        let digest = digest(outcome.to_string().as_bytes());
        let document = json!({ "schema": SCHEMA, "key": key, "digest": digest, "outcome": outcome });
        write_whole(&self.path(key), format!("{document}\n").as_bytes()).map_err(|e| e.to_string())
    }

    /// Says so if a test could not be kept.
    pub fn say_unkept(&self) {
        if let Some(e) = &*self.unkept.lock().unwrap_or_else(PoisonError::into_inner) {
            complain(&format!("notice: finished tests were not kept for a later run: {e}"));
        }
    }

    /// Removes what was kept, of whatever run: one has ended that takes their place.
    pub fn clear(self) {
        // What stays is removed by the next run.
        self.files().for_each(|file| drop(fs::remove_file(file)));
        let _ = fs::remove_dir(&self.folder);
    }
}

impl KeptTests for Finished {
    fn get(&self, identity: &Value) -> Option<BTreeMap<String, Metric>> {
        Finished::get(self, &metrics_key(identity))
    }

    fn put(&self, identity: &Value, metrics: &BTreeMap<String, Metric>) {
        Finished::put(self, &metrics_key(identity), metrics);
    }
}

/// What a test is of which only the metrics are kept.
fn metrics_key(identity: &Value) -> String {
    let identity = json!({
        "schema": "ssdlab.finished-metrics/1",
        "version": env!("CARGO_PKG_VERSION"),
        "program": FINGERPRINT,
        "run": identity,
    });
    digest(identity.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::suite::find_test;

    use super::*;
    use crate::lab::SimulatedDrive;

    #[test]
    fn a_kept_file_that_was_changed_is_none() {
        let dir = std::env::temp_dir().join(format!("ssdlab-changed-test-{}", std::process::id()));
        let finished = Finished::open(dir.clone()).unwrap_or_else(|e| panic!("{e}"));
        let key = "0123456789abcdef";
        finished.put(key, &7);
        assert_eq!(finished.get(key), Some(7));
        for text in ["[]", "7", "{}", "{", "null"] {
            fs::write(finished.path(key), text).unwrap();
            assert_eq!(finished.get::<u32>(key), None, "{text}");
        }
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_was_set_to_its_default_is_another_quick_run_and_the_same_whole_one() {
        let drive = SimulatedDrive::new("ideal-32die", 1).unwrap_or_else(|e| panic!("{e}"));
        let key = |quick: bool, settings: &[(&str, &str)]| {
            let settings = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
            let test = find_test("random-read").expect("it is in the suite");
            let job = PlanJob { lab: 0, test, variant: String::new(), settings };
            key(&drive, &job, PlanOptions { threads: None, seed: 1, quick })
        };
        // An eighth of the drive has an eighth of the span, unless that is set.
        assert_ne!(key(true, &[]), key(true, &[("span_bytes", "8GB")]));
        assert_eq!(key(true, &[("span_bytes", "8GB")]), key(true, &[("span_bytes", "8000MB")]));
        assert_eq!(key(false, &[]), key(false, &[("span_bytes", "8GB")]));
    }
}
