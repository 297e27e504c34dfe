//! Rows of moved units: where they go, and that map, tags and valid bits follow.

use ssdlab_nand::{BlockId, Medium, NO_LPN, UnitAddress};

use crate::buffer::WriteBuffer;
use crate::map::{Map, Place};
use crate::op::{FlashOp, OpKind, OpSink};
use crate::staging::Run;
use crate::superblock::SuperblockId;
use crate::translation::Ftl;

/// A row that the collector has filled.
#[derive(Clone, Copy)]
pub(crate) struct MovedRow {
    pub kind: OpKind,
    pub superblock: SuperblockId,
    pub die: u32,
    pub block: BlockId,
    pub page: u32,
    /// Units of flash in it, and the logical units that they are.
    pub units: u32,
    pub pages: u32,
}

impl Ftl {
    /// Writes one row of staged units; with `pad`, even if they do not fill it. Returns whether it did.
    pub(crate) fn write_row(&mut self, s: usize, pad: bool, sink: &mut impl OpSink) -> bool {
        let stream = self.stream_of_staged(s);
        let open = if self.shared_frontier { &self.sets[s].host } else { &self.sets[s].gc };
        if open[stream as usize].is_none() && self.sets[s].free.is_empty() {
            return false;
        }
        if self.compression.is_some() {
            return self.write_packed_row(s, stream, pad, sink);
        }
        let kind = if self.slc_cache.is_some() { self.write_kind(s) } else { OpKind::GcProgram };
        let n = self.sets[s].staged.take(self.row_units, pad, &self.validity);
        if n == 0 {
            return false;
        }
        let (superblock, die, block, page) = self.take_row(s, true, stream).expect("checked for room above");
        let start = self.medium.layout().row_start(block, page);
        let mut tags = [NO_LPN; 64];
        let mut k = 0;
        let Ftl { sets, map, validity, medium, blocks, buffer, .. } = self;
        for &run in sets[s].staged.taken() {
            let first = k;
            k = redirect(map, buffer, medium, run, start, k, &mut tags);
            validity.clear_span(run.start, run.units);
            let from = blocks.of_block(medium.layout().block_of(run.start));
            blocks.valid[from as usize] -= k - first;
        }
        let row = MovedRow { kind, superblock, die, block, page, units: n, pages: n };
        self.row_moved(s, &row, &tags, sink);
        if n < self.row_units {
            // Padding may cost less than what has been gained since the last, never as much.
            self.sets[s].gained = 0;
        }
        true
    }

    /// Gives a row of the collector, whose map entries are in place, to its die.
    #[inline(always)]
    pub(crate) fn row_moved(&mut self, s: usize, row: &MovedRow, tags: &[u32; 64], sink: &mut impl OpSink) {
        let MovedRow { kind, superblock, die, block, page, units, pages } = *row;
        let start = self.medium.layout().row_start(block, page);
        let programmed = self.medium.begin_program(block, page).expect("rows are taken in order");
        programmed.tags.copy_from_slice(&tags[..programmed.tags.len()]);
        self.medium.prefetch_tags(start + 16, 1);
        self.validity.set_row(start, u64::MAX >> (64 - units));
        self.add_valid(superblock, units);
        self.count_moved(kind, pages);
        self.counters.padding_units += u64::from(self.row_units - units);
        let set = &mut self.sets[s];
        set.units_writing += units;
        let tag = set.programs.issue(0);
        sink.enqueue(FlashOp {
            kind,
            die: die as u8,
            rows: 1,
            units: units as u8,
            block,
            page: page as u16,
            tag,
            ready: 0,
        });
        if let Some(demand) = &mut self.demand_map {
            let format = self.medium.format();
            let tags = tags[..units as usize].iter().filter(|&&tag| tag != NO_LPN);
            tags.for_each(|&tag| demand.moved(format.address(tag), &mut self.medium, sink));
        }
        if let Some(journal) = &mut self.journal {
            journal.note(pages, &mut self.medium, sink);
        }
    }

    /// Stream of the row that the collector writes next: that of the unit which has waited longest. The few units of a
    /// victim that do not fill a row go out with the next one's, whatever its stream.
    #[inline]
    fn stream_of_staged(&self, s: usize) -> u8 {
        match self.sets[s].staged.front() {
            Some(unit) if self.streams > 1 => {
                self.blocks.stream[self.blocks.of_block(self.medium.layout().block_of(unit)) as usize]
            }
            _ => 0,
        }
    }

    /// Points the logical page of a unit at its copy, as [`redirect`] does.
    pub(crate) fn redirect_unit(&mut self, lpn: u32, from: UnitAddress, to: UnitAddress) {
        if !self.map.move_flash(lpn, from, to) {
            redirect_replaced(&self.map, &mut self.buffer, lpn, from, to);
        }
    }
}

/// Points the logical pages of a run's units at their copies, which are units `k` and on from `to`, and gathers their
/// tags. The spare area and the map must agree about each: this is the check that every moved unit passes.
#[inline]
fn redirect(
    map: &mut Map,
    buffer: &mut WriteBuffer,
    medium: &Medium,
    run: Run,
    to: UnitAddress,
    mut k: u32,
    tags: &mut [u32; 64],
) -> u32 {
    let format = medium.format();
    let old = medium.tags_from(run.start);
    let mut left = run.units;
    while left != 0 {
        let at = left.trailing_zeros() & 63;
        left &= left - 1;
        let tag = old[at as usize];
        tags[k as usize & 63] = tag;
        let (lpn, from) = (format.address(tag), run.start + at);
        if !map.move_flash(lpn, from, to + k) {
            redirect_replaced(map, buffer, lpn, from, to + k);
        }
        k += 1;
    }
    k
}

/// Where the host has written a page again, and the new data still wait in the buffer, the slot remembers the copy.
#[cold]
fn redirect_replaced(map: &Map, buffer: &mut WriteBuffer, lpn: u32, from: UnitAddress, to: UnitAddress) {
    match map.get_checked(lpn) {
        Some(Place::Buffer(at)) if buffer.slot(at).old == from => buffer.slot_mut(at).old = to,
        place => panic!("books: unit {from} says it holds page {lpn}, but the map says {place:?}"),
    }
}
