//! Caches for short writes: what goes into them, what goes past them, and that both meet in one superblock.

use std::collections::BTreeSet;

use ssdlab_core::{Op, Rng, SECOND, UNIT_BYTES};
use ssdlab_device::Device;
use ssdlab_ftl::{Place, SlcCachePolicy, SlcCacheSpec, Translation, WhenFull};
use ssdlab_nand::{BlockId, DieSpec, Geometry, LogicalPage};
use ssdlab_ssd::{DriveSpec, Ssd};

use super::rig::{BLOCK, Run, cache, die, drive};
use super::{assert_close, rate_of_dies};

const KIB: u64 = 1024;
/// Eight dies' worth of blocks in the die's own mode.
const SUPERBLOCK: u64 = 8 * 64 * 32_768;

/// A cache for writes of up to 16 KiB, which nothing leaves in idle time.
fn short_only(policy: SlcCachePolicy, when_full: WhenFull) -> SlcCacheSpec {
    SlcCacheSpec { largest_write_kib: Some(16), when_full: Some(when_full), fold_after_idle_ms: None, ..cache(policy) }
}

fn drive_with(policy: SlcCachePolicy, when_full: WhenFull) -> DriveSpec {
    drive(Some(short_only(policy, when_full)), 40)
}

#[test]
fn short_writes_go_into_the_cache_and_long_ones_past_it() {
    for policy in [SlcCachePolicy::Fixed, SlcCachePolicy::OnDie] {
        let mut run = Run::new(&drive_with(policy, WhenFull::Direct));
        for (k, (length, cached)) in
            [(4 * KIB, true), (128 * KIB, false), (16 * KIB, true), (20 * KIB, false), (512, true)]
                .into_iter()
                .enumerate()
        {
            let from = k as u64 * SUPERBLOCK;
            let bytes = 40 * length;
            run.write_by(length, from, from + bytes);
            // The last rows are not full.
            run.idle(20_000_000);
            let expected = if cached { bytes } else { 0 };
            assert_eq!(run.in_slc_of(from, from + bytes), expected, "{policy:?}: writes of {length} bytes");
        }
        assert_eq!(run.folded(), 0);
        run.ssd.check_books().unwrap();
    }
}

#[test]
fn each_kind_of_write_runs_at_the_rate_of_its_cells() {
    let mut run = Run::new(&drive_with(SlcCachePolicy::Fixed, WhenFull::Direct));
    assert_close("long writes", run.write(0, 2 * SUPERBLOCK), rate_of_dies(1575.0), 0.06);
    assert_eq!(run.in_slc(2 * SUPERBLOCK), 0);
    let short = run.write_by(4 * KIB, 2 * SUPERBLOCK, 4 * SUPERBLOCK);
    assert_close("short writes", short, rate_of_dies(450.0), 0.06);
    assert!(run.in_slc(4 * SUPERBLOCK) > 2 * SUPERBLOCK - 512 * KIB, "but for what the write buffer holds");
    run.ssd.check_books().unwrap();
}

#[test]
fn the_write_buffer_holds_a_row_of_each_kind() {
    let row_of_64_kib = DieSpec { geometry: Geometry { planes: 4, ..die().geometry }, ..die() };
    let mut spec = drive_with(SlcCachePolicy::Fixed, WhenFull::Direct);
    spec.write_buffer.capacity_kib = 124;
    let error = Ssd::new("small", &spec, &row_of_64_kib, 1).unwrap_err();
    assert_eq!((error.key.as_str(), error.expected.as_str()), ("write_buffer.capacity_kib", "use at least 128 KiB"));
    spec.write_buffer.capacity_kib = 128;
    assert!(Ssd::new("small", &spec, &row_of_64_kib, 1).is_ok());
}

/// The host takes no notice of where a unit waits, and the firmware does not move it from row to row.
#[test]
fn a_page_that_waits_for_a_row_stays_there_when_it_is_written_again() {
    let mut run = Run::new(&drive_with(SlcCachePolicy::Fixed, WhenFull::Direct));
    run.write_by(4 * KIB, 8 * KIB, 12 * KIB);
    run.write(0, BLOCK);
    run.idle(20_000_000);
    assert_eq!((run.in_slc_of(8 * KIB, 12 * KIB), run.in_slc(BLOCK)), (4 * KIB, 4 * KIB));
    assert_eq!(run.ssd.counters().flash.unwrap().buffer_overwrites, 1);
    run.ssd.check_books().unwrap();
}

