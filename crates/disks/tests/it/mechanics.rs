//! Arm and platters against closed forms.

use ssdlab_core::{Cause, Nanos, SECTOR_BYTES};
use ssdlab_device::{Device, Request, Stretch, Work};
use ssdlab_disks::{Disk, DiskSpec, TrackOrder};

use crate::support::{anywhere, build, keep_busy, of_catalog};

/// A SpinPoint F1 with all tracks alike, so that sectors drawn evenly are cylinders drawn evenly.
fn one_zone() -> DiskSpec {
    let mut spec = of_catalog("spinpoint-f1-1tb");
    let cylinders: u32 = spec.media.zone_cylinders.iter().sum();
    spec.media.zone_cylinders = vec![cylinders];
    spec.media.zone_sectors_per_track = vec![1000];
    spec.capacity_bytes = spec.media.sectors() * SECTOR_BYTES;
    spec
}

#[test]
fn a_random_read_waits_half_a_turn_and_seeks_as_long_as_the_curve_says() {
    const READS: usize = 400_000;
    for (rpm, average) in [(7200, 8.9), (15_000, 3.4)] {
        let mut spec = one_zone();
        spec.media.rotations_per_minute = rpm;
        spec.media.track_skew_us = 100.0;
        spec.media.cylinder_skew_us = 100.0;
        spec.seek.average_read_ms = average;
        let mut disk = build(spec);
        let requests = anywhere(&disk, 1, false);
        keep_busy(&mut disk, 0, 1, READS, requests);
        let counters = disk.counters().disk.expect("it is a disk");
        let per_read_ms = |nanos: u64| nanos as f64 / counters.media_reads as f64 / 1e6;
        let half_a_turn = 30_000.0 / f64::from(rpm);
        let (rotation, seek) = (per_read_ms(counters.rotation_nanos), per_read_ms(counters.seek_nanos));
        assert!((rotation / half_a_turn - 1.0).abs() < 0.005, "{rotation} ms against {half_a_turn} ms");
        assert!((seek / average - 1.0).abs() < 0.005, "{seek} ms against {average} ms");
    }
}

#[test]
fn writes_take_the_longer_settling_of_writes() {
    let mut spec = one_zone();
    spec.cache.write_back = false;
    let average = spec.seek.average_write_ms;
    let mut disk = build(spec);
    let requests = anywhere(&disk, 1, true);
    keep_busy(&mut disk, 0, 1, 200_000, requests);
    let counters = disk.counters().disk.expect("it is a disk");
    let seek = counters.seek_nanos as f64 / counters.media_writes as f64 / 1e6;
    assert!((seek / average - 1.0).abs() < 0.005, "{seek} ms against {average} ms");
}

/// The full stroke is met when it is stated, and the average with it.
#[test]
fn a_stated_full_stroke_bends_the_curve() {
    let mut spec = one_zone();
    spec.seek.full_stroke_read_ms = Some(17.5);
    let (last, turn) = (spec.capacity_bytes - SECTOR_BYTES, 60e3 / 7200.0);
    let mut disk = build(spec.clone());
    let ends = keep_busy(&mut disk, 0, 1, 2, [0, last].into_iter().map(|at| Request::read(0, at, SECTOR_BYTES)));
    let seek = ends[1].breakdown.get(Cause::Seek) as f64 / 1e6;
    assert!((seek - 17.5).abs() < 0.01, "{seek} ms from rim to hub");
    assert!(ends[1].breakdown.get(Cause::Rotation) as f64 / 1e6 < turn);
    let mut disk = build(spec);
    let requests = anywhere(&disk, 1, false);
    keep_busy(&mut disk, 0, 1, 200_000, requests);
    let counters = disk.counters().disk.expect("it is a disk");
    let mean = counters.seek_nanos as f64 / counters.media_reads as f64 / 1e6;
    assert!((mean / 8.9 - 1.0).abs() < 0.005, "{mean} ms on average");
}

