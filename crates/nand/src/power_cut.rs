//! A medium whose power goes; what that does is told in `damage.rs`.

use crate::address::BlockId;
use crate::damage::{Cut, Interrupted};
use crate::{Medium, SequenceNumber, Violation};

impl Medium {
    /// The power goes. `under_way`: what the dies' arrays were at.
    ///
    /// # Panics
    /// If a program is said to be under way that the medium has not been told of.
    pub fn cut_power(&mut self, under_way: &[Interrupted]) -> Cut {
        let mut cut = Cut::default();
        for interrupted in under_way {
            match *interrupted {
                Interrupted::Program { block, page, spares_older } => {
                    let state = &self.blocks[self.layout.first_plane(block)];
                    assert!(state.programming && u32::from(state.finished) == page, "block {block} page {page}");
                    cut.torn.push((block, page));
                    if !spares_older {
                        let older = self.modes.word_lines(state.mode).older(page);
                        cut.destroyed.extend(older.map(|page| (block, page)));
                    }
                }
                Interrupted::Erase { block } => self.leave_half_erased(block),
            }
        }
        // What had been destroyed before is no news.
        cut.destroyed.retain(|&(block, page)| self.is_readable(block, page));
        for &(block, page) in &cut.torn {
            self.damage.rows.entry(block).or_default().insert(page, true);
        }
        for &(block, page) in &cut.destroyed {
            self.damage.rows.entry(block).or_default().insert(page, false);
        }
        for &(block, _) in &cut.torn {
            let states = &mut self.blocks[self.layout.planes_of(block)];
            states.iter_mut().for_each(|state| state.finished += 1);
        }
        for block in self.layout.all_blocks() {
            let states = &mut self.blocks[self.layout.planes_of(block)];
            if states[0].issued != states[0].finished && !self.damage.half_erased.contains(&block) {
                let pages = u32::from(states[0].finished)..u32::from(states[0].issued);
                cut.undone.extend(pages.map(|page| (block, page)));
                states.iter_mut().for_each(|state| state.issued = state.finished);
            }
            states[0].programming = false;
            if states[0].issued == 0 {
                // Nothing tells that it was opened in another mode.
                states.fill(self.modes.empty_block(self.modes.native));
            }
        }
        cut
    }

    /// Pages of the same word line that are programmed before this one, and that a cut in its program destroys.
    #[inline]
    pub fn older_pages(&self, block: BlockId, page: u32) -> impl Iterator<Item = u32> + use<> {
        self.modes.word_lines(self.mode(block)).older(page)
    }

    /// The page of the same word line that is programmed last.
    #[inline]
    #[must_use]
    pub fn last_of_word_line(&self, block: BlockId, page: u32) -> u32 {
        self.modes.word_lines(self.mode(block)).last(page)
    }

    /// Whether the row of a finished program can be read.
    #[must_use]
    pub fn is_readable(&self, block: BlockId, page: u32) -> bool {
        self.damage.rows.get(&block).is_none_or(|rows| !rows.contains_key(&page))
    }

