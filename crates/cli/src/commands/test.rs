//! `ssdlab test`: one test on one drive.

use ssdlab_bench::plan::PlanJob;
use ssdlab_bench::specimens::band;
use ssdlab_bench::suite::find_test;
use ssdlab_bench::{Outcome, parse_settings};
use ssdlab_catalog::is_of_catalog;
use ssdlab_report::{figure_text, results_json};

use crate::args::TestArgs;
use crate::commands::review::write_into;
use crate::failure::Failure;
use crate::folder::OutputFolder;
use crate::lab::is_of_drive;
use crate::output::{Failures, print, print_json_text, table};
use crate::plan::{self, param_failure, param_failure_on};
use crate::real::is_real;
use crate::review_of::review_of;
use crate::tested::TestedDevice;

pub fn run(args: &TestArgs) -> Result<(), Failure> {
    let test = find_test(&args.test).map_err(param_failure)?;
    if let Some(other) = args.more_settings.iter().find(|text| is_device(text)) {
        return Err(Failure::bad_input(format!("test takes one drive, and {other} is another"))
            .help("`ssdlab review` compares several; settings have the form KEY=VALUE"));
    }
    let all = parse_settings(&[&*args.settings, &*args.more_settings].concat()).map_err(param_failure)?;
    let (of_drive, settings): (Vec<_>, Vec<_>) = all.into_iter().partition(|(key, _)| is_of_drive(key));
    let job = PlanJob { lab: 0, test, variant: String::new(), settings };
    let options = args.common.options();
    job.check(options.quick).map_err(|e| param_failure_on(is_real(&args.device), e))?;
    let seed = options.seed;
    let first = TestedDevice::only(&args.device, &of_drive, seed, &args.real.destroyed)?.starting(&args.start, seed)?;
    first.say_if_memory_is_scarce(options.quick && !test.on_whole_drive && args.start.from.is_none());
    let others = (1..args.specimens).map(|number| first.specimen(number)).collect::<Result<Vec<_>, _>>()?;
    let drives: Vec<TestedDevice> = std::iter::once(first).chain(others).collect();
    let jobs: Vec<PlanJob> = (0..drives.len()).map(|lab| PlanJob { lab, ..job.clone() }).collect();
    let mut folder = OutputFolder::for_report("test", &args.report)?;
    let mut results = plan::run(&drives, &jobs, options)?;
    let outcomes = std::mem::take(&mut results.outcomes);
    // The band of some of them would not be that of the number asked for.
    let whole = if outcomes.len() == drives.len() { band(&outcomes) } else { None };
    let drives = &drives[..1];
    let mut failures = Failures::default();
    if let Some(outcome) = whole {
        if let Some(folder) = &mut folder {
            let outcomes = vec![outcome.clone()];
            let review = review_of(drives, outcomes, Vec::new(), seed, options.quick);
            failures.note(write_into(folder, &review));
        }
        failures.note(if args.json {
            let review = review_of(drives, vec![outcome], Vec::new(), seed, options.quick);
            results_json(&review).map_err(|e| Failure::run(e.to_string())).and_then(|json| print_json_text(&json))
        } else {
            print(&text(&outcome))
        });
    }
    failures.note(results.conclude());
    failures.conclude()
}

/// Whether a word that stands where further settings can is a device.
fn is_device(text: &str) -> bool {
    match text.split_once('=') {
        // A setting of an expression, as in `raid0(NAME*2, stripe=128KiB)`.
        Some((before, _)) => before.contains('('),
        None => is_of_catalog(text) || is_real(text) || text.ends_with(".toml") || text.contains('('),
    }
}

/// How many of the slowest I/Os are told.
const SLOWEST_SHOWN: usize = 3;

/// An outcome for people.
pub fn text(outcome: &Outcome) -> String {
    let variant = if outcome.variant.is_empty() { String::new() } else { format!(" ({})", outcome.variant) };
    let mut text = format!("{}{variant} on {}\n{}\n\n", outcome.title, outcome.device, outcome.method);
    let figures: Vec<Vec<String>> =
        outcome.metrics.iter().map(|(key, m)| vec![format!("  {key}"), figure(m.value), m.unit.clone()]).collect();
    text.push_str(&table(&figures));
    if !outcome.slowest.is_empty() {
        text.push_str("\nThe slowest requests:\n");
        for io in outcome.slowest.iter().take(SLOWEST_SHOWN) {
            let run = io.run.as_ref().map_or_else(String::new, |run| format!("{run}: "));
            text.push_str(&format!("  {run}{} at {:.3} s, {}\n", io.op, io.at_s, io.sentence));
        }
    }
    for own in &outcome.tables {
        let mut rows: Vec<Vec<String>> = std::iter::once(&own.columns).chain(&own.rows).cloned().collect();
        for row in &mut rows {
            row[0].insert_str(0, "  ");
        }
        text.push_str(&format!("\n{}:\n{}", own.title, table(&rows)));
    }
    if let Some(verdict) = &outcome.verdict {
        text.push_str(&format!("\n{}: {}\n", verdict.word(), verdict.sentence));
    }
    let shortened = outcome.shortened.as_ref().map(|how| format!("Shortened run: {how}"));
    for note in outcome.notes.iter().chain(&shortened) {
        text.push_str(&format!("\n{note}\n"));
    }
    text
}

/// Enough digits to compare, not more than were measured.
fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 || v == v.trunc() => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        // What is not zero must not be told as it.
        v if v < 0.0005 => figure_text(value, ""),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn what_is_not_zero_is_not_told_as_zero() {
        let told = [0.0, 0.000_069_44, -0.0003, 0.0005, 0.25, 12.34, 1234.5].map(figure);
        assert_eq!(told, ["0", "0.0000694", "-0.0003", "0.001", "0.250", "12.3", "1234"]);
    }
}
