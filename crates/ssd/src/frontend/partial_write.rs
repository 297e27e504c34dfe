//! Writes of a part of a page: the rest is on flash, or in the buffer.
//!
//! Where the write cache is on, the sectors go into the write buffer and are acknowledged like any others; the translation
//! layer sees to the rest before it programs the page, and a read of what is missing waits for it. Where it is off, the
//! translation layer takes whole pages only, or capacitors that keep the buffer could not carry one more such page, the
//! rest is read first.
//!
//! A page whose rest turns out to be lost counts as lost as a whole, as a page is the least that the drive keeps account
//! of; a real drive would keep the new sectors.

use std::ops::Range;

use ssdlab_core::Op;
use ssdlab_device::{Request, Status};
use ssdlab_ftl::{FOR_BUFFER, FlashOp, Promise, Source, Stretch, Translation};
use ssdlab_nand::{DieId, LogicalPage, LogicalPages};

use super::commands::IN_PARTS;
use crate::SimulatedSsd;
use crate::backend::{Ended, ReadRetry};
use crate::mapping_unit::MappingUnit;
use crate::op_queues::OpQueues;
use crate::slot::Slot;

/// The pages that a write writes in part: its first, its last, both, or the only one.
fn partly_written(unit: MappingUnit, request: &Request) -> impl Iterator<Item = LogicalPage> + Clone + use<> {
    let (first, last) = unit.touched(request);
    let head = !unit.is_aligned(request.offset_bytes);
    let tail = !unit.is_aligned(request.offset_bytes + request.length_bytes);
    let at_head = head || (first + 1 == last && tail);
    let at_tail = tail && first + 1 != last;
    at_head.then_some(first).into_iter().chain(at_tail.then(|| LogicalPage::new(last.number() - 1)))
}

