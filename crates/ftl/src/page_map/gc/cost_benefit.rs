//! Cost-benefit: the greatest (1 - u) / 2u x age, where u is the valid share and age the time since the block was
//! closed, counted in units written (Rosenblum, Ousterhout 1991; Kawaguchi et al. 1995). Among equals the block with
//! the lowest number goes. Looks at every closed block each time.

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

impl VictimSelector for CostBenefit {
    fn close(&mut self, block: u32, _valid: u32, clock: u64) {
        self.closed.insert(block, clock);
    }

    fn invalidate(&mut self, _block: u32, _valid: u32) {}

    fn remove(&mut self, block: u32) {
        self.closed.remove(block);
    }

    fn pick(&mut self, candidates: &Candidates, _rng: &mut Rng) -> Option<u32> {
        let mut best: Option<(f64, u32)> = None;
        for &b in self.closed.as_slice() {
            let valid = f64::from(candidates.valid[b as usize]);
            let dead = f64::from(candidates.capacity) - valid;
            let age = self.closed.age(b, candidates.clock) as f64;
            // An empty block is worth more than any other.
            let score = if valid == 0.0 { f64::INFINITY } else { dead / (2.0 * valid) * age };
            if best.is_none_or(|(s, n)| score > s || (score == s && b < n)) {
                best = Some((score, b));
            }
        }
        let (_, block) = best?;
        self.closed.remove(block);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_outweighs_a_small_difference_in_valid_data_and_emptiness_outweighs_age() {
        let mut p = CostBenefit::new(3);
        p.close(0, 10, 0);
        p.close(1, 9, 900);
        p.close(2, 10, 990);
        let valid = [8, 7, 0];
        let c = Candidates { valid: &valid, capacity: 10, clock: 1000 };
        let mut rng = Rng::new(1);
        assert_eq!(p.pick(&c, &mut rng), Some(2));
        assert_eq!(p.pick(&c, &mut rng), Some(0));
        assert_eq!(p.pick(&c, &mut rng), Some(1));
        assert_eq!(p.pick(&c, &mut rng), None);
    }
}
