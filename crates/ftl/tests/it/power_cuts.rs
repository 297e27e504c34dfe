//! Power cuts at any instant, and during the recovery from them: what was promised is there afterwards, what was trimmed for
//! good stays away, the books balance, and the drive goes on. Firmware that recovers wrongly is found out.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ssdlab_core::{Rng, catch_panic};
use ssdlab_ftl::{Frontier, HostShare, KeepsOlderPages, RecoveryFault, Translation, VictimPolicy};
use ssdlab_nand::{LogicalPage, SequenceNumber};

use crate::properties::plain;
use crate::rig::Rig;
use crate::rig::case::{Case, any_case};

/// Spare beyond the least, per cent: pages that cuts leave without use are gained again, but not before they are collected.
const SPARE_PERCENT: u32 = 20;

/// Cuts the power `cuts` times while the host does this and that.
fn run(case: &Case, cuts: u32, fault: Option<RecoveryFault>) -> Result<u32, String> {
    run_with(case, cuts, fault, Between::default())
}

/// What comes between the cuts besides.
#[derive(Clone, Copy, Default)]
struct Between {
    /// Before so many of six cuts everything is voided, which must hold for ever.
    voids_of_six: u64,
    /// Years of writing pass, of which nothing is left but the numbers that they took.
    ages: bool,
}

fn run_voiding(case: &Case, cuts: u32, fault: Option<RecoveryFault>, voids_of_six: u64) -> Result<u32, String> {
    run_with(case, cuts, fault, Between { voids_of_six, ages: false })
}

/// The same with more between the cuts.
fn run_with(case: &Case, cuts: u32, fault: Option<RecoveryFault>, between: Between) -> Result<u32, String> {
    let [mut voids, mut ages] = ["voids", "ages"].map(|name| Rng::new(case.seed).stream(name));
    let case = Case { extra_spare_percent: case.extra_spare_percent.max(SPARE_PERCENT), ..case.clone() };
    let Some(mut rig) = Rig::new(&case) else { return Ok(0) };
    let pages = u64::from(rig.logical_pages);
    (0..rig.logical_pages).for_each(|lpn| rig.write(lpn));
    if let Some(fault) = fault {
        rig.break_recovery(fault);
    }
    let mut done = 0;
    while done < cuts && !rig.ftl.is_read_only() {
        if rig.compresses() {
            rig.change_data();
        }
        let span = [pages, pages.div_ceil(10), pages.min(8)][rig.rng.below(3) as usize];
        for k in 0..rig.rng.below(300) {
            // Write counts are told apart by their last eight bits.
            if k % 100 == 99 {
                rig.flush();
            }
            let lpn = rig.rng.below(span) as u32;
            match rig.rng.below(20) {
                0 | 1 => rig.trim(lpn),
                2 => rig.flush(),
                3 => (0..rig.rng.below(30)).for_each(|_| {
                    rig.step();
                }),
                _ => rig.write(lpn),
            }
        }
        if rig.rng.chance(1, 8) {
            rig.collect_in_background();
        }
        if between.ages {
            let long = [1 << 31, 1 << 32, 0, 0][ages.below(4) as usize] + ages.below(1 << 10);
            let medium = rig.ftl.medium_mut();
            let next = SequenceNumber::new((medium.rows_queued() + long).saturating_sub(ages.below(1 << 10)));
            medium.resume_sequence([medium.next_sequence(), next].into_iter());
        }
        if voids.chance(between.voids_of_six, 6) {
            rig.void_all();
            // Some pages are written again, which does not bring the others back.
            (0..voids.below(40)).for_each(|_| rig.write(voids.below(pages) as u32));
        }
        for _ in 0..rig.rng.below(40) {
            rig.step();
        }
        if rig.ftl.is_frozen() {
            break;
        }
        rig.cut_power()?;
        done += 1;
        rig.check_oracle();
    }
    rig.settle();
    rig.rest();
    Ok(done)
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(11), failure_persistence: None,
        ..ProptestConfig::with_cases(120) })]

    #[test]
    fn nothing_that_was_promised_is_lost_by_power_cuts(case in any_case()) {
        let outcome = run(&case, 12, None);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }

    /// On either way of recovery, however often the power is cut, and whatever is written since.
    #[test]
    fn nothing_that_was_voided_comes_back(case in any_case()) {
        let outcome = run_voiding(&case, 12, None, 2);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }

    /// However many rows have been written between two copies of a page, between a trim and what came after it, or since an
    /// erase point.
    #[test]
    fn what_is_newer_can_be_told_after_years_of_writing(case in any_case(), keeps in 0usize..4) {
        use KeepsOlderPages::{Copies, No, PaddingAtFlush, Parity};
        let keeps = [No, Copies, PaddingAtFlush, Parity][keeps];
        let shares = keeps == PaddingAtFlush && case.frontier == Frontier::Shared;
        let frontier = if shares { Frontier::Separate } else { case.frontier };
        let case = if keeps == No { case } else { keeping(Case { frontier, ..case }, keeps, 2) };
        let outcome = run_with(&case, 12, None, Between { voids_of_six: 1, ages: true });
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }
}

