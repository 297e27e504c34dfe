//! What a disk has on its platters after its plug was pulled.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ssdlab_core::{MILLISECOND, Nanos, Op, Rng, SECOND};
use ssdlab_device::{Completion, Device, Held, LoadError, Plug, Request};
use ssdlab_disks::{Disk, DiskSpec, SavedDisk};
use ssdlab_testkit::altered;

use crate::support::{build, rest};

fn after(disk: &mut Disk, now: Nanos) -> Nanos {
    disk.cut(now);
    disk.restore(now + SECOND)
}

fn held(disk: &Disk, units: std::ops::Range<u64>) -> Vec<Held> {
    units.map(|unit| disk.held(unit)).collect()
}

#[test]
fn the_write_cache_is_lost_and_what_was_flushed_is_not() {
    let mut disk = build(DiskSpec::plain());
    let mut done = Vec::new();
    disk.submit(0, Request::write(1, 0, 8192)).unwrap();
    disk.submit(0, Request::flush(2)).unwrap();
    let now = rest(&mut disk);
    disk.submit(now, Request::write(3, 4096, 8192)).unwrap();
    let now = disk.advance_to_completion(Nanos::MAX, &mut done);
    assert_eq!(done.last().map(|c| c.tag), Some(3), "it is answered from the cache");
    assert_eq!(held(&disk, 0..4), [Held::Write(1), Held::Write(2), Held::Write(1), Held::Nothing]);
    let ready = after(&mut disk, now);
    assert_eq!(held(&disk, 0..4), [Held::Write(1), Held::Write(1), Held::Nothing, Held::Nothing]);
    assert_eq!((ready, disk.unclean_shutdowns(), disk.power_cycles()), (now + 11 * SECOND, 1, 2));
    disk.submit(now + SECOND, Request::read(4, 0, 4096)).unwrap();
    done.clear();
    assert!(disk.advance_to_completion(Nanos::MAX, &mut done) >= ready, "a command waits until the platters turn");
    disk.check_books().unwrap();
}

#[test]
fn a_write_through_is_kept_and_so_is_everything_after_stand_by() {
    for write_back in [true, false] {
        let mut spec = DiskSpec::plain();
        spec.cache.write_back = write_back;
        let mut disk = build(spec);
        let mut done = Vec::new();
        disk.submit(0, Request::write(1, 40960, 4096).with_fua(write_back)).unwrap();
        let now = disk.advance_to_completion(Nanos::MAX, &mut done);
        let now = after(&mut disk, now);
        assert_eq!(disk.held(10), Held::Write(1));
        disk.submit(now, Request::write(2, 40960, 4096)).unwrap();
        let now = disk.advance_to_completion(Nanos::MAX, &mut done);
        let off = disk.stand_by(now);
        disk.cut(off);
        assert_eq!(disk.unclean_shutdowns(), 1);
        disk.restore(off);
        assert_eq!(disk.held(10), Held::Write(2));
    }
}

#[test]
fn the_sectors_that_the_head_has_passed_are_new_and_the_others_old() {
    let mut disk = build(DiskSpec::plain());
    disk.submit(0, Request::write(1, 0, 64 << 10)).unwrap();
    let end = rest(&mut disk);
    disk.submit(end, Request::write(2, 0, 64 << 10)).unwrap();
    let mut copy = disk.clone();
    let end = rest(&mut copy);
    // 400 sectors in 10 ms: 40 of the 128 have passed a millisecond after the first, and one is under the head.
    let first = end - 3_200_000;
    disk.advance(first + 1_000_010, &mut Vec::new());
    after(&mut disk, first + 1_000_010);
    assert_eq!(held(&disk, 0..5), [Held::Write(2); 5]);
    let sectors = disk.sectors(5);
    assert_eq!(disk.held(5), Held::Mixed(2));
    assert_eq!((sectors[0], sectors[1]), (Held::Write(2), Held::Write(1)));
    assert_eq!(held(&disk, 6..16), [Held::Write(1); 10]);
    // From the next cut on it counts as what it is mixed of last.
    let now = first + 60 * SECOND;
    disk.advance(now, &mut Vec::new());
    after(&mut disk, now);
    assert_eq!(disk.held(5), Held::Write(2));
}

