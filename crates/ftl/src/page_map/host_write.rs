//! How the host's units are written: into the buffer, and from there, by rows, to dies.

use ssdlab_core::Nanos;
use ssdlab_nand::{EMPTY_TAG, LogicalPage, LogicalPages, UnitAddress};

use super::PageMap;
use super::allocator::{NoRoom, Place as RowPlace, Writer};
use super::compression::{MOST, Pack};
use super::map::Place;
use super::metadata_log::HeldWriter;
use super::pacing::MICRO;
use super::superblock::{State, SuperblockId};
use super::write_buffer::Slot;
use crate::op::{FlashOp, OpSink};

/// A row that the host is about to write.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostRow {
    domain: usize,
    pub(super) place: RowPlace,
    /// What a unit of it costs of the host's credit, in millionths.
    cost_micro: i64,
}

impl PageMap {
    /// Accepts a unit into the write buffer; returns whether it took a new slot (or replaced one that waited).
    /// The data are there at `ready`.
    #[inline]
    pub fn write(&mut self, lpn: LogicalPage, generation: u8, ready: Nanos) -> bool {
        self.write_to_stream(lpn, generation, ready, 0)
    }

    /// [`PageMap::write`] to one of the drive's streams: one that the host may name, or [`crate::PAST_CACHE`]. A unit that
    /// replaces one which waits goes with that one's.
    ///
    /// # Panics
    /// If there is no such stream.
    #[inline]
    pub fn write_to_stream(&mut self, lpn: LogicalPage, generation: u8, ready: Nanos, stream: u8) -> bool {
        self.note_used(stream);
        self.take_in(lpn, generation, ready, stream)
    }

    /// [`PageMap::write_to_stream`], to one that is known to be used.
    #[inline]
    pub(super) fn take_in(&mut self, lpn: LogicalPage, generation: u8, ready: Nanos, stream: u8) -> bool {
        let tag = self.medium.format().pack(lpn, generation);
        let old = match self.map.get(lpn) {
            Place::Buffer(at) => {
                let slot = self.buffer.slot_mut(at);
                slot.tag = tag;
                slot.ready = ready;
                self.counters.overwrites_in_buffer += 1;
                if self.buffer.is_lacking() {
                    self.complete_part(at);
                }
                if let Some(compression) = &mut self.compression {
                    self.buffer.resize(at, compression.draw());
                }
                return false;
            }
            Place::Flash(unit) => {
                if self.buffer.units() < self.row_units {
                    self.validity.prefetch(unit);
                }
                unit
            }
            Place::Unmapped => {
                self.map.count_new_page();
                UnitAddress::NONE
            }
        };
        let size = self.compression.as_mut().map_or(1, |compression| compression.draw());
        let at = self.buffer.push(stream, Slot { tag, old, ready }, size);
        self.map.set_buffer(lpn, at);
        true
    }

    /// Forgets pages. The journal takes the whole range as one change.
    pub fn trim(&mut self, lpns: std::ops::Range<LogicalPage>, sink: &mut impl OpSink) {
        let before = self.counters.trimmed_units;
        let keeps_trims = self.log.keeps_trims();
        let mut held = HeldWriter::default();
        for lpn in lpns.each() {
            if let Some(unit) = self.forget(lpn, sink).filter(|_| keeps_trims) {
                let (block, page) = self.medium.layout().row_of(unit);
                held.push(lpn, self.medium.sequence(block, page));
            }
        }
        if self.counters.trimmed_units > before || self.recovery.any_lost(&lpns) {
            self.log.note_trimmed_range(lpns, held.finish(), &mut self.medium, sink);
        }
        if self.has_emptied() {
            self.save_and_erase_emptied(sink);
        }
    }

    /// See [`crate::Translation::void_all`]. What DRAM holds is forgotten as by a trim of everything; flash is told by the
    /// erase point alone, not by the journal, and pieces of the map that lie there are void as well.
    pub(super) fn void_all(&mut self, sink: &mut impl OpSink) {
        assert!(self.buffer.units() == 0, "nothing of the host's may wait in the buffer");
        let mut log = std::mem::take(&mut self.log);
        for lpn in LogicalPage::all(self.map.logical_pages()).each() {
            self.forget(lpn, sink);
        }
        log.void_all();
        self.log = log;
        self.recovery.void_all(self.medium.next_sequence());
        if self.has_emptied() {
            self.save_and_erase_emptied(sink);
        }
    }

