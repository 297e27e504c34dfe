//! `ssdlab claims`: published figures beside simulated ones.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use ssdlab_bench::plan::PlanJob;
use ssdlab_bench::suite::find_test;
use ssdlab_catalog::claims::{self, Claim, ClaimKind, ClaimRow, ClaimState, Tally};
use ssdlab_catalog::{array_names, disk_names, drive_names};
use ssdlab_sweep::write_whole;

use crate::args::ClaimsArgs;
use crate::failure::Failure;
use crate::figures::Figures;
use crate::finished;
use crate::folder::{OutputFolder, UNFINISHED, Writes};
use crate::lab::{SimulatedDrive, drives};
use crate::output::{Failures, complain, print, print_json, table};
use crate::plan::{self, param_failure};

const FILE: &str = "claims.json";
const WRITES: Writes = Writes { command: "claims", files: &[FILE], folders: &[UNFINISHED], stores: &[] };

pub fn run(args: &ClaimsArgs) -> Result<(), Failure> {
    let options = args.plan.options();
    let (seed, quick) = (options.seed, options.quick);
    let Asked { claims, devices: names, everything } =
        Asked::of(Figures::read(args.own.figures.as_deref())?, &args.devices)?;
    let drives = drives(&names, seed)?;
    let devices: Vec<&str> = drives.iter().map(SimulatedDrive::device).collect();
    check_published(&claims, &devices)?;
    let jobs = needed_jobs(&claims, &devices)?;
    let mut folder = args.out.as_deref().map(|dir| OutputFolder::open(dir, WRITES, args.force)).transpose()?;
    let (mut results, finished) = match &folder {
        Some(folder) => {
            let (results, finished) = finished::run_into(folder, &drives, &jobs, options)?;
            (results, Some(finished))
        }
        None => (plan::run(&drives, &jobs, options)?, None),
    };
    let mut judged = devices;
    if everything {
        judged.extend(claims::missing_drives(&claims));
    }
    let rows = claims::evaluate(&claims, &judged, &std::mem::take(&mut results.outcomes));
    let mut document = document(&rows, seed, quick);
    // A figure whose test was stopped or failed is not told from one that nothing was run for.
    let is_whole = results.is_whole();
    document["complete"] = is_whole.into();
    let mut failures = Failures::default();
    let written = failures.note(folder.as_mut().map_or(Ok(()), |folder| write_into(folder, &document, is_whole)));
    // What a test that failed leaves is kept, too: the same command goes on from there.
    if let (Some(()), true, Some(finished)) = (written, is_whole, finished) {
        finished.clear();
    }
    failures.note(if args.json { print_json(&document) } else { print(&text(&rows)) });
    failures.note(results.conclude());
    if args.strict {
        failures.note(strict(&claims, &judged, &rows));
    }
    failures.conclude()
}

/// Writes the document into a folder that was checked, as [`OutputFolder::write`] does.
fn write_into(folder: &mut OutputFolder, document: &Value, is_whole: bool) -> Result<(), Failure> {
    let refused = |e: String| Failure::run(format!("the figures were not written: {e}"));
    folder.write(is_whole, |place| {
        fs::create_dir_all(place).map_err(|e| refused(format!("{}: {e}", place.display())))?;
        let path = place.join(FILE);
        write_whole(&path, format!("{document:#}\n").as_bytes()).map_err(|e| refused(e.to_string()))?;
        if !is_whole {
            complain(&format!("notice: {} has the figures so far", path.display()));
        }
        Ok(((), vec![PathBuf::from(FILE)]))
    })
}

/// What is laid beside what.
pub struct Asked {
    /// One's own figures if no device was named; otherwise the catalog's as well.
    pub claims: Vec<Claim>,
    /// The devices that were named; without, those of one's own figures; without these, all that something was published about.
    pub devices: Vec<String>,
    /// Whether that is all.
    pub everything: bool,
}

impl Asked {
    /// # Errors
    /// If no figure of one's own is about the devices that were named.
    pub fn of(figures: Figures, named: &[String]) -> Result<Asked, Failure> {
        let figures = figures.about(named);
        if !named.is_empty() {
            figures.concern(named)?;
        }
        let of_own = figures.devices();
        let everything = named.is_empty() && of_own.is_empty();
        let (claims, devices) = match () {
            () if !named.is_empty() => (figures.all(), named.to_vec()),
            () if everything => (figures.all(), published_drives(&claims::all())),
            () => (figures.own, of_own),
        };
        Ok(Asked { claims, devices, everything })
    }
}