/// Time in which whole cylinders pass, from the first sector to the last: turns, and the skews between them.
fn pass(spec: &DiskSpec, zone: usize, cylinders: u64, write: bool) -> (Nanos, f64) {
    let media = &spec.media;
    let per_cylinder = |zone: usize| u64::from(media.heads * media.zone_sectors_per_track[zone]);
    let first: u64 = (0..zone).map(|z| per_cylinder(z) * u64::from(media.zone_cylinders[z])).sum();
    let (at, length) = (first * SECTOR_BYTES, cylinders * per_cylinder(zone) * SECTOR_BYTES);
    let request = if write { Request::write(0, at, length).with_fua(true) } else { Request::read(0, at, length) };
    let mut disk = build(spec.clone());
    let before = disk.counters().disk.expect("it is a disk").transfer_nanos;
    let end = keep_busy(&mut disk, 0, 1, 1, [request].into_iter());
    let heads = u64::from(media.heads);
    let turns = cylinders as f64 * heads as f64 * (60e9 / f64::from(media.rotations_per_minute));
    let skews = (cylinders * (heads - 1)) as f64 * media.track_skew_us * 1e3
        + (cylinders - 1) as f64 * media.cylinder_skew_us * 1e3;
    let transfer = match write {
        true => disk.counters().disk.expect("it is a disk").transfer_nanos - before,
        false => end[0].breakdown.get(Cause::Transfer),
    };
    (transfer, turns + skews)
}

#[test]
fn every_zone_passes_at_its_rate_to_the_nanosecond() {
    for name in ["spinpoint-f1-1tb", "ultrastar-15k300-73gb", "travelstar-7k200-120gb", "raptor-wd360gd-36gb"] {
        let spec = of_catalog(name);
        for zone in 0..spec.media.zone_cylinders.len() {
            let (measured, exact) = pass(&spec, zone, 10, false);
            let tracks = f64::from(spec.media.heads) * 10.0;
            // A turn is whole nanoseconds, a skew up to two more.
            assert!(
                (measured as f64 - exact).abs() <= 3.0 * tracks,
                "{name}, zone {zone}: {measured} ns against {exact} ns"
            );
        }
    }
}

#[test]
fn writes_pass_at_the_rate_of_reads_when_the_skews_leave_time_to_settle() {
    let mut spec = DiskSpec::plain();
    spec.cache.segment_kib = 4096;
    let (measured, exact) = pass(&spec, 0, 10, true);
    assert!((measured as f64 - exact).abs() <= 60.0, "{measured} ns against {exact} ns");
    // 0.5 ms to settle do not fit into a skew of 0.4 ms: each track costs another turn.
    spec.media.track_skew_us = 400.0;
    let (measured, exact) = pass(&spec, 0, 10, false);
    assert!((measured as f64 - exact - 10.0 * 1e7).abs() <= 60.0, "{measured} ns against {exact} ns and ten turns");
}

#[test]
fn a_serpentine_disk_loses_a_cylinder_skew_from_track_to_track() {
    let mut spec = DiskSpec::plain();
    spec.media.track_order = TrackOrder::Serpentine;
    spec.media.serpentine_cylinders = 50;
    spec.cache.read_ahead_kib = 0;
    let mut disk = build(spec);
    // 50 tracks inwards on the first surface, then 50 back outwards on the second.
    let request = Request::read(0, 0, 100 * 400 * SECTOR_BYTES);
    let end = keep_busy(&mut disk, 0, 1, 1, [request].into_iter());
    let transfer = end[0].breakdown.get(Cause::Transfer);
    let exact = 100 * 10_000_000 + 98 * 1_500_000 + 1_000_000;
    assert!(transfer.abs_diff(exact) <= 300, "{transfer} ns against {exact} ns");
    // The arm is back at the rim: the next read of sector 0 needs no seek but a head switch.
    let end = keep_busy(&mut disk, 3_000_000_000, 1, 1, [Request::read(1, 0, SECTOR_BYTES)].into_iter());
    assert_eq!(end[0].breakdown.get(Cause::Seek), 500_000);
}

