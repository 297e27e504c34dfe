//! `ssdlab torture`: drives, hosts and faults drawn from a seed, and a report of what was wrong.

use std::sync::atomic::Ordering;

use ssdlab_torture::{Campaign, Kind, Original, Report, build_ssd, cut_specimens, torture};

use crate::args::TortureArgs;
use crate::failure::Failure;
use crate::output::{Failures, complain, print};
use crate::progress::{Bar, CANCEL, stop_on_ctrl_c};

/// Failures told in full; beyond these only their number.
const SHOWN: usize = 10;

pub fn run(args: &TortureArgs) -> Result<(), Failure> {
    stop_on_ctrl_c()?;
    let kind = if args.power_cuts { Kind::PowerCuts } else { Kind::Work };
    let runs = u64::from(args.runs);
    let campaign = Campaign { kind, seed: args.seed, runs, threads: args.threads.map_or(0, usize::from) };
    let originals = originals(&args.of)?;
    for Original { name, .. } in originals.iter().filter(|original| original.flush_lies()) {
        complain(&format!(
            "{name} lies about FLUSH (power_loss.flush_lies): whether what it covers is kept is not checked"
        ));
    }
    let bar = Bar::new();
    let progress = |done| {
        bar.runs(done, runs);
        !CANCEL.load(Ordering::Relaxed)
    };
    let report = match originals.as_slice() {
        [] => torture(&campaign, &build_ssd, &progress),
        originals => cut_specimens(&campaign, originals, &build_ssd, &progress),
    };
    drop(bar);
    let runs_left_out: u64 = report.left_out.values().sum();
    if runs_left_out == runs && runs > 0 {
        return Err(Failure::bad_input(format!("no run was made: {}", left_out(&report)))
            .help("torture --power-cuts without --of draws drives of its own"));
    }
    let mut failures = Failures::default();
    failures.note(print(&format!("torture, seed {}\n{}", args.seed, report.tally)));
    failures.note(conclude(args, &report));
    failures.conclude()
}

/// The drives that specimens are taken of.
fn originals(of: &[String]) -> Result<Vec<Original>, Failure> {
    let mut originals = Vec::new();
    for name in of {
        let names = if name == "catalog" { ssdlab_catalog::drive_names().collect() } else { vec![name.as_str()] };
        for name in names {
            let drive = ssdlab_catalog::resolve(name)?;
            let (die, drive) = (drive.die.spec, drive.spec);
            originals.push(Original { name: name.to_owned(), die, drive });
        }
    }
    Ok(originals)
}

fn conclude(args: &TortureArgs, report: &Report) -> Result<(), Failure> {
    let done = report.runs();
    if !report.failures.is_empty() {
        for failure in report.failures.iter().take(SHOWN) {
            complain(&format!("run {} failed: {}", failure.run, failure.what));
            let power_cuts = if args.power_cuts { " --power-cuts" } else { "" };
            let drive = failure.what.split_once(": ").filter(|_| !args.of.is_empty());
            let of = drive.map_or_else(String::new, |(drive, _)| format!(" --of {drive}"));
            complain(&format!("  repeat it with: ssdlab torture {} --runs 1{power_cuts}{of}", failure.seed));
        }
        let more = report.failures.len().saturating_sub(SHOWN);
        if more > 0 {
            complain(&format!("and {more} more"));
        }
        let besides = match report.left_out.values().sum::<u64>() {
            0 => String::new(),
            runs => format!("; {runs} were left out: {}", left_out(report)),
        };
        return Err(Failure::run(format!("{} of {done} runs failed{besides}", report.failures.len())));
    }
    if done < args.runs.into() {
        return Err(Failure::run(format!("stopped after {done} of {} runs", args.runs)));
    }
    if !report.left_out.is_empty() {
        let runs: u64 = report.left_out.values().sum();
        return Err(Failure::run(format!("{runs} of {done} runs were left out: {}", left_out(report))));
    }
    Ok(())
}

/// Why runs were left out.
fn left_out(report: &Report) -> String {
    let drives: Vec<&str> = report.left_out.keys().map(String::as_str).collect();
    format!("there is no small drive with the proportions of {}", drives.join(", "))
}

#[cfg(test)]
mod tests {
    use ssdlab_torture::Case;

    use super::*;

    #[test]
    fn there_is_a_small_drive_like_every_drive_of_the_catalog() {
        let originals = originals(&["catalog".to_owned()]).expect("the catalog can be read");
        let without = originals.iter().filter(|original| Case::specimen(original, 1).is_none());
        assert_eq!(without.map(|original| original.name.as_str()).collect::<Vec<_>>(), [""; 0]);
        assert!(originals.len() > 30, "{}", originals.len());
    }
}
