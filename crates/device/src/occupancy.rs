//! Little's law as bookkeeping.

use ssdlab_core::Nanos;

/// The number of commands in a device, summed over time, is the sum of their latencies: what a device keeps to check the
/// times that it tells.
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    in_flight: u64,
    since: Nanos,
    command_time: u128,
    latencies: u128,
}

impl Occupancy {
    /// Commands in the device.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// A command comes in.
    #[inline]
    pub fn enter(&mut self, now: Nanos) {
        self.pass_to(now);
        self.in_flight += 1;
    }

    /// A command that came in at `submitted` is done.
    #[inline]
    pub fn leave(&mut self, submitted: Nanos, completed: Nanos) {
        self.pass_to(completed);
        self.in_flight -= 1;
        self.latencies += u128::from(completed - submitted);
    }

    #[inline]
    fn pass_to(&mut self, now: Nanos) {
        self.command_time += u128::from(now - self.since) * u128::from(self.in_flight);
        self.since = now;
    }

    /// The power goes: commands inside never end.
    pub fn power_cut(&mut self, now: Nanos) {
        self.pass_to(now);
        self.in_flight = 0;
        self.latencies = self.command_time;
    }

    /// Checks the law.
    ///
    /// # Errors
    /// If the law does not hold, with nothing in flight.
    pub fn check(&self) -> Result<(), String> {
        if self.in_flight == 0 && self.command_time != self.latencies {
            let (inside, latencies) = (self.command_time, self.latencies);
            return Err(format!("commands spent {inside} ns in the device, but their latencies sum to {latencies} ns"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_that_says_a_wrong_time_is_noticed() {
        let mut right = Occupancy::default();
        right.enter(10);
        right.enter(30);
        let mut wrong = right.clone();
        right.leave(10, 50);
        right.leave(30, 60);
        assert_eq!((right.in_flight(), right.check()), (0, Ok(())));
        wrong.leave(10, 50);
        assert_eq!(wrong.check(), Ok(()), "a command is still in flight");
        wrong.leave(29, 60);
        assert!(wrong.check().is_err());
    }
}
