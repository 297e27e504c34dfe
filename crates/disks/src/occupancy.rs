//! Little's law as bookkeeping: commands in the disk, summed over time, are the sum of their latencies.

use ssdlab_core::Nanos;

#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    pub inside: u64,
    since: Nanos,
    command_time: u128,
    latencies: u128,
}

impl Occupancy {
    #[inline]
    pub fn enter(&mut self, now: Nanos) {
        self.pass_to(now);
        self.inside += 1;
    }

    #[inline]
    pub fn leave(&mut self, submitted: Nanos, completed: Nanos) {
        self.pass_to(completed);
        self.inside -= 1;
        self.latencies += u128::from(completed - submitted);
    }

    #[inline]
    fn pass_to(&mut self, now: Nanos) {
        self.command_time += u128::from(now - self.since) * u128::from(self.inside);
        self.since = now;
    }

    /// # Errors
    /// If the law does not hold, with nothing inside.
    pub fn check(&self) -> Result<(), String> {
        let (inside, latencies) = (self.command_time, self.latencies);
        if self.inside == 0 && inside != latencies {
            return Err(format!("commands spent {inside} ns in the disk, but their latencies sum to {latencies} ns"));
        }
        Ok(())
    }
}
