//! What the cache does for a host, and what it must not do.

use ssdlab_core::{Cause, Nanos, Op, SECTOR_BYTES};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_disks::{DiskSpec, NotQueued};

use crate::support::{build, keep_busy, of_catalog, rest};

#[test]
fn the_disk_reads_on_after_a_read() {
    let mut disk = build(DiskSpec::plain());
    let first = keep_busy(&mut disk, 0, 1, 1, [Request::read(0, 0, 4096)].into_iter());
    // 128 KiB, a track and a bit, are read by then.
    let later = first[0].completed + 30_000_000;
    let ends = keep_busy(&mut disk, later, 1, 31, (1..32).map(|i| Request::read(i, i * 4096, 4096)));
    assert!(ends.iter().all(|c| c.latency() < 20_000), "{:?}", ends.iter().map(|c| c.latency()).max());
    assert_eq!(disk.counters().disk.expect("it is a disk").cache_hits, 31);
    // The one behind them was not.
    let beyond = keep_busy(&mut disk, later + 10_000_000, 1, 1, [Request::read(40, 200 << 10, 4096)].into_iter());
    assert!(beyond[0].breakdown.get(Cause::Transfer) > 0);
}

/// A host that pauses finds all of its stream read ahead: what is taken from the segment makes room for more. The heads have
/// stopped meanwhile, and go on where they did, a turn later at most.
#[test]
fn a_stream_with_pauses_never_waits_for_the_platters() {
    for pause in [1_000_000, 7_000_000, 23_456_789] {
        let mut disk = build(DiskSpec::plain());
        let first = keep_busy(&mut disk, 0, 1, 1, [Request::read(0, 0, 4096)].into_iter());
        let (mut now, mut slow) = (first[0].completed, 0);
        for i in 1..2000 {
            now += pause;
            let ends = keep_busy(&mut disk, now, 1, 1, [Request::read(i, i * 4096, 4096)].into_iter());
            now = ends[0].completed;
            slow += u32::from(ends[0].latency() > 20_000);
        }
        // 4 KiB take 0.2 ms to pass, and a pause at least five times that.
        assert_eq!(slow, 0, "with pauses of {pause} ns");
        assert_eq!(disk.counters().disk.expect("it is a disk").media_reads, 1);
    }
}

#[test]
fn data_on_their_way_under_the_heads_are_waited_for_not_sought() {
    let mut disk = build(DiskSpec::plain());
    let requests = (0..64).map(|i| Request::read(i, i * 4096, 4096));
    let ends = keep_busy(&mut disk, 0, 1, 64, requests);
    assert!(ends[1..].iter().all(|c| c.breakdown.get(Cause::Seek) + c.breakdown.get(Cause::Rotation) == 0));
    // 64 x 8 sectors of 400 a turn, and a track skew.
    let took = ends[63].completed - ends[0].completed;
    assert!(took.abs_diff(63 * 8 * 25_000 + 1_000_000) < 30_000, "{took} ns");
}

#[test]
fn cached_writes_are_answered_at_once_combined_and_read_back() {
    let mut disk = build(DiskSpec::plain());
    let ends = keep_busy(&mut disk, 0, 1, 32, (0..32).map(|i| Request::write(i, (i + 100) * 4096, 4096)));
    assert!(ends.iter().all(|c| c.latency() < 20_000));
    let read = keep_busy(&mut disk, ends[31].completed, 1, 1, [Request::read(99, 120 * 4096, 4096)].into_iter());
    assert!(read[0].latency() < 20_000, "it is in the write cache");
    rest(&mut disk);
    let counters = disk.counters().disk.expect("it is a disk");
    // The first was on its way before the second came; all others lie side by side in one segment.
    assert_eq!((counters.media_writes, counters.destaged_bytes), (2, 32 * 4096));
    assert_eq!(disk.unwritten().count(), 0);
}

#[test]
fn a_full_cache_makes_the_host_wait_and_says_so() {
    let mut disk = build(DiskSpec::plain());
    // Eight segments, the one being written among them: the ninth place has to wait.
    let ends = keep_busy(&mut disk, 0, 1, 9, (0..9).map(|i| Request::write(i, i * 100_000 * 512, 512)));
    assert!(ends[..8].iter().all(|c| c.latency() < 10_000));
    assert!(ends[8].breakdown.get(Cause::Buffer) > 100_000);
}

