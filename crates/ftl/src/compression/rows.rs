//! Rows of a drive that compresses: what is filled into them, by the host and by the collector.

use ssdlab_core::Nanos;
use ssdlab_nand::{NO_LPN, UnitAddress};

use super::pack::{MOST, Pack};
use crate::map::UNMAPPED;
use crate::moving::MovedRow;
use crate::op::{OpKind, OpSink};
use crate::translation::Ftl;

/// The units of flash from the first on, one bit each.
fn first(units: u32) -> u64 {
    if units == 0 { 0 } else { u64::MAX >> (64 - units) }
}

impl Ftl {
    /// Gives the next row of waiting units to a die: those that came first, as far as they fill it.
    pub(crate) fn dispatch_packed_row(&mut self, s: usize, stream: u8, sink: &mut impl OpSink) {
        let mut sizes = [0; MOST];
        let (mut n, mut total) = (0, 0);
        while n < self.buffer.waiting_of(stream) && total < self.row_units {
            sizes[n as usize] = self.buffer.front(stream, n).1;
            total += u32::from(sizes[n as usize]);
            n += 1;
        }
        let pack = Pack::new(&sizes[..n as usize], self.row_units);
        let taken = self.take_host_row(s, stream);
        let format = self.medium.format();
        let row = self.medium.begin_program(taken.block, taken.page).expect("rows are taken in order");
        row.tags.fill(NO_LPN);
        let (mut at, mut valid, mut begins, mut ready) = (0, 0, 0, Nanos::MIN);
        let mut old = [UNMAPPED; MOST];
        for (k, old) in pack.order().zip(&mut old) {
            let (slot, size) = self.buffer.front(stream, k as u32);
            let size = u32::from(size);
            begins |= 1 << at;
            if slot.tag != NO_LPN {
                row.tags[at as usize] = slot.tag;
                valid |= first(size) << at;
                self.map.set_flash(format.address(slot.tag), row.start + at);
            }
            *old = slot.old;
            ready = ready.max(slot.ready);
            at += size;
        }
        let start = row.start;
        self.begin_extents(start, begins, at);
        let map = &mut self.map;
        self.buffer.keep_back(stream, n, pack.chosen, |tag, slot| {
            if tag != NO_LPN {
                map.set_buffer(format.address(tag), slot);
            }
        });
        self.validity.set_row(start, valid);
        self.add_valid(taken.superblock, valid.count_ones());
        let pages = pack.chosen.count_ones();
        self.counters.saved_units += u64::from((pages << self.unit_shift) - at);
        self.host_row_filled(taken, &old[..pages as usize], at, ready, sink);
    }

    /// Notes where extents begin in a row of which so many units are filled.
    pub(crate) fn begin_extents(&mut self, start: UnitAddress, begins: u64, units: u32) {
        let padding = if units < self.row_units { 1 << units } else { 0 };
        if let Some(compression) = &mut self.compression {
            compression.extents.set_row(start, begins | padding);
        }
    }

    /// Writes one row of staged extents in a place that was checked for. See [`Ftl::write_row`].
    #[inline(never)]
    pub(crate) fn write_packed_row(&mut self, s: usize, stream: u8, pad: bool, sink: &mut impl OpSink) -> bool {
        let Some(compression) = &self.compression else { unreachable!("only a drive that compresses packs its rows") };
        let kind = if self.slc_cache.is_some() { self.write_kind(s) } else { OpKind::GcProgram };
        let victim_of = |unit| self.blocks.of_block(self.medium.layout().block_of(unit));
        let staged = &mut self.sets[s].staged;
        let units = staged.take_packed(self.row_units, pad, &self.validity, &compression.extents, victim_of);
        if units == 0 {
            return false;
        }
        let (superblock, die, block, page) = self.take_row(s, true, stream).expect("checked for room before");
        let start = self.medium.layout().row_start(block, page);
        let format = self.medium.format();
        let mut tags = [NO_LPN; MOST];
        let (mut k, mut begins) = (0, 0);
        for at in 0..self.sets[s].staged.taken().len() {
            let run = self.sets[s].staged.taken()[at];
            let tag = self.medium.tag(run.start);
            tags[k as usize] = tag;
            begins |= 1 << k;
            self.redirect_unit(format.address(tag), run.start, start + k);
            self.validity.clear_span(run.start, run.units);
            let from = self.blocks.of_block(self.medium.layout().block_of(run.start));
            self.blocks.valid[from as usize] -= run.units.count_ones();
            k += run.units.count_ones();
        }
        self.begin_extents(start, begins, units);
        let pages = begins.count_ones();
        self.counters.saved_moving_units += u64::from((pages << self.unit_shift) - units);
        self.row_moved(s, &MovedRow { kind, superblock, die, block, page, units, pages }, &tags, sink);
        let set = &mut self.sets[s];
        // What a gap costs has been gained before, as with padding.
        set.gained = if pad && units < self.row_units { 0 } else { set.gained.saturating_sub(self.row_units - units) };
        true
    }

    /// Where data are compressed: whether every valid logical unit is one extent of the size of a piece, with its tag in
    /// front and nothing behind it.
    pub(crate) fn check_extents(&self) -> Result<(), String> {
        let Some(compression) = &self.compression else { return Ok(()) };
        let layout = self.medium.layout();
        for block in 0..layout.block_count() {
            for page in 0..self.medium.issued_pages(block) {
                let start = layout.row_start(block, page);
                let (valid, begins) = (self.validity.row(start), compression.extents.row(start));
                let mut covered = 0;
                for k in (0..self.row_units).filter(|k| (valid & begins) >> k & 1 != 0) {
                    let units = compression.extents.len(start + k);
                    covered |= first(units) << k;
                    if !units.is_power_of_two() || units > 1 << self.unit_shift {
                        return Err(format!("unit {} begins an extent of {units} units", start + k));
                    }
                    if let Some(behind) = (1..units).find(|behind| self.medium.lpn(start + k + behind) != NO_LPN) {
                        return Err(format!(
                            "unit {} is not the first of its extent, but has a tag",
                            start + k + behind
                        ));
                    }
                }
                if covered != valid {
                    return Err(format!(
                        "block {block} page {page}: units {valid:#b} are valid, extents cover {covered:#b}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether what waits takes as much as is counted.
    pub(crate) fn check_buffer(&self) -> Result<(), String> {
        let of_stream = |stream| (0..self.buffer.waiting_of(stream)).map(move |k| self.buffer.front(stream, k).1);
        let units: u32 = (0..self.buffer_streams).flat_map(of_stream).map(u32::from).sum();
        if units != self.buffer.units() {
            return Err(format!("units that wait take {units} of flash, {} were counted", self.buffer.units()));
        }
        Ok(())
    }
}
