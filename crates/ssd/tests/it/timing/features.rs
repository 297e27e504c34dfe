//! What some dies and controllers can do beside one plain operation after the other.

use ssdlab_core::{Cause, Nanos, Op};
use ssdlab_device::{Completion, Device};
use ssdlab_ftl::RowSpan;
use ssdlab_nand::{BusCycles, DieSpec, Suspend};
use ssdlab_ssd::{DriveSpec, Ssd};

use super::bench::{
    BASE, Bench, ONE_DIE, PAGES, ROW, ROW_TRANSFER, Shape, TWO_DIES, Times, UNIT_TRANSFER, decode, exactly,
};

/// Units of a page of one plane.
const PLANE: u64 = ROW / 2;

const EIGHT_DIES: Shape = Shape { dies: 8, channels: 2, ..ONE_DIE };

#[test]
fn with_cache_reads_the_next_page_is_sensed_while_the_last_one_leaves() {
    let cached = |die: &mut DieSpec| die.features.cache_read_busy_us = Some(4.0);
    exactly(
        |t| {
            let mut b = Bench::with(ONE_DIE, t, |_, die| cached(die)).filled(PAGES);
            b.read(0, 4);
            b.read(2 * ROW, 1);
            b.read(4 * ROW, 1);
            b.finish()
        },
        |t| {
            // All four units of page 0 take long to leave: page 2 has been sensed by then. Page 4 is sensed while it leaves.
            let sensed = decode(t) + t.command + t.read[0];
            let left = sensed + ROW_TRANSFER;
            let second_sensed = sensed + 4_000 + t.command + t.read[1];
            let second = left.max(second_sensed) + UNIT_TRANSFER;
            let third_sensed = second_sensed + 4_000 + t.command + t.read[1];
            vec![left, second, second.max(third_sensed) + UNIT_TRANSFER]
        },
        &[85_520, 133_880, 214_880],
    );
    // A read that comes after the last one has left finds the array at rest.
    let mut b = Bench::with(ONE_DIE, &BASE, |_, die| cached(die)).filled(PAGES);
    b.read(0, 1);
    assert_eq!(b.finish(), [52_880]);
    b.read(2 * ROW, 1);
    assert_eq!(b.finish(), [2_000 + 75_000 + UNIT_TRANSFER]);
}

/// Another die's data hold the channel: a page leaves late, the next waits in the array's register until then, and only then the one
/// after it can be sensed.
#[test]
fn a_page_fills_the_arrays_register_until_the_last_one_has_left() {
    let mut b = Bench::with(TWO_DIES, &BASE, |_, die| die.features.cache_read_busy_us = Some(4.0)).filled(7);
    b.read(ROW, 4);
    // Pages 0, 1 and 3 of the first die, lower ones all.
    for row in [0, 2, 6] {
        b.read(row * ROW, 1);
    }
    let other = 42_000 + ROW_TRANSFER;
    let first = other + UNIT_TRANSFER;
    assert!(42_000 + 4_000 + 42_000 < first, "the second has been sensed by then");
    let third = first + 4_000 + 42_000 + UNIT_TRANSFER;
    assert_eq!(b.finish(), [other, first, first + UNIT_TRANSFER, third]);
}

/// A die of two planes, with two units of 4 KiB on a page of each, that read by themselves.
fn planes_apart(die: &mut DieSpec) {
    die.features.independent_plane_reads = true;
}

#[test]
fn planes_read_beside_each_other_and_share_the_channel() {
    exactly(
        |t| {
            let mut b = Bench::with(ONE_DIE, t, |_, die| planes_apart(die)).filled(PAGES);
            // Page 2 of one plane, page 0 of the other, and page 0 of the first: the second waits for none, the third for the first.
            b.read(2 * ROW, 1);
            b.read(PLANE, 1);
            b.read(0, 1);
            b.finish()
        },
        |t| {
            // The processor decodes one after the other.
            let second = decode(t) + t.read_command + t.read_unit + t.command + t.read[0] + UNIT_TRANSFER;
            let first = (decode(t) + t.command + t.read[1]).max(second) + UNIT_TRANSFER;
            vec![first, second, first + t.command + t.read[0] + UNIT_TRANSFER]
        },
        &[87_880, 52_880, 140_760],
    );
    // A row of two planes is read by both: the data of one leave after the other's.
    exactly(
        |t| {
            let mut b = Bench::with(ONE_DIE, t, |_, die| planes_apart(die)).filled(PAGES);
            b.read(0, ROW);
            b.finish()
        },
        |t| vec![decode(t) + t.command + t.read[0] + ROW_TRANSFER],
        &[85_520],
    );
}

