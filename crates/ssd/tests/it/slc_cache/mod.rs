//! SLC caches on small drives of MLC dies: the stages of a sequential write, what comes back in idle time, and what goes
//! past the cache.

mod beside_host;
mod refresh;
mod rig;
mod short_writes;

use rig::{ROW, Run, cache, drive};
use ssdlab_core::{Cause, Op, SECOND, UNIT_BYTES};
use ssdlab_device::Device;
use ssdlab_ftl::{HostShare, Place, SlcCachePolicy, SlcCacheSpec, Translation, WhenFull};
use ssdlab_nand::{LogicalPage, LogicalPages};

/// Dies' worth of rows per time, MB/s, of a row's program time and its transfer.
fn rate_of_dies(program_us: f64) -> f64 {
    let transfer_us = 2.0 * (16_384.0 + 1872.0) / 166.0;
    8.0 * ROW / (program_us + transfer_us + 2.0)
}

fn assert_close(what: &str, got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() < tolerance, "{what}: {got:.1}, expected {expected:.1}");
}

#[test]
fn a_dynamic_cache_has_three_stages_at_the_rates_of_the_dies() {
    let spec = drive(Some(cache(SlcCachePolicy::Dynamic)), 54);
    let mut run = Run::new(&spec);
    let superblock = 8 * 64 * 32_768;
    let (slc, native) = (rate_of_dies(450.0), rate_of_dies(1575.0));
    assert_close("stage 1", run.write(0, 20 * superblock), slc, 0.05);
    let second = run.write_until_native();
    assert_close("stage 2", run.write(second, second + 2 * superblock), native, 0.06);
    let third = second + 6 * superblock;
    run.write(second + 2 * superblock, third);
    let folded = run.folded();
    assert!(folded > 0);
    let rate = run.write(third, third + 8 * superblock);
    // Two bytes are folded for each that the host writes, with the collector's reads in between.
    let ratio = (run.folded() - folded) as f64 / (8 * superblock) as f64;
    assert_close("bytes folded for each written", ratio, 2.0, 0.15);
    let read = 8.0 * ROW / (35.0 + 2.0 + 2.0 * (16_384.0 + 1872.0) / 166.0);
    assert_close("stage 3", rate, 1.0 / (1.0 / slc + 2.0 / native + 2.0 / read), 0.15);
    run.ssd.check_books().unwrap();
}

impl Run {
    /// Writes on from where a fast stage of 20 superblocks ended, until data go into native blocks.
    fn write_until_native(&mut self) -> u64 {
        let superblock = 8 * 64 * 32_768;
        let mut at = 20 * superblock;
        loop {
            let before = self.in_slc(at);
            self.write(at, at + superblock / 4);
            at += superblock / 4;
            // What is in the buffer yet may be a few rows.
            if self.in_slc(at) < before + superblock / 8 {
                return at;
            }
        }
    }
}

/// Stage 1 takes two bytes of flash for each of the host's, stage 2 one; at the end of stage 2 the flash is used up:
/// with x1 and x2 the places of the drops, x1 + x2 = P - R, whatever the threshold between the stages.
#[test]
fn the_two_drops_of_a_dynamic_cache_add_up_to_the_flash() {
    for keep_free_per_1000 in [80, 150, 400] {
        let spec = SlcCacheSpec { keep_free_per_1000: Some(keep_free_per_1000), ..cache(SlcCachePolicy::Dynamic) };
        let mut run = Run::new(&drive(Some(spec), 54));
        let second = run.write_until_it_folds();
        let first = run.in_slc(second);
        let superblock = (8 * 64 * 32_768) as f64;
        let used = (first + second) as f64 / superblock;
        // 64 superblocks less those that make the collector start, less what is open, and the collector's own.
        assert!((58.0..=61.5).contains(&used), "keep {keep_free_per_1000}: {used:.2} superblocks");
        let free = 64.0 - 2.0 * first as f64 / superblock;
        let kept = 64.0 * f64::from(keep_free_per_1000) / 1000.0;
        // Kept superblocks are rounded up, and the last rows may be in the buffer yet.
        assert!((0.0..2.5).contains(&(free - kept)), "keep {keep_free_per_1000}: {free:.2} superblocks were left");
    }
}

#[test]
fn idle_time_brings_a_dynamic_cache_back_at_its_own_pace() {
    let mut run = Run::new(&drive(Some(cache(SlcCachePolicy::Dynamic)), 54));
    let superblock = 8 * 64 * 32_768;
    run.write(0, 20 * superblock);
    run.idle(40_000_000);
    assert_eq!(run.folded(), 0, "it rests for 50 ms before it folds");
    run.idle(10 * SECOND);
    let slc = run.in_slc(20 * superblock);
    assert!(slc <= superblock, "{slc} bytes are still cached");
    assert!(run.folded() >= 19 * superblock);
    run.ssd.check_books().unwrap();
}

