//! What a drive promises its host, whatever the drive and whatever the host does: every command completes, its time is
//! accounted for to the nanosecond, the books balance, and the same seed gives the same completions.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use ssdlab_core::{MILLISECOND, Nanos, Op, Rng, SECOND, SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::{Completion, Device, Request, Status};
use ssdlab_ftl::{HostShare, SuperblockSpan};
use ssdlab_ssd::{DriveSpec, build};
use ssdlab_testkit::{DrawnDrive, any_drive, any_log_block_drive};

/// Events without a completion after which a drive counts as stuck.
const PATIENCE: u32 = 2_000_000;

struct Host {
    drive: Box<dyn Device>,
    /// It asks for the next completion, and not for one event after the other.
    leaps: bool,
    rng: Rng,
    now: Nanos,
    next_tag: u64,
    in_flight: BTreeMap<u64, (Request, Nanos)>,
    done: Vec<Completion>,
    log: Vec<Completion>,
    bytes: BTreeMap<Op, u64>,
}

impl Host {
    fn new(choice: &DrawnDrive) -> Option<Host> {
        let (spec, die) = choice.build()?;
        let drive = build("small", &spec, &die, choice.seed).expect("it was checked");
        Some(Host {
            drive,
            leaps: false,
            rng: Rng::new(choice.seed).stream("host"),
            now: 0,
            next_tag: 0,
            in_flight: BTreeMap::new(),
            done: Vec::new(),
            log: Vec::new(),
            bytes: BTreeMap::new(),
        })
    }

    fn submit(&mut self, op: Op, offset_bytes: u64, length_bytes: u64, fua: bool) {
        let request = Request::new(self.next_tag, op, offset_bytes, length_bytes).with_fua(fua);
        self.next_tag += 1;
        self.in_flight.insert(request.tag, (request, self.now));
        let stream = self.rng.below(self.drive.info().streams.into()) as u8;
        self.drive.submit(self.now, request.with_stream(stream)).unwrap();
    }

    /// A command as a host that is up to no good sends them.
    fn submit_any(&mut self) {
        let sectors = self.drive.info().capacity_bytes / SECTOR_BYTES;
        let op = match self.rng.below(20) {
            0..=8 => Op::Write,
            9..=15 => Op::Read,
            16..=18 => Op::Trim,
            _ => Op::Flush,
        };
        let whole_units = self.rng.chance(1, 2);
        let most = [1, 8, 64, 300][self.rng.below(4) as usize].min(sectors);
        let length = self.rng.below(most) + 1;
        let offset = self.rng.below(sectors - length + 1);
        let per_unit = UNIT_BYTES / SECTOR_BYTES;
        let (offset, length) = if whole_units {
            let offset = offset / per_unit * per_unit;
            (offset, (length.div_ceil(per_unit) * per_unit).min(sectors - offset))
        } else {
            (offset, length)
        };
        let fua = self.rng.chance(1, 10);
        self.submit(op, offset * SECTOR_BYTES, length * SECTOR_BYTES, fua);
    }

    /// Lets time pass to the next completion.
    fn wait(&mut self) {
        if self.leaps {
            self.now = self.drive.advance_to_completion(Nanos::MAX - 1, &mut self.done);
            // Others may come at the same time.
            self.drive.advance(self.now, &mut self.done);
            return self.take_completions();
        }
        for _ in 0..PATIENCE {
            let Some(at) = self.drive.next_event() else {
                panic!("deadlock: {} commands are in flight, and the drive is at rest", self.in_flight.len());
            };
            assert!(at >= self.now, "time runs backwards");
            self.now = at;
            self.drive.advance(at, &mut self.done);
            if !self.done.is_empty() {
                self.take_completions();
                return;
            }
        }
        panic!("livelock: {} commands are in flight, {PATIENCE} events completed none", self.in_flight.len());
    }

    fn take_completions(&mut self) {
        for c in std::mem::take(&mut self.done) {
            let (request, submitted) = self.in_flight.remove(&c.tag).expect("a completion of a command in flight");
            assert_eq!(c.status, Status::Ok);
            assert_eq!((c.op, c.offset_bytes, c.submitted), (request.op, request.offset_bytes, submitted));
            assert!(c.completed >= c.submitted && c.completed <= self.now, "{c:?} at {}", self.now);
            assert!(self.log.last().is_none_or(|last| last.completed <= c.completed), "completions out of order");
            assert_eq!(c.breakdown.sum(), c.latency(), "the parts of {c:?} do not sum to its latency");
            if c.op != Op::Flush {
                *self.bytes.entry(c.op).or_default() += c.length_bytes;
            }
            self.log.push(c);
        }
    }

    fn drain(&mut self) {
        while !self.in_flight.is_empty() {
            self.wait();
        }
    }

    fn check(&self) {
        self.drive.check_books().expect("the books balance");
        let counters = self.drive.counters();
        let bytes = |op| self.bytes.get(&op).copied().unwrap_or(0);
        assert_eq!(counters.host.write_bytes, bytes(Op::Write));
        assert_eq!(counters.host.read_bytes, bytes(Op::Read));
        assert_eq!(counters.host.trim_bytes, bytes(Op::Trim));
    }
}