/// Of a range of pages, those that a write writes as a whole.
fn wholly_written(unit: MappingUnit, request: &Request, pages: Range<LogicalPage>) -> Range<LogicalPage> {
    let covered = unit.covered(request);
    pages.start.max(covered.start)..pages.end.min(covered.end)
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Begins a write of which the first or last page is written in part. Returns whether it goes in line for the buffer
    /// now.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_partial_write(&mut self, slot: Slot) -> bool {
        if !self.buffer.acknowledges || !self.translation.buffers_parts() || !self.may_lack_more(slot) {
            return !self.read_for_merge(slot);
        }
        let request = self.frontend.commands.slot(slot).request;
        if partly_written(self.unit, &request).any(|page| self.has_lost(page.run(1))) {
            self.refuse_with(slot, Status::MediaError);
            return false;
        }
        self.frontend.commands.slot(slot).parts = IN_PARTS;
        true
    }

    /// Whether what has arrived in the buffer is still safe there once the command in a slot is: capacitors carry only
    /// so many pages whose rest is to be read. Those of writes that wait for room count as there.
    fn may_lack_more(&mut self, slot: Slot) -> bool {
        if !self.plug.keeps_buffer {
            return true;
        }
        let parts = |request: &Request| partly_written(self.unit, request).count() as u32;
        let commands = &mut self.frontend.commands;
        let mut lacking = self.translation.lacking_units() + parts(&commands.slot(slot).request);
        let waiting: Vec<Slot> = commands.writes.iter().collect();
        for slot in waiting {
            let waits = commands.slot(slot);
            if waits.parts == IN_PARTS {
                lacking += parts(&waits.request);
            }
        }
        lacking <= self.plug.may_lack
    }

    /// Lets a stretch of a write into the buffer whose first or last page may be written in part.
    #[cold]
    #[inline(never)]
    pub(super) fn write_in_parts(&mut self, slot: Slot, stretch: Stretch) {
        let request = self.frontend.commands.slot(slot).request;
        for k in 0..stretch.units {
            let page = stretch.first + k;
            let sectors = self.unit.sectors(&request, page);
            let ready = stretch.from + stretch.each * u64::from(k + 1);
            if let Source::Flash(spot) = self.translation.source(page) {
                // What it will be completed with must be what the host wrote last.
                let write_number = self.probe.last_write(page);
                Promise { unit: spot.unit, page, write_number }.check(self.translation.medium());
            }
            let number = self.probe.count_write(page);
            self.translation.write_part(page, sectors, stretch.stream, ready, number);
        }
        self.forgive_lost(wholly_written(self.unit, &request, stretch.first.run(stretch.units)));
    }

    /// The command in a slot reads pages that the controller has in RAM, in part perhaps. Returns for how many of them it has
    /// to wait.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_for_missing(&mut self, slot: Slot) -> u32 {
        let request = self.frontend.commands.slot(slot).request;
        let (first, last) = self.unit.touched(&request);
        let mut waiting = 0;
        for page in (first..last).each() {
            if self.translation.missing_sectors(page) & self.unit.sectors(&request, page) == 0 {
                continue;
            }
            let (translation, mut queues) = self.translation_and_queues();
            translation.fetch_missing(page, &mut queues);
            if translation.missing_sectors(page) != 0 {
                self.frontend.merges.push((page, slot));
                self.flash.buffer_read_units -= 1;
                waiting += 1;
            }
        }
        waiting
    }

    /// The rest of pages that are written in part is read before the write goes on. Returns whether any has to be.
    fn read_for_merge(&mut self, slot: Slot) -> bool {
        let request = self.frontend.commands.slot(slot).request;
        let edges = partly_written(self.unit, &request);
        if edges.clone().any(|page| self.has_lost(page.run(1))) {
            self.frontend.commands.slot(slot).status = Status::MediaError;
        }
        let mut parts = 0;
        for page in edges {
            if self.translation.missing_sectors(page) != 0 {
                // Its rest is read for the buffer.
                let (translation, mut queues) = self.translation_and_queues();
                translation.fetch_missing(page, &mut queues);
                if self.translation.missing_sectors(page) != 0 {
                    parts += 1;
                    self.frontend.merges.push((page, slot));
                }
                continue;
            }
            if !matches!(self.translation.source(page), Source::Flash(_)) {
                continue;
            }
            parts += 1;
            // Another write brings this page already: both are merged with what it brings.
            let coming = self.frontend.merges.iter().any(|&(p, _)| p == page);
            self.frontend.merges.push((page, slot));
            if !coming {
                let mut queues = OpQueues::new(&mut self.backend, &mut self.firmware.processor, self.now);
                let bytes = self.translation.read_for_merge(page, slot.for_read(), &mut queues);
                self.flash.rmw_read_bytes += u64::from(bytes.unwrap_or(0));
            }
        }
        let c = self.frontend.commands.slot(slot);
        c.parts = parts;
        let unmergeable = c.status != Status::Ok;
        self.begin_woken();
        if parts == 0 && unmergeable {
            self.refuse_with(slot, Status::MediaError);
            return true;
        }
        parts > 0
    }

    /// A page to be merged has come from flash.
    // Apart from the ways that are used all the time, here and below: they would save more registers for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn merge_read_done(&mut self, op: FlashOp, die: DieId, retry: Option<&ReadRetry>) {
        let ended = &Ended { die, op };
        // First who waits for it: the die is asked what it did, before it goes on.
        self.release_merged(ended, retry);
        if ended.op.is_read_for_buffer() {
            self.backend.wake(ended.die);
            let mapped = self.mapped_die(ended.die, &ended.op);
            self.ask(|translation, queues| translation.done(mapped, ended.op, queues));
        }
        self.admit();
    }

    /// A piece of the map has come that the write buffer needs, for these pages.
    #[cold]
    #[inline(never)]
    pub(super) fn buffer_map_read_done(&mut self, op: &FlashOp, die: DieId, pages: &[LogicalPage]) {
        let mapped = self.mapped_die(die, op);
        for &page in pages {
            let op = FlashOp::map_read(op.block(), op.page(), op.units(), FOR_BUFFER, page);
            let awaited = self.frontend.merges.iter().any(|&(p, _)| p == page);
            let (translation, mut queues) = self.translation_and_queues();
            translation.done(mapped, op, &mut queues);
            if awaited {
                // Another write may have begun in its place meanwhile.
                translation.fetch_missing(page, &mut queues);
                if self.translation.missing_sectors(page) == 0 {
                    self.release_merged(&Ended { die, op }, None);
                }
            }
        }
        self.backend.wake(die);
        self.ask(|translation, queues| translation.dispatch(queues));
    }

    /// Goes on with the commands that wait for a page.
    fn release_merged(&mut self, ended: &Ended, retry: Option<&ReadRetry>) {
        let page = ended.op.merged_page();
        let mut k = 0;
        while k < self.frontend.merges.len() {
            if self.frontend.merges[k].0 != page {
                k += 1;
                continue;
            }
            let (_, slot) = self.frontend.merges.remove(k);
            if self.frontend.commands.slot(slot).request.op == Op::Read {
                let lost = retry.is_some_and(|retry| !retry.lost.is_empty());
                self.deliver_part(slot, 1, ended, retry, lost);
            } else {
                self.merge_part_done(slot, ended, retry);
            }
        }
    }

    fn merge_part_done(&mut self, slot: Slot, ended: &Ended, retry: Option<&ReadRetry>) {
        let now = self.now;
        let c = self.frontend.commands.slot(slot);
        c.parts -= 1;
        if retry.is_some_and(|retry| !retry.lost.is_empty()) {
            c.status = Status::MediaError;
        }
        if c.parts > 0 {
            return;
        }
        let (decoded, first_out) = (c.decoded, retry.map(|retry| retry.first_out));
        self.probe.explain(|explanations| {
            explanations.read_ended(slot, ended.die, decoded, now, first_out);
            explanations.begin_drive_wait(slot);
        });
        if c.status != Status::Ok {
            self.refuse_with(slot, Status::MediaError);
            return;
        }
        // From here on it waits for the buffer.
        c.decoded = now;
        self.frontend.commands.writes.push_back(slot);
    }
}
