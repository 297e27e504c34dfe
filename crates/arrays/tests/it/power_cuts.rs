//! Sets and adapters whose plug is pulled, against a host that knows what it was promised.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ssdlab_arrays::{
    Adapter, AdapterCacheSpec, AdapterKind, AdapterLinkSpec, AdapterSpec, FlushChoice, Raid0, Ranges, SavedAdapter,
};
use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_bench::{Lab, Monitor, PoweredOn};
use ssdlab_core::{MILLISECOND, Nanos, Op, Rng, SECOND};
use ssdlab_device::{Completion, Device, Held, LoadError, Request, Status};
use ssdlab_disks::{Disk, DiskSpec, SavedDisk};
use ssdlab_nand::GrowingFaults;
use ssdlab_ssd::Ssd;
use ssdlab_testkit::{altered, ideal_die, ideal_drive};

fn disk() -> Box<dyn Device> {
    let mut spec = DiskSpec::plain();
    spec.capacity_bytes = 1 << 20;
    spec.cache.write_segments = 4;
    spec.cache.segment_kib = 64;
    spec.cache.read_ahead_kib = 0;
    spec.media.spin_up_ms = 2.0;
    Box::new(Disk::new("disk", spec, 1).expect("it can be built"))
}

fn pair() -> Box<dyn Device> {
    Box::new(Raid0::new("pair", vec![disk(), disk()], 8192).expect("it can be built"))
}

fn adapter(device: Box<dyn Device>, battery: bool, drive_write_cache: bool, rng: &mut Rng) -> Box<dyn Device> {
    let line_kib = [4, 16, 64][rng.below(3) as usize];
    let flush_policy = [FlushChoice::Burst, FlushChoice::Polite][rng.below(2) as usize];
    let cache = AdapterCacheSpec { line_kib, flush_policy, ..cache(battery, drive_write_cache) };
    with_cache(device, Some(cache))
}

fn cache(battery: bool, drive_write_cache: bool) -> AdapterCacheSpec {
    AdapterCacheSpec {
        capacity_mib: 1,
        line_kib: 16,
        flush_policy: FlushChoice::Burst,
        flush_threshold_percent: 10,
        dirty_limit_percent: 50,
        flush_after_idle_ms: 5.0,
        drive_queue_depth: 4,
        merge_kib: 128,
        read_ahead_kib: 0,
        battery,
        drive_write_cache,
    }
}

fn with_cache(device: Box<dyn Device>, cache: Option<AdapterCacheSpec>) -> Box<dyn Device> {
    let link = AdapterLinkSpec { name: "bus".to_owned(), megabytes_per_s: 200.0, command_us: 10.0 };
    let spec = AdapterSpec { kind: AdapterKind::Adapter, description: "drawn".to_owned(), ports: 4, link, cache };
    Box::new(Adapter::new("adapter", &spec, device))
}

/// Writes of a unit: how many were sent, answered and flushed since the last cut, and the number of the one before.
#[derive(Clone, Copy, Default)]
struct Unit {
    before: u8,
    sent: u32,
    answered: u32,
    flushed: u32,
    in_flight: bool,
}

struct Host {
    device: Box<dyn Device>,
    now: Nanos,
    units: Vec<Unit>,
    in_flight: Vec<Request>,
    flushes: Vec<(u64, Vec<u32>)>,
    next: u64,
    /// What was answered and is gone.
    lost: u32,
}

impl Host {
    fn new(device: Box<dyn Device>) -> Self {
        let units = vec![Unit::default(); (device.info().capacity_bytes / 4096) as usize];
        Host { device, now: 0, units, in_flight: Vec::new(), flushes: Vec::new(), next: 0, lost: 0 }
    }

    fn send(&mut self, op: Op, first: usize, count: usize, fua: bool) {
        let tag = self.next;
        self.next += 1;
        let request = match op {
            Op::Flush => {
                self.flushes.push((tag, self.units.iter().map(|unit| unit.answered).collect()));
                Request::flush(tag)
            }
            _ => {
                let units = &mut self.units[first..first + count];
                if units.iter().any(|unit| unit.in_flight) {
                    return;
                }
                units.iter_mut().for_each(|unit| (unit.sent, unit.in_flight) = (unit.sent + 1, true));
                Request::write(tag, first as u64 * 4096, count as u64 * 4096).with_fua(fua)
            }
        };
        self.device.submit(self.now, request).expect("it is within the device");
        self.in_flight.push(request);
    }

