//! When dirty lines go to the drives. A policy is a file of its own.

mod burst;
mod polite;

use ssdlab_core::Nanos;

use super::spec::FlushChoice;

/// What a policy decides on.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub now: Nanos,
    /// Lines with data that no drive has yet.
    pub dirty_lines: u64,
    pub threshold_lines: u64,
    /// Whether a line at or above the sweep's place could be written out that was dirty when the sweep began.
    pub ahead: bool,
    /// Writes to the drives under way.
    pub writes: usize,
    /// Reads of the host that drives are at work on.
    pub reads: usize,
    /// Somebody waits for lines to become clean: a write without room, or a flush.
    pub demanded: bool,
    /// When the host has had no command here for long enough; `None` while it has one.
    pub idle_from: Option<Nanos>,
}

/// What a policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Rest,
    /// Writes, from the lowest address on.
    Begin,
    /// Goes on writing in ascending order.
    GoOn,
    /// As [`Decision::GoOn`], and begins anew behind the highest address.
    GoRound,
}

/// A flush policy.
pub trait FlushPolicy: Send {
    fn decide(&mut self, view: &View) -> Decision;

    /// Whether reads that the cache cannot answer wait now.
    fn holds_reads(&self) -> bool;

    fn copy(&self) -> Box<dyn FlushPolicy>;
}

impl Clone for Box<dyn FlushPolicy> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

impl View {
    fn is_idle(&self) -> bool {
        self.idle_from.is_some_and(|from| from <= self.now)
    }
}

/// The policy of this name.
pub fn policy(choice: FlushChoice) -> Box<dyn FlushPolicy> {
    match choice {
        FlushChoice::Burst => Box::new(burst::Burst::default()),
        FlushChoice::Polite => Box::new(polite::Polite),
    }
}