#[test]
fn a_die_programs_when_no_plane_reads_and_planes_read_when_it_is_interrupted() {
    let busy = |apart: bool| {
        let mut b = Bench::with(ONE_DIE, &BASE, |_, die| {
            die.features.independent_plane_reads = apart;
            die.features.suspend = Some(SUSPEND);
        })
        .filled(PAGES);
        b.send(Op::Write, PAGES * ROW, ROW, true);
        b.wait(300_000);
        b.read(0, 1);
        b.read(PLANE, 1);
        b.finish()
    };
    let (together, apart) = (busy(false), busy(true));
    // Of two reads one after the other, the second is that much later, and so is the program.
    let one = BASE.command + BASE.read[0] + UNIT_TRANSFER;
    assert_eq!(together[2] - together[1], one);
    assert_eq!((apart[1], apart[2]), (together[1], together[1] + UNIT_TRANSFER), "{together:?} {apart:?}");
    assert_eq!(together[0] - apart[0], one - UNIT_TRANSFER);
}

/// Command cycles in place of the two microseconds of the base drive.
const CYCLES: BusCycles = BusCycles { read_us: 1.0, data_out_us: 0.5, program_us: 1.5, erase_us: 0.25 };

#[test]
fn cycles_occupy_the_channel() {
    let die = |die: &mut DieSpec| die.features.cycles = Some(CYCLES);
    exactly(
        |t| {
            let mut b = Bench::with(TWO_DIES, t, |_, d| die(d)).filled(2);
            b.read(0, 1);
            b.read(ROW, 1);
            b.finish()
        },
        |t| {
            // Commands go first: the second's, on a channel that carries the first's, is owed by its data.
            let first = decode(t) + 1_000 + t.read[0] + 500 + UNIT_TRANSFER;
            vec![first, first + 1_000 + 500 + UNIT_TRANSFER]
        },
        &[52_380, 64_760],
    );
    exactly(
        |t| {
            let mut b = Bench::with(ONE_DIE, t, |_, d| die(d));
            b.send(Op::Write, 0, ROW, true);
            b.finish()
        },
        |t| vec![t.turnaround + t.write_command + 1_500 + ROW_TRANSFER + t.program[0]],
        &[545_020],
    );
}

/// Of a page that is read in part, only what is corrected by itself crosses the channel.
#[test]
fn sectors_cross_the_channel_without_the_rest_of_their_page() {
    let latency = |granule, sector, sectors| {
        let mut b = Bench::with(ONE_DIE, &BASE, |drive, _| drive.controller.read_granule_bytes = granule).filled(PAGES);
        b.read_sectors(sector, sectors);
        b.finish()[0]
    };
    let whole = decode(&BASE) + BASE.command + BASE.read[0] + UNIT_TRANSFER;
    assert_eq!(latency(None, 0, 1), whole);
    let less = |eighths: Nanos| whole - (8 - eighths) * UNIT_TRANSFER / 8;
    for (granule, sector, sectors, eighths) in [
        (512, 0, 1, 1),
        (512, 7, 1, 1),
        (512, 2, 3, 3),
        (1024, 1, 1, 2),
        (1024, 1, 2, 4),
        (1024, 5, 3, 4),
        (2048, 3, 1, 4),
        (2048, 3, 2, 8),
        (512, 0, 8, 8),
    ] {
        assert_eq!(latency(Some(granule), sector, sectors), less(eighths), "{sectors} from {sector} by {granule}");
    }
}

/// The entry of a map that is loaded on demand comes in such a stretch, too.
#[test]
fn an_entry_of_the_map_crosses_the_channel_without_the_rest_of_its_row() {
    exactly(
        |t| {
            let mut b = Bench::with(ONE_DIE, t, |drive, _| {
                drive.mapping.map_cache_kib = Some(1);
                drive.controller.read_granule_bytes = Some(512);
            });
            // DRAM has room for 128 entries.
            b = b.filled(6 * PAGES);
            b.read_sectors(0, 1);
            b.finish()
        },
        |t| vec![decode(t) + 2 * (t.command + t.read[0] + UNIT_TRANSFER / 8)],
        &[86_720],
    );
}