    fn pass(&mut self, time: Nanos) {
        let mut done: Vec<Completion> = Vec::new();
        self.now += time;
        self.device.advance(self.now, &mut done);
        for c in done {
            let k = self.in_flight.iter().position(|r| r.tag == c.tag).expect("it was in flight");
            let request = self.in_flight.swap_remove(k);
            if request.op == Op::Flush {
                let k = self.flushes.iter().position(|f| f.0 == c.tag).expect("it was sent");
                let covered = self.flushes.swap_remove(k).1;
                self.units.iter_mut().zip(covered).for_each(|(unit, covered)| unit.flushed = unit.flushed.max(covered));
                continue;
            }
            let first = (request.offset_bytes / 4096) as usize;
            for unit in &mut self.units[first..first + (request.length_bytes / 4096) as usize] {
                (unit.answered, unit.in_flight) = (unit.sent, false);
                if request.fua {
                    unit.flushed = unit.sent;
                }
            }
        }
    }

    /// `keeps_all`: whatever was answered must be there; `promises`: whatever was flushed.
    fn cut(&mut self, keeps_all: bool, promises: bool, heir: Option<Box<dyn Device>>) {
        self.device.plug().expect("it has one").cut(self.now);
        self.now += SECOND;
        let mut restored = self.now;
        if let Some(heir) = heir {
            let saved = self.device.plug_seen().expect("it has one").save();
            self.device = heir;
            let plug = self.device.plug().expect("it has one");
            plug.load(&saved).expect("it is of the same kind");
            // Its times begin anew.
            restored = 0;
        }
        self.now = self.device.plug().expect("it has one").restore(restored);
        self.in_flight.clear();
        self.flushes.clear();
        let plug = self.device.plug_seen().expect("it has one");
        for (k, unit) in self.units.iter_mut().enumerate() {
            let least = if keeps_all {
                unit.answered
            } else if promises {
                unit.flushed
            } else {
                0
            };
            let number = |writes: u32| match (u32::from(unit.before), writes) {
                (0, 0) => 0,
                (before, writes) => ((before + 254 + writes) % 255 + 1) as u8,
            };
            let written = |held: Held| match held {
                Held::Nothing => 0,
                Held::Write(number) => number,
                other => panic!("{other:?}"),
            };
            for held in plug.sectors(k as u64) {
                let found = written(held);
                let writes = (0..=unit.sent).rev().find(|&writes| number(writes) == found);
                let writes = writes
                    .unwrap_or_else(|| panic!("unit {k} holds {found}, {} writes after {}", unit.sent, unit.before));
                assert!(
                    writes >= least,
                    "unit {k} holds write {writes} of {}, of which {least} were promised",
                    unit.sent
                );
                self.lost += u32::from(writes < unit.answered);
            }
            let before = match plug.held(k as u64) {
                Held::Mixed(newest) => newest,
                held => written(held),
            };
            *unit = Unit { before, ..Unit::default() };
        }
        self.device.check_books().unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Returns how much was lost that had been answered.
fn work(build: &dyn Fn() -> Box<dyn Device>, keeps_all: bool, promises: bool, rng: &mut Rng) -> u32 {
    let mut host = Host::new(build());
    let units = host.units.len() as u64;
    for _ in 0..10 {
        for _ in 0..1 + rng.below(60) {
            let count = [1, 2, 5, 16][rng.below(4) as usize];
            let op = if rng.chance(1, 10) { Op::Flush } else { Op::Write };
            host.send(op, rng.below(units.min(96) - count) as usize, count as usize, rng.chance(1, 12));
            let pause = [0, 20_000, 2 * MILLISECOND, 30 * MILLISECOND][rng.below(4) as usize];
            host.pass(rng.below(pause + 1));
        }
        host.cut(keeps_all, promises, rng.chance(1, 4).then(build));
    }
    host.lost
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(15), failure_persistence: None,
        ..ProptestConfig::with_cases(20) })]

    #[test]
    fn what_was_flushed_is_kept_by_sets_and_adapters(seed in any::<u64>()) {
        let mut rng = Rng::new(seed).stream("cuts");
        let cached = |battery, drive_write_cache, inner: fn() -> Box<dyn Device>| {
            move || adapter(inner(), battery, drive_write_cache, &mut Rng::new(seed).stream("cache"))
        };
        prop_assert!(work(&pair, false, true, &mut rng) > 0);
        work(&|| with_cache(disk(), None), false, true, &mut rng);
        work(&cached(false, true, disk), false, true, &mut rng);
        work(&cached(false, false, pair), false, true, &mut rng);
        // A battery keeps all that was answered, unless drives answer from caches of their own.
        work(&cached(true, false, pair), true, true, &mut rng);
        work(&cached(true, true, disk), false, false, &mut rng);
    }
}

