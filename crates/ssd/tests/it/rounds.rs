//! Firmware that takes in the host's commands only between two rounds of the collector, on a small drive of one core.

use std::collections::BTreeMap;

use ssdlab_core::{Cause, MICROSECOND, MILLISECOND, Nanos, Op, Rng, SECOND, UNIT_BYTES};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_ftl::{Buffering, HostShare, SuperblockSpan};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, Ssd};

const DEPTH: usize = 32;
/// Long enough that a round waits for the processor rather than for dies.
const MOVE_US: u64 = 30;

fn die() -> DieSpec {
    toml::from_str(
        r#"
        description = "small"
        geometry = { planes = 2, blocks_per_plane = 64, pages_per_block = 64, page_bytes = 16384, spare_bytes = 1872, bits_per_cell = 2, page_order = "alternating" }
        timing = { read_us = [48.0, 64.0], program_us = [850.0, 2300.0], erase_ms = 3.0 }
        bus = { mega_transfers_per_s = 400.0, command_us = 2.0 }
        wear = { rated_program_erase_cycles = 3000, factory_bad_blocks_per_10000 = 0 }
        [modes.slc]
        read_us = [35.0]
        program_us = [450.0]
        erase_ms = 3.0
        rated_program_erase_cycles = 20000
        "#,
    )
    .unwrap()
}

/// Eight dies, seven eighths of them sold; a round moves four pages of every die and plane.
fn drive(host_share: &str) -> DriveSpec {
    toml::from_str(&format!(
        r#"
        description = "small"
        capacity_bytes = 939524096
        flash = {{ die = "small", dies = 8 }}
        link = {{ generation = "ideal", host_turnaround_us = 0.0 }}
        write_buffer = {{ capacity_kib = 1024, write_cache = true, flush_after_idle_ms = 10.0 }}
        mapping = {{ superblock = "all-dies", reserved_blocks_per_1000 = 0, journal = false }}
        [controller]
        name = "small"
        channels = 4
        ways = 2
        queue_depth = 32
        dram_mib = 1
        read_command_us = 5.0
        write_command_us = 5.0
        read_unit_us = 5.0
        write_unit_us = 10.0
        move_unit_us = {MOVE_US}.0
        read_ahead_kib = 0
        reads_first = true
        [gc]
        policy = "greedy"
        frontier = "separate"
        start_free_superblocks = 2
        victims_per_start = 0
        buffer_superpages = 4
        buffering = "stop-and-wait"
        host_share = "{host_share}"
        background_after_idle_ms = 1000.0
        background_free_superblocks = 5
        "#
    ))
    .unwrap()
}

/// Units that a full round moves, and what the processor takes for them.
const ROUND_UNITS: u64 = 4 * 8 * 8;
const ROUND_WORK: Nanos = ROUND_UNITS * MOVE_US * MICROSECOND;

struct Host {
    ssd: Ssd,
    rng: Rng,
    now: Nanos,
    pages: u64,
    done: Vec<Completion>,
}

impl Host {
    /// A full drive.
    fn new(spec: &DriveSpec) -> Self {
        let ssd = Ssd::new("small", spec, &die(), 1).unwrap();
        let pages = ssd.info().capacity_bytes / UNIT_BYTES;
        let mut host = Host { ssd, rng: Rng::new(3), now: 0, pages, done: Vec::new() };
        for block in 0..pages / 32 {
            host.submit(Op::Write, block * 32, 32);
            host.wait();
        }
        host
    }

    fn submit(&mut self, op: Op, page: u64, pages: u64) {
        let (offset_bytes, length_bytes) = (page * UNIT_BYTES, pages * UNIT_BYTES);
        self.ssd.submit(self.now, Request::new(0, op, offset_bytes, length_bytes)).unwrap();
    }

    fn wait(&mut self) -> Vec<Completion> {
        self.done.clear();
        self.now = self.ssd.advance_to_completion(Nanos::MAX - 1, &mut self.done);
        self.done.clone()
    }

    /// Random writes for `time`, 32 in flight; how many ended in each `window`.
    fn random_writes(&mut self, time: Nanos, window: Nanos) -> Vec<u64> {
        let (start, end) = (self.now, self.now + time);
        let mut ended = BTreeMap::new();
        let mut in_flight = 0;
        while self.now < end || in_flight > 0 {
            while in_flight < DEPTH && self.now < end {
                let page = self.rng.below(self.pages);
                self.submit(Op::Write, page, 1);
                in_flight += 1;
            }
            for c in self.wait() {
                in_flight -= 1;
                *ended.entry((c.completed - start) / window).or_insert(0) += 1;
            }
        }
        (0..time / window).map(|k| ended.get(&k).copied().unwrap_or(0)).collect()
    }
}

#[test]
fn the_rate_falls_to_a_queue_of_commands_a_round_and_leaps_between_collections() {
    let window = 100 * MILLISECOND;
    let run = |share: &str| {
        let mut host = Host::new(&drive(share));
        host.random_writes(10 * SECOND, window);
        let mut counts = host.random_writes(10 * SECOND, window);
        host.ssd.check_books().unwrap();
        counts.sort_unstable();
        counts
    };
    let counts = run("between-rounds");
    let (base, most) = (counts[counts.len() / 4], counts[counts.len() - 1]);
    // A round takes what the processor does and, at its ends, a read and a program; with it go 32 commands.
    let rounds = |work: Nanos| window / work * DEPTH as u64;
    assert!(base < rounds(ROUND_WORK) && base > rounds(2 * ROUND_WORK), "{base}, {}", rounds(ROUND_WORK));
    assert!(most > 5 * base, "{most} against {base}");
    // A paced drive of the same speed has no such leaps.
    let paced = run("balanced");
    let (median, most) = (paced[paced.len() / 2], paced[paced.len() - 1]);
    assert!(most < 2 * median, "{most} against {median}");
}

