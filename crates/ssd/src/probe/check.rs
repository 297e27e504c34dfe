//! The oracle of what the host wrote, and the referees of time.

use std::ops::Range;

use ssdlab_core::Nanos;
use ssdlab_nand::{CellMode, DieId, DieSpec, LogicalPage, memory, memory::Table};

use crate::spec::DriveSpec;
use crate::timing::{CopyAndRead, Interval, LinkReferee, Load, Operation, TimingReferee};
use crate::whole_dies::WholeDies;

/// How often the host has written a page: from 1 to a greatest number below 128, over and over; 0: never. A trim leaves the count,
/// so that what is written next is told from what was there before, which a power cut may bring back.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
struct WriteCount(u8);

impl WriteCount {
    /// Beside the count: the page was trimmed since.
    const TRIMMED: u8 = 0x80;

    /// The number of the last write; 0: the page holds nothing.
    #[inline]
    fn number(self) -> u8 {
        if self.0 & Self::TRIMMED == 0 { self.0 } else { 0 }
    }

    #[inline]
    fn next(self, greatest: u8) -> Self {
        let count = self.0 & !Self::TRIMMED;
        WriteCount(if count == greatest { 1 } else { count + 1 })
    }

    fn trimmed(self) -> Self {
        WriteCount(if self.0 == 0 { 0 } else { self.0 | Self::TRIMMED })
    }
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Checks {
    /// What the host wrote last, by page: a [`WriteCount`] each, as plain zeros take no memory. Empty on a drive that does not check.
    written: Table<u8>,
    /// Whether a page was trimmed since counts last began anew.
    any_trimmed: bool,
    max_write_number: u8,
    flash: TimingReferee,
    link: LinkReferee,
}

impl Checks {
    #[must_use]
    pub fn new(drive: &DriveSpec, die: &DieSpec, pages: u32, max_write_number: u8) -> Self {
        Checks {
            written: Table::zeroed(pages as usize),
            any_trimmed: false,
            max_write_number,
            flash: TimingReferee::new(drive, die),
            link: LinkReferee::new(&drive.link),
        }
    }

    /// The number of the host's last write of a page; 0: it holds nothing.
    #[inline]
    #[must_use]
    pub fn last_write(&self, page: LogicalPage) -> u8 {
        WriteCount(self.written[page.index()]).number()
    }

    /// The last write of every page.
    pub fn last_writes(&self) -> impl Iterator<Item = (LogicalPage, u8)> + '_ {
        (0..).map(LogicalPage::new).zip(self.written.iter().map(|&count| WriteCount(count).number()))
    }

    /// One more write of a page; returns its number.
    #[inline]
    pub fn count_write(&mut self, page: LogicalPage) -> u8 {
        let written = &mut self.written[page.index()];
        let next = WriteCount(*written).next(self.max_write_number);
        *written = next.0;
        next.number()
    }

    /// Pages were trimmed: they hold nothing any more.
    pub fn trim(&mut self, pages: Range<LogicalPage>) {
        if pages.start < pages.end {
            let written = &mut self.written[pages.start.index()..pages.end.index()];
            written.iter_mut().for_each(|count| *count = WriteCount(*count).trimmed().0);
            self.any_trimmed = true;
        }
    }

    /// It is as if no page had ever been written.
    pub fn forget_all(&mut self) {
        self.written.clear();
    }

    /// The drive starts: counts of what was trimmed begin anew.
    pub fn begin_trimmed_anew(&mut self) {
        if std::mem::take(&mut self.any_trimmed) {
            let trimmed = self.written.iter_mut().filter(|count| **count != 0 && WriteCount(**count).number() == 0);
            trimmed.for_each(|count| *count = 0);
        }
    }

    /// From now on this counts as the host's last write of a page; 0: it holds nothing, and its count begins anew.
    pub fn set_last_write(&mut self, page: LogicalPage, number: u8) {
        // What was never written takes no memory.
        if self.written[page.index()] != number {
            self.written[page.index()] = number;
        }
    }

    /// The power is gone: no die and no wire is busy.
    pub fn power_cut(&mut self) {
        self.flash.power_cut();
        self.link.power_cut();
    }

    #[inline]
    pub fn prefetch(&self, page: LogicalPage) {
        memory::prefetch(&self.written, page.index());
    }

    /// See [`TimingReferee::set_page_read_times`].
    pub fn set_page_read_times(&mut self, by_page: &[Nanos]) {
        self.flash.set_page_read_times(by_page);
    }

    /// See [`TimingReferee::count_whole_dies`].
    pub fn count_whole_dies(&mut self, whole: WholeDies) {
        self.flash.count_whole_dies(whole);
    }

    /// # Panics
    /// If a die would not have accepted the operation.
    pub fn operation(&mut self, operation: &Operation) {
        if let Err(violation) = self.flash.issue(operation) {
            panic!("the scheduler broke a rule of the flash: {violation} ({operation:?})");
        }
    }

    /// The data of a die's next program cross the channel while its array programs.
    ///
    /// # Panics
    /// If the die would not have taken them.
    pub fn loaded(&mut self, load: &Load) {
        if let Err(violation) = self.flash.load(load) {
            panic!("the scheduler broke a rule of the flash: {violation} ({load:?})");
        }
    }

    /// What a die has in its second register is not programmed.
    pub fn gave_register_up(&mut self, die: DieId) {
        self.flash.gave_register_up(die);
    }

    /// The same for two operations, one behind the other, in the die's own cell mode.
    ///
    /// # Panics
    /// If a die would not have accepted them.
    #[inline(always)]
    pub fn copy(&mut self, copy: &CopyAndRead, mode: CellMode) {
        if !self.flash.takes_copy(copy) {
            copy.steps(mode).iter().for_each(|step| self.operation(step));
        }
    }

    /// A die is interrupted, and takes reads from `at` on.
    pub fn interrupted(&mut self, die: DieId, now: Nanos, at: Nanos) {
        self.flash.interrupted(die, now, at);
    }

    /// A die goes on with what was interrupted.
    ///
    /// # Panics
    /// If that would end too early.
    pub fn resumed(&mut self, die: DieId, at: Nanos, end: Nanos) {
        if let Err(violation) = self.flash.resumed(die, at, end) {
            panic!("the scheduler broke a rule of the flash: {violation} (after an interruption)");
        }
    }

    /// Command cycles cross a channel.
    ///
    /// # Panics
    /// If the channel carries something else then.
    pub fn cycles(&mut self, channel: u32, asked: Nanos, slot: Interval) {
        if let Err(violation) = self.flash.pass_through(channel, asked, slot) {
            panic!("the scheduler broke a rule of the flash: {violation} (command cycles)");
        }
    }

    /// A page of a stripe crosses its channel.
    ///
    /// # Panics
    /// If the channel carries something else then.
    pub fn stripe_page(&mut self, channel: u32, asked: Nanos, transfer: Interval) {
        if let Err(violation) = self.flash.pass_through(channel, asked, transfer) {
            panic!("the scheduler broke a rule of the flash: {violation} (a page of a stripe)");
        }
    }

    /// # Panics
    /// If the link would not have carried the transfer.
    pub fn on_link(&mut self, transfer: Interval, bytes: u64, to_drive: bool) {
        if let Err(violation) = self.link.issue(transfer, bytes, to_drive) {
            panic!("the drive broke a rule of the link: {violation}");
        }
    }
}
