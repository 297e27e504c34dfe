//! Rows of moved units: where they go, and that map, tags and valid bits follow.

use ssdlab_nand::{BlockId, DieId, EMPTY_TAG, LogicalPage, Medium, UnitAddress};

use super::staging::Run;
use crate::op::{FlashOp, OpKind, OpSink};
use crate::page_map::PageMap;
use crate::page_map::allocator::{Place as RowPlace, Writer};
use crate::page_map::map::{Map, Place};
use crate::page_map::program_window::numbers_kept;
use crate::page_map::superblock::SuperblockId;
use crate::page_map::write_buffer::WriteBuffer;

/// A row that the collector has filled.
#[derive(Clone, Copy)]
struct MovedRow {
    pub kind: OpKind,
    pub superblock: SuperblockId,
    pub die: DieId,
    pub block: BlockId,
    pub page: u32,
    /// Units of flash in it, and the logical units that they are.
    pub units: u32,
    pub pages: u32,
    /// The superblock that they all come from; `None` if it is more than one.
    pub source: Option<SuperblockId>,
}

impl PageMap {
    /// Writes one row of staged units; with `pad`, even if they do not fill it. Returns whether it did. Once it has not, the end
    /// of one of its programs may change that.
    pub(super) fn write_row(&mut self, d: usize, pad: bool, sink: &mut impl OpSink) -> bool {
        if !self.has_program_number(d) {
            return false;
        }
        let mut stream = self.stream_of_staged(d);
        if !self.allocator.collector_has_room(d, stream) {
            let Some(other) = self.other_stream_with_room(d) else { return false };
            stream = other;
        }
        let kind = if self.cache.is_some() { self.write_kind(d) } else { OpKind::GcProgram };
        if self.compression.is_some() {
            return self.write_packed_row(d, stream, kind, pad, sink);
        }
        let n = self.collector.domains[d].staged.begin_row(self.row_units, pad, &self.validity);
        if n == 0 {
            return false;
        }
        let RowPlace { superblock, die, block, page, .. } = self.take_collector_row(d, stream);
        let start = self.medium.layout().row_start(block, page);
        let (mut k, mut source, mut one_source) = (0, SuperblockId::default(), true);
        let PageMap { collector, map, validity, medium, superblocks, buffer, .. } = self;
        let (staged, tags) = (&mut collector.domains[d].staged, &mut collector.row_tags);
        while k < n {
            let first = k;
            let run = staged.front_run(validity);
            let moved;
            (moved, k) = redirect(map, buffer, medium, run, start, [k, n], tags);
            staged.take_front(moved, k == self.row_units);
            validity.clear_span(run.start, moved);
            let from = superblocks.of_unit(run.start, medium.layout());
            superblocks.lose_valid(from, k - first);
            one_source &= first == 0 || source == from;
            source = from;
        }
        let source = one_source.then_some(source);
        self.row_moved(d, &MovedRow { kind, superblock, die, block, page, units: n, pages: n, source }, sink);
        if n < self.row_units {
            // Padding may cost less than what has been gained since the last, never as much.
            self.collector.domains[d].gained = 0;
        }
        true
    }

