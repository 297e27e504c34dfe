//! `ssdlab sweep`: many drives through tests, resumable, and one table of the results.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ssdlab_sweep::{
    Plan, RESULT_FILES, State, Store, Sweep, Task, UNFINISHED_FILES, is_unfinished, keys_without_effect, sweep,
    write_results,
};

use crate::args::SweepArgs;
use crate::failure::Failure;
use crate::folder::{OutputFolder, Writes};
use crate::output::{Failures, complain, print};
use crate::progress::{Bar, CANCEL, stop_on_ctrl_c};

/// What a sweep consists of on disk.
pub const WRITES: Writes = Writes { command: "sweep", files: &RESULT_FILES, folders: &[], stores: &["points"] };

pub fn run(args: &SweepArgs) -> Result<(), Failure> {
    let plan = Plan::open(&args.plan)?;
    let mut folder = OutputFolder::open(&args.out, WRITES, args.force)?;
    let refused =
        |e: ssdlab_sweep::StoreError| Failure::run(e.to_string()).help("choose another folder with --out DIR");
    let store = Store::open(&args.out).map_err(refused)?;
    for notice in plan.tasks.iter().flat_map(Task::notices).collect::<BTreeSet<_>>() {
        complain(&format!("notice: {notice}"));
    }
    stop_on_ctrl_c()?;
    let bar = Bar::new();
    let threads = args.threads.and_then(|n| NonZeroUsize::new(n.into()));
    let result = sweep(&plan, &store, threads, &|p| bar.sweep(p), &CANCEL);
    drop(bar);
    let result = result.map_err(refused)?;
    for (key, why) in &result.spoilt {
        complain(&format!("notice: points/{key}.json could not be used ({why}); the point was run again"));
    }
    if is_unfinished(&result.states) {
        return Err(stopped(&mut folder, &plan, &result));
    }
    let written = write(&mut folder, &plan, &result.states);
    let mut text = summary(&plan, &result);
    for file in written.iter().flatten() {
        text.push_str(&format!("  {}\n", file.display()));
    }
    let mut failures = Failures::default();
    failures.note(print(&text));
    failures.note(conclude(&plan, &result));
    failures.note(written);
    failures.conclude()
}

/// Writes the table and the page. Those of an unfinished sweep stand beside what an earlier one may have left; those of a
/// finished one take the place of both.
///
/// # Errors
/// If the file system refuses.
pub fn write(folder: &mut OutputFolder, plan: &Plan, states: &[State]) -> Result<Vec<PathBuf>, Failure> {
    let results = |dir: &Path| {
        let files = write_results(dir, plan, states, env!("CARGO_PKG_VERSION"))
            .map_err(|e| Failure::run(e.to_string()).help("choose another folder with --out DIR"))?;
        let names = files.iter().filter_map(|f| f.file_name()).map(PathBuf::from).collect();
        Ok((files, names))
    };
    if is_unfinished(states) { folder.write_beside(&UNFINISHED_FILES, results) } else { folder.write(true, results) }
}

/// What there is by now, as a table of its own name, so that nobody takes it for the whole.
fn stopped(folder: &mut OutputFolder, plan: &Plan, result: &Sweep) -> Failure {
    let count = |wanted: fn(&State) -> bool| result.states.iter().filter(|s| wanted(s)).count();
    let (done, failed) = (count(|s| matches!(s, State::Done(_))), count(|s| matches!(s, State::Failed(_))));
    let out = folder.path().to_owned();
    let mut failure = Failure::run(format!(
        "stopped: {done} of {} points are finished and kept in {}",
        result.states.len(),
        out.display()
    ))
    .help("the same command goes on from there");
    if let Some(first) = first_failed(plan, &result.states) {
        failure = failure.help(format!("{failed} failed; {first}"));
    }
    if done == 0 {
        return failure;
    }
    match write(folder, plan, &result.states) {
        Ok(files) => {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            failure.help(format!("what there is so far stands in {}", names.join(" and ")))
        }
        Err(e) => failure.help(format!("a table of what there is so far could not be written: {e}")),
    }
}

fn summary(plan: &Plan, result: &Sweep) -> String {
    let count = |wanted: fn(&State) -> bool| result.states.iter().filter(|s| wanted(s)).count();
    let impossible = count(|s| matches!(s, State::Done(ssdlab_sweep::PointResult::Impossible { .. })));
    let failed = count(|s| matches!(s, State::Failed(_)));
    let mut text =
        format!("{}: {} points; {} run, {} found finished", plan.title, plan.points.len(), result.run, result.found);
    if impossible > 0 {
        text.push_str(&format!(", {impossible} impossible"));
    }
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    text.push('\n');
    text.push_str(&why_impossible(plan, &result.states));
    for key in keys_without_effect(plan, &result.states) {
        text.push_str(&format!("  without effect: {key}; points that differ in it alone have the same figures\n"));
    }
    text
}

