//! One measurement before a point in time and one after it.

use ssdlab_core::{Completion, Nanos};
use ssdlab_ssd::Counters;

use super::{Measurement, Meter};

/// Measures the head and the tail of a run apart; together they are the run. For a single job.
///
/// The device's counters are read at the boundary if it lies a whole number of seconds after the start.
#[derive(Clone, Debug)]
pub struct Split {
    after: Nanos,
    boundary: Nanos,
    head: Measurement,
    tail: Measurement,
    counters: Option<Counters>,
}

impl Split {
    /// The tail begins this long after measuring begins.
    #[must_use]
    pub fn after(after: Nanos) -> Self {
        Split {
            after,
            boundary: Nanos::MAX,
            head: Measurement::default(),
            tail: Measurement::default(),
            counters: None,
        }
    }

    #[must_use]
    pub fn tail(&self) -> &Measurement {
        &self.tail
    }

    #[must_use]
    pub fn whole(&self) -> Measurement {
        let mut whole = self.head.clone();
        whole.merge(&self.tail);
        whole
    }

    /// The device's counters at the boundary.
    #[must_use]
    pub fn counters_at_boundary(&self) -> Option<&Counters> {
        self.counters.as_ref()
    }
}

impl Meter for Split {
    fn begin(&mut self, job: usize, at: Nanos) {
        self.boundary = at + self.after;
        self.head.begin(job, at);
        self.tail.begin(job, self.boundary);
    }

    #[inline]
    fn record(&mut self, job: usize, io: &Completion) {
        if io.completed <= self.boundary { self.head.record(job, io) } else { self.tail.record(job, io) }
    }

    fn tick(&mut self, at: Nanos, counters: &dyn Fn() -> Counters) {
        if at == self.boundary {
            self.counters = Some(counters());
        }
    }

    fn end(&mut self, job: usize, at: Nanos) {
        self.head.end(job, at.min(self.boundary));
        self.tail.end(job, at);
    }
}