#[test]
fn a_flush_waits_for_all_that_is_cached_and_a_write_through_for_itself() {
    let mut disk = build(DiskSpec::plain());
    let ends = keep_busy(&mut disk, 0, 1, 4, (0..4).map(|i| Request::write(i, i * 100_000 * 512, 512)));
    assert!(disk.unwritten().count() > 0);
    let flush = keep_busy(&mut disk, ends[3].completed, 1, 1, [Request::flush(9)].into_iter());
    assert_eq!(disk.unwritten().count(), 0);
    assert_eq!(flush[0].breakdown.get(Cause::Destage), flush[0].latency());
    let now = flush[0].completed;
    let fua = keep_busy(&mut disk, now, 1, 1, [Request::write(10, 700_000 * 512, 512).with_fua(true)].into_iter());
    assert_eq!(disk.unwritten().count(), 0);
    assert!(fua[0].breakdown.get(Cause::Transfer) > 0);
    assert_eq!(keep_busy(&mut disk, fua[0].completed, 1, 1, [Request::flush(11)].into_iter())[0].latency(), 0);
}

/// Where the arm's time went, on its way and over the data.
fn on_the_arm(c: &Completion) -> Nanos {
    [Cause::Seek, Cause::Rotation, Cause::Transfer].into_iter().map(|cause| c.breakdown.get(cause)).sum()
}

#[test]
fn a_flush_is_behind_cached_writes_only_while_these_are_written() {
    let mut spec = DiskSpec::plain();
    spec.cache.read_ahead_kib = 0;
    let mut disk = build(spec);
    // Three reads near the arm are reached before the one cached write at the other end.
    let near = (0..3).map(|i| Request::read(i, i * 1000 * 512, 512));
    let all = near.chain([Request::write(3, 1_100_000 * 512, 512), Request::flush(4)]);
    let ends = keep_busy(&mut disk, 0, 5, 5, all);
    let flush = ends.iter().find(|c| c.op == Op::Flush).expect("it ended");
    let arm = disk.counters().disk.expect("it is a disk");
    let reads: u64 = ends.iter().filter(|c| c.op == Op::Read).map(on_the_arm).sum();
    let destaged = arm.seek_nanos + arm.rotation_nanos + arm.transfer_nanos - reads;
    assert!(reads > 10_000_000 && destaged > 5_000_000, "{reads} {destaged}");
    assert_eq!((flush.breakdown.get(Cause::Destage), flush.breakdown.get(Cause::Queue)), (destaged, reads));
    assert_eq!(flush.latency(), destaged + reads);
}

/// The read behind it is near, and would be reached first.
#[test]
fn a_flush_that_is_not_queued_goes_alone_and_says_so() {
    let ends = |rule| {
        let mut spec = DiskSpec::plain();
        spec.controller.not_queued = rule;
        let write = Request::write(1, 1_100_000 * 512, 512);
        let all = [Request::read(0, 0, 512), write, Request::flush(2), Request::read(3, 1000 * 512, 512)];
        keep_busy(&mut build(spec), 0, 4, 4, all.into_iter())
    };
    let alone = ends(NotQueued::Flush);
    assert_eq!(alone[2..].iter().map(|c| c.tag).collect::<Vec<_>>(), [2, 3]);
    let barred = |c: &Completion| c.breakdown.get(Cause::NotQueued);
    assert_eq!(barred(&alone[2]), alone[1].completed, "it waits for those before it");
    assert_eq!(barred(&alone[3]), alone[2].completed, "and those behind it for it");
    let queued = ends(NotQueued::Nothing);
    assert_eq!(queued.iter().map(|c| c.tag).collect::<Vec<_>>(), [1, 0, 3, 2]);
    assert!(queued.iter().all(|c| barred(c) == 0));
}

