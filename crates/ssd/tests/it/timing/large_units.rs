//! Drives that map units of more than 4 KiB: here 8, a page of the die, so that a row has two.

use ssdlab_core::{Op, Rng};
use ssdlab_device::Device;
use ssdlab_ftl::Translation;
use ssdlab_nand::LogicalPage;

use super::bench::{BASE, Bench, ON_SATA, ONE_DIE, ROW, ROW_TRANSFER, Shape, Times, UNIT_TRANSFER, exactly};

const UNIT_BYTES: u64 = 8192;

/// Rows on flash, as [`Bench::written`].
fn written(shape: Shape, t: &Times, rows: u64, granule_bytes: Option<u32>) -> Bench {
    let mut b = Bench::with(shape, t, |drive, _| {
        drive.mapping.unit_kib = 8;
        drive.controller.read_granule_bytes = granule_bytes;
    });
    (0..rows).for_each(|row| {
        b.send(Op::Write, row * ROW, ROW, false);
        b.send(Op::Flush, 0, 0, false);
        b.finish();
    });
    b
}

#[test]
fn a_read_of_a_half_brings_the_whole_unit_unless_the_drive_reads_parts() {
    exactly(
        |t| {
            let mut latencies = Vec::new();
            for granule in [None, Some(4096)] {
                let mut b = written(ONE_DIE, t, 1, granule);
                b.send(Op::Read, 1, 1, false);
                latencies.extend(b.finish());
            }
            latencies
        },
        |t| {
            let sensed = t.turnaround + t.read_command + t.read_unit + t.command + t.read[0];
            vec![sensed + 2 * UNIT_TRANSFER, sensed + UNIT_TRANSFER]
        },
        &[63_760, 52_880],
    );
}

#[test]
fn a_write_of_a_half_is_answered_from_the_buffer_and_its_other_half_read_before_the_row_is_programmed() {
    exactly(
        |t| {
            let mut b = written(ONE_DIE, t, 1, None);
            b.send(Op::Write, 1, 1, false);
            b.send(Op::Flush, 0, 0, false);
            let latencies = b.finish();
            let flash = b.drive.counters().flash.unwrap();
            assert_eq!(flash.rmw_read_bytes, UNIT_BYTES);
            latencies
        },
        |t| {
            let write = t.turnaround + t.write_command + t.write_unit;
            let flush = t.turnaround + 2 * t.write_command + t.write_unit;
            let merged = t.command + t.read[0] + 2 * UNIT_TRANSFER;
            vec![write, flush + merged + t.command + ROW_TRANSFER + t.program[0]]
        },
        &[0, 609_280],
    );
}

#[test]
fn halves_that_meet_in_the_buffer_need_no_read_and_no_more_flash_than_whole_units() {
    let mut b = written(ONE_DIE, &BASE, 2, None);
    let before = b.drive.counters().flash.unwrap();
    for half in 0..2 * ROW {
        b.send(Op::Write, half, 1, false);
        b.now = b.drive.advance_to_completion(u64::MAX / 2, &mut Vec::new());
    }
    b.send(Op::Flush, 0, 0, false);
    b.finish();
    let after = b.drive.counters().flash.unwrap();
    assert_eq!(after.rmw_read_bytes, 0);
    assert_eq!(after.host_program_bytes - before.host_program_bytes, 2 * ROW * 4096);
}

#[test]
fn random_halves_cost_a_read_and_twice_the_flash() {
    let mut b = written(ON_SATA, &BASE, 16, None);
    let before = b.drive.counters().flash.unwrap();
    let mut rng = Rng::new(5);
    let writes = 1000;
    for _ in 0..writes {
        b.send(Op::Write, rng.below(16 * ROW), 1, true);
        b.finish();
    }
    let after = b.drive.counters().flash.unwrap();
    // With FUA each goes by itself: a unit is read, and a row of two programmed, half of which is padding.
    assert_eq!(after.rmw_read_bytes, writes * UNIT_BYTES);
    let programmed = after.host_program_bytes - before.host_program_bytes;
    assert_eq!(programmed, writes * 2 * UNIT_BYTES, "a row each");
    assert_eq!(b.drive.translation().counters().host_units - 16 * 2, writes);
}

#[test]
fn a_trim_forgets_whole_units_only() {
    let mut b = written(ONE_DIE, &BASE, 2, None);
    let mapped = |b: &Bench| {
        (0..2 * ROW as u32 / 2).filter(|&unit| b.drive.translation().unit_of(LogicalPage::new(unit)).is_some()).count()
    };
    assert_eq!(mapped(&b), 4);
    // From the middle of the first unit to the middle of the last.
    b.send(Op::Trim, 1, 2 * ROW - 2, false);
    b.finish();
    assert_eq!(mapped(&b), 2);
}
