//! Cost-benefit: the greatest (1 - u) / 2u x age, where u is the valid share and age the time since the block was
//! closed, counted in units written. Among equals the block with the lowest number goes. Looks at every closed block each
//! time.
//!
//! The ratio is that of Kawaguchi et al. (1995), whose age is the time since the block's last invalidation. The first such
//! policy (Rosenblum, Ousterhout 1991) has (1 - u) / (1 + u), and the age of the youngest data.
//!
//! Age stands for how long what is valid will stay so, and that hangs on writes: a drive that rests does not age, one that
//! is faster does not age faster, and all victims are the same however long programs take. The collector's writes count like
//! the host's; by them all ages grow alike. What is moved begins anew, as its block does.
//!
//! A block that was written at one bit per cell gives back, once it is erased, as much room as any other: u is the share of
//! that.

use std::cmp::Ordering;

use ssdlab_core::Rng;

use super::closed_list::AgedList;
use super::{Candidates, VictimSelector};

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct CostBenefit {
    closed: AgedList,
}

impl CostBenefit {
    #[must_use]
    pub fn new(blocks: u32) -> Self {
        CostBenefit { closed: AgedList::new(blocks) }
    }
}

/// What collecting a block is worth, as a fraction: exact, so that no two machines and no two compilers differ.
#[derive(Clone, Copy)]
struct Worth {
    block: u32,
    /// Dead units times age: below 2^96.
    benefit: u128,
    /// Valid units. All blocks have the 2 of the formula in common. Where nothing is valid, the worth is infinite.
    cost: u32,
}

impl Worth {
    /// The lower number counts as the greater among equals.
    fn compare(&self, other: &Worth) -> Ordering {
        let (ours, theirs) = (self.benefit * u128::from(other.cost), other.benefit * u128::from(self.cost));
        ours.cmp(&theirs).then(other.block.cmp(&self.block))
    }
}

impl VictimSelector for CostBenefit {
    fn close(&mut self, block: u32, _valid: u32, clock: u64) {
        self.closed.insert(block, clock);
    }

    fn invalidate(&mut self, _block: u32, _valid: u32) {}

    fn remove(&mut self, block: u32) {
        self.closed.remove(block);
    }

    fn pick(&mut self, candidates: &Candidates, _rng: &mut Rng) -> Option<u32> {
        let worth = |&block: &u32| {
            let valid = candidates.valid[block as usize];
            // A block that was closed just now is worth something, too, if anything in it is dead.
            let age = self.closed.age(block, candidates.clock).max(1);
            Worth { block, benefit: u128::from(candidates.capacity - valid) * u128::from(age), cost: valid }
        };
        let block = self.closed.as_slice().iter().map(worth).max_by(Worth::compare)?.block;
        self.closed.remove(block);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In which order blocks of 10 units go that were closed at these times and hold so much, at the time 1000.
    fn order(blocks: &[(u64, u32)]) -> Vec<u32> {
        let mut policy = CostBenefit::new(blocks.len() as u32);
        let valid: Vec<u32> = blocks.iter().map(|&(_, valid)| valid).collect();
        (0..).zip(blocks).for_each(|(block, &(closed, _))| policy.close(block, 10, closed));
        let candidates = Candidates { valid: &valid, capacity: 10, clock: 1000 };
        std::iter::from_fn(|| policy.pick(&candidates, &mut Rng::new(1))).collect()
    }

    #[test]
    fn age_outweighs_a_small_difference_in_valid_data_and_emptiness_outweighs_age() {
        assert_eq!(order(&[(0, 8), (900, 7), (990, 0)]), [2, 0, 1]);
    }

    #[test]
    fn worth_is_the_ratio_of_the_formula() {
        // 2/8 x 900 = 225, 4/6 x 330 = 220, 5/5 x 224.
        assert_eq!(order(&[(100, 8), (670, 6), (776, 5)]), [0, 2, 1]);
    }

    #[test]
    fn a_full_block_goes_last_however_old_and_one_closed_just_now_before_it() {
        assert_eq!(order(&[(0, 10), (1000, 9), (1, 10)]), [1, 0, 2]);
    }

    #[test]
    fn among_equals_and_among_empty_ones_the_lowest_number_goes() {
        assert_eq!(order(&[(500, 5), (1000, 0), (500, 5), (0, 0)]), [1, 3, 0, 2]);
        // 1/9 x 900 = 100 = 1/1 x 100.
        assert_eq!(order(&[(900, 5), (100, 9), (900, 5)]), [0, 1, 2]);
    }

    #[test]
    fn a_block_that_is_taken_out_is_not_picked() {
        let mut policy = CostBenefit::new(3);
        (0..3).for_each(|block| policy.close(block, 10, 0));
        policy.remove(1);
        let candidates = Candidates { valid: &[3, 0, 2], capacity: 10, clock: 10 };
        assert_eq!(policy.pick(&candidates, &mut Rng::new(1)), Some(2));
        assert_eq!(policy.pick(&candidates, &mut Rng::new(1)), Some(0));
        assert_eq!(policy.pick(&candidates, &mut Rng::new(1)), None);
    }

    /// The largest numbers there can be, one unit apart: nothing overflows, nothing is rounded away.
    #[test]
    fn the_largest_numbers_are_compared_exactly() {
        let mut policy = CostBenefit::new(2);
        policy.close(0, 1, 1);
        policy.close(1, 1, 0);
        let candidates = Candidates { valid: &[u32::MAX / 2; 2], capacity: u32::MAX, clock: u64::MAX };
        assert_eq!(policy.pick(&candidates, &mut Rng::new(1)), Some(1));
    }
}
