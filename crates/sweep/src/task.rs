//! What a point is put through: a test of the bench or a fio job.

use std::sync::Arc;

use ssdlab_bench::fio_run::Prefill;
use ssdlab_bench::suite::TestDef;
use ssdlab_report::{metric_label, metric_label_of};
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
    /// What a figure of it is called.
    #[must_use]
    pub(crate) fn label(&self, metric: &str) -> String {
        match &self.what {
            What::Test { def, .. } => metric_label_of(def.name, metric),
            What::Job { .. } => metric_label(metric),
        }
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
