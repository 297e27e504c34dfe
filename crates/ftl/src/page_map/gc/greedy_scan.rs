//! Greedy for few, large blocks: the same choice as [`super::Greedy`], found by looking at every block when one is
//! asked for. A unit that dies costs one store instead of the relinking of a list, whose links and heads are spread
//! over more memory than the caches next to the processor hold.

use ssdlab_core::Rng;

use super::{Candidates, VictimSelector};
use crate::spec::TieBreak;

/// Bits of the number that orders blocks of equal count: enough for 10^12 dead units.
const ORDER_BITS: u32 = 40;
const ORDER_MASK: u64 = (1 << ORDER_BITS) - 1;
/// The greatest count that has room above it.
const MOST_UNITS: u32 = (1 << (64 - ORDER_BITS)) - 1;
/// Of a block that is not a candidate.
const NOT_CLOSED: u64 = u64::MAX;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct GreedyScan {
    /// By block: its valid count, and below it when it came to that count.
    keys: Vec<u64>,
    arrivals: u64,
    tie_break: TieBreak,
}

impl GreedyScan {
    #[must_use]
    pub fn new(blocks: u32, tie_break: TieBreak) -> Self {
        GreedyScan { keys: vec![NOT_CLOSED; blocks as usize], arrivals: 0, tie_break }
    }

    /// Whether a look at every block costs less than what the units that die from one victim to the next would: some
    /// twentieth of a block, with a list to be mended for each. The largest blocks have too many units for it.
    #[must_use]
    pub fn suits(blocks: u32, capacity: u32) -> bool {
        capacity <= MOST_UNITS && blocks <= capacity.saturating_mul(2)
    }

    #[inline]
    fn arrive(&mut self, block: u32, valid: u32) {
        self.arrivals += 1;
        let order = match self.tie_break {
            TieBreak::Fifo => self.arrivals,
            TieBreak::Lifo => ORDER_MASK - self.arrivals,
        };
        self.keys[block as usize] = u64::from(valid) << ORDER_BITS | order;
    }
}

impl VictimSelector for GreedyScan {
    fn close(&mut self, block: u32, valid: u32, _clock: u64) {
        self.arrive(block, valid);
    }

    #[inline]
    fn invalidate(&mut self, block: u32, valid: u32) {
        self.arrive(block, valid);
    }

    fn remove(&mut self, block: u32) {
        self.keys[block as usize] = NOT_CLOSED;
    }

    fn pick(&mut self, _candidates: &Candidates, _rng: &mut Rng) -> Option<u32> {
        let (block, &key) = self.keys.iter().enumerate().min_by_key(|&(_, &key)| key)?;
        if key == NOT_CLOSED {
            return None;
        }
        self.keys[block] = NOT_CLOSED;
        Some(block as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_map::gc::Greedy;

    #[test]
    fn the_fullest_goes_last_in_the_largest_blocks_that_it_takes() {
        assert!(GreedyScan::suits(9, MOST_UNITS) && !GreedyScan::suits(9, MOST_UNITS + 1));
        for tie_break in [TieBreak::Fifo, TieBreak::Lifo] {
            let mut scan = GreedyScan::new(3, tie_break);
            [MOST_UNITS, 5, MOST_UNITS - 1].into_iter().zip(0..).for_each(|(valid, block)| scan.close(block, valid, 0));
            let candidates = Candidates { valid: &[], capacity: MOST_UNITS, clock: 0 };
            let order: Vec<u32> = std::iter::from_fn(|| scan.pick(&candidates, &mut Rng::new(1))).collect();
            assert_eq!(order, [1, 2, 0]);
        }
    }

    #[test]
    fn chooses_what_the_lists_choose() {
        for tie_break in [TieBreak::Fifo, TieBreak::Lifo] {
            let mut rng = Rng::new(11);
            let (mut scan, mut lists) = (GreedyScan::new(20, tie_break), Greedy::new(20, 32, tie_break));
            // As after years of work.
            scan.arrivals = 1 << 35;
            let mut valid = [None; 20];
            for _ in 0..5000 {
                let block = rng.below(20) as u32;
                match &mut valid[block as usize] {
                    Some(0) => {}
                    Some(n) => {
                        *n -= 1;
                        scan.invalidate(block, *n);
                        lists.invalidate(block, *n);
                    }
                    closed @ None => {
                        let n = 20 + rng.below(13) as u32;
                        *closed = Some(n);
                        scan.close(block, n, 0);
                        lists.close(block, n, 0);
                    }
                }
                if rng.chance(1, 15) {
                    let candidates = Candidates { valid: &[], capacity: 32, clock: 0 };
                    let chosen = scan.pick(&candidates, &mut Rng::new(1));
                    assert_eq!(chosen, lists.pick(&candidates, &mut Rng::new(1)));
                    if let Some(block) = chosen {
                        valid[block as usize] = None;
                    }
                }
            }
        }
    }
}
