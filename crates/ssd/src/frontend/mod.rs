//! The drive's face to the host: link, command queue, data that were read ahead; commands on their way in and out.

mod commands;
mod durable;
mod held;
mod in_flight;
mod link;
mod map_read;
mod partial_write;
mod read;
mod read_ahead;
mod refuse;
mod write;

use ssdlab_core::{Cause, Nanos, Op, nanos_from_us};
use ssdlab_device::{Completion, HostQueue, Request, Sent, Status};
use ssdlab_ftl::Translation;
use ssdlab_nand::LogicalPage;

use crate::SimulatedSsd;
use crate::firmware::Processed;
use crate::power::LinkSleep;
use crate::slot::Slot;
use crate::spec::DriveSpec;
use crate::timing::Interval;

pub use commands::{Command, Commands};
pub use held::Held;
pub use in_flight::InFlight;
pub use link::{Direction, Link, LinkGeneration, LinkSpec, NotQueued, PcieSpec, TrimRanges};
pub use read_ahead::ReadAhead;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Frontend {
    pub link: Link,
    pub link_sleep: LinkSleep,
    /// What the host holds; the others have a slot among the commands.
    pub host_queue: HostQueue,
    pub commands: Commands,
    pub read_ahead: ReadAhead,
    /// Pages on their way from flash because they are written in part, and the commands that wait for them: reads, and
    /// writes that are not answered from the buffer.
    merges: Vec<(LogicalPage, Slot)>,
    pub in_flight: InFlight,
    pub held: Held,
    /// What a command takes beyond all else, beside others.
    latency: [Nanos; Op::ALL.len()],
}

impl Frontend {
    /// Whether a write waits for room in the buffer.
    #[inline]
    #[must_use]
    pub fn any_write_waits(&self) -> bool {
        !self.commands.writes.is_empty()
    }

    #[must_use]
    pub fn new(drive: &DriveSpec) -> Self {
        Frontend {
            link: Link::new(&drive.link),
            link_sleep: LinkSleep::new(drive.power.as_ref().is_some_and(|power| power.controller_awake_mw.is_some())),
            host_queue: HostQueue::new(drive.controller.queue_depth, drive.link.sent_alone()),
            commands: Commands::new(drive.controller.queue_depth),
            read_ahead: ReadAhead::new(drive.controller.read_ahead_kib.div_ceil(drive.mapping.unit_kib)),
            merges: Vec::new(),
            in_flight: InFlight::default(),
            held: Held::new(),
            latency: Op::ALL.map(|op| match op {
                Op::Read => nanos_from_us(drive.controller.read_latency_us),
                Op::Write => nanos_from_us(drive.controller.write_latency_us),
                Op::Trim | Op::Flush | Op::WriteZeroes => 0,
            }),
        }
    }

    /// Whether the end of an operation may move something here: a write that waits, where the buffer has room for it, or a drive
    /// without commands that is about to sleep.
    pub fn looks_at_ends(&self, has_room: bool) -> bool {
        has_room && !self.commands.writes.is_empty() || self.in_flight.is_none() && self.link_sleep.is_watched()
    }

    /// The power is gone, and with it every command and what was read ahead.
    pub fn drop_commands(&mut self, now: Nanos) {
        self.host_queue.drop_all();
        self.commands.drop_all();
        self.read_ahead.clear();
        self.merges.clear();
        self.held.clear();
        self.in_flight.abandon(now);
        self.link.power_cut();
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Puts a command into a slot and into the processor's queue. `now` is when the drive may see it, `submitted`
    /// when the host let go of it. Returns the slot.
    // Where the request is taken apart in registers, it need not pass through memory in one piece.
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Nanos, submitted: Nanos, request: Request) -> Slot {
        let slot = self.frontend.commands.take_slot().expect("the caller checked for a slot");
        // A link that slept carries nothing before it is up.
        let sent = now.max(self.frontend.link_sleep.up_at());
        let on_link = sent + self.frontend.link.send_command(sent);
        let arrived = match self.heat {
            None => on_link,
            Some(_) => {
                let enters = self.hold_for_heat(now, on_link, request.op, request.length_bytes);
                if enters > on_link || self.frontend.held.holds_any() {
                    self.wait_outside(slot, &request, [submitted, now, on_link, enters]);
                    self.frontend.held.push(enters, slot);
                    return slot;
                }
                enters
            }
        };
        let (first, _) = self.unit.touched(&request);
        if self.firmware.rounds.hold_commands() {
            self.wait_outside(slot, &request, [submitted, now, on_link, arrived]);
            self.firmware.rounds.hold(slot);
            return slot;
        }
        let (decoded, processed) = self.firmware.processor.take_in(slot, &request, self.unit, arrived);
        self.probe.explain(|explanations| {
            explanations.arrive(slot, [submitted, now, on_link, arrived]);
            explanations.add_processor(slot, decoded - arrived, self.firmware.processor.moving(arrived, decoded));
        });
        *self.frontend.commands.slot(slot) = Command::new(request, first, submitted, decoded, processed);
        self.translation.prefetch(first.min(LogicalPage::new(self.translation.logical_pages() - 1)));
        self.probe.check(|checks| checks.prefetch(first));
        slot
    }