/// Published figures beside ours, as `--json` prints them.
pub fn document(rows: &[ClaimRow], seed: u64, quick: bool) -> Value {
    json!({
        "schema": "ssdlab.claims/1",
        "version": env!("CARGO_PKG_VERSION"),
        "seed": seed,
        "quick": quick,
        "measured": Tally::of(rows, ClaimKind::Measured),
        "calibration": Tally::of(rows, ClaimKind::Calibration),
        "by_method": Tally::of(rows, ClaimKind::ByMethod),
        "as_built": Tally::of(rows, ClaimKind::AsBuilt),
        "claims": rows,
    })
}

/// Refuses misses that the catalog gives no reason for, of every kind; reasons for misses that are none; and what could have been
/// judged on `devices` and was not.
/// Orders of which a drive was not asked for are left open.
fn strict(claims: &[Claim], devices: &[&str], rows: &[ClaimRow]) -> Result<(), Failure> {
    let unexplained = |kind: ClaimKind| rows.iter().filter(|row| row.kind == kind && row.is_unexplained_miss()).count();
    for (kind, what) in [
        (ClaimKind::Measured, "published figure(s) missed for no known reason"),
        (ClaimKind::ByMethod, "test(s) not run as was published"),
        (ClaimKind::AsBuilt, "drive file(s) do not say what the source says"),
    ] {
        match unexplained(kind) {
            0 => {}
            n => return Err(Failure::run(format!("{n} {what}"))),
        }
    }
    // Several statements of a source can stand under one number, some of them met and others not.
    let has_reason =
        |row: &ClaimRow| claims.iter().any(|c| c.id == row.id && c.quantity == row.quantity && c.known_miss.is_some());
    let mut stale = rows.iter().filter(|row| row.state == ClaimState::Met && has_reason(row)).peekable();
    if let Some(first) = stale.peek() {
        let (id, device) = (first.id.clone(), first.device.clone());
        let count = stale.count();
        let what = format!("{count} figure(s) met that are said to be missed, the first {id} of {device}");
        return Err(Failure::run(what).help("take its `known_miss` out".to_owned()));
    }
    let asked = |row: &ClaimRow| {
        let of_one = |claim: &Claim| claim.devices.contains(&row.device) && devices.contains(&row.device.as_str());
        let all = |claim: &Claim| claim.drives().iter().all(|drive| devices.contains(drive));
        claims.iter().any(|claim| claim.id == row.id && (of_one(claim) || all(claim)))
    };
    let mut open = rows.iter().filter(|row| row.state == ClaimState::NotRun && asked(row)).peekable();
    if let Some(first) = open.peek() {
        let (id, device, reason) = (first.id.clone(), first.device.clone(), first.reason.clone());
        let count = open.count();
        return Err(Failure::run(format!("{count} figure(s) were not judged, the first {id} of {device}: {reason}")));
    }
    if rows.iter().all(|row| matches!(row.state, ClaimState::NotRun | ClaimState::NotSimulated)) {
        return Err(Failure::run("no figure was judged".to_owned())
            .help("name the drives of an order together, or none to judge all".to_owned()));
    }
    Ok(())
}

/// Every device that something was published about: drives and arrays in the catalog's order, then device expressions.
pub fn published_drives(claims: &[Claim]) -> Vec<String> {
    let named = drive_names().chain(disk_names()).chain(array_names());
    let mut devices: Vec<String> =
        named.filter(|name| claims.iter().any(|c| c.concerns(name))).map(str::to_owned).collect();
    for expression in claims.iter().flat_map(Claim::drives).filter(|name| name.contains('(')) {
        if !devices.iter().any(|known| known == expression) {
            devices.push(expression.to_owned());
        }
    }
    devices
}

/// # Errors
/// If nothing was published about a device.
pub fn check_published(claims: &[Claim], devices: &[&str]) -> Result<(), Failure> {
    match devices.iter().find(|device| !claims.iter().any(|claim| claim.concerns(device))) {
        None => Ok(()),
        Some(device) => Err(Failure::bad_input(format!("the catalog has no published figures about {device}"))
            .help(format!("there are some about {}", published_drives(claims).join(", ")))
            .help("or give your own with --figures FILE")),
    }
}

