//! A device made of members that share its addresses: the layout says which member holds which bytes.
//!
//! A request is split into one part for each member that it touches, and completes with the last of them. All parts go
//! out at the instant of the request. The last part's breakdown is therefore the request's. An error of any part is the
//! request's status: the first that comes back.
//!
//! A flush goes to all members. The device itself takes no time and has no queue: a part that a member has no slot for
//! waits outside that member, which counts the wait as [`ssdlab_core::Cause::Queue`].
//!
//! Not modelled: the processor and the bus of the host or controller that does the splitting; see
//! [`crate::Adapter`].

use ssdlab_core::{Nanos, Op, UNIT_BYTES};
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, HostCounters, LinkPolicy, Occupancy, Plug, PowerManagement, Recorder,
    Refusal, Request, Security, Status, Timeline,
};

use crate::plug_of_pages;

/// Which member holds which bytes.
pub trait Layout: Clone + Send + 'static {
    /// What of a range lies on each member: at most one extent a member, in the order in which they are sent.
    fn extents(&self, offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = Extent>;

    /// The same where it is quick to tell that one member has all of it. Most requests are small.
    fn whole(&self, _offset_bytes: u64, _length_bytes: u64) -> Option<Extent> {
        None
    }

    /// Where a byte of a member is in the whole; `None` if nowhere.
    fn place_of(&self, member: usize, offset_bytes: u64) -> Option<u64>;

    /// Whether everything that is cut is cut at multiples of so many bytes.
    fn cuts_at(&self, bytes: u64) -> bool;

    /// Numbers that are the same of two layouts exactly if these put every byte in the same place.
    fn shape(&self) -> Vec<u64>;
}

/// The plug of all members together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinedPlug {
    /// The greatest number of a write; `None`: there is no plug.
    pub greatest: Option<u8>,
    pub out: bool,
}

impl JoinedPlug {
    fn of(members: &[Box<dyn Device>], layout: &impl Layout) -> Self {
        let greatest = |m: &dyn Device| Some(plug_of_pages(m)?.greatest_write_number());
        let first = members.first().and_then(|m| greatest(&**m));
        let alike = members.iter().all(|m| greatest(&**m) == first) && layout.cuts_at(UNIT_BYTES);
        JoinedPlug { greatest: first.filter(|_| alike), out: false }
    }
}

/// Bytes of one member, in sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub member: usize,
    pub offset_bytes: u64,
    pub length_bytes: u64,
}

/// See the module's own page.
pub struct Joined<L> {
    pub(crate) info: DeviceInfo,
    pub(crate) layout: L,
    pub(crate) members: Vec<Box<dyn Device>>,
    /// Of each member: the number of its first drive among all.
    first_drives: Vec<usize>,
    /// When something will happen by itself in each member.
    events: Vec<Nanos>,
    /// What the members had counted before they became members.
    members_before: HostCounters,
    /// For each of [`LinkPolicy::NAMED`], whether all members support it; `None` if one has no power management.
    link_policies: Option<[bool; LinkPolicy::NAMED.len()]>,
    requests: Vec<InFlight>,
    free: Vec<usize>,
    /// What the host asked of the array and got.
    pub(crate) host: HostCounters,
    /// What the members did for it without error, part by part.
    parts: HostCounters,
    pub(crate) plug: JoinedPlug,
    occupancy: Occupancy,
    /// The first request whose parts did not add up to it.
    discrepancy: Option<String>,
}

/// A request under way. Its place in the list is the tag of its parts. What its completion repeats of it stands by itself: a
/// request copied as a whole, right after it was put together, is waited for.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    tag: u64,
    op: Op,
    offset_bytes: u64,
    length_bytes: u64,
    submitted: Nanos,
    parts: u32,
    /// Bytes of parts that have not come back.
    bytes_left: u64,
    status: Status,
}

