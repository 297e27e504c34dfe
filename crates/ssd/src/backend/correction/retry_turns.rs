//! Whose turn it is to be read again: firmware sees to so many reads at once (`ecc.retry.at_once`).

use std::collections::VecDeque;

use ssdlab_nand::DieId;

/// Reads that are seen to, and those that wait, in order.
#[derive(Clone, Debug)]
pub struct RetryTurns {
    /// How many more can be seen to.
    free: u32,
    most: u32,
    waiting: VecDeque<DieId>,
}

impl RetryTurns {
    #[must_use]
    pub fn new(at_once: Option<u32>) -> Self {
        let most = at_once.unwrap_or(u32::MAX);
        RetryTurns { free: most, most, waiting: VecDeque::new() }
    }

    /// Whether a die's read is seen to now. If not, it waits.
    pub fn take(&mut self, d: DieId) -> bool {
        let is_free = self.free > 0;
        if is_free {
            self.free -= 1;
        } else {
            self.waiting.push_back(d);
        }
        is_free
    }

    /// A read is over that was seen to: whose turn it is now.
    pub fn hand_on(&mut self) -> Option<DieId> {
        let next = self.waiting.pop_front();
        self.free += u32::from(next.is_none());
        next
    }

    /// Nothing is read any more.
    pub fn clear(&mut self) {
        self.free = self.most;
        self.waiting.clear();
    }
}