    /// Returns where the page was on flash, if it was.
    fn forget(&mut self, lpn: LogicalPage, sink: &mut impl OpSink) -> Option<UnitAddress> {
        let old = match self.map.get(lpn) {
            Place::Unmapped => return None,
            Place::Buffer(at) => {
                if self.buffer.is_lacking() {
                    self.complete_part(at);
                }
                let slot = self.buffer.slot_mut(at);
                slot.tag = EMPTY_TAG;
                std::mem::replace(&mut slot.old, UnitAddress::NONE)
            }
            Place::Flash(unit) => unit,
        };
        self.map.unmap(lpn);
        self.counters.trimmed_units += 1;
        if old != UnitAddress::NONE {
            self.invalidate(old);
            if self.gc.erases_what_trim_empties {
                self.note_emptied(self.superblocks.of_unit(old, self.medium.layout()));
            }
        }
        self.log.note_trimmed_page(lpn, &mut self.medium, sink);
        (old != UnitAddress::NONE).then_some(old)
    }

    /// Units that a row of the host replaces. Their valid bits lie far apart: looked at one after the other, before
    /// anything that depends on them.
    #[inline]
    fn invalidate_row(&mut self, old: &[UnitAddress]) {
        if self.compression.is_some() {
            return old.iter().for_each(|&unit| self.invalidate(unit));
        }
        let mut superblocks = [SuperblockId::default(); 64];
        let superblocks = &mut superblocks[..old.len()];
        for (&unit, sb) in old.iter().zip(superblocks.iter_mut()) {
            self.validity.clear(unit);
            *sb = self.superblocks.of_unit(unit, self.medium.layout());
        }
        for &sb in superblocks.iter() {
            self.lose_units(sb, 1);
        }
    }

    /// What lives in flash from this unit on is no longer what the host wants.
    #[inline]
    fn invalidate(&mut self, unit: UnitAddress) {
        let units = self.units_at(unit);
        self.validity.clear_span(unit, u64::MAX >> (64 - units));
        self.lose_units(self.superblocks.of_unit(unit, self.medium.layout()), units);
    }

    #[inline]
    fn lose_units(&mut self, sb: SuperblockId, units: u32) {
        let left = self.superblocks.lose_valid(sb, units);
        if self.superblocks.state(sb) == State::Closed {
            let (local, domain) = self.superblocks.local(sb, self.medium.layout());
            self.collector.units_died(domain, local, units, left);
        }
        if self.collector.has_stalled() {
            self.collector.revive(self.superblocks.local(sb, self.medium.layout()).1);
        }
    }

    /// Units became valid in an open superblock, or in one that its last row has just closed.
    #[inline]
    pub(super) fn add_valid(&mut self, sb: SuperblockId, units: u32) {
        let valid = self.superblocks.gain_valid(sb, units);
        if self.superblocks.state(sb) == State::Closed {
            let (local, domain) = self.superblocks.local(sb, self.medium.layout());
            let clock = self.units_written();
            self.collector.closed(domain, local, valid, self.superblock_units - valid, clock);
            if self.padding.is_some() {
                // What is padding in it can be gained.
                self.collector.revive(domain);
            }
        }
    }

    // ---- from the buffer to the dies ----------------------------------------------------------------------------

    /// Gives waiting units to dies as far as policy, space and queues allow.
    // It comes after every operation, and mostly finds nothing to do: that is seen without a call.
    #[inline(always)]
    pub fn dispatch(&mut self, sink: &mut impl OpSink) {
        let has_row = self.buffer.units() >= self.row_units && self.host.has_place(0);
        let plain = self.buffer.streams() == 1 && !self.buffer.needs_care();
        if has_row || !plain || !self.collector.needs_no_look() {
            self.dispatch_waiting(sink);
        }
    }

    #[inline(never)]
    fn dispatch_waiting(&mut self, sink: &mut impl OpSink) {
        if !self.collector.needs_no_look() {
            self.look_at_domains(sink);
        }
        if self.buffer.needs_care() {
            return self.dispatch_with_care(sink);
        }
        if self.buffer.units() < self.row_units {
            return;
        }
        for stream in 0..self.buffer.streams() {
            if self.buffer.units_of(stream) >= self.row_units
                && let Some(domain) = self.host.choose(stream)
            {
                self.dispatch_rows(domain, stream, sink);
            }
        }
    }