/// Exactly the tests that the claims need.
///
/// # Errors
/// If a claim names a test that there is not.
pub fn needed_jobs(claims: &[Claim], devices: &[&str]) -> Result<Vec<PlanJob>, Failure> {
    claims::needed(claims, devices)
        .into_iter()
        .map(|run| {
            let lab = devices.iter().position(|d| *d == run.device).unwrap_or_default();
            let test = find_test(&run.test).map_err(param_failure)?;
            Ok(PlanJob { lab, test, variant: String::new(), settings: run.settings.into_iter().collect() })
        })
        .collect()
}

fn text(rows: &[ClaimRow]) -> String {
    let mut text = String::new();
    for kind in ClaimKind::ALL {
        let of_kind: Vec<&ClaimRow> =
            rows.iter().filter(|row| row.kind == kind && row.state != ClaimState::NotSimulated).collect();
        if !of_kind.is_empty() {
            text.push_str(&format!("{}: {}\n{}\n", kind.heading(), kind.meaning(), judged(&of_kind, kind)));
        }
    }
    let not_simulated: Vec<&ClaimRow> = rows.iter().filter(|row| row.state == ClaimState::NotSimulated).collect();
    if !not_simulated.is_empty() {
        text.push_str("Not simulated:\n");
        let line = |row: &&ClaimRow| {
            let what = format!("{}: {}", row.quantity, row.published);
            vec![format!("  {}", row.id), row.device.clone(), what, row.reason.clone()]
        };
        text.push_str(&format!("{}\n", table(&not_simulated.iter().map(line).collect::<Vec<_>>())));
    }
    text.push_str(&counts(rows));
    text
}

