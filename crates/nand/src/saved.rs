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
use crate::{BlockHistory, BlockId, SequenceNumber};

/// All that a [`Medium`] holds and that its die file does not say. See the module's own page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedMedium {
    next_sequence: SequenceNumber,
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
            push_long_difference(&mut rows, self.sequence.get(row).number(), &mut sequence_before);
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
        if !saved.next_sequence.is_plausible() {
            return Err(MisfitError("more rows than a drive can have written"));
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
        let older = |block| (0..self.finished_pages(block)).all(|page| self.sequence(block, page) < self.next_sequence);
        if !self.layout.all_blocks().all(older) {
            return Err(MisfitError("a row that is yet to come"));
        }
        Ok(grown)
    }

    /// Whether firmware that programs the rows of a block in order can have left them so: by their numbers, each is newer than
    /// the one before it.
    #[must_use]
    pub fn is_in_order(&self, block: BlockId) -> bool {
        (1..self.finished_pages(block)).all(|page| self.sequence(block, page) > self.sequence(block, page - 1))
    }

    fn load_rows(&mut self, mut bytes: &[u8]) -> Option<()> {
        let (mut tag_before, mut sequence_before) = (0, 0);
        let units = self.layout.row_units as usize;
        let rows: Vec<(usize, usize)> = self.programmed_rows().collect();
        for (start, row) in rows {
            let number = take_long_difference(&mut bytes, &mut sequence_before)?;
            self.sequence.set(row, SequenceNumber::new(number));
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
    push_folded(bytes, ((difference << 1 ^ difference >> 31) as u32).into());
    *before = number;
}

/// What [`push_difference`] has written; `None`: the bytes end, or are no number.
fn take_difference(bytes: &mut &[u8], before: &mut u32) -> Option<u32> {
    let folded = take_folded(bytes, u32::BITS)? as u32;
    let difference = folded >> 1 ^ 0u32.wrapping_sub(folded & 1);
    *before = before.wrapping_add(1).wrapping_add(difference);
    Some(*before)
}

/// The same as [`push_difference`] for numbers of 64 bits: differences that fit 32 have the same bytes.
fn push_long_difference(bytes: &mut Vec<u8>, number: u64, before: &mut u64) {
    let difference = number.wrapping_sub(before.wrapping_add(1)) as i64;
    push_folded(bytes, (difference << 1 ^ difference >> 63) as u64);
    *before = number;
}

/// What [`push_long_difference`] has written; `None`: the bytes end, or are no number.
fn take_long_difference(bytes: &mut &[u8], before: &mut u64) -> Option<u64> {
    let folded = take_folded(bytes, u64::BITS)?;
    let difference = folded >> 1 ^ 0u64.wrapping_sub(folded & 1);
    *before = before.wrapping_add(1).wrapping_add(difference);
    Some(*before)
}

fn push_folded(bytes: &mut Vec<u8>, mut left: u64) {
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

fn take_folded(bytes: &mut &[u8], bits: u32) -> Option<u64> {
    let mut folded = 0;
    for shift in (0..bits).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        folded |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(folded);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ssdlab_core::Rng;

    use super::*;
    use crate::{DieSpec, Geometry, Layout, PageOrder, TagFormat};

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

        #[test]
        fn long_numbers_come_back(numbers: Vec<u64>) {
            let (mut bytes, mut before) = (Vec::new(), 0);
            numbers.iter().for_each(|&number| push_long_difference(&mut bytes, number, &mut before));
            let (mut left, mut before) = (&bytes[..], 0);
            for &number in &numbers {
                prop_assert_eq!(take_long_difference(&mut left, &mut before), Some(number));
            }
            prop_assert!(left.is_empty());
            prop_assert_eq!(take_long_difference(&mut left, &mut before), None);
        }

        /// So a drive takes no more bytes in a file than it did with numbers of 32 bits.
        #[test]
        fn differences_that_fit_have_the_same_bytes_as_short_ones(numbers: Vec<u32>) {
            let (mut short, mut short_before, mut long, mut long_before) = (Vec::new(), 0, Vec::new(), 0);
            for number in numbers.into_iter().map(|number| number >> 1) {
                push_difference(&mut short, number, &mut short_before);
                push_long_difference(&mut long, number.into(), &mut long_before);
            }
            prop_assert_eq!(short, long);
        }
    }

    /// Two blocks, the second of them written after so many more rows.
    fn written_late(rows: u64) -> Medium {
        let mut medium = fresh();
        let next = SequenceNumber::new(rows);
        for block in [BlockId::new(2), BlockId::new(0)] {
            (0..3).for_each(|page| medium.program_at_start(block, page, |tags| tags.fill(page)).expect("in order"));
            medium.resume_sequence([next].into_iter());
        }
        medium
    }

    fn fresh() -> Medium {
        let die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 4,
            pages_per_block: 4,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        });
        Medium::new(&die, Layout::new(&die, 1, 4), TagFormat::new(100), &Rng::new(1))
    }

    #[test]
    fn rows_come_back_with_their_numbers_however_far_apart_they_are() {
        for rows in [3, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40] {
            let (saved, mut loaded) = (written_late(rows).save(), fresh());
            assert_eq!(loaded.load(saved), Ok(0), "{rows} rows");
            let numbers = |block| [0, 1, 2].map(|page| loaded.sequence(BlockId::new(block), page).number());
            assert_eq!((numbers(2), numbers(0)), ([0, 1, 2], [rows, rows + 1, rows + 2]));
            assert_eq!(loaded.rows_queued(), rows + 3);
        }
    }

    #[test]
    fn a_row_that_is_yet_to_come_is_refused_and_so_are_more_than_a_drive_can_write() {
        let with_next = |next| {
            let saved = SavedMedium { next_sequence: SequenceNumber::new(next), ..written_late(1 << 32).save() };
            fresh().load(saved)
        };
        let last = (1 << 32) + 2;
        assert_eq!(with_next(last), Err(MisfitError("a row that is yet to come")));
        assert_eq!((with_next(last + 1), with_next(1 << 55)), (Ok(0), Ok(0)));
        assert_eq!(with_next(1 << 56), Err(MisfitError("more rows than a drive can have written")));
    }

    #[test]
    fn a_sequence_takes_a_byte_a_number() {
        let (mut bytes, mut before) = (Vec::new(), 99);
        (100..1100).for_each(|number| push_difference(&mut bytes, number, &mut before));
        assert_eq!(bytes, vec![0; 1000]);
    }
}
