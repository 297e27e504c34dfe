//! What a point is put through: a test of the bench or a fio job.

use std::sync::Arc;

use ssdlab_bench::fio_run::Prefill;
use ssdlab_bench::suite::{COUNTS_RATES, TestDef};
use ssdlab_workload::fio::JobFile;

/// What a point is put through.
#[derive(Clone, Debug)]
pub struct Task {
    /// As in the table: tests of one plan differ in it.
    pub name: String,
    pub what: What,
}

/// A test of the bench, or a fio job file.
#[derive(Clone, Debug)]
pub enum What {
    Test { def: &'static TestDef, settings: Vec<(String, String)> },
    Job { file: Arc<JobFile>, prefill: Prefill },
}

impl Task {
    /// Whether it is the test of which some figures are of the last part of its run, and others of all of it.
    #[must_use]
    pub(crate) fn counts_rates(&self) -> bool {
        matches!(&self.what, What::Test { def, .. } if def.name == COUNTS_RATES)
    }

    /// What the user should be told of a job file.
    #[must_use]
    pub fn notices(&self) -> Vec<String> {
        match &self.what {
            What::Job { file, .. } => file.notices(),
            What::Test { .. } => Vec::new(),
        }
    }

    /// How it differs from others of its test or job file.
    fn settings(&self) -> String {
        match &self.what {
            What::Test { settings, .. } => {
                settings.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
            }
            What::Job { prefill, .. } => format!("prefill={prefill:?}").to_lowercase(),
        }
    }

    /// Gives those that have a name in common names of their own.
    ///
    /// # Errors
    /// The place of the second of two that are the same.
    pub(crate) fn tell_apart(tasks: &mut [Task]) -> Result<(), usize> {
        let names: Vec<String> = tasks.iter().map(|task| task.name.clone()).collect();
        for (i, task) in tasks.iter_mut().enumerate() {
            if names.iter().filter(|name| **name == task.name).count() > 1 {
                task.name = format!("{} {}", names[i], task.settings()).trim_end().to_owned();
            }
        }
        match (1..tasks.len()).find(|&i| tasks[..i].iter().any(|before| before.name == tasks[i].name)) {
            Some(i) => Err(i),
            None => Ok(()),
        }
    }
}