#[test]
fn what_comes_during_a_round_waits_for_its_end_and_no_longer() {
    let mut host = Host::new(&drive("between-rounds"));
    host.random_writes(5 * SECOND, SECOND);
    let mut longest = 0;
    let mut held = 0;
    for _ in 0..20_000 {
        let (write, page) = (host.rng.chance(1, 2), host.rng.below(host.pages));
        host.submit(if write { Op::Write } else { Op::Read }, page, 1);
        for c in host.wait() {
            let waited = c.breakdown.get(Cause::GarbageCollection);
            held += u32::from(waited > ROUND_WORK / 2);
            longest = longest.max(c.latency());
        }
    }
    assert!(held > 100, "{held} commands met a round");
    assert!(longest > ROUND_WORK && longest < 3 * ROUND_WORK, "{longest}");
}

#[test]
fn a_round_that_is_under_way_when_recording_begins_is_there() {
    let mut host = Host::new(&drive("between-rounds"));
    host.random_writes(5 * SECOND, SECOND);
    let firmware = |ssd: &mut Ssd, now: Nanos| {
        let timeline = ssd.recorder().expect("a drive that explains itself").recorded_since(now - 1);
        timeline.tracks.into_iter().find(|track| track.part == "firmware")
    };
    host.ssd.recorder().expect("as before").record(1000);
    let mut met = 0;
    for _ in 0..2000 {
        let page = host.rng.below(host.pages);
        host.submit(Op::Write, page, 1);
        host.wait();
        let (mut late, now) = (host.ssd.clone(), host.now + MILLISECOND / 4);
        host.now = now;
        host.ssd.advance(now, &mut Vec::new());
        late.advance(now, &mut Vec::new());
        late.recorder().expect("as before").record(1000);
        let goes_on = firmware(&mut host.ssd, now).filter(|f| f.stretches.last().is_some_and(|s| s.to == now));
        if goes_on.is_some() {
            met += 1;
            assert_eq!(firmware(&mut late, now), goes_on);
        }
    }
    assert!(met > 10, "{met} rounds were under way");
}

#[test]
fn work_ahead_of_need_stops_for_the_host() {
    let mut spec = drive("between-rounds");
    spec.gc.background_free_superblocks = 8;
    let mut host = Host::new(&spec);
    host.random_writes(5 * SECOND, SECOND);
    // Resting, the drive collects ahead of need; before it is through, the host is back, with few commands.
    host.now += 3 * SECOND;
    let before = host.ssd.counters().flash.unwrap().gc_program_bytes;
    let now = host.now;
    host.ssd.advance(now, &mut Vec::new());
    assert!(host.ssd.counters().flash.unwrap().gc_program_bytes > before, "nothing was collected in idle time");
    host.submit(Op::Read, 0, 1);
    let first = host.wait()[0].latency();
    assert!(first < 3 * ROUND_WORK, "{first}");
    let moved = host.ssd.counters().flash.unwrap().gc_program_bytes;
    for _ in 0..200 {
        let page = host.rng.below(host.pages);
        host.submit(Op::Read, page, 1);
        let latency = host.wait()[0].latency();
        assert!(latency < MILLISECOND, "{latency}");
    }
    assert_eq!(host.ssd.counters().flash.unwrap().gc_program_bytes, moved);
    // Left alone again, it goes on.
    host.now += 2 * SECOND;
    let now = host.now;
    host.ssd.advance(now, &mut Vec::new());
    assert!(host.ssd.counters().flash.unwrap().gc_program_bytes > moved);
    host.ssd.check_books().unwrap();
}

#[test]
fn rounds_need_a_collector_that_has_them() {
    let refused = |change: fn(&mut DriveSpec)| {
        let mut spec = drive("between-rounds");
        change(&mut spec);
        spec.validate(&die()).unwrap_err().to_string()
    };
    assert!(refused(|spec| spec.gc.buffering = Buffering::Streaming).contains("gc.host_share"));
    assert!(refused(|spec| spec.mapping.superblock = SuperblockSpan::OneDie).contains("gc.host_share"));
    assert!(refused(|spec| spec.controller.move_unit_us = -1.0).contains("controller.move_unit_us"));
    assert_eq!(drive("between-rounds").gc.host_share, HostShare::BetweenRounds);
}

/// What comes during a round is decoded in the order in which it came, once the round is over.
#[test]
fn writes_end_in_the_order_in_which_they_came() {
    let mut host = Host::new(&drive("between-rounds"));
    let (mut sent, mut ended) = (0, 0);
    let moved = |host: &Host| host.ssd.counters().flash.expect("it has flash").gc_program_bytes;
    while ended < 20_000 || moved(&host) < 64 << 20 {
        while sent - ended < DEPTH as u64 {
            let offset = host.rng.below(host.pages) * UNIT_BYTES;
            host.ssd.submit(host.now, Request::new(sent, Op::Write, offset, UNIT_BYTES)).unwrap();
            sent += 1;
        }
        for c in host.wait() {
            assert_eq!(c.tag, ended, "{sent} were sent");
            ended += 1;
        }
    }
}
