//! Disks that cannot be built are refused by the key that is wrong.

use ssdlab_disks::{Disk, DiskSpec, TrackOrder};

fn refused(change: impl Fn(&mut DiskSpec)) -> (String, String) {
    let mut spec = DiskSpec::plain();
    change(&mut spec);
    let error = Disk::new("d", spec, 1).expect_err("it cannot be built");
    (error.key, error.problem)
}

#[test]
fn every_rule_names_its_key() {
    let key = |change: fn(&mut DiskSpec)| refused(change).0;
    assert_eq!(key(|s| s.media.zone_sectors_per_track = vec![400]), "media.zone_sectors_per_track");
    assert_eq!(key(|s| s.capacity_bytes += 512), "capacity_bytes");
    assert_eq!(key(|s| s.capacity_bytes = 100), "capacity_bytes");
    assert_eq!(key(|s| s.media.zone_cylinders = vec![3, 4]), "media.zone_cylinders");
    assert_eq!(key(|s| s.media.heads = 0), "media.heads");
    let serpentine = |s: &mut DiskSpec| {
        s.media.track_order = TrackOrder::Serpentine;
        s.media.serpentine_cylinders = s.media.zone_cylinders.iter().sum::<u32>() + 1;
    };
    assert_eq!(refused(serpentine).0, "media.serpentine_cylinders");
    assert_eq!(key(|s| s.media.track_skew_us = 10_000.0), "media.track_skew_us");
    assert_eq!(key(|s| s.seek.average_read_ms = 0.5), "seek.average_read_ms");
    assert_eq!(key(|s| s.seek.single_track_write_ms = 0.5), "seek.single_track_write_ms");
    assert_eq!(key(|s| s.seek.single_track_write_ms = s.seek.average_write_ms - 0.001), "seek.single_track_write_ms");
    assert_eq!(key(|s| s.seek.full_stroke_read_ms = Some(9.0)), "seek.full_stroke_read_ms");
    assert_eq!(key(|s| s.seek.full_stroke_read_ms = Some(30.0)), "seek.full_stroke_read_ms");
    assert_eq!(key(|s| s.seek.average_write_ms = 9.0), "seek.average_write_ms");
    assert_eq!(key(|s| s.seek.curve_distance_ppm = vec![0, 500_000]), "seek.curve_distance_ppm");
    assert_eq!(key(|s| s.seek.curve_time_ms = vec![1.0, 1.0]), "seek.curve_time_ms");
    assert_eq!(key(|s| s.seek.curve_time_ms = vec![1.0]), "seek.curve_time_ms");
    assert_eq!(key(|s| s.cache.read_ahead_kib = 129), "cache.read_ahead_kib");
    assert_eq!(key(|s| s.controller.queue_depth = 0), "controller.queue_depth");
}

#[test]
fn messages_say_what_is_wrong() {
    let (_, problem) = refused(|s| s.capacity_bytes += 512);
    assert_eq!(problem, "1200001 sectors on zones that hold 1200000");
}

#[test]
fn a_serpentine_disk_may_stay_on_each_head_for_all_cylinders() {
    let mut spec = DiskSpec::plain();
    spec.capacity_bytes = 8 << 12;
    spec.media.track_order = TrackOrder::Serpentine;
    spec.media.heads = 2;
    (spec.media.zone_cylinders, spec.media.zone_sectors_per_track) = (vec![8], vec![1000]);
    spec.media.serpentine_cylinders = 8;
    assert!(Disk::new("d", spec, 1).is_ok());
}
