//! Physical superblocks: which blocks they are made of, which are free, and how often they were erased.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, Dies, Medium};

use super::geometry::Geometry;

/// A physical superblock: column x superblocks of a column + index.
pub type Place = u32;

/// What the table of blocks says of a superblock. Firmware writes it whenever it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Use {
    /// It is free, to be erased, or being copied into.
    None,
    Data,
    /// A log, open or closed, until it has been erased; and what a log has taken the place of, until then.
    Log,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Superblocks {
    lanes: u32,
    /// Superblocks of a column.
    each: u32,
    /// By place and lane.
    blocks: Vec<BlockId>,
    /// By column, in the order in which they became free.
    free: Vec<VecDeque<Place>>,
    erases: Vec<u32>,
    uses: Vec<Use>,
    /// Whether the least worn free superblock is taken, instead of the one that became free first.
    least_worn: bool,
}

impl Superblocks {
    /// The first good blocks of each die, put together by their order. Every column has as many superblocks as the worst die of the
    /// drive has good blocks, less `reserved`: the good ones that other dies have beyond that are not used.
    #[must_use]
    pub fn new(geometry: &Geometry, medium: &Medium, reserved: u32, least_worn: bool) -> Self {
        let layout = medium.layout();
        let good: Vec<Vec<BlockId>> = Dies::all(layout.dies)
            .iter()
            .map(|die| (0..layout.blocks).map(|b| layout.block_at(die, b)).filter(|&b| !medium.is_bad(b)).collect())
            .collect();
        let fewest = good.iter().map(Vec::len).min().unwrap_or(0) as u32;
        let each = fewest.saturating_sub(reserved);
        let mut blocks = Vec::with_capacity((each * layout.dies) as usize);
        for column in 0..geometry.columns {
            for index in 0..each as usize {
                blocks.extend((0..geometry.lanes).map(|lane| good[geometry.die(column, lane).index()][index]));
            }
        }
        let free = (0..geometry.columns).map(|column| (column * each..(column + 1) * each).collect()).collect();
        let erases = vec![0; (each * geometry.columns) as usize];
        let uses = vec![Use::None; erases.len()];
        Superblocks { lanes: geometry.lanes, each, blocks, free, erases, uses, least_worn }
    }

    /// Superblocks of a column.
    #[must_use]
    pub fn each(&self) -> u32 {
        self.each
    }

    #[must_use]
    pub fn count(&self) -> u32 {
        self.erases.len() as u32
    }

    /// Every block of a superblock.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.blocks.iter().copied()
    }

    #[inline]
    #[must_use]
    pub fn block(&self, place: Place, lane: u32) -> BlockId {
        self.blocks[(place * self.lanes + lane) as usize]
    }

    #[inline]
    #[must_use]
    pub fn column(&self, place: Place) -> u32 {
        place / self.each
    }

    #[must_use]
    pub fn erases(&self, place: Place) -> u32 {
        self.erases[place as usize]
    }

    /// # Panics
    /// If the column has none left, which the drive's spare rules out.
    pub fn take(&mut self, column: u32) -> Place {
        let free = &mut self.free[column as usize];
        let at = if self.least_worn {
            (0..free.len()).min_by_key(|&k| self.erases[free[k] as usize]).unwrap_or(0)
        } else {
            0
        };
        free.remove(at).expect("a spare superblock")
    }

    /// It has been erased.
    pub fn give_back(&mut self, place: Place) {
        self.erases[place as usize] += 1;
        self.free[(place / self.each) as usize].push_back(place);
    }

    #[must_use]
    pub fn use_of(&self, place: Place) -> Use {
        self.uses[place as usize]
    }

    pub fn set_use(&mut self, place: Place, to: Use) {
        self.uses[place as usize] = to;
    }

    /// What the table of blocks says, by place.
    #[must_use]
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }

    /// Takes over a table of blocks; whether it is one of so many superblocks.
    #[must_use]
    pub fn set_uses(&mut self, uses: Vec<Use>) -> bool {
        let fits = uses.len() == self.uses.len();
        self.uses = uses;
        fits
    }

    /// After a power cut: those without a use whose blocks are all erased are free. Returns the others without one.
    pub fn find_free(&mut self, medium: &Medium) -> Vec<Place> {
        self.free.iter_mut().for_each(VecDeque::clear);
        let mut others = Vec::new();
        for place in 0..self.count() {
            let blocks = || (0..self.lanes).map(|lane| self.block(place, lane));
            let erased = blocks().all(|block| medium.is_erased(block));
            self.erases[place as usize] = blocks().map(|block| medium.erases(block)).max().unwrap_or(0);
            match self.uses[place as usize] {
                Use::Data => {}
                Use::None | Use::Log if erased => {
                    self.uses[place as usize] = Use::None;
                    self.free[(place / self.each) as usize].push_back(place);
                }
                Use::None => others.push(place),
                Use::Log => {}
            }
        }
        others
    }

    pub fn free(&self) -> impl Iterator<Item = Place> {
        self.free.iter().flatten().copied()
    }
}