#[test]
fn a_write_through_waits_for_the_cached_write_under_way_and_then_for_all_of_itself() {
    let mut disk = build(DiskSpec::plain());
    keep_busy(&mut disk, 0, 1, 1, [Request::write(0, 1_000_000 * 512, 512)].into_iter());
    let before = disk.counters().disk.expect("it is a disk");
    // Of three segments.
    let write = Request::write(1, 0, 300 << 10).with_fua(true);
    let ends = keep_busy(&mut disk, 100_000, 1, 1, [write].into_iter());
    let arm = disk.counters().disk.expect("it is a disk");
    let all = arm.seek_nanos + arm.rotation_nanos + arm.transfer_nanos;
    assert_eq!((before.media_writes, arm.media_writes), (0, 4));
    // The arm began with the first at once, or nearly so, and was never at rest.
    let destage = ends[0].breakdown.get(Cause::Destage);
    assert!(destage > 1_000_000 && on_the_arm(&ends[0]) > 10_000_000, "{:?}", ends[0]);
    assert_eq!(destage + on_the_arm(&ends[0]), ends[0].latency());
    assert!(all.abs_diff(ends[0].latency() + 100_000) < 10_000, "{all} ns on the arm, {:?}", ends[0]);
}

/// While its data are on their way to the platters, later writes of the same sectors join an extent that is older than it is.
#[test]
fn a_write_through_does_not_wait_for_later_data_of_its_sectors() {
    for name in ["spinpoint-f1-1tb", "ultrastar-15k300-73gb", "travelstar-7k200-120gb"] {
        for delay in (0..30).map(|ms| ms * 1_000_000) {
            let mut disk = build(of_catalog(name));
            let far = Request::write(0, 20 << 30, 64 << 10);
            let older = Request::write(1, 20 * 512, 4096);
            let through = Request::write(2, 10 * 512, 1024).with_fua(true);
            [far, older, through].into_iter().for_each(|request| disk.submit(0, request).unwrap());
            let mut done = Vec::new();
            disk.advance(delay, &mut done);
            let between = Request::write(3, 12 * 512, 4096);
            let again = Request::write(4, 10 * 512, 1024);
            [between, again].into_iter().for_each(|request| disk.submit(delay, request).unwrap());
            while done.len() < 5 {
                let at =
                    disk.next_event().unwrap_or_else(|| panic!("{name}, {delay} ns: {} of 5 have ended", done.len()));
                disk.advance(at, &mut done);
            }
            disk.check_books().unwrap_or_else(|e| panic!("{name}, {delay} ns: {e}"));
        }
    }
}

#[test]
fn a_write_through_that_is_slower_on_the_link_than_under_the_heads_waits_for_the_link() {
    let mut spec = DiskSpec::plain();
    spec.controller.link_mb_per_s = 1;
    let mut disk = build(spec);
    let write = Request::write(0, 0, 64 << 10).with_fua(true);
    let ends = keep_busy(&mut disk, 0, 1, 1, [write].into_iter());
    assert_eq!(ends[0].latency(), 65_536_000);
    assert_eq!(ends[0].breakdown.get(Cause::Link), 65_536_000 - on_the_arm(&ends[0]), "{:?}", ends[0]);
}

/// The heads have stopped where they had read enough ahead, and the place comes by once a turn.
#[test]
fn what_is_read_on_after_a_pause_waits_for_the_platter_to_come_round() {
    let mut disk = build(DiskSpec::plain());
    let first = keep_busy(&mut disk, 0, 1, 1, [Request::read(0, 0, 4096)].into_iter());
    let now = first[0].completed + 30_000_000;
    let before = disk.counters().disk.expect("it is a disk");
    // What has been read ahead ends at sector 264. The first read makes room for eight more, which the second one is for.
    let requests = [Request::read(1, 4096, 4096), Request::read(2, 264 * 512, 4096)];
    let ends = keep_busy(&mut disk, now, 2, 2, requests.into_iter());
    let read = ends[1];
    let link = read.breakdown.get(Cause::Link);
    assert_eq!((read.tag, read.breakdown.get(Cause::Transfer)), (2, 8 * 25_000), "{read:?}");
    let rotation = read.breakdown.get(Cause::Rotation);
    assert!(rotation > 1_000_000 && rotation + 200_000 + link == read.latency(), "{read:?}");
    let arm = disk.counters().disk.expect("it is a disk");
    assert_eq!(arm.rotation_nanos - before.rotation_nanos, rotation);
}

