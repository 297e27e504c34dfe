//! Reads that wait for the arm.
//!
//! Of those that adjoin each other, the first one comes first (estimate: they are one stretch to the firmware). Else the arm would leave
//! out what lies between the end of a track and the first sector of the next one that it reaches, and come back for it only when it
//! is overdue.

use ssdlab_core::Nanos;

use crate::commands::Command;
use crate::geometry::Place;
use crate::targets::Targets;

/// See the module's own page. In no order; an index counts until one is removed.
#[derive(Clone, Debug, Default)]
pub struct WaitingReads {
    targets: Targets,
    /// The slot of the command, and its first sector.
    commands: Vec<(u32, u32)>,
    /// The sectors behind them, by themselves: they are compared at once.
    ends: Vec<u32>,
}

impl WaitingReads {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Where they are.
    #[inline]
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    #[inline]
    pub fn push(&mut self, slot: u32, command: &Command, place: Place, now: Nanos) {
        self.targets.push(place, now);
        self.commands.push((slot, command.from));
        self.ends.push(command.to);
    }

    /// Returns the slot of its command.
    #[inline]
    pub fn remove(&mut self, index: usize) -> u32 {
        self.targets.swap_remove(index);
        self.ends.swap_remove(index);
        self.commands.swap_remove(index).0
    }

    /// Whether none that waits ends where this one begins.
    #[inline]
    pub fn may_be_next(&self, index: usize) -> bool {
        !self.ends.contains(&self.commands[index].1)
    }

    /// See [`Targets::any_overdue`].
    #[inline]
    pub fn any_overdue(&mut self, now: Nanos, longest: Nanos) -> bool {
        self.targets.any_overdue(now, longest)
    }
}
