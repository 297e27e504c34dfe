//! What the translation layer promises, whatever the geometry, the policies and the order in which dies finish: data
//! are never lost or mixed up, the books balance, no rule of the flash is broken, nothing gets stuck, and at every
//! instant the flash alone holds what was promised to survive a power cut.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ssdlab_ftl::{Frontier, HostShare, KeepsOlderPages, VictimPolicy};

use crate::rig::Rig;
use crate::rig::case::{Case, any_case};

/// Phases of what the host does, drawn one after another; the books are checked after each.
fn phase(rig: &mut Rig, writes: u64) {
    let pages = u64::from(rig.logical_pages);
    if rig.compresses() {
        rig.change_data();
    }
    match rig.rng.below(8) {
        // Sequential, from anywhere.
        0 => {
            let from = rig.rng.below(pages);
            (0..writes.min(pages)).for_each(|k| rig.write(((from + k) % pages) as u32));
        }
        // Uniform random.
        1 | 2 => (0..writes).for_each(|_| {
            let lpn = rig.rng.below(pages);
            rig.write(lpn as u32);
        }),
        // Nine of ten writes to a tenth of the pages.
        3 => (0..writes).for_each(|_| {
            let span = if rig.rng.chance(9, 10) { pages.div_ceil(10) } else { pages };
            let lpn = rig.rng.below(span);
            rig.write(lpn as u32);
        }),
        // A storm of trims among the writes.
        4 => (0..writes).for_each(|_| {
            let lpn = rig.rng.below(pages) as u32;
            if rig.rng.chance(1, 2) { rig.trim(lpn) } else { rig.write(lpn) }
        }),
        // A long range trimmed at once, then some of it written again.
        5 => {
            let (from, length) = (rig.rng.below(pages), rig.rng.below(pages) + 1);
            (from..(from + length).min(pages)).for_each(|lpn| rig.trim(lpn as u32));
            (0..writes / 2).for_each(|_| {
                let lpn = from + rig.rng.below(pages - from);
                rig.write(lpn as u32);
            });
        }
        // Flushes after every few writes: rows that are not full.
        6 => (0..writes / 4).for_each(|_| {
            let lpn = rig.rng.below(pages);
            rig.write(lpn as u32);
            if rig.rng.chance(1, 3) {
                rig.flush();
            }
        }),
        // Every n-th page trimmed and written, so that the dies fill unevenly.
        _ => {
            let stride = 2 + rig.rng.below(7);
            let offset = rig.rng.below(stride);
            for lpn in (0..pages).filter(|lpn| lpn % stride != offset) {
                rig.trim(lpn as u32);
            }
            for lpn in (0..pages).filter(|lpn| lpn % stride != offset).take(writes as usize) {
                rig.write(lpn as u32);
            }
        }
    }
    // The dies get a random stretch of time, or go idle.
    for _ in 0..rig.rng.below(50) {
        rig.step();
    }
    if rig.rng.chance(1, 3) {
        let folds = rig.rng.chance(1, 2);
        if folds {
            rig.fold_in_background();
        } else {
            rig.collect_in_background();
        }
        for k in 0..rig.rng.below(2000) {
            rig.step();
            if folds && k % 100 == 99 {
                rig.fold_in_background();
            }
        }
        rig.stop_background();
    }
    rig.check_oracle();
}

