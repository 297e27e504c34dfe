//! `ssdlab review`: the suite on one or several drives, and a report.

use std::io::{self, IsTerminal as _};

use ssdlab_bench::plan::PlanJob;
use ssdlab_bench::suite::{TESTS, TestDef, find_test};
use ssdlab_bench::{ParamError, parse_settings};
use ssdlab_report::{Review, Written, terminal_summary, write_review};

use crate::args::ReviewArgs;
use crate::failure::Failure;
use crate::figures::Figures;
use crate::finished;
use crate::folder::{OutputFolder, Writes};
use crate::lab::{Tested, is_of_drive};
use crate::output::{Failures, print_raw};
use crate::plan::{param_failure, param_failure_on};
use crate::review_of::{claims_about, review_of};
use crate::tested::TestedDevice;

pub fn run(args: &ReviewArgs) -> Result<(), Failure> {
    let options = args.plan.options();
    let (seed, quick) = (options.seed, options.quick);
    let (devices, only) = sort_names(&args.devices, &args.only);
    if devices.is_empty() {
        return Err(Failure::bad_input(format!("no drive is named: {} are tests to run", only.join(", ")))
            .help("name the drives first, as in `ssdlab review DEVICE --only TEST`; `ssdlab list devices` has them"));
    }
    let tests = chosen_tests(&only)?;
    let settings = parse_settings(&args.settings);
    let (of_drives, settings): (Vec<_>, Vec<_>) =
        settings.map_err(param_failure)?.into_iter().partition(|(key, _)| is_of_drive(key));
    let figures = Figures::read(args.own.figures.as_deref())?.about(&devices);
    figures.concern(&devices)?;
    if let (false, Some((key, _))) = (figures.own.is_empty(), of_drives.first()) {
        return Err(Failure::bad_input(format!("--set {key} makes another drive than the figures are about"))
            .help("leave --set out, or --figures, or write a drive file of your own and figures about it"));
    }
    let drives = TestedDevice::all(&devices, &of_drives, seed, &args.real.destroyed)?;
    drives
        .iter()
        .for_each(|drive| drive.say_if_memory_is_scarce(options.quick && tests.iter().all(|t| !t.on_whole_drive)));
    let any_real = drives.iter().any(|drive| drive.is_real());
    let jobs = with_settings(jobs_of(&drives, &tests, !only.is_empty()), &settings)
        .map_err(|e| param_failure_on(any_real, e))?;
    let mut folder = OutputFolder::open(&args.out, Writes::REVIEW, args.force)?;
    let (mut results, finished) = finished::run_into(&folder, &drives, &jobs, options)?;
    let outcomes = std::mem::take(&mut results.outcomes);
    let mut failures = Failures::default();
    if !outcomes.is_empty() {
        // A drive with other values is not the one that something was published about.
        let claims = if of_drives.is_empty() { claims_about(&drives, &outcomes, figures.all()) } else { Vec::new() };
        let left_out = std::mem::take(&mut results.left_out);
        let review = Review { left_out, ..review_of(&drives, outcomes, claims, seed, quick) };
        let written = failures.note(write_into(&mut folder, &review));
        if written.is_some() && results.is_whole() {
            finished.clear();
        }
        failures.note(print_raw(&terminal_summary(&review, written.as_ref(), use_colour())));
    }
    failures.note(results.conclude());
    failures.conclude()
}

