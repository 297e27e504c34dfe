//! The measure of speed: a bare flash translation loop. Random mapping updates, validity bits, exact greedy garbage
//! collection, software prefetch, big pages; no time, no dies, no buffer, no host. Nothing that does the work of a
//! page-mapped drive can be much faster, as each host write costs WAF random updates of a map larger than the caches.

use ssdlab_core::Rng;
use ssdlab_nand::memory::{filled, prefetch};

/// Host writes known ahead.
const AHEAD: usize = 32;
/// Moved units whose map entries are requested ahead.
const MOVE_AHEAD: usize = 24;

pub struct BareLoop {
    map: Vec<u32>,
    reverse: Vec<u32>,
    valid: Vec<u64>,
    count: Vec<u32>,
    closed: Vec<bool>,
    /// Blocks by valid count, lazily: an entry is out of date if the block's count has changed.
    buckets: Vec<Vec<u32>>,
    free: Vec<u32>,
    block_units: u32,
    open: u32,
    fill: u32,
    rng: Rng,
    pages: u64,
    ring: [u32; AHEAD],
    at: usize,
    pub programmed: u64,
}

impl BareLoop {
    /// A drive of `pages` logical pages with `spare_percent` more in blocks of `block_units`, filled once in order.
    pub fn new(pages: u32, spare_percent: u32, block_units: u32) -> Self {
        let blocks =
            (u64::from(pages) * u64::from(100 + spare_percent) / 100).div_ceil(u64::from(block_units)) as u32 + 2;
        let units = blocks as usize * block_units as usize;
        let mut rng = Rng::new(7);
        let mut b = BareLoop {
            map: filled(pages as usize, u32::MAX),
            reverse: filled(units, 0),
            valid: filled(units.div_ceil(64), 0),
            count: vec![0; blocks as usize],
            closed: vec![false; blocks as usize],
            buckets: vec![Vec::new(); block_units as usize + 1],
            free: (1..blocks).rev().collect(),
            block_units,
            open: 0,
            fill: 0,
            ring: std::array::from_fn(|_| rng.below(pages.into()) as u32),
            rng,
            pages: pages.into(),
            at: 0,
            programmed: 0,
        };
        for lpn in 0..pages {
            b.place(lpn);
        }
        b
    }

    #[inline(always)]
    fn place(&mut self, lpn: u32) {
        if self.fill == self.block_units {
            let block = self.open;
            self.closed[block as usize] = true;
            self.buckets[self.count[block as usize] as usize].push(block);
            self.open = self.free.pop().expect("collection keeps a block free");
            self.fill = 0;
        }
        let unit = self.open * self.block_units + self.fill;
        self.fill += 1;
        self.map[lpn as usize] = unit;
        self.reverse[unit as usize] = lpn;
        self.valid[unit as usize / 64] |= 1 << (unit % 64);
        self.count[self.open as usize] += 1;
        self.programmed += 1;
    }

    /// One random host write, and the collection that it makes necessary.
    #[inline(always)]
    pub fn write(&mut self) {
        let lpn = self.ring[self.at];
        let next = self.rng.below(self.pages) as u32;
        self.ring[self.at] = next;
        prefetch(&self.map, next as usize);
        self.at = (self.at + 1) % AHEAD;
        // Half way there, the line of the old copy's valid bit.
        let soon = self.map[self.ring[(self.at + AHEAD / 2) % AHEAD] as usize];
        prefetch(&self.valid, soon as usize / 64);
        let old = self.map[lpn as usize];
        let block = old / self.block_units;
        self.valid[old as usize / 64] &= !(1 << (old % 64));
        self.count[block as usize] -= 1;
        if self.closed[block as usize] {
            self.buckets[self.count[block as usize] as usize].push(block);
        }
        self.place(lpn);
        while self.free.len() < 2 {
            self.collect();
        }
    }

    fn collect(&mut self) {
        let victim = 'found: {
            for valid in 0..self.buckets.len() {
                while let Some(block) = self.buckets[valid].pop() {
                    if self.closed[block as usize] && self.count[block as usize] as usize == valid {
                        break 'found block;
                    }
                }
            }
            panic!("no block to collect");
        };
        self.closed[victim as usize] = false;
        let start = (victim * self.block_units) as usize;
        let mut units = [0u32; 4096];
        let mut n = 0;
        for w in 0..self.block_units as usize / 64 {
            let mut word = std::mem::take(&mut self.valid[start / 64 + w]);
            while word != 0 {
                units[n] = (start + w * 64) as u32 + word.trailing_zeros();
                word &= word - 1;
                n += 1;
            }
        }
        self.count[victim as usize] = 0;
        for k in 0..n.min(MOVE_AHEAD) {
            prefetch(&self.map, self.reverse[units[k] as usize] as usize);
        }
        for k in 0..n {
            if k + MOVE_AHEAD < n {
                prefetch(&self.map, self.reverse[units[k + MOVE_AHEAD] as usize] as usize);
            }
            let lpn = self.reverse[units[k] as usize];
            assert!(self.map[lpn as usize] == units[k], "map and reverse map disagree");
            self.place(lpn);
        }
        self.free.insert(0, victim);
    }
}
