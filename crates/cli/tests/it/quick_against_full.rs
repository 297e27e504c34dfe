//! A quick run ranks drives as a full one does, in every headline figure that it shows. About an hour of processor time:
//! `make quick-against-full`.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use ssdlab_bench::plan::{JobResult, PlanJob, PlanOptions, run_plan_keeping};
use ssdlab_bench::suite::find_test;
use ssdlab_bench::{Outcome, Unsettled};
use ssdlab_catalog::{array_names, disk_names, drive_names};
use ssdlab_cli::lab::{SimulatedDrive, drives};
use ssdlab_report::{HEADLINES, Headline, are_level};

/// At least so many headline figures are there for every drive.
const AT_LEAST: usize = 6;
const SEED: u64 = 1;

/// What a review runs for this figure, and no more of it: of several loads the one whose figure it is.
fn job(lab: usize, headline: &Headline) -> PlanJob {
    let test = find_test(headline.test).unwrap();
    let variant = test.variants.iter().find(|v| v.name == headline.variant).unwrap();
    let mut settings = variant.settings();
    if let Some(load) = test.params.iter().find(|def| def.key == "headline_depth") {
        settings.push(("queue_depths".to_owned(), load.default.to_owned()));
    }
    PlanJob { lab, test, variant: variant.name.to_owned(), settings }
}

/// Each of these figures of each drive, by place of the headline and of the drive; printed as they come.
fn figures(drives: &[SimulatedDrive], wanted: &[(usize, usize)], quick: bool) -> Vec<Vec<Option<f64>>> {
    let jobs: Vec<PlanJob> = wanted.iter().map(|&(headline, drive)| job(drive, &HEADLINES[headline])).collect();
    let figure = |place: usize, outcome: &Outcome| {
        let headline = &HEADLINES[wanted[place].0];
        outcome.metrics.get(headline.metric).map(|metric| metric.value)
    };
    let length = if quick { "quick" } else { "full" };
    let finished = |place: usize, outcome: &Outcome| {
        let key = HEADLINES[wanted[place].0].key;
        println!("{length}: {key} of {}: {:?}", outcome.device, figure(place, outcome));
    };
    let options = PlanOptions { threads: None, seed: SEED, quick };
    let results = run_plan_keeping(drives, &jobs, options, &|_| {}, &finished, &AtomicBool::new(false));
    let mut figures = vec![vec![None; drives.len()]; HEADLINES.len()];
    for (place, result) in results.iter().enumerate() {
        let (headline, drive) = wanted[place];
        let JobResult::Finished(outcome) = result else { panic!("{:?}: {result:?}", jobs[place]) };
        figures[headline][drive] = figure(place, outcome);
    }
    figures
}

#[test]
#[ignore = "an hour of processor time: make quick-against-full"]
fn a_quick_run_ranks_the_drives_of_the_catalog_as_a_full_one_does() {
    let names = drive_names().filter(|name| !name.starts_with("ideal")).chain(disk_names()).chain(array_names());
    let names: Vec<String> = names.map(str::to_owned).collect();
    let drives = drives(&names, SEED).unwrap_or_else(|_| panic!("the catalog has a drive that cannot be had"));
    let shown: Vec<usize> = (0..HEADLINES.len()).filter(|&h| HEADLINES[h].in_quick).collect();
    let all: Vec<(usize, usize)> = shown.iter().flat_map(|&h| (0..drives.len()).map(move |d| (h, d))).collect();
    let quick = figures(&drives, &all, true);
    // A figure that is absent in quick cannot be in a wrong place.
    let there: Vec<(usize, usize)> = all.into_iter().filter(|&(h, d)| quick[h][d].is_some()).collect();
    let full = figures(&drives, &there, false);

    let (mut table, mut reversed) = (String::new(), String::new());
    for &h in &shown {
        let key = HEADLINES[h].key;
        let both: Vec<(&str, f64, f64)> =
            (0..drives.len()).filter_map(|d| Some((drives[d].device(), quick[h][d]?, full[h][d]?))).collect();
        for (i, a) in both.iter().enumerate() {
            let _ = writeln!(table, "{key},{},{},{}", a.0, a.1, a.2);
            for b in &both[i + 1..] {
                if !are_level(a.1, b.1) && !are_level(a.2, b.2) && (a.1 < b.1) != (a.2 < b.2) {
                    let _ = writeln!(reversed, "{key}: {} {} / {}, {} {} / {}", a.0, a.1, a.2, b.0, b.1, b.2);
                }
            }
        }
    }
    println!("figure,drive,quick,full\n{table}");
    assert!(reversed.is_empty(), "quick / full, in the wrong order:\n{reversed}");
    for (d, drive) in drives.iter().enumerate() {
        let n = shown.iter().filter(|&&h| quick[h][d].is_some()).count();
        assert!(n >= AT_LEAST, "{}: {n} headline figures in a quick run", drive.device());
    }
}

#[test]
fn a_quick_run_says_nothing_of_the_steady_state_of_a_set() {
    let names = ["mtron-mobi-3000-16gb", "raid0(mtron-mobi-3000-16gb*2)"].map(str::to_owned);
    let drives = drives(&names, SEED).unwrap_or_else(|_| panic!("both are of the catalog"));
    let steady = HEADLINES.iter().find(|headline| headline.key == "steady-write").unwrap();
    // A drive without page mapping is steady from the first second on.
    let by_seconds = |drive| (job(drive, steady), [("seconds", "40"), ("tail_from_seconds", "10")]);
    let by_rounds = |lab| {
        let test = find_test("steady-state").unwrap();
        let job = PlanJob { lab, test, variant: String::new(), settings: Vec::new() };
        (job, [("round_share", "0.01"), ("settle_turnovers", "0")])
    };
    let jobs = [by_seconds(0), by_seconds(1), by_rounds(0), by_rounds(1)].map(|(mut job, short)| {
        job.settings.extend(short.map(|(key, value)| (key.to_owned(), value.to_owned())));
        job
    });
    let options = PlanOptions { threads: None, seed: SEED, quick: true };
    let results = run_plan_keeping(&drives, &jobs, options, &|_| {}, &|_, _| {}, &AtomicBool::new(false));
    let says = |(place, result): (usize, &JobResult)| {
        let JobResult::Finished(outcome) = result else { panic!("{result:?}") };
        let is_left = outcome.is_unsettled_by(Unsettled::LeftToFullRun);
        let metric = if place < 2 { steady.metric } else { "iops" };
        (outcome.metrics.contains_key(metric), outcome.metrics["steady"].value, is_left)
    };
    let [one, set] = [(true, 1.0, false), (false, 0.0, true)];
    assert_eq!(results.iter().enumerate().map(says).collect::<Vec<_>>(), [one, set, one, set]);
}
