//! Cache program: the data of a die's next program cross the channel while its array programs.

use ssdlab_core::{Nanos, Op};
use ssdlab_device::{Device, Held, Plug};
use ssdlab_ftl::{RowSpan, SlcCachePolicy, SlcCacheSpec, Translation, WhenFull};
use ssdlab_nand::{BusCycles, GrowingFaults, ReducedMode, Suspend};

use super::bench::{
    BASE, Bench, ONE_DIE, PAGES, ROW, ROW_TRANSFER, Shape, TWO_DIES, Times, UNIT_TRANSFER, exactly, with_base,
};

const EIGHT_DIES: Shape = Shape { dies: 8, channels: 2, ..ONE_DIE };
const BUSY: Nanos = 4_000;
/// By page of a block: whether it is an upper one.
const UPPER: [usize; PAGES as usize] = [0, 0, 1, 0, 1, 0, 1, 1];

/// A drive whose dies have cache program, with room for all that is written here.
fn cached(shape: Shape, t: &Times) -> Bench {
    Bench::with(shape, t, |drive, die| {
        die.features.cache_program_busy_us = Some(4.0);
        drive.write_buffer.capacity_kib = 1024;
    })
}

/// Sends rows that are answered once they are on flash.
fn write(b: &mut Bench, rows: impl IntoIterator<Item = u64>) {
    for row in rows {
        b.send(Op::Write, row * ROW, ROW, true);
    }
}

/// When `rows` rows are on flash that one die is given at once, from page 0 on.
fn on_one_die(t: &Times, rows: usize) -> Vec<Nanos> {
    let command = |row: usize| t.turnaround + t.write_command * (row as Nanos + 1);
    let mut array_from = command(0) + t.command + ROW_TRANSFER;
    (0..rows)
        .map(|row| {
            let end = array_from + t.program[UPPER[row]];
            let loaded = array_from.max(command(row + 1)) + t.command + ROW_TRANSFER;
            array_from = loaded.max(end + BUSY);
            end
        })
        .collect()
}

/// The first transfer, and from then on the longer one of program and hand-over, or command and transfer.
#[test]
fn on_one_die_the_array_or_the_channel_never_rests() {
    let scenario = |t: &Times| {
        let mut b = cached(ONE_DIE, t);
        write(&mut b, 0..6);
        b.finish()
    };
    let first = 45_520 + 500_000;
    let [short, long] = [4_000 + 500_000, 4_000 + 1_500_000];
    let ends = [first, first + short, first + short + long, first + 2 * short + long];
    let last = [first + 2 * short + 2 * long, first + 3 * short + 2 * long];
    exactly(scenario, |t| on_one_die(t, 6), &[&ends[..], &last].concat());
    // Programs of 30 us: each transfer begins 2 us after the one before has ended, when its array begins.
    let quick = Times { program: [30_000, 30_000], ..BASE };
    let ends: Vec<Nanos> = (1..=6).map(|rows| rows * 45_520 + 30_000).collect();
    with_base(quick, scenario, |t| on_one_die(t, 6), &ends);
    // At 41.52 us and 4 to hand over both take as long.
    let same = Times { program: [41_520, 41_520], ..BASE };
    with_base(same, scenario, |t| on_one_die(t, 6), &(1..=6).map(|rows| rows * 45_520 + 41_520).collect::<Vec<_>>());
}

/// Without the key each row crosses the channel before its program.
#[test]
fn without_it_each_transfer_comes_before_its_program() {
    let quick = Times { program: [100_000, 100_000], ..BASE };
    let mut b = Bench::with(ONE_DIE, &quick, |drive, _| drive.write_buffer.capacity_kib = 1024);
    write(&mut b, 0..6);
    assert_eq!(b.finish(), (1..=6).map(|rows| rows * 145_520).collect::<Vec<_>>());
}

