//! Writes of less than a unit: the rest is read first.

use ssdlab_core::UNIT_BYTES;
use ssdlab_device::Device;

use super::bench::{Bench, ONE_DIE, ROW, TWO_CHANNELS, UNIT_TRANSFER, exactly};

#[test]
fn a_partial_write_reads_its_unit_first_and_others_of_that_unit_wait_for_the_same_read() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, 1);
            (0..4).for_each(|k| b.write_sectors(2 * k, 2));
            let latencies = b.finish();
            assert_eq!(b.drive.counters().flash.unwrap().rmw_read_bytes, UNIT_BYTES, "one unit, read once");
            latencies
        },
        |t| {
            let merged = t.turnaround + t.write_command + t.command + t.read[0] + UNIT_TRANSFER;
            vec![merged; 4]
        },
        &[52_880; 4],
    );
}

#[test]
fn a_write_across_two_units_reads_both_ends() {
    exactly(
        |t| {
            let mut b = Bench::written(TWO_CHANNELS, t, 2);
            // The last unit of row 0, on die 0, and the first of row 1, on die 1.
            b.write_sectors(ROW * 8 - 1, 2);
            let latencies = b.finish();
            assert_eq!(b.drive.counters().flash.unwrap().rmw_read_bytes, 2 * UNIT_BYTES);
            latencies
        },
        |t| vec![t.turnaround + t.write_command + t.command + t.read[0] + UNIT_TRANSFER],
        &[52_880],
    );
}
