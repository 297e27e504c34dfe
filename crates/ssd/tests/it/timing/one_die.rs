//! What waits for a die.

use ssdlab_core::{Nanos, Op};
use ssdlab_device::Device;

use super::bench::{
    BASE, BLOCK, Bench, ONE_DIE, PAGES, ROW, ROW_TRANSFER, Shape, Times, UNIT_TRANSFER, decode, exactly,
};

#[test]
fn reads_of_one_die_follow_one_another() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, PAGES);
            b.read(0, 1);
            b.read(2 * ROW, 1);
            b.finish()
        },
        |t| {
            let first = decode(t) + t.command + t.read[0] + UNIT_TRANSFER;
            vec![first, first + t.command + t.read[1] + UNIT_TRANSFER]
        },
        &[52_880, 140_760],
    );
}

#[test]
fn a_read_waits_for_the_program_under_way_but_passes_the_one_behind_it() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, 1);
            b.send(Op::Write, ROW, ROW, true);
            b.send(Op::Write, 2 * ROW, ROW, true);
            b.read(0, 1);
            b.finish()
        },
        |t| {
            let decoded = t.turnaround + t.write_command;
            let first = decoded + t.command + ROW_TRANSFER + t.program[0];
            let read = first + t.command + t.read[0] + UNIT_TRANSFER;
            vec![first, read + t.command + ROW_TRANSFER + t.program[1], read]
        },
        &[545_520, 2_143_920, 598_400],
    );
    exactly(
        |t| {
            let mut b = Bench::written(Shape { reads_first: false, ..ONE_DIE }, t, 1);
            b.send(Op::Write, ROW, ROW, true);
            b.send(Op::Write, 2 * ROW, ROW, true);
            b.read(0, 1);
            b.finish()
        },
        |t| {
            let first = t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[0];
            let second = first + t.command + ROW_TRANSFER + t.program[1];
            vec![first, second, second + t.command + t.read[0] + UNIT_TRANSFER]
        },
        &[545_520, 2_091_040, 2_143_920],
    );
}

/// However long: a write behind 800 reads of a second each, longer than the time that a waiting program keeps can be told from a
/// later one.
#[test]
fn a_program_that_reads_pass_begins_when_the_last_of_them_has_ended() {
    const READS: u64 = 800;
    let slow = Times { read: [1_000_000_000; 2], ..BASE };
    let mut b = Bench::with(ONE_DIE, &slow, |drive, _| drive.controller.reads_in_a_row = 1000).filled(1);
    let begin = b.now;
    b.read(0, 1);
    let write = b.send(Op::Write, ROW, ROW, true);
    b.read(0, 1);
    let (mut reads, mut done) = (2, Vec::new());
    let written = loop {
        b.now = b.drive.next_event().expect("a write is under way");
        b.drive.advance(b.now, &mut done);
        if let Some(written) = done.iter().find(|c| c.tag == write) {
            break written.latency();
        }
        for _ in done.drain(..) {
            if reads < READS {
                b.read(0, 1);
                reads += 1;
            }
        }
    };
    let read = slow.command + slow.read[0] + UNIT_TRANSFER;
    assert_eq!(b.now, begin + written);
    assert_eq!(written, READS * read + slow.command + ROW_TRANSFER + slow.program[0]);
}

/// The host need not send anything meanwhile: all reads wait outside from the beginning.
#[test]
fn nor_does_a_program_wait_longer_because_the_host_is_silent_meanwhile() {
    const READS: u64 = 800;
    let slow = Times { read: [1_000_000_000; 2], ..BASE };
    let mut b = Bench::with(ONE_DIE, &slow, |drive, _| drive.controller.reads_in_a_row = 1000).filled(1);
    b.read(0, 1);
    b.send(Op::Write, ROW, ROW, true);
    (1..READS).for_each(|_| b.read(0, 1));
    let read = slow.command + slow.read[0] + UNIT_TRANSFER;
    assert_eq!(b.finish()[1], READS * read + slow.command + ROW_TRANSFER + slow.program[0]);
}

#[test]
fn a_read_waits_for_an_erase_under_way() {
    const INTO_THE_ERASE: Nanos = 1_000_000;
    exactly(
        |t| {
            // Two full blocks; the first is trimmed, and collected once the drive has been idle.
            let mut b = Bench::written(ONE_DIE, t, 2 * PAGES + 1);
            let trimmed = b.now;
            b.send(Op::Trim, 0, BLOCK, false);
            let latency = b.finish()[0];
            let erase_begins = trimmed + latency + t.background_after;
            b.now = erase_begins + INTO_THE_ERASE;
            b.drive.advance(b.now, &mut Vec::new());
            b.read(BLOCK, 1);
            b.finish()
        },
        |t| {
            let left = t.command + t.erase - INTO_THE_ERASE;
            vec![left + t.command + t.read[0] + UNIT_TRANSFER]
        },
        &[2_054_880],
    );
}
