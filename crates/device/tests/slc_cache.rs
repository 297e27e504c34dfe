//! SLC caches on small drives of MLC dies: the stages of a sequential write, and what comes back in idle time.

use ssdlab_core::{Completion, Nanos, Op, Request, SECOND, UNIT_BYTES};
use ssdlab_device::{ControllerSpec, Device, DriveSpec, FlashSpec, LinkGeneration, LinkSpec, Ssd, WriteBufferSpec};
use ssdlab_ftl::{
    Buffering, Frontier, GcSpec, HostShare, HostTarget, MappingSpec, Place, SlcCachePolicy, SlcCacheSpec,
    SuperblockSpan, TieBreak, VictimPolicy, WearLevellingSpec, WhenFull,
};
use ssdlab_nand::{Bus, CellMode, CellModes, DieSpec, Geometry, PageOrder, ReducedMode, Timing, Wear};

const BLOCK: u64 = 128 << 10;
/// Of the die below, bytes of one row: two pages of 16 KiB.
const ROW: f64 = 32_768.0;

/// The times of a 16 nm MLC die in blocks of 64 pages, half of them at one bit per cell.
fn die() -> DieSpec {
    DieSpec {
        description: "small".to_owned(),
        geometry: Geometry {
            planes: 2,
            blocks_per_plane: 64,
            pages_per_block: 64,
            page_bytes: 16_384,
            spare_bytes: 1872,
            bits_per_cell: 2,
            page_order: PageOrder::Alternating,
        },
        timing: Timing { read_us: vec![48.0, 64.0], program_us: vec![850.0, 2300.0], erase_ms: 3.0 },
        bus: Bus { mega_transfers_per_s: 166.0, command_us: 2.0 },
        wear: Wear { rated_program_erase_cycles: 3000, factory_bad_blocks_per_10000: 0 },
        modes: CellModes {
            slc: Some(ReducedMode {
                read_us: vec![35.0],
                program_us: vec![450.0],
                erase_ms: 3.0,
                rated_program_erase_cycles: 20_000,
            }),
            mlc: None,
        },
        power: None,
        errors: None,
    }
}

fn cache(policy: SlcCachePolicy) -> SlcCacheSpec {
    let dynamic = policy == SlcCachePolicy::Dynamic;
    SlcCacheSpec {
        policy,
        keep_free_per_1000: dynamic.then_some(150),
        host_while_folding: dynamic.then_some(HostTarget::Slc),
        // Six superblocks of 8 dies.
        capacity_gb: (policy == SlcCachePolicy::Fixed).then_some(0.05),
        blocks_per_1000: (policy == SlcCachePolicy::OnDie).then_some(100),
        when_full: (!dynamic).then_some(WhenFull::Direct),
        fold_after_idle_ms: Some(50.0),
        fold_pause_ms: 10.0,
    }
}

/// Eight dies on eight channels, `superblocks` of them sold.
fn drive(slc_cache: Option<SlcCacheSpec>, sold: u64) -> DriveSpec {
    let on_die = slc_cache.as_ref().is_some_and(|c| c.policy == SlcCachePolicy::OnDie);
    DriveSpec {
        description: "small".to_owned(),
        capacity_bytes: sold * 8 * 64 * 32_768,
        flash: FlashSpec { die: "small".to_owned(), dies: 8, exact_spare_per_10000: None },
        link: LinkSpec { generation: LinkGeneration::Ideal, host_turnaround_us: 0.0 },
        controller: ControllerSpec {
            name: "small".to_owned(),
            channels: 8,
            ways: 1,
            queue_depth: 32,
            dram_mib: 1,
            read_command_us: 0.0,
            write_command_us: 0.0,
            read_unit_us: 0.0,
            write_unit_us: 0.0,
            move_unit_us: 0.0,
            read_ahead_kib: 0,
            reads_first: true,
        },
        write_buffer: WriteBufferSpec { capacity_kib: 512, write_cache: true, flush_after_idle_ms: 10.0 },
        mapping: MappingSpec {
            superblock: if on_die { SuperblockSpan::OneDie } else { SuperblockSpan::AllDies },
            reserved_blocks_per_1000: 0,
            journal: false,
            journal_rows_per_checkpoint_row: 1,
            map_cache_kib: None,
        },
        gc: GcSpec {
            policy: VictimPolicy::Greedy,
            choices: 2,
            tie_break: TieBreak::Fifo,
            frontier: Frontier::Separate,
            start_free_superblocks: 3,
            victims_per_start: 0,
            buffer_superpages: 4,
            buffering: Buffering::StopAndWait,
            host_share: HostShare::Balanced,
            trickle_per_1000: 0,
            rows_per_read: 1,
            background_after_idle_ms: None,
            background_free_superblocks: 0,
        },
        wear_levelling: WearLevellingSpec::default(),
        slc_cache,
        power: None,
        compression: None,
        ecc: None,
    }
}

