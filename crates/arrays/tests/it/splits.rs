//! Every byte of every request goes to exactly one member, at the right place.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use ssdlab_arrays::{ArrayError, Raid0};
use ssdlab_core::{Breakdown, Nanos, Op};
use ssdlab_device::{Completion, Counters, Device, DeviceInfo, HostCounters, Refusal, Request, Status};

const SECTOR: u64 = 512;

/// What a member was asked, in order.
type Asked = Arc<Mutex<Vec<Request>>>;

/// Answers each command after a time of its own, and remembers it.
struct Member {
    info: DeviceInfo,
    asked: Asked,
    service: Nanos,
    waiting: Vec<Completion>,
    host: HostCounters,
    /// How the next command ends.
    status: Status,
    /// Answers for fewer bytes than it was asked for.
    forgets: u64,
}

impl Member {
    fn new(capacity_bytes: u64, service: Nanos) -> (Self, Asked) {
        let info = DeviceInfo { capacity_bytes, supports_trim: true, streams: 3, ..DeviceInfo::new("m", "model") };
        let asked = Asked::default();
        let host = HostCounters::default();
        let member =
            Member { info, asked: asked.clone(), service, waiting: Vec::new(), host, status: Status::Ok, forgets: 0 };
        (member, asked)
    }
}

impl Device for Member {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        self.asked.lock().unwrap().push(request);
        let Request { tag, op, offset_bytes, .. } = request;
        let length_bytes = request.length_bytes - self.forgets;
        match (op, self.status) {
            (Op::Read, Status::Ok) => {
                self.host.reads += 1;
                self.host.read_bytes += length_bytes;
            }
            (Op::Write, Status::Ok) => {
                self.host.writes += 1;
                self.host.write_bytes += length_bytes;
            }
            (Op::Trim, Status::Ok) => self.host.trim_bytes += length_bytes,
            _ => {}
        }
        let (completed, mut breakdown) = (now + self.service, Breakdown::default());
        breakdown.nanos[0] = self.service;
        let status = std::mem::replace(&mut self.status, Status::Ok);
        self.waiting.push(Completion {
            tag,
            op,
            status,
            offset_bytes,
            length_bytes,
            submitted: now,
            completed,
            breakdown,
        });
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        self.waiting.iter().map(|c| c.completed).min()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let (now, later) = self.waiting.drain(..).partition(|c| c.completed <= to);
        self.waiting = later;
        let mut now: Vec<Completion> = now;
        now.sort_by_key(|c| c.completed);
        done.extend(now);
    }

    fn counters(&self) -> Counters {
        Counters { host: self.host, ..Counters::default() }
    }

    fn check_books(&self) -> Result<(), String> {
        Ok(())
    }
}

/// An array of members with these capacities, and what each of them is asked.
fn array(capacities: &[u64], stripe_bytes: u64) -> (Raid0, Vec<Asked>) {
    let (members, asked): (Vec<Box<dyn Device>>, Vec<Asked>) = capacities
        .iter()
        .enumerate()
        .map(|(m, &capacity)| {
            let (member, asked) = Member::new(capacity, 100 + 10 * m as u64);
            (Box::new(member) as Box<dyn Device>, asked)
        })
        .unzip();
    (Raid0::new("array", members, stripe_bytes).unwrap(), asked)
}

/// Where a sector of the array lies: member, and sector there. One stripe after the other, counted out.
fn counted_out(sector: u64, members: usize, stripe_sectors: u64) -> (usize, u64) {
    let (mut member, mut row) = (0, 0);
    for _ in 0..sector / stripe_sectors {
        member += 1;
        if member == members {
            (member, row) = (0, row + 1);
        }
    }
    (member, row * stripe_sectors + sector % stripe_sectors)
}