    /// The same where logical units take several of flash each.
    #[inline(never)]
    fn write_packed_row(&mut self, d: usize, stream: u8, kind: OpKind, pad: bool, sink: &mut impl OpSink) -> bool {
        let Some(compression) = &self.compression else { unreachable!("only a drive that compresses packs its rows") };
        let (superblocks, layout) = (&self.superblocks, self.medium.layout());
        let victim_of = |unit| superblocks.of_unit(unit, layout);
        let staged = &mut self.collector.domains[d].staged;
        let units = staged.take_packed(self.row_units, pad, &self.validity, compression.extents(), victim_of);
        if units == 0 {
            return false;
        }
        let RowPlace { superblock, die, block, page, .. } = self.take_collector_row(d, stream);
        let start = self.medium.layout().row_start(block, page);
        let format = self.medium.format();
        let (mut k, mut begins) = (0, 0);
        let (mut source, mut one_source) = (SuperblockId::default(), true);
        for at in 0..self.collector.domains[d].staged.taken().len() {
            let run = self.collector.domains[d].staged.taken()[at];
            let tag = self.medium.tag(run.start);
            self.collector.row_tags[k as usize..(k + run.units.count_ones()) as usize].fill(EMPTY_TAG);
            self.collector.row_tags[k as usize] = tag;
            begins |= 1 << k;
            self.redirect_unit(format.address(tag), run.start, start + k);
            self.validity.clear_span(run.start, run.units);
            let from = self.superblocks.of_unit(run.start, self.medium.layout());
            self.superblocks.lose_valid(from, run.units.count_ones());
            one_source &= k == 0 || source == from;
            source = from;
            k += run.units.count_ones();
        }
        self.begin_extents(start, begins, units);
        let pages = begins.count_ones();
        self.counters.saved_moving_units += u64::from((pages << self.unit_shift) - units);
        let source = one_source.then_some(source);
        self.row_moved(d, &MovedRow { kind, superblock, die, block, page, units, pages, source }, sink);
        let gained = &mut self.collector.domains[d].gained;
        // What a gap costs has been gained before, as with padding.
        *gained = if pad && units < self.row_units { 0 } else { gained.saturating_sub(self.row_units - units) };
        true
    }

    /// Moves what is valid in a row that has been read, and that no victim holds, to where the collector writes. There is room.
    pub(in crate::page_map) fn move_row(&mut self, d: usize, from: UnitAddress, sink: &mut impl OpSink) {
        let (valid, begins) = (self.validity.row(from), self.begins_of_row(from));
        let RowPlace { superblock, die, block, page, .. } = self.take_collector_row(d, 0);
        let start = self.medium.layout().row_start(block, page);
        let mut tags = [EMPTY_TAG; 64];
        let (mut k, mut moved) = (0, 0u64);
        for at in (0..self.row_units).filter(|at| (valid & begins) >> at & 1 != 0) {
            let tag = self.medium.tag(from + at);
            tags[k as usize] = tag;
            moved |= 1 << k;
            self.redirect_unit(self.medium.format().address(tag), from + at, start + k);
            k += self.units_at(from + at);
        }
        self.validity.clear_span(from, valid);
        let source = self.superblocks.of_unit(from, self.medium.layout());
        self.superblocks.lose_valid(source, valid.count_ones());
        self.begin_extents(start, moved, k);
        let programmed = self.medium.queue_program(block, page).expect("rows are taken in order");
        programmed.tags.copy_from_slice(&tags[..programmed.tags.len()]);
        self.validity.set_row(start, u64::MAX >> (64 - k));
        self.add_valid(superblock, k);
        let number = self.collector.domains[d].programs.issue(0);
        self.copy_endangered(die, block, page, sink);
        sink.enqueue(die, FlashOp::program(OpKind::SafetyProgram, block, page, k, number));
        self.log.note_moved(&tags[..k as usize], moved.count_ones(), &mut self.medium, sink);
    }

    /// A row of [`PageMap::move_row`] has been programmed.
    pub(in crate::page_map) fn row_is_moved(&mut self, op: &FlashOp, sink: &mut impl OpSink) {
        let d = self.superblocks.domain_of_die(self.medium.layout().die_of(op.block()).0);
        let had_number = self.has_program_number(d);
        self.collector.domains[d].programs.end(op.number());
        self.erase_where_finished(d, sink);
        if !had_number {
            // Rows of a collection may have waited for just this one.
            self.collector_step(d, sink);
        }
    }

    /// Whether the collector may begin another program in a domain, numbers that are kept aside.
    #[inline]
    fn has_program_number(&self, d: usize) -> bool {
        self.collector.domains[d].programs.has_number(numbers_kept(self.copies.is_some()))
    }