#[test]
fn what_is_overwritten_is_read_from_the_platters_no_more() {
    let mut disk = build(DiskSpec::plain());
    let first = keep_busy(&mut disk, 0, 1, 1, [Request::read(0, 0, 4096)].into_iter());
    let write = keep_busy(&mut disk, first[0].completed, 1, 1, [Request::write(1, 2048, 512)].into_iter());
    let now = rest(&mut disk).max(write[0].completed);
    let again = keep_busy(&mut disk, now + 1_000_000, 1, 1, [Request::read(2, 0, 4096)].into_iter());
    assert!(again[0].breakdown.get(Cause::Transfer) > 0, "the segment holds old data");
}

/// A stream of reads at a deep queue: none of them is left behind at the end of a track.
#[test]
fn reads_that_adjoin_each_other_go_in_order() {
    for track_skew_us in [0.0, 1470.0] {
        let mut spec = DiskSpec::plain();
        spec.media.track_skew_us = track_skew_us;
        let turn = 60_000_000_000 / u64::from(spec.media.rotations_per_minute);
        let mut disk = build(spec);
        let reads = (0..400).map(|k| Request::read(k, k * 64 * 512, 64 * 512));
        let ends = keep_busy(&mut disk, 0, 16, 400, reads);
        let order: Vec<u64> = ends.iter().map(|read| read.tag).collect();
        assert!(order.is_sorted(), "{order:?}");
        let longest = ends.iter().map(|read| read.latency()).max().unwrap();
        assert!(longest < 17 * (turn + 64 * 25_000), "{longest} ns");
    }
}

/// A write comes while the heads read on towards its place, while they are on their way to a read of it, or while they are
/// elsewhere and a read before it is next: what they pass there is old by the time that it is written.
#[test]
fn what_the_heads_pass_while_a_write_waits_is_not_kept_beyond_it() {
    let mut spec = DiskSpec::plain();
    spec.cache.read_ahead_kib = 32;
    let read = |from: u64, sectors: u64| Request::read(0, from * 512, sectors * 512);
    let write = Request::write(1, 40 * 512, 512);
    let first = keep_busy(&mut build(spec.clone()), 0, 1, 1, [read(0, 8)].into_iter())[0].completed;
    for all in [
        vec![(0, read(0, 8)), (first + 200_000, write)],
        vec![(0, read(0, 128)), (1000, write)],
        vec![(0, read(600_000, 8)), (1000, write), (2000, read(0, 8))],
    ] {
        let (mut disk, mut done) = (build(spec.clone()), Vec::new());
        for &(at, request) in &all {
            disk.advance(at, &mut done);
            disk.submit(at, request).expect("a command within the disk");
        }
        disk.advance(1_000_000_000, &mut done);
        assert_eq!((done.len(), disk.unwritten().count()), (all.len(), 0));
        let again = keep_busy(&mut disk, 1_000_000_000, 1, 1, [read(40, 1)].into_iter());
        assert!(again[0].breakdown.get(Cause::Transfer) > 0, "the segment holds old data after {all:?}");
    }
}

#[test]
fn energy_is_that_of_arm_and_platters() {
    let mut spec = DiskSpec::plain();
    spec.power = Some(ssdlab_disks::PowerSpec { idle_mw: 5000.0, seek_mw: 8000.0, transfer_mw: 7000.0 });
    let mut disk = build(spec);
    let mut done = Vec::new();
    disk.advance(1_000_000_000, &mut done);
    assert_eq!(disk.counters().nanojoules(), 5_000_000_000);
    let end = keep_busy(&mut disk, 1_000_000_000, 1, 1, [Request::read(0, 1500 * 400 * SECTOR_BYTES, 512)].into_iter());
    disk.advance(2_000_000_000, &mut done);
    let counters = disk.counters();
    let arm = counters.disk.expect("it is a disk");
    assert_eq!(end[0].breakdown.get(Cause::Seek), arm.seek_nanos);
    let expected = 10_000_000_000 + 3 * arm.seek_nanos + 2 * arm.transfer_nanos;
    assert!(counters.nanojoules().abs_diff(expected) <= 1, "{} nJ against {expected} nJ", counters.nanojoules());
}
