//! A drive that has run out of good blocks: it refuses writes and trims, still answers reads, and still writes out
//! what it has accepted, as far as its flash can take it.

use ssdlab_core::{Cause, Status};

use super::{SimulatedSsd, unit_range};

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    /// Whether the drive accepts no more writes.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.ftl.is_read_only()
    }

    /// After anything that may have made the drive read-only, or may have brought it to rest since.
    #[cold]
    pub(super) fn settle_read_only(&mut self) {
        self.admit();
        self.settle_durable();
    }

    /// Refuses the writes that wait for room in the buffer. One that has been let in in part goes on, unless nothing
    /// will ever make room for it.
    #[cold]
    pub(super) fn refuse_writes(&mut self) {
        for _ in 0..self.commands.writes.len() {
            let Some(slot) = self.commands.writes.pop_front() else { break };
            let c = self.commands.slot(slot);
            let begun = c.next_unit > unit_range(&c.request).0;
            if begun && !self.schedule.at_rest() {
                self.commands.writes.push_back(slot);
            } else {
                self.refuse(slot);
            }
        }
    }

    /// Nothing moves any more: what waits for flash waits in vain.
    #[cold]
    pub(super) fn give_up_durable(&mut self) {
        if !self.schedule.at_rest() {
            return;
        }
        while let Some((_, slot)) = self.commands.durable.pop_front() {
            self.refuse(slot);
        }
        self.ftl.unforce();
    }

    pub(super) fn refuse(&mut self, slot: u32) {
        self.refuse_with(slot, Status::ReadOnly);
    }

    /// Ends a command with an error. Nothing of it is kept.
    #[cold]
    pub(super) fn refuse_with(&mut self, slot: u32, status: Status) {
        let now = self.schedule.now;
        let c = self.commands.slot(slot);
        let done = now.max(c.link_end).max(c.processed);
        let latency = done - c.submitted;
        if EXPLAIN {
            let breakdown = &mut self.commands.account(slot).breakdown;
            let waited = latency.saturating_sub(breakdown.sum());
            breakdown.add(Cause::Buffer, waited);
        }
        self.respond_with(slot, done, status);
    }
}
