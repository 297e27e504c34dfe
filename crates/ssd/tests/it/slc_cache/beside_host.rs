//! Folding and collection that go on beside the host, in dies that have nothing else to do.

use ssdlab_core::{Nanos, Op, Rng, UNIT_BYTES};
use ssdlab_device::Device;
use ssdlab_ftl::{Frontier, GcSpec, HostShare, SlcCachePolicy};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, Ssd};

use super::rig::{Run, cache, die, drive};

const SUPERBLOCK: u64 = 8 * 64 * 32_768;
/// The longest operation of a die of the rig: an erase, with its command.
const LONGEST: Nanos = 3_002_000;

fn with_cache(policy: SlcCachePolicy, sold: u64, beside_host: bool) -> DriveSpec {
    let plain = drive(Some(cache(policy)), sold);
    let gc = GcSpec { frontier: Frontier::Separate, background_beside_host: beside_host, ..plain.gc };
    DriveSpec { gc, ..plain }
}

/// Reads one after the other, so that the drive is never silent for the 50 ms after which it would fold. Returns the slowest.
fn read_on(run: &mut Run, reads: u32, within: u64) -> Nanos {
    let mut rng = Rng::new(1);
    let read = |_| {
        run.send(Op::Read, rng.below(within / UNIT_BYTES) * UNIT_BYTES, UNIT_BYTES);
        run.drain();
        run.answers().iter().map(|done| done.latency()).max().unwrap_or(0)
    };
    (0..reads).map(read).max().unwrap_or(0)
}

#[test]
fn a_cache_is_folded_while_the_host_reads_and_a_read_waits_for_one_operation_at_most() {
    for policy in [SlcCachePolicy::Dynamic, SlcCachePolicy::Fixed] {
        for beside_host in [false, true] {
            let mut run = Run::new(&with_cache(policy, 44, beside_host));
            let written = 3 * SUPERBLOCK;
            run.write(0, written);
            let quick = read_on(&mut run, 100, written);
            let slowest = read_on(&mut run, 30_000, written);
            if beside_host {
                assert!(run.in_slc(written) < SUPERBLOCK, "{policy:?}: {} bytes are cached", run.in_slc(written));
                assert!(run.folded() >= 2 * SUPERBLOCK);
                // A read of 4 KiB takes 62 us or 91 us by itself, and the channel may carry a row meanwhile.
                assert!(slowest < LONGEST + 500_000, "{policy:?}: {slowest} ns");
            } else {
                assert_eq!((run.folded(), run.in_slc(written) > 2 * SUPERBLOCK), (0, true), "{policy:?}");
                assert!(slowest < 120_000 && quick < 5_000_000, "{policy:?}: {quick} and {slowest} ns");
            }
            run.ssd.check_books().unwrap();
        }
    }
}

/// A drive without a cache, half of it rewritten at random, whose collector works towards eight free superblocks.
fn collecting(beside_host: bool) -> DriveSpec {
    let plain = drive(None, 50);
    let gc = GcSpec {
        frontier: Frontier::Separate,
        start_free_superblocks: 2,
        background_after_idle_ms: Some(50.0),
        background_free_superblocks: 8,
        background_beside_host: beside_host,
        ..plain.gc
    };
    DriveSpec { gc, ..plain }
}

fn plain_die() -> DieSpec {
    DieSpec { modes: Default::default(), ..die() }
}

fn overwrite(run: &mut Run, writes: u32, seed: u64) {
    let mut rng = Rng::new(seed);
    for _ in 0..writes {
        run.send(Op::Write, rng.below(run.capacity / UNIT_BYTES) * UNIT_BYTES, UNIT_BYTES);
    }
    run.drain();
}

#[test]
fn free_superblocks_are_collected_while_the_host_reads() {
    let free = |beside_host| {
        let mut run = Run::of(Ssd::new("small", &collecting(beside_host), &plain_die(), 1).unwrap());
        run.write(0, run.capacity);
        overwrite(&mut run, 60_000, 2);
        let capacity = run.capacity;
        read_on(&mut run, 100, capacity);
        let before = run.ssd.counters().flash.unwrap().block_erases;
        let slowest = read_on(&mut run, 40_000, capacity);
        run.ssd.check_books().unwrap();
        (run.ssd.counters().flash.unwrap().block_erases - before, slowest)
    };
    let (erased, slowest) = free(true);
    // Six superblocks at the least, of eight dies and two planes.
    assert!(erased >= 6 * 16, "{erased} blocks");
    assert!(slowest < LONGEST + 500_000, "{slowest} ns");
    // Victims that were chosen because space was needed.
    assert!(free(false).0 <= 2 * 16);
}

/// A host that never pauses leaves no die idle: what can wait then waits until it is needed, and the rate is what it is without.
#[test]
fn a_host_that_writes_without_a_pause_is_as_fast_as_ever() {
    for host_share in [HostShare::Unlimited, HostShare::Balanced] {
        let rate = |beside_host| {
            let plain = collecting(beside_host);
            let spec = DriveSpec { gc: GcSpec { host_share, ..plain.gc }, ..plain };
            let mut run = Run::of(Ssd::new("small", &spec, &plain_die(), 1).unwrap());
            run.write(0, run.capacity);
            overwrite(&mut run, 200_000, 2);
            let began = run.now();
            overwrite(&mut run, 100_000, 3);
            run.ssd.check_books().unwrap();
            1e14 / (run.now() - began) as f64
        };
        let (with, without) = (rate(true), rate(false));
        assert!((with / without - 1.0).abs() < 0.03, "{host_share:?}: {with:.0} and {without:.0} writes a second");
    }
}

#[test]
fn what_cannot_yield_is_refused() {
    let refused = |change: &dyn Fn(&mut DriveSpec)| {
        let mut spec = collecting(true);
        change(&mut spec);
        Ssd::new("small", &spec, &plain_die(), 1).expect_err("it is refused").to_string()
    };
    assert!(refused(&|spec| spec.gc.frontier = Frontier::Shared).contains("gc.background_beside_host"));
    assert!(refused(&|spec| spec.gc.host_share = HostShare::BetweenRounds).contains("gc.background_beside_host"));
}