    /// Rows of a block that cuts have torn or destroyed, in the order of pages.
    pub fn unreadable_pages(&self, block: BlockId) -> impl Iterator<Item = u32> + '_ {
        self.damage.rows.get(&block).into_iter().flat_map(|rows| rows.keys().copied())
    }

    /// Whether the program of a row was torn, so that the row never held anything.
    #[must_use]
    pub fn is_torn(&self, block: BlockId, page: u32) -> bool {
        self.damage.rows.get(&block).and_then(|rows| rows.get(&page)).is_some_and(|&torn| torn)
    }

    /// Blocks with such rows.
    pub fn blocks_with_unreadable_rows(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.damage.rows.keys().copied()
    }

    /// Whether an erase of a block was cut short.
    #[must_use]
    pub fn is_half_erased(&self, block: BlockId) -> bool {
        self.damage.is_half_erased(block)
    }

    /// Blocks whose erases were cut short.
    pub fn half_erased_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.damage.half_erased.iter().copied()
    }

    /// Whether a block holds nothing and can be programmed.
    #[must_use]
    pub fn is_erased(&self, block: BlockId) -> bool {
        self.issued_pages(block) == 0
    }

    /// The first page of a block that firmware may use after a cut: rows that cannot be read leave their whole word lines
    /// without use.
    #[must_use]
    pub fn first_page_of_use(&self, block: BlockId) -> u32 {
        let lines = self.modes.word_lines(self.mode(block));
        let skipped = self.unreadable_pages(block).map(|page| lines.last(page) + 1).max().unwrap_or(0);
        skipped.max(self.issued_pages(block))
    }

    /// Numbers rows on from the greatest number that any row was given which the dies have begun: firmware leaves a gap wide
    /// enough for what was torn. `not_before`: what firmware has noted to have been the next number, or after a row that may
    /// have been erased since. So no number comes twice that is compared with others.
    pub fn resume_sequence(&mut self, not_before: impl Iterator<Item = SequenceNumber>) {
        let after_newest_of = |block: BlockId| {
            let last = self.finished_pages(block).checked_sub(1)?;
            Some(self.sequence(block, last).next())
        };
        let next = self.layout.all_blocks().filter_map(after_newest_of).chain(not_before).max();
        self.next_sequence = next.unwrap_or(SequenceNumber::FIRST);
    }

    /// Programs a row at once: for firmware that starts up, while the die does nothing else. It does not fail.
    ///
    /// # Errors
    /// As [`Medium::queue_program`].
    pub fn program_at_start(
        &mut self,
        block: BlockId,
        page: u32,
        fill: impl FnOnce(&mut [u32]),
    ) -> Result<(), Violation> {
        let row = self.queue_program(block, page)?;
        fill(row.tags);
        self.finish_at_start(block);
        Ok(())
    }

    /// The same for a copy of a row, as [`Medium::copy_row`] makes it.
    ///
    /// # Errors
    /// As [`Medium::copy_row`].
    pub fn copy_row_at_start(&mut self, from: BlockId, to: BlockId, page: u32) -> Result<(), Violation> {
        self.copy_row(from, to, page)?;
        self.finish_at_start(to);
        Ok(())
    }

    /// The same into any page of another block.
    ///
    /// # Errors
    /// As [`Medium::copy_row_to`].
    pub fn copy_row_to_at_start(&mut self, from: (BlockId, u32), to: (BlockId, u32)) -> Result<(), Violation> {
        self.copy_row_to(from, to)?;
        self.finish_at_start(to.0);
        Ok(())
    }

    /// The same for a row that a cut has destroyed, and that firmware has rebuilt.
    ///
    /// # Errors
    /// As [`Medium::copy_row_to`].
    pub fn rebuild_row_at_start(&mut self, from: (BlockId, u32), to: (BlockId, u32)) -> Result<(), Violation> {
        self.copy_row_to(from, to)?;
        let units = self.layout.row_units;
        let (source, target) = (self.layout.row_start(from.0, from.1), self.layout.row_start(to.0, to.1));
        self.tags.copy_within(source.index()..(source + units).index(), target.index());
        self.finish_at_start(to.0);
        Ok(())
    }

    fn finish_at_start(&mut self, block: BlockId) {
        let states = &mut self.blocks[self.layout.planes_of(block)];
        states.iter_mut().for_each(|state| state.finished = state.issued);
    }

    /// Erases a block at once, likewise.
    ///
    /// # Errors
    /// [`Violation::BadBlock`].
    pub fn erase_at_start(&mut self, block: BlockId) -> Result<(), Violation> {
        if self.bad[block.index()] {
            let (die, block) = self.layout.die_of(block);
            return Err(Violation::BadBlock { die, block });
        }
        self.repair_block(block);
        self.erased(block);
        Ok(())
    }

    /// A cut came before a program of [`Medium::program_at_start`] had begun. Later ones of the block go first.
    pub fn undo_program(&mut self, block: BlockId, page: u32) {
        debug_assert!(self.finished_pages(block) == page + 1);
        let states = &mut self.blocks[self.layout.planes_of(block)];
        for state in states.iter_mut() {
            (state.issued, state.finished) = (page as u16, page as u16);
        }
        if page == 0 {
            states.fill(self.modes.empty_block(self.modes.native));
        }
    }

    /// The same while it was under way. Returns the rows that it has destroyed.
    pub fn tear_program(&mut self, block: BlockId, page: u32, spares_older: bool) -> Vec<(BlockId, u32)> {
        debug_assert!(self.finished_pages(block) == page + 1);
        let older = self.modes.word_lines(self.mode(block)).older(page).filter(|_| !spares_older);
        let destroyed: Vec<u32> = older.filter(|&page| self.is_readable(block, page)).collect();
        let rows = self.damage.rows.entry(block).or_default();
        rows.extend(destroyed.iter().map(|&page| (page, false)));
        rows.insert(page, true);
        destroyed.into_iter().map(|page| (block, page)).collect()
    }

    /// Leaves a block as a cut in its erase does.
    pub fn leave_half_erased(&mut self, block: BlockId) {
        self.damage.rows.remove(&block);
        self.damage.half_erased.insert(block);
        // Nothing can be read, and nothing programmed.
        for state in &mut self.blocks[self.layout.planes_of(block)] {
            (state.issued, state.finished, state.programming) = (state.pages, 0, false);
        }
    }

    /// A block is about to be erased: what a cut has left there goes with the rest.
    #[cold]
    pub(crate) fn repair_block(&mut self, block: BlockId) {
        self.damage.rows.remove(&block);
        if self.damage.half_erased.remove(&block) {
            let states = &mut self.blocks[self.layout.planes_of(block)];
            states.iter_mut().for_each(|state| state.finished = state.issued);
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;
    use crate::{DieId, DieSpec, Geometry, Layout, Outcome, PageOrder, PageState, TagFormat};

    fn medium() -> Medium {
        let die = DieSpec::plain(Geometry {
            planes: 2,
            blocks_per_plane: 8,
            pages_per_block: 8,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 2,
            page_order: PageOrder::Alternating,
        });
        Medium::new(&die, Layout::new(&die, 1, 8), TagFormat::new(100), &Rng::new(1))
    }

    const ONE: BlockId = BlockId::new(1);
    const TWO: BlockId = BlockId::new(2);

    fn program(m: &mut Medium, block: BlockId, pages: std::ops::Range<u32>) {
        for page in pages {
            m.queue_program(block, page).expect("in order").tags.fill(page);
            m.begin_program(block, page).expect("in order");
            assert_eq!(m.finish_program(block, page), Ok(Outcome::Done));
        }
    }

    #[test]
    fn no_number_of_a_row_comes_twice_that_is_on_flash_or_was_noted() {
        let mut m = medium();
        program(&mut m, ONE, 0..3);
        program(&mut m, TWO, 0..4);
        m.erase_at_start(TWO).expect("it is good");
        m.resume_sequence([].into_iter());
        assert_eq!(m.rows_queued(), 3);
        m.resume_sequence([6, 1].map(SequenceNumber::new).into_iter());
        assert_eq!(m.rows_queued(), 6);
    }

    #[test]
    fn a_torn_upper_page_takes_its_lower_page_along_and_what_was_queued_never_happened() {
        let mut m = medium();
        program(&mut m, ONE, 0..4);
        for page in 4..7 {
            m.queue_program(ONE, page).expect("in order").tags.fill(9);
        }
        m.begin_program(ONE, 4).expect("in order");
        let cut = m.cut_power(&[Interrupted::Program { block: ONE, page: 4, spares_older: false }]);
        assert_eq!((cut.torn, cut.destroyed, cut.undone), (vec![(ONE, 4)], vec![(ONE, 1)], vec![(ONE, 5), (ONE, 6)]));
        let readable: Vec<u32> = (0..5).filter(|&page| m.is_readable(ONE, page)).collect();
        assert_eq!((readable, m.issued_pages(ONE), m.first_page_of_use(ONE)), (vec![0, 2, 3], 5, 5));
        assert_eq!(m.page_state(ONE, 5), PageState::Empty);
        let again = m.queue_program(ONE, 4).map(|_| ());
        assert_eq!(again, Err(Violation::ProgramTwice { die: DieId::new(0), block: 1, page: 4 }));
        program(&mut m, ONE, 5..6);
        assert_eq!(m.erase(ONE), Ok(Outcome::Done));
        program(&mut m, ONE, 0..5);
        assert!(m.is_readable(ONE, 4) && m.is_readable(ONE, 1));
    }

    #[test]
    fn a_torn_lower_page_leaves_its_word_line_without_use() {
        let mut m = medium();
        program(&mut m, ONE, 0..3);
        m.queue_program(ONE, 3).expect("in order").tags.fill(9);
        m.begin_program(ONE, 3).expect("in order");
        let cut = m.cut_power(&[Interrupted::Program { block: ONE, page: 3, spares_older: false }]);
        assert_eq!(cut.destroyed, []);
        // The upper page of page 3 is page 6.
        assert_eq!(m.first_page_of_use(ONE), 7);
    }

    #[test]
    fn capacitors_keep_the_lower_page() {
        let mut m = medium();
        program(&mut m, ONE, 0..2);
        m.queue_program(ONE, 2).expect("in order").tags.fill(9);
        m.begin_program(ONE, 2).expect("in order");
        let cut = m.cut_power(&[Interrupted::Program { block: ONE, page: 2, spares_older: true }]);
        assert_eq!((cut.destroyed, m.is_readable(ONE, 0), m.is_readable(ONE, 2)), (vec![], true, false));
    }

    #[test]
    fn a_block_whose_erase_was_cut_short_takes_nothing_until_it_is_erased() {
        let mut m = medium();
        program(&mut m, ONE, 0..3);
        m.cut_power(&[Interrupted::Erase { block: ONE }]);
        let refused = m.queue_program(ONE, 0).map(|_| ());
        assert_eq!(refused, Err(Violation::HalfErased { die: DieId::new(0), block: 1 }));
        assert!(m.is_half_erased(ONE) && m.finished_pages(ONE) == 0);
        m.cut_power(&[]);
        assert!(m.is_half_erased(ONE));
        assert_eq!(m.erase(ONE), Ok(Outcome::Done));
        program(&mut m, ONE, 0..1);
    }

    #[test]
    fn rows_are_numbered_on_from_the_newest_torn_ones_included() {
        let mut m = medium();
        program(&mut m, ONE, 0..2);
        m.queue_program(TWO, 0).expect("in order").tags.fill(9);
        m.begin_program(TWO, 0).expect("in order");
        m.cut_power(&[Interrupted::Program { block: TWO, page: 0, spares_older: false }]);
        m.resume_sequence(std::iter::empty());
        assert_eq!(m.rows_queued(), 3);
        m.program_at_start(TWO, 1, |tags| tags.fill(3)).expect("the next page");
        assert_eq!((m.sequence(TWO, 1), m.rows_queued()), (SequenceNumber::new(3), 4));
        m.tear_program(TWO, 1, false);
        assert!(!m.is_readable(TWO, 1));
    }
}
