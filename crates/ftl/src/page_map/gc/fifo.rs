//! FIFO: the block that was closed longest ago, whatever it holds. The oldest policy, and the one with a closed form
//! (Desnoyers 2012: LRW cleaning).

use std::collections::VecDeque;

use ssdlab_core::Rng;

use super::{Candidates, VictimSelector};

/// See the module's own page.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    queue: VecDeque<u32>,
}

impl VictimSelector for Fifo {
    fn close(&mut self, block: u32, _valid: u32, _clock: u64) {
        self.queue.push_back(block);
    }

    fn invalidate(&mut self, _block: u32, _valid: u32) {}

    fn remove(&mut self, block: u32) {
        self.queue.retain(|&b| b != block);
    }

    fn pick(&mut self, _candidates: &Candidates, _rng: &mut Rng) -> Option<u32> {
        self.queue.pop_front()
    }
}
