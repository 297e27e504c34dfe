//! Writes of less than a unit. With a write cache they are answered from the buffer, and the rest is read before the row is
//! programmed; without, it is read first.

use ssdlab_core::{Nanos, Op, UNIT_BYTES};
use ssdlab_device::Device;
use ssdlab_ftl::Translation;
use ssdlab_nand::LogicalPage;
use ssdlab_ssd::Ssd;

use super::bench::{
    BASE, Bench, ON_SATA, ONE_DIE, ROW, ROW_TRANSFER, Shape, TWO_CHANNELS, Times, UNIT_TRANSFER, exactly, specs,
};

/// Drives of which the first rows are on flash, as [`Bench::written`], without a write cache.
fn without_cache(shape: Shape, t: &Times, rows: u64) -> Bench {
    let (mut spec, die) = specs(shape, t);
    spec.write_buffer.write_cache = false;
    let mut b = Bench { drive: Ssd::new("timing", &spec, &die, 1).expect("a valid drive"), now: 0, tag: 0 };
    (0..rows).for_each(|row| {
        b.send(Op::Write, row * ROW, ROW, false);
        b.finish();
    });
    b
}

fn merged_bytes(b: &Bench) -> u64 {
    b.drive.counters().flash.unwrap().rmw_read_bytes
}

#[test]
fn without_a_cache_a_partial_write_reads_its_unit_first_and_others_of_that_unit_wait_for_the_same_read() {
    exactly(
        |t| {
            let mut b = without_cache(ONE_DIE, t, 1);
            (0..4).for_each(|k| b.write_sectors(2 * k, 2));
            let latencies = b.finish();
            assert_eq!(merged_bytes(&b), UNIT_BYTES, "one unit, read once");
            // The others go to rows of their own.
            latencies[..1].to_vec()
        },
        |t| {
            let merged = t.turnaround + t.write_command + t.command + t.read[0] + UNIT_TRANSFER;
            vec![merged + t.command + ROW_TRANSFER + t.program[0]]
        },
        &[598_400],
    );
}

#[test]
fn without_a_cache_a_write_across_two_units_reads_both_ends() {
    exactly(
        |t| {
            let mut b = without_cache(TWO_CHANNELS, t, 2);
            // The last unit of row 0, on die 0, and the first of row 1, on die 1.
            b.write_sectors(ROW * 8 - 1, 2);
            let latencies = b.finish();
            assert_eq!(merged_bytes(&b), 2 * UNIT_BYTES);
            latencies
        },
        |t| {
            let merged = t.turnaround + t.write_command + t.command + t.read[0] + UNIT_TRANSFER;
            vec![merged + t.command + ROW_TRANSFER + t.program[0]]
        },
        &[598_400],
    );
}

/// Latency of one write at depth 1 on a drive whose link takes its time.
fn latency(sector: u64, sectors: u64) -> Nanos {
    let mut b = Bench::written(ON_SATA, &BASE, 2);
    b.write_sectors(sector, sectors);
    let mut done = Vec::new();
    b.drive.advance_to_completion(Nanos::MAX / 2, &mut done);
    done[0].latency()
}

#[test]
fn with_a_cache_a_sector_is_answered_as_soon_as_its_data_are_in_the_buffer() {
    let (sector, unit) = (latency(0, 1), latency(0, 8));
    // Seven sectors less on the link, at 1.68 ns a byte.
    assert_eq!(unit - sector, 6_021);
}

#[test]
fn the_rest_is_read_before_the_row_is_programmed_and_a_flush_waits_for_both() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, 1);
            b.write_sectors(3, 1);
            b.send(Op::Flush, 0, 0, false);
            let latencies = b.finish();
            assert_eq!(merged_bytes(&b), UNIT_BYTES);
            latencies
        },
        |t| {
            let write = t.turnaround + t.write_command + t.write_unit;
            let flush = t.turnaround + 2 * t.write_command + t.write_unit;
            let merged = t.command + t.read[0] + UNIT_TRANSFER;
            vec![write, flush + merged + t.command + ROW_TRANSFER + t.program[0]]
        },
        &[0, 598_400],
    );
}