/// Programs of 100 us: on two dies of a channel the arrays bind, on four the channel.
#[test]
fn on_a_channel_the_arrays_bind_or_the_channel() {
    let quick = Times { program: [100_000, 100_000], ..BASE };
    let rounds = 6;
    let ends = |dies: u32| {
        let mut b = cached(Shape { dies, ..ONE_DIE }, &quick);
        write(&mut b, 0..u64::from(dies) * rounds);
        b.finish()
    };
    // Row `k` of die `d`; the second die's first row crosses right behind that of the first.
    let arrays = |k: u64, d: u64| 2_000 + (d + 1) * ROW_TRANSFER + k * 104_000 + 100_000;
    let expected: Vec<Nanos> = (0..2 * rounds).map(|row| arrays(row / 2, row % 2)).collect();
    assert_eq!(ends(2), expected, "two dies");
    // Row after row without a gap.
    let expected: Vec<Nanos> = (1..=4 * rounds).map(|rows| 2_000 + rows * ROW_TRANSFER + 100_000).collect();
    assert_eq!(ends(4), expected, "four dies");
}

/// Of four rows that come at once for two dies, the second die's first crosses before the first die's second.
#[test]
fn dies_at_rest_come_first_on_the_channel() {
    let quick = Times { program: [100_000, 100_000], ..BASE };
    let mut b = cached(TWO_DIES, &quick);
    b.send(Op::Write, 0, 4 * ROW, true);
    assert_eq!(b.finish(), [2_000 + 2 * ROW_TRANSFER + 104_000 + 100_000]);
}

/// A row that is sent while the die programs is loaded as soon as it is there.
#[test]
fn a_row_that_comes_meanwhile_is_loaded_at_once() {
    for (comes, begins) in [
        // In time to the nanosecond, and so late that the array waits for the transfer.
        (300_000, 549_520),
        (504_000, 549_520),
        (504_001, 549_521),
        (545_000, 590_520),
        (545_519, 591_039),
    ] {
        let mut b = cached(ONE_DIE, &BASE);
        write(&mut b, [0]);
        b.wait(comes);
        write(&mut b, [1]);
        assert_eq!(b.finish(), [545_520, begins + 500_000 - comes], "after {comes} ns");
    }
}

#[test]
fn cycles_and_passes_count_in_the_transfer_of_what_is_loaded() {
    let cycles = BusCycles { read_us: 1.0, data_out_us: 0.5, program_us: 1.5, erase_us: 0.25 };
    let quick = Times { program: [30_000, 30_000], ..BASE };
    let mut b = Bench::with(ONE_DIE, &quick, |drive, die| {
        die.features.cache_program_busy_us = Some(4.0);
        die.features.cycles = Some(cycles);
        die.features.program_passes = 3;
        drive.write_buffer.capacity_kib = 1024;
    });
    write(&mut b, 0..4);
    assert_eq!(b.finish(), (1..=4).map(|rows| rows * (1_500 + 3 * ROW_TRANSFER) + 30_000).collect::<Vec<_>>());
}

/// Page 0 is on flash; rows 1 and 2 go to a lower and an upper page.
#[test]
fn a_read_waits_for_what_is_loaded_and_keeps_the_next_from_being_loaded() {
    exactly(
        |t| {
            let mut b = cached(ONE_DIE, t).filled(1);
            write(&mut b, [1, 2]);
            b.wait(100_000);
            b.read(0, 1);
            b.finish()
        },
        |t| {
            let second = t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[0];
            let third = second + BUSY + t.program[1];
            // The processor and the link have long been done with it.
            vec![second, third, third - 100_000 + t.command + t.read[0] + UNIT_TRANSFER]
        },
        &[545_520, 2_049_520, 1_949_520 + 52_880],
    );
    exactly(
        |t| {
            let mut b = cached(ONE_DIE, t).filled(1);
            write(&mut b, [1]);
            b.wait(100_000);
            b.read(0, 1);
            b.wait(100_000);
            write(&mut b, [2]);
            b.finish()
        },
        |t| {
            let second = t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[0];
            let read = second + t.command + t.read[0] + UNIT_TRANSFER;
            let third = read + t.command + ROW_TRANSFER + t.program[1];
            vec![second, read - 100_000, third - 200_000]
        },
        &[545_520, 598_400 - 100_000, 598_400 + 45_520 + 1_500_000 - 200_000],
    );
}

