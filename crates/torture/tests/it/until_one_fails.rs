//! Torture and power cuts as layers of `make mutants`: run by run, until one fails.

use ssdlab_core::catch_panic;
use ssdlab_torture::{Kind, build_ssd, run, run_seed};

/// The runs of the campaign with seed 1, one after the other.
fn until_one_fails(kind: Kind, runs: u64) {
    for number in 0..runs {
        let seed = run_seed(1, number);
        if let Err(what) = catch_panic(|| run(kind, seed, &build_ssd)).and_then(|result| result) {
            panic!("run {number}, seed {seed}: {what}");
        }
    }
}

/// Eight times as many as `make torture` makes in `make test`.
#[test]
#[ignore = "`make mutants` runs it; the first 250 are those of `make torture`"]
fn torture_until_one_fails() {
    until_one_fails(Kind::Work, 2000);
}

/// As many as the test of sound drives makes.
#[test]
#[ignore = "`make mutants` runs it; the same runs are part of another test"]
fn power_cuts_until_one_fails() {
    until_one_fails(Kind::PowerCuts, 250);
}