/// The tests of a review, or those that were `asked` for by name, on each drive.
pub fn jobs_of<D: Tested>(drives: &[D], tests: &[&'static TestDef], asked: bool) -> Vec<PlanJob> {
    // What was asked for by name runs even if it is no part of a review.
    let jobs_of = if asked { PlanJob::asked } else { PlanJob::review };
    // All drives of a test one after the other: that is how the report is read.
    let jobs = tests.iter().flat_map(|&test| (0..drives.len()).flat_map(move |lab| jobs_of(lab, test)));
    // A drive without power figures has nothing to show there.
    jobs.filter(|j| asked || !j.test.needs_power_figures || drives[j.lab].meters_energy()).collect()
}

/// The jobs with `--set`: each parameter goes to every test that takes it, over what its variant says.
///
/// # Errors
/// What no test takes.
pub fn with_settings(mut jobs: Vec<PlanJob>, settings: &[(String, String)]) -> Result<Vec<PlanJob>, ParamError> {
    for (key, value) in settings {
        let mut refused = None;
        let mut taken = false;
        for job in &mut jobs {
            if job.test.all_params().all(|p| p.key != *key) {
                let unknown = PlanJob { settings: vec![(key.clone(), value.clone())], ..job.clone() }.check(false);
                refused = refused.or(unknown.err());
                continue;
            }
            taken = true;
            job.settings.retain(|(own, _)| own != key);
            job.settings.push((key.clone(), value.clone()));
        }
        if let (false, Some(error)) = (taken, refused) {
            return Err(error);
        }
    }
    // Variants that differed by nothing else are one.
    let mut kept: Vec<PlanJob> = Vec::new();
    for job in jobs {
        let same = |k: &PlanJob| k.lab == job.lab && k.test == job.test && sorted(&k.settings) == sorted(&job.settings);
        if !kept.iter().any(same) {
            kept.push(job);
        }
    }
    Ok(kept)
}

fn sorted(settings: &[(String, String)]) -> Vec<&(String, String)> {
    let mut all: Vec<_> = settings.iter().collect();
    all.sort();
    all
}

/// `review DRIVE --only trim atto` means two tests: names of tests behind `--only` are not drives.
fn sort_names(devices: &[String], only: &[String]) -> (Vec<String>, Vec<String>) {
    let is_test = |name: &String| !only.is_empty() && find_test(name).is_ok();
    let (more, devices): (Vec<String>, Vec<String>) = devices.iter().cloned().partition(is_test);
    (devices, [only, &more].concat())
}

/// The tests of these names; without any, all.
///
/// # Errors
/// If there is none of a name.
pub fn chosen_tests(only: &[String]) -> Result<Vec<&'static TestDef>, Failure> {
    let mut tests = Vec::new();
    for name in only {
        let test = find_test(name).map_err(param_failure)?;
        if !tests.contains(&test) {
            tests.push(test);
        }
    }
    Ok(if tests.is_empty() { TESTS.to_vec() } else { tests })
}

/// Writes the review into a folder that was checked, as [`OutputFolder::write`] does.
///
/// # Errors
/// If the file system refuses.
pub fn write_into(folder: &mut OutputFolder, review: &Review) -> Result<Written, Failure> {
    folder.write(review.is_complete(), |place| {
        let written = write_review(place, review);
        let written = written.map_err(|e| Failure::run(format!("the review was not written: {e}")))?;
        let files = written.files.clone();
        Ok((written, files))
    })
}

fn use_colour() -> bool {
    #[allow(clippy::disallowed_methods, reason = "colour is for the eye; results do not change")]
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    wanted && io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|&s| s.to_owned()).collect()
    }

    #[test]
    fn a_review_that_is_not_whole_takes_the_place_of_none() {
        let dir = std::env::temp_dir().join(format!("ssdlab-review-not-whole-{}", std::process::id()));
        let drives = crate::lab::drives(&names(&["ideal-32die"]), 1).unwrap_or_else(|e| panic!("{e}"));
        let write = |left_out| {
            let review = review_of(&drives, Vec::new(), Vec::new(), 1, false);
            let mut folder = OutputFolder::open(&dir, Writes::REVIEW, false).unwrap_or_else(|e| panic!("{e}"));
            write_into(&mut folder, &Review { left_out, ..review }).unwrap_or_else(|e| panic!("{e}"));
        };
        write(Vec::new());
        let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
        let whole = read("results.json");
        let test = ssdlab_bench::suite::find_test("trim").unwrap();
        let job = PlanJob { lab: 0, test, variant: String::new(), settings: Vec::new() };
        write(vec![crate::plan::stopped(&job, "ideal-32die")]);
        assert_eq!(read("results.json"), whole);
        assert!(read("unfinished/results.json").contains("it was stopped"));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn tests_may_follow_only_like_a_list() {
        let (devices, only) = sort_names(&names(&["ideal-32die", "atto"]), &names(&["trim"]));
        assert_eq!((devices, only), (names(&["ideal-32die"]), names(&["trim", "atto"])));
        let (devices, only) = sort_names(&names(&["ideal-32die", "atto"]), &[]);
        assert_eq!((devices, only), (names(&["ideal-32die", "atto"]), vec![]));
    }
}