    /// Writes rows of a stream, the first of them in this domain.
    #[inline(always)]
    fn dispatch_rows(&mut self, mut domain: usize, stream: u8, sink: &mut impl OpSink) {
        loop {
            let filled = self.buffer.units_of(stream) >= self.row_units;
            self.dispatch_row(domain, stream, self.row_units, sink);
            if !filled || self.buffer.units_of(stream) < self.row_units {
                return;
            }
            let Some(next) = self.host.choose(stream) else { return };
            domain = next;
        }
    }

    /// Domains in which something has changed since the last dispatch.
    #[cold]
    fn look_at_domains(&mut self, sink: &mut impl OpSink) {
        if self.writes_last_rows_alone() {
            return;
        }
        self.look_at_revived(sink);
        if self.host_waits() {
            self.release_held(sink);
        }
    }

    /// Sees to it that everything up to this accepted unit gets written, partly filled rows included.
    pub fn force(&mut self, up_to: u64, sink: &mut impl OpSink) {
        if self.is_frozen() {
            return;
        }
        self.buffer.force(up_to);
        self.dispatch(sink);
        self.pad_for_flush(sink);
    }

    /// Writes a row of a stream, with no more than `most` of the units in front.
    pub(super) fn dispatch_row(&mut self, domain: usize, stream: u8, most: u32, sink: &mut impl OpSink) {
        if self.compression.is_some() {
            return self.dispatch_packed_row(domain, stream, most, sink);
        }
        let n = self.buffer.waiting_of(stream).min(most);
        let taken = self.take_host_row(domain, stream);
        let format = self.medium.format();
        let row = self.medium.queue_program(taken.place.block, taken.place.page).expect("rows are taken in order");
        let (mut k, mut valid, mut ready) = (0, 0u64, Nanos::MIN);
        let (mut old, mut replaced) = ([UnitAddress::NONE; 64], 0);
        let (first, second) = self.buffer.fronts(stream, n);
        // Stretch by stretch: a chain of the two would ask for each slot which it comes from.
        for stretch in [first, second] {
            for (slot, tag) in stretch.iter().zip(&mut row.tags[k as usize..]) {
                *tag = slot.tag;
                if slot.tag != EMPTY_TAG {
                    valid |= 1 << k;
                    self.map.set_flash(format.address(slot.tag), row.start + k);
                }
                if slot.old != UnitAddress::NONE {
                    old[replaced & 63] = slot.old;
                    replaced += 1;
                }
                ready = ready.max(slot.ready);
                k += 1;
            }
        }
        row.tags[n as usize..].fill(EMPTY_TAG);
        let start = row.start;
        self.buffer.drop_front(stream, n);
        // What the next row replaces, just in time: asked for when it came into the buffer, it would be gone again.
        let soon = self.buffer.waiting_of(stream).min(self.row_units);
        let (first, second) = self.buffer.fronts(stream, soon);
        for stretch in [first, second] {
            for slot in stretch.iter().filter(|slot| slot.old != UnitAddress::NONE) {
                self.validity.prefetch(slot.old);
            }
        }
        self.validity.set_row(start, valid);
        self.add_valid(taken.place.superblock, valid.count_ones());
        self.host_row_filled(taken, &old[..replaced], n, n, ready, sink);
    }

    /// The same on a drive that compresses: units that came first, as far as they fill the row.
    fn dispatch_packed_row(&mut self, domain: usize, stream: u8, most: u32, sink: &mut impl OpSink) {
        let mut sizes = [0; MOST];
        let (mut n, mut total) = (0, 0);
        while n < self.buffer.waiting_of(stream).min(most) && total < self.row_units {
            sizes[n as usize] = self.buffer.front(stream, n).1;
            total += u32::from(sizes[n as usize]);
            n += 1;
        }
        let pack = Pack::new(&sizes[..n as usize], self.row_units);
        let taken = self.take_host_row(domain, stream);
        let format = self.medium.format();
        let row = self.medium.queue_program(taken.place.block, taken.place.page).expect("rows are taken in order");
        row.tags.fill(EMPTY_TAG);
        let (mut at, mut valid, mut begins, mut ready) = (0, 0, 0, Nanos::MIN);
        let (mut old, mut replaced) = ([UnitAddress::NONE; MOST], 0);
        for k in pack.order() {
            let (slot, size) = self.buffer.front(stream, k as u32);
            let size = u32::from(size);
            begins |= 1 << at;
            if slot.tag != EMPTY_TAG {
                row.tags[at as usize] = slot.tag;
                valid |= (u64::MAX >> (64 - size)) << at;
                self.map.set_flash(format.address(slot.tag), row.start + at);
            }
            if slot.old != UnitAddress::NONE {
                old[replaced] = slot.old;
                replaced += 1;
            }
            ready = ready.max(slot.ready);
            at += size;
        }
        let start = row.start;
        self.begin_extents(start, begins, at);
        let map = &mut self.map;
        self.buffer.keep_back(stream, n, pack.chosen, |tag, slot| {
            if tag != EMPTY_TAG {
                map.set_buffer(format.address(tag), slot);
            }
        });
        self.validity.set_row(start, valid);
        self.add_valid(taken.place.superblock, valid.count_ones());
        let pages = pack.chosen.count_ones();
        self.counters.saved_units += u64::from((pages << self.unit_shift) - at);
        self.host_row_filled(taken, &old[..replaced], pages, at, ready, sink);
    }

