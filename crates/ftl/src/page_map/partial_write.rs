//! Writes of a part of a unit: into the buffer at once, and whole before the row is programmed. What such a unit waits for
//! is in `parts.rs`.

use ssdlab_nand::LogicalPage;
use std::ops::Range;

use ssdlab_core::Nanos;

use super::PageMap;
use super::map::Place;
use super::parts::{Part, State};
use crate::op::{FOR_BUFFER, FlashOp, NOBODY, OpKind, OpSink};

impl PageMap {
    /// Accepts sectors of a unit into the write buffer, one bit each; they are there at `ready`. What is missing is read
    /// from flash later. Where the controller has the rest, or there is none, the unit is whole at once.
    pub fn write_part(&mut self, lpn: LogicalPage, sectors: u64, stream: u8, ready: Nanos, generation: u8) {
        debug_assert!(sectors != 0);
        self.note_used(stream);
        let part = match self.map.get(lpn) {
            Place::Buffer(at) => self.parts.get(at).copied(),
            Place::Flash(unit) if !self.in_ram(unit) => {
                Some(Part { present: 0, base: self.medium.generation(unit), state: State::Waiting })
            }
            Place::Flash(_) | Place::Unmapped => None,
        };
        self.take_in(lpn, generation, ready, stream);
        if let (Some(part), Place::Buffer(at)) = (part, self.map.get(lpn)) {
            self.parts.set(at, Part { present: part.present | sectors, ..part });
            self.buffer.set_lacking(!self.parts.is_empty());
        }
    }

    /// A unit in the buffer is whole, or not wanted any more.
    #[cold]
    #[inline(never)]
    pub(super) fn complete_part(&mut self, at: u32) {
        self.parts.complete(at);
        self.buffer.set_lacking(!self.parts.is_empty());
    }

    /// Sectors of a unit in the buffer that are still on flash only.
    #[inline]
    #[must_use]
    pub fn missing_sectors(&self, lpn: LogicalPage) -> u64 {
        if !self.buffer.is_lacking() {
            return 0;
        }
        match self.map.get(lpn) {
            Place::Buffer(at) => self.parts.get(at).map_or(0, |part| self.parts.missing(part)),
            Place::Flash(_) | Place::Unmapped => 0,
        }
    }

    /// Sees to it that the missing sectors of a unit are being read.
    pub fn fetch_missing(&mut self, lpn: LogicalPage, sink: &mut impl OpSink) {
        if let Place::Buffer(at) = self.map.get(lpn) {
            self.ask_for_missing(at, sink);
        }
    }

    /// Asks for what is missing of a unit, if nobody has. On a map that is loaded on demand, its entry comes first.
    fn ask_for_missing(&mut self, at: u32, sink: &mut impl OpSink) {
        if self.parts.get(at).is_none_or(|part| part.state != State::Waiting) {
            return;
        }
        let lpn = self.medium.format().lpn(self.buffer.slot(at).tag);
        if self.log.loads_on_demand()
            && !self.is_frozen()
            && self.log.look_up(lpn..lpn + 1, FOR_BUFFER, &mut self.medium, sink) > 0
        {
            return self.parts.set_state(at, State::LoadsMap);
        }
        self.read_missing(at, sink);
    }

    fn read_missing(&mut self, at: u32, sink: &mut impl OpSink) {
        let slot = *self.buffer.slot(at);
        // A collector has moved it meanwhile, and still has it.
        if self.in_ram(slot.old) {
            return self.complete_part(at);
        }
        let lpn = self.medium.format().lpn(slot.tag);
        let layout = self.medium.layout();
        let (block, page) = layout.row_of(slot.old);
        let units = self.units_at(slot.old);
        self.counters.merge_read_units += u64::from(units);
        self.parts.set_state(at, State::Reading(slot.old));
        let op = FlashOp::merge_read(block, page, units, NOBODY, lpn);
        sink.enqueue_read(layout.die_of(block).0, op, 1 << slot.old.bit());
    }

