//! `ssdlab review`: the suite on one or several drives, and a report.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::Path;

use ssdlab_bench::plan::PlanJob;
use ssdlab_bench::suite::{TESTS, TestDef, find_test};
use ssdlab_report::{terminal_summary, write_review};

use crate::args::ReviewArgs;
use crate::failure::Failure;
use crate::lab::drives;
use crate::output::print;
use crate::plan::{self, param_failure};
use crate::review_of::{claims_about, review_of};

pub fn run(args: &ReviewArgs) -> Result<(), Failure> {
    let (seed, quick) = (args.common.seed, args.common.quick);
    let (devices, only) = sort_names(&args.devices, &args.only);
    let tests = chosen_tests(&only)?;
    let drives = drives(&devices, seed)?;
    check_writable(&args.out)?;
    // What was asked for by name runs even if it is no part of a review.
    let jobs_of = if only.is_empty() { PlanJob::review } else { PlanJob::asked };
    // All drives of a test one after the other: that is how the report is read.
    let jobs: Vec<PlanJob> =
        tests.iter().flat_map(|&test| (0..drives.len()).flat_map(move |lab| jobs_of(lab, test))).collect();
    // A drive without power figures has nothing to show there.
    let jobs = jobs.into_iter().filter(|j| !only.is_empty() || j.test.name != "power" || drives[j.lab].meters_energy());
    let jobs: Vec<PlanJob> = jobs.collect();
    let mut results = plan::run(&drives, &jobs, args.threads, seed, quick)?;
    if only.is_empty() {
        // Nobody asked for these by name: a review has the tests that its drives allow.
        for left_out in results.unsuitable.drain(..) {
            eprintln!("left out: {}", left_out.what);
        }
    }
    let outcomes = std::mem::take(&mut results.outcomes);
    if !outcomes.is_empty() {
        let claims = claims_about(&drives, &outcomes);
        let review = review_of(&drives, outcomes, claims, seed, quick);
        let written =
            write_review(&args.out, &review).map_err(|e| Failure::run(format!("the review was not written: {e}")))?;
        print(&terminal_summary(&review, Some(&written), use_colour()))?;
    }
    results.conclude()
}

/// `review DRIVE --only trim atto` means two tests: names of tests behind `--only` are not drives.
fn sort_names(devices: &[String], only: &[String]) -> (Vec<String>, Vec<String>) {
    let is_test = |name: &String| !only.is_empty() && find_test(name).is_ok();
    let (more, devices): (Vec<String>, Vec<String>) = devices.iter().cloned().partition(is_test);
    (devices, [only, &more].concat())
}

fn chosen_tests(only: &[String]) -> Result<Vec<&'static TestDef>, Failure> {
    let mut tests = Vec::new();
    for name in only {
        let test = find_test(name).map_err(param_failure)?;
        if !tests.contains(&test) {
            tests.push(test);
        }
    }
    Ok(if tests.is_empty() { TESTS.to_vec() } else { tests })
}

/// Finds out before the work, not after it, whether the folder can be written.
pub fn check_writable(out: &Path) -> Result<(), Failure> {
    let refused = |path: &Path, e: &io::Error| {
        Failure::bad_input(format!("cannot write to the output folder {}: {}: {e}", out.display(), path.display()))
            .help("choose another folder with --out DIR")
    };
    let mut existing = out;
    loop {
        match fs::metadata(existing) {
            Ok(meta) if meta.is_dir() => break,
            Ok(_) => return Err(refused(existing, &io::ErrorKind::NotADirectory.into())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            // A part of the path further up is a file.
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => {}
            Err(e) => return Err(refused(existing, &e)),
        }
        existing = match existing.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
    }
    let probe = existing.join(format!(".ssdlab-can-write-{}", std::process::id()));
    fs::create_dir(&probe).map_err(|e| refused(existing, &e))?;
    fs::remove_dir(&probe).map_err(|e| refused(existing, &e))
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
    fn tests_may_follow_only_like_a_list() {
        let (devices, only) = sort_names(&names(&["ideal-32die", "atto"]), &names(&["trim"]));
        assert_eq!((devices, only), (names(&["ideal-32die"]), names(&["trim", "atto"])));
        let (devices, only) = sort_names(&names(&["ideal-32die", "atto"]), &[]);
        assert_eq!((devices, only), (names(&["ideal-32die", "atto"]), vec![]));
    }
}