impl<L: Layout> Joined<L> {
    /// A device of members that are at rest, with what [`together`] says of them and a name and capacity.
    pub(crate) fn of(info: DeviceInfo, layout: L, mut members: Vec<Box<dyn Device>>) -> Self {
        let link_policies = LinkPolicy::NAMED.map(|(_, policy)| {
            let supports = |m: &mut Box<dyn Device>| Some(m.power()?.supports_link_policy(policy));
            members.iter_mut().map(supports).try_fold(true, |all, one| Some(all && one?))
        });
        let link_policies =
            link_policies.iter().all(Option::is_some).then(|| link_policies.map(|all| all.unwrap_or(false)));
        let plug = JoinedPlug::of(&members, &layout);
        Joined {
            info,
            plug,
            layout,
            members_before: sum_of(&members).host,
            events: members.iter().map(|m| event_of(&**m)).collect(),
            first_drives: members
                .iter()
                .scan(0, |first, m| Some(std::mem::replace(first, *first + m.drive_queue_depths().len())))
                .collect(),
            members,
            link_policies,
            requests: Vec::new(),
            free: Vec::new(),
            host: HostCounters::default(),
            parts: HostCounters::default(),
            occupancy: Occupancy::default(),
            discrepancy: None,
        }
    }

    fn take_slot(&mut self, in_flight: InFlight) -> usize {
        if let Some(slot) = self.free.pop() {
            self.requests[slot] = in_flight;
            return slot;
        }
        self.requests.push(in_flight);
        self.requests.len() - 1
    }

    /// The power has gone in all members: nothing that was under way ends.
    pub(crate) fn power_cut(&mut self, now: Nanos) {
        self.requests.clear();
        self.free.clear();
        self.occupancy.power_cut(now);
        self.members_before = sum_of(&self.members).host;
        self.parts = HostCounters::default();
    }

    /// Members count more from now on, which was not asked of them here.
    pub(crate) fn members_had_counted(&mut self, before: &HostCounters) {
        self.members_before = self.members_before.plus(&sum_of(&self.members).host.beyond(before));
    }

    /// What the hosts of the members, of which this is one, have asked for.
    pub(crate) fn members_host(&self) -> HostCounters {
        sum_of(&self.members).host
    }

    pub(crate) fn has_commands(&self) -> bool {
        self.occupancy.in_flight() > 0
    }

    /// Members have been told something that is no request.
    pub(crate) fn look_for_events(&mut self) {
        for (member, event) in self.members.iter().zip(&mut self.events) {
            *event = event_of(&**member);
        }
    }

    /// Lets time pass to `reached` in all members but the one that is there. What came of it there is in `done`, behind `from`.
    fn let_others_follow(&mut self, there: usize, reached: Nanos, from: usize, done: &mut Vec<Completion>) {
        let mut lower = from;
        for (k, (member, event)) in self.members.iter_mut().zip(&mut self.events).enumerate() {
            if k == there {
                continue;
            }
            let before = done.len();
            member.advance(reached, done);
            *event = event_of(&**member);
            let came = done.len() - before;
            if k < there && came > 0 {
                // All of them at one instant: in the order of members.
                done[lower..].rotate_right(came);
                lower += came;
            }
        }
    }

    /// Parts have come back: from this place on, in order. Completions of requests whose last they are take their places.
    #[inline]
    fn join_from(&mut self, from: usize, done: &mut Vec<Completion>) {
        let mut joined = from;
        for k in from..done.len() {
            if self.join(&mut done[k]) {
                if joined < k {
                    done[joined] = done[k];
                }
                joined += 1;
            }
        }
        done.truncate(joined);
    }