    /// A read for the buffer has ended: of the map, or of what is missing of a unit.
    #[cold]
    #[inline(never)]
    pub(super) fn read_for_buffer_ended(&mut self, op: &FlashOp, sink: &mut impl OpSink) {
        let lpn = op.merged_page();
        // Whole meanwhile, or trimmed.
        let Place::Buffer(at) = self.map.get(lpn) else { return };
        let Some(part) = self.parts.get(at).copied() else { return };
        match (op.kind(), part.state) {
            (OpKind::MapRead, State::LoadsMap) => self.read_missing(at, sink),
            (OpKind::MergeRead, State::Reading(unit))
                if self.medium.layout().row_of(unit) == (op.block(), op.page()) =>
            {
                let found = (self.medium.lpn(unit), self.medium.generation(unit));
                assert!(
                    found == (lpn, part.base),
                    "page {lpn} would be merged with {found:?}, not write {}",
                    part.base
                );
                self.complete_part(at);
            }
            _ => {}
        }
    }

    /// [`PageMap::dispatch`] while some units are not whole, or rows go out that are not full.
    #[cold]
    #[inline(never)]
    pub(super) fn dispatch_with_care(&mut self, sink: &mut impl OpSink) {
        for stream in 0..self.buffer.streams() {
            if self.buffer.is_lacking() {
                self.ask_for_rows(stream, sink);
            }
            while let Some(units) = self.whole_row(stream)
                && let Some(domain) = self.host.choose(stream)
            {
                self.dispatch_row(domain, stream, units, sink);
                self.buffer.settle_force();
            }
        }
    }

    /// Asks for what is missing of the units that the next rows of a stream take.
    fn ask_for_rows(&mut self, stream: u8, sink: &mut impl OpSink) {
        let waiting = self.buffer.waiting_of(stream);
        let head = self.buffer.head(stream);
        let due = self.due_units(stream, waiting).max(self.buffer.forced_of(stream, waiting));
        let from = self.parts.ask_to(stream, head, head.wrapping_add(due));
        let asked: Range<u32> = from.wrapping_sub(head)..due;
        for k in asked {
            self.ask_for_missing(self.buffer.place(stream, k), sink);
        }
    }

    /// How many of the units of a stream that wait go out with the next rows, as soon as they are whole.
    fn due_units(&self, stream: u8, waiting: u32) -> u32 {
        let room = self.buffer_room.saturating_sub(self.buffer.units() + self.host.units_under_way());
        let newest_fills = room >> self.unit_shift > 0
            && waiting > 0
            && self.parts.get(self.buffer.place(stream, waiting - 1)).is_some_and(|part| part.state == State::Waiting);
        let settled = waiting - u32::from(newest_fills);
        if self.compression.is_some() {
            return if self.buffer.units_of(stream) >= self.row_units { settled } else { 0 };
        }
        settled / self.row_units * self.row_units
    }

    /// How many of the units in front of a stream make a row and are whole. A row that a flush has asked for waits for no unit
    /// that came after it.
    fn whole_row(&self, stream: u8) -> Option<u32> {
        if self.buffer.units_of(stream) < self.buffer.least_row(stream, self.row_units) {
            return None;
        }
        let (mut k, mut units) = (0, 0);
        while k < self.buffer.waiting_of(stream) && units < self.row_units {
            if !self.parts.is_whole(self.buffer.place(stream, k)) {
                let forced = self.buffer.forced_of(stream, k + 1);
                return (1..=k).contains(&forced).then_some(k);
            }
            units += u32::from(self.buffer.front(stream, k).1);
            k += 1;
        }
        Some(k)
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::DieId;

    use super::*;
    use crate::page_map::small;
    use crate::translation::Translation;

    #[test]
    fn a_flush_waits_for_the_rest_of_no_unit_that_came_after_it() {
        let mut map = small::map(false);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        for page in 0..16 {
            map.write(LogicalPage::new(page), 1, 0);
            map.dispatch(&mut ops);
            small::work(&mut map, &mut ops);
        }
        map.write_part(LogicalPage::new(5), 1, 0, 0, 2);
        let flushed = map.accepted_units();
        map.write_part(LogicalPage::new(9), 1, 0, 0, 2);
        map.force(flushed, &mut ops);
        let reads: Vec<_> = ops.iter().map(|(_, op)| (op.kind(), op.merged_page().number())).collect();
        assert_eq!(reads, [(OpKind::MergeRead, 5)]);
        small::work(&mut map, &mut ops);
        assert_eq!((map.durable_units(), map.waiting_units()), (flushed, 1));
        map.force(flushed + 1, &mut ops);
        small::work(&mut map, &mut ops);
        assert_eq!(map.durable_units(), flushed + 1);
    }
}