#[test]
fn past_a_full_cache_short_writes_share_the_superblock_of_the_long_ones() {
    let mut run = Run::new(&drive_with(SlcCachePolicy::Fixed, WhenFull::Direct));
    // Six superblocks of half the size.
    run.write_by(4 * KIB, 0, 3 * SUPERBLOCK);
    run.idle(20_000_000);
    assert_eq!(run.in_slc(3 * SUPERBLOCK), 3 * SUPERBLOCK);
    let (short, long) = (10 * SUPERBLOCK, 20 * SUPERBLOCK);
    for k in 0..16 {
        run.write_by(4 * KIB, short + k * 32 * KIB, short + (k + 1) * 32 * KIB);
        run.write(long + k * BLOCK, long + (k + 1) * BLOCK);
    }
    run.idle(20_000_000);
    let blocks = |from: u64, bytes: u64| -> BTreeSet<BlockId> {
        let (ftl, layout) = (run.ssd.translation(), run.ssd.translation().medium().layout());
        let block = |lpn: u64| match ftl.place(LogicalPage::new(lpn as u32)) {
            Place::Flash(unit) => layout.block_of(unit),
            place => panic!("page {lpn} is not on flash but at {place:?}"),
        };
        (from / UNIT_BYTES..(from + bytes) / UNIT_BYTES).map(block).collect()
    };
    assert_eq!(run.in_slc_of(short, short + 16 * 32 * KIB), 0);
    assert_eq!(blocks(long, 16 * BLOCK).len(), 8, "80 rows on eight dies");
    assert!(blocks(short, 16 * 32 * KIB).is_subset(&blocks(long, 16 * BLOCK)));
    run.ssd.check_books().unwrap();
}

#[test]
fn mixed_lengths_keep_their_data_and_the_books_balance() {
    for policy in [SlcCachePolicy::Fixed, SlcCachePolicy::OnDie] {
        for when_full in [WhenFull::Direct, WhenFull::Fold] {
            let spec = SlcCacheSpec { fold_after_idle_ms: Some(50.0), ..short_only(policy, when_full) };
            let spec = drive(Some(spec), 40);
            let mut run = Run::new(&spec);
            let max = run.ssd.translation().medium().format().max_generation();
            let pages = spec.capacity_bytes / UNIT_BYTES;
            let mut written = vec![0u8; pages as usize];
            let mut rng = Rng::new(7);
            let mut left = 3 * pages;
            while left > 0 {
                let units = if rng.chance(9, 10) { 1 + rng.below(4) } else { 5 + rng.below(60) };
                // Half of the writes hit a tenth of the drive, so that both kinds overwrite each other.
                let span = if rng.chance(1, 2) { pages / 10 } else { pages - units };
                let first = rng.below(span);
                run.send(Op::Write, first * UNIT_BYTES, units * UNIT_BYTES);
                for page in first..first + units {
                    let count = &mut written[page as usize];
                    *count = if *count == max { 1 } else { *count + 1 };
                }
                left = left.saturating_sub(units);
                if rng.chance(1, 10_000) {
                    run.drain();
                    run.idle(SECOND / 4);
                    run.ssd.check_books().unwrap();
                }
            }
            run.drain();
            let counters = run.ssd.counters();
            assert!(
                counters.flash.unwrap().gc_program_bytes > 0 && counters.flash.unwrap().fold_program_bytes > 0,
                "{counters:?}"
            );
            for (page, &count) in written.iter().enumerate() {
                let expected = (count != 0).then_some(count);
                assert_eq!(
                    run.ssd.translation().write_number(LogicalPage::new(page as u32)),
                    expected,
                    "{policy:?} {when_full:?} page {page}"
                );
            }
            // A read is refused if it brings anything else than what was written last.
            for offset in (0..spec.capacity_bytes).step_by(BLOCK as usize) {
                run.send(Op::Read, offset, BLOCK);
            }
            run.drain();
            run.ssd.check_books().unwrap();
        }
    }
}
