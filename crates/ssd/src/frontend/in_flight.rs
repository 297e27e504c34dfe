//! Commands in the drive, and Little's law about them.

use ssdlab_core::Nanos;

/// How many commands are in the drive, and what their time in it and their latencies differ by: by nothing, once none is left.
///
/// The time spent is the integral of how many there are, which is the sum of the times at which they end less that of those
/// at which they came. Take the latencies off, and what is left of a command that has ended is the time at which it came,
/// as its completion says, less that time as the drive saw it.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFlight {
    count: u64,
    changed: Nanos,
    /// Wraps around.
    unexplained: Nanos,
}

impl InFlight {
    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    /// When a command came or ended last.
    #[must_use]
    pub fn changed(&self) -> Nanos {
        self.changed
    }

    /// A command comes.
    #[inline]
    pub fn begun(&mut self, at: Nanos) {
        self.changed = at;
        self.count += 1;
        self.unexplained = self.unexplained.wrapping_sub(at);
    }

    /// A command has ended.
    #[inline]
    pub fn ended(&mut self, at: Nanos, latency: Nanos) {
        self.changed = at;
        self.count -= 1;
        self.unexplained = self.unexplained.wrapping_add(at.wrapping_sub(latency));
    }

    /// The commands in the drive are never answered. Times are summed up anew.
    pub fn abandon(&mut self, at: Nanos) {
        *self = InFlight { changed: at, ..InFlight::default() };
    }

    /// # Errors
    /// If no command is left, and Little's law does not hold.
    pub fn check(&self) -> Result<(), String> {
        if self.count == 0 && self.unexplained != 0 {
            let by = self.unexplained.cast_signed();
            return Err(format!(
                "Little's law: time spent in the drive, and the sum of the latencies, differ by {by} ns"
            ));
        }
        Ok(())
    }
}
