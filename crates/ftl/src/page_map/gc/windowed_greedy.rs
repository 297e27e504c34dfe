//! Windowed greedy: the block with the fewest valid units among those that were closed longest ago (Hu et al., SYSTOR
//! 2009). A window of one block is [`Fifo`](super::Fifo), one of all blocks [`Greedy`](super::Greedy). Among equals the
//! one closed longest ago goes.

use std::collections::VecDeque;

use ssdlab_core::Rng;

use super::{Candidates, VictimSelector};

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct WindowedGreedy {
    queue: VecDeque<u32>,
    window: usize,
}

impl WindowedGreedy {
    #[must_use]
    pub fn new(window: u32) -> Self {
        WindowedGreedy { queue: VecDeque::new(), window: window as usize }
    }
}

impl VictimSelector for WindowedGreedy {
    fn close(&mut self, block: u32, _valid: u32, _clock: u64) {
        self.queue.push_back(block);
    }

    fn invalidate(&mut self, _block: u32, _valid: u32) {}

    fn remove(&mut self, block: u32) {
        self.queue.retain(|&b| b != block);
    }

    fn pick(&mut self, candidates: &Candidates, _rng: &mut Rng) -> Option<u32> {
        let oldest = self.queue.iter().take(self.window).enumerate();
        let (at, _) = oldest.min_by_key(|&(_, &block)| candidates.valid[block as usize])?;
        self.queue.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emptiest_of_the_oldest_goes_and_the_others_keep_their_order() {
        let valid = [9, 7, 7, 8, 1];
        let candidates = Candidates { valid: &valid, capacity: 10, clock: 0 };
        let mut rng = Rng::new(1);
        let mut order = |window| {
            let mut policy = WindowedGreedy::new(window);
            (0..5).for_each(|block| policy.close(block, valid[block as usize], 0));
            std::iter::from_fn(|| policy.pick(&candidates, &mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(order(1), [0, 1, 2, 3, 4]);
        assert_eq!(order(3), [1, 2, 4, 3, 0]);
        assert_eq!(order(9), [4, 1, 2, 3, 0]);
    }

    #[test]
    fn a_block_that_is_taken_out_is_not_picked() {
        let candidates = Candidates { valid: &[3, 2, 1], capacity: 10, clock: 0 };
        let mut policy = WindowedGreedy::new(2);
        (0..3).for_each(|block| policy.close(block, candidates.valid[block as usize], 0));
        policy.remove(1);
        assert_eq!(policy.pick(&candidates, &mut Rng::new(1)), Some(2));
    }
}