/// Why points are impossible: each reason once, with the points that it holds for.
pub fn told<'a>(reasons: impl Iterator<Item = (usize, &'a str)>) -> String {
    const REASONS: usize = 5;
    const NUMBERS: usize = 8;
    let mut by_reason: Vec<(&str, Vec<usize>)> = Vec::new();
    for (number, reason) in reasons {
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, numbers)) => numbers.push(number),
            None => by_reason.push((reason, vec![number])),
        }
    }
    let line = |(reason, numbers): &(&str, Vec<usize>)| {
        let named: Vec<String> = numbers.iter().take(NUMBERS).map(usize::to_string).collect();
        let rest = if named.len() < numbers.len() { ", …" } else { "" };
        let points = if numbers.len() == 1 { "point" } else { "points" };
        format!("  impossible: {points} {}{rest}: {reason}\n", named.join(", "))
    };
    let mut text: String = by_reason.iter().take(REASONS).map(line).collect();
    if by_reason.len() > REASONS {
        text.push_str(&format!("  … and {} other reasons\n", by_reason.len() - REASONS));
    }
    text
}

/// A point that failed is a bug, and a sweep without any figure is no success.
fn conclude(plan: &Plan, result: &Sweep) -> Result<(), Failure> {
    if let Some(failed) = first_failed(plan, &result.states) {
        return Err(Failure::run(failed));
    }
    none_possible(&result.states).map_or(Ok(()), Err)
}

/// The first point that failed, and why.
fn first_failed(plan: &Plan, states: &[State]) -> Option<String> {
    states.iter().enumerate().find_map(|(i, state)| match state {
        State::Failed(why) => Some(format!("point {} ({}) failed: {why}", plan.points[i].number, plan.describe(i))),
        _ => None,
    })
}

/// That no point has a figure, because none that ran is possible.
pub fn none_possible(states: &[State]) -> Option<Failure> {
    let reason = states.iter().find_map(|s| match s {
        State::Done(ssdlab_sweep::PointResult::Impossible { reason }) => Some(reason),
        _ => None,
    });
    let any = states.iter().any(|s| matches!(s, State::Done(ssdlab_sweep::PointResult::Finished { .. })));
    reason
        .filter(|_| !any)
        .map(|reason| Failure::run(format!("no point of the plan is possible; of the first: {reason}")))
}

/// Why points are impossible, a line a reason; empty if all are possible.
pub fn why_impossible(plan: &Plan, states: &[State]) -> String {
    told(states.iter().enumerate().filter_map(|(i, s)| match s {
        State::Done(ssdlab_sweep::PointResult::Impossible { reason }) => Some((plan.points[i].number, reason.as_str())),
        _ => None,
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ssdlab_sweep::PointResult;

    use super::*;

    #[test]
    fn a_stopped_sweep_counts_no_failed_point_and_tells_of_it() {
        let text = "drive = \"ideal-32die\"\ngrid.gc.policy = [\"greedy\", \"random\", \"fifo\"]\n[[test]]\n\
                    name = \"random-read\"\n";
        let plan = Plan::parse("policies.toml", text).unwrap_or_else(|e| panic!("{e}"));
        let done = State::Done(PointResult::Finished {
            capacity_bytes: 1 << 30,
            spare_percent: Some(7.0),
            metrics: BTreeMap::new(),
            notes: Vec::new(),
        });
        let states = vec![done, State::Failed("it panicked".to_owned()), State::NotRun];
        let result = Sweep { states, run: 2, found: 0, spoilt: Vec::new() };
        let dir = std::env::temp_dir().join(format!("ssdlab-stopped-{}", std::process::id()));
        let mut folder = OutputFolder::open(&dir, WRITES, false).unwrap_or_else(|e| panic!("{e}"));
        let told = stopped(&mut folder, &plan, &result).to_string();
        drop(folder);
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(told.contains("stopped: 1 of 3 points are finished and kept"), "{told}");
        let failed = "1 failed; point 2 (gc.policy random, random-read, seed 1) failed: it panicked";
        assert!(told.contains(failed), "{told}");
    }
}
