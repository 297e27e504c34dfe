//! Commands in the drive, and Little's law about them.

use ssdlab_core::Nanos;

/// How many commands are in the drive, the integral of that over time, and the sum of their latencies: once none is left,
/// the two sums are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFlight {
    count: u64,
    changed: Nanos,
    integral: u128,
    latencies: u128,
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

    #[inline]
    fn settle(&mut self, at: Nanos) {
        if at != self.changed {
            self.integral += u128::from(at - self.changed) * u128::from(self.count);
            self.changed = at;
        }
    }

    /// A command comes.
    #[inline]
    pub fn begun(&mut self, at: Nanos) {
        self.settle(at);
        self.count += 1;
    }

    /// A command has ended.
    #[inline]
    pub fn ended(&mut self, at: Nanos, latency: Nanos) {
        self.settle(at);
        self.count -= 1;
        self.latencies += u128::from(latency);
    }

    /// The commands in the drive are never answered. Times are summed up anew.
    pub fn abandon(&mut self, at: Nanos) {
        *self = InFlight { changed: at, ..InFlight::default() };
    }

    /// # Errors
    /// If no command is left, and Little's law does not hold.
    pub fn check(&self) -> Result<(), String> {
        if self.count == 0 && self.integral != self.latencies {
            let (spent, sum) = (self.integral, self.latencies);
            return Err(format!(
                "Little's law: commands spent {spent} ns in the drive, but their latencies sum to {sum} ns"
            ));
        }
        Ok(())
    }
}
