//! Link, processor, buffer and queue.

use ssdlab_core::{Cause, Nanos, Op};
use ssdlab_device::{Completion, Device, Held, Plug};
use ssdlab_ftl::{RowSpan, Translation};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, LinkGeneration, NotQueued, PcieSpec};

use super::bench::{
    BASE, Bench, CONTROL, FOUR_UNITS_ON_LINK, ON_SATA, ONE_DIE, PAGES, ROW, ROW_TRANSFER, Shape, TWO_CHANNELS,
    TWO_DIES, Times, UNIT_ON_LINK, UNIT_TRANSFER, decode, exactly, with_base,
};

#[test]
fn the_link_carries_one_frame_at_a_time_in_both_directions() {
    // Reads of what was never written come from nowhere: command frame, data, status.
    exactly(
        |t| {
            let mut b = Bench::new(ON_SATA, t);
            b.read(0, 1);
            b.read(8, 1);
            b.finish()
        },
        |t| {
            let first = t.turnaround + CONTROL + t.read_command + t.read_unit;
            let second_decoded = first + t.read_command + t.read_unit;
            let second = (first + UNIT_ON_LINK).max(second_decoded);
            vec![first + UNIT_ON_LINK + CONTROL, second + UNIT_ON_LINK + CONTROL]
        },
        &[8_724, 16_506],
    );
    exactly(
        |t| {
            let mut b = Bench::new(ON_SATA, t);
            b.send(Op::Write, 0, 1, false);
            b.read(8, 1);
            b.send(Op::Write, 1, 1, false);
            b.finish()
        },
        |t| {
            let first = t.turnaround + CONTROL + t.write_command;
            let on_link = |k: Nanos| first + k * UNIT_ON_LINK + CONTROL;
            vec![on_link(1), on_link(2), on_link(3)]
        },
        &[8_724, 16_506, 24_288],
    );
}

/// PCI Express 3.0 with four lanes: 254.586 ps a byte. A doorbell of 28 bytes, half a microsecond until the command comes, and 84
/// bytes of it; 68 bytes of completion and interrupt.
const PCIE_COMMAND: Nanos = 8 + 500 + 22;
const PCIE_STATUS: Nanos = 18;
/// 4 KiB in 16 packets, with 24 bytes around each towards the host and 20 towards the drive.
const PCIE_UNIT_TO_HOST: Nanos = 1_141;
const PCIE_UNIT_TO_DRIVE: Nanos = 1_125;

fn on_pcie(t: &Times) -> Bench {
    on_pcie_with(t, |_, _| ())
}

fn on_pcie_with(t: &Times, change: impl FnOnce(&mut DriveSpec, &mut DieSpec)) -> Bench {
    Bench::with(Shape { link: LinkGeneration::Pcie3, ..ONE_DIE }, t, |drive, die| {
        drive.link.pcie = Some(PcieSpec { lanes: 4, max_payload_bytes: 256, host_read_us: 0.5 });
        change(drive, die);
    })
}

#[test]
fn pci_express_carries_data_both_ways_at_once() {
    exactly(
        |t| {
            let mut b = on_pcie(t);
            b.read(0, 1);
            b.read(8, 1);
            b.finish()
        },
        |t| {
            let first = t.turnaround + PCIE_COMMAND + t.read_command + t.read_unit;
            // What ends the first goes in between the data of both.
            let second = (first + PCIE_UNIT_TO_HOST + PCIE_STATUS).max(first + t.read_command + t.read_unit);
            vec![first + PCIE_UNIT_TO_HOST + PCIE_STATUS, second + PCIE_UNIT_TO_HOST + PCIE_STATUS]
        },
        &[1_689, 2_848],
    );
    exactly(
        |t| {
            let mut b = on_pcie(t);
            b.send(Op::Write, 0, 1, false);
            b.read(8, 1);
            b.send(Op::Write, 1, 1, false);
            b.finish()
        },
        |t| {
            let decoded = t.turnaround + PCIE_COMMAND + t.write_command;
            // What the drive asks for data with, and how they are acknowledged, finds room while nothing else is sent that way.
            // Acknowledgements of the data of the read, 64 bytes, do not.
            let answers = |k: Nanos| if k > 1 { 17 } else { 0 };
            // What ends the first write is booked with its data.
            let read = decoded + PCIE_STATUS + PCIE_UNIT_TO_HOST + PCIE_STATUS;
            let write = |k: Nanos| decoded + 500 + k * PCIE_UNIT_TO_DRIVE + answers(k) + PCIE_STATUS;
            vec![write(1), read, write(2)]
        },
        &[2_173, 1_707, 3_315],
    );
}

