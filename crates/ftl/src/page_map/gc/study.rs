//! A policy from outside, for studying ideas: it is asked each time, with everything that a policy may look at.

use std::fmt;
use std::sync::Arc;

use ssdlab_core::Rng;

use super::closed_list::AgedList;
use super::{Candidates, VictimSelector};

/// A closed block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub block: u32,
    /// Units of it that hold data that the host still wants.
    pub valid: u32,
    /// Units written since it was closed.
    pub age: u64,
}

/// Chooses the victim among closed blocks of `capacity` units each, of which there is at least one; in the order of their
/// numbers. The answer is the number of a block.
pub type ChooseVictim = dyn Fn(&[Candidate], u32) -> u32 + Send + Sync;

/// See the module's own page.
#[derive(Clone)]
pub struct Study {
    closed: AgedList,
    choose: Arc<ChooseVictim>,
}

impl Study {
    #[must_use]
    pub fn new(blocks: u32, choose: Arc<ChooseVictim>) -> Self {
        Study { closed: AgedList::new(blocks), choose }
    }

    #[must_use]
    pub fn choose(&self) -> Arc<ChooseVictim> {
        Arc::clone(&self.choose)
    }
}

impl fmt::Debug for Study {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Study").field("closed", &self.closed).finish_non_exhaustive()
    }
}

impl VictimSelector for Study {
    fn close(&mut self, block: u32, _valid: u32, clock: u64) {
        self.closed.insert(block, clock);
    }

    fn invalidate(&mut self, _block: u32, _valid: u32) {}

    fn remove(&mut self, block: u32) {
        self.closed.remove(block);
    }

    /// # Panics
    /// If the answer is no closed block.
    fn pick(&mut self, candidates: &Candidates, _rng: &mut Rng) -> Option<u32> {
        let mut blocks = self.closed.as_slice().to_vec();
        if blocks.is_empty() {
            return None;
        }
        blocks.sort_unstable();
        let of = |&block: &u32| Candidate {
            block,
            valid: candidates.valid[block as usize],
            age: self.closed.age(block, candidates.clock),
        };
        let candidates_now: Vec<Candidate> = blocks.iter().map(of).collect();
        let block = (self.choose)(&candidates_now, candidates.capacity);
        assert!(blocks.binary_search(&block).is_ok(), "the policy chose block {block}, which is not closed");
        self.closed.remove(block);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_closed(choose: Arc<ChooseVictim>) -> Study {
        let mut study = Study::new(4, choose);
        study.close(3, 10, 100);
        study.close(1, 10, 200);
        study
    }

    #[test]
    fn it_is_shown_every_closed_block_with_its_age() {
        let seen = |blocks: &[Candidate], capacity: u32| {
            let of = |block, valid, age| Candidate { block, valid, age };
            assert_eq!((blocks, capacity), (&[of(1, 5, 800), of(3, 7, 900)][..], 10));
            3
        };
        let mut study = two_closed(Arc::new(seen));
        let c = Candidates { valid: &[0, 5, 0, 7], capacity: 10, clock: 1000 };
        assert_eq!(study.pick(&c, &mut Rng::new(1)), Some(3));
        study.remove(1);
        assert_eq!(study.pick(&c, &mut Rng::new(1)), None);
    }

    #[test]
    #[should_panic(expected = "the policy chose block 2, which is not closed")]
    fn what_is_not_closed_cannot_be_chosen() {
        let mut study = two_closed(Arc::new(|_, _| 2));
        study.pick(&Candidates { valid: &[0; 4], capacity: 10, clock: 1000 }, &mut Rng::new(1));
    }
}
