//! Blocks that go bad in use: programs and erases that fail, at moments drawn from a seed.

use serde::{Deserialize, Serialize};
use ssdlab_core::Rng;

/// How often programs and erases fail, on average over a long time. Zero: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrowingFaults {
    /// Row programs from one failure to the next.
    pub programs_per_failure: u64,
    /// Erases of a multi-plane block from one failure to the next.
    pub erases_per_failure: u64,
    /// One failure in four is followed by another within eight operations, on top of these.
    pub in_bursts: bool,
}

/// Counts down to the next failure. Without faults the count is one that no run can reach.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Faults {
    rates: GrowingFaults,
    rng: Rng,
    programs_left: u64,
    erases_left: u64,
}

const NEVER: u64 = u64::MAX;

impl Default for Faults {
    fn default() -> Self {
        Faults { rates: GrowingFaults::default(), rng: Rng::new(0), programs_left: NEVER, erases_left: NEVER }
    }
}

impl Faults {
    #[must_use]
    pub fn new(rates: GrowingFaults, rng: &Rng) -> Self {
        let mut faults = Faults { rates, rng: rng.stream("grown bad blocks"), ..Faults::default() };
        faults.programs_left = faults.gap(rates.programs_per_failure);
        faults.erases_left = faults.gap(rates.erases_per_failure);
        faults
    }

    /// Whether nothing is to fail.
    pub fn are_none(&self) -> bool {
        self.rates == GrowingFaults { in_bursts: self.rates.in_bursts, ..GrowingFaults::default() }
    }

    /// Whether these count down to a failure that comes in its time, if any does.
    pub fn is_sound(&self) -> bool {
        let in_time = |left: u64, mean: u64| match mean {
            0 => left > NEVER / 2,
            _ => (1..=mean.saturating_mul(2).max(8)).contains(&left),
        };
        self.rng.is_sound()
            && in_time(self.programs_left, self.rates.programs_per_failure)
            && in_time(self.erases_left, self.rates.erases_per_failure)
    }

    /// Uniform from 1 to twice the mean less one.
    fn gap(&mut self, mean: u64) -> u64 {
        match mean {
            0 => NEVER,
            _ if self.rates.in_bursts && self.rng.chance(1, 4) => 1 + self.rng.below(8),
            _ => 1 + self.rng.below(mean.saturating_mul(2) - 1),
        }
    }

    /// Whether the program that ends now fails.
    #[inline]
    pub fn program_fails(&mut self) -> bool {
        self.programs_left -= 1;
        self.programs_left == 0 && self.program_failure()
    }

    #[cold]
    fn program_failure(&mut self) -> bool {
        self.programs_left = self.gap(self.rates.programs_per_failure);
        true
    }

    /// Whether the erase that ends now fails.
    #[inline]
    pub fn erase_fails(&mut self) -> bool {
        self.erases_left -= 1;
        if self.erases_left > 0 {
            return false;
        }
        self.erases_left = self.gap(self.rates.erases_per_failure);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_come_as_often_as_asked_for_and_never_without_being_asked_for() {
        let rates = GrowingFaults { programs_per_failure: 50, ..GrowingFaults::default() };
        let mut faults = Faults::new(rates, &Rng::new(1));
        let failed = (0..100_000).filter(|_| faults.program_fails()).count();
        // Gaps are uniform: mean 50, standard deviation 28.6, so that 2000 +- 5 x 25.6 are to be expected.
        assert!((1872..=2128).contains(&failed), "{failed}");
        assert!((0..100_000).all(|_| !faults.erase_fails()));
        let mut always = Faults::new(GrowingFaults { erases_per_failure: 1, ..GrowingFaults::default() }, &Rng::new(1));
        assert!((0..10).all(|_| always.erase_fails() && !always.program_fails()));
    }
}