    /// Takes the next row for the host in a domain that was checked for room.
    #[inline(always)]
    pub(super) fn take_host_row(&mut self, domain: usize, stream: u8) -> HostRow {
        self.host.take_turn(domain);
        let writer = self.host_writer(domain, stream);
        let cost_micro = self.host_cost_micro(writer);
        let place = self.allocator.take(domain, writer, &mut self.superblocks, &mut self.medium);
        let place = place.expect("the domain was checked for room");
        if place.last && writer == Writer::HostCache {
            self.cache_superblock_filled(domain, place.superblock);
        }
        HostRow { domain, place, cost_micro }
    }

    /// Gives a row of the host, whose tags and map entries are in place, to its die. `old`: what its `pages` logical
    /// units replace; `units`: what they take of flash.
    #[inline]
    pub(super) fn host_row_filled(
        &mut self,
        row: HostRow,
        old: &[UnitAddress],
        pages: u32,
        units: u32,
        ready: Nanos,
        sink: &mut impl OpSink,
    ) {
        let HostRow { domain, place: RowPlace { die, block, page, .. }, cost_micro } = row;
        let start = self.medium.layout().row_start(block, page);
        self.medium.prefetch_tags(start + 16, 1);
        self.invalidate_row(old);
        self.counters.host_units += u64::from(pages);
        self.counters.host_rows += 1;
        self.counters.padding_units += u64::from(self.row_units - units);
        if self.pacing.limits_host() {
            self.collector.spend_credit(domain, self.row_units, cost_micro);
        }
        let number = self.host.begin(die, units, self.buffer.dispatched());
        self.note_writable(domain);
        if self.copies.is_some() && self.padding.is_none() {
            self.copy_endangered(die, block, page, sink);
        }
        sink.enqueue(die, FlashOp::host_program(block, page, units, number, sink.data_from(ready)));
        self.log.note_written(start, units, pages, &mut self.medium, sink);
        if self.log.trims_are_due() {
            self.let_go_of_trims();
        }
        self.start_if_due(domain, sink);
    }

    /// Looks at some of the trims on flash: of pages that have been written again, and are on flash again, nothing older comes back.
    #[inline(never)]
    fn let_go_of_trims(&mut self) {
        // With padding, a cut may take what was not flushed, and the page before counts: that is the trim.
        if self.padding.is_some() {
            return;
        }
        let (map, medium) = (&self.map, &self.medium);
        self.log.let_go_of_trims(|lpn, before_row| {
            let Place::Flash(unit) = map.get(lpn) else { return false };
            let (block, page) = medium.layout().row_of(unit);
            page < medium.finished_pages(block)
                && medium.sequence(block, page) >= before_row
                && medium.is_readable(block, page)
                && !medium.is_bad(block)
        });
    }

    // ---- where the host may write -------------------------------------------------------------------------------

    /// Who takes the host's next row of a stream in a domain: the SLC cache, or the die's own mode.
    #[inline]
    pub(super) fn host_writer(&self, domain: usize, stream: u8) -> Writer {
        match &self.cache {
            Some(cache) if cache.takes(domain, stream) => Writer::HostCache,
            _ => Writer::Host { stream },
        }
    }