    /// A part has come back. If it was the last of its request, it becomes the request's completion.
    #[inline]
    fn join(&mut self, part: &mut Completion) -> bool {
        if part.status == Status::Ok {
            self.parts.record(part.op, part.length_bytes);
        }
        let slot = part.tag as usize;
        let in_flight = &mut self.requests[slot];
        if in_flight.status == Status::Ok {
            in_flight.status = part.status;
        }
        in_flight.parts -= 1;
        if part.op != Op::Flush {
            in_flight.bytes_left = in_flight.bytes_left.wrapping_sub(part.length_bytes);
        }
        if in_flight.parts > 0 {
            return false;
        }
        let InFlight { tag, op, offset_bytes, length_bytes, submitted, bytes_left, status, .. } = *in_flight;
        self.free.push(slot);
        if bytes_left != 0 {
            let by = bytes_left as i64;
            let what =
                || format!("the parts of {op:?} of {length_bytes} at {offset_bytes} differ from it by {by} bytes");
            self.discrepancy.get_or_insert_with(what);
        }
        if status == Status::Ok {
            self.host.record(op, length_bytes);
        }
        self.occupancy.leave(submitted, part.completed);
        (part.tag, part.status, part.submitted) = (tag, status, submitted);
        (part.offset_bytes, part.length_bytes) = (offset_bytes, length_bytes);
        true
    }
}

