//! What a command waited for, where that can be written out.

use ssdlab_core::{Breakdown, Cause, Nanos, Op};

use ssdlab_ssd::NotQueued;

use super::bench::{BASE, Bench, ONE_DIE, PAGES, ROW, ROW_TRANSFER, Shape, Times, UNIT_TRANSFER};

fn parts(of: &[(Cause, Nanos)]) -> Breakdown {
    let mut parts = Breakdown::NOTHING;
    of.iter().for_each(|&(cause, time)| parts.add(cause, time));
    parts
}

#[test]
fn a_flush_waits_for_the_program_under_way_and_not_for_the_read_that_follows_it() {
    let mut b = Bench::written(ONE_DIE, &BASE, PAGES);
    b.send(Op::Write, PAGES * ROW, ROW, false);
    b.wait(100_000);
    b.send(Op::Flush, 0, 0, false);
    b.read(0, 1);
    let told: Vec<_> = b.completions().iter().filter(|c| c.op != Op::Write).map(|c| c.breakdown).collect();
    let left = BASE.command + ROW_TRANSFER + BASE.program[0] - 100_000;
    let read = [(Cause::Program, left), (Cause::Read, BASE.command + BASE.read[0]), (Cause::Bus, UNIT_TRANSFER)];
    assert_eq!(told, [parts(&[(Cause::Program, left)]), parts(&read)]);
}

#[test]
fn a_write_through_waits_for_what_is_left_of_the_read_under_way() {
    let mut b = Bench::written(ONE_DIE, &BASE, PAGES);
    b.read(0, 1);
    b.wait(40_000);
    b.send(Op::Write, PAGES * ROW, ROW, true);
    let left = BASE.command + BASE.read[0] + UNIT_TRANSFER - 40_000;
    let program = BASE.command + ROW_TRANSFER + BASE.program[0];
    let told = b.completions().last().expect("the write").breakdown;
    assert_eq!(told, parts(&[(Cause::Read, left), (Cause::Program, program)]));
}

/// Two slots, and a FLUSH that goes alone between reads of what was never written: it waits for the first read, those behind it
/// wait for both, and the last of them then for a slot as well.
#[test]
fn those_before_and_behind_a_flush_that_goes_alone_know_what_they_waited_for() {
    let times = Times { read_command: 3_000, write_command: 4_000, turnaround: 6_000, ..BASE };
    let shape = Shape { queue_depth: 2, ..ONE_DIE };
    let told = |rule| {
        let mut b = Bench::with(shape, &times, |drive, _| drive.link.not_queued = rule);
        b.read(0, 1);
        b.send(Op::Flush, 0, 0, false);
        (1..4).for_each(|at| b.read(8 * at, 1));
        let of = |cause| move |c: &ssdlab_device::Completion| c.breakdown.get(cause);
        let done = b.completions();
        [Cause::NotQueued, Cause::Queue].map(|cause| done.iter().map(of(cause)).collect::<Vec<Nanos>>())
    };
    assert_eq!(told(NotQueued::Flush), [[0, 9_000, 19_000, 19_000, 19_000], [0, 0, 0, 0, 9_000]]);
    assert!(told(NotQueued::Nothing)[0].iter().all(|&time| time == 0));
}