proptest! {
    #[test]
    fn every_sector_goes_to_one_member_at_its_place(
        capacities in prop::collection::vec(40u64..80, 2..6),
        stripe_sectors in 1u64..20,
        (from, length) in (0.0..1.0f64, 0.0..1.0f64),
        op in prop::sample::select(vec![Op::Read, Op::Write, Op::Trim]),
    ) {
        let members = capacities.len();
        let bytes: Vec<u64> = capacities.iter().map(|sectors| sectors * SECTOR).collect();
        let (mut array, asked) = array(&bytes, stripe_sectors * SECTOR);
        let sectors = array.info().capacity_bytes / SECTOR;
        prop_assert_eq!(sectors, capacities.iter().min().unwrap() / stripe_sectors * stripe_sectors * members as u64);
        let from = ((sectors as f64 * from) as u64).min(sectors - 1);
        let length = ((length * (sectors - from) as f64) as u64).max(1);
        let request = Request::new(5, op, from * SECTOR, length * SECTOR).with_fua(true).with_stream(2);
        array.submit(0, request).unwrap();

        let mut expected = vec![Vec::new(); members];
        for sector in from..from + length {
            let (member, at) = counted_out(sector, members, stripe_sectors);
            expected[member].push(at);
        }
        for (asked, expected) in asked.iter().zip(expected) {
            let asked = asked.lock().unwrap();
            let sectors: Vec<u64> = asked
                .iter()
                .flat_map(|r| r.offset_bytes / SECTOR..(r.offset_bytes + r.length_bytes) / SECTOR)
                .collect();
            prop_assert_eq!(sectors, expected);
            prop_assert!(asked.len() <= 1, "what a member holds of a request lies in one piece");
            for r in asked.iter() {
                prop_assert_eq!((r.op, r.fua, r.hints), (request.op, request.fua, request.hints));
            }
        }
        let mut done = Vec::new();
        array.advance(10_000, &mut done);
        prop_assert_eq!(done.len(), 1);
        let c = done[0];
        prop_assert_eq!((c.tag, c.op, c.status), (5, op, Status::Ok));
        prop_assert_eq!((c.offset_bytes, c.length_bytes), (request.offset_bytes, request.length_bytes));
        prop_assert_eq!(c.breakdown.sum(), c.latency());
        prop_assert_eq!(array.check_books(), Ok(()));
    }
}

#[test]
fn a_request_ends_with_its_last_part_and_has_its_breakdown() {
    let (mut array, _) = array(&[1 << 20, 1 << 20, 1 << 20], 4096);
    array.submit(50, Request::write(1, 0, 3 * 4096)).unwrap();
    array.submit(50, Request::write(2, 0, 4096)).unwrap();
    array.submit(60, Request::write(3, 4096, 4096)).unwrap();
    let mut done = Vec::new();
    // Member 0 takes 100 ns, member 1 takes 110, member 2 takes 120.
    assert_eq!(array.advance_to_completion(Nanos::MAX, &mut done), 150);
    array.advance(1000, &mut done);
    let ends: Vec<_> = done.iter().map(|c| (c.tag, c.submitted, c.completed, c.breakdown.sum())).collect();
    assert_eq!(
        ends,
        [(2, 50, 150, 100), (3, 60, 170, 110), (1, 50, 170, 120)],
        "at one instant, in the order of members"
    );
    assert_eq!(array.next_event(), None);
    assert_eq!(array.counters().host.writes, 3, "requests of the host, not parts");
    assert_eq!(array.check_books(), Ok(()));
}

#[test]
fn a_flush_goes_to_every_member() {
    let (mut array, asked) = array(&[1 << 20, 1 << 20, 1 << 20], 4096);
    array.submit(0, Request::flush(9)).unwrap();
    assert!(asked.iter().all(|a| matches!(a.lock().unwrap()[..], [Request { op: Op::Flush, .. }])));
    let mut done = Vec::new();
    assert_eq!(array.advance_to_completion(Nanos::MAX, &mut done), 120);
    assert_eq!((done.len(), done[0].tag, done[0].op), (1, 9, Op::Flush));
    assert_eq!(array.check_books(), Ok(()));
}

