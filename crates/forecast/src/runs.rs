//! Many tests on many drives, on all cores.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use ssdlab_bench::plan::guarded;
use ssdlab_bench::suite::run_test;
use ssdlab_bench::{Lab as _, Metric, Monitor};
use ssdlab_catalog::{Diagnostic, reference_identity};
use ssdlab_core::Workers;
use ssdlab_sweep::is_of_drive;

use crate::changed::Changed;
use crate::figures::{Figure, Metrics};

/// How tests are run.
pub struct Bench<'a> {
    /// `None`: as many as the machine has cores. Never changes a result.
    pub threads: Option<NonZeroUsize>,
    pub seed: u64,
    /// On the drive in small, as a quick review.
    pub quick: bool,
    /// Called from the workers with the number of tests that have ended and the number of all that the work takes, batches that
    /// are still to come among them. Where that is not known yet it is the most that there can be.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    pub cancel: &'a AtomicBool,
    /// Where tests that have ended are kept, so that a run that was stopped goes on; `None`: nowhere.
    pub kept: Option<&'a dyn KeptTests>,
}

/// Metrics of tests that have ended, by what each of them is.
pub trait KeptTests: Sync {
    fn get(&self, identity: &Value) -> Option<BTreeMap<String, Metric>>;
    /// What cannot be kept is run again.
    fn put(&self, identity: &Value, metrics: &BTreeMap<String, Metric>);
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// The run was stopped: half of it is none.
    Stopped,
    /// A test failed by a bug of the simulator or its own, told in full: that is no property of a drive, as a media error is.
    Failed(String),
    /// What has run shows that there can be none.
    Refused(Diagnostic),
}

/// Which part of the work a batch of tests is, for [`Bench::progress`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Tests of earlier batches.
    pub before: usize,
    /// Tests of all batches.
    pub of: usize,
}

/// A drive, and the seed of everything drawn.
pub(crate) struct Subject<'a> {
    pub drive: &'a Changed,
    pub seed: u64,
}

impl Subject<'_> {
    /// What a test on it is: with equal identities, the same program finds the same metrics.
    fn identity(&self, test: &Figure, quick: bool) -> Value {
        json!({
            "built": self.drive.identity(),
            "test": test.test.name,
            "settings": test.settings_list(),
            "reference": reference_identity(test.test),
            "seed": self.seed,
            "quick": quick,
        })
    }
}

/// The tests that figures need, each once.
pub(crate) fn tests_of(figures: &[Figure]) -> Vec<&Figure> {
    let mut tests: Vec<&Figure> = Vec::new();
    for figure in figures {
        if !tests.iter().any(|t| t.test.name == figure.test.name && t.settings == figure.settings) {
            tests.push(figure);
        }
    }
    tests
}

/// Place of the test that `figure` comes from.
pub(crate) fn place(tests: &[&Figure], figure: &Figure) -> usize {
    let fits = |t: &&Figure| t.test.name == figure.test.name && t.settings == figure.settings;
    tests.iter().position(fits).expect("the tests are those of the figures")
}

impl Bench<'_> {
    /// Runs every test on every subject: metrics by subject and test. `share` is what part of the work they are.
    ///
    /// # Errors
    /// If `cancel` was set, or a test failed; then nothing new is begun.
    pub(crate) fn run(
        &self,
        subjects: &[Subject<'_>],
        tests: &[&Figure],
        share: Share,
    ) -> Result<Vec<Vec<Metrics>>, NoResult> {
        let jobs = subjects.len() * tests.len();
        let ended = AtomicUsize::new(share.before);
        let failed = AtomicBool::new(false);
        let go_on = || !self.cancel.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed);
        let work = |_: usize, job: usize| {
            let (subject, test) = (&subjects[job / tests.len()], tests[job % tests.len()]);
            let monitor = Monitor::new(&|_| {}, self.cancel);
            let settings = test.settings_list();
            let run = || run_test(test.test, subject.drive, &settings, subject.seed, self.quick, &monitor);
            let kept = self.kept.map(|kept| (kept, subject.identity(test, self.quick)));
            let result = match kept.as_ref().and_then(|(kept, identity)| kept.get(identity)) {
                Some(metrics) => Ok(Ok(metrics)),
                None => match guarded(run) {
                    Ok(outcome) => {
                        if let Some((kept, identity)) = &kept {
                            kept.put(identity, &outcome.metrics);
                        }
                        Ok(Ok(outcome.metrics))
                    }
                    Err(e) if is_of_drive(&e) => Ok(Err(e.to_string())),
                    Err(e) if e.is_cancelled() => Err(NoResult::Stopped),
                    Err(e) => {
                        failed.store(true, Ordering::Relaxed);
                        let (name, drive, seed) = (test.test.name, subject.drive.name(), subject.seed);
                        Err(NoResult::Failed(format!("{name} on {drive}, seed {seed}: {e}")))
                    }
                },
            };
            (self.progress)(ended.fetch_add(1, Ordering::Relaxed) + 1, share.of);
            result
        };
        let done = Workers::new(self.threads).map(jobs, &go_on, &work);
        // Of what was not begun for its sake, the failure is the reason.
        let failure = |result: &&Result<Metrics, NoResult>| matches!(result, Err(NoResult::Failed(_)));
        if let Some(Err(failure)) = done.iter().flatten().find(failure) {
            return Err(failure.clone());
        }
        let mut done = done.into_iter();
        let mut by_subject = Vec::with_capacity(subjects.len());
        for _ in subjects {
            let row: Result<Vec<Metrics>, NoResult> =
                done.by_ref().take(tests.len()).map(|m| m.unwrap_or(Err(NoResult::Stopped))).collect();
            by_subject.push(row?);
        }
        Ok(by_subject)
    }
}