/// The figures of a kind: missed ones first.
fn judged(rows: &[&ClaimRow], kind: ClaimKind) -> String {
    let with_margin = matches!(kind, ClaimKind::Measured | ClaimKind::Calibration);
    let mut heads = vec!["  state", "id", "drive", "what", "published", "here"];
    if with_margin {
        heads.extend(["allowed", "margin"]);
    }
    heads.push("why");
    let mut lines = vec![heads.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for state in [ClaimState::Missed, ClaimState::Met, ClaimState::Inconclusive, ClaimState::NotRun] {
        for row in rows.iter().filter(|row| row.state == state) {
            let mut line = vec![format!("  {}", row.state.word())];
            line.extend([&row.id, &row.device, &row.quantity, &row.published, &row.ours_text].map(String::clone));
            if with_margin {
                line.extend([row.tolerance.clone(), row.margin()]);
            }
            line.push(match &row.repeats {
                Some(id) if row.reason.is_empty() => format!("says the same as {id}, not counted"),
                Some(id) => format!("{}; says the same as {id}, not counted", row.reason),
                None => row.reason.clone(),
            });
            lines.push(line);
        }
    }
    table(&lines)
}

/// How many there are of each kind; the measured ones first, in a line of their own.
fn counts(rows: &[ClaimRow]) -> String {
    let measured = Tally::of(rows, ClaimKind::Measured);
    let mut text = format!(
        "Measured here: {} met, {} missed ({} of them for a known reason), {} open\n",
        measured.met, measured.missed, measured.missed_for_a_known_reason, measured.open
    );
    let mut others: Vec<String> = [ClaimKind::Calibration, ClaimKind::ByMethod, ClaimKind::AsBuilt]
        .into_iter()
        .filter_map(|kind| {
            let Tally { met, missed, open, .. } = Tally::of(rows, kind);
            (met + missed + open > 0)
                .then(|| format!("{} {met} of {}", kind.heading().to_lowercase(), met + missed + open))
        })
        .collect();
    let not_simulated: usize = ClaimKind::ALL.iter().map(|&kind| Tally::of(rows, kind).not_simulated).sum();
    others.push(format!("{not_simulated} not simulated"));
    text.push_str(&format!("Not counted there: {}\n", others.join(", ")));
    text
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::{Metric, Outcome};

    use super::*;

    const FIGURES: &str = r#"
[[claim]]
id = "rate"
devices = ["a.toml", "b.toml"]
quantity = "q"
published = "p"
source = "s"
check.range = { test = "t", metric = "rate", unit = "MB/s", at_least = 10.0 }

[[claim]]
id = "method"
devices = ["a.toml"]
quantity = "q"
published = "p"
source = "s"
check.method = { test = "t", params = { queue_depth = 3 } }

[[claim]]
id = "order"
quantity = "q"
published = "p"
source = "s"
check.order = { higher = { device = "a.toml", test = "t", metric = "rate" }, lower = { device = "c.toml", test = "t", metric = "rate" }, ratio_above = 1.0 }

[[claim]]
id = "stale"
devices = ["d.toml"]
quantity = "q"
published = "p"
source = "s"
known_miss = "too fast"
check.range = { test = "t", metric = "rate", unit = "MB/s", at_most = 1.0 }

[[claim]]
id = "stale"
devices = ["d.toml"]
quantity = "another statement under the same number"
published = "p"
source = "s"
check.range = { test = "t", metric = "rate", unit = "MB/s", at_least = 0.5 }
"#;

    fn ran(device: &str, rate: f64, depth: i64) -> Outcome {
        Outcome {
            test: "t".to_owned(),
            device: device.to_owned(),
            params: [("queue_depth".to_owned(), depth.into())].into(),
            metrics: [("rate".to_owned(), Metric::new(rate, "MB/s"))].into(),
            ..Outcome::default()
        }
    }

    fn refusal(devices: &[&str], outcomes: &[Outcome]) -> Option<String> {
        let claims = claims::parse("figures.toml", FIGURES).unwrap_or_else(|e| panic!("{e}"));
        strict(&claims, devices, &claims::evaluate(&claims, devices, outcomes)).err().map(|e| e.to_string())
    }

    #[test]
    fn strict_refuses_misses_of_every_kind_and_what_was_not_judged() {
        assert_eq!(refusal(&["a.toml"], &[ran("a.toml", 10.0, 3)]), None, "of the order, a drive was not asked for");
        let says = |devices: &[&str], outcomes: &[Outcome], what: &str| {
            let refusal = refusal(devices, outcomes).unwrap_or_else(|| panic!("passes: {what}"));
            assert!(refusal.contains(what), "{refusal}");
        };
        says(&["a.toml"], &[ran("a.toml", 9.0, 3)], "1 published figure(s) missed for no known reason");
        says(
            &["d.toml"],
            &[ran("d.toml", 1.0, 3)],
            "1 figure(s) met that are said to be missed, the first stale of d.toml",
        );
        assert_eq!(refusal(&["d.toml"], &[ran("d.toml", 2.0, 3)]), None, "missed for the reason that is given");
        says(&["a.toml"], &[ran("a.toml", 10.0, 4)], "1 test(s) not run as was published");
        let shortened = Outcome { shortened: Some("one second".to_owned()), ..ran("a.toml", 10.0, 3) };
        says(&["a.toml"], &[shortened], "2 figure(s) were not judged, the first rate of a.toml: shortened run");
        let without = [ran("a.toml", 10.0, 3)];
        says(&["a.toml", "b.toml"], &without, "1 figure(s) were not judged, the first rate of b.toml: `t` has not run");
        says(&["a.toml", "c.toml"], &without, "1 figure(s) were not judged, the first order of a.toml");
        says(&["c.toml"], &[ran("c.toml", 10.0, 3)], "no figure was judged");
    }

    #[test]
    fn figures_of_which_not_all_have_run_take_the_place_of_none() {
        let dir = std::env::temp_dir().join(format!("ssdlab-claims-not-whole-{}", std::process::id()));
        let write = |seed: u64, is_whole: bool| {
            let mut folder = OutputFolder::open(&dir, WRITES, false).unwrap_or_else(|e| panic!("{e}"));
            let document = document(&[], seed, false);
            write_into(&mut folder, &document, is_whole).unwrap_or_else(|e| panic!("{e}"));
        };
        let seed = |name: &str| {
            let text = fs::read_to_string(dir.join(name)).ok()?;
            serde_json::from_str::<Value>(&text).unwrap()["seed"].as_u64()
        };
        let seeds = || [FILE, "unfinished/claims.json"].map(seed);
        write(1, true);
        write(2, false);
        assert_eq!(seeds(), [Some(1), Some(2)]);
        write(3, false);
        assert_eq!(seeds(), [Some(1), Some(3)]);
        write(4, true);
        assert_eq!(seeds(), [Some(4), None]);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn every_test_that_a_claim_needs_exists_and_takes_its_parameters() {
        let claims = claims::all();
        let mut devices: Vec<&str> = drive_names().chain(disk_names()).chain(array_names()).collect();
        devices.extend(claims::missing_drives(&claims));
        let jobs = needed_jobs(&claims, &devices).unwrap_or_else(|e| panic!("{e}"));
        assert!(jobs.len() > 20);
        for job in &jobs {
            job.check(false).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}
