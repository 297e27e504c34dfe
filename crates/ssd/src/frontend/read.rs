//! Reads: from the buffer, from what was read ahead, or from flash.

use std::ops::Range;

use ssdlab_core::Cause;
use ssdlab_device::Status;
use ssdlab_ftl::{NOBODY, Promise, ReadFrom, RowReads, Translation, first_page, pages_brought};
use ssdlab_nand::{LogicalPage, LogicalPages};

use super::link::Direction;
use super::read_ahead::{Lookup, Source};
use crate::SimulatedSsd;
use crate::backend::{Ended, ReadRetry};
use crate::op_queues::OpQueues;
use crate::slot::Slot;

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    #[inline(always)]
    pub(crate) fn begin_read(&mut self, slot: Slot) {
        if self.backend.reads_parts() { self.begin_read_in_part(slot) } else { self.begin_read_of::<false>(slot) }
    }

    // Apart, so that drives that read whole pages do not pay for it.
    #[cold]
    #[inline(never)]
    fn begin_read_in_part(&mut self, slot: Slot) {
        self.begin_read_of::<true>(slot);
    }

    /// `IN_PART`: of a single page, only what is wanted may cross the channel.
    #[inline(always)]
    fn begin_read_of<const IN_PART: bool>(&mut self, slot: Slot) {
        let request = self.frontend.commands.slot(slot).request;
        let (first, last) = self.unit.touched(&request);
        let mut parts = 0;
        let mut from_ram = 0u64;
        let mut reads =
            RowReads::new(slot.for_read(), self.translation.compresses()).by_plane(self.backend.units_read_apart());
        let short = IN_PART && request.length_bytes < self.unit.bytes() && last - first == 1;
        let part = if short { self.backend.part_of_page(self.unit.sectors(&request, first)) } else { 0 };
        let mut queues = OpQueues::new(&mut self.backend, &mut self.firmware.processor, self.now).of_part(part);
        let mut alone = None;
        for page in (first..last).each() {
            match self.frontend.read_ahead.lookup(page, slot) {
                Lookup::Absent => {}
                found @ (Lookup::Here(write) | Lookup::Coming(write)) => {
                    // What was read ahead must be what the host wrote last.
                    if let Some(expected) = self.probe.last_write(page) {
                        assert!(
                            write == expected,
                            "page {page} was read ahead as write {write}, the last was {expected}"
                        );
                    }
                    if found == Lookup::Here(write) {
                        from_ram += 1;
                        self.flash.buffer_read_units += 1;
                    } else {
                        parts += 1;
                    }
                    continue;
                }
            }
            match self.translation.read_page(page, &mut reads, &mut queues) {
                ReadFrom::Flash { unit, bytes, .. } => {
                    self.flash.host_read_bytes += u64::from(bytes);
                    alone = Some(unit);
                }
                ReadFrom::Nowhere => {
                    from_ram += 1;
                    self.flash.unmapped_read_bytes += self.unit.bytes_in(&request, page);
                }
                ReadFrom::Ram => {
                    from_ram += 1;
                    self.flash.buffer_read_units += 1;
                }
            }
        }
        let operations = reads.finish(&mut queues);
        parts += operations;
        if operations > 1 && self.firmware.processor.sets_up_extents() {
            self.set_up_extents(slot, operations - 1);
        }
        if from_ram > 0 {
            let waiting = self.wait_for_missing(slot);
            parts += waiting;
            from_ram -= u64::from(waiting);
        }
        // A page by itself is checked when the die has delivered it: to wait for its tag now would be a large part of
        // all that a random read costs.
        let promised = match alone {
            Some(unit) if last - first == 1 => {
                self.translation.medium().prefetch_tags(unit, 1);
                Some(Promise { unit, page: first, write_number: self.probe.last_write(first) })
            }
            _ => {
                (first..last).each().for_each(|page| self.check_page(page));
                None
            }
        };
        if self.has_lost(first..last) {
            self.frontend.commands.slot(slot).status = Status::MediaError;
        }
        let whole_drive = LogicalPage::new(self.translation.logical_pages());
        let bytes = request.offset_bytes..request.offset_bytes + request.length_bytes;
        let ahead = self.frontend.read_ahead.observe(bytes, self.unit.bytes(), last, whole_drive);
        if !ahead.is_empty() {
            self.fetch_ahead(ahead);
        }
        self.begin_woken();
        let c = self.frontend.commands.slot(slot);
        c.parts = parts;
        c.promised = promised;
        if from_ram > 0 {
            self.send(slot, from_ram);
        }
        if parts == 0 {
            self.finish_read(slot);
        }
    }

    /// Checks what a read of this page would return against what the host wrote.
    #[inline]
    fn check_page(&self, page: LogicalPage) {
        let write_number = self.probe.last_write(page);
        if let Some(unit) = self.translation.unit_of(page) {
            Promise { unit, page, write_number }.check(self.translation.medium());
        } else if let Some(expected) = write_number {
            let found = self.translation.write_number(page).unwrap_or(0);
            assert!(found == expected, "read of page {page} would return write {found}, the last was {expected}");
        }
    }

    /// Reads pages into DRAM that the host has not asked for yet.
    fn fetch_ahead(&mut self, range: Range<LogicalPage>) {
        if self.translation.loads_on_demand() {
            let known = self.known_ahead(range);
            self.read_pages_ahead(known.into_iter());
        } else {
            self.read_pages_ahead(range.each());
        }
    }

    /// The same for pages whose map entries are known.
    pub(super) fn read_pages_ahead(&mut self, pages: impl Iterator<Item = LogicalPage>) {
        let mut reads = RowReads::new(NOBODY, self.translation.compresses()).by_plane(self.backend.units_read_apart());
        let mut queues = OpQueues::new(&mut self.backend, &mut self.firmware.processor, self.now);
        for page in pages {
            if !self.frontend.read_ahead.wants(page) {
                continue;
            }
            let source = match self.translation.read_page(page, &mut reads, &mut queues) {
                ReadFrom::Flash { unit, bytes, first } => {
                    self.flash.host_read_bytes += u64::from(bytes);
                    // What the row holds is asked for when it arrives.
                    self.translation.medium().prefetch_tags(unit, 1);
                    Source::Flash { unit, first }
                }
                // It is read when it is asked for; there is nothing to be read of what holds nothing.
                ReadFrom::Nowhere => continue,
                ReadFrom::Ram if self.translation.missing_sectors(page) != 0 => continue,
                ReadFrom::Ram => Source::Ram,
            };
            self.frontend.read_ahead.expect(page, source, self.probe.last_write(page).unwrap_or(0));
        }
        let operations = reads.finish(&mut queues);
        if self.firmware.processor.sets_up_extents() {
            self.firmware.processor.set_up_extents(self.now, operations.into());
        }
    }

    /// The firmware sets up so many more stretches of a read than its first, beside what the dies do.
    #[cold]
    #[inline(never)]
    fn set_up_extents(&mut self, slot: Slot, extents: u32) {
        let set_up = self.firmware.processor.set_up_extents(self.now, extents.into());
        let c = self.frontend.commands.slot(slot);
        c.processed = c.processed.max(set_up);
    }

    /// Sends pages of a read over the link, from now on.
    #[inline]
    fn send(&mut self, slot: Slot, pages: u64) {
        let most = pages * self.unit.bytes();
        let c = self.frontend.commands.slot(slot);
        let bytes = c.bytes_left.min(most);
        c.bytes_left -= bytes;
        let last = c.bytes_left == 0;
        let (_, end) = self.transfer_on_link(self.now, bytes, Direction::ToHost, last);
        self.frontend.commands.slot(slot).link_end = end;
    }

    /// A die has delivered part of a read, or pages that were read ahead.
    #[inline]
    pub(crate) fn read_part_done(&mut self, ended: &Ended, retry: Option<&ReadRetry>) {
        let op = ended.op;
        let packed = self.translation.compresses();
        if op.command() != NOBODY {
            let layout = self.translation.medium().layout();
            let lost = retry.is_some_and(|retry| retry.has_lost_of(&op, layout));
            self.deliver_part(Slot::of_read(op.command()), pages_brought(&op, packed).into(), ended, retry, lost);
            return;
        }
        let layout = self.translation.medium().layout();
        let start = layout.row_start(op.block(), op.page());
        let first = first_page(&op, packed);
        for unit in start.run(layout.row_units) {
            let page = self.translation.medium().lpn(unit);
            if let Some((slot, expected)) = self.frontend.read_ahead.arrived(page, unit, first) {
                if CHECK {
                    let found = self.translation.medium().generation(unit);
                    assert!(found == expected, "write {found} of page {page} was read ahead for write {expected}");
                }
                let lost = retry.is_some_and(|retry| retry.lost.contains(&unit));
                self.deliver_part(slot, 1, ended, retry, lost);
            }
        }
    }

    #[inline]
    pub(super) fn deliver_part(
        &mut self,
        slot: Slot,
        pages: u64,
        ended: &Ended,
        retry: Option<&ReadRetry>,
        lost: bool,
    ) {
        self.send(slot, pages);
        let c = self.frontend.commands.slot(slot);
        if lost {
            c.status = Status::MediaError;
        }
        c.parts -= 1;
        if c.parts > 0 {
            return;
        }
        // The last part to come decides how long the command took.
        let (decoded, now) = (c.decoded, self.now);
        let first_out = retry.map(|retry| retry.first_out);
        self.probe.explain(|explanations| explanations.read_ended(slot, ended.die, decoded, now, first_out));
        self.finish_read(slot);
    }

    /// All parts are on the link, or booked on it.
    #[inline]
    fn finish_read(&mut self, slot: Slot) {
        let now = self.now;
        let c = self.frontend.commands.slot(slot);
        let (link_end, done, status) = (c.link_end, c.link_end.max(c.processed), c.status);
        if let Some(promised) = c.promised {
            promised.check(self.translation.medium());
        }
        self.probe.explain(|explanations| explanations.add(slot, Cause::Link, link_end - now));
        self.respond_with(slot, done, status);
    }
}
