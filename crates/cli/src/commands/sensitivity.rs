//! `ssdlab sensitivity`: which estimates of a drive move which of its figures.

use std::path::PathBuf;

use serde_json::{Value, json};
use ssdlab_bench::suite::find_test;
use ssdlab_forecast::{Figure, FigureSensitivity, Sensitivity, headlines, page, sensitivity};
use ssdlab_report::{figure_text, sweep_html};
use ssdlab_sweep::write_whole;

use crate::args::SensitivityArgs;
use crate::commands::forecast::{Kept, bench};
use crate::failure::Failure;
use crate::folder::{OutputFolder, Writes};
use crate::output::{Failures, print, print_json, table};
use crate::plan::param_failure;
use crate::progress::{Bar, stop_on_ctrl_c};

const WRITES: Writes =
    Writes { command: "sensitivity", files: &["index.html", "sensitivity.json"], folders: &[], stores: &[] };
/// Estimates that are printed for a figure; the page and the JSON have them all.
const SHOWN: usize = 8;

pub fn run(args: &SensitivityArgs) -> Result<(), Failure> {
    let figures = figures(args)?;
    let mut folder = match &args.out {
        Some(dir) => Some(OutputFolder::open(dir, WRITES, args.force)?),
        None => None,
    };
    let kept = Kept::within(folder.as_ref())?;
    stop_on_ctrl_c()?;
    let bar = Bar::new();
    let progress = |done: usize, of: usize| bar.runs(done as u64, of as u64);
    let bench = bench(args.plan.options(), &progress, &kept);
    let found = sensitivity(&args.device, &figures, args.by, &args.keys, &bench)?;
    drop(bar);
    kept.say_unkept();
    let found = found.map_err(|none| kept.ended(none))?;
    if found.figures.is_empty() {
        let why = found.left_out.last().map_or(String::new(), |l| format!("; {}: {}", l.key, l.reason));
        return Err(Failure::run(format!("{} has none of the figures{why}", found.device)));
    }
    let document = json!({
        "schema": "ssdlab.sensitivity/1",
        "version": env!("CARGO_PKG_VERSION"),
        "seed": args.plan.common.seed,
        "quick": args.plan.common.quick,
        "varied_by_percent": args.by,
        "device": found.device,
        "varied": found.varied,
        "figures": found.figures,
        "left_out": found.left_out,
    });
    let mut failures = Failures::default();
    let written = failures.note(folder.as_mut().map_or(Ok(()), |folder| write_into(folder, args, &found, &document)));
    if written.is_some() {
        kept.clear();
    }
    failures.note(if args.json { print_json(&document) } else { print(&text(args, &found)) });
    failures.conclude()
}

/// Writes the page and the document into a folder that was checked.
fn write_into(
    folder: &mut OutputFolder,
    args: &SensitivityArgs,
    found: &Sensitivity,
    document: &Value,
) -> Result<(), Failure> {
    let refused = |e: String| Failure::run(format!("the page was not written: {e}"));
    folder.write(true, |place| {
        let files = vec!["sensitivity.json".to_owned()];
        let html = sweep_html(&page(found, env!("CARGO_PKG_VERSION"), facts(args, found), files));
        let html = html.map_err(|e| refused(e.to_string()))?;
        for (name, text) in [("index.html", html), ("sensitivity.json", format!("{document:#}\n"))] {
            write_whole(&place.join(name), text.as_bytes()).map_err(|e| refused(e.to_string()))?;
        }
        Ok(((), WRITES.files.iter().map(PathBuf::from).collect()))
    })
}

/// The headline figures, or those of the tests asked for.
fn figures(args: &SensitivityArgs) -> Result<Vec<Figure>, Failure> {
    let quick = args.plan.common.quick;
    let mut figures = headlines(quick);
    for name in &args.only {
        let test = find_test(name).map_err(param_failure)?;
        if !figures.iter().any(|f| f.test.name == test.name) {
            let mut with: Vec<&str> = figures.iter().map(|f| f.test.name).collect();
            with.dedup();
            // Some rank drives otherwise in small than in full.
            if quick && headlines(false).iter().any(|f| f.test.name == test.name) {
                return Err(Failure::bad_input(format!("no headline figure comes from {name} in a quick run"))
                    .help(format!("leave out --quick; in small there are figures of {}", with.join(", "))));
            }
            return Err(Failure::bad_input(format!("no headline figure comes from {name}"))
                .help(format!("there are figures of {}", with.join(", "))));
        }
    }
    figures.retain(|f| args.only.is_empty() || args.only.iter().any(|name| name == f.test.name));
    Ok(figures)
}

fn facts(args: &SensitivityArgs, found: &Sensitivity) -> Vec<(String, String)> {
    let length =
        if args.plan.common.quick { "an eighth of the drive for an eighth of the time" } else { "the whole drive" };
    // Whoever sees only some must not take the others for such as move nothing.
    let varied = match (found.varied.len(), args.keys.as_slice()) {
        (n, []) => format!("all that have other values to try: {n}"),
        (n, keys) => format!("{n}, those whose keys begin with {}: {}", keys.join(" or "), found.varied.join(", ")),
    };
    [
        ("runs", length.to_owned()),
        ("estimates varied", varied),
        (
            "numbers varied by",
            format!("{} % each way, whole numbers by one at least, unless their file states a band", args.by),
        ),
        ("seed", args.plan.common.seed.to_string()),
    ]
    .map(|(word, value)| (word.to_owned(), value))
    .to_vec()
}

fn text(args: &SensitivityArgs, found: &Sensitivity) -> String {
    let length = if args.plan.common.quick { ", of an eighth of the drive for an eighth of the time" } else { "" };
    let mut text = format!("What the figures of {} hang on{length}, seed {}\n", found.device, args.plan.common.seed);
    for figure in &found.figures {
        text.push_str(&of_figure(figure));
    }
    if !found.left_out.is_empty() {
        let rows: Vec<Vec<String>> =
            found.left_out.iter().map(|l| vec![format!("  {}", l.key), l.value.clone(), l.reason.clone()]).collect();
        text.push_str(&format!("\nNot tried:\n{}", table(&rows)));
    }
    text
}

fn of_figure(figure: &FigureSensitivity) -> String {
    let number = |v: f64| figure_text(v, &figure.unit);
    let mut text = format!("\n{} ({}, {}): {}\n", figure.title, figure.test, figure.metric, figure.sentence(number));
    let change = |v: f64| {
        let percent = (v / figure.value - 1.0) * 100.0;
        match figure.value {
            0.0 => String::new(),
            _ if percent.abs() < 0.05 => "0.0 %".to_owned(),
            _ => format!("{percent:+.1} %"),
        }
    };
    // What is chance must be seen beside what is not.
    let shown: Vec<_> =
        figure.bars.iter().enumerate().filter(|(k, bar)| *k < SHOWN || bar.is_of_seeds()).map(|(_, bar)| bar).collect();
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|bar| {
            let tried: Vec<String> = bar.sides.iter().map(|s| format!("{}: {}", s.value, change(s.figure))).collect();
            vec![format!("  {}", bar.key), format!("{} {}", bar.value, bar.unit), tried.join("; ")]
        })
        .collect();
    text.push_str(&table(&rows));
    match figure.bars.len() - shown.len() {
        0 => {}
        more => text.push_str(&format!("  and {more} more that move it no further: --out DIR and --json have them\n")),
    }
    text
}
