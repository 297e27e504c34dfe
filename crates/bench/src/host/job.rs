//! What one job of a closed-loop run does.

use ssdlab_core::Nanos;

/// When a job stops issuing. Whatever comes first counts; with none set, the source's end does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Simulated time after the ramp. Requests that complete later are waited for but not measured.
    pub duration: Option<Nanos>,
    /// Stops after the request that reaches this many bytes.
    pub bytes: Option<u64>,
    pub requests: Option<u64>,
}

/// A source of requests and how it is driven. Several jobs run side by side on one device.
#[derive(Clone, Debug)]
pub struct Job<S> {
    pub source: S,
    /// Requests kept in flight.
    pub queue_depth: u32,
    pub limits: Limits,
    /// Time between a request's completion and its successor's issue: the host's own work. Each of the
    /// `queue_depth` places thinks by itself.
    pub think: Nanos,
    /// Requests that complete in this first stretch are not measured (as fio's `ramp_time`).
    pub ramp: Nanos,
}

impl<S> Job<S> {
    /// Runs until the source ends.
    #[must_use]
    pub fn new(source: S, queue_depth: u32) -> Self {
        Job { source, queue_depth, limits: Limits::default(), think: 0, ramp: 0 }
    }

    /// Stops issuing after this simulated time.
    #[must_use]
    pub fn for_nanos(mut self, duration: Nanos) -> Self {
        self.limits.duration = Some(duration);
        self
    }

    /// Stops issuing after the request that reaches this many bytes.
    #[must_use]
    pub fn for_bytes(mut self, bytes: u64) -> Self {
        self.limits.bytes = Some(bytes);
        self
    }

    /// Stops issuing after so many requests.
    #[must_use]
    pub fn for_requests(mut self, requests: u64) -> Self {
        self.limits.requests = Some(requests);
        self
    }

    #[must_use]
    pub fn thinking(mut self, think: Nanos) -> Self {
        self.think = think;
        self
    }

    pub(super) fn is_paced(&self) -> bool {
        self.think > 0
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.queue_depth == 0 {
            return Err("the queue depth must be at least 1".to_owned());
        }
        Ok(())
    }
}
