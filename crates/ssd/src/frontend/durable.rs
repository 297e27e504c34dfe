//! TRIM, and commands that wait until data are on flash: FLUSH CACHE for all that came before it; forced writes, and writes without
//! a write cache, for their own.

use ssdlab_core::{Cause, Nanos, Op};
use ssdlab_ftl::{Source, Translation};
use ssdlab_nand::{DieId, LogicalPage, LogicalPages};

use super::Frontend;
use super::commands::DurableWait;
use crate::SimulatedSsd;
use crate::slot::Slot;

/// So long a write that waits for flash waits for others to share its row, at most. Estimate: less than a program.
const LONGEST_JOINING: Nanos = 500_000;

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    pub(crate) fn trim(&mut self, slot: Slot) {
        let c = *self.frontend.commands.slot(slot);
        if self.translation.is_read_only() {
            self.refuse(slot);
            return;
        }
        // Only whole units can be forgotten; the rest of the range stays as it is, as the standard allows.
        let units = self.unit.covered(&c.request);
        self.ask(|translation, queues| translation.trim(units.clone(), queues));
        self.forgive_lost(units.clone());
        if self.frontend.read_ahead.holds_data() {
            units.each().for_each(|lpn| self.frontend.read_ahead.forget(lpn));
        }
        self.probe.check(|checks| checks.trim(units));
        let ranges = self.frontend.link.ranges_time();
        self.probe.explain(|explanations| explanations.add(slot, Cause::Link, ranges));
        self.respond(slot, c.processed.max(self.now) + ranges);
    }

    pub(crate) fn flush(&mut self, slot: Slot) {
        let now = self.now;
        if self.plug.flush_lies || self.is_safe_in_buffer() {
            let processed = self.frontend.commands.slot(slot).processed;
            self.respond(slot, processed.max(now));
            return;
        }
        self.wait_until_durable(slot, now);
        self.settle_durable();
    }

    /// Whether what is in the buffer survives a power cut, so that a FLUSH leaves it there. A drive that is read-only has nowhere to
    /// write it.
    #[inline]
    #[must_use]
    pub fn is_safe_in_buffer(&self) -> bool {
        self.plug.keeps_buffer && !self.translation.is_read_only()
    }

    /// A command waits for flash: a write for its own data, a FLUSH for everything accepted so far; its own data are in the drive
    /// at `from`. [`Self::settle_durable`] must follow.
    pub(crate) fn wait_until_durable(&mut self, slot: Slot, from: Nanos) {
        self.probe.explain(|explanations| explanations.begin_drive_wait(slot));
        let (unit, joins) = (self.unit, self.buffer.joins);
        let Frontend { commands, held, .. } = &mut self.frontend;
        let c = commands.slot(slot);
        (c.link_end, c.next_unit) = (from, unit.of(c.request.offset_bytes));
        commands.durable.push_back(DurableWait { units: self.translation.accepted_units(), slot, joins });
        if joins {
            held.join_until(from + LONGEST_JOINING);
        }
    }

    /// Whether rows that are not full may wait for writes which are being decoded: not for long, as there may always be
    /// another.
    fn more_will_join(&mut self) -> bool {
        let Frontend { commands, held, .. } = &mut self.frontend;
        held.may_join(self.now)
            && self.firmware.processor.commands().any(|slot| commands.slot(slot).request.op == Op::Write)
    }

    /// Answers the commands that wait for data which are on flash by now, and pushes on what the others wait for, and no more:
    /// rows that are not full go out too.
    pub(crate) fn settle_durable(&mut self) {
        self.answer_durable();
        let Some(newest) = self.frontend.commands.durable.back().map(|wait| wait.units) else { return };
        let mut sends = true;
        if self.buffer.joins {
            if self.more_will_join() {
                return self.note_sent(false);
            }
            sends = self.frontend.held.stop_joining();
            self.note_sent(sends);
        }
        if sends {
            self.ask(|translation, queues| translation.force(newest, queues));
        }
        // Where there was nothing to close in, no program tells when that is done.
        if self.translation.pads_at_flush() {
            self.answer_durable();
        }
        if self.translation.is_read_only() {
            self.give_up_durable();
        }
    }

    fn answer_durable(&mut self) {
        let mut k = 0;
        while let Some(&wait) = self.frontend.commands.durable.get(k) {
            let slot = wait.slot;
            let missed = self.frontend.commands.slot(slot).next_unit;
            if !self.is_durable(wait) {
                k += 1;
                continue;
            }
            self.frontend.commands.durable.remove(k);
            let c = *self.frontend.commands.slot(slot);
            let done = self.now.max(c.link_end);
            let die = if EXPLAIN && c.request.op == Op::Write { self.die_that_has(missed) } else { None };
            self.probe.explain(|explanations| match die {
                Some(die) => explanations.end_wait_for_program(slot, die, c.link_end, done, Cause::Program),
                None => explanations.end_drive_wait(slot, c.link_end, done, Cause::Program),
            });
            self.respond(slot, c.processed.max(done));
        }
        if self.frontend.commands.durable.is_empty() {
            self.frontend.held.stop_joining();
        }
    }

    /// The die on whose flash a logical page is for good.
    fn die_that_has(&self, page: LogicalPage) -> Option<DieId> {
        let Source::Flash(spot) = self.translation.source(page) else { return None };
        if !self.translation.is_on_flash(page) {
            return None;
        }
        Some(self.backend.die_of(self.translation.medium().layout().die_of(spot.block).0))
    }

    fn is_durable(&mut self, wait: DurableWait) -> bool {
        let c = self.frontend.commands.slot(wait.slot);
        if c.request.op == Op::Write {
            let (_, end) = self.unit.touched(&c.request);
            // What has been seen there once counts, though it may be written again meanwhile.
            while c.next_unit < end && self.translation.is_on_flash(c.next_unit) {
                c.next_unit += 1;
            }
            if c.next_unit == end {
                return true;
            }
        }
        self.translation.durable_units() >= wait.units
    }

    /// Rows that were waiting for other writes go out now, or have gone as they were full: `all`, or those that did not stay in
    /// the buffer. No die had anything to do with the wait up to now: that was the firmware's.
    fn note_sent(&mut self, all: bool) {
        let Frontend { commands, .. } = &mut self.frontend;
        for k in 0..commands.durable.len() {
            let DurableWait { slot, joins, .. } = commands.durable[k];
            let request = &commands.slot(slot).request;
            let stays = match request.op {
                // Its last page leaves last, mostly.
                Op::Write => {
                    let last = self.unit.of(request.offset_bytes + request.length_bytes - 1);
                    self.translation.unit_of(last).is_none()
                }
                _ => self.translation.waiting_units() > 0,
            };
            if joins && (all || !stays) {
                commands.durable[k].joins = false;
                self.probe.explain(|explanations| explanations.begin_drive_wait(slot));
                let c = commands.slot(slot);
                c.link_end = c.link_end.max(self.now);
            }
        }
    }
}
