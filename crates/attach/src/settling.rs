//! Who waits until all that is under way has ended.

use ssdlab_core::Nanos;

use crate::request::{DriveError, Outcome};

struct Waiting {
    owner: u64,
    cookie: u64,
    /// For what has come by then.
    until: Nanos,
}

impl Waiting {
    fn outcome(&self, result: Result<Vec<Vec<u8>>, DriveError>, due: Nanos) -> Outcome {
        Outcome { owner: self.owner, cookie: self.cookie, held_bytes: 0, result, due }
    }
}

/// See the module's own page.
#[derive(Default)]
pub struct Settling {
    waiting: Vec<Waiting>,
}

impl Settling {
    /// The owner hears by this cookie of the end of all requests that have come by `until`.
    pub fn wait(&mut self, owner: u64, cookie: u64, until: Nanos) {
        self.waiting.push(Waiting { owner, cookie, until });
    }

    #[must_use]
    pub fn somebody_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The owner is gone.
    pub fn forget(&mut self, owner: u64) {
        self.waiting.retain(|waiting| waiting.owner != owner);
    }

    /// These have ended, and of those that have not the oldest came then. Appends the outcomes of those whose wait is over.
    pub fn ended(&mut self, oldest: Option<Nanos>, outcomes: &mut Vec<Outcome>) {
        let due = outcomes.iter().map(|outcome| outcome.due).max().unwrap_or(0);
        let through = self.waiting.extract_if(.., |waiting| oldest.is_none_or(|oldest| oldest > waiting.until));
        outcomes.extend(through.map(|waiting| waiting.outcome(Ok(Vec::new()), due)));
    }

    /// The power is gone, and with it all that was under way.
    pub fn cut(&mut self, now: Nanos) -> Vec<Outcome> {
        std::mem::take(&mut self.waiting).iter().map(|w| w.outcome(Err(DriveError::NoPower), now)).collect()
    }
}
