//! Finished tests of a review that has not ended: kept one by one, found again by what they are.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use ssdlab_bench::plan::PlanJob;
use ssdlab_bench::suite::COMMON_PARAMS;
use ssdlab_bench::{Outcome, Params};
use ssdlab_core::input;
use ssdlab_sweep::{FINGERPRINT, digest, write_whole};

use crate::failure::Failure;
use crate::lab::SimulatedDrive;

const SCHEMA: &str = "ssdlab.finished-test/1";
/// Tests have long series; none comes near this.
const MAX_BYTES: u64 = 1 << 30;

/// A folder of finished tests, one file each, complete or not there.
#[derive(Debug)]
pub struct Finished {
    folder: PathBuf,
}

/// What a test is: the same drive, test, parameters, seed, length and program give the same key.
pub fn key(drive: &SimulatedDrive, job: &PlanJob, seed: u64, quick: bool) -> String {
    let params = Params::resolve(job.test.name, &[job.test.params, COMMON_PARAMS], &job.settings, quick);
    let identity = json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "program": FINGERPRINT,
        "device": drive.device(),
        "built": drive.identity(),
        "test": job.test.name,
        "variant": job.variant,
        "params": params.map(|p| p.to_json()).unwrap_or_default(),
        "seed": seed,
        "quick": quick,
    });
    digest(identity.to_string().as_bytes())
}

impl Finished {
    /// Opens the folder, and removes from it what is none of `keys`: what is left of a run with other inputs.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn open(folder: PathBuf, keys: &[String]) -> Result<Self, Failure> {
        let refused = |e: std::io::Error| Failure::bad_input(format!("cannot write to {}: {e}", folder.display()));
        fs::create_dir_all(&folder).map_err(refused)?;
        for entry in fs::read_dir(&folder).map_err(refused)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.strip_suffix(".json").is_some_and(|key| !keys.iter().any(|k| k == key)) {
                // Left there, it would only take room.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(Finished { folder })
    }

    /// The outcome of a test that was finished before; `None` also for a file that was cut short or changed.
    pub fn get(&self, key: &str) -> Option<Outcome> {
        let path = self.folder.join(format!("{key}.json"));
        let file = input::open_regular(&path).ok()?;
        if file.metadata().ok()?.len() > MAX_BYTES {
            return None;
        }
        let mut document: Value = serde_json::from_reader(std::io::BufReader::new(file)).ok()?;
        let outcome = document["outcome"].take();
        let whole = document["key"] == key && document["digest"] == digest(outcome.to_string().as_bytes());
        if whole { serde_json::from_value(outcome).ok() } else { None }
    }

    /// Keeps a finished test; after this it is there even if the machine loses power.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn put(&self, key: &str, outcome: &Outcome) -> Result<(), String> {
        let outcome = serde_json::to_value(outcome).map_err(|e| e.to_string())?;
        let digest = digest(outcome.to_string().as_bytes());
        let document = json!({ "schema": SCHEMA, "key": key, "digest": digest, "outcome": outcome });
        let path = self.folder.join(format!("{key}.json"));
        write_whole(&path, format!("{document}\n").as_bytes()).map_err(|e| e.to_string())
    }

    /// Removes everything: the run has ended.
    pub fn clear(self) {
        // What stays is removed by the next run.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
