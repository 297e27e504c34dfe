//! The processor: its cores, and the stretches in which data move.

use ssdlab_core::{Cause, Nanos, Op, Rng};
use ssdlab_device::Completion;
use ssdlab_ftl::Translation;
use ssdlab_ssd::Cores;

use super::bench::{BASE, BLOCK, Bench, ONE_DIE, ROW, Times};

const TIMES: Times = Times { read_command: 6_000, read_unit: 5_000, write_command: 4_000, write_unit: 9_000, ..BASE };

const ALL: [Cores; 3] = [Cores::One, Cores::HostAndFlash, Cores::HostMapAndFlash];

fn bench(cores: Cores) -> Bench {
    Bench::with(ONE_DIE, &TIMES, |drive, _| drive.controller.cores = cores)
}

/// What was never written is as long in coming as its decoding: 11 us each on one core; with a core for the map, the next command
/// is taken in while the last one is looked up, and the slower of the two sets the pace.
#[test]
fn a_core_for_the_map_looks_one_command_up_while_the_next_is_taken_in() {
    for cores in ALL {
        let mut b = bench(cores);
        for k in 0..5 {
            b.read(8 * k, 1);
        }
        let each = if cores == Cores::HostMapAndFlash { 6_000 } else { 11_000 };
        let expected: Vec<Nanos> = (0..5).map(|k| 11_000 + k * each).collect();
        assert_eq!(b.finish(), expected, "{cores:?}");
    }
}

/// A write of two units, and a read and a flush behind it, that come at once: the map is updated for 18 us. The write is answered
/// when that is done, and nothing overtakes it.
#[test]
fn commands_come_up_in_the_order_in_which_they_came() {
    for cores in ALL {
        let mut b = bench(cores);
        b.send(Op::Write, 0, 2, false);
        b.read(8, 1);
        b.read(16, 2);
        let expected = if cores == Cores::HostMapAndFlash {
            // Taken in at 4, 10 and 16; looked up from 22 on, by 5 a unit.
            [22_000, 27_000, 37_000]
        } else {
            [22_000, 33_000, 49_000]
        };
        assert_eq!(b.finish(), expected, "{cores:?}");
    }
}

/// A program of 545.52 us ends; the firmware sees to that for 50 us, and a read comes 20 us after the end.
#[test]
fn the_end_of_a_program_holds_up_no_command_where_another_core_sees_to_it() {
    for (cores, waits) in [(Cores::One, 30_000), (Cores::HostAndFlash, 0), (Cores::HostMapAndFlash, 0)] {
        let mut b = Bench::with(ONE_DIE, &BASE, |drive, _| {
            (drive.controller.cores, drive.controller.program_end_us) = (cores, 50.0);
        });
        b.send(Op::Write, 0, ROW, true);
        b.wait(545_520 + 20_000);
        b.read(10 * ROW, 1);
        assert_eq!(b.finish(), [waits], "{cores:?}");
    }
}

/// The same program, and two commands that the host lets go of 2 us before it ends and that arrive 4 us after: the end comes first,
/// and both are decoded later. One that the host lets go of 4 us earlier arrives 2 us before the end, and has passed through by then
/// but for its second unit.
#[test]
fn the_end_of_a_program_comes_before_commands_that_are_still_on_their_way() {
    for cores in ALL {
        let sent = |before_us: u64, op: Op| {
            let times = Times { turnaround: 6_000, write_command: 1_500, write_unit: 3_000, read_unit: 1_000, ..BASE };
            let mut b = Bench::with(ONE_DIE, &times, |drive, _| {
                (drive.controller.cores, drive.controller.program_end_us) = (cores, 50.0);
            });
            b.send(Op::Write, 0, ROW, true);
            // Turnaround, decoding, transfer, the program, and what is programmed with it.
            let ended = 6_000 + 1_500 + 545_520;
            b.wait(ended - before_us * 1_000);
            b.send(op, 10 * ROW, 2, false);
            b.read(20 * ROW, 1);
            let ends: Vec<(Nanos, Nanos)> =
                b.completions().iter().map(|c| (c.latency(), c.breakdown.get(Cause::Controller))).collect();
            ends[ends.len() - 2..].to_vec()
        };
        let later = if cores == Cores::One { 46_000 } else { 0 };
        let write = (6_000 + 7_500 + later, 7_500 + later);
        assert_eq!(sent(2, Op::Write), [write, (write.0 + 1_000, write.1 + 1_000)], "{cores:?}");
        // It was begun before the program ended: the read behind it arrived before the end as well.
        assert_eq!(sent(8, Op::Write), [(13_500, 7_500), (14_500, 8_500)], "{cores:?}");
        let read = (6_000 + 2_000 + later, 2_000 + later);
        assert_eq!(sent(2, Op::Read), [read, (read.0 + 1_000, read.1 + 1_000)], "{cores:?}");
    }
}

