//! Greedy: the block with the fewest valid units. Optimal for uniform traffic (Yang, Misra, Rubenstein 2015).
//!
//! Exact, in constant time per event: one doubly linked list of blocks for every valid count, entered at the tail.
//! Equal counts go in the order of arrival at that count (`fifo`) or its reverse (`lifo`); for data of mixed
//! temperature in separate blocks the choice alone moves write amplification by several per cent.

use ssdlab_core::Rng;

use super::{Candidates, VictimSelector};
use crate::spec::TieBreak;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Greedy {
    /// Links of blocks, then, from `blocks` on, one ring head for every valid count.
    links: Vec<Link>,
    blocks: u32,
    /// No list below this count has a block.
    lowest: u32,
    capacity: u32,
    tie_break: TieBreak,
}

impl Greedy {
    #[must_use]
    pub fn new(blocks: u32, capacity: u32, tie_break: TieBreak) -> Self {
        let free = (0..blocks).map(|_| Link { prev: NONE, next: NONE });
        let heads = (0..=capacity).map(|v| Link { prev: blocks + v, next: blocks + v });
        Greedy { links: free.chain(heads).collect(), blocks, lowest: capacity + 1, capacity, tie_break }
    }

    #[inline]
    fn unlink(&mut self, block: u32) {
        let Link { prev, next } = self.links[block as usize];
        self.links[prev as usize].next = next;
        self.links[next as usize].prev = prev;
    }

    #[inline]
    fn append(&mut self, block: u32, valid: u32) {
        let head = self.blocks + valid;
        let tail = self.links[head as usize].prev;
        self.links[block as usize] = Link { prev: tail, next: head };
        self.links[tail as usize].next = block;
        self.links[head as usize].prev = block;
        self.lowest = self.lowest.min(valid);
    }
}

impl VictimSelector for Greedy {
    fn close(&mut self, block: u32, valid: u32, _clock: u64) {
        self.append(block, valid);
    }

    #[inline]
    fn invalidate(&mut self, block: u32, valid: u32) {
        self.unlink(block);
        self.append(block, valid);
    }

    fn remove(&mut self, block: u32) {
        self.unlink(block);
    }

    fn pick(&mut self, _candidates: &Candidates, _rng: &mut Rng) -> Option<u32> {
        while self.lowest <= self.capacity {
            let head = self.blocks + self.lowest;
            let Link { prev, next } = self.links[head as usize];
            if next != head {
                let block = if self.tie_break == TieBreak::Fifo { next } else { prev };
                self.unlink(block);
                return Some(block);
            }
            self.lowest += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(g: &mut Greedy) -> Option<u32> {
        g.pick(&Candidates { valid: &[], capacity: 8, clock: 0 }, &mut Rng::new(1))
    }

    #[test]
    fn fewest_valid_first_and_ties_in_order_of_arrival_or_reverse() {
        for (tie, expected) in [(TieBreak::Fifo, [3, 1, 0, 2]), (TieBreak::Lifo, [3, 2, 0, 1])] {
            let mut g = Greedy::new(4, 8, tie);
            for b in 0..4 {
                g.close(b, 8, 0);
            }
            g.invalidate(1, 7);
            g.invalidate(0, 7);
            g.invalidate(2, 7);
            g.invalidate(3, 7);
            g.invalidate(3, 6);
            assert_eq!(std::array::from_fn(|_| pick(&mut g).unwrap()), expected);
            assert_eq!(pick(&mut g), None);
        }
    }
}