fn run(choice: &DrawnDrive) -> Option<Vec<Completion>> {
    run_with(Host::new(choice)?)
}

fn run_with(mut host: Host) -> Option<Vec<Completion>> {
    let capacity = host.drive.info().capacity_bytes;
    // Fill, so that garbage collection is near.
    let step = 32 * UNIT_BYTES;
    for offset in (0..capacity).step_by(step as usize) {
        host.submit(Op::Write, offset, step.min(capacity - offset), false);
        if host.in_flight.len() >= 8 {
            host.wait();
        }
    }
    host.drain();
    host.check();
    for _ in 0..4 {
        let depth = [1, 3, 32, 100][host.rng.below(4) as usize];
        for _ in 0..1500 {
            while host.in_flight.len() >= depth {
                host.wait();
            }
            host.submit_any();
            if host.rng.chance(1, 50) {
                host.now += host.rng.below(MILLISECOND);
                let now = host.now;
                host.drive.advance(now, &mut host.done);
                host.take_completions();
            }
        }
        host.drain();
        host.check();
        // Idle: what is buffered gets written, and the firmware may collect.
        host.now += host.rng.below(3 * SECOND);
        let now = host.now;
        host.drive.advance(now, &mut host.done);
        host.take_completions();
        host.check();
        if host.rng.chance(1, 8) {
            let security = host.drive.security().expect("every simulated drive can be erased");
            host.now = security.secure_erase(host.now);
            host.check();
        }
    }
    Some(host.log)
}

/// What no drawn drive has, no property is tested of.
#[test]
fn drawn_drives_that_can_be_built_have_every_pace_and_span_and_maps_loaded_on_demand() {
    let mut runner = TestRunner::deterministic();
    let drawn = (0..150).map(|_| any_drive().new_tree(&mut runner).expect("it is drawn").current());
    let built: Vec<DriveSpec> = drawn.filter_map(|choice| Some(choice.build()?.0)).collect();
    assert!(built.len() > 100, "{} of 150 can be built", built.len());
    for host_share in
        [HostShare::Unlimited, HostShare::BetweenRounds, HostShare::Balanced, HostShare::InStep, HostShare::Trickle]
    {
        assert!(built.iter().any(|drive| drive.gc.host_share == host_share), "{host_share:?}");
    }
    for span in [SuperblockSpan::AllDies, SuperblockSpan::OneDie, SuperblockSpan::DieGroup] {
        assert!(built.iter().any(|drive| drive.mapping.superblock == span), "{span:?}");
    }
    assert!(built.iter().any(|drive| drive.mapping.map_cache_kib.is_some() && drive.mapping.journal));
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None,
        ..ProptestConfig::with_cases(200) })]

    #[test]
    fn every_drive_serves_every_host(choice in any_drive()) {
        run(&choice);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None,
        ..ProptestConfig::with_cases(60) })]

    #[test]
    fn the_same_seed_gives_the_same_completions(choice in any_drive()) {
        let key = |c: &Completion| (c.tag, c.submitted, c.completed, c.breakdown);
        let runs = [run(&choice), run(&choice)].map(|log| log.map(|l| l.iter().map(key).collect::<Vec<_>>()));
        prop_assert_eq!(&runs[0], &runs[1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(4), failure_persistence: None,
        ..ProptestConfig::with_cases(60) })]

    #[test]
    fn every_drive_that_maps_large_units_serves_every_host(choice in any_drive(), unit_kib in 3u32..=4) {
        run(&choice.mapping_units_of_kib(1 << unit_kib));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(3), failure_persistence: None,
        ..ProptestConfig::with_cases(40) })]

    #[test]
    fn every_drive_with_log_blocks_serves_every_host(choice in any_log_block_drive()) {
        let key = |c: &Completion| (c.tag, c.submitted, c.completed, c.breakdown);
        let runs = [run(&choice), run(&choice)].map(|log| log.map(|l| l.iter().map(key).collect::<Vec<_>>()));
        prop_assert_eq!(&runs[0], &runs[1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(5), failure_persistence: None,
        ..ProptestConfig::with_cases(20) })]

    /// Copies that are worked out whole end when they would one event after the other.
    #[test]
    fn leaping_to_the_next_completion_changes_nothing(choice in any_log_block_drive(), move_us in 1u32..=50) {
        let choice = choice.moving_units_in_us(move_us);
        let key = |c: &Completion| (c.tag, c.submitted, c.completed, c.breakdown);
        let runs = [false, true].map(|leaps| {
            let host = Host::new(&choice).map(|host| Host { leaps, ..host });
            host.and_then(run_with).map(|log| log.iter().map(key).collect::<Vec<_>>())
        });
        prop_assert_eq!(&runs[0], &runs[1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(2), failure_persistence: None,
        ..ProptestConfig::with_cases(3000) })]

    #[test]
    #[ignore = "minutes; `make properties` runs it, and 200 cases of the same run always"]
    fn thousands_more_drives(choice in any_drive()) {
        run(&choice);
    }

    #[test]
    #[ignore = "minutes; `make properties` runs it, and 40 cases of the same run always"]
    fn thousands_more_drives_with_log_blocks(choice in any_log_block_drive()) {
        run(&choice);
    }
}
