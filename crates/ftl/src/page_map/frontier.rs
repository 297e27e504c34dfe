//! An open superblock, written row by row: one page of every die of it, then the next page.

use ssdlab_nand::{DieId, Dies};

use super::superblock::SuperblockId;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct Frontier {
    superblock: SuperblockId,
    /// The next row: its page, and its die.
    page: u32,
    die: DieId,
    /// Pages of its blocks, in the cell mode in which it was opened.
    pages: u32,
    dies: Dies,
}

impl Frontier {
    /// Opens an erased superblock over some dies, whose blocks have so many pages.
    #[must_use]
    pub fn new(superblock: SuperblockId, dies: Dies, pages: u32) -> Self {
        Frontier { superblock, page: 0, die: dies.first, pages, dies }
    }

    /// Goes on with a superblock whose blocks have been written up to a page.
    #[must_use]
    pub fn at(superblock: SuperblockId, dies: Dies, pages: u32, page: u32) -> Self {
        debug_assert!(page < pages);
        Frontier { page, ..Frontier::new(superblock, dies, pages) }
    }

    #[inline]
    #[must_use]
    pub fn superblock(&self) -> SuperblockId {
        self.superblock
    }

    /// Rows still to be taken.
    #[must_use]
    pub fn rows_left(&self) -> u32 {
        (self.pages - self.page - 1) * self.dies.count() + (self.dies.end.number() - self.die.number())
    }

    /// Takes the next row: die and page; and whether it was the last of the superblock.
    #[inline]
    pub fn take(&mut self) -> (DieId, u32, bool) {
        let (die, page) = (self.die, self.page);
        self.die = self.die.next();
        if self.die == self.dies.end {
            self.die = self.dies.first;
            self.page += 1;
        }
        (die, page, self.page == self.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_over_the_dies_and_then_to_the_next_page() {
        let mut open = Frontier::new(SuperblockId::new(7), Dies::run(DieId::new(2), 2), 2);
        let mut taken = Vec::new();
        loop {
            let left = open.rows_left();
            let (die, page, last) = open.take();
            taken.push((left, die.number(), page, last));
            if last {
                break;
            }
        }
        assert_eq!(taken, [(4, 2, 0, false), (3, 3, 0, false), (2, 2, 1, false), (1, 3, 1, true)]);
    }
}
