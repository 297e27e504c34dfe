//! Recovery of a large drive in tens of milliseconds of this machine's time.
//!
//! To read the spare areas of 256 GB takes seconds; a test of a thousand cuts has a fraction of one for each. What a
//! recovery finds differs from what the map said before the cut for few pages: those that the buffer held, those in rows
//! that never came to be, those that the cut destroyed, those whose trim is forgotten, and those that live in the copy area,
//! which may hold them twice. For all others the newest copy is where it was. So the map is kept for these as if it had been
//! read from checkpoint and journal, and the copies of the few are looked for: among the units of finished rows that no other
//! page lives in.
//!
//! That is a short cut of the simulator. That it leads to what all spare areas say is tested.

use ssdlab_nand::{LogicalPage, LogicalPages, UnitAddress};

use super::fault::RecoveryFault;
use super::newest::{Copies, Destroyed, Fates};
use crate::page_map::PageMap;
use crate::page_map::map::Place;
use crate::translation::LostPage;

/// Pages from which on the full way is the shorter one.
const TOO_MANY: usize = 1 << 22;

/// Which pages are looked for, by the low bits of their addresses: few units need a closer look.
struct Filter(Box<[u64; 1024]>);

impl Filter {
    fn new(pages: &[LogicalPage]) -> Self {
        let mut words = Box::new([0; 1024]);
        for page in pages {
            let page = page.number();
            words[(page >> 6 & 1023) as usize] |= 1 << (page & 63);
        }
        Filter(words)
    }

    #[inline]
    fn may_hold(&self, page: LogicalPage) -> bool {
        let page = page.number();
        self.0[(page >> 6 & 1023) as usize] >> (page & 63) & 1 != 0
    }
}

impl PageMap {
    /// Pages that would be others if RAM were lost: what waits in the buffer, and trims that are not on flash. `None` if
    /// there are too many.
    pub(super) fn pages_in_ram(&self) -> Option<Vec<LogicalPage>> {
        let mut pages = Vec::new();
        for stream in 0..self.buffer.streams() {
            let waiting = (0..self.buffer.waiting_of(stream)).map(|k| self.buffer.front(stream, k).0.tag);
            pages.extend(waiting.map(|tag| self.medium.format().lpn(tag)).filter(|&page| page != LogicalPage::NONE));
        }
        for trim in self.log.unsaved_trims() {
            if pages.len() + trim.pages.count() as usize > TOO_MANY {
                return None;
            }
            pages.extend(trim.pages.each());
        }
        // A page that lives in the copy area may be there twice: either way finds the same one of two that are equal.
        for block in self.copy_blocks() {
            let entries = (0..self.medium.finished_pages(block)).flat_map(|row| self.entries_of_row(block, row));
            pages.extend(entries.filter(|&(page, unit)| self.map.get(page) == Place::Flash(unit)).map(|entry| entry.0));
        }
        Some(pages)
    }

    /// Takes pages out of the map, to be looked for.
    pub(super) fn forget_more(&mut self, mut pages: Vec<LogicalPage>) {
        let Some(mut affected) = self.recovery.affected.take() else { return };
        for &page in &pages {
            let unit = match self.map.get(page) {
                Place::Unmapped => continue,
                Place::Flash(unit) => unit,
                Place::Buffer(at) => self.buffer.slot(at).old,
            };
            self.map.unmap(page);
            if unit != UnitAddress::NONE {
                self.validity.clear_span(unit, u64::MAX >> (64 - self.units_at(unit)));
            }
        }
        affected.append(&mut pages);
        affected.sort_unstable();
        affected.dedup();
        self.recovery.affected = Some(affected);
    }

    /// Pages that were lost before, and that are not among those looked for: lost still, if nothing has come there since.
    pub(super) fn look_at_others_lost(&mut self, pages: &[LogicalPage], lost: &mut Vec<LostPage>) {
        let trims = self.log.trims_on_flash();
        let map = &self.map;
        self.recovery.lost.retain(|&page, &mut sequence| {
            if pages.binary_search(&page).is_ok() {
                return true;
            }
            let trimmed = trims.and_then(|trims| trims.of(page));
            let trimmed = trimmed.is_some_and(|before_row| before_row > sequence);
            let still = map.get(page) == Place::Unmapped && !trimmed;
            if still {
                lost.push(LostPage { page, mode: None });
            }
            still
        });
    }

    /// What has become of some pages, given in order.
    pub(super) fn newest_of(&self, pages: &[LogicalPage]) -> Fates {
        let filter = Filter::new(pages);
        let number = |page: LogicalPage| pages.binary_search(&page).ok().map(|k| k as u32);
        let mut copies = Copies::new(pages.len() as u32);
        let layout = self.medium.layout();
        let format = self.medium.format();
        let fault = self.recovery.fault;
        // Copies of older pages come after the pages themselves, whose numbers they have.
        let copied = self.copy_blocks().filter(|_| fault != Some(RecoveryFault::ForgetsCopies));
        for block in layout.all_blocks().filter(|&block| self.may_hold_data(block)).chain(copied) {
            let finished = self.medium.finished_pages(block);
            if finished == 0 {
                continue;
            }
            let damaged = self.medium.unreadable_pages(block).next().is_some();
            let (mut at, end) = (layout.row_start(block, 0), layout.row_start(block, 0) + finished * layout.row_units);
            while at < end {
                let width = (end - at).min(64);
                let mut free = !self.validity.span(at) & (u64::MAX >> (64 - width));
                let tags = self.medium.tags_from(at);
                while free != 0 {
                    let k = free.trailing_zeros();
                    free &= free - 1;
                    let page = format.address(tags[k as usize & 63]);
                    if !filter.may_hold(page) {
                        continue;
                    }
                    let Some(number) = number(page) else { continue };
                    let row = layout.row_of(at + k).1;
                    let sequence = self.number_found(block, row);
                    if self.recovery.is_void(sequence) {
                        continue;
                    }
                    if !damaged || self.medium.is_readable(block, row) || self.can_be_rebuilt((block, row)) {
                        copies.found(number, sequence, at + k);
                    } else if !self.medium.is_torn(block, row)
                        && self.padding.is_none()
                        && !self.recovery.is_written_off((block, row), sequence)
                    {
                        let mode = self.medium.mode(block);
                        copies.destroyed(number, sequence, Destroyed { unit: at + k, block, page: row, mode });
                    }
                }
                at += width;
            }
        }
        for (&page, number) in pages.iter().zip(0..) {
            if let Some(&sequence) = self.recovery.lost.get(&page) {
                copies.lost_before(number, sequence);
            }
        }
        if let Some(table) = self.log.trims_on_flash() {
            let skipped = |page: LogicalPage, before_row| {
                fault.is_some_and(|fault| fault.forgets_trim(&page.run(1), before_row, table))
            };
            for (&page, number) in pages.iter().zip(0..) {
                if let Some(before_row) = table.of(page).filter(|&before_row| !skipped(page, before_row)) {
                    copies.trimmed(number, before_row);
                }
            }
        }
        for (page, sequence) in self.recovery.held.each() {
            if let Some(number) = number(page) {
                copies.not_before(number, sequence);
            }
        }
        copies.judged(|gone, unit| self.was_moved_from(gone, unit))
    }
}