#[test]
fn a_dynamic_cache_may_have_a_most_that_it_holds() {
    // Ten superblocks of half the size, on a drive with room for three times as many.
    let most = SlcCacheSpec { capacity_gb: Some(0.08), ..cache(SlcCachePolicy::Dynamic) };
    let mut run = Run::new(&drive(Some(most), 54));
    let superblock = 8 * 64 * 32_768;
    assert_close("in the cache", run.write(0, 4 * superblock), rate_of_dies(450.0), 0.06);
    run.write(4 * superblock, 6 * superblock);
    let past = run.write(6 * superblock, 12 * superblock);
    assert_close("past the cache", past, rate_of_dies(1575.0), 0.06);
    assert_eq!(run.in_slc(12 * superblock), 5 * superblock);
    assert_eq!(run.folded(), 0, "there is room for everything");
    run.idle(5 * SECOND);
    assert_eq!(run.in_slc(12 * superblock), 0);
    assert_close("after idle time", run.write(0, 2 * superblock), rate_of_dies(450.0), 0.06);
    run.ssd.check_books().unwrap();
}

#[test]
fn a_fixed_cache_takes_in_its_size_and_no_more() {
    for (when_full, direct) in [(WhenFull::Direct, true), (WhenFull::Fold, false)] {
        let spec = SlcCacheSpec { when_full: Some(when_full), ..cache(SlcCachePolicy::Fixed) };
        let mut run = Run::new(&drive(Some(spec), 44));
        let superblock = 8 * 64 * 32_768;
        let slc = rate_of_dies(450.0);
        // Six superblocks of half the size.
        assert_close("in the cache", run.write(0, 2 * superblock), slc, 0.06);
        run.write(2 * superblock, 6 * superblock);
        let past = run.write(6 * superblock, 12 * superblock);
        if direct {
            assert_close("past the cache", past, rate_of_dies(1575.0), 0.06);
            assert_eq!(run.in_slc(12 * superblock), 3 * superblock);
            assert_eq!(run.folded(), 0);
            run.idle(5 * SECOND);
            assert_eq!(run.in_slc(12 * superblock), 0);
            assert_close("after idle time", run.write(0, 2 * superblock), slc, 0.06);
        } else {
            let native = rate_of_dies(1575.0);
            assert!(past < 0.9 * native, "every byte is written twice: {past:.1} MB/s");
            assert!(run.folded() >= 8 * superblock, "what is past the cache went through it");
        }
        run.ssd.check_books().unwrap();
    }
}

/// At whatever moment work ends: now and then there is no superblock free to fold into.
#[test]
fn a_fixed_cache_comes_back_in_idle_time_although_there_is_no_room_at_first() {
    let superblock = 8 * 64 * 32_768;
    for background in [false, true] {
        // One superblock after another before the first is erased.
        let spec = SlcCacheSpec { fold_pause_ms: 0.5, ..cache(SlcCachePolicy::Fixed) };
        let mut drive = drive(Some(spec), 50);
        (drive.gc.background_after_idle_ms, drive.gc.background_free_superblocks) = (background.then_some(300.0), 6);
        let mut tortured = Run::new(&drive);
        tortured.write(0, tortured.capacity);
        for k in 0..80_000 {
            tortured.send(Op::Write, k * 7919 % (tortured.capacity / UNIT_BYTES) * UNIT_BYTES, UNIT_BYTES);
            if k < 60_000 || k % 100 > 0 {
                continue;
            }
            let mut run = tortured.clone();
            run.drain();
            assert!(run.in_slc(run.capacity) > superblock, "{k}: {} are cached", run.in_slc(run.capacity));
            if background {
                // The idle drive collects, and then there is room.
                run.idle(20 * SECOND);
                assert!(run.in_slc(run.capacity) < superblock, "{k}: {} are cached", run.in_slc(run.capacity));
            } else {
                // What is cached holds nothing any more: that takes no room.
                run.trim(0, run.capacity);
                run.idle(5 * SECOND);
                assert_close("after TRIM", run.write(0, 2 * superblock), rate_of_dies(450.0), 0.06);
            }
        }
    }
}

