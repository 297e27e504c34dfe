//! The drive as the bench sees it.

use ssdlab_core::{Completion, Nanos, Request};

use super::correction::CorrectionCounters;
use super::events::NEVER;
use super::{IdleStep, SimulatedSsd};
use crate::device::{Counters, Device, DeviceInfo};
use crate::life::Life;
use crate::power::LinkPolicy;

impl<const EXPLAIN: bool, const CHECK: bool> Device for SimulatedSsd<EXPLAIN, CHECK> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    #[inline(always)]
    fn submit(&mut self, now: Nanos, request: Request) {
        self.submit_to_stream(now, request, 0);
    }

    fn streams(&self) -> u8 {
        self.ftl.streams()
    }

    #[inline(always)]
    fn submit_to_stream(&mut self, now: Nanos, request: Request, stream: u8) {
        self.check_request(&request);
        assert!(stream < self.ftl.streams(), "stream {stream} of a drive of {}", self.ftl.streams());
        if self.in_flight == 0
            && (self.idle_step != IdleStep::Busy || self.folding.started || self.link_power.is_managed())
        {
            self.wake_from_idle(now);
        }
        self.note_in_flight(now, 1);
        if self.commands.active < self.info.queue_depth && self.commands.outside.is_empty() {
            self.accept(now, now, request, stream, self.shrink_per_1000);
        } else {
            self.commands.outside.push_back((now, request, stream, self.shrink_per_1000));
        }
    }

    fn set_link_policy(&mut self, now: Nanos, policy: LinkPolicy) -> bool {
        assert!(self.in_flight == 0, "the host's policy for an idle link changes while commands are under way");
        let Some((spec, _)) = self.power.as_deref().filter(|p| policy.suits(&p.0)) else {
            return policy == LinkPolicy::Active;
        };
        self.link_power.set_policy(now, policy, spec, self.schedule.at_rest());
        true
    }

    fn set_compressibility(&mut self, per_1000: u32) -> bool {
        self.shrink_per_1000 = per_1000.min(1000) as u16;
        self.ftl.compresses()
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        let decoded_at = self.schedule.processor.queue.front().map_or(NEVER, |(at, _)| at);
        let finished_at = self.commands.finished.front().map_or(NEVER, |f| f.0);
        let at = self.schedule.first().0.min(decoded_at).min(finished_at).min(self.idle_work_at());
        (at != NEVER).then_some(at)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        self.run(to, false, done);
    }

    #[inline]
    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        self.run(limit, true, done)
    }

    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        assert!(self.in_flight == 0, "SECURITY ERASE UNIT needs a drive without commands under way");
        // What is under way inside ends first.
        self.wake_from_idle(now);
        self.schedule.now = self.schedule.now.max(now);
        self.flush_rows();
        loop {
            let (die_at, d) = self.schedule.first();
            let processed_at = self.schedule.processor.queue.front().map_or(NEVER, |(at, _)| at);
            if processed_at < die_at {
                self.decoded();
            } else if die_at != NEVER {
                self.die_event(die_at, d);
            } else if self.ftl.waiting_units() > 0 && !self.ftl.is_read_only() {
                self.flush_rows();
            } else {
                break;
            }
        }
        let at = self.schedule.now;
        if self.ftl.is_read_only() {
            return at;
        }
        let erased_before = self.ftl.counters().block_erases;
        let blocks = self.ftl.secure_erase();
        let erased = (self.ftl.counters().block_erases - erased_before) / u64::from(self.ftl.medium().layout().planes);
        self.schedule.work.erasing += erased * self.schedule.erase_time();
        self.read_ahead.clear();
        self.written.fill(0);
        self.forgive_lost(0..self.ftl.logical_pages());
        let ready = at + u64::from(blocks) * self.schedule.erase_time();
        self.idle_since = ready;
        self.idle_step = IdleStep::Collecting;
        self.schedule.now = ready;
        self.schedule.processor.free = self.schedule.processor.free.max(ready);
        if self.link_power.is_managed() {
            self.link_power.rest(ready, true);
        }
        ready
    }

    fn counters(&self) -> Counters {
        let f = self.ftl.counters();
        let c = self.schedule.correction.as_ref().map_or_else(CorrectionCounters::default, |c| c.counters);
        let layout = self.ftl.medium().layout();
        let row_bytes = u64::from(layout.row_bytes());
        Counters {
            flash_host_program_bytes: f.host_rows * row_bytes,
            flash_fold_program_bytes: f.fold_rows * row_bytes,
            flash_gc_program_bytes: (f.gc_rows + f.retire_rows) * row_bytes,
            flash_metadata_program_bytes: f.metadata_rows * row_bytes,
            flash_gc_read_bytes: f.gc_read_units * u64::from(layout.unit_bytes),
            block_erases: f.block_erases,
            buffer_overwrites: f.overwrites_in_buffer,
            energy_nanojoules: self.energy_nanojoules(),
            reread_units: c.reread_units,
            soft_units: c.soft_units,
            rebuilt_units: c.rebuilt_units,
            lost_units: c.lost_units,
            ..self.counters
        }
    }

    fn life(&mut self) -> Option<&mut dyn Life> {
        Some(self)
    }

    fn check_books(&self) -> Result<(), String> {
        self.check_own_books()?;
        self.ftl.check_books()
    }
}
