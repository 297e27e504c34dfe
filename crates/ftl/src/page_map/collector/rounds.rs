//! Rounds of the collector, for firmware that takes in the host's commands only between them
//! (`host_share = "between-rounds"`).
//!
//! A round fills the collector's buffer and writes it out. The collector asks for one ([`Round::Wanted`]); the drive
//! says when it begins, and keeps the host waiting until it is over.

use super::domain::{Domain, Trigger};
use crate::op::OpSink;
use crate::page_map::PageMap;
use crate::translation::Round;

impl PageMap {
    #[inline]
    #[must_use]
    pub fn round(&self) -> Round {
        self.collector.round
    }

    /// Whether the collector should be let although the host has commands: not where it only works ahead of need.
    #[must_use]
    pub fn round_is_due(&self) -> bool {
        let held = |stream: u8| {
            self.buffer.waiting_of(stream) >= self.buffer.least_row(stream, self.row_units)
                && !self.host.may_write(stream)
        };
        let needed = |(d, domain): (usize, &Domain)| {
            let low = self.allocator.free(d) <= self.collector.start_free;
            let cache_low = self.superblocks.has_pool() && self.allocator.pool_free(d) < 2;
            domain.collection().is_some_and(|c| c.trigger == Trigger::Need || low || cache_low)
        };
        self.collector.domains.iter().enumerate().any(needed) || (0..self.buffer.streams()).any(held)
    }

    /// Whether the round that the collector asks for, or is in, empties the SLC cache.
    #[must_use]
    pub fn round_folds(&self) -> bool {
        self.collector.domains.iter().any(Domain::is_folding)
    }

    /// Lets the collector begin the round that it wants.
    pub fn begin_round(&mut self, sink: &mut impl OpSink) {
        debug_assert_eq!(self.collector.round, Round::Wanted);
        self.collector.round = Round::Running;
        for d in 0..self.collector.domains.len() {
            if self.collector.domains[d].is_collecting() {
                self.collector_step(d, sink);
            }
        }
    }

    /// After a step of the collector: if it waits for something else now, such as an erase, the round is over. It asks
    /// for another when that has come.
    #[cold]
    pub(super) fn end_round_if_stuck(&mut self) {
        let idle = self.collector.domains.iter().all(|domain| domain.units_under_way() == 0);
        if self.collector.round == Round::Running && idle {
            self.collector.round = Round::None;
        }
    }

    /// Whether the collector may read now; if not, it wants a round.
    #[inline]
    pub(super) fn may_collect(&mut self, d: usize) -> bool {
        !self.pacing.in_rounds() || self.collector.round == Round::Running || self.ask_for_round(d)
    }

    #[cold]
    fn ask_for_round(&mut self, d: usize) -> bool {
        if self.collector.domains[d].is_collecting() {
            self.collector.round = Round::Wanted;
        }
        false
    }
}