/// From when a write of a row was decoded until its data are in the drive: the list of its pages, and the first and the last of
/// the data; the time of a unit is rounded down.
const ROW_TO_DRIVE: Nanos = 500 + 500 + 4 * (PCIE_UNIT_TO_DRIVE - 1);
/// The data of a read, and its end.
const READ_TO_HOST: Nanos = PCIE_UNIT_TO_HOST + PCIE_STATUS;

/// A read that is decoded while the data of a write are on the link finds the die free, and goes first.
#[test]
fn a_die_is_free_until_the_data_that_it_is_to_program_have_come() {
    exactly(
        |t| {
            let mut b = on_pcie(t).filled(PAGES);
            b.send(Op::Write, PAGES * ROW, ROW, true);
            b.read(0, 1);
            [b.finish(), b.finish()].concat()
        },
        |t| {
            let command = t.turnaround + PCIE_COMMAND;
            let write = t.write_command + ROW * t.write_unit;
            let decoded = command + write.max(t.read_command + t.read_unit);
            let read = decoded + t.command + t.read[0] + UNIT_TRANSFER;
            vec![read + READ_TO_HOST, read + t.command + ROW_TRANSFER + t.program[0] + PCIE_STATUS]
        },
        &[54_569, 598_948],
    );
}

/// The same where the die programs, and could load what is to be programmed next: that would go before the read.
#[test]
fn a_program_is_not_loaded_before_its_data_have_come() {
    let since = 100_000;
    let second_write = |reads: bool| {
        let mut b = on_pcie_with(&BASE, |_, die| die.features.cache_program_busy_us = Some(4.0)).filled(PAGES);
        b.send(Op::Write, PAGES * ROW, ROW, true);
        b.wait(since);
        let second = b.send(Op::Write, PAGES * ROW + ROW, ROW, true);
        if reads {
            b.read(0, 1);
        }
        let done = [b.completions(), b.completions()].concat();
        let of = |tag| move |c: &Completion| (c.tag == tag).then(|| c.latency());
        [second, second + 1].map(|tag| done.iter().find_map(of(tag)))
    };
    let first = PCIE_COMMAND + ROW_TO_DRIVE + BASE.command + ROW_TRANSFER + BASE.program[0];
    let read = first + BASE.command + BASE.read[0] + UNIT_TRANSFER;
    let behind_it = read + BASE.command + ROW_TRANSFER + BASE.program[0] + PCIE_STATUS;
    assert_eq!(second_write(true), [Some(behind_it - since), Some(read + READ_TO_HOST - since)]);
    // Without a read it is loaded once they are there, while the array programs.
    assert_eq!(second_write(false), [Some(first + 4_000 + BASE.program[0] + PCIE_STATUS - since), None]);
}

/// Pages of two planes that come one after the other are programmed together, once both have come.
#[test]
fn what_goes_together_is_waited_for() {
    let mut b = on_pcie_with(&BASE, |drive, _| drive.mapping.row = RowSpan::OnePlane);
    b.send(Op::Write, 0, ROW, true);
    let programmed = PCIE_COMMAND + ROW_TO_DRIVE + BASE.command + ROW_TRANSFER + BASE.program[0];
    assert_eq!(b.finish(), [programmed + PCIE_STATUS]);
}

#[test]
fn the_ranges_of_a_trim_are_fetched_and_those_behind_it_do_not_wait_for_them() {
    exactly(
        |t| {
            let mut b = on_pcie(t);
            b.send(Op::Trim, 0, 1, false);
            b.finish()
        },
        |t| vec![t.turnaround + PCIE_COMMAND + t.write_command + 500 + PCIE_STATUS],
        &[1_048],
    );
    // A long write, and a read behind it: the list is fetched beside the processor.
    exactly(
        |t| {
            let mut b = on_pcie(t);
            b.send(Op::Write, 0, 4, false);
            b.read(8, 1);
            b.finish()
        },
        |t| {
            let data = (4 * (4096 + 16 * 20) * 254_586u64).div_ceil(1_000_000);
            let write = t.turnaround + PCIE_COMMAND + t.write_command + 500 + 500 + data + PCIE_STATUS;
            let to_host = t.turnaround + PCIE_COMMAND + t.write_command + PCIE_STATUS;
            vec![write, to_host + PCIE_UNIT_TO_HOST + PCIE_STATUS]
        },
        &[6_046, 1_707],
    );
}