struct Run {
    ssd: Ssd,
    now: Nanos,
    in_flight: usize,
    done: Vec<Completion>,
    capacity: u64,
}

impl Run {
    fn new(spec: &DriveSpec) -> Run {
        let ssd = Ssd::new("small", spec, &die(), 1).unwrap();
        Run { ssd, now: 0, in_flight: 0, done: Vec::new(), capacity: spec.capacity_bytes }
    }

    /// Writes `[from, to)` in sequence; returns MB/s.
    fn write(&mut self, from: u64, to: u64) -> f64 {
        let start = self.now;
        for offset in (from..to).step_by(BLOCK as usize) {
            while self.in_flight == 8 {
                self.complete();
            }
            self.ssd.submit(
                self.now,
                Request { tag: 0, op: Op::Write, offset_bytes: offset, length_bytes: BLOCK, fua: false },
            );
            self.in_flight += 1;
        }
        while self.in_flight > 0 {
            self.complete();
        }
        (to - from) as f64 / 1e6 / ((self.now - start) as f64 / 1e9)
    }

    fn complete(&mut self) {
        self.done.clear();
        self.now = self.ssd.advance_to_completion(Nanos::MAX, &mut self.done);
        self.in_flight -= self.done.len();
    }

    fn idle(&mut self, time: Nanos) {
        self.now += time;
        self.done.clear();
        self.ssd.advance(self.now, &mut self.done);
    }

    /// Bytes of `[0, to)` that lie in blocks of one bit per cell.
    fn in_slc(&self, to: u64) -> u64 {
        let (ftl, medium) = (self.ssd.ftl(), self.ssd.ftl().medium());
        let slc = |lpn: &u32| match ftl.place(*lpn) {
            Place::Flash(unit) => medium.mode(medium.layout().block_of(unit)) == CellMode::Slc,
            Place::Buffer(_) | Place::Unmapped => false,
        };
        (0..(to / UNIT_BYTES) as u32).filter(slc).count() as u64 * UNIT_BYTES
    }

    fn folded(&self) -> u64 {
        self.ssd.counters().flash_fold_program_bytes
    }

    /// Writes from the first address on until the drive folds; returns how much was written.
    fn write_until_it_folds(&mut self) -> u64 {
        let mut at = 0;
        while self.folded() == 0 && at < self.capacity {
            self.write(at, at + BLOCK);
            at += BLOCK;
        }
        at
    }
}

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

#[test]
fn what_is_cached_on_a_die_is_folded_on_that_die() {
    let mut run = Run::new(&drive(Some(cache(SlcCachePolicy::OnDie)), 40));
    let cached: u64 = 16 << 20;
    run.write(0, cached);
    let dies = |run: &Run| -> Vec<u32> {
        let (ftl, layout) = (run.ssd.ftl(), run.ssd.ftl().medium().layout());
        let die = |lpn| match ftl.place(lpn) {
            Place::Flash(unit) => layout.die_of(layout.block_of(unit)).0,
            Place::Buffer(_) | Place::Unmapped => u32::MAX,
        };
        (0..(cached / UNIT_BYTES) as u32).map(die).collect()
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