/// Whoever needs an entry of a piece of the map that is on its way waits for the same read, which tells where the time went.
#[test]
fn commands_that_need_the_same_piece_of_the_map_wait_for_one_read_of_it() {
    let with = |drive: &mut DriveSpec| {
        drive.mapping.map_cache_kib = Some(1);
        drive.controller.read_granule_bytes = Some(512);
    };
    // Entries 0 to 63 have left DRAM.
    let sent = |t: &Times| {
        let mut b = Bench::with(ONE_DIE, t, |drive, _| with(drive)).filled(6 * PAGES);
        [0, 1, 0].into_iter().for_each(|unit| b.read(unit, 1));
        b
    };
    let piece = |t: &Times| t.command + t.read[0] + UNIT_TRANSFER / 8;
    exactly(
        |t| sent(t).finish(),
        |t| {
            let each = t.command + t.read[0] + UNIT_TRANSFER;
            (1..=3).map(|k| decode(t) + piece(t) + k * each).collect()
        },
        &[96_240, 149_120, 202_000],
    );
    let mut b = sent(&BASE);
    let told: Vec<Nanos> = b.completions().iter().map(|c| c.breakdown.get(Cause::Metadata)).collect();
    assert_eq!(told, [piece(&BASE); 3]);
}

/// What is read ahead has its entry first; a command that wants it meanwhile waits for the same piece of the map.
#[test]
fn data_are_read_ahead_once_their_piece_of_the_map_has_come() {
    let mut b = Bench::with(ONE_DIE, &BASE, |drive, _| {
        drive.mapping.map_cache_kib = Some(1);
        drive.controller.read_granule_bytes = Some(512);
        drive.controller.read_ahead_kib = 32;
    })
    .filled(8 * PAGES);
    // Entries 0 to 127 are in DRAM, and those behind are not.
    (0..32).rev().for_each(|row| {
        b.read(row * ROW, ROW);
        b.finish();
    });
    let before = b.drive.counters().flash.expect("it is of flash").host_read_bytes;
    [30, 31, 32].into_iter().for_each(|row| b.read(row * ROW, ROW));
    let told: Vec<Nanos> = b.completions().iter().map(|c| c.breakdown.get(Cause::Metadata)).collect();
    // The rest of a unit of the map, but for the first of eight parts.
    assert_eq!(told, [0, 0, BASE.command + BASE.read[0] + UNIT_TRANSFER * 7 / 8]);
    b.wait(1_000_000);
    let read = b.drive.counters().flash.expect("it is of flash").host_read_bytes - before;
    assert_eq!(read, 5 * ROW * 4096, "three rows, and two ahead: none of them twice");
}

#[test]
fn a_row_crosses_the_channel_once_for_each_pass() {
    exactly(
        |t| {
            let mut b = Bench::with(ONE_DIE, t, |_, die| die.features.program_passes = 3);
            b.send(Op::Write, 0, ROW, true);
            b.finish()
        },
        |t| vec![t.turnaround + t.write_command + t.command + 3 * ROW_TRANSFER + t.program[0]],
        &[632_560],
    );
}

/// Of eight rows for eight dies four are programmed at once, the other four after them.
#[test]
fn no_more_dies_program_at_once_than_the_controller_lets() {
    for most in [None, Some(4)] {
        let mut b = Bench::with(EIGHT_DIES, &BASE, |drive, _| {
            drive.controller.programs_at_once = most;
            drive.write_buffer.capacity_kib = 256;
        });
        for row in 0..8 {
            b.send(Op::Write, row * ROW, ROW, true);
        }
        let mut done = b.finish();
        done.sort_unstable();
        // Four dies a channel take their data one after the other.
        let first = |k: Nanos| 2_000 + k * ROW_TRANSFER + 500_000;
        let expected: Vec<Nanos> = match most {
            None => (1..=4).flat_map(|k| [first(k); 2]).collect(),
            Some(_) => {
                let begun_first = [first(1), first(2)];
                let behind = begun_first.map(|end| end + 2_000 + ROW_TRANSFER + 500_000);
                [begun_first, behind].concat().into_iter().flat_map(|end| [end; 2]).collect()
            }
        };
        assert_eq!(done, expected, "{most:?}");
    }
}

/// A die that reads when its turn to program comes lets the next one program, and has its turn after that.
#[test]
fn who_reads_keeps_nobody_from_programming() {
    let shape = Shape { dies: 3, channels: 3, ..ONE_DIE };
    let mut b = Bench::with(shape, &BASE, |drive, _| drive.controller.programs_at_once = Some(1)).filled(3);
    for row in 3..6 {
        b.send(Op::Write, row * ROW, ROW, true);
    }
    b.wait(540_000);
    // On the second die, which is next in line.
    b.read(ROW, 1);
    let program = 2_000 + ROW_TRANSFER + 500_000;
    assert_eq!(b.finish(), [program, 3 * program, 2 * program, 52_880]);
    assert_eq!(b.drive.check_books(), Ok(()));
}

