//! Each operation by itself.

use ssdlab_core::Op;
use ssdlab_device::Security;

use super::bench::{Bench, ONE_DIE, PAGES, ROW, ROW_TRANSFER, TWO_DIES, Times, UNIT_TRANSFER, decode, exactly};

#[test]
fn a_read_takes_command_cycles_the_array_time_of_its_page_kind_and_the_transfer() {
    // Pages 0, 1, 3, 5 are lower; 2, 4, 6 and the last are upper.
    let lower = |t: &Times| decode(t) + t.command + t.read[0] + UNIT_TRANSFER;
    let upper = |t: &Times| decode(t) + t.command + t.read[1] + UNIT_TRANSFER;
    let page = |page: u64| {
        move |t: &Times| {
            let mut b = Bench::written(ONE_DIE, t, PAGES);
            b.read(page * ROW, 1);
            b.finish()
        }
    };
    for lower_page in [0, 1, 3, 5] {
        exactly(page(lower_page), |t| vec![lower(t)], &[52_880]);
    }
    for upper_page in [2, 4, 6, 7] {
        exactly(page(upper_page), |t| vec![upper(t)], &[87_880]);
    }
}

#[test]
fn a_multi_plane_read_senses_once_and_transfers_every_unit() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, PAGES);
            b.read(0, ROW);
            b.finish()
        },
        // The processor looks up the other units meanwhile.
        |t| vec![decode(t) + t.command + t.read[0] + 4 * UNIT_TRANSFER],
        &[85_520],
    );
}

#[test]
fn a_multi_plane_program_loads_the_row_and_programs_once_by_page_kind() {
    for (page, written_out) in [(1, 545_520), (2, 1_545_520)] {
        exactly(
            move |t| {
                let mut b = Bench::written(ONE_DIE, t, page);
                b.send(Op::Write, page * ROW, ROW, true);
                b.finish()
            },
            move |t| {
                let kind = usize::from(page == 2);
                vec![t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[kind]]
            },
            &[written_out],
        );
    }
}

#[test]
fn a_row_that_is_not_full_takes_as_long_as_a_full_one() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, 1);
            b.send(Op::Write, 100, 1, true);
            b.finish()
        },
        |t| vec![t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[0]],
        &[545_520],
    );
}

#[test]
fn a_security_erase_takes_one_erase_for_each_block_of_the_fullest_die() {
    let scenario = |t: &Times| {
        let mut b = Bench::written(TWO_DIES, t, 2 * PAGES + 1);
        let began = b.now;
        vec![b.drive.secure_erase(began) - began]
    };
    // Die 0 has a row of a second block.
    exactly(scenario, |t| vec![2 * t.erase], &[6_000_000]);
}