#[test]
fn a_battery_keeps_what_was_answered_and_without_one_it_is_lost() {
    for battery in [true, false] {
        let mut host = Host::new(adapter(disk(), battery, false, &mut Rng::new(1)));
        host.send(Op::Write, 0, 8, false);
        host.pass(MILLISECOND);
        assert!(host.in_flight.is_empty(), "it is answered from the cache");
        host.device.plug().unwrap().cut(host.now);
        let ready = host.device.plug().unwrap().restore(host.now);
        let held = host.device.plug_seen().unwrap().held(0);
        assert_eq!(held, if battery { Held::Write(1) } else { Held::Nothing });
        // Then it is written out.
        host.device.advance(ready + SECOND, &mut Vec::new());
        let written = host.device.counters().disk.unwrap().destaged_bytes;
        assert_eq!(written, if battery { 8 * 4096 } else { 0 });
    }
}

/// A small drive that has run out of good blocks and takes no more writes; and what time it is there.
fn worn_out() -> (Box<dyn Device>, Nanos) {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
    (drive.flash.dies, drive.flash.exact_spare_per_10000) = (4, None);
    (drive.mapping.reserved_blocks_per_1000, drive.write_buffer.capacity_kib) = (100, 64);
    drive.capacity_bytes = 1600 * 4096;
    let mut drive = Ssd::new("small", &drive, &die, 1).expect("it can be built");
    drive.inject(GrowingFaults { programs_per_failure: 100, erases_per_failure: 30, in_bursts: true }, 1);
    let (mut now, mut done, mut rng) = (0, Vec::new(), Rng::new(1));
    while done.iter().all(|c: &Completion| c.status == Status::Ok) {
        drive.submit(now, Request::write(0, rng.below(1600) * 4096, 4096)).expect("it is within the drive");
        done.clear();
        now = drive.advance_to_completion(now + SECOND, &mut done);
    }
    assert!(drive.is_read_only());
    (Box::new(drive), now)
}

