//! TRIM, and commands that wait until their data are on flash: FLUSH CACHE, and writes without a write cache.

use ssdlab_core::{Cause, Nanos, Op};
use ssdlab_ftl::Translation;
use ssdlab_nand::LogicalPages;

use super::Frontend;
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

    /// A command waits until everything accepted so far is on flash; its own data are in the drive at `from`.
    /// [`Self::settle_durable`] must follow.
    pub(crate) fn wait_until_durable(&mut self, slot: Slot, from: Nanos) {
        self.probe.explain(|explanations| explanations.begin_drive_wait(slot));
        self.frontend.commands.slot(slot).link_end = from;
        let commands = &mut self.frontend.commands;
        commands.durable.push_back((self.translation.accepted_units(), slot));
        commands.joining_since.get_or_insert(from);
    }

    /// Whether rows that are not full may wait for writes which are being decoded: not for long, as there may always be
    /// another.
    fn more_will_join(&mut self) -> bool {
        let Frontend { commands, .. } = &mut self.frontend;
        commands.joining_since.is_some_and(|since| self.now < since + LONGEST_JOINING)
            && self.firmware.processor.commands().any(|slot| commands.slot(slot).request.op == Op::Write)
    }

    /// Answers the commands that wait for data which are on flash by now, and pushes on what the others wait for, and no more:
    /// rows that are not full go out too.
    pub(crate) fn settle_durable(&mut self) {
        while let Some(&(units, slot)) = self.frontend.commands.durable.front() {
            if self.translation.durable_units() < units {
                let newest = self.frontend.commands.durable.back().map_or(units, |&(units, _)| units);
                if !self.buffer.joins {
                    self.ask(|translation, queues| translation.force(newest, queues));
                } else if self.more_will_join() {
                    return;
                } else if self.frontend.commands.joining_since.take().is_some() {
                    self.ask(|translation, queues| translation.force(newest, queues));
                }
                // Where there was nothing to close in, no program tells when that is done.
                if self.translation.pads_at_flush() && self.translation.durable_units() >= units {
                    continue;
                }
                if self.translation.is_read_only() {
                    self.give_up_durable();
                }
                return;
            }
            self.frontend.commands.durable.pop_front();
            if self.frontend.commands.durable.is_empty() {
                self.frontend.commands.joining_since = None;
            }
            let c = *self.frontend.commands.slot(slot);
            let done = self.now.max(c.link_end);
            self.probe.explain(|explanations| explanations.end_drive_wait(slot, c.link_end, done, Cause::Program));
            self.respond(slot, c.processed.max(done));
        }
    }
}