    /// A command has arrived that does not go to the processor yet, see [`Self::take_in_late`]. `times`: when the host let go of it,
    /// when the drive may see it, when it has crossed the link, and when it has arrived.
    #[cold]
    fn wait_outside(&mut self, slot: Slot, request: &Request, times: [Nanos; 4]) {
        let [submitted, .., arrived] = times;
        let (first, _) = self.unit.touched(request);
        *self.frontend.commands.slot(slot) = Command::new(*request, first, submitted, arrived, arrived);
        self.probe.explain(|explanations| explanations.arrive(slot, times));
    }

    /// Accepts the commands that the host has held longest, as far as it may send them now.
    #[inline(never)]
    fn accept_waiting(&mut self, now: Nanos) {
        while let Some(Sent { submitted, request, barred }) = self.frontend.host_queue.next(now) {
            let slot = self.accept(now, submitted, request);
            self.probe.explain(|explanations| explanations.was_barred(slot, barred));
        }
    }

    /// The processor is through with the first of its queue: a command, and perhaps others decoded at the same instant, or
    /// something that it did for the collector.
    #[inline]
    pub(crate) fn processed(&mut self) {
        let (at, what) = self.firmware.processor.pop().expect("the event says so");
        self.now = at;
        match what {
            Processed::Command { slot } => self.decoded(at, slot),
            Processed::Round => self.begin_round(),
            Processed::Row => self.row_prepared(),
        }
    }

    #[inline]
    fn decoded(&mut self, at: Nanos, mut slot: Slot) {
        let mut writes = false;
        loop {
            let command = self.frontend.commands.slot(slot);
            let op = command.request.op;
            if command.decoded != at {
                self.decoded_late(slot, at);
            }
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
                    Op::Flush => self.flush(slot),
                    Op::Write | Op::WriteZeroes => unreachable!("writes are taken above, and zeroes are refused"),
                }
            }
            let Some(next) = self.firmware.processor.pop_command(at) else { break };
            slot = next;
        }
        if writes {
            self.admit();
        }
    }

    /// A command is decoded later than was booked when the host let go of it: the processor was asked for something before it
    /// arrived.
    #[cold]
    #[inline(never)]
    fn decoded_late(&mut self, slot: Slot, at: Nanos) {
        let command = self.frontend.commands.slot(slot);
        let by = at - command.decoded;
        command.decoded = at;
        command.processed += by;
        let moving = self.firmware.processor.late_for_rows(slot);
        self.probe.explain(|explanations| explanations.add_processor(slot, by, moving));
    }

    /// Puts `bytes` on the link, the last of their command or not, from some time on at the earliest; returns when they begin and
    /// end.
    #[inline]
    fn transfer_on_link(&mut self, from: Nanos, bytes: u64, direction: Direction, last: bool) -> (Nanos, Nanos) {
        let (from, to) = self.frontend.link.transfer(from, bytes, direction, last);
        self.probe.check(|checks| checks.on_link(Interval::new(from, to), bytes, direction == Direction::ToDrive));
        (from, to)
    }

    /// Sends the final frame of a command whose last work ended at `done` (not before now).
    #[inline]
    fn respond(&mut self, slot: Slot, done: Nanos) {
        self.respond_with(slot, done, Status::Ok);
    }

    #[inline]
    fn respond_with(&mut self, slot: Slot, done: Nanos, status: Status) {
        let frame = self.frontend.link.send_status(self.now);
        let Command { request: c, submitted, .. } = *self.frontend.commands.slot(slot);
        let completed = done + self.frontend.latency[c.op as usize] + frame;
        self.probe.explain(|explanations| {
            explanations.add(slot, Cause::Link, frame);
            // Whatever no stage has claimed was the processor's work beside the transfers.
            explanations.add_rest(slot, Cause::Controller, completed - submitted);
        });
        if status == Status::Ok {
            self.host.record(c.op, c.length_bytes);
        }
        self.frontend.commands.finish(slot, completed, status);
    }

    /// Hands over everything that the host sees at this instant.
    #[inline]
    pub(crate) fn deliver(&mut self, at: Nanos, done: &mut Vec<Completion>) {
        while let Some(slot) = self.frontend.commands.next_finished(at) {
            let completion = self.frontend.commands.deliver(slot, at);
            self.frontend.in_flight.ended(at, completion.latency());
            done.push(completion);
            // Where it stands: it is long, and would be copied once more.
            if let Some(completion) = done.last_mut().filter(|_| EXPLAIN) {
                self.probe.tell(slot, &mut completion.breakdown);
                debug_assert!(completion.breakdown.sum() == completion.latency(), "{completion:?}");
                self.probe.explain(|explanations| explanations.ended(completion));
            }
            self.frontend.host_queue.ended();
            if self.frontend.host_queue.holds_any() {
                self.accept_waiting(at);
            }
        }
        if self.firmware.idle.goes_on_beside_host() {
            self.work_beside_host(at);
        }
        if self.frontend.in_flight.is_none() {
            self.firmware.idle.begin(at);
            if self.frontend.link_sleep.is_watched() {
                let at_rest = self.is_at_rest();
                self.frontend.link_sleep.rest(at, at_rest);
            }
        }
    }
}
