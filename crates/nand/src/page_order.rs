//! In which order the pages of a block are programmed, and which bit of its cells each of them is.
//!
//! Pages are numbered in the order in which they must be programmed, so that the rule "in page order, each page once"
//! is the die's whole program order. What differs between orders is which *kind* each number is: the first bit of a
//! word line's cells (lower page, LSB), the second (upper page, CSB), the third (MSB) or the fourth. A later bit is programmed on
//! top of the earlier ones, in a pass of its own that places twice as many levels and takes longer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Order in which the pages of the word lines are programmed, as page numbers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageOrder {
    /// All pages alike: one bit per cell, or an ideal die.
    Uniform,
    /// Two bits per cell; lower pages run one word line ahead: L L U L U … L U U.
    Alternating,
    /// Micron L95B: 0–5, 7, 8 lower, pairs alternating from page 10, eight edge pages without an upper partner.
    PairsL95b,
    /// Three bits per cell, each in its own pass: a word line takes its LSB when the one before it takes its CSB and
    /// the one before that its MSB, so that no finished word line has a neighbour that is yet to be programmed by more
    /// than one pass: L, L C, L C M … L C M, C M, M.
    Triplets,
    /// Two to four bits per cell, the pages of a word line one after the other: dies that program a word line in one
    /// go. Each page is modelled as an even share of that program.
    WordLines,
}

impl PageOrder {
    /// Kinds of pages in a block of `bits` bits per cell, which is how many values the timing lists have.
    #[must_use]
    pub fn kinds(self, bits: u32) -> usize {
        match self {
            PageOrder::Uniform => 1,
            PageOrder::Alternating | PageOrder::PairsL95b => 2,
            PageOrder::Triplets => 3,
            PageOrder::WordLines => bits as usize,
        }
    }

    /// Index into the timing lists for page `page` of a block of `pages` at `bits` bits per cell: 0 for the first bit of a
    /// cell, up to 3 for the fourth.
    #[must_use]
    pub fn kind_index(self, page: u32, pages: u32, bits: u32) -> usize {
        match self {
            PageOrder::Uniform => 0,
            PageOrder::Alternating => {
                // 0, 1, 3, 5 … are lower; 2, 4, 6 … and the last are upper.
                usize::from(page + 1 == pages || (page != 0 && page.is_multiple_of(2)))
            }
            PageOrder::PairsL95b => {
                // FEMU's profile of an L95B: edges listed one by one, the middle in pairs L L U U from page 10.
                let tail = pages - 10;
                let upper = if page < 10 {
                    matches!(page, 6 | 9)
                } else if page < tail {
                    (page - 10) / 2 % 2 == 1
                } else {
                    // Pages 502..511 of 512: lower 502, 503, 506, 507, 509, 510.
                    matches!(page - tail, 2 | 3 | 6 | 9)
                };
                usize::from(upper)
            }
            PageOrder::Triplets => {
                if page < 3 {
                    [0, 0, 1][page as usize]
                } else if page + 3 < pages {
                    (page % 3) as usize
                } else {
                    [2, 2, 1][(pages - 1 - page) as usize]
                }
            }
            PageOrder::WordLines => (page % bits) as usize,
        }
    }

    /// Word lines of a block of `pages` pages of `bits` bits per cell: as many as it has first bits. An ideal die,
    /// whose pages are all alike, has `pages / bits`.
    #[must_use]
    pub fn word_lines(self, pages: u32, bits: u32) -> u32 {
        match self {
            PageOrder::Uniform => pages / bits,
            _ => (0..pages).filter(|&page| self.kind_index(page, pages, bits) == 0).count() as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l95b_has_260_lower_and_252_upper_pages_and_starts_and_ends_as_profiled() {
        let kinds: Vec<usize> = (0..512).map(|p| PageOrder::PairsL95b.kind_index(p, 512, 2)).collect();
        assert_eq!(kinds.iter().filter(|&&k| k == 0).count(), 260);
        let upper: Vec<usize> = (0..512).filter(|&p| kinds[p] == 1).collect();
        assert_eq!(&upper[..4], &[6, 9, 12, 13]);
        assert_eq!(&upper[upper.len() - 4..], &[504, 505, 508, 511]);
        assert_eq!(PageOrder::PairsL95b.word_lines(512, 2), 260);
    }

    #[test]
    fn alternating_pages_are_half_lower_and_every_upper_follows_its_lower() {
        let kinds: Vec<usize> = (0..256).map(|p| PageOrder::Alternating.kind_index(p, 256, 2)).collect();
        assert_eq!(kinds.iter().sum::<usize>(), 128);
        let (mut lower, mut upper) = (0, 0);
        for k in kinds {
            if k == 0 {
                lower += 1
            } else {
                upper += 1
            }
            assert!(upper <= lower);
        }
    }

    #[test]
    fn triplets_give_every_word_line_its_three_bits_with_neighbours_at_most_one_pass_behind() {
        for word_lines in 2u32..=130 {
            let pages = 3 * word_lines;
            // The k-th page of a kind is that of word line k.
            let mut passes = vec![0usize; word_lines as usize];
            let mut next = [0usize; 3];
            for page in 0..pages {
                let kind = PageOrder::Triplets.kind_index(page, pages, 3);
                let line = next[kind];
                next[kind] += 1;
                assert_eq!(passes[line], kind, "page {page} of {pages}: the passes of word line {line}");
                passes[line] += 1;
                if kind > 0 && line + 1 < word_lines as usize {
                    assert!(passes[line + 1] >= kind, "page {page} of {pages}: the neighbour of word line {line}");
                }
            }
            assert_eq!(next, [word_lines as usize; 3]);
            assert_eq!(PageOrder::Triplets.word_lines(pages, 3), word_lines);
        }
    }

    #[test]
    fn a_block_begins_and_ends_with_the_edges_of_the_staircase() {
        let kinds: Vec<usize> = (0..12).map(|p| PageOrder::Triplets.kind_index(p, 12, 3)).collect();
        assert_eq!(kinds, [0, 0, 1, 0, 1, 2, 0, 1, 2, 1, 2, 2]);
        let kinds: Vec<usize> = (0..6).map(|p| PageOrder::WordLines.kind_index(p, 6, 3)).collect();
        assert_eq!(kinds, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn word_lines_have_as_many_kinds_of_pages_as_bits() {
        for bits in 2..=4 {
            assert_eq!(PageOrder::WordLines.kinds(bits), bits as usize);
            let kinds: Vec<u32> = (0..24).map(|p| PageOrder::WordLines.kind_index(p, 24, bits) as u32).collect();
            assert_eq!(kinds, (0..24).map(|p| p % bits).collect::<Vec<_>>());
            assert_eq!(PageOrder::WordLines.word_lines(24, bits), 24 / bits);
        }
    }
}
