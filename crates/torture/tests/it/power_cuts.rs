//! Campaigns that pull the plug: sound drives pass, firmware that recovers wrongly is found out.

use ssdlab_core::catch_panic;
use ssdlab_ftl::{KeepsOlderPages, LogBlockFault, RecoveryFault};
use ssdlab_nand::SpecError;
use ssdlab_torture::{
    Campaign, Case, Kind, Subject, build_ssd, build_ssd_with_fault, build_ssd_with_log_block_fault, is_composed_to_cut,
    run, run_seed, torture,
};

fn campaign(seed: u64, runs: u64) -> Campaign {
    Campaign { kind: Kind::PowerCuts, seed, runs, threads: 2 }
}

#[test]
fn sound_drives_keep_what_they_promised_through_thousands_of_cuts() {
    let report = torture(&campaign(1, 250), &build_ssd, &|_| true);
    assert!(report.failures.is_empty(), "{:#?}", report.failures);
    assert!(report.tally.power_cuts > 2000 && report.tally.destroyed_pages > 0, "{}", report.tally);
    assert!(report.tally.read_only < report.tally.runs / 20, "{}", report.tally);
    for (subject, choices) in [("capacitors protect", 3), ("keeps older pages", 4), ("encryption", 2), ("erase cut", 4)]
    {
        let (_, found) = report.tally.coverage.iter().find(|((_, name), _)| *name == subject).expect(subject);
        assert!(found.len() == choices && found.values().all(|&times| times > 5), "{subject}: {found:?}");
    }
}

/// The power cuts of runs that have gone well before the first that goes wrong, and what was wrong with that; runs have ten to
/// thirty each.
fn cuts_until_found<S: Subject + 'static>(
    seeds: impl Iterator<Item = u64>,
    build: &impl Fn(&Case) -> Result<S, SpecError>,
) -> (u64, Option<String>) {
    let mut cuts = 0;
    for seed in seeds {
        match catch_panic(|| run(Kind::PowerCuts, seed, build)).and_then(|result| result) {
            Ok(tally) => cuts += tally.power_cuts,
            Err(what) => return (cuts, Some(what)),
        }
        if cuts > 1000 {
            break;
        }
    }
    (cuts, None)
}

fn is_found(fault: impl std::fmt::Debug, (cuts, what): (u64, Option<String>)) {
    let Some(what) = what else { panic!("{fault:?} was not found in {cuts} cuts") };
    assert!(cuts < 1000, "{fault:?} was found after {cuts} cuts: {what}");
    assert!(!what.contains("cannot be built"), "{fault:?}: {what}");
}

#[test]
fn recoveries_that_go_wrong_are_found_out_within_a_thousand_cuts() {
    for fault in [
        RecoveryFault::BelievesCheckpointTooEarly,
        RecoveryFault::SkipsJournalRow,
        RecoveryFault::ForgetsTrim,
        RecoveryFault::ForgetsErasePoint,
    ] {
        let build = |case: &Case| build_ssd_with_fault(case, fault);
        is_found(fault, cuts_until_found((0..).map(|number| run_seed(1, number)), &build));
    }
}

#[test]
fn firmware_that_errs_about_older_pages_is_found_out_within_a_thousand_cuts() {
    use KeepsOlderPages::{Copies, PaddingAtFlush, Parity};
    let of = |seed: u64| Case::draw_for_power_cuts(seed).drive.keeps_older_pages();
    for (fault, keeps) in [
        (RecoveryFault::ForgetsCopies, Copies),
        (RecoveryFault::BelievesOldCopies, Copies),
        (RecoveryFault::PadsNothing, PaddingAtFlush),
        (RecoveryFault::SkipsParity, Parity),
        (RecoveryFault::ForgetsCopies, Parity),
    ] {
        let build = |case: &Case| build_ssd_with_fault(case, fault);
        let seeds = (0..).map(|number| run_seed(1, number));
        let seeds = seeds.filter(|&seed| !is_composed_to_cut(seed) && of(seed) == keeps);
        is_found(fault, cuts_until_found(seeds, &build));
    }
}

#[test]
fn so_are_those_of_drives_that_map_blocks() {
    let faults = [
        LogBlockFault::BelievesMergeTooEarly,
        LogBlockFault::ForgetsReplacedData,
        LogBlockFault::SkipsLog,
        LogBlockFault::IgnoresSequence,
        LogBlockFault::HidesDestroyed,
        LogBlockFault::ForgetsLost,
        LogBlockFault::ForgetsErasePoint,
    ];
    for (fault, campaign) in faults.into_iter().flat_map(|fault| [1, 2, 3].map(|campaign| (fault, campaign))) {
        let build = |case: &Case| build_ssd_with_log_block_fault(case, fault);
        // Seeds of such drives.
        let seeds =
            (0..).map(|number| run_seed(campaign, number) / 8 * 8 + 2).filter(|&seed| !is_composed_to_cut(seed));
        is_found(fault, cuts_until_found(seeds, &build));
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let report = |threads| torture(&Campaign { threads, ..campaign(5, 20) }, &build_ssd, &|_| true);
    assert_eq!(report(1), report(2));
}
