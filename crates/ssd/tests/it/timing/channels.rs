//! What waits for a channel.

use ssdlab_core::Op;

use super::bench::{Bench, ROW, ROW_TRANSFER, Shape, TWO_CHANNELS, TWO_DIES, Times, UNIT_TRANSFER, decode, exactly};

#[test]
fn dies_of_one_channel_sense_together_and_transfer_in_turn() {
    let two_reads = |shape: Shape| {
        move |t: &Times| {
            let mut b = Bench::written(shape, t, 2);
            b.read(0, ROW);
            b.read(ROW, ROW);
            b.finish()
        }
    };
    let sensed = |t: &Times| decode(t) + t.command + t.read[0];
    exactly(
        two_reads(TWO_DIES),
        // The second read of a unit is decoded while the first is sensed.
        |t| vec![sensed(t) + ROW_TRANSFER, (sensed(t) + ROW_TRANSFER) + ROW_TRANSFER],
        &[85_520, 129_040],
    );
    exactly(
        two_reads(TWO_CHANNELS),
        |t| {
            let second_decoded = t.read_command + 4 * t.read_unit;
            vec![sensed(t) + ROW_TRANSFER, sensed(t) + second_decoded + ROW_TRANSFER]
        },
        &[85_520, 85_520],
    );
}

#[test]
fn a_program_is_loaded_while_the_other_die_of_the_channel_senses() {
    let both = |order_read_first: bool| {
        move |t: &Times| {
            let mut b = Bench::written(TWO_DIES, t, 3);
            // Row 2 is on die 0, so that the next row goes to die 1. Row 0 is on die 0.
            if order_read_first {
                b.read(0, 1);
                b.send(Op::Write, 3 * ROW, ROW, true);
            } else {
                b.send(Op::Write, 3 * ROW, ROW, true);
                b.read(0, 1);
            }
            b.finish()
        }
    };
    // Loading from 2,000 to 45,520 would run into the read's data at 42,000: these come at once where the read was
    // first, and 3,520 later where it was second.
    exactly(
        both(true),
        |t| {
            let data_out = decode(t) + t.command + t.read[0] + UNIT_TRANSFER;
            vec![data_out, data_out + ROW_TRANSFER + t.program[0]]
        },
        &[52_880, 596_400],
    );
    exactly(
        both(false),
        |t| {
            let loaded = t.turnaround + t.write_command + t.command + ROW_TRANSFER;
            vec![loaded + t.program[0], loaded + UNIT_TRANSFER]
        },
        &[545_520, 56_400],
    );
}
