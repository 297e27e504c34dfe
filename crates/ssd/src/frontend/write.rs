//! Writes: into the buffer, and what happens when it is full.

use ssdlab_core::Cause;
use ssdlab_ftl::{PAST_CACHE, Stretch, Translation};
use ssdlab_nand::LogicalPages;

use crate::SimulatedSsd;
use crate::op_queues::OpQueues;
use crate::slot::Slot;

use super::commands::IN_PARTS;
use super::link::Direction;

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Puts a decoded write in line for the buffer; [`SimulatedSsd::admit`] must follow.
    #[inline]
    pub(crate) fn begin_write(&mut self, slot: Slot) {
        let request = self.frontend.commands.slot(slot).request;
        self.probe.explain(|explanations| explanations.begin_drive_wait(slot));
        if request.length_bytes > self.buffer.largest_cached_bytes {
            self.frontend.commands.slot(slot).stream = PAST_CACHE;
        }
        if self.unit.is_aligned(request.offset_bytes | request.length_bytes) || self.begin_partial_write(slot) {
            self.frontend.commands.writes.push_back(slot);
        }
    }

    /// Lets waiting writes into the buffer as far as there is room, oldest first.
    #[inline]
    pub(crate) fn admit(&mut self) {
        let mut comes_nowhere = false;
        if self.translation.is_read_only() {
            self.refuse_writes();
            // The rest of a write that had begun, though there may be room.
            comes_nowhere = self.translation.is_frozen();
        }
        // A layer whose pages leave the buffer when their programs begin has room again at once.
        while !comes_nowhere && self.admit_what_fits() && !self.frontend.commands.writes.is_empty() {}
        // Those that wait for writes to join them hear of refused ones, too.
        if self.buffer.joins && !self.frontend.commands.durable.is_empty() {
            self.settle_durable();
        }
    }

    /// Returns whether a write was taken in whole.
    #[inline]
    fn admit_what_fits(&mut self) -> bool {
        let mut any = false;
        while let Some(slot) = self.frontend.commands.writes.front() {
            let mut room = self.buffer.units.saturating_sub(self.translation.buffered_units());
            if self.translation.compresses() {
                // For so many logical pages there is room, however little they can be compressed.
                room >>= self.translation.unit_shift();
                let hints = self.frontend.commands.slot(slot).request.hints;
                self.translation.set_compressibility(hints.compressibility_per_1000.min(1000).into());
            }
            if room == 0 {
                self.ask(|translation, queues| translation.needs_room(queues));
                break;
            }
            let unit = self.unit;
            let c = self.frontend.commands.slot(slot);
            let (request, next, stream, in_parts) = (c.request, c.next_unit, c.stream, c.parts == IN_PARTS);
            let (first, last) = unit.touched(&request);
            let units = room.min(last - next);
            if next == first {
                let ends_within = !unit.is_aligned(request.offset_bytes + request.length_bytes);
                self.translation.write_begins(first..last, ends_within);
            }
            let bytes = if next + units == last { c.bytes_left } else { c.bytes_left.min(unit.bytes_of(units)) };
            c.bytes_left -= bytes;
            c.next_unit += units;
            let listed = if next == first { self.frontend.link.list_time(request.length_bytes) } else { 0 };
            let from = self.now + listed;
            let (start, end) = self.transfer_on_link(from, bytes, Direction::ToDrive, next + units == last);
            let each = if units == 1 { end - start } else { (end - start) / u64::from(units) };
            let stretch = Stretch { first: next, units, stream, from: start, each };
            let alone = next + units < last || self.frontend.commands.writes.len() == 1;
            let direct = if in_parts {
                self.write_in_parts(slot, stretch);
                None
            } else {
                let direct = if alone && units > 1 { self.write_rows(&stretch) } else { None };
                let probe = &mut self.probe;
                self.translation.write_units(&stretch.after(direct.unwrap_or(0)), |page| probe.count_write(page));
                self.forgive_lost(next.run(units));
                direct
            };
            // Rows that have gone to dies directly begin once the command has been seen to.
            let woken = direct.map(|_| self.backend.take_woken());
            if self.frontend.read_ahead.holds_data() {
                next.run(units).each().for_each(|page| self.frontend.read_ahead.forget(page));
            }
            let whole = next + units == last;
            if whole {
                self.frontend.commands.writes.pop_front();
                self.admitted(slot, end);
            }
            if let Some(woken) = woken {
                self.backend.set_woken(woken);
                self.begin_woken();
            } else if whole {
                any = true;
            } else {
                self.probe.explain(|explanations| explanations.part_on_link(slot, end - start));
                // The rest comes when the dies have made room; give them what is here.
                self.dispatch();
            }
        }
        if any {
            self.dispatch();
        }
        any
    }

    /// Lets writes in that wait, if any do.
    #[inline]
    pub(crate) fn admit_waiting(&mut self) {
        if self.frontend.any_write_waits() {
            self.admit();
        }
    }

    /// Gives what it can of a long write to dies at once, which are woken. See [`Translation::write_rows`].
    #[inline]
    fn write_rows(&mut self, stretch: &Stretch) -> Option<u32> {
        let mut queues = OpQueues::new(&mut self.backend, &mut self.firmware.processor, self.now);
        let probe = &mut self.probe;
        self.translation.write_rows(stretch, |page| probe.count_write(page), &mut queues)
    }

    #[inline]
    fn dispatch(&mut self) {
        self.ask(|translation, queues| translation.dispatch(queues));
    }

    /// All data of a write are in the buffer, or booked on the link.
    #[inline]
    fn admitted(&mut self, slot: Slot, link_end: u64) {
        let now = self.now;
        let c = self.frontend.commands.slot(slot);
        let (decoded, processed, fua) = (c.decoded, c.processed, c.request.fua);
        self.probe.explain(|explanations| {
            explanations.end_drive_wait(slot, decoded, now, Cause::Buffer);
            explanations.add(slot, Cause::Link, link_end - now);
        });
        if fua && !self.plug.flush_lies && !self.is_safe_in_buffer() || !self.buffer.acknowledges {
            // The data are still on the link; the wait for flash begins where they have arrived.
            self.wait_until_durable(slot, link_end);
            if !self.buffer.joins {
                self.settle_durable();
            }
        } else {
            self.respond(slot, link_end.max(processed));
        }
    }
}