/// Reads of one page follow each other without a break, and a program waits for so many of them; or has been interrupted for
/// them.
#[test]
fn so_many_reads_pass_what_waits_for_their_die_and_no_more() {
    let bench = |suspends: bool| {
        let with = Bench::with(ONE_DIE, &BASE, |drive, die| {
            drive.controller.reads_in_a_row = 3;
            die.features.suspend = suspends.then_some(SUSPEND);
        });
        with.filled(1)
    };
    let read = 52_880;
    let mut b = bench(false);
    b.read(0, 1);
    b.send(Op::Write, ROW, ROW, true);
    (0..8).for_each(|_| b.read(0, 1));
    // One begins at once, three more have others behind them, then comes the program, then the rest.
    let write = 4 * read + 45_520 + 500_000;
    let reads = (2..=4).map(|k| k * read).chain((1..=5).map(|k| write + k * read));
    assert_eq!(b.finish(), [read, write].into_iter().chain(reads).collect::<Vec<_>>());

    let mut b = bench(true);
    b.send(Op::Write, ROW, ROW, true);
    b.wait(100_000);
    (0..8).for_each(|_| b.read(0, 1));
    // It is interrupted after 300 us of progress, goes on after three, and is interrupted no more.
    let interrupted = 45_520 + 300_000 + 50_000;
    let write = interrupted + 3 * read + 20_000 + 200_000;
    let reads = (1..=3).map(|k| interrupted + k * read).chain((1..=5).map(|k| write + k * read));
    assert_eq!(b.finish(), [write].into_iter().chain(reads.map(|at| at - 100_000)).collect::<Vec<_>>());
}

/// One read under way and one that waits, each with a successor when it ends: what waits for the die has its turn all the same.
#[test]
fn reads_of_which_only_one_waits_pass_no_more_than_so_many() {
    for span in [RowSpan::AllPlanes, RowSpan::OnePlane] {
        let mut b = Bench::with(ONE_DIE, &BASE, |drive, _| {
            (drive.controller.reads_in_a_row, drive.mapping.row) = (3, span);
        })
        .filled(1);
        let mut done = Vec::new();
        b.read(0, 1);
        let write = b.send(Op::Write, ROW, ROW, true);
        b.read(0, 1);
        let mut before = 0;
        while !done.iter().any(|c: &Completion| c.tag == write) {
            done.clear();
            b.now = b.drive.next_event().expect("a write is under way");
            b.drive.advance(b.now, &mut done);
            for _ in done.iter().filter(|c| c.tag != write) {
                before += 1;
                b.read(0, 1);
            }
            assert!(before < 20, "{span:?}: the write waits for ever");
        }
        // One that was under way and three that passed.
        assert_eq!(before, 4, "{span:?}");
    }
}

/// A program that goes on in its turn, while reads wait, is interrupted for them again.
#[test]
fn what_goes_on_in_its_turn_is_interrupted_again() {
    let mut b = Bench::with(ONE_DIE, &BASE, |drive, die| {
        drive.controller.reads_in_a_row = 3;
        die.features.suspend = Some(Suspend { most_per_operation: 2, least_progress_us: 100.0, ..SUSPEND });
    })
    .filled(1);
    b.send(Op::Write, ROW, ROW, true);
    b.wait(100_000);
    (0..8).for_each(|_| b.read(0, 1));
    let read = 52_880;
    let first = 45_520 + 100_000 + 50_000;
    let second = first + 3 * read + 20_000 + 100_000 + 50_000;
    let write = second + 3 * read + 20_000 + 300_000;
    let reads =
        [(first, 3), (second, 3), (write, 2)].into_iter().flat_map(|(from, n)| (1..=n).map(move |k| from + k * read));
    assert_eq!(b.finish(), [write].into_iter().chain(reads.map(|at| at - 100_000)).collect::<Vec<_>>());
}

const SUSPEND: Suspend = Suspend {
    program_us: Some(50.0),
    erase_us: Some(100.0),
    resume_us: 20.0,
    most_per_operation: 1,
    least_progress_us: 300.0,
};

/// A read comes while a page is programmed: at once after the least progress, or when that has been made.
#[test]
fn a_program_is_interrupted_for_a_read_and_goes_on_after_it() {
    for (comes, begins) in [(100_000, 345_520), (400_000, 400_000)] {
        let mut b = Bench::with(ONE_DIE, &BASE, |_, die| die.features.suspend = Some(SUSPEND)).filled(1);
        b.send(Op::Write, ROW, ROW, true);
        b.wait(comes);
        b.read(0, 1);
        let done = b.finish();
        // 45.52 us until the array is at work, 300 us of progress, 50 us until a read may begin.
        let read = begins - comes + 50_000 + 52_880;
        let program = 45_520 + 500_000 + 50_000 + 52_880 + 20_000;
        assert_eq!(done, [program, read], "a read after {comes} ns");
        assert_eq!(b.drive.check_books(), Ok(()));
    }
}