/// Energy is drawn by what the arm did, and wear is what was written.
#[test]
fn what_the_arm_was_at_counts_as_far_as_it_came() {
    for (name, request) in
        [("read", Request::read(1, 1 << 20, 64 << 10)), ("write", Request::write(1, 1 << 20, 64 << 10).with_fua(true))]
    {
        let mut disk = build(DiskSpec::plain());
        disk.submit(0, request).unwrap();
        let mut whole = disk.clone();
        whole.advance_to_completion(Nanos::MAX, &mut Vec::new());
        let whole = whole.counters().disk.expect("it is a disk");
        let busy = |d: &ssdlab_device::DiskCounters| d.seek_nanos + d.rotation_nanos + d.transfer_nanos;
        let parts = [whole.seek_nanos, whole.rotation_nanos, whole.transfer_nanos];
        assert!(parts.iter().all(|&part| part > 0), "{name}: {parts:?}");
        let (step, mut before, mut went_on) = (100_000, 0, 0);
        for now in (step..busy(&whole)).step_by(step as usize) {
            let mut cut = disk.clone();
            cut.advance(now, &mut Vec::new());
            cut.cut(now);
            let found = cut.counters().disk.expect("it is a disk");
            let all = busy(&found);
            went_on += u64::from(all == before + step);
            assert!(all == before + step || before == 0 && all < step, "{name}: {all} ns by {now}, {before} before");
            before = all;
            assert!(
                found.rotation_nanos == 0 || found.seek_nanos == whole.seek_nanos,
                "{name}: it turns before it seeks"
            );
            assert_eq!(found.seeks, u64::from(found.seek_nanos == whole.seek_nanos), "{name} at {now}");
            cut.restore(now);
            let first = (1 << 20) / 4096;
            let sectors = (first..first + 16).flat_map(|unit| cut.sectors(unit));
            let written = sectors.filter(|&held| held == Held::Write(1)).count() as u64;
            assert_eq!(found.destaged_bytes, written * 512, "{name} at {now}");
            cut.check_books().unwrap();
        }
        assert!(went_on * step > busy(&whole) * 9 / 10, "{name}");
    }
}

#[test]
fn what_was_saved_comes_back_on_a_disk_of_the_same_kind_only() {
    let mut disk = build(DiskSpec::plain());
    disk.submit(0, Request::write(1, 0, 1 << 20)).unwrap();
    let now = rest(&mut disk);
    disk.cut(now);
    let saved = disk.save();
    let mut heir = build(DiskSpec::plain());
    heir.load(&saved).unwrap();
    assert!(!heir.has_power());
    heir.restore(0);
    assert_eq!(held(&heir, 255..257), [Held::Write(1), Held::Nothing]);
    assert_eq!((heir.unclean_shutdowns(), heir.power_cycles(), heir.time_powered(0)), (1, 2, now));
    let other = Disk::new("d", DiskSpec::plain(), 2).unwrap().load(&saved);
    assert_eq!(other, Err(LoadError::Seed { found: 1, own: 2 }));
    assert_eq!(
        build(DiskSpec { description: String::new(), ..DiskSpec::plain() }).load(&saved),
        Err(LoadError::OtherDrive)
    );
    assert_eq!(build(DiskSpec::plain()).load(&saved[..saved.len() - 1]), Err(LoadError::Damaged));
}

/// A disk that cuts have left with units of several writes, without power.
fn battered(seed: u64) -> (Disk, DiskSpec) {
    let mut rng = Rng::new(seed).stream("battered");
    let mut spec = DiskSpec::plain();
    spec.cache.read_ahead_kib = 0;
    let mut host = Host::new(spec.clone());
    for _ in 0..6 {
        for _ in 0..20 {
            host.send(Op::Write, rng.below(UNITS as u64 * 8 - 24), 1 + rng.below(23), false);
            host.pass(host.now + rng.below(20 * MILLISECOND), true);
        }
        host.cut(SECOND);
    }
    // While it starts, so that what the last cut has mixed stays so.
    host.disk.cut(host.now - MILLISECOND);
    (host.disk, spec)
}

