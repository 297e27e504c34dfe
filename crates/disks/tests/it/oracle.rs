//! Disks drawn at random under commands drawn at random: every command ends once, time runs forwards, causes add up, books
//! balance, and what is acknowledged as written to the platters is there.

use std::collections::BTreeMap;
use std::ops::Range;

use proptest::prelude::*;
use ssdlab_core::{Nanos, Op};
use ssdlab_device::{Completion, Device, Request, Status};
use ssdlab_disks::{Disk, DiskSpec, NotQueued, ServiceOrder, TrackOrder};

use crate::support::rest;

#[derive(Clone, Copy, Debug)]
struct Step {
    op: u8,
    sector: u32,
    sectors: u32,
    /// Nanoseconds until the next one; 0 for at once.
    pause: u32,
}

fn step() -> impl Strategy<Value = Step> {
    // Few places, so that ranges meet.
    let sector = prop_oneof![0..200u32, 0..7_000u32];
    let sectors = prop_oneof![Just(1u32), 1..40u32, 1..600u32];
    let pause = prop_oneof![Just(0u32), 0..100_000u32, 0..30_000_000u32];
    (0..20u8, sector, sectors, pause).prop_map(|(op, sector, sectors, pause)| Step { op, sector, sectors, pause })
}

fn spec() -> impl Strategy<Value = DiskSpec> {
    let media = (1..5u32, 1..5u32, any::<bool>(), 1..7u32, 0.0..3000.0f64);
    let not_queued = prop_oneof![Just(NotQueued::Nothing), Just(NotQueued::Flush)];
    let wait = prop_oneof![Just(1.0), Just(40.0), Just(5000.0)];
    let queue = (1..9u32, any::<bool>(), wait, 0.0..300.0f64, not_queued);
    let cache = (prop_oneof![4..6u32, 4..200u32], 1..5u32, 1..6u32, any::<bool>(), 0..4u32);
    (media, queue, cache).prop_map(|(media, queue, cache)| {
        let mut spec = DiskSpec::plain();
        (spec.media.heads, spec.media.serpentine_cylinders) = (media.0, media.3);
        spec.media.zone_cylinders = vec![5 * media.1, 9, 20];
        spec.media.zone_sectors_per_track = vec![90, 77, 64];
        spec.media.track_order = if media.2 { TrackOrder::Serpentine } else { TrackOrder::Cylinder };
        spec.media.track_skew_us = media.4;
        spec.capacity_bytes = spec.media.sectors() * 512;
        spec.controller.queue_depth = queue.0;
        spec.controller.order = if queue.1 { ServiceOrder::Fifo } else { ServiceOrder::ShortestAccess };
        spec.controller.longest_wait_ms = queue.2;
        spec.controller.command_us = queue.3;
        spec.controller.not_queued = queue.4;
        spec.cache.segment_kib = cache.0;
        spec.cache.read_ahead_kib = cache.0 * cache.4.min(2) / 2;
        (spec.cache.read_segments, spec.cache.write_segments) = (cache.1, cache.2);
        spec.cache.write_back = cache.3;
        spec
    })
}

/// A write that the host knows of.
#[derive(Clone, Debug)]
struct Write {
    range: Range<u64>,
    submitted: Nanos,
    completed: Option<Nanos>,
}

struct Oracle {
    disk: Disk,
    under_way: BTreeMap<u64, Request>,
    writes: BTreeMap<u64, Write>,
    last: Nanos,
    write_back: bool,
}