#[test]
fn an_operation_is_interrupted_so_often_and_not_near_its_end() {
    let start = || Bench::with(ONE_DIE, &BASE, |_, die| die.features.suspend = Some(SUSPEND)).filled(1);
    let mut b = start();
    b.send(Op::Write, ROW, ROW, true);
    b.wait(500_000);
    b.read(0, 1);
    // 45.52 us are left, 50 would be lost.
    assert_eq!(b.finish(), [545_520, 545_520 - 500_000 + 52_880]);
    let mut b = start();
    b.send(Op::Write, ROW, ROW, true);
    b.wait(400_000);
    b.read(0, 1);
    b.wait(110_000);
    b.read(2, 1);
    let ended = 545_520 + 50_000 + 52_880 + 20_000;
    assert_eq!(b.finish(), [ended, ended - 510_000 + 52_880], "the second waits for the end");
    // Where little progress is enough, only the number of interruptions makes it wait.
    for (most_per_operation, finish) in [(1, [ended, ended - 510_000 + 52_880]), (2, [ended + 122_880, 145_760])] {
        let often = Suspend { most_per_operation, least_progress_us: 30.0, ..SUSPEND };
        let mut b = Bench::with(ONE_DIE, &BASE, |_, die| die.features.suspend = Some(often)).filled(1);
        b.send(Op::Write, ROW, ROW, true);
        b.wait(400_000);
        b.read(0, 1);
        b.wait(110_000);
        b.read(2, 1);
        // The array goes on at 522.88 us, may be interrupted from 552.88 us on, and reads 50 us later.
        assert_eq!(b.finish(), finish, "{most_per_operation} at most");
    }
}

/// Reads of one unit of 16 dies on four channels, 50 us of tR and 12.30 us on the bus, deep queues: the rate that the
/// arithmetic gives for each of the three ways.
#[test]
fn random_reads_reach_the_rate_of_the_arithmetic() {
    let unit: f64 = 4096.0 / 333.0;
    let cycles = BusCycles { read_us: 0.29, data_out_us: 0.03, program_us: 0.361, erase_us: 0.22 };
    for (cycles, cached, expected) in [
        (None, None, 16.0 / (50.0 + unit)),
        (Some(cycles.clone()), None, 16.0 / (50.0 + unit + 0.32)),
        (Some(cycles), Some(0.0), 4.0 / (unit + 0.32)),
    ] {
        let mut b = sixteen_dies(|die| {
            die.features.cycles = cycles.clone();
            die.features.cache_read_busy_us = cached;
        });
        let rounds = 200;
        // Rows are dealt out to the dies in turn.
        (0..rounds * 16).for_each(|k| b.read(k % 256, 1));
        let begun = b.now;
        let mut done: Vec<Completion> = Vec::new();
        while let Some(at) = b.drive.next_event().filter(|at| *at < begun + 100_000_000) {
            b.drive.advance(at, &mut done);
        }
        let last = done.iter().map(|c| c.completed).max().expect("all end");
        let per_us = (rounds * 16) as f64 / ((last - begun) as f64 / 1000.0);
        let off = per_us / expected - 1.0;
        assert!(off.abs() < 0.01, "{cached:?}: {per_us:.4} a microsecond, {expected:.4} by arithmetic");
    }
}

fn sixteen_dies(change: impl FnOnce(&mut DieSpec)) -> Bench {
    let shape = Shape { dies: 16, channels: 4, queue_depth: 1024, ..ONE_DIE };
    let (mut spec, mut die): (DriveSpec, DieSpec) = super::bench::specs(shape, &BASE);
    die.geometry.planes = 1;
    die.geometry.page_bytes = 4096;
    die.geometry.spare_bytes = 0;
    die.timing.read_us = vec![50.0; 2];
    die.bus.mega_transfers_per_s = 333.0;
    die.bus.command_us = 0.0;
    spec.capacity_bytes = 1024 * 4096;
    change(&mut die);
    let drive = Ssd::new("sixteen dies", &spec, &die, 1).expect("a valid drive");
    let mut b = Bench { drive, now: 0, tag: 0 };
    (0..256).for_each(|unit| {
        b.send(Op::Write, unit, 1, false);
    });
    b.finish();
    b.wait(50_000_000);
    b
}
