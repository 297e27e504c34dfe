//! What a point is put through: a test of the bench or a fio job.

use std::sync::Arc;

use ssdlab_bench::fio_run::Prefill;
use ssdlab_bench::suite::TestDef;
use ssdlab_workload::fio::JobFile;

/// What a point is put through.
#[derive(Clone, Debug)]
pub enum Task {
    Test { def: &'static TestDef, settings: Vec<(String, String)> },
    Job { name: String, text: String, file: Arc<JobFile>, prefill: Prefill },
}

impl Task {
    /// As in the table.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Task::Test { def, .. } => def.name,
            Task::Job { name, .. } => name,
        }
    }
}
