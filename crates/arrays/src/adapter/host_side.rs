//! The side of the adapter that the host sees: its commands from when they come to when they end, and what is counted of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ssdlab_core::{Breakdown, CAUSES, Cause, Nanos, Op};
use ssdlab_device::{Completion, HostCounters, Occupancy, Request, Status};

use super::spec::AdapterLinkSpec;
use super::way::Way;

/// See the module's own page. Its clock is the adapter's.
#[derive(Clone, Debug)]
pub struct HostSide {
    now: Nanos,
    way: Way,
    commands: Vec<Command>,
    free: Vec<usize>,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    /// Events so far, so that those of one instant keep their order.
    event_number: u64,
    counters: HostCounters,
    occupancy: Occupancy,
    ended: Vec<Completion>,
}

/// A command of the host. Its place in the list is its number.
#[derive(Clone, Copy, Debug)]
struct Command {
    request: Request,
    submitted: Nanos,
    /// Up to here the breakdown is complete.
    told: Nanos,
    breakdown: Breakdown,
    status: Status,
    /// Of a write that passes through: when its data have passed the host interface.
    passed: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A command, and its data if it is a write into a cache, have arrived.
    Arrived(usize),
    Ends(usize),
    /// It is time to look at things again.
    Wake,
}

/// What a read ends with, the last first. What comes before that does so in the order of [`CAUSES`], or nearly: a queue, the
/// controller, and what is in the way.
const LAST_FIRST: [Cause; 7] =
    [Cause::Link, Cause::EccRetry, Cause::Bus, Cause::Read, Cause::Transfer, Cause::Rotation, Cause::Seek];

impl Command {
    fn spend(&mut self, cause: Cause, until: Nanos) {
        self.breakdown.add(cause, until - self.told);
        self.told = until;
    }

    /// What a command to the device took, that this one waited for: of one that was under way before, the end.
    fn spend_as(&mut self, part: &Completion) {
        let mut left = part.completed - self.told;
        let mut of_part = part.breakdown;
        for cause in LAST_FIRST.into_iter().chain(CAUSES.into_iter().rev()) {
            let time = std::mem::take(&mut of_part.nanos[cause as usize]).min(left);
            self.breakdown.add(cause, time);
            left -= time;
        }
        // What the device does not say.
        self.breakdown.add(Cause::Queue, left);
        self.told = part.completed;
    }
}

impl HostSide {
    pub fn new(link: &AdapterLinkSpec) -> Self {
        HostSide {
            now: 0,
            way: Way::new(link),
            commands: Vec::new(),
            free: Vec::new(),
            events: BinaryHeap::new(),
            event_number: 0,
            counters: HostCounters::default(),
            occupancy: Occupancy::default(),
            ended: Vec::new(),
        }
    }

    pub fn now(&self) -> Nanos {
        self.now
    }

    pub fn set_now(&mut self, now: Nanos) {
        self.now = now;
    }

    /// Whether the host has no command here.
    pub fn is_quiet(&self) -> bool {
        self.occupancy.in_flight() == 0
    }

    pub fn counters(&self) -> &HostCounters {
        &self.counters
    }

    /// Goes on with what another adapter had counted.
    pub fn take_over(&mut self, counters: HostCounters) {
        self.counters = counters;
    }

    /// # Errors
    /// Commands that came, and those that ended or are here, do not add up.
    pub fn check(&self) -> Result<(), String> {
        self.occupancy.check()
    }

    /// A command comes. `whole`: a write arrives when all its data have, not when they begin to come.
    pub fn submit(&mut self, now: Nanos, request: Request, whole: bool) {
        self.now = now;
        self.occupancy.enter(now);
        let mut command = Command {
            request,
            submitted: now,
            told: now,
            breakdown: Breakdown::default(),
            status: Status::Ok,
            passed: 0,
        };
        command.spend(Cause::Controller, self.way.command(now));
        if request.op == Op::Write {
            let (begin, end) = self.way.pass_to_device(request.length_bytes, command.told);
            command.passed = end;
            command.spend(Cause::Link, if whole { end } else { begin });
        }
        let arrives = command.told;
        let n = self.free.pop().unwrap_or(self.commands.len());
        if n == self.commands.len() {
            self.commands.push(command);
        } else {
            self.commands[n] = command;
        }
        self.at(arrives, Event::Arrived(n));
    }

    /// What the host asked for.
    pub fn request(&self, n: usize) -> Request {
        self.commands[n].request
    }

    /// A command has waited until now.
    pub fn waited(&mut self, n: usize, cause: Cause) {
        self.commands[n].spend(cause, self.now);
    }

    /// A command has waited for one to the device.
    pub fn waited_for(&mut self, n: usize, part: &Completion) {
        self.commands[n].spend_as(part);
    }

    /// A command ends, when what is known of it does.
    pub fn ends(&mut self, n: usize) {
        self.at(self.commands[n].told, Event::Ends(n));
    }

    /// As [`HostSide::ends`], without success.
    pub fn fails(&mut self, n: usize, status: Status) {
        self.commands[n].status = status;
        self.ends(n);
    }

    /// A read ends once its data have gone to the host. The first are there at `first` and the last at `last`.
    pub fn passes_to_host(&mut self, n: usize, first: Nanos, last: Nanos) {
        let command = &mut self.commands[n];
        let end = self.way.pass_to_host(command.request.length_bytes, first, last);
        command.spend(Cause::Link, end);
        self.ends(n);
    }

    /// The device has ended what was sent on to it as a command of the host.
    pub fn device_ended(&mut self, n: usize, part: &Completion) {
        let command = &mut self.commands[n];
        command.status = part.status;
        command.spend_as(part);
        if part.op == Op::Read && part.status == Status::Ok {
            return self.passes_to_host(n, part.submitted, part.completed);
        }
        command.spend(Cause::Link, command.passed.max(part.completed));
        self.ends(n);
    }

    /// A command has ended: the host is told.
    pub fn end(&mut self, n: usize) {
        let Command { request, submitted, breakdown, status, told, .. } = self.commands[n];
        debug_assert_eq!(told, self.now, "{request:?}");
        self.free.push(n);
        self.occupancy.leave(submitted, self.now);
        if status == Status::Ok {
            self.counters.record(request.op, request.length_bytes);
        }
        self.ended.push(Completion {
            tag: request.tag,
            op: request.op,
            status,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            submitted,
            completed: self.now,
            breakdown,
        });
    }

    pub fn hand_over(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.ended);
    }

    pub fn wake_at(&mut self, time: Nanos) {
        self.at(time, Event::Wake);
    }

    fn at(&mut self, time: Nanos, event: Event) {
        self.events.push(Reverse((time, self.event_number, event)));
        self.event_number += 1;
    }

    pub fn next_event(&self) -> Option<Nanos> {
        self.events.peek().map(|event| event.0.0)
    }

    /// The next event, if it is due.
    pub fn take_event(&mut self) -> Option<Event> {
        self.next_event().filter(|&at| at <= self.now)?;
        self.events.pop().map(|event| event.0.2)
    }

    /// The power goes: commands under way never end.
    pub fn power_cut(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        self.commands.clear();
        self.free.clear();
        self.events.clear();
        self.ended.clear();
        self.occupancy.power_cut(now);
    }

    /// The power is back: commands are dealt with from `ready` on.
    pub fn rest_until(&mut self, ready: Nanos) {
        self.way.rest_until(ready);
    }
}