#[test]
fn an_error_of_a_part_is_the_requests() {
    let (mut bad, _) = Member::new(1 << 20, 10);
    bad.status = Status::MediaError;
    let (good, _) = Member::new(1 << 20, 90);
    let mut array = Raid0::new("array", vec![Box::new(bad), Box::new(good)], 4096).unwrap();
    array.submit(0, Request::read(1, 0, 8192)).unwrap();
    array.submit(0, Request::read(2, 0, 8192)).unwrap();
    let mut done = Vec::new();
    array.advance(1000, &mut done);
    let ends: Vec<_> = done.iter().map(|c| (c.tag, c.status, c.completed)).collect();
    assert_eq!(ends, [(1, Status::MediaError, 90), (2, Status::Ok, 90)]);
    assert_eq!((array.counters().host.reads, array.counters().host.read_bytes), (1, 8192));
    assert_eq!(array.check_books(), Ok(()));
}

#[test]
fn a_member_that_forgets_bytes_is_found_out() {
    let (mut bad, _) = Member::new(1 << 20, 10);
    bad.forgets = 512;
    let (good, _) = Member::new(1 << 20, 90);
    let mut array = Raid0::new("array", vec![Box::new(bad), Box::new(good)], 4096).unwrap();
    array.submit(0, Request::read(1, 0, 8192)).unwrap();
    array.advance(1000, &mut Vec::new());
    let found = array.check_books().unwrap_err();
    assert!(found.contains("differ from it by 512 bytes"), "{found}");
}

#[test]
fn refusals_are_those_of_any_device_and_reach_no_member() {
    let (mut array, asked) = array(&[1 << 20, 1 << 21], 4096);
    assert_eq!(array.info().capacity_bytes, 2 << 20, "the smallest member counts");
    assert_eq!((array.info().streams, array.info().queue_depth), (3, 64));
    let past_the_end = array.submit(0, Request::read(1, (2 << 20) - 4096, 8192));
    assert!(matches!(past_the_end, Err(Refusal::BeyondCapacity { .. })), "{past_the_end:?}");
    assert!(matches!(array.submit(0, Request::read(1, 0, 100)), Err(Refusal::NotWholeSectors { .. })));
    assert!(matches!(array.submit(0, Request::read(1, 0, 0)), Err(Refusal::Empty { .. })));
    assert!(matches!(array.submit(0, Request::write_zeroes(1, 0, 512)), Err(Refusal::Unsupported { .. })));
    let stream = array.submit(0, Request::write(1, 0, 512).with_stream(3));
    assert_eq!(stream, Err(Refusal::NoSuchStream { stream: 3, streams: 3 }));
    assert!(asked.iter().all(|a| a.lock().unwrap().is_empty()));
    assert_eq!(array.next_event(), None);
}

#[test]
fn arrays_that_cannot_be_built_say_why() {
    let build = |capacities: &[u64], stripe| {
        let member = |&capacity: &u64| Box::new(Member::new(capacity, 1).0) as Box<dyn Device>;
        Raid0::new("array", capacities.iter().map(member).collect(), stripe).map(|_| ()).unwrap_err()
    };
    assert_eq!(build(&[1 << 20], 4096), ArrayError::TooFewMembers { members: 1 });
    for stripe_bytes in [0, 1000] {
        assert_eq!(build(&[1 << 20; 2], stripe_bytes), ArrayError::Stripe { stripe_bytes, sector_bytes: 512 });
    }
    let small = build(&[1 << 20, 2048], 4096);
    assert!(matches!(small, ArrayError::MemberTooSmall { capacity_bytes: 2048, .. }), "{small:?}");
}

#[test]
fn an_array_of_members_that_cannot_do_something_cannot_do_it() {
    let (mut array, _) = array(&[1 << 20, 1 << 20], 4096);
    assert!(array.security().is_none() && array.power().is_none() && array.flash().is_none());
    assert!(array.snapshot().is_none());
    assert_eq!(array.info().over_provisioning_percent, None);
    assert_eq!((array.counters().flash, array.counters().energy), (None, None));
}