#[test]
fn one_command_after_the_other_keeps_the_rate_of_the_platters() {
    let spec = of_catalog("ultrastar-15k300-73gb");
    let media = &spec.media;
    let turn = 60e9 / f64::from(media.rotations_per_minute);
    let heads = f64::from(media.heads);
    let cylinder = heads * turn + (heads - 1.0) * media.track_skew_us * 1e3 + media.cylinder_skew_us * 1e3;
    let rate = heads * f64::from(media.zone_sectors_per_track[0]) * 512.0 / cylinder;
    for depth in [1, 4] {
        let mut disk = build(spec.clone());
        let requests = (0..4000).map(|i| Request::read(i, i * 65_536, 65_536));
        let ends = keep_busy(&mut disk, 0, depth, 4000, requests);
        let (first, last) = (&ends[100], &ends[3999]);
        let measured = 3899.0 * 65_536.0 / (last.completed - first.completed) as f64;
        assert!((measured / rate - 1.0).abs() < 0.002, "depth {depth}: {measured} GB/s against {rate} GB/s");
    }
}

/// What a request waits for may have begun before anybody watches.
#[test]
fn what_the_arm_is_at_when_recording_begins_is_noted() {
    for write in [false, true] {
        let mut disk = build(one_zone());
        disk.recorder().expect("a disk tells").record(1 << 16);
        let mut requests = anywhere(&disk, 1, write);
        for tag in 0..300 {
            let request = requests.next().expect("there is no end of them");
            disk.submit(tag * 1_000_000, Request { tag, ..request }).unwrap();
            let mut ended = Vec::new();
            disk.advance((tag + 1) * 1_000_000, &mut ended);
        }
        let now = 300 * 1_000_000;
        let mut late = disk.clone();
        late.recorder().expect("as before").record(1 << 16);
        let arm = |disk: &mut Disk| {
            let timeline = disk.recorder().expect("as before").recorded_since(now);
            timeline.tracks.into_iter().find(|track| track.part == "arm").expect("it is at work").stretches
        };
        assert!(!arm(&mut disk).is_empty());
        assert_eq!(arm(&mut disk), arm(&mut late), "writes: {write}");
        assert_eq!(late.recorder().expect("as before").recorded_since(0).complete_from, now);
    }
}

#[test]
fn nothing_that_is_noted_of_the_arm_goes_on_behind_a_power_cut() {
    for at in 1..40 {
        let mut disk = build(one_zone());
        disk.recorder().expect("a disk tells").record(1 << 16);
        let requests = anywhere(&disk, 1, false);
        for request in requests.take(20) {
            disk.submit(0, request).unwrap();
        }
        let now = at * 3_000_000;
        disk.advance(now, &mut Vec::new());
        disk.plug().expect("a disk has one").cut(now);
        let arm = disk.recorder().expect("as before").recorded_since(0).tracks.pop().expect("it was at work");
        let last = arm.stretches.last().expect("as above");
        assert_eq!(last.to, now, "it was at work until then");
        assert!(arm.stretches.iter().all(|s| s.from < s.to && s.to <= now));
    }
}

/// What the arm is noted to have done, against what is counted; reading ahead aside, which counts only what it turned out to be.
#[test]
fn what_the_arm_does_is_noted_as_it_is_counted() {
    for write in [false, true] {
        let mut disk = build(one_zone());
        disk.recorder().expect("a disk tells").record(1 << 16);
        let requests = anywhere(&disk, 1, write);
        let done = keep_busy(&mut disk, 0, 4, 500, requests.take(500));
        crate::support::rest(&mut disk);
        let counters = disk.counters().disk.expect("it is a disk");
        let timeline = disk.recorder().expect("as before").recorded_since(0);
        let [commands, arm] = &timeline.tracks[..] else { panic!("{:?}", timeline.tracks) };
        assert_eq!((commands.part.as_str(), arm.part.as_str()), ("commands", "arm"));
        assert_eq!(commands.stretches.len(), done.len());
        assert!(arm.stretches.windows(2).all(|pair| pair[0].to <= pair[1].from), "the arm is in two places");
        let spent = |name: &str| -> Nanos {
            let named = |s: &&Stretch| matches!(&s.work, Work::Other { what, .. } if what.starts_with(name));
            arm.stretches.iter().filter(named).map(|s| s.to - s.from).sum()
        };
        assert_eq!(spent("seek"), counters.seek_nanos, "writes: {write}");
        assert_eq!(spent("rotation"), counters.rotation_nanos, "writes: {write}");
        assert_eq!(spent("transfer") + spent("read ahead"), counters.transfer_nanos, "writes: {write}");
    }
}
