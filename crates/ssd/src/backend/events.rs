//! The event queue: one slot for each die, the earliest known at once.

use ssdlab_core::Nanos;

/// The earliest event of up to [`ssdlab_core::MAX_DIES`] resources, each of which has at most one. Among equal times the
/// resource with the lowest number goes first.
#[derive(Clone, Debug)]
pub struct Tournament {
    few: Tree<u64, 128>,
    /// In its place where there are more than 64 resources.
    many: Option<Box<Tree<u128, 1024>>>,
}

/// The time of a resource that has no event. Others must be below [`NEVER`] / 64, nine years.
pub const NEVER: Nanos = Nanos::MAX;

impl Tournament {
    #[must_use]
    pub fn new(resources: usize) -> Self {
        let many = (resources > 64).then(|| Box::new(Tree::new(resources)));
        Tournament { few: Tree::new(resources.min(64)), many }
    }

    #[inline]
    pub fn set(&mut self, resource: usize, at: Nanos) {
        match &mut self.many {
            None => self.few.set(resource, at),
            Some(many) => many.set(resource, at),
        }
    }

    /// The event of a resource; [`NEVER`] if it has none.
    #[must_use]
    pub fn of(&self, resource: usize) -> Nanos {
        match &self.many {
            None => self.few.of(resource),
            Some(many) => many.of(resource),
        }
    }

    /// The earliest event and its resource; [`NEVER`] if there is none.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Nanos, usize) {
        match &self.many {
            None => self.few.first(),
            Some(many) => many.first(),
        }
    }
}

/// Time and resource in one word, which orders by time first.
trait Key: Copy + Ord {
    /// Behind every event.
    const NONE: Self;

    fn new(at: Nanos, resource: usize) -> Self;

    fn event(self) -> (Nanos, usize);
}

/// Of 64 resources at most.
impl Key for u64 {
    const NONE: u64 = NEVER;

    #[inline]
    fn new(at: Nanos, resource: usize) -> u64 {
        at << 6 | resource as u64
    }

    #[inline]
    fn event(self) -> (Nanos, usize) {
        (self >> 6, self as usize & 63)
    }
}

impl Key for u128 {
    const NONE: u128 = u128::MAX;

    #[inline]
    fn new(at: Nanos, resource: usize) -> u128 {
        u128::from(at) << 64 | resource as u128
    }

    #[inline]
    fn event(self) -> (Nanos, usize) {
        ((self >> 64) as Nanos, self as usize)
    }
}

/// A tournament tree of so many nodes. Its size is fixed, so that a node can be masked instead of checked.
#[derive(Clone, Debug)]
struct Tree<K, const NODES: usize> {
    /// The leaves, from `leaves` on, and above each pair of nodes the lesser one.
    keys: [K; NODES],
    leaves: usize,
}

impl<K: Key, const NODES: usize> Tree<K, NODES> {
    fn new(resources: usize) -> Self {
        Tree { keys: [K::NONE; NODES], leaves: resources.next_power_of_two().max(2) }
    }

    #[inline]
    fn set(&mut self, resource: usize, at: Nanos) {
        let mut node = (self.leaves + resource) & (NODES - 1);
        // Carried upwards rather than read again: what has just been stored is slow to come back.
        let mut least = if at == NEVER { K::NONE } else { K::new(at, resource) };
        self.keys[node] = least;
        while node > 1 {
            least = least.min(self.keys[(node ^ 1) & (NODES - 1)]);
            node /= 2;
            self.keys[node] = least;
        }
    }

    fn of(&self, resource: usize) -> Nanos {
        let key = self.keys[(self.leaves + resource) & (NODES - 1)];
        if key == K::NONE { NEVER } else { key.event().0 }
    }

    #[inline]
    fn first(&self) -> (Nanos, usize) {
        let key = self.keys[1];
        if key == K::NONE { (NEVER, 0) } else { key.event() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    #[test]
    fn agrees_with_a_plain_search() {
        let mut rng = Rng::new(3);
        // After three years.
        let from = 3 * 365 * 86_400 * ssdlab_core::SECOND;
        for n in [1usize, 2, 3, 8, 20, 32, 64, 65, 512] {
            let mut t = Tournament::new(n);
            let mut plain = vec![NEVER; n];
            for _ in 0..2000 {
                let k = rng.below(n as u64) as usize;
                let at = if rng.chance(1, 5) { NEVER } else { from + rng.below(50) };
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
