//! The measure of speed: a bare flash translation loop. Random mapping updates, validity bits, exact greedy garbage
//! collection, software prefetch, big pages; no time, no dies, no buffer, no host.
//!
//! Each host write costs WAF random updates of a map larger than the caches. The loop keeps everything else out of
//! the way of these updates:
//! - A block has a size that is known when the loop is compiled, so that finding a unit's block is a shift.
//! - All bits of a block are set and its count is that of a full one as soon as it is opened. Nothing maps to units
//!   that are yet to be written, so nothing clears their bits, and placing a unit touches neither bits nor counts.
//! - Collection copies a victim into the one spare block, which becomes the open one. The victim is the next spare.
//! - Only blocks with few valid units are listed for collection.

use ssdlab_core::Rng;
use ssdlab_nand::memory::{prefetch, zeroed};

/// Units of a block.
pub const BLOCK: usize = 256;
/// Words of valid bits of a block.
const WORDS: usize = BLOCK / 64;
/// Host writes known ahead. Their map entries are requested then.
const AHEAD: usize = 32;
/// How far ahead of a write the valid bit and count of the copy it replaces are requested.
const OLD_COPY_AHEAD: usize = 16;
/// Levels of valid units above the lowest that are listed.
const LISTED_LEVELS: u16 = 3;
/// Added to the count of a block that must not be collected: the open one, the spare one, those never used.
const EXEMPT: u16 = 1 << 15;

pub struct BareLoop {
    /// Physical unit of each logical page.
    map: Vec<u32>,
    /// Logical page of each physical unit.
    reverse: Vec<u32>,
    /// Valid bits of each block.
    valid: Vec<[u64; WORDS]>,
    /// Valid units of each block.
    count: Vec<u16>,
    /// Blocks by valid units, for levels up to `listed`. An entry is out of date if the block's count has changed.
    lists: Vec<Vec<u32>>,
    /// The highest level that is listed.
    listed: u16,
    /// No list below this one has entries.
    lowest: u16,
    open: usize,
    fill: usize,
    /// Takes the valid units of the next victim.
    spare: usize,
    /// Blocks from here on were never used.
    unused: usize,
    rng: Rng,
    ring: [u32; AHEAD],
    at: usize,
    pub programmed: u64,
}

fn filled<T: Copy + Default>(len: usize, value: T) -> Vec<T> {
    let mut table = zeroed(len);
    table.fill(value);
    table
}

impl BareLoop {
    /// A drive of `pages` logical pages with `spare_percent` more, filled once in order.
    pub fn new(pages: u32, spare_percent: u32) -> Self {
        let units = u64::from(pages) * u64::from(100 + spare_percent) / 100;
        // One more is the spare block.
        let blocks = units.div_ceil(BLOCK as u64) as usize + 1;
        let mut rng = Rng::new(7);
        let mut bare = BareLoop {
            map: zeroed(pages as usize),
            reverse: zeroed(blocks * BLOCK),
            valid: filled(blocks, [u64::MAX; WORDS]),
            count: filled(blocks, BLOCK as u16 + EXEMPT),
            lists: vec![Vec::new(); BLOCK + 1],
            listed: 0,
            lowest: 1,
            open: 1,
            fill: 0,
            spare: 0,
            unused: 2,
            ring: std::array::from_fn(|_| rng.below(pages.into()) as u32),
            rng,
            at: 0,
            programmed: 0,
        };
        for page in 0..pages {
            bare.make_room();
            bare.place(page);
        }
        bare
    }

    /// Random host writes, and the collection that they make necessary.
    #[inline(never)]
    pub fn write(&mut self, writes: u64) {
        for _ in 0..writes {
            let page = self.ring[self.at];
            let next = self.rng.below(self.map.len() as u64) as u32;
            prefetch(&self.map, next as usize);
            self.ring[self.at] = next;
            self.at = (self.at + 1) % AHEAD;
            let soon = self.ring[(self.at + OLD_COPY_AHEAD) % AHEAD];
            let replaced = self.map[soon as usize] as usize / BLOCK;
            prefetch(&self.valid, replaced);
            prefetch(&self.count, replaced);
            self.make_room();
            self.invalidate(self.map[page as usize] as usize);
            self.place(page);
        }
    }

    #[inline(always)]
    fn invalidate(&mut self, unit: usize) {
        let block = unit / BLOCK;
        self.valid[block][unit / 64 % WORDS] &= !(1 << (unit % 64));
        let count = self.count[block] - 1;
        self.count[block] = count;
        if count <= self.listed {
            self.list(block, count);
        }
    }

