//! The medium, and where on it each logical page lives.
//!
//! The firmware of such a drive knows blocks only, and looks pages up in the spare areas of open logs. The simulator keeps
//! what that look-up would find.

use std::ops::Range;

use ssdlab_nand::{BlockId, EMPTY_TAG, LogicalPage, Medium, Outcome, UnitAddress, memory};

/// Where pages live that hold nothing.
pub const NOWHERE: UnitAddress = UnitAddress::NONE;

/// See the module's own page. A row is one unit.
#[derive(Clone, Debug)]
pub struct Contents {
    medium: Medium,
    lives: Vec<UnitAddress>,
    /// The last write of each page that has come from the host.
    newest: Vec<u8>,
}

impl Contents {
    #[must_use]
    pub fn new(medium: Medium, logical_pages: u32) -> Self {
        let pages = logical_pages as usize;
        Contents { medium, lives: vec![NOWHERE; pages], newest: vec![0; pages] }
    }

    #[inline]
    #[must_use]
    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    pub fn medium_mut(&mut self) -> &mut Medium {
        &mut self.medium
    }

    /// Where a page lives, or will once the host's program has ended.
    #[inline]
    #[must_use]
    pub fn unit(&self, page: LogicalPage) -> Option<UnitAddress> {
        Some(self.lives[page.index()]).filter(|&unit| unit != NOWHERE)
    }

    #[must_use]
    pub fn newest(&self, page: LogicalPage) -> u8 {
        self.newest[page.index()]
    }

    /// The host has sent a page.
    pub fn accept(&mut self, page: LogicalPage, write_number: u8) {
        self.newest[page.index()] = write_number;
    }

    /// Queues the program of a page of the host.
    pub fn write(&mut self, page: LogicalPage, write_number: u8, block: BlockId, row: u32) {
        let tag = self.medium.format().pack(page, write_number);
        let programmed = self.medium.queue_program(block, row).expect("rows are programmed in order");
        programmed.tags[0] = tag;
        self.lives[page.index()] = programmed.start;
    }

    /// Queues the program of a copy of a unit, spare area included, or of padding.
    #[inline]
    pub fn copy(&mut self, from: Option<UnitAddress>, block: BlockId, row: u32) {
        let tag = from.map_or(EMPTY_TAG, |unit| self.medium.tag(unit));
        let programmed = self.medium.queue_program(block, row).expect("rows are programmed in order");
        programmed.tags[0] = tag;
        if let Some(from) = from {
            let to = programmed.start;
            self.medium.take_sequence(from, to);
        }
    }

    /// The same as [`Contents::copy`], [`Contents::begin_program`], [`Contents::finish_program`] and [`Contents::copied`] one after
    /// the other.
    #[inline(always)]
    pub fn copy_whole(&mut self, page: LogicalPage, from: UnitAddress, block: BlockId, row: u32) {
        let to = self.medium.program_copy(from, block, row).expect("rows are programmed in order");
        let lives = &mut self.lives[page.index()];
        if *lives == from {
            *lives = to;
        }
    }

    /// Asks the processor to fetch where a page lives. The page may lie behind the drive's last.
    #[inline]
    pub fn prefetch(&self, page: LogicalPage) {
        memory::prefetch(&self.lives, page.index());
    }

    /// A copy of a page has been programmed: it lives there now, unless the host has written it anew or trimmed it.
    #[inline]
    pub fn copied(&mut self, page: LogicalPage, from: UnitAddress, block: BlockId, row: u32) {
        if self.lives[page.index()] == from {
            self.lives[page.index()] = self.medium.layout().row_start(block, row);
        }
    }

    #[inline]
    pub fn begin_program(&mut self, block: BlockId, row: u32) {
        self.medium.begin_program(block, row).expect("rows are programmed in order");
    }

    #[inline]
    pub fn finish_program(&mut self, block: BlockId, row: u32) -> Outcome {
        self.medium.finish_program(block, row).expect("rows are programmed in order")
    }

    pub fn erase(&mut self, block: BlockId) -> Outcome {
        self.medium.erase(block).expect("nothing is being programmed there")
    }

    pub fn forget(&mut self, pages: Range<LogicalPage>) {
        self.lives[pages.start.index()..pages.end.index()].fill(NOWHERE);
    }

    pub fn forget_all(&mut self) {
        self.lives.fill(NOWHERE);
        self.newest.fill(0);
    }

    /// After a power cut pages live there. Returns those that did not before, in order.
    pub fn found(&mut self, lives: Vec<UnitAddress>) -> Vec<LogicalPage> {
        let moved = self.lives.iter().zip(&lives).zip(0..).filter(|((before, now), _)| before != now);
        let moved = moved.map(|(_, page)| LogicalPage::new(page)).collect();
        self.lives = lives;
        moved
    }

    /// Pages that live somewhere, and where.
    pub fn living(&self) -> impl Iterator<Item = (LogicalPage, UnitAddress)> {
        (0..).map(LogicalPage::new).zip(self.lives.iter().copied()).filter(|&(_, unit)| unit != NOWHERE)
    }
}