/// Where reads have no priority, one that stands behind the loaded program waits, and nothing is loaded past it.
#[test]
fn in_one_queue_only_what_stands_right_behind_is_loaded() {
    let shape = Shape { reads_first: false, ..ONE_DIE };
    let mut b = cached(shape, &BASE).filled(1);
    write(&mut b, [1]);
    b.read(0, 1);
    write(&mut b, [2]);
    let read = 545_520 + 52_880;
    assert_eq!(b.finish(), [545_520, read, read + 45_520 + 1_500_000]);
}

const SUSPEND: Suspend = Suspend {
    program_us: Some(50.0),
    erase_us: Some(100.0),
    resume_us: 20.0,
    most_per_operation: 5,
    least_progress_us: 100.0,
};

fn suspending(suspend: Suspend) -> Bench {
    Bench::with(ONE_DIE, &BASE, |drive, die| {
        die.features.cache_program_busy_us = Some(4.0);
        die.features.suspend = Some(suspend);
        drive.write_buffer.capacity_kib = 1024;
    })
    .filled(1)
}

#[test]
fn a_program_with_one_loaded_behind_it_is_not_interrupted() {
    let mut b = suspending(SUSPEND);
    write(&mut b, [1, 2]);
    b.wait(300_000);
    b.read(0, 1);
    // The second has none behind it: it is interrupted after the least progress.
    let begun = 545_520 + BUSY + 100_000;
    let read = begun + 50_000 + 52_880;
    assert_eq!(b.finish(), [545_520, read + 20_000 + 1_400_000, read - 300_000]);
    assert_eq!(b.drive.check_books(), Ok(()));
}

/// A row that comes while the die reads between two parts of a program is loaded once the program goes on, and a second read
/// then waits for both.
#[test]
fn a_program_that_goes_on_has_the_next_loaded_behind_it() {
    let mut b = suspending(SUSPEND);
    write(&mut b, [1]);
    b.wait(200_000);
    b.read(0, 1);
    b.wait(60_000);
    write(&mut b, [2]);
    b.wait(140_000);
    b.read(0, 1);
    let on = 200_000 + 50_000 + 52_880 + 20_000;
    let second = on + 345_520;
    let third = second + BUSY + 1_500_000;
    // The second read, at 400 us, finds the third loaded; nothing is behind that, so that it is interrupted.
    let again = second + BUSY + 100_000 + 50_000 + 52_880;
    let third = third + 50_000 + 52_880 + 20_000;
    // The first read has been answered meanwhile.
    assert_eq!(b.finish(), [second, third - 260_000, again - 400_000]);
    // Of another program 15.52 us are left when it goes on: too little to hide the transfer, which begins only then.
    let mut b = suspending(Suspend { program_us: Some(10.0), ..SUSPEND });
    write(&mut b, [1]);
    b.wait(530_000);
    b.read(0, 1);
    b.wait(10_000);
    write(&mut b, [2]);
    let on = 530_000 + 10_000 + 52_880 + 20_000;
    let [second, loaded] = [on + 15_520, on + 45_520];
    assert_eq!(b.finish(), [second, 62_880, loaded + 1_500_000 - 540_000]);
}

