//! Many runs on all cores, and what became of them.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ssdlab_core::{Rng, Workers, catch_panic};
use ssdlab_nand::SpecError;

use crate::case::Case;
use crate::power_cuts::cut_again_and_again;
use crate::run::{Kind, run};
use crate::specimen::Original;
use crate::subject::Subject;
use crate::tally::Tally;

/// How much to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Campaign {
    pub kind: Kind,
    pub seed: u64,
    pub runs: u64,
    /// Workers, 0 for as many as the machine has cores; never changes a result.
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
    /// By drive: runs that were not made, since no small drive has its proportions. Nothing is wrong with the drive itself.
    pub left_out: BTreeMap<String, u64>,
}

impl Report {
    /// Runs that were made or left out.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.tally.runs + self.failures.len() as u64 + self.left_out.values().sum::<u64>()
    }
}

/// What became of a run that has not failed.
enum Ended {
    Well(Tally),
    /// There is no specimen of the drive of this name.
    LeftOut(String),
}

/// The seed of one run of a campaign; of its first run, the campaign's own, so that one run repeats itself.
#[must_use]
pub fn run_seed(campaign: u64, run: u64) -> u64 {
    if run == 0 { campaign } else { Rng::new(campaign).stream(&format!("run {run}")).next_u64() }
}

/// Runs a campaign. `progress` hears, from any worker, how many runs are done; if it says `false`, no further run is
/// begun.
pub fn torture<S: Subject + 'static>(
    campaign: &Campaign,
    build: &(impl Fn(&Case) -> Result<S, SpecError> + Sync),
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Report {
    conduct(campaign, progress, &|seed, _| run(campaign.kind, seed, build).map(Ended::Well))
}

/// The same with power cuts of specimens of some drives in turn, instead of drives drawn at random. Run `k` of a campaign is
/// about drive `k` modulo their number, so that a run alone repeats with its drive alone. Runs of drives that have no specimen are
/// left out.
///
/// # Panics
/// If there are no drives.
pub fn cut_specimens<S: Subject + 'static>(
    campaign: &Campaign,
    originals: &[Original],
    build: &(impl Fn(&Case) -> Result<S, SpecError> + Sync),
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Report {
    assert!(!originals.is_empty(), "no drives to take specimens of");
    conduct(campaign, progress, &|seed, number| {
        let original = &originals[(number % originals.len() as u64) as usize];
        let of_drive = |what: String| format!("{}: {what}", original.name);
        let Some(case) = Case::specimen(original, seed) else { return Ok(Ended::LeftOut(original.name.clone())) };
        catch_panic(|| cut_again_and_again(&case, build)).and_then(|result| result).map(Ended::Well).map_err(of_drive)
    })
}

fn conduct(
    campaign: &Campaign,
    progress: &(dyn Fn(u64) -> bool + Sync),
    job: &(dyn Fn(u64, u64) -> Result<Ended, String> + Sync),
) -> Report {
    let finished = AtomicU64::new(0);
    let stopped = AtomicBool::new(false);
    let report = Mutex::new(Report::default());
    let go_on = || !stopped.load(Ordering::Relaxed);
    Workers::new(NonZeroUsize::new(campaign.threads)).for_each(campaign.runs, &go_on, &|_, number| {
        let seed = run_seed(campaign.seed, number);
        let ended = catch_panic(|| job(seed, number)).and_then(|result| result);
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        match ended {
            Ok(Ended::Well(tally)) => report.tally.add(&tally),
            Ok(Ended::LeftOut(drive)) => *report.left_out.entry(drive).or_default() += 1,
            Err(what) => report.failures.push(Failure { run: number, seed, what }),
        }
        drop(report);
        if !progress(finished.fetch_add(1, Ordering::Relaxed) + 1) {
            stopped.store(true, Ordering::Relaxed);
        }
    });
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.failures.sort_by_key(|f| f.run);
    report
}