#[test]
fn the_list_of_pages_of_a_long_write_is_fetched_first() {
    let write = |units| {
        exactly(
            move |t| {
                let mut b = on_pcie(t);
                b.send(Op::Write, 0, units, false);
                b.finish()
            },
            move |t| {
                let list = if units > 2 { 500 } else { 0 };
                let bytes = units * (4096 + 16 * 20);
                let data = (bytes * 254_586).div_ceil(1_000_000);
                vec![t.turnaround + PCIE_COMMAND + list + t.write_command + 500 + data + PCIE_STATUS]
            },
            &[if units > 2 { 6_046 } else { 3_297 }],
        );
    };
    write(2);
    write(4);
}

#[test]
fn the_host_controller_holds_the_wire_for_each_frame_and_between_two_commands() {
    exactly(
        |t| {
            let mut b = Bench::with(ON_SATA, t, |drive, _| {
                (drive.link.host_frame_us, drive.link.host_command_us) = (0.5, 2.0);
            });
            b.read(0, 4);
            b.read(8, 1);
            b.finish()
        },
        |t| {
            // Four units are two frames.
            let first = t.turnaround + CONTROL + t.read_command + t.read_unit;
            let four = FOUR_UNITS_ON_LINK + 2 * 500;
            vec![first + four + CONTROL, first + four + 2_000 + UNIT_ON_LINK + 500 + CONTROL]
        },
        &[30_798, 41_080],
    );
}

#[test]
fn a_drive_asks_for_every_frame_of_a_write_but_the_first() {
    exactly(
        |t| {
            let mut b = Bench::new(ON_SATA, t);
            b.send(Op::Write, 0, 4, false);
            b.finish()
        },
        // 256 bytes more than for a read of as much.
        |t| vec![t.turnaround + CONTROL + t.write_command + FOUR_UNITS_ON_LINK + 430 + CONTROL],
        &[30_228],
    );
}

/// A flush between reads, and a TRIM between reads: where they are queued, and where they are sent alone.
#[test]
fn a_command_that_is_sent_alone_waits_for_all_others_and_holds_back_the_next() {
    let base = Times { read_command: 3_000, write_command: 4_000, turnaround: 6_000, ..BASE };
    for (op, rule, alone) in [
        (Op::Flush, NotQueued::Nothing, false),
        (Op::Flush, NotQueued::Flush, true),
        (Op::Trim, NotQueued::Flush, false),
        (Op::Trim, NotQueued::FlushAndTrim, true),
    ] {
        with_base(
            base,
            |t| {
                let mut b = Bench::with(ONE_DIE, t, |drive, _| drive.link.not_queued = rule);
                b.read(0, 1);
                b.send(op, 4, if op == Op::Trim { 1 } else { 0 }, false);
                b.read(8, 1);
                b.finish()
            },
            |t| {
                // Nothing was written: a read is as long as its decoding.
                if alone {
                    let first = t.turnaround + t.read_command + t.read_unit;
                    let second = first + t.turnaround + t.write_command;
                    vec![first, second, second + t.turnaround + t.read_command + t.read_unit]
                } else {
                    let first = t.turnaround + t.read_command + t.read_unit;
                    let second = first + t.write_command;
                    vec![first, second, second + t.read_command + t.read_unit]
                }
            },
            if alone { &[9_000, 19_000, 28_000] } else { &[9_000, 13_000, 16_000] },
        );
    }
}

#[test]
fn trim_takes_its_time_for_ranges_and_map_pages() {
    exactly(
        |t| {
            let mut b = Bench::with(ONE_DIE, t, |drive, _| {
                let c = &mut drive.controller;
                (c.trim_command_us, c.trim_range_us, c.trim_map_page_us) = (Some(100.0), 5.0, 1.0);
            });
            b.send(Op::Trim, 0, 8, false);
            b.finish()
        },
        |t| vec![t.turnaround + 106_000],
        &[106_000],
    );
}