/// Of five dies on channels of their own four program at once. Rows 10 and 11 are loaded on dies 0 and 1 while die 4 reads, and
/// take over the turns of rows 5 and 6. Nothing is loaded from then on, since always some die waits.
#[test]
fn what_is_loaded_takes_over_the_turn_and_nothing_is_loaded_while_others_wait() {
    let mut b = Bench::with(Shape { dies: 5, channels: 5, ..ONE_DIE }, &BASE, |drive, die| {
        die.features.cache_program_busy_us = Some(4.0);
        drive.controller.programs_at_once = Some(4);
        drive.write_buffer.capacity_kib = 1024;
    })
    .filled(5);
    b.read(4 * ROW, 1);
    write(&mut b, 5..12);
    // The read is answered, and die 4 stands in line.
    b.wait(100_000);
    write(&mut b, 12..15);
    b.read(4 * ROW, 1);
    let [lower, upper] = [545_520, 1_545_520];
    let chained = lower + BUSY + 1_500_000;
    let rows_5_to_11 = [lower, lower, lower, lower, lower + lower, chained, chained];
    // Dies 2, 3 and 4 in line behind one another.
    let rows_12_to_14 = [lower + upper, 2 * lower + upper, chained + upper].map(|end| end - 100_000);
    assert_eq!(b.finish(), [&rows_5_to_11[..], &rows_12_to_14, &[52_880]].concat());
    assert_eq!(b.drive.check_books(), Ok(()));
    // All wait in line from the beginning: as without the key.
    let plain = |busy| {
        let mut b = Bench::with(EIGHT_DIES, &BASE, |drive, die| {
            die.features.cache_program_busy_us = busy;
            drive.controller.programs_at_once = Some(4);
            drive.write_buffer.capacity_kib = 1024;
        });
        write(&mut b, 0..16);
        b.finish()
    };
    assert_eq!(plain(Some(4.0)), plain(None));
}

/// Where the map asks for each plane by itself, nothing is loaded.
#[test]
fn rows_of_one_plane_are_not_loaded() {
    let ends = |busy| {
        let mut b = Bench::with(ONE_DIE, &BASE, |drive, die| {
            die.features.cache_program_busy_us = busy;
            drive.mapping.row = RowSpan::OnePlane;
            drive.write_buffer.capacity_kib = 1024;
        });
        write(&mut b, 0..6);
        b.finish()
    };
    assert_eq!(ends(Some(4.0)), ends(None));
}

/// What a die folds out of its cache by itself crosses no channel: a fold takes as long as ever.
#[test]
fn copies_within_a_die_are_not_loaded() {
    let erased = |busy| {
        let mut b = Bench::with(ONE_DIE, &BASE, |drive, die| {
            die.features.cache_program_busy_us = busy;
            die.modes.slc = Some(ReducedMode {
                read_us: vec![35.0],
                program_us: vec![450.0],
                erase_ms: 3.0,
                rated_program_erase_cycles: 20_000,
            });
            drive.slc_cache = Some(SlcCacheSpec {
                policy: SlcCachePolicy::OnDie,
                keep_free_per_1000: None,
                host_while_folding: None,
                capacity_gb: None,
                blocks_per_1000: Some(200),
                when_full: Some(WhenFull::Direct),
                largest_write_kib: None,
                fold_after_idle_ms: Some(50.0),
                fold_pause_ms: 10.0,
            });
            drive.gc.start_free_superblocks = 3;
            drive.capacity_bytes /= 2;
        })
        .filled(PAGES / 2 * 3);
        let mut done = Vec::new();
        while b.drive.translation().counters().block_erases == 0 {
            let at = b.drive.next_event().expect("it folds when idle");
            b.drive.advance(at, &mut done);
            b.now = at;
        }
        let counters = b.drive.translation().counters();
        assert!(counters.fold_rows >= PAGES / 2, "{counters:?}");
        b.now
    };
    assert_eq!(erased(Some(4.0)), erased(None));
}