/// The adapter finds out while it makes room, and keeps the rest: STANDBY IMMEDIATE neither waits until the host has been quiet
/// for long, nor has the drive refuse, and so lose, what a battery keeps.
#[test]
fn stand_by_ends_at_once_if_the_drives_refuse_what_is_dirty() {
    let spec = AdapterCacheSpec {
        flush_policy: FlushChoice::Polite,
        flush_threshold_percent: 20,
        flush_after_idle_ms: 10_000.0,
        ..cache(true, false)
    };
    let (drive, now) = worn_out();
    let lines = 12;
    let mut device = with_cache(drive, Some(spec));
    // Eleven lines may wait.
    for line in 0..lines {
        device.submit(now, Request::write(line, line * 32768, 16384)).expect("it is within the device");
    }
    let (mut done, now) = (Vec::new(), now + SECOND);
    device.advance(now, &mut done);
    assert!(
        done.len() as u64 == lines && done.iter().all(|c| c.status == Status::Ok),
        "they are answered from the cache"
    );
    let sent = |device: &dyn Device| device.counters().cache.expect("it has one").flush_writes;
    let before = sent(&*device);
    assert!((1..lines).contains(&before), "{before} writes were sent and refused");
    let off = device.plug().unwrap().stand_by(now);
    assert!(off < now + SECOND, "STANDBY IMMEDIATE took {} ms", (off - now) / MILLISECOND);
    assert_eq!(sent(&*device), before);
    done.clear();
    device.submit(off, Request::write(99, 0, 4096)).expect("it is within the device");
    let now = device.advance_to_completion(off + SECOND, &mut done);
    assert_eq!(done[0].status, Status::ReadOnly);
    device.plug().unwrap().cut(now);
    device.plug().unwrap().restore(now);
    let plug = device.plug_seen().expect("it has one");
    let kept = (0..lines).filter(|line| plug.held(line * 8) == Held::Write(1)).count() as u64;
    assert_eq!(kept, lines - before, "what was not refused is in the cache yet");
    device.check_books().unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_flush_that_does_not_reach_the_drives_caches_is_no_promise() {
    let keeps = |battery, drive_write_cache| {
        let device = with_cache(disk(), Some(cache(battery, drive_write_cache)));
        device.plug_seen().expect("it has one").keeps_flushes()
    };
    assert_eq!(
        [keeps(false, false), keeps(false, true), keeps(true, false), keeps(true, true)],
        [true, true, true, false]
    );
}

/// Drives that answer from caches of their own may lose what they were sent after the first cut.
#[test]
fn what_a_battery_has_kept_over_a_cut_survives_the_next_one_too() {
    let (mut early, mut late) = (0, 0);
    for after in 0..120 {
        let mut host = Host::new(with_cache(disk(), Some(cache(true, true))));
        host.send(Op::Write, 0, 2, false);
        host.pass(MILLISECOND);
        assert!(host.in_flight.is_empty(), "it is answered from the cache");
        host.device.plug().unwrap().cut(host.now);
        host.now = host.device.plug().unwrap().restore(host.now);
        if after % 3 == 0 {
            host.send(Op::Write, 0, 1, false);
        }
        host.pass(after * 250_000);
        let written = |host: &Host| host.device.counters().disk.unwrap().destaged_bytes;
        let before = written(&host);
        *(if before == 0 { &mut early } else { &mut late }) += 1;
        host.device.plug().unwrap().cut(host.now);
        host.now = host.device.plug().unwrap().restore(host.now);
        assert!(host.device.plug_seen().unwrap().held(1) == Held::Write(1), "after {after}");
        host.pass(SECOND);
        // Whatever the adapter says is there gets to the platters.
        assert!(written(&host) >= 8192, "after {after}: {before} bytes before the cut, {} bytes now", written(&host));
    }
    assert!(early > 20 && late > 20, "{early}, {late}");
}

#[test]
fn a_stripe_may_be_half_written() {
    let mut torn = 0;
    for after in 0..200 {
        let mut host = Host::new(pair());
        // One stripe on each disk; the second is busy elsewhere.
        host.send(Op::Write, 66, 2, true);
        host.send(Op::Write, 0, 4, true);
        host.pass(after * 500_000);
        host.device.plug().unwrap().cut(host.now);
        host.device.plug().unwrap().restore(host.now);
        let plug = host.device.plug_seen().unwrap();
        torn += u32::from((plug.held(0) == Held::Nothing) != (plug.held(3) == Held::Nothing));
    }
    assert!(torn > 0);
}

#[test]
fn a_set_that_cuts_4_kib_in_two_or_has_a_member_without_a_plug_has_none() {
    let set = |stripe| Raid0::new("pair", vec![disk(), disk()], stripe).expect("it can be built");
    assert!(set(4096).plug().is_some() && set(6144).plug().is_none());
    let ranges = |bytes| Ranges::new("ranges", vec![(disk(), Some(bytes)), (disk(), None)]).expect("it can be built");
    assert!(ranges(8192).plug().is_some() && ranges(512).plug().is_none());
    let model = || Box::new(ssdlab_bench::model::ModelDevice::new(Default::default()));
    assert!(Raid0::new("pair", vec![model(), model()], 8192).expect("it can be built").plug().is_none());
}

/// Whatever value of a saved adapter, or of the disks behind it, is another one: it is refused, or makes one that works and
/// keeps what is flushed.
#[test]
fn nonsense_with_a_right_form_is_refused_or_makes_a_sound_adapter() {
    let (mut refused, mut taken) = (0, 0);
    for seed in 0..12 {
        let mut rng = Rng::new(seed).stream("nonsense");
        let battery = seed % 3 != 0;
        let build = || with_cache(disk(), Some(cache(battery, seed % 2 == 0)));
        let mut host = Host::new(build());
        for _ in 0..3 {
            for _ in 0..30 {
                let count = [1, 2, 5, 16][rng.below(4) as usize];
                host.send(Op::Write, rng.below(96 - count) as usize, count as usize, false);
                host.pass(rng.below(2 * MILLISECOND));
            }
            host.device.plug().unwrap().cut(host.now);
            let saved = host.device.plug_seen().unwrap().save();
            host.device.plug().unwrap().restore(host.now);
            for _ in 0..15 {
                let mut disks = |name: &str, bytes: &mut Vec<u8>, rng: &mut Rng| {
                    let is_disk = name == "device";
                    let other = is_disk.then(|| altered::<SavedDisk>(bytes, rng, &mut |_, _, _| false)).flatten();
                    other.map(|other| *bytes = other).is_some()
                };
                let Some(spoiled) = altered::<SavedAdapter>(&saved, &mut rng, &mut disks) else { continue };
                let mut heir = Host::new(build());
                if heir.device.plug().unwrap().load(&spoiled).is_err() {
                    refused += 1;
                    continue;
                }
                taken += 1;
                heir.now = heir.device.plug().unwrap().restore(0);
                works_and_keeps_what_is_flushed(&mut heir, &mut rng);
            }
            host = Host::new(build());
        }
    }
    assert!(refused > 100 && taken > 100, "{refused} refused, {taken} taken");
}

fn works_and_keeps_what_is_flushed(host: &mut Host, rng: &mut Rng) {
    let held = |host: &Host| -> Vec<Held> {
        let plug = host.device.plug_seen().unwrap();
        let units = 0..host.units.len() as u64;
        units.clone().for_each(|unit| _ = plug.sectors(unit));
        let as_one = |held| if let Held::Mixed(number) = held { Held::Write(number) } else { held };
        units.map(|unit| as_one(plug.held(unit))).collect()
    };
    held(host);
    for _ in 0..20 {
        let count = 1 + rng.below(8);
        host.send(Op::Write, rng.below(96 - count) as usize, count as usize, false);
    }
    host.pass(SECOND);
    host.send(Op::Flush, 0, 0, false);
    host.pass(SECOND);
    assert!(host.in_flight.is_empty());
    let before = held(host);
    host.device.plug().unwrap().cut(host.now);
    host.device.plug().unwrap().restore(host.now);
    assert_eq!(before, held(host));
    host.device.check_books().unwrap_or_else(|e| panic!("{e}"));
}

/// Entries of what came and went beyond the device's last sector, of writes that nobody has counted; sectors of the cache
/// beyond the device's last, or of units that were never written.
#[test]
fn what_a_cache_cannot_have_kept_is_refused() {
    let build = || with_cache(disk(), Some(cache(true, false)));
    let mut host = Host::new(build());
    host.send(Op::Write, 3, 8, false);
    host.pass(MILLISECOND);
    host.device.plug().unwrap().cut(host.now);
    let saved = host.device.plug_seen().unwrap().save();
    let whole = serde_json::to_value(postcard::from_bytes::<SavedAdapter>(&saved).unwrap()).unwrap();
    let load = |state: serde_json::Value| {
        let state: SavedAdapter = serde_json::from_value(state).unwrap();
        build().plug().unwrap().load(&postcard::to_stdvec(&state).unwrap())
    };
    assert_eq!(load(whole.clone()), Ok(()));
    let sectors = host.device.info().capacity_bytes / 512;
    let entry = |from: u64, to: u64| serde_json::json!({ "what": "Sent", "sectors": { "start": from, "end": to } });
    let spoil: [&dyn Fn(&mut serde_json::Value); 6] = [
        &|state| state["cache"]["kept"]["entries"][0]["sectors"]["end"] = (sectors + 8).into(),
        &|state| state["cache"]["kept"]["entries"][0]["sectors"]["end"] = 0.into(),
        &|state| state["cache"]["kept"]["entries"] = vec![entry(800, 808)].into(),
        &|state| state["cache"]["dirty"][0]["number"] = (sectors / 8 + 1).into(),
        &|state| state["cache"]["dirty"][0]["number"] = u64::MAX.into(),
        &|state| state["cache"]["dirty"][0]["number"] = 20.into(),
    ];
    for (k, spoil) in spoil.iter().enumerate() {
        let mut state = whole.clone();
        spoil(&mut state);
        assert_eq!(load(state), Err(LoadError::Damaged), "{k}");
    }
}

/// Lines of another size, another policy, another link, or none: what is in a saved cache is not read by them.
#[test]
fn an_adapter_goes_on_as_the_adapter_that_it_was_only() {
    let own = cache(true, false);
    let mut host = Host::new(with_cache(disk(), Some(own.clone())));
    host.send(Op::Write, 3, 8, false);
    host.pass(MILLISECOND);
    host.device.plug().unwrap().cut(host.now);
    let saved = host.device.plug_seen().unwrap().save();
    let load = |cache| with_cache(disk(), cache).plug().unwrap().load(&saved);
    assert_eq!(load(Some(own.clone())), Ok(()));
    let polite = AdapterCacheSpec { flush_policy: FlushChoice::Polite, ..own.clone() };
    let lines = [4, 64].map(|line_kib| AdapterCacheSpec { line_kib, ..own.clone() });
    for other in lines.into_iter().chain([polite]).map(Some).chain([None]) {
        assert_eq!(load(other.clone()), Err(LoadError::OtherDrive), "{other:?}");
    }
    // What the disk saved by itself, or an adapter without a cache.
    let disks = |mut device: Box<dyn Device>| {
        device.plug().unwrap().cut(0);
        device.plug_seen().unwrap().save()
    };
    for other in [disks(disk()), disks(with_cache(disk(), None))] {
        assert_eq!(with_cache(disk(), Some(own.clone())).plug().unwrap().load(&other), Err(LoadError::OtherDrive));
    }
}

/// Whether or not the host has been quiet, and also while the adapter writes out because it has been.
#[test]
fn stand_by_writes_out_at_once_what_is_dirty() {
    for flush_policy in [FlushChoice::Burst, FlushChoice::Polite] {
        for (writes, quiet_ms) in [(1, 0), (1, 499), (20, 0), (20, 510)] {
            let spec = AdapterCacheSpec {
                line_kib: 4,
                merge_kib: 4,
                drive_queue_depth: 1,
                flush_threshold_percent: 50,
                flush_after_idle_ms: 500.0,
                flush_policy,
                ..cache(false, false)
            };
            let mut device = with_cache(disk(), Some(spec));
            for k in 0..writes {
                device.submit(0, Request::write(k, k * 8192, 4096)).expect("it is within the device");
            }
            let (mut done, now) = (Vec::new(), MILLISECOND + quiet_ms * MILLISECOND);
            device.advance(now, &mut done);
            assert_eq!(done.len() as u64, writes, "they are answered from the cache");
            let off = device.plug().unwrap().stand_by(now);
            // No more than a turn and a seek for each.
            let most = writes * 30 * MILLISECOND;
            assert!(off > now && off - now < most, "{writes} after {quiet_ms} ms: {} ms", (off - now) / MILLISECOND);
            assert_eq!(device.counters().disk.unwrap().destaged_bytes, writes * 4096);
            device.check_books().unwrap_or_else(|e| panic!("{e}"));
            // The power stays: the next write waits again until the host has been quiet.
            device.submit(off, Request::write(99, 0, 4096)).expect("it is within the device");
            device.advance(off + 300 * MILLISECOND, &mut done);
            assert_eq!(device.counters().disk.unwrap().destaged_bytes, writes * 4096);
        }
    }
}

/// An adapter with a cache before a disk.
struct CacheBeforeDisk(AdapterCacheSpec);

impl Lab for CacheBeforeDisk {
    fn fresh(&self, _: u64) -> Result<PoweredOn, String> {
        Ok(with_cache(disk(), Some(self.0.clone())).into())
    }

    fn name(&self) -> &str {
        "cache before a disk"
    }
}

/// The cache holds half a fill of the disk, and is cut before it has been written out, and under load with flushes answered.
#[test]
fn the_power_cut_test_takes_no_fill_that_a_cache_still_holds_for_safe() {
    let flushed_lost = |battery, load_ms: &str| {
        let cache = AdapterCacheSpec {
            flush_policy: FlushChoice::Polite,
            flush_threshold_percent: 50,
            flush_after_idle_ms: 1e6,
            drive_queue_depth: 1,
            merge_kib: 16,
            ..cache(battery, true)
        };
        let settings = [("cuts", "40"), ("event_cuts", "40"), ("load_ms", load_ms), ("writes_per_flush", "10")];
        let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        let def = find_test("power-cut").unwrap();
        let outcome = run_test(def, &CacheBeforeDisk(cache), &settings, 1, false, &Monitor::silent()).unwrap();
        assert!(outcome.metrics["acknowledged_lost"].value + outcome.metrics["flushed_lost"].value > 0.0);
        outcome.metrics["flushed_lost"].value
    };
    assert_eq!(["2", "300"].map(|load_ms| flushed_lost(false, load_ms)), [0.0; 2]);
    // A battery that lets the disk keep data in its own cache is found out.
    assert!(flushed_lost(true, "300") > 0.0);
}

#[test]
fn a_set_goes_on_with_what_its_host_had_counted_and_only_as_the_set_that_it_was() {
    let striped = |stripe_bytes| -> Box<dyn Device> {
        Box::new(Raid0::new("set", vec![disk(), disk()], stripe_bytes).expect("it can be built"))
    };
    let ranges = |bytes| -> Box<dyn Device> {
        Box::new(Ranges::new("set", vec![(disk(), Some(bytes)), (disk(), None)]).expect("it can be built"))
    };
    let saved_by = |device: Box<dyn Device>| {
        let mut host = Host::new(device);
        host.send(Op::Write, 3, 8, false);
        host.pass(SECOND);
        let totals = host.device.plug_seen().unwrap().totals(host.now);
        host.device.plug().unwrap().cut(host.now);
        (host.device.plug_seen().unwrap().save(), host.device.counters().host, totals)
    };
    let load = |mut device: Box<dyn Device>, saved: &[u8]| -> Result<Box<dyn Device>, LoadError> {
        device.plug().unwrap().load(saved)?;
        device.plug().unwrap().restore(0);
        Ok(device)
    };
    let behind_adapter = |device| with_cache(device, Some(cache(true, true)));
    for wrap in [&|device| device, &behind_adapter as &dyn Fn(Box<dyn Device>) -> Box<dyn Device>] {
        for (own, other) in [(striped(8192), striped(16384)), (ranges(1 << 19), ranges(1 << 18))] {
            let (twin, third) = (own.snapshot().expect("it has one"), own.snapshot().expect("it has one"));
            let (saved, counted, totals) = saved_by(wrap(own));
            assert_eq!(load(wrap(other), &saved).err(), Some(LoadError::OtherSet));
            let heir = load(wrap(twin), &saved).unwrap();
            assert_eq!((heir.counters().host, counted.writes), (counted, 1));
            heir.check_books().unwrap();
            // One that was saved before counts what was noted since, and no power cycle more.
            let mut new = wrap(third.snapshot().expect("it has one"));
            new.plug().unwrap().cut(0);
            let mut heir = load(wrap(third), &new.plug_seen().unwrap().save()).unwrap();
            assert_eq!((heir.counters().host.writes, heir.plug_seen().unwrap().power_cycles()), (0, 2));
            let plug = heir.plug().unwrap();
            assert!(plug.count_at_least(&totals[1..]).is_err());
            // Those of the last member cannot be read: the first has not taken its own by then.
            let (before, mut damaged) = (plug.totals(0), totals.clone());
            *damaged.last_mut().expect("there are some") = 0xff;
            assert!(plug.check_totals(&totals).is_ok() && plug.check_totals(&damaged).is_err());
            assert!(plug.count_at_least(&damaged).is_err() && plug.totals(0) == before);
            plug.count_at_least(&totals).unwrap();
            assert!(plug.power_cycles() == 1 && plug.time_powered(0) >= SECOND);
            assert_eq!(heir.counters().host, counted);
            heir.check_books().unwrap();
        }
    }
}

/// An expression has paths of several files in it.
#[test]
fn an_adapter_is_saved_as_its_own_model_whatever_its_name_says_of_the_device() {
    let link = AdapterLinkSpec { name: "bus".to_owned(), megabytes_per_s: 200.0, command_us: 10.0 };
    let spec = AdapterSpec { kind: AdapterKind::Adapter, description: "plain".to_owned(), ports: 4, link, cache: None };
    let named = |name: &str, model: &str| Adapter::of_model(name, model, &spec, disk());
    let mut saved = named("plain(disk.toml)", "plain");
    let plug = saved.plug().expect("it has a plug");
    plug.cut(0);
    let state = plug.save();
    let load = |mut adapter: Adapter| adapter.plug().expect("it has a plug").load(&state);
    assert_eq!(load(named("plain(./disk.toml)", "plain")), Ok(()));
    assert_eq!(load(named("plain(disk.toml)", "other")), Err(LoadError::OtherDrive));
}
