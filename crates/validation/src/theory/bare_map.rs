//! A page map and nothing else: no time, no dies, no queue, no buffer. Where no formula is known, it says what the
//! definition of a workload and a collector comes to; it shares no code with the drives.

use std::ops::Range;

use super::temperature::Ties;
use ssdlab_core::Rng;

const NOWHERE: u32 = u32::MAX;

/// Which block is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The one with the fewest valid pages; of several the one that came to that count first, or last.
    Greedy(Ties),
    /// The one with the greatest (1 - u) / 2u x age: u is the valid share, age how many pages were programmed since the last one
    /// of the block was.
    CostBenefit,
}

/// A collector.
#[derive(Clone, Copy, Debug)]
pub struct Collector {
    pub victim: Victim,
    /// Whether what is moved goes to an open block apart from the host's.
    pub apart: bool,
    /// Pages of a victim that are read before the first of them is programmed: when a victim is picked, the host may write
    /// at once what these free.
    pub read_ahead_pages: u32,
}

/// Hot and cold data: a share `r` of the writes goes to a share `f` of the units. `blocks` blocks of `b` pages hold data when a
/// victim is picked, as many as in a drive of exact spare: less half a block where what is moved is kept apart. The host is
/// paced as in drives with `host_share = "balanced"`: for each page that is moved it writes as many as the victim's dead
/// share frees. What lies beside what, and which block came to its count first, hang on it: where data are skewed and blocks
/// small, a few pages read ahead or not make up to 17 % of difference. Write amplification over the last drive writes of so many.
pub fn hot_cold(
    op: f64,
    b: u32,
    (r, f): (f64, f64),
    collector: Collector,
    blocks: u32,
    (warm_up, measured): (f64, f64),
) -> f64 {
    let units = (f64::from(blocks * b) / (1.0 + op)) as u32;
    let hot = (f64::from(units) * f) as u64;
    let mut rng = Rng::new(2);
    let mut map = BareMap::new(units, blocks, b, collector);
    let mut order: Vec<u32> = (0..units).collect();
    for k in (1..order.len()).rev() {
        order.swap(k, rng.below(k as u64 + 1) as usize);
    }
    order.into_iter().for_each(|unit| map.write(unit));
    let mut write = |drive_writes: f64| {
        let writes = (f64::from(units) * drive_writes) as u64;
        let before = map.programmed;
        for _ in 0..writes {
            let is_hot = rng.chance((r * 1000.0 + 0.5) as u64, 1000);
            let unit = if is_hot { rng.below(hot) } else { hot + rng.below(u64::from(units) - hot) };
            map.write(unit as u32);
        }
        (map.programmed - before) as f64 / writes as f64
    };
    write(warm_up);
    write(measured)
}

/// Blocks that are open: one for the host, and one for what is moved if that is kept apart.
#[derive(Clone, Copy)]
enum Writer {
    Host,
    Collector,
}

struct BareMap {
    b: u32,
    collector: Collector,
    /// Page of each unit, unit of each page.
    page_of: Vec<u32>,
    unit_of: Vec<u32>,
    valid: Vec<u32>,
    is_closed: Vec<bool>,
    /// By block: pages programmed when its last one was.
    closed_at: Vec<u64>,
    /// Closed blocks by valid pages.
    by_valid: Rings,
    /// (1 - u) / 2u of a block with so many valid pages.
    benefit_by_valid: Vec<f64>,
    free: Vec<u32>,
    /// Next page of each open block.
    next: [u32; 2],
    /// The pages of the victim that have not been looked at.
    to_move: Range<u32>,
    /// Pages that the host may write while there is a victim, and what each page moved adds to them.
    credit: f64,
    credit_a_page: f64,
    programmed: u64,
}

impl BareMap {
    fn new(units: u32, blocks: u32, b: u32, collector: Collector) -> Self {
        // When a victim is picked, two are free and the host's is open; the collector's is half full in the mean.
        let all = blocks + 3;
        let mut free: Vec<u32> = (0..all).rev().collect();
        let mut open = |is_open: bool| if is_open { free.pop().expect("there are enough") * b } else { NOWHERE };
        let next = [open(true), open(collector.apart)];
        BareMap {
            b,
            collector,
            page_of: vec![NOWHERE; units as usize],
            unit_of: vec![NOWHERE; (all * b) as usize],
            valid: vec![0; all as usize],
            is_closed: vec![false; all as usize],
            closed_at: vec![0; all as usize],
            by_valid: Rings::new(all, b + 1),
            benefit_by_valid: (0..=b).map(|valid| f64::from(b - valid) / (2.0 * f64::from(valid))).collect(),
            free,
            next,
            to_move: 0..0,
            credit: 0.0,
            credit_a_page: 0.0,
            programmed: 0,
        }
    }