/// Page 0 is on flash, rows 1 and 2 go to pages 1 and 2, of which the latter shares its word line with page 0. Until the array
/// begins it, the row in the register has never been, and endangers nothing.
#[test]
fn a_power_cut_finds_what_is_loaded_not_begun() {
    use Held::{Nothing, Unreadable, Write};
    for (cut, held) in [
        (545_519, [Write(1), Nothing, Nothing]),
        (547_000, [Write(1), Write(1), Nothing]),
        (549_520, [Write(1), Write(1), Nothing]),
        (549_521, [Unreadable, Write(1), Nothing]),
        (2_049_519, [Unreadable, Write(1), Nothing]),
    ] {
        let mut b = cached(ONE_DIE, &BASE).filled(1);
        write(&mut b, [1, 2]);
        b.wait(cut);
        b.drive.cut(b.now);
        b.now = b.drive.restore(b.now + 1_000_000);
        b.wait(0);
        assert_eq!([0, 1, 2].map(|row| b.drive.held(row * ROW)), held, "cut after {cut} ns");
        // The registers are empty, and the drive writes as before.
        write(&mut b, [1, 2]);
        b.finish();
        let next = |held| if held == Nothing { Write(1) } else { Write(2) };
        assert_eq!([1, 2].map(|row| b.drive.held(row * ROW)), [held[1], held[2]].map(next));
        assert_eq!(b.drive.check_books(), Ok(()));
    }
}

/// The data of the second row cross while the array programs the first, and are noted then; those of the third cross once the
/// array has taken over the second. A power cut ends what is on its way.
#[test]
fn what_is_loaded_is_noted_when_it_crosses_the_channel() {
    let noted = |cut: Option<Nanos>| {
        let mut b = cached(ONE_DIE, &BASE);
        b.drive.recorder().expect("it explains itself").record(100);
        write(&mut b, 0..3);
        match cut {
            Some(cut) => {
                b.wait(cut);
                b.drive.cut(b.now);
            }
            None => _ = b.finish(),
        }
        let timeline = b.drive.recorder().expect("it explains itself").recorded_since(0);
        let of = |part: &str| -> Vec<(Nanos, Nanos)> {
            let track = timeline.tracks.iter().find(|track| track.part == part).expect("it was at work");
            track.stretches.iter().map(|stretch| (stretch.from, stretch.to)).collect()
        };
        (of("die 0"), of("channel 0"))
    };
    let transfers = [(2_000, 45_520), (47_520, 91_040), (551_520, 595_040)];
    let programs = [(0, 545_520), (545_520, 1_049_520), (1_049_520, 2_553_520)];
    assert_eq!(noted(None), (programs.to_vec(), transfers.to_vec()));
    assert_eq!(noted(Some(60_000)), (vec![(0, 60_000)], vec![(2_000, 45_520), (47_520, 60_000)]));
}

/// A program fails while the next of its block is loaded: that goes back to the queue, behind what has to be moved, and nothing
/// is lost. Reads keep some dies from standing in line for their turn, so that others are loaded meanwhile.
#[test]
fn where_a_program_fails_what_was_loaded_is_programmed_later() {
    for most in [None, Some(4)] {
        let mut b = Bench::with(Shape { dies: 5, channels: 5, ..ONE_DIE }, &BASE, |drive, die| {
            die.features.cache_program_busy_us = Some(4.0);
            die.geometry.blocks_per_plane = 64;
            drive.mapping.reserved_blocks_per_1000 = 400;
            drive.controller.programs_at_once = most;
            drive.write_buffer.capacity_kib = 1024;
        })
        .filled(80);
        b.drive.inject(GrowingFaults { programs_per_failure: 20, erases_per_failure: 0, in_bursts: false }, 1);
        for pass in 0..8 {
            for first in (0..80).step_by(10) {
                (0..8).for_each(|k| b.read((first + 7 * k + pass) % 80 * ROW, 1));
                write(&mut b, (first..first + 10).map(|row| (row * 37 + pass) % 80));
                assert_eq!(b.finish().len(), 18, "everything is answered");
            }
        }
        let counters = b.drive.translation().counters();
        assert!(counters.program_failures >= 20 && !b.drive.is_read_only(), "{counters:?}");
        assert_eq!(b.drive.check_books(), Ok(()));
        for row in 0..80 {
            b.read(row * ROW, 4);
            b.finish();
        }
    }
}