/// Six writes of one unit that wait for flash, which come at once: one row each, or two rows in all.
#[test]
fn writes_that_wait_for_flash_share_a_row_with_those_that_come_at_once() {
    for (joins, rows, last) in [(false, 6, 6 * 545_520), (true, 2, 2 * 545_520)] {
        let mut b = Bench::with(ONE_DIE, &BASE, |drive, _| drive.write_buffer.joins_waiting_writes = joins);
        for unit in [0, 9, 18, 27, 36, 45] {
            b.send(Op::Write, unit, 1, true);
        }
        let done = b.finish();
        assert_eq!(b.drive.translation().counters().host_rows, rows);
        // Pages 0, 2, 4 … of the block are lower pages: the sixth row is the first upper one of two.
        let upper = if joins { 0 } else { 2 } * (BASE.program[1] - BASE.program[0]);
        assert_eq!(done.iter().max(), Some(&(last + upper)), "{joins}");
    }
}

/// The firmware decodes a second write for 20 ms: the first waits for it for half a millisecond, and for no die meanwhile.
#[test]
fn a_write_that_waits_for_others_to_join_it_goes_without_them_after_half_a_millisecond() {
    let times = Times { write_command: 20_000_000, ..BASE };
    let mut b = Bench::with(ONE_DIE, &times, |drive, _| drive.write_buffer.joins_waiting_writes = true);
    b.send(Op::Write, 0, 1, true);
    b.send(Op::Write, 9, 1, true);
    let done = b.completions();
    let told = |k: usize| [Cause::Controller, Cause::Program].map(|cause| done[k].breakdown.get(cause));
    assert_eq!([0, 1].map(|k| done[k].latency()), [20_500_000 + 545_520, 40_000_000 + 545_520]);
    assert_eq!([0, 1].map(told), [[20_500_000, 545_520], [40_000_000, 545_520]]);
}

/// Reads pass the program of one forced write; the other's die has nothing else to do. A FLUSH waits for both.
#[test]
fn a_forced_write_waits_for_its_own_data_and_a_flush_for_all() {
    let begin = || {
        let mut b = Bench::written(TWO_CHANNELS, &BASE, 2);
        (0..3).for_each(|unit| b.read(unit, 1));
        b.send(Op::Write, 2 * ROW, ROW, true);
        b.send(Op::Write, 3 * ROW, ROW, true);
        b.send(Op::Flush, 0, 0, false);
        b
    };
    let [first, second] = [3 * 52_880 + 545_520, 545_520];
    let mut b = begin();
    let done = b.completions();
    assert_eq!([3, 4, 5].map(|k| done[k].latency()), [first, second, first]);
    let told = |k: usize| [Cause::Read, Cause::Program].map(|cause| done[k].breakdown.get(cause));
    assert_eq!([3, 4].map(told), [[3 * 52_880, 545_520], [0, 545_520]]);
    // Of what was answered nothing is lost, though what came before it was not on flash.
    for (cut, held) in [(second - 1, [Held::Nothing; 2]), (second, [Held::Nothing, Held::Write(1)])] {
        let mut b = begin();
        b.wait(cut);
        b.drive.cut(b.now);
        b.now = b.drive.restore(b.now + 1_000_000);
        b.wait(0);
        assert_eq!([2, 3].map(|row| b.drive.held(row * ROW)), held, "cut after {cut} ns");
    }
}

/// A second group comes while the first is being programmed: it shares a row as well.
#[test]
fn those_that_come_while_others_are_programmed_share_a_row_too() {
    let times = Times { write_command: 10_000, ..BASE };
    let mut b = Bench::with(TWO_DIES, &times, |drive, _| drive.write_buffer.joins_waiting_writes = true);
    for (group, wait) in [(0, 0), (1, 510_000), (2, 30_000)] {
        b.wait(wait);
        for unit in 0..4 {
            b.send(Op::Write, 4 * group + unit, 1, true);
        }
    }
    b.finish();
    assert_eq!(b.drive.translation().counters().host_rows, 3);
}

