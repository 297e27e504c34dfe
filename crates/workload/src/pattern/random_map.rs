//! Which blocks of a span are still free, where each is taken once although requests have many sizes.

/// A set of blocks, with the way to the next that is free. A bit for each that is taken; above each level, a bit for each of
/// its words that is full.
#[derive(Clone, Debug)]
pub(super) struct RandomMap {
    levels: Vec<Vec<u64>>,
    blocks: u64,
    free: u64,
}

impl RandomMap {
    /// All of so many blocks are free. Memory is touched as blocks are taken: a map of a large drive costs a job that does little
    /// nothing.
    pub fn new(blocks: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = blocks;
        loop {
            let words = bits.div_ceil(64);
            levels.push(vec![0; words as usize]);
            if words <= 1 {
                break;
            }
            bits = words;
        }
        let mut map = RandomMap { levels, blocks, free: blocks };
        map.close_ends();
        map
    }

    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    pub fn is_full(&self) -> bool {
        self.free == 0
    }

    /// All are free again.
    pub fn clear(&mut self) {
        self.levels.iter_mut().for_each(|level| level.fill(0));
        self.close_ends();
        self.free = self.blocks;
    }

    /// What lies behind the last is never free.
    fn close_ends(&mut self) {
        let mut bits = self.blocks;
        for level in &mut self.levels {
            if let (Some(last), used @ 1..) = (level.last_mut(), bits % 64) {
                *last = u64::MAX << used;
            }
            bits = bits.div_ceil(64);
        }
    }

    /// The first free block from this one on, or else the first of all; `None` if none is.
    pub fn next_free(&self, from: u64) -> Option<u64> {
        self.find(0, from).or_else(|| self.find(0, 0))
    }

    fn find(&self, level: usize, from: u64) -> Option<u64> {
        let word = *self.levels.get(level)?.get((from / 64) as usize)?;
        let taken = word | !(u64::MAX << (from % 64));
        if taken != u64::MAX {
            return Some(from / 64 * 64 + u64::from(taken.trailing_ones()));
        }
        let word = self.find(level + 1, from / 64 + 1)?;
        self.find(level, word * 64)
    }

    /// Takes up to `most` blocks, the first of which is free, as far as all of them are. Returns how many.
    pub fn take(&mut self, first: u64, most: u64) -> u64 {
        let end = (first + most).min(self.blocks);
        let mut block = first;
        while block < end && self.levels[0][(block / 64) as usize] & 1 << (block % 64) == 0 {
            let mut bit = block;
            for level in &mut self.levels {
                let word = &mut level[(bit / 64) as usize];
                *word |= 1 << (bit % 64);
                if *word != u64::MAX {
                    break;
                }
                bit /= 64;
            }
            block += 1;
        }
        self.free -= block - first;
        block - first
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ssdlab_core::Rng;

    use super::*;

    #[test]
    fn it_agrees_with_a_set_of_numbers() {
        for blocks in [1, 63, 64, 65, 4096, 4097, 300_000] {
            let mut map = RandomMap::new(blocks);
            let mut rng = Rng::new(blocks);
            for _ in 0..2 {
                let mut free: BTreeSet<u64> = (0..blocks).collect();
                while !free.is_empty() {
                    let from = rng.below(blocks);
                    let first = map.next_free(from).unwrap();
                    assert_eq!(first, free.range(from..).next().copied().unwrap_or(*free.first().unwrap()));
                    let most = 1 + rng.below(blocks / 20 + 2);
                    let taken = map.take(first, most);
                    let expected = (first..first + most).take_while(|block| free.remove(block)).count() as u64;
                    assert_eq!(taken, expected);
                    assert_eq!(map.is_full(), free.is_empty());
                }
                assert_eq!(map.next_free(0), None);
                map.clear();
            }
        }
    }
}
