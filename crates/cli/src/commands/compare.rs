//! `ssdlab compare`: the figures of two results side by side.

use std::io::Read as _;
use std::path::Path;

use ssdlab_catalog::Diagnostic;
use ssdlab_core::input;
use ssdlab_report::{ResultsDocument, figure_text};

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::folder::UNFINISHED;
use crate::output::{print, print_json, table};
use crate::side_by_side::{CHANCE, Compared, OneSided, Setting, Verdict, compared, document};

/// A review of many drives has some megabytes.
const MAX_BYTES: u64 = 256 << 20;

/// Less than is shown of a change.
const LEAST_SHOWN_PERCENT: f64 = 0.05;

pub fn run(args: &CompareArgs) -> Result<(), Failure> {
    let documents = [read(&args.first)?, read(&args.second)?];
    if args.json {
        return print_json(&document(&documents)?);
    }
    print(&text(args, &documents, &compared(&documents)?))
}

/// Reads a `results.json` that ssdlab wrote, or the one in the folder of a review.
///
/// # Errors
/// If it cannot be read, or is none.
pub fn read(path: &Path) -> Result<ResultsDocument, Diagnostic> {
    const FILE: &str = "results.json";
    let in_folder = path.is_dir().then(|| path.join(FILE));
    let unfinished = path.join(UNFINISHED);
    let path = in_folder.as_deref().unwrap_or(path);
    let place = path.display().to_string();
    let refused = |what: &dyn std::fmt::Display| {
        let error = Diagnostic::new(format!("cannot read the results {what}"));
        if !path.exists() && unfinished.join(FILE).exists() {
            return error.help(format!("a run that was stopped or failed has left {}", unfinished.display()));
        }
        error.help("give the path of a results.json that ssdlab wrote, or of its folder")
    };
    let of_file = |e: std::io::Error| refused(&format_args!("{place}: {e}"));
    let mut text = String::new();
    let file = input::open_regular(path).map_err(of_file)?;
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(of_file)?;
    // What is wrong with a document is told with its place.
    ResultsDocument::from_json(&text, &place).map_err(|e| refused(&e))
}

pub(crate) fn text(args: &CompareArgs, documents: &[ResultsDocument; 2], compared: &Compared) -> String {
    let Compared { pairs, one_sided, alone } = compared;
    let title = |path: &Path, document: &ResultsDocument| {
        let devices: Vec<&str> = document.all_devices().map(|d| d.name.as_str()).collect();
        let quick = if document.quick { ", quick" } else { "" };
        format!(
            "{}: {}, seed {}{quick}, ssdlab {}",
            path.display(),
            devices.join(", "),
            document.seed,
            document.version
        )
    };
    let mut text =
        format!("first   {}\nsecond  {}\n", title(&args.first, &documents[0]), title(&args.second, &documents[1]));
    let by_chance = pairs.iter().all(|pair| pair.by_chance);
    let mut present = "";
    let mut rows: Vec<Vec<String>> = Vec::new();
    let flush = |rows: &mut Vec<Vec<String>>, text: &mut String| {
        text.push_str(&table(rows));
        rows.clear();
    };
    for pair in pairs {
        if pair.test != present {
            flush(&mut rows, &mut text);
            text.push_str(&format!("\n{}\n", pair.test));
            for Setting { key, first, second } in &pair.settings {
                text.push_str(&format!("  not the same: {key} is {first} and {second}\n"));
            }
            for state in pair.states.iter().chain(&pair.remarks) {
                text.push_str(&format!("  {state}\n"));
            }
            if pair.by_chance && !by_chance {
                text.push_str(&format!("  {CHANCE}\n"));
            }
            present = &pair.test;
        }
        let change = match pair.change() {
            Some(0.0) => "same".to_owned(),
            Some(change) if change.abs() < LEAST_SHOWN_PERCENT => "0.0 %".to_owned(),
            // Of a thousandth, and of a thousandfold, per cent say little.
            Some(change) if pair.values[1] > 0.0 && change <= -90.0 => {
                format!("1/{}", ratio(pair.values[0] / pair.values[1]))
            }
            Some(change) if change >= 900.0 => format!("{} times", ratio(pair.values[1] / pair.values[0])),
            Some(change) => format!("{change:+.1} %"),
            None if pair.values[0] == pair.values[1] => "same".to_owned(),
            None => pair.points().map_or_else(String::new, |points| format!("{points:+.2} points")),
        };
        let [first, second] = pair.values.map(|v| figure_text(v, &pair.unit));
        let verdict = match &pair.verdict {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NotToldApart(_) => "not told apart",
            Verdict::None => "",
        };
        rows.push(vec![format!("  {}", pair.label), first, second, change, verdict.to_owned()]);
    }
    flush(&mut rows, &mut text);
    for OneSided { test, metrics } in one_sided {
        for (which, metrics) in ["first", "second"].iter().zip(metrics).filter(|(_, metrics)| !metrics.is_empty()) {
            text.push_str(&format!("\n{test}, only of the {which}: {}\n", metrics.join(", ")));
        }
    }
    for (which, tests) in ["first", "second"].iter().zip(alone).filter(|(_, tests)| !tests.is_empty()) {
        text.push_str(&format!("\nOnly in the {which}: {}\n", tests.join(", ")));
    }
    if by_chance {
        text.push_str("\nThe same devices and tests, drawn with another seed or name: what differs here is chance.\n");
    }
    text
}

/// How many times as much, as far as two figures carry it.
fn ratio(of: f64) -> String {
    figure_text(if of < 100.0 { (of * 10.0).round() / 10.0 } else { of.round() }, "")
}