/// Whatever value of a saved disk is another one: it is refused, or makes a disk that works and keeps what is flushed.
#[test]
fn nonsense_with_a_right_form_is_refused_or_makes_a_sound_disk() {
    let (mut refused, mut taken) = (0, 0);
    for seed in 0..8 {
        let (disk, spec) = battered(seed);
        let saved = disk.save();
        let mut rng = Rng::new(seed).stream("nonsense");
        for _ in 0..60 {
            let Some(spoiled) = altered::<SavedDisk>(&saved, &mut rng, &mut |_, _, _| false) else { continue };
            let mut heir = Disk::new("d", spec.clone(), 3).expect("it can be built");
            if heir.load(&spoiled).is_err() {
                refused += 1;
                continue;
            }
            taken += 1;
            let ready = heir.restore(0);
            let units = 0..heir.info().capacity_bytes / 4096;
            units.for_each(|unit| _ = (heir.held(unit), heir.sectors(unit)));
            for tag in 0..20 {
                let offset = rng.below(UNITS as u64 * 8 - 24) * 512;
                heir.submit(ready, Request::write(tag, offset, 512 * (1 + rng.below(23))))
                    .expect("it is within the disk");
            }
            heir.submit(ready, Request::flush(99)).expect("a flush");
            let (mut done, mut now) = (Vec::new(), ready);
            while done.len() < 21 {
                now = heir.advance_to_completion(Nanos::MAX / 2, &mut done);
            }
            let before = held(&heir, 0..UNITS as u64);
            heir.cut(now);
            heir.restore(now + 1);
            let as_one = |held: &Held| match held {
                Held::Mixed(number) => Held::Write(*number),
                held => *held,
            };
            assert!(before.iter().map(as_one).eq(held(&heir, 0..UNITS as u64).iter().map(as_one)), "seed {seed}");
            heir.check_books().unwrap_or_else(|e| panic!("{e}"));
            assert!(heir.time_powered(now) < Nanos::MAX / 2 && heir.counters().host.writes >= 20);
        }
    }
    assert!(refused > 80 && taken > 80, "{refused} refused, {taken} taken");
}

/// A unit beyond the disk's last, one that was never written, and one of which nothing is there of its newest write.
#[test]
fn units_of_several_writes_that_cannot_be_are_refused() {
    let tree = |saved: &[u8]| serde_json::to_value(postcard::from_bytes::<SavedDisk>(saved).unwrap()).unwrap();
    let (disk, spec, mut state) = (0..100)
        .map(battered)
        .map(|(disk, spec)| (tree(&disk.save()), disk, spec))
        .find_map(|(state, disk, spec)| (!state["mixed"].as_array()?.is_empty()).then_some((disk, spec, state)))
        .expect("some unit is mixed");
    let unit = state["mixed"][0][0].as_u64().expect("a number");
    let load = |state: &serde_json::Value| {
        let state: SavedDisk = serde_json::from_value(state.clone()).unwrap();
        Disk::new("d", spec.clone(), 3).unwrap().load(&postcard::to_stdvec(&state).unwrap())
    };
    assert_eq!(load(&state), Ok(()));
    let units = disk.info().capacity_bytes / 4096;
    let whole = state.clone();
    for (unit, sectors) in [(units, None), (units - 1, None), (unit, Some(0))] {
        state["mixed"][0][0] = unit.into();
        if let Some(number) = sectors {
            state["mixed"][0][1] = vec![number; 8].into();
        }
        assert_eq!(load(&state), Err(LoadError::Damaged), "unit {unit}");
        state = whole.clone();
    }
}

/// A host that keeps, of every sector, which of its writes it may hold.
struct Host {
    disk: Disk,
    now: Nanos,
    /// By sector: numbers of the commands that have written it, in order, and how many of them were answered and flushed.
    writes: Vec<(Vec<u64>, usize, usize)>,
    /// By unit: commands that have written any of it since it was as one, and the number before the first of them.
    units: Vec<(u8, Vec<u64>)>,
    in_flight: Vec<Request>,
    flushes: Vec<(u64, Vec<usize>)>,
    next: u64,
}

const UNITS: usize = 64;

impl Host {
    fn new(spec: DiskSpec) -> Host {
        let disk = Disk::new("d", spec, 3).expect("it can be built");
        let (writes, units) = (vec![(vec![], 0, 0); UNITS * 8], vec![(0, vec![]); UNITS]);
        Host { disk, now: 0, writes, units, in_flight: Vec::new(), flushes: Vec::new(), next: 1 }
    }

    fn send(&mut self, op: Op, first: u64, sectors: u64, fua: bool) {
        let touched = first as usize..(first + sectors) as usize;
        let busy = |r: &Request| {
            r.op == Op::Write
                && r.offset_bytes / 4096 <= (first + sectors - 1) / 8
                && first / 8 <= (r.offset_bytes + r.length_bytes - 1) / 4096
        };
        if op == Op::Write && self.in_flight.iter().any(busy) {
            return;
        }
        let tag = self.next;
        self.next += 1;
        let request = match op {
            Op::Flush => {
                self.flushes.push((tag, self.writes.iter().map(|w| w.1).collect()));
                Request::flush(tag)
            }
            _ => {
                self.writes[touched.clone()].iter_mut().for_each(|w| w.0.push(tag));
                (touched.start / 8..touched.end.div_ceil(8)).for_each(|unit| self.units[unit].1.push(tag));
                Request::write(tag, first * 512, sectors * 512).with_fua(fua)
            }
        };
        self.disk.submit(self.now, request).expect("it is within the disk");
        self.in_flight.push(request);
    }

