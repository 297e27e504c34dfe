//! A ring of blocks that firmware keeps for its own rows, written round and round over all dies.

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, DieId, Dies, Layout, Medium};

use crate::op::{FlashOp, OpSink};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum PlaceState {
    Erased,
    Written,
    /// So many of its blocks are still to be erased.
    Erasing(u32),
}

/// The row that is written next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingRow {
    pub die: DieId,
    pub block: BlockId,
    pub page: u32,
    /// Number of its place in the ring, and of the row within it.
    pub place: usize,
    pub index: u32,
}

/// Places of one block on every die, and where in them the next row goes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SystemRing {
    places: Vec<(Vec<BlockId>, PlaceState)>,
    current: usize,
    page: u32,
    die: DieId,
}

impl SystemRing {
    /// For each place the erased blocks of all dies.
    #[must_use]
    pub fn new(places: Vec<Vec<BlockId>>) -> Self {
        let places = places.into_iter().map(|blocks| (blocks, PlaceState::Erased)).collect();
        SystemRing { places, current: 0, page: 0, die: DieId::FIRST }
    }

    /// All blocks of the ring.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.places.iter().flat_map(|place| &place.0).copied()
    }

    /// Whether this is a ring of as many places and dies, which stands at one of its own rows.
    #[must_use]
    pub fn is_shaped_like(&self, other: &SystemRing) -> bool {
        let dies = |ring: &SystemRing| ring.places.iter().map(|place| place.0.len()).collect::<Vec<_>>();
        dies(self) == dies(other) && self.current < self.places.len()
    }

    /// The next row; `None` while its place is still being erased.
    #[must_use]
    pub fn next(&self) -> Option<RingRow> {
        let (blocks, state) = &self.places[self.current];
        if self.at_start() && *state != PlaceState::Erased {
            return None;
        }
        let index = self.page * blocks.len() as u32 + self.die.number();
        let block = blocks[self.die.index()];
        Some(RingRow { die: self.die, block, page: self.page, place: self.current, index })
    }

    /// Whether the next row is the first of its place.
    #[must_use]
    pub fn at_start(&self) -> bool {
        self.page == 0 && self.die == DieId::FIRST
    }

    /// Goes on to the row after the next one.
    pub fn step(&mut self, layout: &Layout) {
        self.die = self.die.next();
        if self.die.number() == layout.dies {
            self.die = DieId::FIRST;
            self.page += 1;
        }
        if self.page == layout.pages {
            self.page = 0;
            self.places[self.current].1 = PlaceState::Written;
            self.current = self.ahead(1);
        }
    }

    /// The place so many after the current one.
    #[must_use]
    pub fn ahead(&self, places: usize) -> usize {
        (self.current + places) % self.places.len()
    }

    /// A row of a place by its number.
    #[must_use]
    pub fn row(&self, place: usize, index: u32) -> (BlockId, u32) {
        let blocks = &self.places[place].0;
        let dies = blocks.len() as u32;
        (blocks[(index % dies) as usize], index / dies)
    }

    /// Erases the place after the current one, if anything has been written there.
    pub fn erase_next(&mut self, sink: &mut impl OpSink) {
        let next = self.ahead(1);
        let (blocks, state) = &mut self.places[next];
        if *state != PlaceState::Written {
            return;
        }
        *state = PlaceState::Erasing(blocks.len() as u32);
        for (die, &block) in Dies::all(blocks.len() as u32).iter().zip(blocks.iter()) {
            sink.enqueue(die, FlashOp::erase(block));
        }
    }

    /// The row written last of those whose first tag is such a one, as the flash tells it.
    #[must_use]
    pub fn newest_row(&self, medium: &Medium, such: impl Fn(u32) -> bool) -> Option<(BlockId, u32)> {
        let rows = self.places.iter().flat_map(|place| &place.0).flat_map(|&block| {
            let pages = 0..medium.finished_pages(block);
            pages.filter(move |&page| medium.is_readable(block, page)).map(move |page| (block, page))
        });
        let first_tag = |(block, page)| medium.tag(medium.layout().row_start(block, page));
        // Every row of a ring has a number of its own.
        rows.filter(|&row| such(first_tag(row))).max_by_key(|row| medium.sequence(row.0, row.1))
    }

    /// The power went: finds out where the ring stands from what is on flash. Returns the rows that must be programmed, with
    /// nothing in them, before it can go on: dies differ in how far they came.
    pub fn recover(&mut self, medium: &Medium) -> Vec<(BlockId, u32)> {
        for (blocks, state) in &mut self.places {
            let erased = blocks.iter().all(|&block| medium.is_erased(block));
            *state = if erased { PlaceState::Erased } else { PlaceState::Written };
        }
        (self.page, self.die) = (0, DieId::FIRST);
        let Some((newest, _)) = self.newest_row(medium, |_| true) else {
            self.current = 0;
            return Vec::new();
        };
        let of_newest = self.places.iter().position(|place| place.0.contains(&newest));
        self.current = of_newest.expect("the row lies in the ring");
        let blocks = &self.places[self.current].0;
        let pages = medium.layout().pages;
        if blocks.iter().any(|&block| medium.is_half_erased(block)) {
            // It was being erased; another place was to be written next.
            self.current = self.ahead(1);
            return Vec::new();
        }
        let goes_on_at = blocks.iter().map(|&block| medium.first_page_of_use(block)).max().unwrap_or(0);
        let rows =
            blocks.iter().flat_map(|&block| (medium.issued_pages(block)..goes_on_at).map(move |page| (block, page)));
        let rows = rows.collect();
        if goes_on_at == pages {
            self.current = self.ahead(1);
        } else {
            self.page = goes_on_at;
            // What is written now is not waited for.
            self.places[self.current].1 = PlaceState::Erased;
        }
        rows
    }

    /// Goes on after [`SystemRing::recover`]: what must be erased is.
    pub fn resume(&mut self, sink: &mut impl OpSink) {
        if !self.at_start() {
            return self.erase_next(sink);
        }
        let (blocks, state) = &mut self.places[self.current];
        if *state == PlaceState::Written {
            *state = PlaceState::Erasing(blocks.len() as u32);
            for (die, &block) in Dies::all(blocks.len() as u32).iter().zip(blocks.iter()) {
                sink.enqueue(die, FlashOp::erase(block));
            }
        }
    }

    /// The number of the next row within its place.
    #[must_use]
    pub fn next_index(&self) -> u32 {
        self.page * self.places[self.current].0.len() as u32 + self.die.number()
    }

    /// Whether a place waits, erased, to be written, or is being written.
    #[must_use]
    pub fn is_erased(&self, place: usize) -> bool {
        self.places[place].1 == PlaceState::Erased
    }

    /// A block has gone bad: if it belongs to the ring, another takes its place. Returns whether it did.
    pub fn replace(&mut self, from: BlockId, to: BlockId) -> bool {
        let blocks = self.places.iter_mut().flat_map(|place| place.0.iter_mut());
        blocks.filter(|block| **block == from).map(|block| *block = to).count() > 0
    }

    /// A block has been erased; returns whether it belongs to the ring.
    pub fn erased(&mut self, block: BlockId) -> bool {
        let Some((_, state)) = self.places.iter_mut().find(|place| place.0.contains(&block)) else { return false };
        *state = match *state {
            PlaceState::Erasing(1) => PlaceState::Erased,
            PlaceState::Erasing(n) => PlaceState::Erasing(n - 1),
            other => unreachable!("block {block} of a system ring was erased while {other:?}"),
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::{DieSpec, Geometry, PageOrder};

    use super::*;

    #[test]
    fn rows_are_numbered_within_their_place_as_they_are_taken() {
        let die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 4,
            pages_per_block: 5,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        });
        let layout = Layout::new(&die, 3, 4);
        let mut ring = SystemRing::new(vec![
            vec![BlockId::new(0), BlockId::new(4), BlockId::new(8)],
            vec![BlockId::new(1), BlockId::new(5), BlockId::new(9)],
        ]);
        for number in 0..30 {
            let row = ring.next().expect("both places are erased");
            assert_eq!(
                (row.place, row.index, ring.next_index()),
                (number / 15, number as u32 % 15, number as u32 % 15)
            );
            assert_eq!(ring.row(row.place, row.index), (row.block, row.page));
            assert_eq!(ring.at_start(), number % 15 == 0);
            ring.step(&layout);
        }
    }
}
