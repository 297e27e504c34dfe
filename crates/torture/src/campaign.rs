//! Many runs on all cores, and what became of them.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ssdlab_core::Rng;
use ssdlab_nand::SpecError;

use crate::case::Case;
use crate::run::run;
use crate::subject::Subject;
use crate::tally::Tally;

/// How much to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Campaign {
    pub seed: u64,
    pub runs: u64,
    /// Workers; never changes a result.
    pub threads: usize,
}

/// A run that found something wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The number of the run in its campaign, from 0.
    pub run: u64,
    /// The seed that repeats it alone.
    pub seed: u64,
    pub what: String,
}

/// What became of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Of the runs in which nothing was wrong.
    pub tally: Tally,
    /// In the order of the runs.
    pub failures: Vec<Failure>,
}

/// The seed of one run of a campaign; of its first run, the campaign's own, so that one run repeats itself.
#[must_use]
pub fn run_seed(campaign: u64, run: u64) -> u64 {
    if run == 0 { campaign } else { Rng::new(campaign).stream(&format!("run {run}")).next_u64() }
}

thread_local! {
    /// The message of the last panic on this thread while a run is caught; `None` outside of runs.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Lets panics inside runs be told by their failure alone, and all others as before.
fn listen_to_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let ours = CAUGHT.with_borrow_mut(|caught| {
                let ours = caught.is_some();
                if let Some(message) = caught {
                    let place = info.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
                    *message = format!("panic: {}{place}", info.payload_as_str().unwrap_or("without a message"));
                }
                ours
            });
            if !ours {
                before(info);
            }
        }));
    });
}

fn caught<S: Subject>(seed: u64, build: &impl Fn(&Case) -> Result<S, SpecError>) -> Result<Tally, String> {
    CAUGHT.with_borrow_mut(|caught| *caught = Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(|| run(seed, build)));
    let message = CAUGHT.with_borrow_mut(Option::take).unwrap_or_default();
    result.unwrap_or(Err(message))
}

/// Runs a campaign. `progress` hears, from any worker, how many runs are done; if it says `false`, no further run is
/// begun.
pub fn torture<S: Subject>(
    campaign: &Campaign,
    build: &(impl Fn(&Case) -> Result<S, SpecError> + Sync),
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Report {
    listen_to_panics();
    let next = AtomicU64::new(0);
    let finished = AtomicU64::new(0);
    let report = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for _ in 0..campaign.threads.max(1) {
            scope.spawn(|| {
                let mut mine = Report::default();
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= campaign.runs {
                        break;
                    }
                    let seed = run_seed(campaign.seed, run);
                    match caught(seed, build) {
                        Ok(tally) => mine.tally.add(&tally),
                        Err(what) => mine.failures.push(Failure { run, seed, what }),
                    }
                    if !progress(finished.fetch_add(1, Ordering::Relaxed) + 1) {
                        next.store(campaign.runs, Ordering::Relaxed);
                    }
                }
                let mut all = report.lock().unwrap_or_else(PoisonError::into_inner);
                all.tally.add(&mine.tally);
                all.failures.append(&mut mine.failures);
            });
        }
    });
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.failures.sort_by_key(|f| f.run);
    report
}