fn run(case: &Case) {
    let Some(mut rig) = Rig::new(case) else { return };
    let fill = rig.logical_pages;
    (0..fill).for_each(|lpn| rig.write(lpn));
    rig.check_oracle();
    for _ in 0..6 {
        phase(&mut rig, u64::from(fill).min(2500));
    }
    rig.settle();
    if rig.rng.chance(1, 8) {
        rig.secure_erase();
        rig.check_oracle();
        phase(&mut rig, u64::from(fill).min(1000));
        rig.settle();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None,
        ..ProptestConfig::with_cases(150) })]

    #[test]
    fn every_translation_layer_keeps_what_it_was_given(case in any_case()) {
        run(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(2), failure_persistence: None,
        ..ProptestConfig::with_cases(3000) })]

    #[test]
    #[ignore = "minutes; `make properties` runs it, and 150 cases of the same run always"]
    fn thousands_more_translation_layers(case in any_case()) {
        run(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(3), failure_persistence: None,
        ..ProptestConfig::with_cases(200) })]

    /// A few pages are hammered, so that superblocks are collected while their last programs are still under way; and
    /// those programs fail, and sometimes their replacements too.
    #[test]
    fn blocks_may_fail_while_they_are_collected(case in any_case(), rate in 10u64..60, one_die in any::<bool>()) {
        let case = Case {
            reserved_per_1000: 400,
            programs_per_failure: rate,
            blocks: 24,
            pages: 4 + case.pages % 5,
            all_dies: !one_die,
            bad: 0,
            policy: if case.lifo { VictimPolicy::Greedy } else { case.policy },
            ..case
        };
        if let Some(mut rig) = Rig::new(&case) {
            let (fill, few) = (rig.logical_pages, u64::from(rig.logical_pages.min(2 + case.seed as u32 % 60)));
            (0..fill).for_each(|lpn| rig.write(lpn));
            for _ in 0..4 {
                for k in 0..1000 {
                    let lpn = rig.rng.below(few) as u32;
                    rig.write(lpn);
                    // Write counts are told apart by their last eight bits.
                    if k % 100 == 99 {
                        rig.flush();
                    }
                }
                rig.check_oracle();
            }
            rig.settle();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(4), failure_persistence: None,
        ..ProptestConfig::with_cases(150) })]

    #[test]
    fn a_drive_at_rest_comes_to_rest(case in any_case(), victims in 0..3u8, overwritten in 0..200u32) {
        let policy = [VictimPolicy::Fifo, VictimPolicy::Random, case.policy][victims as usize];
        let case = Case { policy, background_free: 8, programs_per_failure: 0, erases_per_failure: 0, ..case };
        if let Some(mut rig) = Rig::new(&case) {
            (0..rig.logical_pages).for_each(|lpn| rig.write(lpn));
            (0..overwritten).for_each(|k| rig.write(k * 7919 % rig.logical_pages));
            rig.flush();
            rig.rest();
        }
    }
}

/// A drive that others are told from: one die, small, nothing special.
pub(crate) fn plain() -> Case {
    Case {
        seed: 1,
        dies: 1,
        planes: 1,
        units_per_page: 1,
        blocks: 11,
        pages: 9,
        bad: 0,
        reserved_per_1000: 0,
        all_dies: false,
        journal: false,
        checkpoint_interval: 1,
        buffer_rows: 3,
        extra_spare_percent: 0,
        policy: VictimPolicy::Greedy,
        choices: 1,
        lifo: false,
        frontier: Frontier::Shared,
        start_free: 1,
        victims_per_start: 0,
        buffer_superpages: 1,
        streaming: true,
        host_share: HostShare::Unlimited,
        trickle: 0,
        rows_per_read: 1,
        background_free: 0,
        dynamic_wear: false,
        static_spread: None,
        programs_per_failure: 0,
        erases_per_failure: 0,
        cache: None,
        journal_limit_rows: None,
        map_cache_kib: None,
        max_ratio: None,
        keeps_older_pages: KeepsOlderPages::No,
        bits: 2,
    }
}

#[test]
fn a_host_that_shares_the_open_superblock_leaves_room_for_what_victims_hold() {
    run(&Case { seed: 276053819754353, policy: VictimPolicy::Random, streaming: false, ..plain() });
}

#[test]
fn a_small_collector_buffer_has_room_for_a_read_beside_what_does_not_fill_a_row() {
    let sizes = Case { dies: 5, planes: 2, units_per_page: 2, blocks: 21, pages: 6, bad: 100, ..plain() };
    run(&Case {
        seed: 241011345715807944,
        journal: true,
        checkpoint_interval: 3,
        buffer_rows: 9,
        start_free: 2,
        victims_per_start: 2,
        host_share: HostShare::Trickle,
        ..sizes
    });
}

