//! Campaigns that pull the plug: sound drives pass, firmware that recovers wrongly is found out.

use ssdlab_ftl::RecoveryFault;
use ssdlab_torture::{Campaign, Kind, build_ssd, build_ssd_with_fault, torture};

fn campaign(seed: u64, runs: u64) -> Campaign {
    Campaign { kind: Kind::PowerCuts, seed, runs, threads: 2 }
}

#[test]
fn sound_drives_keep_what_they_promised_through_thousands_of_cuts() {
    let report = torture(&campaign(1, 250), &build_ssd, &|_| true);
    assert!(report.failures.is_empty(), "{:#?}", report.failures);
    assert!(report.tally.power_cuts > 2000 && report.tally.destroyed_pages > 0, "{}", report.tally);
    assert!(report.tally.read_only < report.tally.runs / 20, "{}", report.tally);
}

#[test]
fn recoveries_that_go_wrong_are_found_out_within_a_thousand_cuts() {
    for fault in [RecoveryFault::BelievesCheckpointTooEarly, RecoveryFault::SkipsJournalRow, RecoveryFault::ForgetsTrim]
    {
        let build = |case: &ssdlab_torture::Case| build_ssd_with_fault(case, fault);
        // A run cuts the power some ten times.
        let report = torture(&campaign(1, 100), &build, &|_| true);
        let found = report.failures.iter().map(|failure| failure.run).min();
        assert!(found.is_some(), "{fault:?} was not found in {} cuts", report.tally.power_cuts);
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let report = |threads| torture(&Campaign { threads, ..campaign(5, 20) }, &build_ssd, &|_| true);
    assert_eq!(report(1), report(2));
}
