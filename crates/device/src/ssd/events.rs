//! The event queue: one slot for each die, the earliest known at once.

use ssdlab_core::Nanos;

/// A tournament tree over at most 64 resources, each of which has at most one event. Among equal times the resource
/// with the lowest number goes first.
#[derive(Clone, Debug)]
pub struct Tournament {
    times: [Nanos; 64],
    /// Winner of the subtree below each inner node; leaves follow from `leaves` on.
    winner: [u8; 128],
    leaves: usize,
}

/// The time of a resource that has no event.
pub const NEVER: Nanos = Nanos::MAX;

impl Tournament {
    #[must_use]
    pub fn new(resources: usize) -> Self {
        let leaves = resources.next_power_of_two().max(2);
        let mut t = Tournament { times: [NEVER; 64], winner: [0; 128], leaves };
        for k in 0..leaves {
            t.winner[leaves + k] = k as u8;
        }
        for node in (1..leaves).rev() {
            t.winner[node] = t.winner[2 * node];
        }
        t
    }

    #[inline]
    pub fn set(&mut self, resource: usize, at: Nanos) {
        self.times[resource & 63] = at;
        let mut node = (self.leaves + resource) / 2;
        while node >= 1 {
            let (l, r) = (self.winner[(2 * node) & 127], self.winner[(2 * node + 1) & 127]);
            let right = self.times[(r & 63) as usize] < self.times[(l & 63) as usize];
            self.winner[node & 127] = if right { r } else { l };
            node /= 2;
        }
    }

    /// The earliest event and its resource; [`NEVER`] if there is none.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Nanos, usize) {
        let w = (self.winner[1] & 63) as usize;
        (self.times[w], w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    #[test]
    fn agrees_with_a_plain_search() {
        let mut rng = Rng::new(3);
        for n in [1usize, 2, 3, 8, 20, 32, 64] {
            let mut t = Tournament::new(n);
            let mut plain = vec![NEVER; n];
            for _ in 0..2000 {
                let k = rng.below(n as u64) as usize;
                let at = if rng.chance(1, 5) { NEVER } else { rng.below(50) };
                t.set(k, at);
                plain[k] = at;
                let least = *plain.iter().min().unwrap();
                assert_eq!(t.first().0, least);
                if least != NEVER {
                    assert_eq!(t.first().1, plain.iter().position(|&v| v == least).unwrap());
                }
            }
        }
    }
}
