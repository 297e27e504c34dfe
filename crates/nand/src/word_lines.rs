//! Which pages of a block share their cells.
//!
//! The k-th page of a kind belongs to word line k (see [`PageOrder`]), with one exception: of the L95B's 260 lower and 252
//! upper pages, which datasheets do not pair, the k-th upper page is taken to lie on the word line of lower page k + 4
//! (estimate: the symmetric choice, with four single pages at each end of a block; every lower page then comes before its
//! upper page). Pages of orders of one kind have their cells to themselves.

use crate::{CellMode, PageOrder};

/// Lower pages of an L95B block before the first that has an upper page.
const L95B_SINGLE_PAGES: usize = 4;
const NONE: u16 = u16::MAX;
/// Pages that share their cells with a later one at most.
const OLDER: usize = CellMode::COUNT - 1;

/// See the module's own page.
#[derive(Clone, Debug)]
pub(crate) struct WordLines {
    /// By page: those of its word line that are programmed before it.
    older: Vec<[u16; OLDER]>,
    /// By page: the last of its word line.
    last: Vec<u16>,
}

impl WordLines {
    pub fn new(order: PageOrder, pages: u32, bits: u32) -> Self {
        let mut lines: Vec<Vec<u16>> = Vec::new();
        let mut line_of = Vec::with_capacity(pages as usize);
        let mut next = [0; CellMode::COUNT];
        if order == PageOrder::PairsL95b {
            next[1] = L95B_SINGLE_PAGES;
        }
        for page in 0..pages {
            let line =
                if order == PageOrder::Uniform { page as usize } else { next[order.kind_index(page, pages, bits)] };
            if order != PageOrder::Uniform {
                next[order.kind_index(page, pages, bits)] += 1;
            }
            if line >= lines.len() {
                lines.resize(line + 1, Vec::new());
            }
            lines[line].push(page as u16);
            line_of.push(line);
        }
        let mut older = vec![[NONE; OLDER]; pages as usize];
        let mut last = vec![0; pages as usize];
        for (page, &line) in line_of.iter().enumerate() {
            let before = lines[line].iter().take_while(|&&p| usize::from(p) < page);
            for (place, &p) in older[page].iter_mut().zip(before) {
                *place = p;
            }
            last[page] = *lines[line].last().expect("a page is on its own word line");
        }
        WordLines { older, last }
    }

    /// Pages of the same word line that are programmed before this one.
    pub fn older(&self, page: u32) -> impl Iterator<Item = u32> + use<> {
        self.older[page as usize].into_iter().filter(|&p| p != NONE).map(u32::from)
    }

    /// The last page of the word line that a page is on.
    pub fn last(&self, page: u32) -> u32 {
        self.last[page as usize].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn older(order: PageOrder, (pages, bits): (u32, u32), page: u32) -> Vec<u32> {
        WordLines::new(order, pages, bits).older(page).collect()
    }

    #[test]
    fn an_upper_page_shares_its_cells_with_one_lower_page_that_came_before() {
        for pages in [4, 5, 8, 31, 256] {
            let lines = WordLines::new(PageOrder::Alternating, pages, 2);
            let mut partners: Vec<u32> = (0..pages).flat_map(|page| lines.older(page)).collect();
            assert!((0..pages).all(|page| lines.older(page).all(|p| p < page && lines.last(p) == page)));
            partners.sort_unstable();
            partners.dedup();
            let uppers = (0..pages).filter(|&page| PageOrder::Alternating.kind_index(page, pages, 2) == 1).count();
            assert_eq!(partners.len(), uppers, "{pages} pages");
        }
        assert_eq!(older(PageOrder::Alternating, (8, 2), 2), [0]);
        assert_eq!(older(PageOrder::Alternating, (8, 2), 4), [1]);
        assert_eq!(older(PageOrder::Alternating, (8, 2), 7), [5]);
    }

    #[test]
    fn whole_pairs_of_an_l95b_lie_six_pages_apart_and_four_pages_at_each_end_are_single() {
        let lines = WordLines::new(PageOrder::PairsL95b, 512, 2);
        let single = (0..512).filter(|&page| lines.older(page).next().is_none() && lines.last(page) == page);
        assert_eq!(single.collect::<Vec<_>>(), [0, 1, 2, 3, 506, 507, 509, 510]);
        assert_eq!(older(PageOrder::PairsL95b, (512, 2), 16), [10]);
        assert_eq!(older(PageOrder::PairsL95b, (512, 2), 17), [11]);
        assert_eq!(lines.last(10), 16);
        assert!((0..512).all(|page| lines.older(page).all(|p| p < page)));
    }

    #[test]
    fn the_last_bit_of_three_endangers_two_older_pages() {
        for order in [PageOrder::Triplets, PageOrder::WordLines] {
            let lines = WordLines::new(order, 24, 3);
            for page in 0..24 {
                assert_eq!(lines.older(page).count(), order.kind_index(page, 24, 3));
            }
        }
        assert_eq!(older(PageOrder::Triplets, (12, 3), 5), [0, 2]);
        assert_eq!(older(PageOrder::WordLines, (12, 3), 5), [3, 4]);
        assert_eq!(older(PageOrder::WordLines, (12, 4), 7), [4, 5, 6]);
        assert_eq!(older(PageOrder::WordLines, (12, 2), 7), [6]);
        assert!(older(PageOrder::Uniform, (12, 3), 5).is_empty());
    }
}
