//! The medium in a form that goes into a file: what a program of another day needs to go on with the same dies.
//!
//! Tags and sequence numbers are kept of programmed rows only, each as the difference from what would follow in order, in
//! bytes of seven bits: data written in sequence take a byte a unit, before any compression.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::damage::Damage;
use crate::faults::Faults;
use crate::medium::{Medium, unprogrammed};
use crate::plane_block::PlaneBlock;
use crate::{BlockHistory, BlockId};

/// All that a [`Medium`] holds and that its die file does not say. See the module's own page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedMedium {
    next_sequence: u32,
    blocks: Vec<PlaneBlock>,
    history: Vec<BlockHistory>,
    bad: Vec<BlockId>,
    faults: Faults,
    damage: Damage,
    /// Of the programmed rows, block by block.
    rows: Vec<u8>,
}

/// What was saved does not fit this medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("saved flash does not fit these dies: {0}")]
pub struct MisfitError(pub &'static str);

impl Medium {
    /// What the medium holds.
    #[must_use]
    pub fn save(&self) -> SavedMedium {
        let mut rows = Vec::new();
        let (mut tag_before, mut sequence_before) = (0, 0);
        for (start, row) in self.programmed_rows() {
            push_difference(&mut rows, self.sequence[row], &mut sequence_before);
            for &tag in &self.tags[start..start + self.layout.row_units as usize] {
                push_difference(&mut rows, tag, &mut tag_before);
            }
        }
        SavedMedium {
            next_sequence: self.next_sequence,
            blocks: self.blocks.clone(),
            history: self.history.clone(),
            bad: self.layout.all_blocks().filter(|&block| self.is_bad(block)).collect(),
            faults: self.faults.clone(),
            damage: self.damage.clone(),
            rows,
        }
    }

    /// Dies fresh from the factory become those that were saved. Returns how many blocks have gone bad in use.
    ///
    /// # Errors
    /// If what was saved is not of such dies. The medium is of no use then.
    pub fn load(&mut self, saved: SavedMedium) -> Result<u64, MisfitError> {
        if saved.blocks.len() != self.blocks.len() || saved.history.len() != self.history.len() {
            return Err(MisfitError("another number of blocks"));
        }
        let fits = |block: &PlaneBlock| {
            let empty = self.modes.offers(block.mode).then(|| self.modes.empty_block(block.mode));
            empty.is_some_and(|empty| empty.pages == block.pages)
                && block.issued <= block.pages
                && [0, block.issued].contains(&block.finished)
                && !block.programming
        };
        let planes = self.layout.planes as usize;
        let alike = |planes: &[PlaneBlock]| {
            let of = |plane: &PlaneBlock| (plane.mode, plane.issued, plane.finished);
            planes.iter().all(|plane| of(plane) == of(&planes[0]))
        };
        if !saved.blocks.iter().all(fits) || !saved.blocks.chunks_exact(planes).all(alike) {
            return Err(MisfitError("a block with more pages than it has"));
        }
        let count = self.layout.block_count();
        if saved.bad.iter().chain(saved.damage.blocks()).any(|&block| block.number() >= count) {
            return Err(MisfitError("a block that does not exist"));
        }
        let state = |block: BlockId| &saved.blocks[self.layout.first_plane(block)];
        // Without power, nothing is under way: what is neither programmed nor erased is what a cut has left half erased.
        let half_erased = |block: BlockId| state(block).issued == state(block).pages && state(block).finished == 0;
        let settled = |block: BlockId| state(block).issued == state(block).finished;
        let right = |block| if saved.damage.is_half_erased(block) { half_erased(block) } else { settled(block) };
        let on_flash = |(&block, rows): (&BlockId, &BTreeMap<u32, bool>)| {
            rows.keys().all(|&page| page < u32::from(state(block).finished))
        };
        if !self.layout.all_blocks().all(right) || !saved.damage.rows.iter().all(on_flash) {
            return Err(MisfitError("rows that were never finished"));
        }
        if !saved.history.iter().all(BlockHistory::is_plausible) || !saved.faults.is_sound() {
            return Err(MisfitError("a block that has been erased more often than can be"));
        }
        let known: BTreeSet<BlockId> = saved.bad.iter().copied().collect();
        if self.layout.all_blocks().any(|block| self.is_bad(block) && !known.contains(&block)) {
            return Err(MisfitError("a block that is bad from the factory is good"));
        }
        let grown = known.len() as u64 - self.bad.iter().filter(|&&bad| bad).count() as u64;
        self.bad.fill(false);
        saved.bad.iter().for_each(|&block| self.bad[block.index()] = true);
        self.next_sequence = saved.next_sequence;
        (self.blocks, self.history) = (saved.blocks, saved.history);
        (self.faults, self.damage) = (saved.faults, saved.damage);
        self.tags = unprogrammed(self.layout.units());
        self.load_rows(&saved.rows).ok_or(MisfitError("its rows end early or late"))?;
        // What is half erased has rows that no longer count.
        let older = |block| (0..self.finished_pages(block)).all(|page| self.is_before_next(self.sequence(block, page)));
        if !self.layout.all_blocks().all(older) {
            return Err(MisfitError("a row that is yet to come"));
        }
        Ok(grown)
    }

    /// Whether a number is one that a row has been given, so that no other will be: they begin anew after 2^32.
    #[must_use]
    pub fn is_before_next(&self, sequence: u32) -> bool {
        (sequence.wrapping_sub(self.next_sequence) as i32) < 0
    }

    /// Whether firmware that programs the rows of a block in order can have left them so: by their numbers, each is newer than
    /// the one before it.
    #[must_use]
    pub fn is_in_order(&self, block: BlockId) -> bool {
        let numbers = |page| self.sequence(block, page);
        (1..self.finished_pages(block)).all(|page| (numbers(page).wrapping_sub(numbers(page - 1)) as i32) > 0)
    }

    fn load_rows(&mut self, mut bytes: &[u8]) -> Option<()> {
        let (mut tag_before, mut sequence_before) = (0, 0);
        let units = self.layout.row_units as usize;
        let rows: Vec<(usize, usize)> = self.programmed_rows().collect();
        for (start, row) in rows {
            self.sequence[row] = take_difference(&mut bytes, &mut sequence_before)?;
            for tag in &mut self.tags[start..start + units] {
                *tag = take_difference(&mut bytes, &mut tag_before)?;
            }
        }
        bytes.is_empty().then_some(())
    }

    /// First unit and number of every row in which something was programmed or is to be.
    fn programmed_rows(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let planes = self.layout.planes as usize;
        let issued = |planes: &[PlaneBlock]| planes.iter().map(|plane| u32::from(plane.issued)).max().unwrap_or(0);
        self.layout.all_blocks().zip(self.blocks.chunks_exact(planes)).flat_map(move |(block, planes)| {
            (0..issued(planes)).map(move |page| {
                let start = self.layout.row_start(block, page);
                (start.index(), self.layout.row_number(start))
            })
        })
    }
}

/// Appends a number as its difference from the one after `before`, small differences of either sign in one byte.
fn push_difference(bytes: &mut Vec<u8>, number: u32, before: &mut u32) {
    let difference = number.wrapping_sub(before.wrapping_add(1)) as i32;
    let mut left = (difference << 1 ^ difference >> 31) as u32;
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    *before = number;
}

/// What [`push_difference`] has written; `None`: the bytes end, or are no number.
fn take_difference(bytes: &mut &[u8], before: &mut u32) -> Option<u32> {
    let mut folded = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        folded |= u32::from(byte & 0x7F).checked_shl(shift)?;
        if byte < 0x80 {
            let difference = folded >> 1 ^ 0u32.wrapping_sub(folded & 1);
            *before = before.wrapping_add(1).wrapping_add(difference);
            return Some(*before);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers: Vec<u32>) {
            let (mut bytes, mut before) = (Vec::new(), 0);
            numbers.iter().for_each(|&number| push_difference(&mut bytes, number, &mut before));
            let (mut left, mut before) = (&bytes[..], 0);
            for &number in &numbers {
                prop_assert_eq!(take_difference(&mut left, &mut before), Some(number));
            }
            prop_assert!(left.is_empty());
            prop_assert_eq!(take_difference(&mut left, &mut before), None);
        }
    }

    #[test]
    fn a_sequence_takes_a_byte_a_number() {
        let (mut bytes, mut before) = (Vec::new(), 99);
        (100..1100).for_each(|number| push_difference(&mut bytes, number, &mut before));
        assert_eq!(bytes, vec![0; 1000]);
    }
}
