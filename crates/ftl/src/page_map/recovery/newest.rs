//! Of each logical page, the newest copy on flash.
//!
//! The order is that of the sequence numbers of rows. A trim stands between two rows: what is older than it counts no
//! more. A copy that a cut has destroyed counts as a copy, and the page is lost if it was the newest; unless the row that
//! holds the next older one is the row that it was moved from.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ssdlab_nand::{BlockId, CellMode, SequenceNumber, SequenceTable, UnitAddress, memory::Table};

/// What a recovery finds of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Nothing,
    At(UnitAddress),
    /// Something is there, or was until a cut destroyed it, but the journal knows of a newer copy, which has been erased: so the page was trimmed.
    Outdated,
    /// Destroyed: the copy that is gone, and the cell mode that it was in.
    Lost {
        sequence: SequenceNumber,
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
    sequence: SequenceNumber,
    /// What it was, if flash still tells.
    copy: Option<Destroyed>,
    /// Of the second newest that is gone.
    second: Option<SequenceNumber>,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Copies {
    /// By page: one more than the unit that holds the newest copy; [`NOWHERE`], or [`OUTDATED`].
    units: Table<u32>,
    /// By page, where there is one: its number.
    numbers: SequenceTable,
    gone: BTreeMap<u32, Gone>,
}

/// In place of a unit where there is none. Zero, so that what was never written takes no memory.
const NOWHERE: u32 = 0;
const OUTDATED: u32 = u32::MAX;

impl Copies {
    /// For so many logical pages.
    #[must_use]
    pub fn new(pages: u32) -> Self {
        let pages = pages as usize;
        Copies { units: Table::zeroed(pages), numbers: SequenceTable::new(pages), gone: BTreeMap::new() }
    }

    /// The number of the newest copy of a page.
    #[inline]
    fn newest(&self, page: usize) -> Option<SequenceNumber> {
        let unit = self.units[page];
        (unit != NOWHERE && unit != OUTDATED).then(|| self.numbers.get(page))
    }

    /// A row of this number holds a page. What is no page of the host's does not count.
    #[inline]
    pub fn found(&mut self, page: u32, sequence: SequenceNumber, unit: UnitAddress) {
        let page = page as usize;
        if page < self.units.len() && self.newest(page).is_none_or(|newest| sequence > newest) {
            self.units[page] = unit.number() + 1;
            self.numbers.set(page, sequence);
        }
    }

    /// The same for a row that a cut has destroyed.
    pub fn destroyed(&mut self, page: u32, sequence: SequenceNumber, copy: Destroyed) {
        if (page as usize) < self.units.len() {
            self.is_gone(page, sequence, Some(copy));
        }
    }

    fn is_gone(&mut self, page: u32, sequence: SequenceNumber, copy: Option<Destroyed>) {
        let mut gone = Gone { sequence, copy, second: None };
        if let Some(&other) = self.gone.get(&page) {
            match other.sequence.cmp(&sequence) {
                Ordering::Greater => gone = Gone { second: other.second.max(Some(sequence)), ..other },
                // What has counted as lost before stays lost: other rows that told of it may have been erased since.
                Ordering::Equal => gone = Gone { copy: copy.and(other.copy), ..other },
                Ordering::Less => gone.second = Some(other.sequence),
            }
        }
        self.gone.insert(page, gone);
    }

    /// A page counts as lost since an earlier cut; the number of the copy that is gone.
    pub fn lost_before(&mut self, page: u32, sequence: SequenceNumber) {
        self.is_gone(page, sequence, None);
    }

    /// A page was trimmed before rows of this number and later ones.
    #[inline]
    pub fn trimmed(&mut self, page: u32, before_row: SequenceNumber) {
        if page as usize >= self.units.len() {
            return;
        }
        // A row of the same number is newer.
        if self.newest(page as usize).is_some_and(|newest| newest < before_row) {
            self.units[page as usize] = NOWHERE;
        }
        if self.gone.get(&page).is_some_and(|gone| gone.sequence < before_row) {
            self.gone.remove(&page);
        }
    }

    /// A copy of a page with this number has been on flash: older ones count no more. Trims come before.
    pub fn not_before(&mut self, page: u32, sequence: SequenceNumber) {
        let gone = match self.gone.get(&page) {
            // What counts is whether it was moved from an older one.
            Some(gone) if gone.sequence >= sequence => return,
            gone => gone.is_some(),
        };
        if gone {
            self.gone.remove(&page);
        }
        let page = page as usize;
        if page < self.units.len() && self.newest(page).map_or(gone, |newest| newest < sequence) {
            self.units[page] = OUTDATED;
        }
    }

    /// What becomes of the pages with copies that are gone, is decided: `moved_from` tells whether a copy that is gone was moved from the
    /// superblock in which a unit lies.
    #[must_use]
    pub fn judged(self, moved_from: impl Fn(Destroyed, UnitAddress) -> bool) -> Fates {
        let lost = |(&page, gone): (&u32, &Gone)| {
            let newest = self.newest(page as usize);
            if newest.is_some_and(|newest| gone.sequence <= newest) {
                return None;
            }
            // It is the one that was moved if no other lies between them.
            let next_older = newest.is_some() && newest > gone.second;
            let unit = || UnitAddress::new(self.units[page as usize] - 1);
            let moved = gone.copy.is_some_and(|copy| next_older && moved_from(copy, unit()));
            let mode = gone.copy.map(|copy| copy.mode);
            (!moved).then_some((page, Fate::Lost { sequence: gone.sequence, mode }))
        };
        let lost = self.gone.iter().filter_map(lost).collect();
        Fates { units: self.units, lost }
    }
}

/// What is found of each page.
#[derive(Clone, Debug)]
pub struct Fates {
    /// As those of [`Copies`].
    units: Table<u32>,
    /// Of those that are lost.
    lost: BTreeMap<u32, Fate>,
}

impl Fates {
    /// Of one page.
    #[must_use]
    pub fn of(&self, page: u32) -> Fate {
        match self.lost.get(&page) {
            Some(&lost) => lost,
            None => match self.units[page as usize] {
                OUTDATED => Fate::Outdated,
                NOWHERE => Fate::Nothing,
                unit => Fate::At(UnitAddress::new(unit - 1)),
            },
        }
    }

    /// Of all pages, in order.
    pub fn each(&self) -> impl Iterator<Item = (u32, Fate)> + '_ {
        (0..self.units.len() as u32).map(|page| (page, self.of(page)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODE: CellMode = CellMode::Mlc;

    /// A unit's superblock is its number divided by ten; units of superblock 5 were moved from superblock 2.
    fn fate(note: impl FnOnce(&mut Copies)) -> Fate {
        let mut copies = Copies::new(1);
        note(&mut copies);
        let moved_from = |gone: Destroyed, unit: UnitAddress| gone.unit.number() / 10 == 5 && unit.number() / 10 == 2;
        copies.judged(moved_from).of(0)
    }

    fn nr(number: u64) -> SequenceNumber {
        SequenceNumber::new(number)
    }

    fn at(unit: u32) -> UnitAddress {
        UnitAddress::new(unit)
    }

    fn copy(unit: u32) -> Destroyed {
        Destroyed { unit: at(unit), block: BlockId::new(0), page: 0, mode: MODE }
    }

    #[test]
    fn the_newest_copy_counts_whatever_comes_first() {
        assert_eq!(fate(|c| c.found(1, nr(20), at(7))), Fate::Nothing);
        for (a, b) in [((30, 1), (40, 2)), ((40, 2), (30, 1))] {
            assert_eq!(
                fate(|c| {
                    c.found(0, nr(a.0), at(a.1));
                    c.found(0, nr(b.0), at(b.1));
                }),
                Fate::At(at(2))
            );
        }
        // However much older the other one is.
        assert_eq!(
            fate(|c| {
                c.found(0, nr(5), at(1));
                c.found(0, nr((1 << 32) + 4), at(2));
                c.found(0, nr(1 << 31), at(3));
            }),
            Fate::At(at(2))
        );
    }

    #[test]
    fn a_trim_counts_for_what_is_older() {
        let trimmed = |before_row| {
            fate(|c| {
                c.found(0, nr(40), at(2));
                c.trimmed(0, nr(before_row));
            })
        };
        assert_eq!([40, 41].map(trimmed), [Fate::At(at(2)), Fate::Nothing]);
        let lost = fate(|c| {
            c.lost_before(0, nr(40));
            c.trimmed(0, nr(50));
        });
        assert_eq!(lost, Fate::Nothing);
    }

    #[test]
    fn what_the_journal_knows_to_be_outdated_does_not_come_back() {
        let known = |sequence| {
            fate(|c| {
                c.found(0, nr(40), at(2));
                c.lost_before(0, nr(30));
                c.not_before(0, nr(sequence));
            })
        };
        assert_eq!([40, 41].map(known), [Fate::At(at(2)), Fate::Outdated]);
        let lost = |sequence| {
            fate(|c| {
                c.lost_before(0, nr(40));
                c.not_before(0, nr(sequence));
            })
        };
        assert_eq!([40, 41].map(lost), [Fate::Lost { sequence: nr(40), mode: None }, Fate::Outdated]);
        let moved = fate(|c| {
            c.found(0, nr(30), at(22));
            c.destroyed(0, nr(40), copy(53));
            c.not_before(0, nr(40));
        });
        assert_eq!(moved, Fate::At(at(22)));
    }

    #[test]
    fn a_page_whose_newest_copy_is_destroyed_is_lost_unless_it_had_only_been_moved() {
        let of = |older, gone| {
            fate(|c| {
                c.found(0, nr(30), at(older));
                c.destroyed(0, nr(40), copy(gone));
            })
        };
        let lost = Fate::Lost { sequence: nr(40), mode: Some(MODE) };
        assert_eq!([of(12, 53), of(22, 43), of(22, 53)], [lost, lost, Fate::At(at(22))]);
        let written_again = fate(|c| {
            c.destroyed(0, nr(40), copy(53));
            c.lost_before(0, nr(35));
            c.found(0, nr(50), at(3));
        });
        assert_eq!(written_again, Fate::At(at(3)));
        assert_eq!(fate(|c| c.lost_before(0, nr(35))), Fate::Lost { sequence: nr(35), mode: None });
    }

    #[test]
    fn an_older_copy_does_not_count_if_the_one_that_was_moved_is_gone_too() {
        for swapped in [false, true] {
            let gone = fate(|c| {
                c.found(0, nr(20), at(21));
                let (first, second) = if swapped { ((30, 27), (40, 53)) } else { ((40, 53), (30, 27)) };
                c.destroyed(0, nr(first.0), copy(first.1));
                c.destroyed(0, nr(second.0), copy(second.1));
                c.lost_before(0, nr(40));
            });
            assert_eq!(gone, Fate::Lost { sequence: nr(40), mode: None });
        }
    }

    #[test]
    fn what_has_counted_as_lost_stays_lost_although_nothing_lies_between_any_more() {
        for told_first in [false, true] {
            let gone = fate(|c| {
                c.found(0, nr(20), at(21));
                if told_first {
                    c.lost_before(0, nr(40));
                }
                c.destroyed(0, nr(40), copy(53));
                if !told_first {
                    c.lost_before(0, nr(40));
                }
            });
            assert_eq!(gone, Fate::Lost { sequence: nr(40), mode: None });
        }
    }
}
