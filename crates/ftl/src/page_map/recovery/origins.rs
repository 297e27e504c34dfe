//! Where collectors have moved rows from, as the rows themselves say.
//!
//! A row of a collector names the superblock that its units came from; one that was filled from several names none. If a cut
//! destroys such a row and that superblock has not been erased yet, the data are there still. An older copy anywhere else
//! proves nothing, whatever its write number: numbers begin anew after a trim, and after so many writes.
//!
//! Only dies with several bits per cell have rows that can be destroyed; for others nothing is kept.

use serde::{Deserialize, Serialize};

use crate::page_map::superblock::SuperblockId;

/// Rows of one superblock that were moved from one other: from `first` to before `end`, in the order in which they are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stretch {
    first: u32,
    end: u32,
    source: SuperblockId,
}

/// See the module's own page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Origins {
    /// By superblock, in the order of its rows; empty where no row can be destroyed.
    stretches: Vec<Vec<Stretch>>,
}

impl Origins {
    /// For so many superblocks. `bits_per_cell`: of the dies.
    #[must_use]
    pub fn new(superblocks: u32, bits_per_cell: u32) -> Self {
        Origins { stretches: vec![Vec::new(); if bits_per_cell > 1 { superblocks as usize } else { 0 }] }
    }

    /// Whether these are of as many superblocks.
    #[must_use]
    pub fn is_shaped_like(&self, other: &Origins) -> bool {
        self.stretches.len() == other.stretches.len()
    }

    /// Whether all rows were moved from superblocks that there are.
    #[must_use]
    pub fn is_sound(&self, superblocks: u32) -> bool {
        self.stretches
            .iter()
            .flatten()
            .all(|stretch| stretch.source.number() < superblocks && stretch.first <= stretch.end)
    }

    /// The row of this number of superblock `to` holds units of `source` only.
    #[inline]
    pub fn moved(&mut self, source: SuperblockId, to: SuperblockId, row: u32) {
        let Some(stretches) = self.stretches.get_mut(to.index()) else { return };
        match stretches.last_mut() {
            Some(stretch) if stretch.source == source && stretch.end == row => stretch.end = row + 1,
            _ => stretches.push(Stretch { first: row, end: row + 1, source }),
        }
    }

    /// A superblock has been erased.
    #[inline]
    pub fn erased(&mut self, superblock: SuperblockId) {
        self.forget_from(superblock, 0);
    }

    /// All flash has been erased.
    pub fn clear(&mut self) {
        self.stretches.iter_mut().for_each(Vec::clear);
    }

    /// Rows of a superblock from this number on hold nothing.
    pub fn forget_from(&mut self, superblock: SuperblockId, row: u32) {
        let Some(stretches) = self.stretches.get_mut(superblock.index()) else { return };
        stretches.retain(|stretch| stretch.first < row);
        stretches.iter_mut().for_each(|stretch| stretch.end = stretch.end.min(row));
    }

    /// The superblock that a row of superblock `to` was moved from.
    #[must_use]
    pub fn of(&self, to: SuperblockId, row: u32) -> Option<SuperblockId> {
        let mut stretches = self.stretches.get(to.index())?.iter();
        stretches.find(|stretch| (stretch.first..stretch.end).contains(&row)).map(|stretch| stretch.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_where_it_came_from_unless_others_came_there_too() {
        let mut origins = Origins::new(4, 2);
        let third = SuperblockId::new(3);
        for (source, row) in [(1, 0), (1, 1), (2, 2), (2, 4), (2, 5)] {
            origins.moved(SuperblockId::new(source), third, row);
        }
        let of = |origins: &Origins| [0, 1, 2, 3, 4, 5, 6].map(|row| origins.of(third, row).map(SuperblockId::number));
        assert_eq!(of(&origins), [Some(1), Some(1), Some(2), None, Some(2), Some(2), None]);
        origins.forget_from(third, 5);
        assert_eq!(of(&origins), [Some(1), Some(1), Some(2), None, Some(2), None, None]);
        origins.erased(third);
        assert_eq!(of(&origins), [None; 7]);
        assert!(Origins::new(4, 1).stretches.is_empty());
    }
}
