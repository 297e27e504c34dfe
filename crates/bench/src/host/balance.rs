//! Little's law as bookkeeping: over a run that begins and ends with nothing in flight, the integral of the number
//! of commands in flight over time equals the sum of their latencies. The left side is the host's own count on its
//! own clock, the right side is what the device reports; a lost, doubled or misdated completion upsets it.

use ssdlab_core::Nanos;
use ssdlab_device::Completion;

use crate::error::HostError;

#[derive(Clone, Debug, Default)]
pub(super) struct Balance {
    in_flight: u64,
    since: Nanos,
    integral: u128,
    latencies: u128,
}

impl Balance {
    #[inline]
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    #[inline]
    pub(super) fn submitted(&mut self) {
        self.in_flight += 1;
    }

    /// Time passes with the present number in flight.
    #[inline]
    pub(super) fn pass_to(&mut self, now: Nanos) {
        self.integral += u128::from(self.in_flight) * u128::from(now - self.since);
        self.since = now;
    }

    #[inline]
    pub(super) fn completed(&mut self, c: &Completion) -> Result<(), HostError> {
        if self.in_flight == 0 || c.completed < c.submitted {
            return Err(impossible(self.in_flight, c));
        }
        self.in_flight -= 1;
        self.latencies += u128::from(c.completed - c.submitted);
        Ok(())
    }

    /// To be called when nothing is in flight any more.
    pub(super) fn check(&self) -> Result<(), HostError> {
        if self.in_flight == 0 && self.integral == self.latencies {
            return Ok(());
        }
        Err(HostError::Unbalanced(format!(
            "commands in flight integrate to {} ns over time, but the latencies reported sum to {} ns ({} commands still \
             in flight)",
            self.integral, self.latencies, self.in_flight
        )))
    }
}

#[cold]
fn impossible(in_flight: u64, c: &Completion) -> HostError {
    HostError::Unbalanced(format!(
        "with {in_flight} commands in flight it completed tag {} (submitted at {} ns, completed at {} ns)",
        c.tag, c.submitted, c.completed
    ))
}
