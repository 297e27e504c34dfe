//! Writes: into the buffer, and what happens when it is full.

use ssdlab_core::{Cause, Status, UNIT_BYTES};
use ssdlab_ftl::{FlashOp, OpKind, PAST_CACHE, Place, Stretch};

use super::correction::Climb;
use super::schedule::{Finished, Wake};
use super::{SimulatedSsd, unit_range};

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    /// Puts a decoded write in line for the buffer; [`SimulatedSsd::admit`] must follow.
    #[inline]
    pub(super) fn begin_write(&mut self, slot: u32) {
        let request = self.commands.slot(slot).request;
        if EXPLAIN {
            self.commands.account(slot).spent = self.schedule.spent;
        }
        if request.length_bytes > self.largest_cached_bytes {
            self.commands.slot(slot).stream = PAST_CACHE;
        }
        let aligned =
            request.offset_bytes.is_multiple_of(UNIT_BYTES) && request.length_bytes.is_multiple_of(UNIT_BYTES);
        if !aligned && self.read_for_merge(slot) {
            return;
        }
        self.commands.writes.push_back(slot);
    }

    /// A unit that is written in part keeps the rest: it must be read first. Returns whether any has to be.
    fn read_for_merge(&mut self, slot: u32) -> bool {
        let request = self.commands.slot(slot).request;
        let (first, last) = unit_range(&request);
        let head = !request.offset_bytes.is_multiple_of(UNIT_BYTES);
        let tail = !(request.offset_bytes + request.length_bytes).is_multiple_of(UNIT_BYTES);
        let mut edges = [None; 2];
        if head || (first + 1 == last && tail) {
            edges[0] = Some(first);
        }
        if tail && first + 1 != last {
            edges[1] = Some(last - 1);
        }
        if edges.iter().flatten().any(|&lpn| self.has_lost(lpn..lpn + 1)) {
            self.commands.slot(slot).status = Status::Uncorrectable;
        }
        let mut parts = 0;
        let mut wake = Wake { schedule: &mut self.schedule, dies: 0 };
        for lpn in edges.into_iter().flatten() {
            if let Place::Flash(unit) = self.ftl.place(lpn) {
                if self.ftl.in_ram(unit) {
                    continue;
                }
                parts += 1;
                // Another write brings this unit already: both are merged with what it brings.
                let coming = self.merges.iter().any(|&(l, _)| l == lpn);
                self.merges.push((lpn, slot));
                if coming {
                    continue;
                }
                let layout = self.ftl.medium().layout();
                let (block, page) = layout.row_of(unit);
                let units = self.ftl.units_at(unit);
                let op = FlashOp {
                    kind: OpKind::MergeRead,
                    die: layout.die_of(block).0 as u8,
                    rows: 1,
                    units: units as u8,
                    block,
                    page: page as u16,
                    tag: slot as u16,
                    ready: lpn,
                };
                wake.enqueue_read(op, 1 << (unit & 63));
                self.counters.flash_rmw_read_bytes += u64::from(units * layout.unit_bytes);
            }
        }
        let dies = wake.dies;
        let c = self.commands.slot(slot);
        c.parts = parts;
        let unmergeable = c.status != Status::Ok;
        self.schedule.begin_idle(dies, &mut self.ftl, EXPLAIN);
        if parts == 0 && unmergeable {
            self.refuse_with(slot, Status::Uncorrectable);
            return true;
        }
        parts > 0
    }

    /// A unit to be merged has come from flash.
    pub(super) fn merge_read_done(&mut self, finished: &Finished, climb: Option<&Climb>) {
        let lpn = finished.op.ready;
        let mut k = 0;
        while k < self.merges.len() {
            if self.merges[k].0 == lpn {
                let (_, slot) = self.merges.remove(k);
                self.merge_part_done(slot, finished, climb);
            } else {
                k += 1;
            }
        }
        self.admit();
    }

    fn merge_part_done(&mut self, slot: u32, finished: &Finished, climb: Option<&Climb>) {
        let now = self.schedule.now;
        let c = self.commands.slot(slot);
        c.parts -= 1;
        if climb.is_some_and(|climb| !climb.lost.is_empty()) {
            c.status = Status::Uncorrectable;
        }
        if c.parts > 0 {
            return;
        }
        if EXPLAIN {
            let decoded = c.decoded;
            let account = self.commands.account(slot);
            let breakdown = &mut account.breakdown;
            let began = finished.began.max(decoded);
            self.schedule.explain_wait(finished.op.die.into(), decoded, began, Cause::Queue, breakdown);
            finished.explain(began, now, climb, breakdown);
            account.spent = self.schedule.spent;
        }
        if self.commands.slot(slot).status != Status::Ok {
            self.refuse_with(slot, Status::Uncorrectable);
            return;
        }
        // From here on it waits for the buffer.
        self.commands.slot(slot).decoded = now;
        self.commands.writes.push_back(slot);
    }

    /// Lets waiting writes into the buffer as far as there is room, oldest first.
    #[inline]
    pub(super) fn admit(&mut self) {
        if self.ftl.is_read_only() {
            self.refuse_writes();
        }
        let (mut any, mut woken) = (false, 0);
        while let Some(slot) = self.commands.writes.front() {
            let mut room = self.buffer_units.saturating_sub(self.ftl.buffered_units());
            if self.ftl.compresses() {
                // For so many logical units there is room, however little they can be compressed.
                room >>= self.ftl.unit_shift();
                self.ftl.set_compressibility(self.commands.shrink_per_1000[slot as usize].into());
            }
            if room == 0 {
                break;
            }
            let c = self.commands.slot(slot);
            let (request, next, stream) = (c.request, c.next_unit, c.stream);
            let (_, last) = unit_range(&request);
            let units = room.min(last - next);
            let bytes =
                if next + units == last { c.bytes_left } else { c.bytes_left.min(u64::from(units) * UNIT_BYTES) };
            c.bytes_left -= bytes;
            c.next_unit += units;
            let (start, end) = self.transfer_on_link(bytes);
            let each = if units == 1 { end - start } else { (end - start) / u64::from(units) };
            let stretch = Stretch { first: next, units, stream, from: start, each };
            let alone = next + units < last || self.commands.writes.len() == 1;
            let direct = if alone && units > 1 { self.write_rows(&stretch, &mut woken) } else { None };
            let (written, max) = (&mut self.written, self.max_generation);
            let count = |lpn: u32| if CHECK { count_write(&mut written[lpn as usize], max) } else { 0 };
            self.ftl.write_units(&stretch.after(direct.unwrap_or(0)), count);
            if self.read_ahead.holds_data() {
                (next..next + units).for_each(|lpn| self.read_ahead.forget(lpn));
            }
            self.forgive_lost(next..next + units);
            let whole = next + units == last;
            if whole {
                self.commands.writes.pop_front();
                self.admitted(slot, end);
            }
            if direct.is_some() {
                self.schedule.begin_idle(std::mem::take(&mut woken), &mut self.ftl, EXPLAIN);
            } else if whole {
                any = true;
            } else {
                // The rest comes when the dies have made room; give them what is here.
                self.dispatch();
            }
        }
        if any {
            self.dispatch();
        }
    }

    /// Gives what it can of a long write to dies at once, which are noted in `woken`. See [`ssdlab_ftl::Ftl::write_rows`].
    #[inline]
    fn write_rows(&mut self, stretch: &Stretch, woken: &mut u64) -> Option<u32> {
        let mut wake = Wake { schedule: &mut self.schedule, dies: 0 };
        let (written, max) = (&mut self.written, self.max_generation);
        let count = |lpn: u32| if CHECK { count_write(&mut written[lpn as usize], max) } else { 0 };
        let gone = self.ftl.write_rows(stretch, count, &mut wake)?;
        *woken |= wake.dies;
        Some(gone)
    }

    #[inline]
    fn dispatch(&mut self) {
        self.ask(0, |ftl, wake| ftl.dispatch(wake));
    }

    /// All data of a write are in the buffer, or booked on the link.
    #[inline]
    fn admitted(&mut self, slot: u32, link_end: u64) {
        let now = self.schedule.now;
        let c = self.commands.slot(slot);
        let (decoded, processed, fua) = (c.decoded, c.processed, c.request.fua);
        if EXPLAIN {
            self.explain_drive_wait(slot, decoded, now, Cause::Buffer);
            self.commands.account(slot).breakdown.add(Cause::Link, link_end - now);
        }
        if fua || !self.write_cache {
            // The data are still on the link; the wait for flash begins where they have arrived.
            self.wait_until_durable(slot, link_end);
        } else {
            self.respond(slot, link_end.max(processed));
        }
    }
}

/// One more write of a unit; returns its number, from 1 to `max` over and over.
#[inline]
fn count_write(written: &mut u8, max: u8) -> u8 {
    *written = if *written == max { 1 } else { *written + 1 };
    *written
}