    fn write(&mut self, unit: u32) {
        loop {
            if self.to_move.is_empty() && self.free.len() <= 2 {
                self.begin_victim();
            }
            // One must be left: what a victim holds may fill the open block.
            if self.to_move.is_empty() || self.credit >= 1.0 && self.free.len() >= 2 {
                break;
            }
            self.move_one();
        }
        self.credit -= 1.0;
        self.put(unit, Writer::Host);
    }

    fn begin_victim(&mut self) {
        let victim = self.victim();
        let valid = f64::from(self.valid[victim as usize]);
        self.credit_a_page = (f64::from(self.b) - valid) / valid.max(1.0);
        self.credit = f64::from(self.collector.read_ahead_pages) * self.credit_a_page;
        self.to_move = victim * self.b..(victim + 1) * self.b;
    }

    /// Moves the next page that is valid, if there is one. A victim of which none is left is free.
    fn move_one(&mut self) {
        let is_valid = |page: &u32| self.unit_of[*page as usize] != NOWHERE;
        if let Some(page) = self.to_move.find(is_valid) {
            self.credit += self.credit_a_page;
            let mover = if self.collector.apart { Writer::Collector } else { Writer::Host };
            self.put(self.unit_of[page as usize], mover);
        }
        if self.to_move.is_empty() {
            self.free.push(self.to_move.end / self.b - 1);
        }
    }

    fn put(&mut self, unit: u32, writer: Writer) {
        let old = std::mem::replace(&mut self.page_of[unit as usize], self.next[writer as usize]);
        if old != NOWHERE {
            self.unit_of[old as usize] = NOWHERE;
            let block = old / self.b;
            self.valid[block as usize] -= 1;
            if self.is_closed[block as usize] {
                self.by_valid.take_out(block);
                self.by_valid.put_last(block, self.valid[block as usize]);
            }
        }
        let page = self.next[writer as usize];
        self.unit_of[page as usize] = unit;
        let block = page / self.b;
        self.valid[block as usize] += 1;
        self.programmed += 1;
        if (page + 1).is_multiple_of(self.b) {
            self.is_closed[block as usize] = true;
            self.closed_at[block as usize] = self.programmed;
            self.by_valid.put_last(block, self.valid[block as usize]);
            self.next[writer as usize] = self.free.pop().expect("a block is free") * self.b;
        } else {
            self.next[writer as usize] += 1;
        }
    }

    fn victim(&mut self) -> u32 {
        let found = match self.collector.victim {
            Victim::Greedy(ties) => {
                let first = ties == Ties::FirstCome;
                (0..=self.b).find_map(|valid| self.by_valid.end(valid, first)).expect("there are closed blocks")
            }
            Victim::CostBenefit => self.worth_most(),
        };
        self.by_valid.take_out(found);
        self.is_closed[found as usize] = false;
        found
    }

    fn worth_most(&self) -> u32 {
        let worth = |block: usize| {
            self.benefit_by_valid[self.valid[block] as usize] * (self.programmed - self.closed_at[block]) as f64
        };
        let (mut found, mut most) = (None, f64::NEG_INFINITY);
        for block in (0..self.valid.len()).filter(|&block| self.is_closed[block]) {
            let worth = worth(block);
            if worth > most {
                (found, most) = (Some(block as u32), worth);
            }
        }
        found.expect("there are closed blocks")
    }
}

/// Blocks in rings, each in the order in which they came. A ring begins and ends with an entry of its own, after those
/// of the blocks.
struct Rings {
    blocks: u32,
    after: Vec<u32>,
    before: Vec<u32>,
}

impl Rings {
    fn new(blocks: u32, rings: u32) -> Self {
        let alone: Vec<u32> = (0..blocks + rings).collect();
        Rings { blocks, after: alone.clone(), before: alone }
    }

    fn put_last(&mut self, block: u32, ring: u32) {
        let end = self.blocks + ring;
        let last = std::mem::replace(&mut self.before[end as usize], block);
        self.after[last as usize] = block;
        self.before[block as usize] = last;
        self.after[block as usize] = end;
    }

    fn take_out(&mut self, block: u32) {
        let (before, after) = (self.before[block as usize], self.after[block as usize]);
        self.after[before as usize] = after;
        self.before[after as usize] = before;
    }

    /// The first or the last block of a ring.
    fn end(&self, ring: u32, first: bool) -> Option<u32> {
        let end = (self.blocks + ring) as usize;
        Some(if first { self.after[end] } else { self.before[end] }).filter(|&block| block < self.blocks)
    }
}