    /// What a unit of the host's takes of the credit that a collection gives, in millionths.
    #[inline]
    fn host_cost_micro(&self, writer: Writer) -> i64 {
        match &self.cache {
            Some(cache) if writer == Writer::HostCache => cache.cost_micro(),
            _ => MICRO,
        }
    }

    /// Whether there is a place for a row of the host in this domain that the collector does not need.
    #[inline(always)]
    pub(super) fn room_for_host(&self, domain: usize, stream: u8) -> Result<(), NoRoom> {
        let writer = self.host_writer(domain, stream);
        let to_move = || self.collector.to_move(domain, &self.superblocks, self.unit_shift);
        self.allocator.room_for_host(domain, writer, self.superblocks.has_pool(), to_move)
    }

    /// The host writes to a stream. If it is the first time, victims that nobody has waited for so far may be waited for now.
    #[inline]
    pub(super) fn note_used(&mut self, stream: u8) {
        if self.buffer.note_used(stream) {
            self.collector.hold_all_victims(self.pacing.follows_host());
        }
    }

    /// Whether there is room in this domain for every stream that the host has used.
    #[inline]
    pub(super) fn host_has_room_everywhere(&self, domain: usize) -> bool {
        let has_room = |stream| !self.buffer.is_used(stream) || self.room_for_host(domain, stream).is_ok();
        (0..self.buffer.streams()).all(has_room)
    }

    /// Whether the host has units that could go out now.
    #[inline]
    pub(super) fn host_waits(&self) -> bool {
        let is_due = |stream| self.buffer.units_of(stream) >= self.buffer.least_row(stream, self.row_units);
        (0..self.buffer.streams()).any(is_due)
    }

    /// Something may have changed that decides whether the host may write in this domain.
    #[inline(always)]
    pub(super) fn note_writable(&mut self, domain: usize) {
        if self.allocator.has_changed(domain) || self.room_changes_by_row {
            self.note_change(domain);
        }
    }

    #[inline(never)]
    pub(super) fn note_change(&mut self, domain: usize) {
        if self.cache.is_some() {
            self.aim_cache(domain);
        }
        self.note_stream(domain, 0);
        if self.buffer.streams() > 1 {
            self.note_other_streams(domain);
        }
    }

    #[inline(always)]
    fn note_stream(&mut self, domain: usize, stream: u8) {
        let may = self.host_may_write(domain, stream)
            || self.writes_last_rows_alone() && self.finds_last_room(domain, stream);
        self.host.set_writable(domain, stream, may);
    }

    #[inline(never)]
    fn note_other_streams(&mut self, domain: usize) {
        (1..self.buffer.streams()).for_each(|stream| self.note_stream(domain, stream));
    }

    /// Whether the host may write a row of a stream in this domain; [`HostRows`] keeps the answer.
    ///
    /// [`HostRows`]: super::host_rows::HostRows
    #[inline(always)]
    pub(super) fn host_may_write(&self, domain: usize, stream: u8) -> bool {
        let credit = !self.pacing.limits_host() || self.collector.leaves_host(domain, self.row_units);
        credit && self.room_for_host(domain, stream).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::{DieId, LogicalPage, LogicalPages};

    use crate::op::FlashOp;
    use crate::page_map::small;

    #[test]
    fn trims_of_pages_that_are_on_flash_again_are_let_go() {
        let mut map = small::map(true);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        let write = |map: &mut super::PageMap, ops: &mut Vec<(DieId, FlashOp)>, pages: u32, times: u8| {
            for k in 0..pages * u32::from(times) {
                map.write(LogicalPage::new(k % pages), (k / pages) as u8 + 1, 0);
                map.dispatch(ops);
                small::work(map, ops);
            }
        };
        let ranges = |map: &super::PageMap| map.log.trims_on_flash().map_or(0, |table| table.ranges().count());
        write(&mut map, &mut ops, small::PAGES, 1);
        for page in LogicalPage::all(small::PAGES).each().step_by(2) {
            map.trim(page.run(1), &mut ops);
        }
        map.log.save_trims(&mut map.medium, &mut ops);
        small::work(&mut map, &mut ops);
        assert_eq!(ranges(&map), 150);
        // Half of the pages, through two rows of the journal: the other trims stay.
        write(&mut map, &mut ops, 150, 30);
        assert_eq!(ranges(&map), 75);
        write(&mut map, &mut ops, small::PAGES, 15);
        assert_eq!(ranges(&map), 0);
        assert_eq!(map.check_invariants(), Ok(()));
    }
}