/// Three writes that wait for nothing come while one that waits for flash is programmed: they are not a row yet.
#[test]
fn a_write_that_waits_for_flash_sends_out_what_came_before_it_and_nothing_after() {
    for joins in [false, true] {
        let mut b = Bench::with(ONE_DIE, &BASE, |drive, _| drive.write_buffer.joins_waiting_writes = joins);
        b.send(Op::Write, 0, 1, false);
        b.send(Op::Write, 9, 1, true);
        b.wait(100_000);
        for unit in [18, 27, 36] {
            b.send(Op::Write, unit, 1, false);
        }
        b.wait(1_000_000);
        let (rows, waiting) = (b.drive.translation().counters().host_rows, b.drive.translation().waiting_units());
        assert_eq!((rows, waiting), (1, 3), "{joins}");
    }
}

/// The drive falls idle, and is to write its buffer out, before its dies can take another row.
#[test]
fn what_an_idle_drive_cannot_write_out_at_once_goes_as_soon_as_there_is_room() {
    let mut b = Bench::with(TWO_DIES, &BASE, |drive, _| {
        (drive.write_buffer.flush_after_idle_ms, drive.write_buffer.capacity_kib) = (0.1, 128);
    });
    b.send(Op::Write, 0, 4 * ROW + 1, false);
    b.wait(200_000);
    assert_eq!(b.drive.translation().waiting_units(), 1);
    b.wait(10_000_000);
    assert_eq!(b.drive.translation().buffered_units(), 0);
}

#[test]
fn what_a_stream_reads_ahead_of_addresses_that_hold_nothing_is_counted_as_such() {
    let mut b = Bench::with(ONE_DIE, &BASE, |drive, _| drive.controller.read_ahead_kib = 64);
    for unit in 0..64 {
        b.read(unit, 1);
        b.finish();
    }
    let flash = b.drive.counters().flash.expect("an SSD");
    assert_eq!((flash.unmapped_read_bytes, flash.buffer_read_units), (64 * 4096, 0));
}

#[test]
fn the_processor_does_one_command_at_a_time() {
    let base = Times {
        turnaround: 6_000,
        read_command: 6_000,
        read_unit: 5_000,
        write_command: 4_000,
        write_unit: 9_000,
        ..BASE
    };
    with_base(
        base,
        |t| {
            let mut b = Bench::new(ONE_DIE, t);
            b.send(Op::Write, 0, 2, false);
            b.read(8, 2);
            b.read(16, 1);
            b.finish()
        },
        |t| {
            let write = t.turnaround + t.write_command + 2 * t.write_unit;
            let read = write + t.read_command + 2 * t.read_unit;
            vec![write, read, read + t.read_command + t.read_unit]
        },
        &[28_000, 44_000, 55_000],
    );
}

/// A program of 545.52 us ends; the processor sees to that for 50 us. A read of a page that was never written is as long as
/// what it waits for.
#[test]
fn a_command_that_meets_the_end_of_a_program_waits_for_the_processor() {
    for (program_end_us, after, waits) in [(50.0, 20_000, 30_000), (50.0, 50_000, 0), (0.0, 20_000, 0)] {
        let mut b = Bench::with(ONE_DIE, &BASE, |drive, _| drive.controller.program_end_us = program_end_us);
        b.send(Op::Write, 0, ROW, true);
        b.wait(545_520 + after);
        b.read(10 * ROW, 1);
        assert_eq!(b.finish(), [waits], "{program_end_us} us, {after} ns after the end");
    }
}

#[test]
fn a_write_into_a_full_buffer_waits_for_the_program_that_makes_room() {
    // 64 KiB hold four rows of four units.
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, 0);
            (0..6).for_each(|row| {
                b.send(Op::Write, row * ROW, ROW, false);
            });
            b.finish()
        },
        |t| {
            let each = t.write_command + 4 * t.write_unit;
            let done = |k: Nanos| t.turnaround + k * each;
            let programmed = t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[0];
            vec![done(1), done(2), done(3), done(4), programmed, programmed + t.command + ROW_TRANSFER + t.program[0]]
        },
        &[0, 0, 0, 0, 545_520, 1_091_040],
    );
}

#[test]
fn a_command_beyond_the_queue_depth_is_sent_when_a_slot_is_free() {
    exactly(
        |t| {
            let mut b = Bench::written(Shape { queue_depth: 1, ..TWO_CHANNELS }, t, 2);
            b.read(0, 1);
            b.read(ROW, 1);
            b.finish()
        },
        |t| {
            let each = decode(t) + t.command + t.read[0] + UNIT_TRANSFER;
            vec![each, 2 * each]
        },
        &[52_880, 105_760],
    );
}
