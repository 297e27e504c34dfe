//! Which block to collect: one file per policy, one trait.
//!
//! A *set* is the group of superblocks that one collector works on (all of them, or those of one die); blocks are
//! numbered within their set. A policy hears of every block that is closed and of every unit that dies in a closed
//! block, and picks a victim when asked.

mod closed_list;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod greedy_scan;
mod random;
mod study;
mod windowed_greedy;

use ssdlab_core::Rng;

use crate::spec::{GcSpec, VictimPolicy};

pub use cost_benefit::CostBenefit;
pub use d_choices::DChoices;
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use greedy_scan::GreedyScan;
pub use random::Random;
pub use study::{Candidate, ChooseVictim, Study};
pub use windowed_greedy::WindowedGreedy;

/// What a policy may look at when it picks.
pub struct Candidates<'a> {
    /// Valid units by block of the set.
    pub valid: &'a [u32],
    /// Units of a block.
    pub capacity: u32,
    /// Units written so far: the clock by which age is measured.
    pub clock: u64,
}

/// A garbage-collection policy.
pub trait VictimSelector {
    /// `block` has been written to its end and holds `valid` valid units.
    fn close(&mut self, block: u32, valid: u32, clock: u64);

    /// A unit of closed `block` died; `valid` are left, as [`Candidates::valid`] says from now on.
    fn invalidate(&mut self, block: u32, valid: u32);

    /// `block` is taken out by somebody else (wear levelling, retirement).
    fn remove(&mut self, block: u32);

    /// Picks a victim and takes it out; `None` if no block is closed. A block without dead units may be picked: it gains nothing,
    /// and the caller sees to it that there is something to gain. Which goes first among equals each policy says for itself;
    /// greedy goes by [`GcSpec::tie_break`].
    fn pick(&mut self, candidates: &Candidates, rng: &mut Rng) -> Option<u32>;
}

/// The policy of a drive, chosen once.
#[derive(Clone, Debug)]
pub enum Selector {
    Greedy(Greedy),
    GreedyScan(GreedyScan),
    Fifo(Fifo),
    DChoices(DChoices),
    CostBenefit(CostBenefit),
    Random(Random),
    WindowedGreedy(WindowedGreedy),
    Study(Study),
}

impl Selector {
    /// Whether it may pass over a block again and again in which there is something to gain.
    #[must_use]
    pub fn may_miss(&self) -> bool {
        match self {
            Selector::DChoices(_) | Selector::Random(_) => true,
            Selector::Greedy(_)
            | Selector::GreedyScan(_)
            | Selector::Fifo(_)
            | Selector::CostBenefit(_)
            | Selector::WindowedGreedy(_)
            | Selector::Study(_) => false,
        }
    }

    /// A policy over `blocks` blocks of at most `capacity` units.
    #[must_use]
    pub fn new(spec: &GcSpec, blocks: u32, capacity: u32) -> Self {
        match spec.policy {
            VictimPolicy::Greedy if GreedyScan::suits(blocks, capacity) => {
                Selector::GreedyScan(GreedyScan::new(blocks, spec.tie_break))
            }
            VictimPolicy::Greedy => Selector::Greedy(Greedy::new(blocks, capacity, spec.tie_break)),
            VictimPolicy::Fifo => Selector::Fifo(Fifo::default()),
            VictimPolicy::DChoices => Selector::DChoices(DChoices::new(blocks, spec.choices)),
            VictimPolicy::CostBenefit => Selector::CostBenefit(CostBenefit::new(blocks)),
            VictimPolicy::Random => Selector::Random(Random::new(blocks)),
            VictimPolicy::WindowedGreedy => Selector::WindowedGreedy(WindowedGreedy::new(spec.choices)),
        }
    }
}

macro_rules! delegate {
    ($self:ident, $p:ident => $call:expr) => {
        match $self {
            Selector::Greedy($p) => $call,
            Selector::GreedyScan($p) => $call,
            Selector::Fifo($p) => $call,
            Selector::DChoices($p) => $call,
            Selector::CostBenefit($p) => $call,
            Selector::Random($p) => $call,
            Selector::WindowedGreedy($p) => $call,
            Selector::Study($p) => $call,
        }
    };
}

impl VictimSelector for Selector {
    fn close(&mut self, block: u32, valid: u32, clock: u64) {
        delegate!(self, p => p.close(block, valid, clock));
    }
    #[inline]
    fn invalidate(&mut self, block: u32, valid: u32) {
        delegate!(self, p => p.invalidate(block, valid));
    }
    fn remove(&mut self, block: u32) {
        delegate!(self, p => p.remove(block));
    }
    fn pick(&mut self, candidates: &Candidates, rng: &mut Rng) -> Option<u32> {
        delegate!(self, p => p.pick(candidates, rng))
    }
}
