//! d-choices: the block with the fewest valid units among d drawn at random, with replacement (Van Houdt 2013).
//! Among equals the first drawn goes.

use ssdlab_core::Rng;

use super::closed_list::ClosedList;
use super::{Candidates, VictimSelector};

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct DChoices {
    closed: ClosedList,
    choices: u32,
}

impl DChoices {
    #[must_use]
    pub fn new(blocks: u32, choices: u32) -> Self {
        DChoices { closed: ClosedList::new(blocks), choices }
    }
}

impl VictimSelector for DChoices {
    fn close(&mut self, block: u32, _valid: u32, _clock: u64) {
        self.closed.insert(block);
    }

    fn invalidate(&mut self, _block: u32, _valid: u32) {}

    fn remove(&mut self, block: u32) {
        self.closed.remove(block);
    }

    fn pick(&mut self, candidates: &Candidates, rng: &mut Rng) -> Option<u32> {
        let closed = self.closed.as_slice();
        if closed.is_empty() {
            return None;
        }
        let block = (0..self.choices)
            .map(|_| closed[rng.below(closed.len() as u64) as usize])
            .min_by_key(|&b| candidates.valid[b as usize])?;
        self.closed.remove(block);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emptiest_goes_if_one_of_the_draws_is_it() {
        let valid = [7, 3, 9, 5];
        let candidates = Candidates { valid: &valid, capacity: 10, clock: 0 };
        let mut rng = Rng::new(1);
        for choices in [1, 2, 5] {
            let mut policy = DChoices::new(4, choices);
            (0..4).for_each(|block| policy.close(block, valid[block as usize], 0));
            let mut emptiest = 0;
            for _ in 0..20_000 {
                let block = policy.pick(&candidates, &mut rng).expect("four are closed");
                emptiest += u32::from(block == 1);
                policy.close(block, valid[block as usize], 0);
            }
            let expected = 1.0 - (0..choices).fold(1.0, |none, _| none * 0.75);
            assert!((f64::from(emptiest) / 20_000.0 - expected).abs() < 0.02, "{choices}: {emptiest}");
        }
    }
}
