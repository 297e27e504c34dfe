//! The event queue: one slot for each die, the earliest known at once.

use ssdlab_core::{MAX_DIES, Nanos};

/// A tournament tree over at most [`MAX_DIES`] resources, each of which has at most one event. Among equal times the
/// resource with the lowest number goes first.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// Time and resource in one word; the leaves, from `leaves` on, and above each pair of nodes the lesser one. Of a
    /// fixed size, so that a node can be masked instead of checked.
    keys: [u64; NODES],
    leaves: usize,
}

const NODES: usize = 2 * MAX_DIES as usize;
const NODE_MASK: usize = NODES - 1;
/// Bits of a key that tell the resource.
const SHIFT: u32 = MAX_DIES.ilog2();

/// The time of a resource that has no event. Others must be below it, divided by [`MAX_DIES`]: 417 days.
pub const NEVER: Nanos = Nanos::MAX;

impl Tournament {
    #[must_use]
    pub fn new(resources: usize) -> Self {
        Tournament { keys: [NEVER; NODES], leaves: resources.next_power_of_two().max(2) }
    }

    #[inline]
    pub fn set(&mut self, resource: usize, at: Nanos) {
        let mut node = (self.leaves + resource) & NODE_MASK;
        // Carried upwards rather than read again: what has just been stored is slow to come back.
        let mut least = if at == NEVER { NEVER } else { at << SHIFT | resource as u64 };
        self.keys[node] = least;
        while node > 1 {
            least = least.min(self.keys[(node ^ 1) & NODE_MASK]);
            node /= 2;
            self.keys[node] = least;
        }
    }

    /// The earliest event and its resource; [`NEVER`] if there is none.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Nanos, usize) {
        let key = self.keys[1];
        if key == NEVER { (NEVER, 0) } else { (key >> SHIFT, key as usize & (MAX_DIES as usize - 1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    #[test]
    fn agrees_with_a_plain_search() {
        let mut rng = Rng::new(3);
        for n in [1usize, 2, 3, 8, 20, 32, 64, 65, 512] {
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
