//! Of each logical page, the newest copy on flash.
//!
//! The order is that of the sequence numbers of rows. A trim stands between two rows: what is older than it counts no
//! more. A copy that a cut has destroyed counts as a copy, and the page is lost if it was the newest; unless the row that
//! holds the next older one is the row that it was moved from.

use std::collections::BTreeMap;

use ssdlab_nand::{BlockId, CellMode, UnitAddress};

/// What a recovery finds of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Nothing,
    At(UnitAddress),
    /// Something is there, or was until a cut destroyed it, but the journal knows of a newer copy, which has been erased: so the page was trimmed.
    Outdated,
    /// Destroyed: the copy that is gone, and the cell mode that it was in.
    Lost {
        sequence: u32,
        mode: Option<CellMode>,
    },
}

/// A copy that a cut has destroyed: a unit of a row, and the cell mode that the row was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destroyed {
    pub unit: UnitAddress,
    pub block: BlockId,
    pub page: u32,
    pub mode: CellMode,
}

/// The newest copy of a page that is gone.
#[derive(Clone, Copy, Debug)]
struct Gone {
    sequence: u32,
    /// What it was, if flash still tells.
    copy: Option<Destroyed>,
    /// How far before the next row the second newest lies.
    second_age: u32,
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
/// In place of a unit where there is none.
const NOWHERE: UnitAddress = UnitAddress::NONE;
const OUTDATED: UnitAddress = UnitAddress::new(u32::MAX - 1);

impl Copies {
    /// For so many logical pages; `next`: the number of the row that is queued next.
    #[must_use]
    pub fn new(pages: u32, next: u32) -> Self {
        Copies { next, newest: vec![(NONE, NOWHERE); pages as usize], gone: BTreeMap::new() }
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
    pub fn destroyed(&mut self, page: u32, sequence: u32, copy: Destroyed) {
        if (page as usize) < self.newest.len() {
            self.is_gone(page, sequence, Some(copy));
        }
    }

    fn is_gone(&mut self, page: u32, sequence: u32, copy: Option<Destroyed>) {
        let age = self.age(sequence);
        let mut gone = Gone { sequence, copy, second_age: NONE };
        if let Some(&other) = self.gone.get(&page) {
            let other_age = self.age(other.sequence);
            if other_age < age {
                gone = Gone { second_age: other.second_age.min(age), ..other };
            } else if other_age == age {
                // What has counted as lost before stays lost: other rows that told of it may have been erased since.
                gone = Gone { copy: copy.and(other.copy), ..other };
            } else {
                gone.second_age = other_age;
            }
        }
        self.gone.insert(page, gone);
    }

    /// A page counts as lost since an earlier cut; the number of the copy that is gone.
    pub fn lost_before(&mut self, page: u32, sequence: u32) {
        self.is_gone(page, sequence, None);
    }

    /// A page was trimmed before rows of this number and later ones.
    #[inline]
    pub fn trimmed(&mut self, page: u32, before_row: u32) {
        // A row of the same number is newer.
        let age = self.age(before_row);
        let Some(newest) = self.newest.get_mut(page as usize) else { return };
        if newest.0 != NONE && newest.0 > age {
            *newest = (NONE, NOWHERE);
        }
        if self.gone.get(&page).is_some_and(|gone| self.age(gone.sequence) > age) {
            self.gone.remove(&page);
        }
    }

    /// A copy of a page with this number has been on flash: older ones count no more. Trims come before.
    pub fn not_before(&mut self, page: u32, sequence: u32) {
        let age = self.age(sequence);
        let gone = match self.gone.get(&page) {
            // What counts is whether it was moved from an older one.
            Some(gone) if self.age(gone.sequence) <= age => return,
            gone => gone.is_some(),
        };
        if gone {
            self.gone.remove(&page);
        }
        let Some(newest) = self.newest.get_mut(page as usize) else { return };
        if newest.0 > age && (newest.0 != NONE || gone) {
            *newest = (NONE, OUTDATED);
        }
    }

    /// What is found of each page, in order. `moved_from`: whether a copy that is gone was moved from the superblock in which
    /// a unit lies.
    pub fn into_fates(self, moved_from: impl Fn(Destroyed, UnitAddress) -> bool) -> impl Iterator<Item = Fate> {
        let Copies { next, newest, gone } = self;
        (0..).zip(newest).map(move |(page, (age, unit))| {
            let here = match (age, unit) {
                (NONE, OUTDATED) => Fate::Outdated,
                (NONE, _) => Fate::Nothing,
                _ => Fate::At(unit),
            };
            match gone.get(&page) {
                Some(gone) if next.wrapping_sub(gone.sequence) < age => {
                    // It is the one that was moved if no other lies between them.
                    let next_older = age != NONE && age < gone.second_age;
                    let moved = gone.copy.is_some_and(|copy| next_older && moved_from(copy, unit));
                    let mode = gone.copy.map(|copy| copy.mode);
                    if moved { here } else { Fate::Lost { sequence: gone.sequence, mode } }
                }
                _ => here,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODE: CellMode = CellMode::Mlc;

    /// A unit's superblock is its number divided by ten; units of superblock 5 were moved from superblock 2.
    fn fate(note: impl FnOnce(&mut Copies)) -> Fate {
        let mut copies = Copies::new(1, 100);
        note(&mut copies);
        let moved_from = |gone: Destroyed, unit: UnitAddress| gone.unit.number() / 10 == 5 && unit.number() / 10 == 2;
        copies.into_fates(moved_from).next().expect("one page")
    }

    fn at(unit: u32) -> UnitAddress {
        UnitAddress::new(unit)
    }

    fn copy(unit: u32) -> Destroyed {
        Destroyed { unit: at(unit), block: BlockId::new(0), page: 0, mode: MODE }
    }

    #[test]
    fn the_newest_copy_counts_whatever_comes_first() {
        assert_eq!(fate(|c| c.found(1, 20, at(7))), Fate::Nothing);
        for (a, b) in [((30, 1), (40, 2)), ((40, 2), (30, 1))] {
            assert_eq!(
                fate(|c| {
                    c.found(0, a.0, at(a.1));
                    c.found(0, b.0, at(b.1));
                }),
                Fate::At(at(2))
            );
        }
        // Numbers begin anew after 2^32.
        assert_eq!(
            fate(|c| {
                c.found(0, 5, at(1));
                c.found(0, u32::MAX - 3, at(2));
            }),
            Fate::At(at(1))
        );
    }

    #[test]
    fn a_trim_counts_for_what_is_older() {
        let trimmed = |before_row| {
            fate(|c| {
                c.found(0, 40, at(2));
                c.trimmed(0, before_row);
            })
        };
        assert_eq!([40, 41].map(trimmed), [Fate::At(at(2)), Fate::Nothing]);
        let lost = fate(|c| {
            c.lost_before(0, 40);
            c.trimmed(0, 50);
        });
        assert_eq!(lost, Fate::Nothing);
    }

    #[test]
    fn what_the_journal_knows_to_be_outdated_does_not_come_back() {
        let known = |sequence| {
            fate(|c| {
                c.found(0, 40, at(2));
                c.lost_before(0, 30);
                c.not_before(0, sequence);
            })
        };
        assert_eq!([40, 41].map(known), [Fate::At(at(2)), Fate::Outdated]);
        let lost = |sequence| {
            fate(|c| {
                c.lost_before(0, 40);
                c.not_before(0, sequence);
            })
        };
        assert_eq!([40, 41].map(lost), [Fate::Lost { sequence: 40, mode: None }, Fate::Outdated]);
        let moved = fate(|c| {
            c.found(0, 30, at(22));
            c.destroyed(0, 40, copy(53));
            c.not_before(0, 40);
        });
        assert_eq!(moved, Fate::At(at(22)));
    }

    #[test]
    fn a_page_whose_newest_copy_is_destroyed_is_lost_unless_it_had_only_been_moved() {
        let of = |older, gone| {
            fate(|c| {
                c.found(0, 30, at(older));
                c.destroyed(0, 40, copy(gone));
            })
        };
        let lost = Fate::Lost { sequence: 40, mode: Some(MODE) };
        assert_eq!([of(12, 53), of(22, 43), of(22, 53)], [lost, lost, Fate::At(at(22))]);
        let written_again = fate(|c| {
            c.destroyed(0, 40, copy(53));
            c.lost_before(0, 35);
            c.found(0, 50, at(3));
        });
        assert_eq!(written_again, Fate::At(at(3)));
        assert_eq!(fate(|c| c.lost_before(0, 35)), Fate::Lost { sequence: 35, mode: None });
    }

    #[test]
    fn an_older_copy_does_not_count_if_the_one_that_was_moved_is_gone_too() {
        for swapped in [false, true] {
            let gone = fate(|c| {
                c.found(0, 20, at(21));
                let (first, second) = if swapped { ((30, 27), (40, 53)) } else { ((40, 53), (30, 27)) };
                c.destroyed(0, first.0, copy(first.1));
                c.destroyed(0, second.0, copy(second.1));
                c.lost_before(0, 40);
            });
            assert_eq!(gone, Fate::Lost { sequence: 40, mode: None });
        }
    }

    #[test]
    fn what_has_counted_as_lost_stays_lost_although_nothing_lies_between_any_more() {
        for told_first in [false, true] {
            let gone = fate(|c| {
                c.found(0, 20, at(21));
                if told_first {
                    c.lost_before(0, 40);
                }
                c.destroyed(0, 40, copy(53));
                if !told_first {
                    c.lost_before(0, 40);
                }
            });
            assert_eq!(gone, Fate::Lost { sequence: 40, mode: None });
        }
    }
}
