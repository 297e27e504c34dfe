//! Commands on their way in and out: from the host to the processor, and the answer.

use ssdlab_core::{Breakdown, Cause, Completion, Nanos, Op, Request, SECTOR_BYTES, Status};

use super::command::Command;
use super::processor::FIRST_OF_COLLECTOR;
use super::{IdleStep, SimulatedSsd, unit_range};

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    pub(super) fn check_request(&self, r: &Request) {
        if r.op == Op::Flush {
            return;
        }
        let whole = r.offset_bytes.is_multiple_of(SECTOR_BYTES) && r.length_bytes.is_multiple_of(SECTOR_BYTES);
        let inside = r.offset_bytes.checked_add(r.length_bytes).is_some_and(|e| e <= self.info.capacity_bytes);
        assert!(
            whole && r.length_bytes > 0 && inside,
            "{:?} of {} bytes at {} is not a whole number of sectors within {} bytes",
            r.op,
            r.length_bytes,
            r.offset_bytes,
            self.info.capacity_bytes
        );
    }

    /// Puts a command into a slot and into the processor's queue. `now` is when the drive may see it, `submitted`
    /// when the host let go of it.
    // Where the request is taken apart in registers, it need not pass through memory in one piece.
    #[inline(always)]
    pub(super) fn accept(&mut self, now: Nanos, submitted: Nanos, request: Request, stream: u8, shrink_per_1000: u16) {
        let slot = self.commands.take_slot().expect("the caller checked for a slot");
        if self.ftl.compresses() {
            self.commands.shrink_per_1000[slot as usize] = shrink_per_1000;
        }
        // A link that slept carries nothing before it is up.
        let arrived = now.max(self.link_power.up_at) + self.link.command_time();
        let (first, _) = unit_range(&request);
        if self.schedule.processor.holds() {
            return self.hold(slot, &request, stream, [submitted, now, arrived]);
        }
        let (decoded, processed) = self.process(&request, arrived);
        if EXPLAIN {
            let breakdown = &mut self.commands.account(slot).breakdown;
            *breakdown = Breakdown::default();
            breakdown.add(Cause::Queue, now - submitted);
            breakdown.add(Cause::Link, arrived - now);
            breakdown.add(Cause::Controller, decoded - arrived);
        }
        *self.commands.slot(slot) = Command::new(request, stream, submitted, decoded, processed);
        self.ftl.prefetch(first.min(self.ftl.logical_pages() - 1));
        if CHECK {
            ssdlab_nand::memory::prefetch(&self.written, first as usize);
        }
        self.schedule.processor.queue.push_back((decoded, slot));
    }

    /// Books the processor for a command that has arrived; returns when it is decoded, and when all is done.
    #[inline(always)]
    pub(super) fn process(&mut self, request: &Request, arrived: Nanos) -> (Nanos, Nanos) {
        let (first, last) = unit_range(request);
        let units = u64::from(last - first);
        // The processor hands over the first unit of a read as soon as it is looked up, and the data of a write are
        // let in once it is decoded; the rest goes on beside the transfers.
        let (decode, rest) = match request.op {
            Op::Read => (self.times.read_command + self.times.read_unit, (units - 1) * self.times.read_unit),
            Op::Write => (self.times.write_command, units * self.times.write_unit),
            Op::Trim | Op::Flush => (self.times.write_command, 0),
        };
        let decoded = self.schedule.processor.book(arrived, decode + rest) + decode;
        (decoded, decoded + rest)
    }

    /// Accepts the command that has waited longest outside.
    #[inline(never)]
    fn accept_next(&mut self, now: Nanos) {
        if let Some((submitted, request, stream, shrink)) = self.commands.outside.pop_front() {
            self.accept(now, submitted, request, stream, shrink);
        }
    }

    /// The processor has decoded the oldest command, and perhaps others at the same instant.
    #[inline]
    pub(super) fn decoded(&mut self) {
        let (at, mut slot) = self.schedule.processor.queue.pop_front().expect("the event says so");
        self.schedule.now = at;
        if slot >= FIRST_OF_COLLECTOR {
            return self.processed(slot);
        }
        let mut writes = false;
        loop {
            let op = self.commands.slot(slot).request.op;
            if op == Op::Write {
                writes = true;
                self.begin_write(slot);
            } else {
                if std::mem::take(&mut writes) {
                    self.admit();
                }
                match op {
                    Op::Read if self.waits_for_map(slot) => {}
                    Op::Read => self.begin_read(slot),
                    Op::Trim => self.trim(slot),
                    Op::Flush | Op::Write => self.flush(slot),
                }
            }
            let next = self.schedule.processor.queue.front();
            let Some(next) = next.filter(|next| next.0 == at && next.1 < FIRST_OF_COLLECTOR) else { break };
            self.schedule.processor.queue.pop_front();
            slot = next.1;
        }
        if writes {
            self.admit();
        }
    }

    /// Sends the final frame of a command whose last work ended at `done` (not before now).
    #[inline]
    pub(super) fn respond(&mut self, slot: u32, done: Nanos) {
        self.respond_with(slot, done, Status::Ok);
    }

    #[inline]
    pub(super) fn respond_with(&mut self, slot: u32, done: Nanos, status: Status) {
        let completed = done + self.link.status_time();
        if EXPLAIN {
            let status = self.link.status_time();
            let latency = completed - self.commands.slot(slot).submitted;
            let breakdown = &mut self.commands.account(slot).breakdown;
            breakdown.add(Cause::Link, status);
            // Whatever no stage has claimed was the processor's work beside the transfers.
            let claimed = breakdown.sum();
            breakdown.add(Cause::Controller, latency - claimed);
        }
        let c = self.commands.slot(slot).request;
        match c.op {
            _ if status != Status::Ok => {}
            Op::Read => {
                self.counters.host_reads += 1;
                self.counters.host_read_bytes += c.length_bytes;
            }
            Op::Write => {
                self.counters.host_writes += 1;
                self.counters.host_write_bytes += c.length_bytes;
            }
            Op::Trim | Op::Flush => {}
        }
        self.commands.finish(slot, completed, status);
    }

    /// Hands over everything that the host sees at this instant.
    #[inline]
    pub(super) fn deliver(&mut self, at: Nanos, done: &mut Vec<Completion>) {
        while let Some(c) = self.commands.deliver(at, EXPLAIN) {
            self.note_in_flight(at, -1);
            self.latency_sum += u128::from(at - c.submitted);
            done.push(c);
            if !self.commands.outside.is_empty() {
                self.accept_next(at);
            }
        }
        if self.in_flight == 0 {
            self.idle_since = at;
            self.idle_step = IdleStep::Busy;
            self.folding.rest(at);
            if self.link_power.is_managed() {
                self.link_power.rest(at, self.schedule.at_rest());
            }
        }
    }

    #[inline]
    pub(super) fn note_in_flight(&mut self, at: Nanos, change: i64) {
        if at != self.in_flight_changed {
            self.in_flight_time += u128::from(at - self.in_flight_changed) * u128::from(self.in_flight);
            self.in_flight_changed = at;
        }
        self.in_flight = self.in_flight.wrapping_add_signed(change);
    }
}