fn meets(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

impl Oracle {
    fn new(spec: DiskSpec) -> Oracle {
        let write_back = spec.cache.write_back;
        let disk = Disk::new("d", spec, 1).expect("a spec that can be built");
        Oracle { disk, under_way: BTreeMap::new(), writes: BTreeMap::new(), last: 0, write_back }
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        self.disk.submit(now, request).expect("a command within the disk");
        self.under_way.insert(request.tag, request);
        if request.op == Op::Write {
            let range = request.offset_bytes..request.offset_bytes + request.length_bytes;
            self.writes.insert(request.tag, Write { range, submitted: now, completed: None });
        }
    }

    fn run(&mut self, to: Nanos) {
        let mut done = Vec::new();
        loop {
            let now = self.disk.advance_to_completion(to, &mut done);
            if done.is_empty() {
                assert_eq!(now, to);
                return;
            }
            for completion in done.drain(..) {
                assert_eq!(completion.completed, now);
                self.ended(&completion);
            }
        }
    }

    fn ended(&mut self, c: &Completion) {
        let request = self.under_way.remove(&c.tag).expect("it was under way, and ends once");
        assert_eq!((c.op, c.offset_bytes, c.length_bytes), (request.op, request.offset_bytes, request.length_bytes));
        assert_eq!(c.status, Status::Ok);
        assert!(c.completed >= self.last && c.completed >= c.submitted, "time runs backwards");
        assert_eq!(c.breakdown.sum(), c.latency(), "{c:?}");
        self.last = c.completed;
        let through = request.op == Op::Flush || request.op == Op::Write && (request.fua || !self.write_back);
        if through {
            self.check_through(c);
        }
        if let Some(write) = self.writes.get_mut(&c.tag) {
            write.completed = Some(c.completed);
        }
    }

    /// What had been acknowledged before a flush, and what a write through wrote, is on the platters unless something newer
    /// replaced it.
    fn check_through(&self, c: &Completion) {
        let own = |tag: u64| c.op == Op::Write && tag == c.tag;
        let settled = |tag: u64, w: &Write| match c.op {
            Op::Flush => w.completed.is_some_and(|at| at < c.submitted),
            _ => own(tag),
        };
        let unwritten: Vec<Range<u64>> = self.disk.unwritten().collect();
        for (_, old) in self.writes.iter().filter(|(tag, w)| settled(**tag, w)) {
            for waiting in unwritten.iter().filter(|waiting| meets(waiting, &old.range)) {
                // Sector by sector: somebody must have written it since, or be about to.
                let both = waiting.start.max(old.range.start)..waiting.end.min(old.range.end);
                for sector in both.step_by(512) {
                    let sector = sector..sector + 512;
                    let newer = self.writes.iter().any(|(tag, w)| {
                        let later = w.completed.is_none_or(|at| at >= c.submitted) || w.submitted >= c.submitted;
                        !own(*tag) && later && meets(&w.range, &sector)
                    });
                    assert!(newer, "{c:?}: {sector:?} is still in the cache");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn commands_end_once_and_what_is_through_is_on_the_platters(
        spec in spec(),
        steps in prop::collection::vec(step(), 1..120),
        branch in 0..120usize,
    ) {
        let capacity = spec.capacity_bytes;
        let mut oracle = Oracle::new(spec);
        let (mut now, mut copy) = (0, None);
        for (tag, step) in steps.iter().enumerate() {
            let length = u64::from(step.sectors) * 512;
            let at = (u64::from(step.sector) * 512) % (capacity - length);
            let tag64 = tag as u64;
            let request = match step.op {
                0 => Request::flush(tag64),
                1 => Request::write(tag64, at, length).with_fua(true),
                2..12 => Request::write(tag64, at, length),
                _ => Request::read(tag64, at, length),
            };
            if tag == branch {
                copy = Some((oracle.disk.snapshot().expect("disks can be copied"), now));
            }
            oracle.submit(now, request);
            if let Some((copy, _)) = &mut copy {
                copy.submit(now, request).expect("a command within the disk");
            }
            now += u64::from(step.pause);
            oracle.run(now);
            if let Some((copy, _)) = &mut copy {
                copy.advance(now, &mut Vec::new());
            }
            oracle.disk.check_books().map_err(TestCaseError::fail)?;
        }
        oracle.run(now + 3_600_000_000_000);
        prop_assert!(oracle.under_way.is_empty(), "{:?} never ended", oracle.under_way);
        rest(&mut oracle.disk);
        oracle.disk.check_books().map_err(TestCaseError::fail)?;
        prop_assert_eq!(oracle.disk.next_event(), None);
        prop_assert_eq!(oracle.disk.unwritten().count(), 0);
        let counters = oracle.disk.counters();
        let disk = counters.disk.expect("it is a disk");
        prop_assert_eq!(counters.host.write_bytes, disk.destaged_bytes + disk.replaced_bytes);
        if let Some((mut copy, _)) = copy {
            copy.advance(now + 3_600_000_000_000, &mut Vec::new());
            prop_assert_eq!(copy.counters(), counters);
        }
    }
}
