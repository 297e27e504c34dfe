//! TRIM, and commands that wait until their data are on flash: FLUSH CACHE, and writes without a write cache.

use ssdlab_core::{Cause, Nanos, UNIT_BYTES};

use super::SimulatedSsd;

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    pub(super) fn trim(&mut self, slot: u32) {
        let c = *self.commands.slot(slot);
        if self.ftl.is_read_only() {
            self.refuse(slot);
            return;
        }
        // Only whole units can be forgotten; the rest of the range stays as it is, as the standard allows.
        let first = c.request.offset_bytes.div_ceil(UNIT_BYTES) as u32;
        let last = ((c.request.offset_bytes + c.request.length_bytes) / UNIT_BYTES) as u32;
        self.ask(0, |ftl, wake| ftl.trim(first..last, wake));
        self.forgive_lost(first..last);
        if self.read_ahead.holds_data() {
            (first..last).for_each(|lpn| self.read_ahead.forget(lpn));
        }
        if CHECK && first < last {
            self.written[first as usize..last as usize].fill(0);
        }
        self.counters.host_trim_bytes += c.request.length_bytes;
        self.respond(slot, c.processed.max(self.schedule.now));
    }

    pub(super) fn flush(&mut self, slot: u32) {
        let now = self.schedule.now;
        self.wait_until_durable(slot, now);
    }

    /// A command waits until everything accepted so far is on flash; its own data are in the drive at `from`.
    pub(super) fn wait_until_durable(&mut self, slot: u32, from: Nanos) {
        if EXPLAIN {
            self.commands.account(slot).spent = self.schedule.spent;
        }
        self.commands.slot(slot).link_end = from;
        self.commands.durable.push_back((self.ftl.accepted_units(), slot));
        self.settle_durable();
    }

    /// Answers the commands that wait for data which are on flash by now, and pushes on what the others wait for:
    /// rows that are not full go out too.
    pub(super) fn settle_durable(&mut self) {
        while let Some(&(units, slot)) = self.commands.durable.front() {
            if self.ftl.durable_units() < units {
                self.ask(0, |ftl, wake| ftl.force(wake));
                if self.ftl.is_read_only() {
                    self.give_up_durable();
                }
                return;
            }
            self.commands.durable.pop_front();
            if self.commands.durable.is_empty() {
                self.ftl.unforce();
            }
            let c = *self.commands.slot(slot);
            let done = self.schedule.now.max(c.link_end);
            if EXPLAIN {
                self.explain_drive_wait(slot, c.link_end, done, Cause::Program);
            }
            self.respond(slot, c.processed.max(done));
        }
    }

    /// Splits a command's wait for the drive as a whole by what the dies were doing meanwhile; what cannot be split
    /// goes to `rest`.
    pub(super) fn explain_drive_wait(&mut self, slot: u32, from: Nanos, to: Nanos, rest: Cause) {
        let spent = self.schedule.spent;
        let c = self.commands.account(slot);
        let wait = to - from;
        if wait == 0 {
            return;
        }
        let delta = |k: Cause| spent.get(k) - c.spent.get(k);
        let parts = [
            Cause::Program,
            Cause::GarbageCollection,
            Cause::Fold,
            Cause::Erase,
            Cause::Metadata,
            Cause::Read,
            Cause::EccRetry,
        ];
        let total: u64 = parts.iter().map(|&k| delta(k)).sum();
        let mut left = wait;
        // The wait as so many parts in 2^32 of a nanosecond for each nanosecond of a die: rounded down twice, so that the
        // shares never exceed the whole.
        let scaled = wait.checked_mul(1 << 32).and_then(|wait| wait.checked_div(total)).map(u128::from);
        if let Some(scale) = scaled.or_else(|| (u128::from(wait) << 32).checked_div(total.into())) {
            for k in parts {
                let part = delta(k);
                if part == 0 {
                    continue;
                }
                let share = ((u128::from(part) * scale) >> 32) as Nanos;
                c.breakdown.add(if k == Cause::Program { rest } else { k }, share);
                left -= share;
            }
        }
        c.breakdown.add(rest, left);
    }
}