/// The collector moves data, 100 us a unit. Of eight writes and eight reads of what was never written, which come at once, the last
/// read is as long as the decoding of all.
#[test]
fn what_the_collector_moves_holds_up_no_command_where_it_has_a_core_of_its_own() {
    let longest = ALL.map(|cores| {
        let mut b = Bench::with(ONE_DIE, &TIMES, |drive, _| {
            (drive.controller.cores, drive.controller.move_unit_us) = (cores, 100.0);
        });
        let (units, mut rng) = (8 * BLOCK, Rng::new(1));
        let reads = (0..1_000).map(|_| {
            for _ in 0..8 {
                b.send(Op::Write, 1 + rng.below(units - 1), 1, false);
                b.read(0, 1);
            }
            b.finish()[15]
        });
        let longest = reads.max();
        let moved = b.drive.translation().counters().gc_units;
        assert!(moved > 500, "{cores:?}: {moved} moved");
        longest.expect("there were some")
    });
    let [one, host_and_flash, host_map_and_flash] = longest;
    assert!(one >= 292_000, "{longest:?}");
    // All that commands take; what they take of the map, from the end of the first command on.
    assert_eq!((host_and_flash, host_map_and_flash), (8 * 24_000, 4_000 + 8 * 14_000));
}

/// Reads and writes of one row and of two, whose second stretch takes 700 us: more than the dies need.
#[test]
fn each_stretch_of_a_command_but_the_first_is_set_up_by_itself() {
    for cores in ALL {
        let mut b = Bench::with(ONE_DIE, &TIMES, |drive, _| {
            (drive.controller.cores, drive.controller.dma_extent_us) = (cores, 700.0);
        });
        for (units, extents) in [(1, 0), (ROW, 0), (ROW + 1, 1), (2 * ROW, 1), (2 * ROW + 1, 2)] {
            b.send(Op::Write, 0, units, false);
            let took = 4_000 + units * 9_000 + extents * 700_000;
            assert_eq!(b.finish(), [took], "{cores:?}, writes of {units}");
            b.send(Op::Flush, 0, 0, false);
            b.finish();
        }
        let mut b = b.filled(4);
        for (rows, expected) in [(1, None), (2, Some(700_000)), (3, Some(1_400_000))] {
            b.read(0, rows * ROW);
            let took = b.finish()[0];
            let looked_up = 6_000 + rows * ROW * 5_000;
            match expected {
                None => assert!(took < 200_000, "{cores:?}: {took}"),
                Some(extents) => assert_eq!(took, looked_up + extents, "{cores:?}, reads of {rows} rows"),
            }
            b.wait(10_000_000);
        }
    }
}

/// Four commands of a kind at once, which the processor works on one after the other: each ends by the same time later, for which
/// the controller is to blame and nothing else.
#[test]
fn latency_makes_each_command_later_and_holds_up_none() {
    for cores in ALL {
        let ends = |latency_us: [f64; 2], op: Op| {
            let mut b = Bench::with(ONE_DIE, &TIMES, |drive, _| {
                drive.controller.cores = cores;
                [drive.controller.read_latency_us, drive.controller.write_latency_us] = latency_us;
            });
            for k in 0..4 {
                b.send(op, 8 * k, 1, false);
            }
            b.completions()
        };
        for (op, latency_us, later) in
            [(Op::Read, [24.0, 0.0], 24_000), (Op::Read, [0.0, 11.6], 0), (Op::Write, [24.0, 11.6], 11_600)]
        {
            let told = |ends: &[Completion]| -> Vec<(Nanos, Nanos)> {
                ends.iter().map(|c| (c.latency(), c.breakdown.get(Cause::Controller))).collect()
            };
            let without = told(&ends([0.0, 0.0], op));
            let expected: Vec<_> =
                without.iter().map(|(latency, controller)| (latency + later, controller + later)).collect();
            assert_eq!(told(&ends(latency_us, op)), expected, "{cores:?}, {op:?}, {latency_us:?}");
        }
    }
}