impl<L: Layout> Device for Joined<L> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        self.occupancy.enter(now);
        let Request { tag, op, offset_bytes, length_bytes, .. } = request;
        let (submitted, status) = (now, Status::Ok);
        let (parts, bytes_left) = (0, 0);
        let in_flight = InFlight { tag, op, offset_bytes, length_bytes, submitted, parts, bytes_left, status };
        let slot = self.take_slot(in_flight);
        let count = self.members.len();
        let (members, events, in_flight) = (&mut self.members, &mut self.events, &mut self.requests[slot]);
        let mut send_to = |extent: Extent| {
            in_flight.parts += 1;
            in_flight.bytes_left += extent.length_bytes;
            let Extent { offset_bytes, length_bytes, .. } = extent;
            let part = Request { tag: slot as u64, offset_bytes, length_bytes, ..request };
            send(&mut *members[extent.member], &mut events[extent.member], now, part);
        };
        if op == Op::Flush {
            for member in 0..count {
                send_to(Extent { member, offset_bytes: 0, length_bytes: 0 });
            }
        } else if let Some(extent) = self.layout.whole(offset_bytes, length_bytes) {
            send_to(extent);
        } else {
            self.layout.extents(offset_bytes, length_bytes).for_each(send_to);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        self.events.iter().copied().min().filter(|&at| at != Nanos::MAX)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let from = done.len();
        for (member, event) in self.members.iter_mut().zip(&mut self.events) {
            member.advance(to, done);
            *event = event_of(&**member);
        }
        // Each member's are in time order; a stable sort keeps the members in order where times are equal.
        done[from..].sort_by_key(|part| part.completed);
        self.join_from(from, done);
    }

    /// The member with the earliest event goes on alone until it completes something or another has an event: most
    /// events are no completion, and concern one member. In the others no time passes before they have an event.
    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        let before = done.len();
        loop {
            let (mut earliest, mut at, mut next) = (0, Nanos::MAX, Nanos::MAX);
            for (k, &event) in self.events.iter().enumerate() {
                if event < at {
                    (earliest, next, at) = (k, at, event);
                } else {
                    next = next.min(event);
                }
            }
            if at > limit || at == Nanos::MAX {
                self.advance(limit, done);
                return limit;
            }
            let from = done.len();
            // Up to just before another's event, or with what it has at that very instant.
            let alone_to = limit.min(next.saturating_sub(1).max(at));
            let reached = self.members[earliest].advance_to_completion(alone_to, done);
            self.events[earliest] = event_of(&*self.members[earliest]);
            if next <= reached || reached == limit {
                self.let_others_follow(earliest, reached, from, done);
            }
            if done.len() > from {
                self.join_from(from, done);
            }
            if done.len() > before || reached == limit {
                return reached;
            }
        }
    }

    fn drives_with(&self, offset_bytes: u64, length_bytes: u64, drive: &mut dyn FnMut(usize)) {
        let mut tell = |extent: Extent| {
            let first = self.first_drives[extent.member];
            let member = &self.members[extent.member];
            member.drives_with(extent.offset_bytes, extent.length_bytes, &mut |number| drive(first + number));
        };
        match self.layout.whole(offset_bytes, length_bytes) {
            Some(extent) => tell(extent),
            None => self.layout.extents(offset_bytes, length_bytes).for_each(tell),
        }
    }

    fn drive_queue_depths(&self) -> Vec<u32> {
        self.members.iter().flat_map(|m| m.drive_queue_depths()).collect()
    }

    /// Commands and bytes as the host asked for them; flash and energy of all members together.
    fn counters(&self) -> Counters {
        Counters { host: self.host, ..sum_of(&self.members) }
    }

    fn check_books(&self) -> Result<(), String> {
        for (index, member) in self.members.iter().enumerate() {
            member.check_books().map_err(|e| format!("member {index} ({}): {e}", member.info().name))?;
        }
        if let Some(discrepancy) = &self.discrepancy {
            return Err(discrepancy.clone());
        }
        if self.occupancy.in_flight() == 0 {
            let now = sum_of(&self.members).host.named();
            let expected = self.members_before.named().into_iter().zip(self.parts.named());
            for ((name, now), ((_, before), (_, parts))) in now.into_iter().zip(expected) {
                let members = now - before;
                if members != parts {
                    return Err(format!("{name}: the members have counted {members}, the parts sent to them {parts}"));
                }
            }
        }
        self.occupancy.check()
    }

    fn snapshot(&self) -> Option<Box<dyn Device>> {
        Some(Box::new(Joined {
            members: self.members.iter().map(|m| m.snapshot()).collect::<Option<_>>()?,
            events: self.events.clone(),
            first_drives: self.first_drives.clone(),
            info: self.info.clone(),
            layout: self.layout.clone(),
            members_before: self.members_before,
            link_policies: self.link_policies,
            plug: self.plug,
            requests: self.requests.clone(),
            free: self.free.clone(),
            host: self.host,
            parts: self.parts,
            occupancy: self.occupancy.clone(),
            discrepancy: self.discrepancy.clone(),
        }))
    }

    /// If all members have it.
    fn power(&mut self) -> Option<&mut dyn PowerManagement> {
        self.link_policies.is_some().then_some(self as &mut dyn PowerManagement)
    }

    /// The warmest of those that have a sensor.
    fn celsius(&self) -> Option<f64> {
        self.members.iter().filter_map(|m| m.celsius()).reduce(f64::max)
    }

    /// If any member has one: of the others nothing is known.
    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        let any = self.members.iter_mut().any(|m| m.recorder().is_some());
        any.then_some(self as &mut dyn Recorder)
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        let all = self.members.iter_mut().all(|m| m.security().is_some());
        all.then_some(self as &mut dyn Security)
    }

    /// If all members have one of 4 KiB and number their writes alike, and no 4 KiB lie on two of them.
    fn plug(&mut self) -> Option<&mut dyn Plug> {
        self.plug.greatest.is_some().then_some(self as &mut dyn Plug)
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        self.plug.greatest.is_some().then_some(self as &dyn Plug)
    }
}

impl<L: Layout> Recorder for Joined<L> {
    fn record(&mut self, stretches: usize) {
        for recorder in self.members.iter_mut().filter_map(|m| m.recorder()) {
            recorder.record(stretches);
        }
    }

    fn recorded_since(&mut self, from: Nanos) -> Timeline {
        let mut all = Timeline::default();
        for (number, member) in self.members.iter_mut().enumerate() {
            let name = format!("{number}: {}", member.info().name);
            if let Some(recorder) = member.recorder() {
                all = all.beside(recorder.recorded_since(from).of_drive(&name));
            }
        }
        all
    }
}