/// A collection that waits for the host to write does not keep a drive that rests from folding.
#[test]
fn a_drive_that_collects_in_step_folds_when_it_rests() {
    for host_share in [HostShare::Balanced, HostShare::InStep] {
        let mut drive = drive(Some(cache(SlcCachePolicy::Dynamic)), 54);
        (drive.gc.host_share, drive.gc.background_after_idle_ms) = (host_share, None);
        let mut written = Run::new(&drive);
        written.write(0, written.capacity);
        let mut cached = 0;
        for k in 0..40_000 {
            written.send(Op::Write, k * 7919 % (written.capacity / UNIT_BYTES) * UNIT_BYTES, UNIT_BYTES);
            if k < 30_000 || k % 1000 > 0 {
                continue;
            }
            let mut run = written.clone();
            run.drain();
            cached += run.in_slc(run.capacity);
            run.idle(20 * SECOND);
            // But for what is open.
            let left = run.in_slc(run.capacity);
            assert!(left < 8 * 64 * 32_768 / 2, "{host_share:?}: {left} are cached");
        }
        assert!(cached > 0, "{host_share:?}: nothing was cached");
    }
}

#[test]
fn what_is_cached_on_a_die_is_folded_on_that_die() {
    let mut run = Run::new(&drive(Some(cache(SlcCachePolicy::OnDie)), 40));
    let cached: u64 = 16 << 20;
    run.write(0, cached);
    let dies = |run: &Run| -> Vec<_> {
        let (ftl, layout) = (run.ssd.translation(), run.ssd.translation().medium().layout());
        let die = |lpn| match ftl.place(lpn) {
            Place::Flash(unit) => Some(layout.die_of(layout.block_of(unit)).0),
            Place::Buffer(_) | Place::Unmapped => None,
        };
        LogicalPage::all((cached / UNIT_BYTES) as u32).each().map(die).collect()
    };
    run.idle(20_000_000);
    let before = dies(&run);
    assert_eq!(run.in_slc(cached), cached);
    run.idle(5 * SECOND);
    assert_eq!(dies(&run), before);
    // A block that is still open stays as it is.
    assert!(run.in_slc(cached) < cached / 2 && run.folded() > cached / 2, "{} are cached", run.in_slc(cached));
    run.ssd.check_books().unwrap();
}

/// What an idle drive does first with what three superblocks of the cache hold, the second of which has been written again if
/// `again`: bytes of each that are still cached, and bytes folded.
fn first_fold(policy: SlcCachePolicy, again: bool) -> ([u64; 3], u64) {
    let mut run = Run::new(&drive(Some(cache(policy)), 40));
    let cached = 8 * 64 * 32_768 / 2;
    run.write(0, if again { 2 * cached } else { 3 * cached });
    if again {
        run.write(cached, 2 * cached);
    }
    // The buffer is written out first.
    run.idle(45_000_000);
    let erases = |run: &Run| run.ssd.counters().flash.expect("it has flash").block_erases;
    let before = erases(&run);
    while erases(&run) == before {
        run.idle(1_000_000);
    }
    ([0, 1, 2].map(|k| run.in_slc_of(k * cached, (k + 1) * cached)), run.folded())
}

#[test]
fn an_idle_drive_folds_the_oldest_superblock_first_but_erases_one_that_holds_nothing_before() {
    let superblock = 8 * 64 * 32_768 / 2;
    let all = superblock;
    for policy in [SlcCachePolicy::Fixed, SlcCachePolicy::Dynamic] {
        assert_eq!(first_fold(policy, false), ([0, all, all], superblock), "{policy:?}");
        assert_eq!(first_fold(policy, true), ([all, all, 0], 0), "{policy:?}");
    }
}

/// Reads that meet a fold wait for the fold, and nothing else is told: the collector has nothing to do.
#[test]
fn a_read_that_meets_a_fold_says_so() {
    let spec = SlcCacheSpec { fold_pause_ms: 0.01, ..cache(SlcCachePolicy::Fixed) };
    let mut run = Run::new(&drive(Some(spec), 40));
    let cached = 8 * 64 * 32_768 / 2;
    run.write(0, 4 * cached);
    let mut waited = [0; 2];
    for k in 0..100 {
        // The fold begins after 50 ms, with reads.
        run.idle(50_000_000 + k * 3_000);
        run.send(Op::Read, (3 * cached + k * 8 * UNIT_BYTES) % (4 * cached), UNIT_BYTES);
        run.drain();
        for c in run.answers() {
            waited[0] += c.breakdown.get(Cause::Fold);
            waited[1] += c.breakdown.get(Cause::GarbageCollection);
        }
    }
    assert!(waited[0] > 0 && waited[1] == 0, "{waited:?} ns");
}