    #[inline(always)]
    fn take_collector_row(&mut self, d: usize, stream: u8) -> RowPlace {
        let writer = Writer::Collector { stream };
        self.allocator.take(d, writer, &mut self.superblocks, &mut self.medium).expect("checked for room before")
    }

    /// Gives a row of the collector, whose map entries and tags are in place, to its die.
    #[inline(always)]
    fn row_moved(&mut self, d: usize, row: &MovedRow, sink: &mut impl OpSink) {
        let MovedRow { kind, superblock, die, block, page, units, pages, source } = *row;
        let start = self.medium.layout().row_start(block, page);
        let tags = &mut self.collector.row_tags;
        if units < self.row_units {
            tags[units as usize..].fill(EMPTY_TAG);
        }
        let programmed = self.medium.queue_program(block, page).expect("rows are taken in order");
        programmed.tags.copy_from_slice(&tags[..programmed.tags.len()]);
        self.medium.prefetch_tags(start + 16, 1);
        self.validity.set_row(start, u64::MAX >> (64 - units));
        self.add_valid(superblock, units);
        if let Some(source) = source {
            self.recovery.moved(source, superblock, self.superblocks.row_number(die, page));
        }
        self.count_moved(kind, pages);
        self.counters.padding_units += u64::from(self.row_units - units);
        let domain = &mut self.collector.domains[d];
        domain.units_writing += units;
        let number = domain.programs.issue(0);
        if self.copies.is_some() {
            self.copy_endangered(die, block, page, sink);
        }
        self.enqueue_for_collection(d, die, FlashOp::program(kind, block, page, units, number), sink);
        let moved = &self.collector.row_tags[..units as usize];
        self.log.note_moved(moved, pages, &mut self.medium, sink);
    }

    #[inline]
    fn count_moved(&mut self, kind: OpKind, units: u32) {
        if kind == OpKind::GcProgram {
            self.counters.gc_units += u64::from(units);
            self.counters.gc_rows += 1;
        } else {
            self.counters.fold_units += u64::from(units);
            self.counters.fold_rows += 1;
        }
    }

    /// Stream of the row that the collector writes next: that of the unit which has waited longest. The few units of a
    /// victim that do not fill a row go out with the next one's, whatever its stream.
    #[inline]
    fn stream_of_staged(&self, d: usize) -> u8 {
        match self.collector.domains[d].staged.front() {
            Some(unit) if self.allocator.streams() > 1 => {
                self.superblocks.stream(self.superblocks.of_unit(unit, self.medium.layout()))
            }
            _ => 0,
        }
    }

    /// The operation that programs the row which the collector writes next, on a drive with a cache.
    fn write_kind(&self, d: usize) -> OpKind {
        let front = self.collector.domains[d].staged.front();
        self.program_kind(front.map(|unit| self.medium.layout().block_of(unit)))
    }

    /// Points the logical page of a unit at its copy, and checks that spare area and map agree.
    pub(in crate::page_map) fn redirect_unit(&mut self, lpn: LogicalPage, from: UnitAddress, to: UnitAddress) {
        if !self.map.move_flash(lpn, from, to) {
            redirect_replaced(&self.map, &mut self.buffer, lpn, from, to);
        }
    }

    /// Whether any unit that is staged lies in a block.
    pub(in crate::page_map) fn has_staged(&self, d: usize, block: BlockId) -> bool {
        let layout = self.medium.layout();
        self.collector.domains[d].staged.holds(|unit| layout.block_of(unit) == block)
    }
}