#[test]
fn neighbours_that_fill_a_unit_need_no_read() {
    let mut b = Bench::written(ONE_DIE, &BASE, 2);
    let before = b.drive.counters().flash.unwrap().host_program_bytes;
    for sector in 0..8 * 2 * ROW {
        b.write_sectors(sector, 1);
        b.now = b.drive.advance_to_completion(Nanos::MAX / 2, &mut Vec::new());
    }
    b.send(Op::Flush, 0, 0, false);
    b.finish();
    assert_eq!(merged_bytes(&b), 0);
    let row_bytes = ROW * UNIT_BYTES;
    assert_eq!(b.drive.counters().flash.unwrap().host_program_bytes - before, 2 * row_bytes, "each unit once");
}

#[test]
fn a_read_of_sectors_in_the_buffer_is_answered_from_it_and_one_of_the_others_waits_for_their_read() {
    let read = |b: &mut Bench, sector: u64| {
        let request = ssdlab_device::Request::new(b.tag, Op::Read, sector * 512, 512);
        b.drive.submit(b.now, request).unwrap();
        b.tag += 1;
        let mut done = Vec::new();
        b.now = b.drive.advance_to_completion(Nanos::MAX / 2, &mut done);
        done[0].latency()
    };
    let mut b = Bench::written(ONE_DIE, &BASE, 1);
    b.write_sectors(3, 1);
    let mut done = Vec::new();
    b.now = b.drive.advance_to_completion(Nanos::MAX / 2, &mut done);
    assert_eq!(read(&mut b, 3), 0);
    assert_eq!(b.drive.translation().missing_sectors(LogicalPage::FIRST), 0b1111_0111);
    assert_eq!(read(&mut b, 4), BASE.command + BASE.read[0] + UNIT_TRANSFER);
    assert_eq!(b.drive.translation().missing_sectors(LogicalPage::FIRST), 0, "it is whole now");
    assert_eq!(read(&mut b, 5), 0);
    assert_eq!(merged_bytes(&b), UNIT_BYTES);
}

#[test]
fn a_buffer_full_of_units_that_wait_for_their_rest_empties_itself() {
    // 16 units of buffer, on one die of which 48 are written: sectors of all, twice, at depth 32.
    let mut b = Bench::written(ONE_DIE, &BASE, 12);
    for round in 0..2 {
        (0..48).for_each(|unit| b.write_sectors(8 * unit + round, 1));
    }
    let latencies = b.finish();
    assert_eq!(latencies.len(), 96);
    assert_eq!(latencies[0], 0, "the first are answered at once");
    assert!(latencies[47] > BASE.program[0], "those that find the buffer full wait for programs");
    b.send(Op::Flush, 0, 0, false);
    b.finish();
    b.drive.check_books().unwrap();
    assert_eq!(merged_bytes(&b) / UNIT_BYTES, 48 + 48 - b.drive.counters().flash.unwrap().buffer_overwrites);
}

#[test]
fn an_idle_drive_writes_out_what_lacks_sectors_too() {
    let mut b = Bench::written(ONE_DIE, &BASE, 1);
    b.write_sectors(9, 3);
    let mut done = Vec::new();
    b.drive.advance(b.now + 400_000_000, &mut done);
    assert_eq!((done.len(), b.drive.translation().buffered_units()), (1, 0));
    assert_eq!(merged_bytes(&b), UNIT_BYTES);
    b.drive.check_books().unwrap();
}

#[test]
fn what_is_trimmed_or_written_as_a_whole_needs_no_rest() {
    let mut b = Bench::written(ONE_DIE, &BASE, 1);
    b.write_sectors(0, 1);
    b.write_sectors(8, 1);
    b.send(Op::Write, 0, 1, false);
    b.send(Op::Trim, 1, 1, false);
    b.send(Op::Flush, 0, 0, false);
    b.finish();
    assert_eq!(merged_bytes(&b), 0);
    b.drive.check_books().unwrap();
}
