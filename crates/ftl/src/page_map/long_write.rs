//! The way of long writes: whole rows go to a die at once while nothing waits, without a stay in the write buffer.
//!
//! A short cut of the simulator, not of the drive: times, places and counts are those that the units would have had if
//! each had entered the buffer and all had been dispatched then. So it is taken only where nothing could tell the
//! difference.

use ssdlab_nand::{LogicalPage, LogicalPages, UnitAddress};

use super::PageMap;
use crate::op::OpSink;
use crate::translation::Stretch;

impl PageMap {
    /// Accepts the units of a stretch into the write buffer, as [`PageMap::write_to_stream`] does one by one. The first of
    /// them begins to come at `stretch.from`.
    #[inline]
    pub fn write_units(&mut self, stretch: &Stretch, mut generation: impl FnMut(LogicalPage) -> u8) {
        let mut ready = stretch.from;
        self.note_used(stretch.stream);
        if stretch.units == 1 {
            self.take_in(stretch.first, generation(stretch.first), ready + stretch.each, stretch.stream);
            return;
        }
        for lpn in stretch.first.run(stretch.units).each() {
            ready += stretch.each;
            self.take_in(lpn, generation(lpn), ready, stretch.stream);
        }
    }

    /// Instead of writing a stretch to the buffer and calling [`PageMap::dispatch`]: dispatches its first units, as many
    /// whole rows as the dies take now, and returns how many units. The rest is to be written to the buffer, and is
    /// not to be dispatched now. `None` if that would not be the same.
    #[inline]
    pub fn write_rows(
        &mut self,
        stretch: &Stretch,
        generation: impl FnMut(LogicalPage) -> u8,
        sink: &mut impl OpSink,
    ) -> Option<u32> {
        let first = self.buffer.units() == 0 && self.collector.needs_no_look() && !self.buffer.needs_care();
        let first = first && self.compression.is_none();
        (first && stretch.units >= self.row_units).then(|| self.write_whole_rows(stretch, generation, sink))
    }

    fn write_whole_rows(
        &mut self,
        stretch: &Stretch,
        mut generation: impl FnMut(LogicalPage) -> u8,
        sink: &mut impl OpSink,
    ) -> u32 {
        let n = self.row_units;
        self.note_used(stretch.stream);
        let mut gone = 0;
        while stretch.units - gone >= n
            && let Some(domain) = self.host.choose(stretch.stream)
        {
            let taken = self.take_host_row(domain, stretch.stream);
            let lpn = stretch.first + gone;
            let format = self.medium.format();
            let row = self.medium.queue_program(taken.place.block, taken.place.page).expect("rows are taken in order");
            for (tag, lpn) in row.tags.iter_mut().zip(lpn.run(n).each()) {
                *tag = format.pack(lpn, generation(lpn));
            }
            let mut old = [UnitAddress::NONE; 64];
            let old = self.map.replace_run(lpn.run(n), row.start, &mut old);
            self.validity.set_row(row.start, u64::MAX >> (64 - n));
            gone += n;
            self.buffer.pass(n);
            self.add_valid(taken.place.superblock, n);
            let ready = stretch.from + stretch.each * u64::from(gone);
            self.host_row_filled(taken, old, n, n, ready, sink);
        }
        gone
    }
}