/// A case whose firmware keeps older pages, on a die of two or three bits per cell.
fn keeping(case: Case, keeps_older_pages: KeepsOlderPages, bits: u32) -> Case {
    let pages = if bits == 3 { case.pages.next_multiple_of(3) } else { case.pages };
    Case { keeps_older_pages, bits, pages, ..case }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(13), failure_persistence: None,
        ..ProptestConfig::with_cases(150) })]

    #[test]
    fn no_power_cut_destroys_a_page_of_which_the_firmware_makes_copies(case in any_case(), bits in 2u32..=3) {
        let outcome = run(&keeping(case, KeepsOlderPages::Copies, bits), 12, None);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(14), failure_persistence: None,
        ..ProptestConfig::with_cases(150) })]

    #[test]
    fn no_power_cut_destroys_what_was_flushed_where_the_firmware_pads(case in any_case(), bits in 2u32..=3) {
        let frontier = if case.frontier == Frontier::Shared { Frontier::Separate } else { case.frontier };
        let outcome = run(&keeping(Case { frontier, ..case }, KeepsOlderPages::PaddingAtFlush, bits), 12, None);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(15), failure_persistence: None,
        ..ProptestConfig::with_cases(150) })]

    #[test]
    fn no_power_cut_destroys_a_page_of_which_the_firmware_has_parity(case in any_case(), bits in 2u32..=3) {
        let outcome = run(&keeping(case, KeepsOlderPages::Parity, bits), 12, None);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(12), failure_persistence: None,
        ..ProptestConfig::with_cases(3000) })]

    #[test]
    #[ignore = "minutes; `make properties` runs it, and 120 cases of the same run always"]
    fn thousands_more_power_cuts(case in any_case()) {
        let outcome = run(&case, 30, None);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }

    #[test]
    #[ignore = "minutes; `make properties` runs it, and 150 cases of the same run always"]
    fn thousands_more_power_cuts_of_firmware_that_pads(case in any_case(), bits in 2u32..=3) {
        let frontier = if case.frontier == Frontier::Shared { Frontier::Separate } else { case.frontier };
        let outcome = run(&keeping(Case { frontier, ..case }, KeepsOlderPages::PaddingAtFlush, bits), 30, None);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }

    #[test]
    #[ignore = "minutes; `make properties` runs it, and 150 cases of the same run always"]
    fn thousands_more_power_cuts_of_firmware_that_makes_copies(case in any_case(), bits in 2u32..=3) {
        let outcome = run(&keeping(case, KeepsOlderPages::Copies, bits), 30, None);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(16), failure_persistence: None,
        ..ProptestConfig::with_cases(3000) })]

    #[test]
    #[ignore = "minutes; `make properties` runs it, and 150 cases of the same run always"]
    fn thousands_more_power_cuts_of_firmware_with_parity(case in any_case(), bits in 2u32..=3) {
        let outcome = run(&keeping(case, KeepsOlderPages::Parity, bits), 30, None);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }
}

