//! What the cache does for a host, and what it must not do.

use ssdlab_core::{Cause, SECTOR_BYTES};
use ssdlab_device::{Device, Request};
use ssdlab_disks::DiskSpec;

use crate::support::{build, keep_busy, rest};

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

#[test]
fn what_is_overwritten_is_read_from_the_platters_no_more() {
    let mut disk = build(DiskSpec::plain());
    let first = keep_busy(&mut disk, 0, 1, 1, [Request::read(0, 0, 4096)].into_iter());
    let write = keep_busy(&mut disk, first[0].completed, 1, 1, [Request::write(1, 2048, 512)].into_iter());
    let now = rest(&mut disk).max(write[0].completed);
    let again = keep_busy(&mut disk, now + 1_000_000, 1, 1, [Request::read(2, 0, 4096)].into_iter());
    assert!(again[0].breakdown.get(Cause::Transfer) > 0, "the segment holds old data");
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
