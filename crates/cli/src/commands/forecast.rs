//! What `ssdlab sensitivity`, `calibrate` and `predict` have in common.

use std::path::Path;

use ssdlab_bench::plan::PlanOptions;
use ssdlab_forecast::{Bench, KeptTests, NoResult};

use crate::failure::Failure;
use crate::finished::Finished;
use crate::folder::{OutputFolder, Writes};
use crate::output::complain;
use crate::progress::CANCEL;

/// Runs as the flags ask for; Ctrl-C stops them.
pub fn bench<'a>(
    PlanOptions { threads, seed, quick }: PlanOptions,
    progress: &'a (dyn Fn(usize, usize) + Sync),
    kept: &'a Kept,
) -> Bench<'a> {
    Bench {
        threads,
        seed,
        quick,
        progress,
        cancel: &CANCEL,
        kept: kept.0.as_ref().map(|finished| finished as &dyn KeptTests),
    }
}

/// Tests that have ended, for the same command to go on from after a stop; kept nowhere if no folder is named.
pub struct Kept(Option<Finished>);

impl Kept {
    /// Those of this folder, which the command holds.
    pub fn within(folder: Option<&OutputFolder>) -> Result<Self, Failure> {
        let finished = folder.map(|folder| Finished::open(folder.tests())).transpose()?;
        if let Some(count) = finished.as_ref().map(Finished::count).filter(|&count| count > 0) {
            complain(&format!("{count} tests were found finished; those that are needed are not run again"));
        }
        Ok(Kept(finished))
    }

    /// Says so if a test could not be kept.
    pub fn say_unkept(&self) {
        self.0.iter().for_each(Finished::say_unkept);
    }

    /// What a run without a result ends with.
    pub fn ended(&self, none: NoResult) -> Failure {
        match (none, &self.0) {
            (NoResult::Stopped, Some(_)) => Failure::run("stopped").help("the same command goes on from there"),
            (NoResult::Stopped, None) => Failure::run("stopped: nothing was kept"),
            (NoResult::Failed(why), _) => Failure::run(why),
            (NoResult::Refused(why), _) => Failure::Run(why),
        }
    }

    /// The run has ended.
    pub fn clear(self) {
        self.0.into_iter().for_each(Finished::clear);
    }
}

/// A folder for finished tests and nothing else, as `--keep` names it.
pub struct KeepFolder {
    folder: Option<OutputFolder>,
}

impl KeepFolder {
    /// # Errors
    /// If the folder cannot be written to.
    pub fn open(command: &'static str, dir: Option<&Path>) -> Result<Self, Failure> {
        let folder = dir.map(|dir| OutputFolder::open(dir, Writes::nothing(command), false)).transpose()?;
        Ok(KeepFolder { folder })
    }

    /// # Errors
    /// If the folder cannot be written to.
    pub fn kept(&self) -> Result<Kept, Failure> {
        Kept::within(self.folder.as_ref())
    }
}