/// Two copies of a page with the same number once made the two ways of recovery find it at different places.
#[test]
fn a_page_that_is_in_the_copy_area_twice_is_found_at_the_same_place_either_way() {
    let case = Case {
        seed: 1_552_838_946_032_262_911,
        dies: 6,
        planes: 2,
        units_per_page: 2,
        blocks: 21,
        pages: 16,
        reserved_per_1000: 120,
        journal: true,
        checkpoint_interval: 2,
        buffer_rows: 12,
        policy: VictimPolicy::DChoices,
        choices: 2,
        frontier: Frontier::Shared,
        start_free: 2,
        buffer_superpages: 3,
        streaming: false,
        host_share: HostShare::Balanced,
        rows_per_read: 2,
        ..plain()
    };
    run(&keeping(case, KeepsOlderPages::Copies, 3), 30, None).unwrap_or_else(|e| panic!("{e}"));
}

/// A drive with a journal, small enough that its rows fill often.
fn journalled(seed: u64) -> Case {
    Case { seed, dies: 2, planes: 1, units_per_page: 1, blocks: 24, pages: 16, journal: true, ..plain() }
}

#[test]
fn a_recovery_that_goes_wrong_is_found_out_within_a_thousand_cuts() {
    for fault in [RecoveryFault::BelievesCheckpointTooEarly, RecoveryFault::SkipsJournalRow, RecoveryFault::ForgetsTrim]
    {
        let found = (0..100).position(|seed| {
            let outcome = catch_panic(|| run(&journalled(seed), 10, Some(fault)));
            !matches!(outcome, Ok(Ok(_)))
        });
        assert!(found.is_some(), "{fault:?} was not found in 1000 cuts");
    }
    for journal in [false, true] {
        let found = (0..100).position(|seed| {
            let case = Case { journal, ..journalled(seed) };
            let outcome = catch_panic(|| run_voiding(&case, 10, Some(RecoveryFault::ForgetsErasePoint), 2));
            !matches!(outcome, Ok(Ok(_)))
        });
        assert!(found.is_some(), "a forgotten erase point was not found in 1000 cuts");
    }
    // The same drives without a fault pass.
    let cuts: u32 = (0..20).map(|seed| run(&journalled(seed), 10, None).expect("nothing is wrong")).sum();
    assert!(cuts > 150, "{cuts} cuts");
}

/// The rows with the greatest numbers are erased before the cut: only the journal knows that they were there.
#[test]
fn what_was_overwritten_stays_away_when_a_trim_is_forgotten_whose_block_has_been_erased() {
    let erases = |rig: &Rig| -> u32 {
        let medium = rig.ftl.medium();
        medium.layout().all_blocks().map(|block| medium.erases(block)).sum()
    };
    let mut forgotten = 0;
    for background_free in (2..24).step_by(2) {
        let case = Case { dies: 1, pages: 8, background_free, ..journalled(1) };
        let mut rig = Rig::new(&case).expect("it can be built");
        let (before, again) = (0..8, [0].into_iter().chain(8..15));
        before.for_each(|lpn| rig.write(lpn));
        again.clone().for_each(|lpn| rig.write(lpn));
        rig.settle();
        let erased = erases(&rig);
        again.for_each(|lpn| rig.trim(lpn));
        rig.collect_in_background();
        while rig.step() {}
        let on_flash = rig.ftl.unsaved_trims().is_some_and(|trims| trims.is_empty());
        forgotten += u32::from(erases(&rig) > erased && !on_flash);
        rig.cut_power().unwrap_or_else(|e| panic!("{e}"));
        assert!(on_flash || erases(&rig) == erased || rig.ftl.write_number(LogicalPage::FIRST).is_none());
        assert_eq!(rig.ftl.write_number(LogicalPage::new(1)), Some(1));
    }
    assert!(forgotten > 0, "whenever a block was erased, the trims were on flash");
}

