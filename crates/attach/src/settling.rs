//! Who waits until all that is under way has ended.

use std::collections::BTreeSet;

use ssdlab_core::Nanos;

use crate::request::{DriveError, Outcome};

/// A request: its owner and cookie.
pub type Name = (u64, u64);

struct Waiting {
    who: Name,
    /// Requests that have not ended.
    left: BTreeSet<Name>,
}

impl Waiting {
    fn outcome(&self, result: Result<Vec<Vec<u8>>, DriveError>, due: Nanos) -> Outcome {
        Outcome { owner: self.who.0, cookie: self.who.1, held_bytes: 0, result, due }
    }
}

/// See the module's own page.
#[derive(Default)]
pub struct Settling {
    waiting: Vec<Waiting>,
}

impl Settling {
    /// `who` hears of the end of all of these.
    pub fn wait(&mut self, who: Name, left: BTreeSet<Name>) {
        self.waiting.push(Waiting { who, left });
    }

    /// Appends the outcomes of those who wait for none but these.
    pub fn ended(&mut self, outcomes: &mut Vec<Outcome>) {
        if self.waiting.is_empty() {
            return;
        }
        for outcome in &*outcomes {
            self.waiting.iter_mut().for_each(|w| _ = w.left.remove(&(outcome.owner, outcome.cookie)));
        }
        let due = outcomes.iter().map(|outcome| outcome.due).max().unwrap_or(0);
        let through = self.waiting.extract_if(.., |w| w.left.is_empty());
        outcomes.extend(through.map(|w| w.outcome(Ok(Vec::new()), due)));
    }

    /// The power is gone, and with it all that was under way.
    pub fn cut(&mut self, now: Nanos) -> Vec<Outcome> {
        std::mem::take(&mut self.waiting).iter().map(|w| w.outcome(Err(DriveError::NoPower), now)).collect()
    }
}