    fn pass(&mut self, to: Nanos, write_back: bool) {
        let mut done: Vec<Completion> = Vec::new();
        self.disk.advance(to, &mut done);
        self.now = to;
        for c in done {
            let k = self.in_flight.iter().position(|r| r.tag == c.tag).expect("it was in flight");
            let request = self.in_flight.remove(k);
            if request.op == Op::Flush {
                let k = self.flushes.iter().position(|f| f.0 == c.tag).expect("it was sent");
                let covered = self.flushes.remove(k).1;
                self.writes.iter_mut().zip(covered).for_each(|(w, covered)| w.2 = w.2.max(covered));
                continue;
            }
            let first = (request.offset_bytes / 512) as usize;
            for w in &mut self.writes[first..first + (request.length_bytes / 512) as usize] {
                w.1 = w.0.len();
                if request.fua || !write_back {
                    w.2 = w.1;
                }
            }
        }
    }

    /// Every sector holds its last flushed write or a later one; and what a unit is said to hold fits its sectors.
    fn cut(&mut self, off: Nanos) {
        self.disk.cut(self.now);
        self.now += off;
        self.now = self.disk.restore(self.now);
        self.in_flight.clear();
        self.flushes.clear();
        for unit in 0..UNITS {
            let (before, commands) = std::mem::take(&mut self.units[unit]);
            let number = |k: usize| ((usize::from(before) + 254 + k) % 255 + 1) as u8;
            let of = |held: Held| match held {
                Held::Nothing => 0,
                Held::Write(found) => (0..=commands.len())
                    .find(|&k| if k == 0 { found == before } else { number(k) == found })
                    .expect("a write of it"),
                other => panic!("{other:?}"),
            };
            let held = self.disk.held(unit as u64);
            let sectors = self.disk.sectors(unit as u64).map(of);
            for (k, w) in self.writes[unit * 8..unit * 8 + 8].iter_mut().enumerate() {
                // The last write of the sector among those of the unit that it holds.
                let there = commands[..sectors[k]].iter().rev().find(|c| w.0.contains(c));
                let least = w.2.checked_sub(1).map(|last| w.0[last]);
                assert!(there.copied() >= least, "unit {unit} sector {k}: {there:?}, and {least:?} was promised");
                *w = (vec![], 0, 0);
            }
            self.units[unit].0 = match held {
                Held::Nothing => 0,
                Held::Write(number) | Held::Mixed(number) => number,
                Held::Unreadable => panic!("unit {unit} cannot be read"),
            };
            if let Held::Mixed(_) = held {
                assert!(sectors.iter().any(|&k| k != sectors[0]), "unit {unit} is as one");
            }
        }
        self.disk.check_books().unwrap_or_else(|e| panic!("{e}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(14), failure_persistence: None,
        ..ProptestConfig::with_cases(150) })]

    #[test]
    fn a_flushed_sector_is_never_lost(seed in any::<u64>()) {
        let mut rng = Rng::new(seed).stream("cuts");
        let mut spec = DiskSpec::plain();
        spec.cache.write_back = !rng.chance(1, 6);
        spec.cache.write_segments = 1 + rng.below(6) as u32;
        spec.cache.segment_kib = 4 + rng.below(60) as u32;
        spec.cache.read_ahead_kib = 0;
        spec.controller.queue_depth = 1 + rng.below(8) as u32;
        spec.controller.command_us = 10.0;
        spec.media.spin_up_ms = 5.0;
        let write_back = spec.cache.write_back;
        let mut host = Host::new(spec);
        for _ in 0..12 {
            for _ in 0..1 + rng.below(60) {
                let sectors = [1, 3, 8, 24, 200][rng.below(5) as usize];
                let first = rng.below(UNITS as u64 * 8 - sectors);
                let first = if rng.chance(1, 2) { first / 8 * 8 } else { first };
                let op = if rng.chance(1, 8) { Op::Flush } else { Op::Write };
                host.send(op, first, sectors, rng.chance(1, 10));
                let pause = [0, 20_000, MILLISECOND, 20 * MILLISECOND][rng.below(4) as usize];
                host.pass(host.now + rng.below(pause + 1), write_back);
            }
            host.cut(rng.below(SECOND));
            if rng.chance(1, 4) {
                // While it starts.
                host.now -= MILLISECOND;
                let before = held(&host.disk, 0..UNITS as u64);
                host.disk.cut(host.now);
                host.now = host.disk.restore(host.now);
                prop_assert_eq!(before, held(&host.disk, 0..UNITS as u64));
            }
        }
    }
}