#[test]
fn firmware_that_errs_about_copies_or_padding_is_found_out_within_a_thousand_cuts() {
    use KeepsOlderPages::{Copies, PaddingAtFlush, Parity};
    let drive = |seed, keeps| {
        let case = Case { journal: seed % 2 == 0, frontier: Frontier::Separate, ..journalled(seed) };
        keeping(case, keeps, 2)
    };
    for (fault, keeps) in [
        (RecoveryFault::ForgetsCopies, Copies),
        (RecoveryFault::BelievesOldCopies, Copies),
        (RecoveryFault::ForgetsCopies, PaddingAtFlush),
        (RecoveryFault::PadsNothing, PaddingAtFlush),
        (RecoveryFault::SkipsParity, Parity),
        (RecoveryFault::ForgetsCopies, Parity),
    ] {
        let found = (0..100).position(|seed| {
            let outcome = catch_panic(|| run(&drive(seed, keeps), 10, Some(fault)));
            !matches!(outcome, Ok(Ok(_)))
        });
        assert!(found.is_some(), "{fault:?} of {keeps:?} was not found in 1000 cuts");
    }
    for keeps in [Copies, PaddingAtFlush, Parity] {
        let cuts: u32 = (0..20).map(|seed| run(&drive(seed, keeps), 10, None).expect("nothing is lost")).sum();
        assert!(cuts > 150, "{cuts} cuts");
    }
}

#[test]
fn a_die_that_data_of_several_streams_fill_comes_to_rest_after_cuts() {
    let case = Case {
        seed: 2697911063840100474,
        dies: 7,
        planes: 2,
        blocks: 21,
        pages: 37,
        bad: 100,
        buffer_rows: 16,
        frontier: Frontier::ByStream,
        buffer_superpages: 6,
        streaming: false,
        rows_per_read: 2,
        max_ratio: Some(4),
        ..plain()
    };
    assert!(run(&case, 30, None).is_ok());
}

/// Blocks go bad all the time: many cuts come while one is being copied, or leave a superblock with one that could not be
/// erased.
#[test]
fn cuts_that_meet_failing_blocks_lose_nothing() {
    let failing = |seed| {
        let faults = Case { programs_per_failure: 60, erases_per_failure: 30, ..journalled(seed) };
        Case { reserved_per_1000: 250, blocks: 48, pages: 8, ..faults }
    };
    let cuts: u32 = (0..30).map(|seed| run(&failing(seed), 12, None).expect("nothing is lost")).sum();
    assert!(cuts > 50, "{cuts} cuts");
}

/// The quick way once took such a copy for what had been there before.
#[test]
fn a_page_that_was_being_rebuilt_when_the_power_went_again_is_rebuilt_anew() {
    let case = Case {
        seed: 14543635888664648015,
        dies: 5,
        planes: 4,
        units_per_page: 2,
        blocks: 22,
        pages: 34,
        bad: 500,
        reserved_per_1000: 0,
        all_dies: false,
        journal: true,
        checkpoint_interval: 1,
        journal_limit_rows: None,
        map_cache_kib: None,
        buffer_rows: 7,
        extra_spare_percent: 0,
        choices: 1,
        lifo: false,
        frontier: Frontier::Shared,
        start_free: 2,
        victims_per_start: 0,
        buffer_superpages: 1,
        streaming: true,
        rows_per_read: 3,
        background_free: 5,
        programs_per_failure: 3000,
        erases_per_failure: 0,
        max_ratio: Some(4),
        ..plain()
    };
    let outcome = run(&keeping(case, KeepsOlderPages::Parity, 3), 30, None);
    assert!(outcome.is_ok(), "{outcome:?}");
}
