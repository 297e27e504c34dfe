//! Padding at FLUSH: before a flush is answered, rows without data are programmed into the host's open superblocks, until no
//! later program shares its cells with what was flushed.
//!
//! What the host has not flushed is not protected: where a cut destroys such a page, the drive falls back to the one before,
//! which is lawful. So that it is still there, no superblock is erased before the pages that have replaced what it held are
//! closed in as well: an erase pads like a flush. What collectors move, and what a recovery fills up, was flushed long ago
//! and is copied as in `copies.rs`; a recovery closes in what it finds before the drive is ready. All this is an estimate: the
//! simplest firmware that keeps its word.

use super::WIDEST;
use std::collections::VecDeque;

use ssdlab_nand::{BlockId, EMPTY_TAG, LogicalPage};

use crate::op::{FlashOp, OpSink};
use crate::page_map::PageMap;
use crate::page_map::allocator::Writer;
use crate::page_map::pacing::MICRO;

/// The state of the host's rows at one padding.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// Once so many programs of the host have ended …
    programs: u64,
    /// … everything up to this accepted unit is closed in.
    units: u64,
}

/// See the module's own page.
#[derive(Clone, Debug, Default)]
pub struct Padding {
    /// The oldest first; the first counts already.
    marks: VecDeque<Mark>,
}

impl Padding {
    /// After a cut: everything that counts as accepted is closed in.
    pub fn restart(&mut self, accepted: u64) {
        self.marks = VecDeque::from([Mark { programs: 0, units: accepted }]);
    }

    /// Accepted units up to which everything is closed in, once so many programs of the host have ended.
    pub fn closed_in(&self, programs: u64) -> u64 {
        let ended = self.marks.iter().take_while(|mark| mark.programs <= programs);
        ended.last().map_or(0, |mark| mark.units)
    }

    /// The same, in programs of the host.
    pub fn closed_in_programs(&self, programs: u64) -> u64 {
        self.marks.iter().take_while(|mark| mark.programs <= programs).last().map_or(0, |mark| mark.programs)
    }

    fn note(&mut self, mark: Mark, ended: u64) {
        while self.marks.get(1).is_some_and(|next| next.programs <= ended) {
            self.marks.pop_front();
        }
        if self.marks.back().is_none_or(|last| last.units < mark.units) {
            self.marks.push_back(mark);
        }
    }

    fn newest(&self) -> u64 {
        self.marks.back().map_or(0, |mark| mark.units)
    }
}

impl PageMap {
    /// All that a flush has asked for has gone out: closes it in.
    #[cold]
    pub(in crate::page_map) fn pad_for_flush(&mut self, sink: &mut impl OpSink) {
        let Some(padding) = &self.padding else { return };
        if !self.buffer.is_forced() && padding.newest() < self.buffer.forced_to() {
            self.pad(sink);
            for domain in 0..self.allocator.domains() {
                self.start_if_due(domain, sink);
            }
            self.dispatch(sink);
        }
    }

    /// Closes in all rows of the host that have gone to dies.
    #[cold]
    pub(in crate::page_map) fn pad(&mut self, sink: &mut impl OpSink) {
        if self.padding.is_none() || self.is_frozen() {
            return;
        }
        for domain in 0..self.allocator.domains() {
            for stream in 0..self.allocator.streams() {
                while self.has_open_word_lines(domain, stream) {
                    self.pad_row(domain, stream, sink);
                }
            }
        }
        let (programs, units) = (self.host.programs().issued(), self.buffer.dispatched());
        let ended = self.host.programs().head();
        if let Some(padding) = &mut self.padding {
            padding.note(Mark { programs, units }, ended);
        }
    }

    /// Whether later programs of the host's open superblock share cells with data in it.
    fn has_open_word_lines(&self, domain: usize, stream: u8) -> bool {
        let Some(open) = self.allocator.host_superblock(domain, stream) else { return false };
        if self.recovery.pads_nothing() {
            return false;
        }
        self.superblocks.blocks_of(open).any(|block| self.closed_from(block) > self.medium.issued_pages(block))
    }

    /// The first page from which on programs share cells with no data of a block; the next page, if that is none before.
    pub(in crate::page_map) fn closed_from(&self, block: BlockId) -> u32 {
        let layout = self.medium.layout();
        let issued = self.medium.issued_pages(block);
        let holds = |page: u32| {
            let start = layout.row_start(block, page);
            self.medium.is_readable(block, page)
                && start.run(self.row_units).any(|unit| self.medium.lpn(unit) != LogicalPage::NONE)
        };
        let open = (0..issued).rev().take(WIDEST).filter(|&page| self.medium.last_of_word_line(block, page) >= issued);
        open.filter(|&page| holds(page))
            .map(|page| self.medium.last_of_word_line(block, page) + 1)
            .fold(issued, u32::max)
    }

    fn pad_row(&mut self, domain: usize, stream: u8, sink: &mut impl OpSink) {
        let writer = Writer::Host { stream };
        let place = self.allocator.take(domain, writer, &mut self.superblocks, &mut self.medium);
        let place = place.expect("the superblock is open");
        let row = self.medium.queue_program(place.block, place.page).expect("rows are taken in order");
        row.tags.fill(EMPTY_TAG);
        let start = row.start;
        self.begin_extents(start, 0, 0);
        self.add_valid(place.superblock, 0);
        if place.last {
            self.collector.hold_victims(domain);
        }
        self.counters.host_rows += 1;
        self.counters.padding_units += u64::from(self.row_units);
        if self.pacing.limits_host() {
            self.collector.spend_credit(domain, self.row_units, MICRO);
        }
        let number = self.host.begin(place.die, 0, self.buffer.dispatched());
        sink.enqueue(place.die, FlashOp::host_program(place.block, place.page, 0, number, sink.data_from(0)));
        self.note_writable(domain);
    }
}
