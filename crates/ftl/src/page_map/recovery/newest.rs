//! Of each logical page, the newest copy on flash.
//!
//! The order is that of the sequence numbers of rows. A trim stands between two rows: what is older than it counts no
//! more. A copy that a cut has destroyed counts as a copy, and the page is lost if it was the newest; unless an older one
//! holds the same write: it has only been moved since.

use std::collections::BTreeMap;

use ssdlab_nand::{CellMode, UnitAddress};

/// What a recovery finds of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Nothing,
    At(UnitAddress),
    /// Destroyed: the copy that is gone, and the cell mode that it was in.
    Lost {
        sequence: u32,
        mode: Option<CellMode>,
    },
}

#[derive(Clone, Copy, Debug)]
struct Gone {
    sequence: u32,
    /// The write that it held, if that is known.
    generation: Option<u8>,
    mode: Option<CellMode>,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Copies {
    /// Rows from this number on are yet to come: numbers are compared by how far they lie before it.
    next: u32,
    /// By page: how far before, and where; `NONE` and nowhere.
    newest: Vec<(u32, UnitAddress)>,
    gone: BTreeMap<u32, Gone>,
}

const NONE: u32 = u32::MAX;

impl Copies {
    /// For so many logical pages; `next`: the number of the row that is queued next.
    #[must_use]
    pub fn new(pages: u32, next: u32) -> Self {
        Copies { next, newest: vec![(NONE, 0); pages as usize], gone: BTreeMap::new() }
    }

    fn age(&self, sequence: u32) -> u32 {
        self.next.wrapping_sub(sequence)
    }

    /// A row of this number holds a page. What is no page of the host's does not count.
    #[inline]
    pub fn found(&mut self, page: u32, sequence: u32, unit: UnitAddress) {
        let age = self.age(sequence);
        if let Some(newest) = self.newest.get_mut(page as usize).filter(|newest| age < newest.0) {
            *newest = (age, unit);
        }
    }

    /// The same for a row that a cut has destroyed.
    pub fn destroyed(&mut self, page: u32, sequence: u32, generation: u8, mode: CellMode) {
        if (page as usize) < self.newest.len() {
            self.is_gone(page, Gone { sequence, generation: Some(generation), mode: Some(mode) });
        }
    }

    fn is_gone(&mut self, page: u32, gone: Gone) {
        let age = self.age(gone.sequence);
        match self.gone.get(&page) {
            Some(before) if self.age(before.sequence) <= age => {}
            _ => {
                self.gone.insert(page, gone);
            }
        }
    }

    /// A page counts as lost since an earlier cut; the number of the copy that is gone.
    pub fn lost_before(&mut self, page: u32, sequence: u32) {
        self.is_gone(page, Gone { sequence, generation: None, mode: None });
    }

    /// A page was trimmed before rows of this number and later ones.
    #[inline]
    pub fn trimmed(&mut self, page: u32, before_row: u32) {
        // A row of the same number is newer.
        let age = self.age(before_row);
        let Some(newest) = self.newest.get_mut(page as usize) else { return };
        if newest.0 != NONE && newest.0 > age {
            *newest = (NONE, 0);
        }
        if self.gone.get(&page).is_some_and(|gone| self.age(gone.sequence) > age) {
            self.gone.remove(&page);
        }
    }

    /// What is found of each page, in order. `generation`: the write that a unit holds.
    pub fn into_fates(self, generation: impl Fn(UnitAddress) -> u8) -> impl Iterator<Item = Fate> {
        let Copies { next, newest, gone } = self;
        (0..).zip(newest).map(move |(page, (age, unit))| {
            let here = if age == NONE { Fate::Nothing } else { Fate::At(unit) };
            match gone.get(&page) {
                Some(gone) if next.wrapping_sub(gone.sequence) < age => {
                    let moved = age != NONE && gone.generation == Some(generation(unit));
                    if moved { here } else { Fate::Lost { sequence: gone.sequence, mode: gone.mode } }
                }
                _ => here,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(note: impl FnOnce(&mut Copies)) -> Fate {
        let mut copies = Copies::new(1, 100);
        note(&mut copies);
        // The write in a unit is its number divided by ten.
        copies.into_fates(|unit| (unit / 10) as u8).next().expect("one page")
    }

    #[test]
    fn the_newest_copy_counts_whatever_comes_first() {
        assert_eq!(fate(|c| c.found(1, 20, 7)), Fate::Nothing);
        for (a, b) in [((30, 1), (40, 2)), ((40, 2), (30, 1))] {
            assert_eq!(
                fate(|c| {
                    c.found(0, a.0, a.1);
                    c.found(0, b.0, b.1);
                }),
                Fate::At(2)
            );
        }
        // Numbers begin anew after 2^32.
        assert_eq!(
            fate(|c| {
                c.found(0, 5, 1);
                c.found(0, u32::MAX - 3, 2);
            }),
            Fate::At(1)
        );
    }

    #[test]
    fn a_trim_counts_for_what_is_older() {
        let trimmed = |before_row| {
            fate(|c| {
                c.found(0, 40, 2);
                c.trimmed(0, before_row);
            })
        };
        assert_eq!([40, 41].map(trimmed), [Fate::At(2), Fate::Nothing]);
        let lost = fate(|c| {
            c.lost_before(0, 40);
            c.trimmed(0, 50);
        });
        assert_eq!(lost, Fate::Nothing);
    }

    #[test]
    fn a_page_whose_newest_copy_is_destroyed_is_lost_unless_it_had_only_been_moved() {
        let mode = CellMode::Mlc;
        let of = |older, generation| {
            fate(|c| {
                c.found(0, 30, older);
                c.destroyed(0, 40, generation, mode);
            })
        };
        assert_eq!(of(12, 2), Fate::Lost { sequence: 40, mode: Some(mode) });
        assert_eq!(of(22, 2), Fate::At(22));
        let written_again = fate(|c| {
            c.destroyed(0, 40, 2, mode);
            c.lost_before(0, 35);
            c.found(0, 50, 3);
        });
        assert_eq!(written_again, Fate::At(3));
        assert_eq!(fate(|c| c.lost_before(0, 35)), Fate::Lost { sequence: 35, mode: None });
    }
}
