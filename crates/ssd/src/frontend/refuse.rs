//! A drive that has run out of good blocks: it refuses writes and trims, still answers reads, and still writes out
//! what it has accepted, as far as its flash can take it.

use ssdlab_core::Cause;
use ssdlab_device::Status;
use ssdlab_ftl::Translation;

use crate::SimulatedSsd;
use crate::slot::Slot;

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Whether the drive accepts no more writes.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.translation.is_read_only()
    }

    /// After anything that may have made the drive read-only, or may have brought it to rest since.
    #[cold]
    pub(crate) fn settle_read_only(&mut self) {
        self.admit();
        self.settle_durable();
    }

    /// Refuses the writes that wait for room in the buffer. One that has been let in in part goes on, unless nothing
    /// will ever make room for it.
    #[cold]
    pub(crate) fn refuse_writes(&mut self) {
        for _ in 0..self.frontend.commands.writes.len() {
            let Some(slot) = self.frontend.commands.writes.pop_front() else { break };
            let unit = self.unit;
            let c = self.frontend.commands.slot(slot);
            let begun = c.next_unit > unit.of(c.request.offset_bytes);
            if begun && !self.is_at_rest() {
                self.frontend.commands.writes.push_back(slot);
            } else {
                self.refuse(slot);
            }
        }
    }

    /// Nothing moves any more: what waits for flash waits in vain.
    #[cold]
    pub(crate) fn give_up_durable(&mut self) {
        if !self.is_at_rest() {
            return;
        }
        while let Some(wait) = self.frontend.commands.durable.pop_front() {
            self.refuse(wait.slot);
        }
        self.frontend.held.stop_joining();
    }

    pub(crate) fn refuse(&mut self, slot: Slot) {
        self.refuse_with(slot, Status::ReadOnly);
    }

    /// Ends a command with an error. Nothing of it is kept.
    #[cold]
    pub(crate) fn refuse_with(&mut self, slot: Slot, status: Status) {
        let now = self.now;
        let c = self.frontend.commands.slot(slot);
        let done = now.max(c.link_end).max(c.processed);
        let latency = done - c.submitted;
        self.probe.explain(|explanations| explanations.add_rest(slot, Cause::Buffer, latency));
        self.respond_with(slot, done, status);
    }
}
