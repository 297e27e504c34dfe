//! Rounds of the collector, for firmware that takes in the host's commands only between them
//! (`host_share = "between-rounds"`).
//!
//! A round fills the collector's buffer and writes it out. The collector asks for one ([`Round::Wanted`]); the drive
//! says when it begins, and keeps the host waiting until it is over.

use crate::collector::Set;
use crate::op::OpSink;
use crate::translation::Ftl;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Round {
    /// The collector has nothing to do, or cannot go on by itself.
    #[default]
    None,
    /// It would go on, and waits to be let.
    Wanted,
    Running,
}

impl Ftl {
    #[inline]
    #[must_use]
    pub fn round(&self) -> Round {
        self.round
    }

    /// Whether the collector should be let although the host has commands: not where it only works ahead of need.
    #[must_use]
    pub fn round_is_due(&self) -> bool {
        let least = if self.forced { 1 } else { self.row_units };
        let held = |stream: u8| self.buffer.waiting_of(stream) >= least && self.writable[stream as usize] == 0;
        let needed = |set: &Set| {
            let low = set.free.len() as u32 <= self.gc.start_free_superblocks;
            set.active && (!set.ahead_of_need || low || self.has_pool() && set.pool_free.len() < 2)
        };
        self.sets.iter().any(needed) || (0..self.buffer_streams).any(held)
    }

    /// Whether the round that the collector asks for, or is in, empties the SLC cache.
    #[must_use]
    pub fn round_folds(&self) -> bool {
        self.sets.iter().any(|set| set.active && set.fold)
    }

    /// Lets the collector begin the round that it wants.
    pub fn begin_round(&mut self, sink: &mut impl OpSink) {
        debug_assert_eq!(self.round, Round::Wanted);
        self.round = Round::Running;
        for s in 0..self.sets.len() {
            if self.sets[s].active {
                self.collector_step(s, sink);
            }
        }
    }

    /// After a step of the collector: if it waits for something else now, such as an erase, the round is over. It asks
    /// for another when that has come.
    #[cold]
    pub(crate) fn end_round_if_stuck(&mut self) {
        let idle = self.sets.iter().all(|set| set.units_reading == 0 && set.units_writing == 0);
        if self.round == Round::Running && idle {
            self.round = Round::None;
        }
    }

    /// Whether the collector may read now; if not, it wants a round.
    #[inline]
    pub(crate) fn may_collect(&mut self, s: usize) -> bool {
        !self.in_rounds || self.round == Round::Running || self.ask_for_round(s)
    }

    #[cold]
    fn ask_for_round(&mut self, s: usize) -> bool {
        if self.sets[s].active {
            self.round = Round::Wanted;
        }
        false
    }
}