impl<L: Layout> PowerManagement for Joined<L> {
    fn supports_link_policy(&self, policy: LinkPolicy) -> bool {
        self.link_policies.is_some_and(|supported| supported[policy as usize])
    }

    fn set_link_policy(&mut self, now: Nanos, policy: LinkPolicy) {
        assert!(self.supports_link_policy(policy), "not all members of {} know {}", self.info.name, policy.name());
        for member in &mut self.members {
            member.power().expect("all members have it").set_link_policy(now, policy);
        }
        self.look_for_events();
    }
}

impl<L: Layout> Security for Joined<L> {
    /// All members at the same time; ready when the last of them is.
    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        let erase = |m: &mut Box<dyn Device>| m.security().expect("all members have it").secure_erase(now);
        let ready = self.members.iter_mut().map(erase).max().unwrap_or(now);
        self.look_for_events();
        ready
    }
}

/// Sends to one member what lies there of a request.
fn send(member: &mut dyn Device, event: &mut Nanos, now: Nanos, part: Request) {
    if let Err(refusal) = member.submit(now, part) {
        panic!("{} refused a part of a request that the array accepted: {refusal}", member.info().name);
    }
    *event = event_of(member);
}

/// When something will happen in a device by itself; the end of time if it is at rest.
fn event_of(device: &dyn Device) -> Nanos {
    device.next_event().unwrap_or(Nanos::MAX)
}

/// What all members can do, for a device of this name. Without a capacity.
pub(crate) fn together(name: &str, members: &[Box<dyn Device>]) -> DeviceInfo {
    let infos: Vec<&DeviceInfo> = members.iter().map(|m| m.info()).collect();
    DeviceInfo {
        sector_bytes: infos.iter().map(|i| i.sector_bytes).max().unwrap_or(0),
        queue_depth: infos.iter().map(|i| i.queue_depth).sum(),
        streams: infos.iter().map(|i| i.streams).min().unwrap_or(1),
        supports_trim: infos.iter().all(|i| i.supports_trim),
        supports_write_zeroes: infos.iter().all(|i| i.supports_write_zeroes),
        read_only: infos.iter().any(|i| i.read_only),
        compresses: infos.iter().any(|i| i.compresses),
        // A payload is one buffer, and parts of it go to several members.
        holds_contents: false,
        ..DeviceInfo::new(name, "array")
    }
}

/// Spare area of all members, as a percentage of what is sold of them together.
pub(crate) fn spare_percent(members: &[Box<dyn Device>], capacity_bytes: u64) -> Option<f64> {
    let raw = |info: &DeviceInfo| Some(info.capacity_bytes as f64 * (1.0 + info.over_provisioning_percent? / 100.0));
    let raw: f64 = members.iter().map(|m| raw(m.info())).sum::<Option<f64>>()?;
    Some((raw / capacity_bytes as f64 - 1.0) * 100.0)
}

/// Names of members for people: `3 × a, b`.
pub(crate) fn names_of(members: &[Box<dyn Device>]) -> String {
    let mut counted: Vec<(usize, &str)> = Vec::new();
    for member in members {
        let name = member.info().name.as_str();
        match counted.last_mut() {
            Some((count, last)) if *last == name => *count += 1,
            _ => counted.push((1, name)),
        }
    }
    let words = |(count, name): (usize, &str)| if count == 1 { name.to_owned() } else { format!("{count} × {name}") };
    counted.into_iter().map(words).collect::<Vec<_>>().join(", ")
}

fn sum_of(members: &[Box<dyn Device>]) -> Counters {
    let sum = members.iter().fold(Counters::default(), |sum, m| sum.plus(&m.counters()));
    // What some of them draw is not what the set draws.
    let energy = sum.energy.filter(|_| members.iter().all(|m| m.counters().energy.is_some()));
    Counters { energy, ..sum }
}