    /// Puts a page into the next unit of the open block, which has room.
    #[inline(always)]
    fn place(&mut self, page: u32) {
        let unit = self.open * BLOCK + self.fill;
        self.fill += 1;
        self.map[page as usize] = unit as u32;
        self.reverse[unit] = page;
        self.programmed += 1;
    }

    #[inline(always)]
    fn make_room(&mut self) {
        if self.fill == BLOCK {
            self.close();
            if self.unused < self.count.len() {
                self.open = self.unused;
                self.unused += 1;
                self.fill = 0;
            } else {
                self.collect();
            }
        }
    }

    fn close(&mut self) {
        self.count[self.open] -= EXEMPT;
        let count = self.count[self.open];
        if count <= self.listed {
            self.list(self.open, count);
        }
    }

    /// Copies the valid units of the victim into the spare block, which is the open one from then on.
    #[inline(never)]
    fn collect(&mut self) {
        let victim = self.victim();
        let (blocks, _) = self.reverse.as_chunks_mut::<BLOCK>();
        let [from, to] = blocks.get_disjoint_mut([victim, self.spare]).expect("the spare block is never the victim");
        let mut kept = 0;
        for (mut bits, pages) in self.valid[victim].into_iter().zip(from.as_chunks::<64>().0) {
            while bits != 0 {
                let page = pages[bits.trailing_zeros() as usize % 64];
                bits &= bits - 1;
                prefetch(&self.map, page as usize);
                to[kept % BLOCK] = page;
                kept += 1;
            }
        }
        assert!(kept < BLOCK, "collecting a block without a dead unit gains nothing");
        let first = (self.spare * BLOCK) as u32;
        for (unit, &page) in (first..).zip(&to[..kept]) {
            self.map[page as usize] = unit;
        }
        self.valid[self.spare] = [u64::MAX; WORDS];
        self.count[self.spare] = BLOCK as u16 + EXEMPT;
        self.count[victim] = EXEMPT;
        self.open = std::mem::replace(&mut self.spare, victim);
        self.fill = kept;
        self.programmed += kept as u64;
        self.request_next_victim();
    }

    /// Requests what the next collection reads first. The block may be another one by then.
    #[inline(always)]
    fn request_next_victim(&self) {
        if let Some(&next) = self.lists[usize::from(self.lowest)].last() {
            prefetch(&self.valid, next as usize);
            for line in 0..BLOCK / 16 {
                prefetch(&self.reverse, next as usize * BLOCK + line * 16);
            }
        }
    }

    /// A block with the fewest valid units, off its list.
    fn victim(&mut self) -> usize {
        loop {
            while self.lowest <= self.listed {
                while let Some(block) = self.lists[usize::from(self.lowest)].pop() {
                    if self.count[block as usize] == self.lowest {
                        return block as usize;
                    }
                }
                self.lowest += 1;
            }
            self.list_anew();
        }
    }

    #[inline(always)]
    fn list(&mut self, block: usize, count: u16) {
        self.lists[usize::from(count)].push(block as u32);
        self.lowest = self.lowest.min(count);
    }

    /// Lists the blocks of the lowest levels.
    #[cold]
    fn list_anew(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.lowest = *self.count.iter().min().expect("there are blocks");
        assert!(usize::from(self.lowest) < BLOCK, "no block has a dead unit");
        self.listed = (self.lowest + LISTED_LEVELS).min(BLOCK as u16 - 1);
        for block in 0..self.count.len() {
            if self.count[block] <= self.listed {
                self.lists[usize::from(self.count[block])].push(block as u32);
            }
        }
    }

    /// Whether map, reverse map, valid bits and counts agree.
    pub fn check(&self) {
        for (page, &unit) in self.map.iter().enumerate() {
            assert!(self.reverse[unit as usize] as usize == page, "the reverse map gives another page for {page}");
            let word = self.valid[unit as usize / BLOCK][unit as usize / 64 % WORDS];
            assert!(word >> (unit % 64) & 1 == 1, "the valid bit of page {page} is not set");
        }
        let yet_to_write = BLOCK - self.fill;
        let mut valid = 0;
        for block in (0..self.unused).filter(|&b| b != self.spare) {
            let bits: u32 = self.valid[block].iter().map(|w| w.count_ones()).sum();
            assert!(bits == u32::from(self.count[block] % EXEMPT), "count and bits of block {block} differ");
            valid += bits as usize;
        }
        assert!(valid - yet_to_write == self.map.len(), "as many units are valid as the drive has pages");
    }
}
