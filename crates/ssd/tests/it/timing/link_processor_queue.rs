//! Link, processor, buffer and queue.

use ssdlab_core::{Nanos, Op};

use super::bench::{
    BASE, Bench, CONTROL, ON_SATA, ONE_DIE, ROW, ROW_TRANSFER, Shape, TWO_CHANNELS, Times, UNIT_ON_LINK, UNIT_TRANSFER,
    decode, exactly, with_base,
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
