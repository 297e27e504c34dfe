//! Blocks that were open while calendar time passed: what was programmed into them later is younger than their oldest data.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, Medium};

/// By block. Within a stretch in which the drive works, a block is filled in so little time that its data count as of one age.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Younger(BTreeMap<BlockId, Since>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Since {
    /// Of the block, as long as this holds.
    erases: u32,
    /// From this page on, data were written at that second or later. In the order of both.
    from: Vec<(u32, u32)>,
}

impl Younger {
    /// Whether this can be of a drive of so many blocks.
    pub fn is_sound(&self, blocks: usize) -> bool {
        self.0.keys().next_back().is_none_or(|block| block.index() < blocks)
            && self.0.values().all(|since| since.from.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1))
    }

    /// Time has passed until now: what is programmed into open blocks from now on is younger.
    pub fn note(&mut self, medium: &Medium, now_s: u32) {
        self.0.retain(|&block, since| since.erases == medium.erases(block));
        for block in medium.layout().all_blocks() {
            let page = medium.finished_pages(block);
            if page == 0 || page >= medium.pages(block) {
                continue;
            }
            let erases = medium.erases(block);
            let since = self.0.entry(block).or_insert_with(|| Since { erases, from: Vec::new() });
            // Nothing was programmed since the last time.
            while since.from.pop_if(|last| last.0 >= page || last.1 > now_s).is_some() {}
            since.from.push((page, now_s));
        }
    }

    /// When a page of a block was written that was erased so often and first programmed then.
    pub fn written_at_s(&self, block: BlockId, erases: u32, page: u32, first_at_s: u32) -> u32 {
        let since = self.0.get(&block).filter(|since| since.erases == erases);
        let last = since.and_then(|since| since.from.iter().rev().find(|&&(from, _)| from <= page));
        last.map_or(first_at_s, |&(_, at_s)| at_s)
    }

    /// Pages of such a block in stretches of one age, and when each was written.
    pub fn stretches(&self, block: BlockId, erases: u32, pages: u32, first_at_s: u32) -> Vec<(Range<u32>, u32)> {
        let since = self.0.get(&block).filter(|since| since.erases == erases);
        let mut starts = vec![(0, first_at_s)];
        starts.extend(since.into_iter().flat_map(|since| since.from.iter().copied()).filter(|&(from, _)| from < pages));
        let ends: Vec<u32> = starts[1..].iter().map(|start| start.0).chain([pages]).collect();
        starts.into_iter().zip(ends).map(|((from, at_s), to)| (from..to, at_s)).collect()
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieSpec, Geometry, Layout, PageOrder, TagFormat};

    use super::*;

    const ONE: BlockId = BlockId::new(1);

    fn medium() -> Medium {
        let die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 4,
            pages_per_block: 6,
            page_bytes: 4096,
            spare_bytes: 456,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        });
        Medium::new(&die, Layout::new(&die, 1, 4), TagFormat::new(16), &Rng::new(1))
    }

    fn program(medium: &mut Medium, pages: Range<u32>) {
        pages.for_each(|page| medium.program_at_start(ONE, page, |_| ()).expect("it is the next"));
    }

    #[test]
    fn what_comes_after_a_time_in_an_open_block_is_younger_by_it() {
        let (mut medium, mut younger) = (medium(), Younger::default());
        younger.note(&medium, 5);
        program(&mut medium, 0..2);
        younger.note(&medium, 100);
        // Nothing was written in between.
        younger.note(&medium, 200);
        program(&mut medium, 2..5);
        younger.note(&medium, 300);
        let written =
            |younger: &Younger, erases| [0, 1, 2, 4, 5].map(|page| younger.written_at_s(ONE, erases, page, 7));
        assert_eq!(written(&younger, 0), [7, 7, 200, 200, 300]);
        assert_eq!(younger.stretches(ONE, 0, 5, 7), [(0..2, 7), (2..5, 200)]);
        assert_eq!(younger.stretches(ONE, 0, 6, 7), [(0..2, 7), (2..5, 200), (5..6, 300)]);
        assert_eq!(younger.stretches(ONE, 0, 0, 7), [(0..0, 7)]);
        assert!(younger.is_sound(2) && !younger.is_sound(1));
        program(&mut medium, 5..6);
        // A full block, and one that was erased since.
        younger.note(&medium, 400);
        assert_eq!(written(&younger, 0), [7, 7, 200, 200, 300]);
        medium.erase_at_start(ONE).expect("it is good");
        assert_eq!(written(&younger, 1), [7; 5]);
        younger.note(&medium, 500);
        assert!(younger.0.is_empty(), "{younger:?}");
    }

    #[test]
    fn a_time_that_was_taken_back_leaves_nothing_that_is_yet_to_come() {
        let (mut medium, mut younger) = (medium(), Younger::default());
        program(&mut medium, 0..2);
        younger.note(&medium, 1000);
        program(&mut medium, 2..3);
        younger.note(&medium, 2000);
        program(&mut medium, 3..4);
        younger.note(&medium, 20);
        assert_eq!(younger.stretches(ONE, 0, 5, 7), [(0..4, 7), (4..5, 20)]);
        assert!(younger.is_sound(4));
    }
}