#[test]
fn the_last_units_of_a_stop_and_wait_collection_wait_for_a_free_superblock_without_spinning() {
    let sizes = Case { dies: 3, planes: 2, units_per_page: 4, blocks: 15, pages: 8, ..plain() };
    run(&Case {
        seed: 194988303589762741,
        buffer_rows: 5,
        extra_spare_percent: 10,
        streaming: false,
        host_share: HostShare::Trickle,
        rows_per_read: 8,
        background_free: 2,
        static_spread: Some(8),
        ..sizes
    });
}

#[test]
fn a_victim_is_read_to_its_end_before_the_next_takes_the_room_that_it_needs() {
    run(&Case {
        seed: 27312444223921523,
        dies: 4,
        blocks: 10,
        pages: 4,
        all_dies: true,
        buffer_rows: 1,
        policy: VictimPolicy::Fifo,
        frontier: Frontier::Separate,
        victims_per_start: 2,
        buffer_superpages: 6,
        streaming: false,
        host_share: HostShare::Trickle,
        trickle: 50,
        ..plain()
    });
}

#[test]
fn a_die_that_has_come_to_be_full_does_not_collect_for_ever() {
    run(&Case {
        seed: 4790231191663248039,
        dies: 3,
        pages: 11,
        buffer_rows: 13,
        extra_spare_percent: 3,
        policy: VictimPolicy::Fifo,
        start_free: 2,
        victims_per_start: 2,
        buffer_superpages: 6,
        rows_per_read: 3,
        background_free: 4,
        ..plain()
    });
}

#[test]
fn padding_does_not_eat_up_what_a_collection_gains() {
    run(&Case {
        seed: 2669993076556720732,
        dies: 6,
        planes: 4,
        blocks: 14,
        pages: 20,
        reserved_per_1000: 120,
        journal: true,
        checkpoint_interval: 3,
        buffer_rows: 10,
        extra_spare_percent: 3,
        policy: VictimPolicy::Random,
        frontier: Frontier::Separate,
        start_free: 3,
        victims_per_start: 1,
        streaming: false,
        host_share: HostShare::Trickle,
        rows_per_read: 6,
        static_spread: Some(1),
        ..plain()
    });
}

#[test]
fn a_padded_row_costs_less_than_what_was_gained_since_the_last_one() {
    run(&Case {
        seed: 8106098514620549357,
        dies: 5,
        planes: 4,
        blocks: 20,
        pages: 5,
        buffer_rows: 1,
        policy: VictimPolicy::DChoices,
        choices: 7,
        start_free: 2,
        victims_per_start: 1,
        buffer_superpages: 5,
        streaming: false,
        host_share: HostShare::Balanced,
        rows_per_read: 4,
        ..plain()
    });
}

#[test]
fn padding_goes_out_only_while_the_host_waits_for_what_it_frees() {
    run(&Case {
        seed: 10085806424215236047,
        dies: 6,
        units_per_page: 2,
        blocks: 15,
        buffer_rows: 15,
        policy: VictimPolicy::Fifo,
        victims_per_start: 1,
        host_share: HostShare::Trickle,
        rows_per_read: 3,
        background_free: 3,
        ..plain()
    });
}

#[test]
fn small_extents_that_fill_no_row_hold_no_victim_up() {
    run(&Case {
        seed: 1344720664888003151,
        units_per_page: 4,
        blocks: 12,
        pages: 18,
        map_cache_kib: Some(3),
        buffer_rows: 16,
        policy: VictimPolicy::Random,
        frontier: Frontier::Separate,
        victims_per_start: 1,
        buffer_superpages: 7,
        host_share: HostShare::Trickle,
        max_ratio: Some(8),
        ..plain()
    });
}
