//! What the host may write while a collection runs: one file per policy, one trait.
//!
//! A policy gives the host *credit* for what the collector has moved, in millionths of a unit, and the host spends it row
//! by row; or it sets no limit, and the two compete for the dies.

mod balanced;
mod between_rounds;
mod in_step;
mod study;
mod trickle;
mod unlimited;

pub use balanced::Balanced;
pub use between_rounds::BetweenRounds;
pub use in_step::InStep;
pub use study::{HostUnits, Study};
pub use trickle::Trickle;
pub use unlimited::Unlimited;

use crate::spec::{GcSpec, HostShare};

/// Millionths of a unit.
pub const MICRO: i64 = 1_000_000;

/// How the host is held back while the collector works: a collection gives it credit, and a row of the host spends as much as it has
/// units. Without credit for a row the host waits. Too much credit does no harm to data: a row that the collector needs is
/// kept from the host whatever it has (`host_write.rs`).
pub trait PacingPolicy {
    /// Whether the host needs credit to write while a collection runs.
    fn limits_host(&self) -> bool;

    /// What the host gets for each unit that is moved out of a victim with so many dead and valid units, in millionths of
    /// a unit. `valid` may be 0.
    fn credit_for_moved_unit_micro(&self, dead: u32, valid: u32) -> i64;

    /// Whether the collector works in rounds, between which the host's commands are taken in.
    fn in_rounds(&self) -> bool {
        false
    }

    /// Whether the collector moves no more than the host has written for.
    fn follows_host(&self) -> bool {
        false
    }
}

/// The policy of a drive, chosen once.
#[derive(Clone, Debug)]
pub enum Pacing {
    Unlimited(Unlimited),
    BetweenRounds(BetweenRounds),
    Balanced(Balanced),
    InStep(InStep),
    Trickle(Trickle),
    Study(Study),
}

impl Pacing {
    #[must_use]
    pub fn new(spec: &GcSpec) -> Self {
        match spec.host_share {
            HostShare::Unlimited => Pacing::Unlimited(Unlimited),
            HostShare::BetweenRounds => Pacing::BetweenRounds(BetweenRounds),
            HostShare::Balanced => Pacing::Balanced(Balanced),
            HostShare::InStep => Pacing::InStep(InStep),
            HostShare::Trickle => Pacing::Trickle(Trickle { units_per_1000: spec.trickle_per_1000 }),
        }
    }

    #[inline]
    fn policy(&self) -> &dyn PacingPolicy {
        match self {
            Pacing::Unlimited(p) => p,
            Pacing::BetweenRounds(p) => p,
            Pacing::Balanced(p) => p,
            Pacing::InStep(p) => p,
            Pacing::Trickle(p) => p,
            Pacing::Study(p) => p,
        }
    }
}

/// A drive's pacing, with the answers that the hot path needs at hand.
#[derive(Clone, Debug)]
pub struct HostPacing {
    pacing: Pacing,
    limits_host: bool,
    in_rounds: bool,
    follows_host: bool,
}

impl HostPacing {
    #[must_use]
    pub fn new(spec: &GcSpec) -> Self {
        Self::of(Pacing::new(spec))
    }

    #[must_use]
    pub fn of(pacing: Pacing) -> Self {
        let policy = pacing.policy();
        let (limits_host, in_rounds, follows_host) = (policy.limits_host(), policy.in_rounds(), policy.follows_host());
        HostPacing { limits_host, in_rounds, follows_host, pacing }
    }

    /// See [`PacingPolicy::limits_host`].
    #[inline]
    #[must_use]
    pub fn limits_host(&self) -> bool {
        self.limits_host
    }

    /// See [`PacingPolicy::in_rounds`].
    #[inline]
    #[must_use]
    pub fn in_rounds(&self) -> bool {
        self.in_rounds
    }

    /// See [`PacingPolicy::follows_host`].
    #[inline]
    #[must_use]
    pub fn follows_host(&self) -> bool {
        self.follows_host
    }

    /// See [`PacingPolicy::credit_for_moved_unit_micro`].
    #[must_use]
    pub fn credit_for_moved_unit_micro(&self, dead: u32, valid: u32) -> i64 {
        self.pacing.policy().credit_for_moved_unit_micro(dead, valid)
    }
}

/// What the host may still write in one domain while its collection runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credit {
    micro: i64,
    per_moved_unit_micro: i64,
    /// Units of earlier victims that are still to be moved, and what each of them brings, on average.
    earlier: u32,
    per_earlier_unit_micro: i64,
}

impl Credit {
    /// A collection begins: nothing is left of an earlier one.
    pub fn begin(&mut self) {
        self.micro = 0;
    }

    /// A victim has been chosen, each unit of which brings so much once it is moved. The `held` units of earlier ones, which the
    /// collector has read and not yet moved, bring what theirs freed: at the rate of a victim that comes after them the host
    /// would, over many, be given more than all of them free.
    pub fn begin_victim(&mut self, per_moved_unit_micro: i64, held: u32) {
        let earlier = self.earlier.min(held);
        let last = held - earlier;
        let bring = i128::from(earlier) * i128::from(self.per_earlier_unit_micro)
            + i128::from(last) * i128::from(self.per_moved_unit_micro);
        // A mean of two numbers of 64 bits is one.
        self.per_earlier_unit_micro = (bring / i128::from(held.max(1))) as i64;
        self.earlier = held;
        self.per_moved_unit_micro = per_moved_unit_micro;
    }

    /// Units have been moved, those that were read first before others. Credit that can no longer be counted is no longer added.
    #[inline]
    pub fn earn(&mut self, units: u32) {
        let earlier = units.min(self.earlier);
        self.earlier -= earlier;
        let of_earlier = i64::from(earlier) * self.per_earlier_unit_micro;
        let of_last = i64::from(units - earlier) * self.per_moved_unit_micro;
        self.micro = self.micro.saturating_add(of_earlier + of_last);
    }

    /// The host has written a row of `units` that cost so much each.
    #[inline]
    pub fn spend(&mut self, units: u32, cost_micro: i64) {
        self.micro -= i64::from(units) * cost_micro;
    }

    /// Whether it covers `units`.
    #[inline]
    #[must_use]
    pub fn covers(&self, units: u32) -> bool {
        self.micro >= i64::from(units) * MICRO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_brings_what_its_own_victim_freed_however_many_were_chosen_since() {
        let mut credit = Credit::default();
        credit.begin_victim(2 * MICRO, 0);
        credit.earn(3);
        // Four of it are left, then three, beside two of another.
        credit.begin_victim(5 * MICRO, 4);
        credit.earn(1);
        assert!(credit.covers(8) && !credit.covers(9));
        credit.begin_victim(0, 5);
        credit.earn(5);
        assert!(credit.covers(24) && !credit.covers(25));
        credit.earn(100);
        assert!(!credit.covers(25));
    }

    #[test]
    fn what_has_died_since_it_was_read_brings_nothing() {
        let mut credit = Credit::default();
        credit.begin_victim(MICRO, 0);
        credit.begin_victim(2 * MICRO, 5);
        credit.begin_victim(0, 2);
        credit.earn(10);
        assert!(credit.covers(2) && !credit.covers(3));
    }
}
