//! Random: any closed block with equal chance. The floor: write amplification (1 + OP) / OP.

use ssdlab_core::Rng;

use super::closed_list::ClosedList;
use super::{Candidates, VictimSelector};

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Random {
    closed: ClosedList,
}

impl Random {
    #[must_use]
    pub fn new(blocks: u32) -> Self {
        Random { closed: ClosedList::new(blocks) }
    }
}

impl VictimSelector for Random {
    fn close(&mut self, block: u32, _valid: u32, _clock: u64) {
        self.closed.insert(block);
    }

    fn invalidate(&mut self, _block: u32, _valid: u32) {}

    fn remove(&mut self, block: u32) {
        self.closed.remove(block);
    }

    fn pick(&mut self, _candidates: &Candidates, rng: &mut Rng) -> Option<u32> {
        let closed = self.closed.as_slice();
        if closed.is_empty() {
            return None;
        }
        let block = closed[rng.below(closed.len() as u64) as usize];
        self.closed.remove(block);
        Some(block)
    }
}
