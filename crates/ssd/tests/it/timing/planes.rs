//! Drives that program the planes of a die one by one: here a die of two planes, whose pages have two units.

use ssdlab_core::{Nanos, Op};
use ssdlab_device::{Device, Held, Plug};
use ssdlab_ftl::RowSpan;
use ssdlab_nand::DieSpec;
use ssdlab_ssd::DriveSpec;

use super::bench::{BASE, Bench, ONE_DIE, PAGES, ROW, ROW_TRANSFER, Shape, Times, UNIT_TRANSFER, decode, exactly};

const PAGE: u64 = ROW / 2;
const PAGE_TRANSFER: Nanos = ROW_TRANSFER / 2;
/// A page that is programmed alone, on the base drive.
const ALONE: Nanos = 2_000 + PAGE_TRANSFER + 500_000;

fn rows_of(row: RowSpan) -> impl Fn(&mut DriveSpec, &mut DieSpec) {
    move |drive, _| drive.mapping.row = row
}

/// Pages written at once with forced unit access, each given by its first unit: when each is on flash.
fn forced(row: RowSpan, t: &Times, first_units: &[u64]) -> Vec<Nanos> {
    let mut b = Bench::with(ONE_DIE, t, rows_of(row));
    first_units.iter().for_each(|&unit| _ = b.send(Op::Write, unit, PAGE, true));
    b.finish()
}

#[test]
fn a_page_of_one_plane_is_programmed_by_itself_without_padding() {
    exactly(
        |t| forced(RowSpan::OnePlane, t, &[0]),
        |t| vec![t.turnaround + t.write_command + t.command + PAGE_TRANSFER + t.program[0]],
        &[ALONE],
    );
    let programmed = |row| {
        let mut b = Bench::with(ONE_DIE, &BASE, rows_of(row));
        b.send(Op::Write, 0, PAGE, true);
        let latency = b.finish()[0];
        (latency, b.drive.counters().flash.expect("it has flash").host_program_bytes)
    };
    assert_eq!(programmed(RowSpan::OnePlane), (ALONE, 8192));
    assert_eq!(programmed(RowSpan::AllPlanes), (ALONE + PAGE_TRANSFER, 16_384), "the other plane's page is padding");
}

#[test]
fn pages_of_both_planes_that_come_together_are_programmed_at_once() {
    for row in [RowSpan::OnePlane, RowSpan::OnePlaneRuns] {
        exactly(
            |t| {
                let mut b = Bench::with(ONE_DIE, t, rows_of(row));
                b.send(Op::Write, 0, ROW, true);
                b.finish()
            },
            |t| vec![t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[0]],
            &[ALONE + PAGE_TRANSFER],
        );
    }
}

#[test]
fn a_page_waits_for_the_die_while_another_of_its_planes_is_programmed() {
    exactly(
        |t| forced(RowSpan::OnePlane, t, &[0, 8]),
        |t| {
            let each = t.command + PAGE_TRANSFER + t.program[0];
            let first = t.turnaround + t.write_command + each;
            vec![first, first + each]
        },
        &[ALONE, 2 * ALONE],
    );
}

#[test]
fn small_writes_that_wait_are_programmed_together_unless_only_runs_are() {
    // The first begins at once and the second is on the page of the first, so that the other two are the first that can go
    // together.
    let scattered = [0, 8, 16, 24];
    let joined = ALONE + PAGE_TRANSFER;
    assert_eq!(
        forced(RowSpan::OnePlane, &BASE, &scattered),
        [ALONE, 2 * ALONE, 2 * ALONE + joined, 2 * ALONE + joined]
    );
    assert_eq!(forced(RowSpan::OnePlaneRuns, &BASE, &scattered), [ALONE, 2 * ALONE, 3 * ALONE, 4 * ALONE]);
    assert_eq!(
        forced(RowSpan::OnePlaneRuns, &BASE, &[0, 8, 16, 18]),
        [ALONE, 2 * ALONE, 2 * ALONE + joined, 2 * ALONE + joined]
    );
}

#[test]
fn pages_of_both_planes_are_read_at_once_and_a_page_alone_brings_nothing_else() {
    exactly(
        |t| {
            let mut b = Bench::with(ONE_DIE, t, rows_of(RowSpan::OnePlane)).filled(2);
            let mut latencies = Vec::new();
            for (unit, units) in [(0, ROW), (PAGE, PAGE)] {
                b.read(unit, units);
                latencies.extend(b.finish());
            }
            latencies
        },
        |t| {
            let sensed = decode(t) + t.command + t.read[0];
            vec![sensed + ROW_TRANSFER, sensed + PAGE_TRANSFER]
        },
        &[85_520, 63_760],
    );
}

#[test]
fn the_blocks_of_both_planes_are_erased_at_once() {
    let waits_for_erase = |row| {
        let shape = Shape { reads_first: false, ..ONE_DIE };
        let change = |drive: &mut DriveSpec, _: &mut DieSpec| {
            drive.mapping.row = row;
            drive.gc.erases_what_trim_empties = true;
        };
        let mut b = Bench::with(shape, &BASE, change).filled(PAGES + 1);
        b.send(Op::Trim, 0, PAGES * ROW, false);
        b.read(PAGES * ROW, 1);
        b.finish()[1]
    };
    let expected = 2_000 + 3_000_000 + 2_000 + 40_000 + UNIT_TRANSFER;
    assert_eq!([RowSpan::AllPlanes, RowSpan::OnePlane].map(waits_for_erase), [expected; 2]);
}

#[test]
fn a_cut_tears_the_pages_that_are_being_programmed_and_spares_that_of_the_other_plane() {
    let held = |b: &Bench| [0, PAGE, ROW, ROW + PAGE].map(|unit| b.drive.held(unit));
    let mut b = Bench::with(ONE_DIE, &BASE, rows_of(RowSpan::OnePlane));
    b.send(Op::Write, 0, PAGE, true);
    b.finish();
    // The page of the other plane alone …
    b.send(Op::Write, PAGE, PAGE, true);
    b.wait(ALONE / 2);
    b.drive.cut(b.now);
    b.now = b.drive.restore(b.now);
    assert_eq!(held(&b), [Held::Write(1), Held::Nothing, Held::Nothing, Held::Nothing]);
    // … and those of both at once.
    b.tag = 2;
    b.send(Op::Write, ROW, ROW, true);
    b.wait(ALONE / 2);
    b.drive.cut(b.now);
    b.now = b.drive.restore(b.now);
    assert_eq!(held(&b), [Held::Write(1), Held::Nothing, Held::Nothing, Held::Nothing]);
    b.tag = 3;
    b.send(Op::Write, PAGE, ROW + PAGE, true);
    b.finish();
    assert!(held(&b).iter().all(|held| matches!(held, Held::Write(_))), "{:?}", held(&b));
    b.drive.check_books().expect("the books balance");
}
