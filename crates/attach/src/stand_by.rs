//! STANDBY IMMEDIATE, as a host asks for it: the drive brings everything to its medium, so that a cut after it is a clean one.
//!
//! It begins when no request is under way, and requests that come meanwhile wait for its end.

use ssdlab_core::Nanos;

use crate::request::{DriveError, DriveRequest, Outcome};

/// See the module's own page.
pub struct StandBy {
    owner: u64,
    cookie: u64,
    /// `None`: it waits for what is under way.
    pub ends: Option<Nanos>,
    /// Something else than a request has come since.
    pub woken: bool,
    /// Requests that came since, and when.
    pub waiting: Vec<(Nanos, DriveRequest)>,
}

impl StandBy {
    #[must_use]
    pub fn new(request: &DriveRequest) -> Self {
        StandBy { owner: request.owner, cookie: request.cookie, ends: None, woken: false, waiting: Vec::new() }
    }

    /// How it has ended, for who asked for it.
    #[must_use]
    pub fn outcome(&self, result: Result<(), DriveError>, due: Nanos) -> Outcome {
        let (owner, cookie) = (self.owner, self.cookie);
        Outcome { owner, cookie, held_bytes: 0, result: result.map(|()| Vec::new()), due }
    }
}