/// Points the logical pages of a run's units at their copies, which are units `k` and on from `to`, and up to unit `n`, and
/// gathers their tags. The spare area and the map must agree about each: this is the check that every moved unit passes.
/// Returns which units these were, and the next `k`.
#[inline(always)]
fn redirect(
    map: &mut Map,
    buffer: &mut WriteBuffer,
    medium: &Medium,
    run: Run,
    to: UnitAddress,
    [mut k, n]: [u32; 2],
    tags: &mut [u32; 64],
) -> (u64, u32) {
    let format = medium.format();
    let old = medium.tags_from(run.start);
    let mut left = run.units;
    let end = n.min(k + left.count_ones());
    while k != end {
        let at = left.trailing_zeros() & 63;
        left &= left.wrapping_sub(1);
        let tag = old[at as usize];
        tags[k as usize & 63] = tag;
        let (lpn, from) = (format.address(tag), run.start + at);
        if !map.move_flash(lpn, from, to + k) {
            redirect_replaced(map, buffer, lpn, from, to + k);
        }
        k += 1;
    }
    (run.units ^ left, k)
}

/// Where the host has written a page again, and the new data still wait in the buffer, the slot remembers the copy.
#[cold]
fn redirect_replaced(map: &Map, buffer: &mut WriteBuffer, lpn: LogicalPage, from: UnitAddress, to: UnitAddress) {
    match map.get_checked(lpn) {
        Some(Place::Buffer(at)) if buffer.slot(at).old == from => buffer.slot_mut(at).old = to,
        place => panic!("books: unit {from} says it holds page {lpn}, but the map says {place:?}"),
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;
    use crate::page_map::small;
    use crate::translation::Translation;

    /// Whether a row of the collector names an origin, which then must hold every unit of it, before it is erased.
    fn names_origin(map: &PageMap, op: &FlashOp) -> bool {
        let layout = map.medium.layout();
        let to = map.superblocks.of_block(op.block());
        let Some(from) = map.recovery.origin(to, op.page()) else { return false };
        let start = layout.row_start(op.block(), op.page());
        let first = layout.row_start(map.superblocks.any_block(from), 0);
        let held: Vec<u32> = (0..layout.block_units).map(|k| map.medium.tag(first + k)).collect();
        for unit in start.run(op.units()) {
            assert!(held.contains(&map.medium.tag(unit)), "unit {unit} does not come from superblock {from}");
        }
        true
    }

    #[test]
    fn rows_wait_once_numbers_would_be_taken_for_those_of_older_ones() {
        let (mut map, mut rng) = (small::map(false), Rng::new(2));
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        let older: Vec<u16> = (0..1 << 16).map(|_| map.collector.domains[0].programs.issue(0)).collect();
        while map.collector.domains[0].staged.len() < map.row_units {
            map.write(LogicalPage::new(rng.below(small::PAGES.into()) as u32), 1, 0);
            map.dispatch(&mut ops);
            small::work(&mut map, &mut ops);
        }
        map.collector_step(0, &mut ops);
        small::work(&mut map, &mut ops);
        assert_eq!(map.counters().gc_rows, 0);
        older.into_iter().for_each(|number| assert!(map.collector.domains[0].programs.end(number)));
        map.collector_step(0, &mut ops);
        small::work(&mut map, &mut ops);
        assert!(map.counters().gc_rows > 0);
        assert_eq!(map.check_invariants(), Ok(()));
    }

    #[test]
    fn a_row_names_the_superblock_that_all_of_its_units_come_from_and_none_if_there_are_several() {
        let (mut map, mut rng) = (small::map(false), Rng::new(2));
        let (mut ops, mut numbers): (Vec<(DieId, FlashOp)>, _) = (Vec::new(), [0u8; small::PAGES as usize]);
        let mut named = [0; 2];
        for k in 0..6000 {
            let page = if k < small::PAGES { k } else { rng.below(small::PAGES.into()) as u32 };
            numbers[page as usize] = numbers[page as usize].wrapping_add(1);
            map.write(LogicalPage::new(page), numbers[page as usize], 0);
            map.dispatch(&mut ops);
            while !ops.is_empty() {
                let (die, op) = ops.remove(0);
                map.began(&op);
                if op.kind() == OpKind::GcProgram {
                    named[usize::from(names_origin(&map, &op))] += 1;
                }
                map.done(die, op, &mut ops);
            }
        }
        assert!(named[0] > 50 && named[1] > 50, "{named:?}");
    }
}
