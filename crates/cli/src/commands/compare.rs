//! `ssdlab compare`: the figures of two results side by side.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};
use ssdlab_bench::fio_run::{self, OTHER_JOBS};
use ssdlab_bench::replay::{self, TRACE_DIGEST};
use ssdlab_bench::specimens::BAND_ENDINGS;
use ssdlab_bench::suite::{Better, COUNTS_RATES, better_end_in, between, rates_a_second};
use ssdlab_catalog::Diagnostic;
use ssdlab_core::input;
use ssdlab_report::{DeviceFacts, ResultRow, ResultsDocument, figure_text, metric_label_of, no_order_of};

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::folder::UNFINISHED;
use crate::output::{print, print_json, table};

/// Less than is shown of a change is neither more nor less.
const LEAST_SHOWN_PERCENT: f64 = 0.05;

/// A review of many drives has some megabytes.
const MAX_BYTES: u64 = 256 << 20;

/// A figure that both have.
struct Pair {
    test: String,
    /// Parameters of the test that are not the same, and what they are in each.
    settings: Vec<Setting>,
    /// What sets the two runs apart beside that: sentences.
    states: Vec<String>,
    /// What ran is of one name and not the same: a sentence.
    changed: Option<String>,
    /// Nothing but the seed sets the two apart, so that a reader must not take one for better.
    by_chance: bool,
    metric: String,
    /// What the metric is called of this test.
    label: String,
    unit: String,
    values: [f64; 2],
    /// Why the two figures are not told apart, though they differ: a sentence.
    overlap: Option<String>,
}

/// A parameter that two runs of a test do not share.
#[derive(Clone)]
struct Setting {
    key: String,
    first: Value,
    second: Value,
}

impl Setting {
    fn between(first: &ResultRow, second: &ResultRow) -> Vec<Setting> {
        let keys: BTreeSet<&String> = first.params.keys().chain(second.params.keys()).collect();
        let of = |row: &ResultRow, key: &String| row.params.get(key).cloned().unwrap_or(Value::Null);
        let digest = first.params.get(TRACE_DIGEST);
        let one_trace = digest.is_some() && digest == second.params.get(TRACE_DIGEST);
        // That a trace is another one says its name, or a state. One trace may lie in files of two names or formats.
        let is_of_file = |key: &str| key == TRACE_DIGEST || one_trace && ["trace", "format"].contains(&key);
        // That other jobs are not the same, and what an earlier version did not write, a state says.
        let says_all = [first, second].iter().all(|row| says_what_it_began_with(row));
        let is_of_state = |key: &str| key == OTHER_JOBS || !says_all && OF_RUN.contains(&key);
        let is_told = |key: &str| !is_of_file(key) && !is_of_state(key);
        keys.into_iter()
            .map(|key| Setting { key: key.clone(), first: of(first, key), second: of(second, key) })
            .filter(|setting| setting.first != setting.second && is_told(&setting.key))
            .collect()
    }

    fn to_json(&self) -> Value {
        json!({ "key": self.key, "first": self.first, "second": self.second })
    }
}

/// What a job of a job file says of its run beside its own options; earlier versions did not.
const OF_RUN: [&str; 3] = [fio_run::PREFILL, fio_run::REST, OTHER_JOBS];

/// Whether it is known of a run what was done to the drive before it, and beside it.
fn says_what_it_began_with(row: &ResultRow) -> bool {
    row.test != fio_run::TEST || OF_RUN.iter().all(|key| row.params.contains_key(*key))
}

/// Whether one was run in small and one whole, which was stopped before its time, and which of them had not settled.
fn states(rows: [&ResultRow; 2]) -> Vec<String> {
    let which = ["first", "second"];
    let small = |i: usize| rows[i].small_by.map(|by| format!("the {} ran on a drive {by} times smaller", which[i]));
    let mut states = Vec::new();
    if rows[0].small_by != rows[1].small_by {
        states.extend([0, 1].into_iter().filter_map(small));
    }
    // What a small drive answers seldom is counted in whole seconds, and varies less for that alone.
    let rates = rows.map(|row| {
        let iops = row.metrics.get("iops").filter(|_| row.test == COUNTS_RATES)?;
        Some(rates_a_second(iops.value, row.small_by?))
    });
    if let ([Some(first), Some(second)], true) = (rates, rows[0].small_by == rows[1].small_by && rates[0] != rates[1]) {
        states.push(format!("the first has {first} a second of its rates, the second {second}, and fewer vary less"));
    }
    // A job is shortened by nothing else than a stop. Two that were stopped at the same time are alike.
    if rows.iter().all(|row| row.test == fio_run::TEST) && rows[0].shortened != rows[1].shortened {
        let how = which.iter().zip(rows).filter_map(|(which, row)| Some((which, row.shortened.as_deref()?)));
        states.extend(how.map(|(which, how)| format!("the {which} was {}", how.trim_end_matches('.'))));
    }
    let specimens = rows.map(|row| row.metrics.get("specimens").map_or(1.0, |m| m.value));
    if specimens[0] != specimens[1] {
        let [first, second] = specimens;
        states.push(format!(
            "of the first {first} specimens ran, of the second {second}, and more of them lie further apart"
        ));
    }
    let unsettled = which.iter().zip(rows).filter_map(|(which, row)| Some((which, row.not_steady.first()?)));
    states.extend(unsettled.map(|(which, not_steady)| format!("the {which} had not settled: {}", not_steady.why)));
    states
}

/// What is said where what two runs know of a figure, or what their specimens have, overlaps.
fn overlap(metric: &str, rows: [&ResultRow; 2]) -> Option<String> {
    let both = |keys: [&str; 2]| {
        let of = |row: &ResultRow, end: usize| Some(row.metrics.get(keys[end])?.value);
        let [first, second] = rows.map(|row| Some([of(row, 0)?, of(row, 1)?]));
        let ([a, b], [c, d]) = (first?, second?);
        (a.max(c) <= b.min(d)).then(|| {
            let [a, b, c, d] = [a, b, c, d].map(|end| figure_text(end, ""));
            format!("{} and {} overlap: {a} to {b} of the first, {c} to {d} of the second", keys[0], keys[1])
        })
    };
    let known = between(metric).and_then(both);
    known.or_else(|| {
        let base = BAND_ENDINGS.iter().find_map(|ending| metric.strip_suffix(ending)).unwrap_or(metric);
        let [lowest, highest] = BAND_ENDINGS.map(|ending| format!("{base}{ending}"));
        both([&lowest, &highest])
    })
}

/// Of runs one of which is of a real device: nobody can tell from one run of each what is better.
fn of_real(runs: [(&ResultsDocument, &ResultRow); 2]) -> Option<String> {
    let is_real = |(document, row): (&ResultsDocument, &ResultRow)| {
        document.all_devices().any(|facts| Some(facts.name.as_str()) == device(document, row) && facts.is_real())
    };
    let whose = match runs.map(is_real) {
        [true, true] => "both are",
        [true, false] => "the first is",
        [false, true] => "the second is",
        [false, false] => return None,
    };
    Some(format!("{whose} of a real device, whose figures differ from run to run: none is called better or worse"))
}

/// What two runs began with: the drive, and the trace where one was replayed.
struct Beginnings<'a> {
    rows: [&'a ResultRow; 2],
    drives: [Option<&'a DeviceFacts>; 2],
    /// Of the programs that ran.
    one_version: bool,
}

impl Beginnings<'_> {
    fn traces(&self) -> [Option<&Value>; 2] {
        self.rows.map(|row| row.params.get(TRACE_DIGEST))
    }

    fn identities(&self) -> [Option<&String>; 2] {
        self.drives.map(|drive| drive?.identity.as_ref())
    }

    /// Whether all of it is known, and the same. Of functions of a program it is not: they do what they do by then.
    fn are_alike(&self) -> bool {
        let has_functions = |drive: &DeviceFacts| !drive.functions.is_empty();
        let has_functions = self.drives.into_iter().flatten().any(has_functions);
        if has_functions {
            return false;
        }
        let is_same = |what: [Option<_>; 2]| what[0].is_some() && what[0] == what[1];
        let needs_trace = self.rows.iter().any(|row| row.test == replay::TEST);
        let trace = !needs_trace || self.traces()[0].is_some() && self.traces()[0] == self.traces()[1];
        is_same(self.identities()) && self.starts()[0] == self.starts()[1] && trace
    }

    fn starts(&self) -> [Option<&String>; 2] {
        self.drives.map(|drive| drive?.begins_as.as_ref())
    }

    /// What is known to differ of the states in which they began, and of what was done.
    fn states(&self) -> Vec<String> {
        let mut states = Vec::new();
        // Documents of earlier versions do not say whether a drive was new.
        if self.identities().iter().all(Option::is_some) {
            states.extend(match self.starts() {
                [None, Some(_)] => Some("the first began new, the second as it was saved".to_owned()),
                [Some(_), None] => Some("the first began as it was saved, the second new".to_owned()),
                [first, second] => {
                    (first != second).then(|| "they began as saved drives that are not the same".to_owned())
                }
            });
        }
        states.extend(self.silence());
        if let [Some(first), Some(second)] = self.rows.map(|row| row.params.get(OTHER_JOBS)) {
            states.extend((first != second).then(|| "the jobs beside it are not the same".to_owned()));
        }
        let [first, second] = self.rows.map(|row| row.params.get("trace"));
        if let ([Some(a), Some(b)], true) = (self.traces(), first == second) {
            // A name is that of a file without its folder, or of no file: of standard input, of a table.
            let name = first.and_then(Value::as_str).unwrap_or("trace");
            states.extend((a != b).then(|| format!("the traces are not the same, though both are called {name}")));
        }
        states
    }

    /// Of jobs, which an earlier version wrote.
    fn silence(&self) -> Option<String> {
        let who = match self.rows.map(says_what_it_began_with) {
            [true, true] => return None,
            [true, false] => "the second does not say",
            [false, true] => "the first does not say",
            [false, false] => "neither says",
        };
        Some(format!("{who} with what the drive was filled, and which jobs ran beside it"))
    }

    fn changed(&self) -> Option<String> {
        let [Some(first), Some(second)] = self.drives else { return None };
        let [Some(a), Some(b)] = self.identities() else { return None };
        // Another version may know more keys, with values of their own.
        let is_changed = self.one_version && first.name == second.name && a != b;
        is_changed.then(|| {
            "the drive is not the same: its file, or one that it is made of, was changed in between".to_owned()
        })
    }
}

impl Pair {
    /// How much larger the second is, in per cent; nothing of per cent, which can lie on either side of zero.
    fn change(&self) -> Option<f64> {
        let [first, second] = self.values;
        (self.unit != "%" && first > 0.0 && second >= 0.0).then(|| (second / first - 1.0) * 100.0)
    }

    /// How many points the second has more, of per cent.
    fn points(&self) -> Option<f64> {
        let [first, second] = self.values;
        (self.unit == "%").then_some(second - first)
    }

    /// Whether the second is the better one, where the figure has a better end and the two differ by as much as is shown.
    /// Nothing of runs that something else sets apart than what ran: its settings, its state or chance made the difference.
    fn is_better(&self) -> Option<bool> {
        if !self.settings.is_empty() || !self.states.is_empty() || self.by_chance || self.overlap.is_some() {
            return None;
        }
        let [first, second] = self.values;
        let shown = self.change().or(self.points());
        let differ = shown.map_or(second != first, |change| change.abs() >= LEAST_SHOWN_PERCENT);
        let end = better_end_in(&self.test, &self.metric, &self.unit).filter(|_| differ)?;
        Some((second > first) == (end == Better::Higher))
    }
}

/// Figures of a test that both have which one of the two has not.
struct OneSided {
    test: String,
    /// Of the first alone, and of the second.
    metrics: [Vec<String>; 2],
}

/// Two documents side by side.
struct Compared {
    pairs: Vec<Pair>,
    one_sided: Vec<OneSided>,
    /// Tests that only the first has, and only the second.
    alone: [Vec<String>; 2],
}

pub fn run(args: &CompareArgs) -> Result<(), Failure> {
    let documents = [read(&args.first)?, read(&args.second)?];
    if args.json {
        return print_json(&document(&documents)?);
    }
    print(&text(args, &documents, &compared(&documents)?))
}

/// The figures of two results side by side, as `--json` prints them.
///
/// # Errors
/// If they have no test in common.
pub fn document(documents: &[ResultsDocument; 2]) -> Result<Value, Failure> {
    let Compared { pairs, one_sided, alone } = compared(documents)?;
    let by_chance = pairs.iter().all(|pair| pair.by_chance);
    let figures: Vec<Value> = pairs
        .iter()
        .map(|p| {
            let chance = (p.by_chance && !by_chance).then(|| CHANCE.to_owned());
            json!({
                "test": p.test, "metric": p.metric, "unit": p.unit, "first": p.values[0], "second": p.values[1],
                "change_percent": p.change(), "settings": p.settings.iter().map(Setting::to_json).collect::<Vec<_>>(),
                "second_is_better": p.is_better(),
                "states": p.states.iter().chain(&p.changed).chain(&chance).chain(&p.overlap).collect::<Vec<_>>(),
            })
        })
        .collect();
    let of = |document: &ResultsDocument| {
        let devices: Vec<&str> = document.all_devices().map(|d| d.name.as_str()).collect();
        json!({ "devices": devices, "seed": document.seed, "quick": document.quick, "version": document.version })
    };
    let one_sided: Vec<Value> = one_sided
        .iter()
        .map(|o| json!({ "test": o.test, "only_first": o.metrics[0], "only_second": o.metrics[1] }))
        .collect();
    Ok(json!({
        "schema": "ssdlab.compare/1",
        "first": of(&documents[0]),
        "second": of(&documents[1]),
        "figures": figures,
        "differ_by_chance_alone": by_chance,
        "one_sided": one_sided,
        "alone": alone.concat(),
        "alone_first": alone[0],
        "alone_second": alone[1],
    }))
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

/// The drive that a row is about, with all that is told of it.
fn facts<'a>(document: &'a ResultsDocument, row: &ResultRow) -> Option<&'a DeviceFacts> {
    document.all_devices().find(|drive| row.device.as_ref().is_none_or(|name| *name == drive.name))
}

/// The drive that a row is about.
fn device<'a>(document: &'a ResultsDocument, row: &'a ResultRow) -> Option<&'a str> {
    row.device.as_deref().or_else(|| document.all_devices().next().map(|d| d.name.as_str()))
}

/// Test and variant; with the drive, where one of the documents is about several: one drive is then compared with itself.
fn name(document: &ResultsDocument, row: &ResultRow, of_several: bool) -> String {
    let variant = if row.variant.is_empty() { String::new() } else { format!(" ({})", row.variant) };
    match device(document, row).filter(|_| of_several) {
        Some(device) => format!("{}{variant} on {device}", row.test),
        None => format!("{}{variant}", row.test),
    }
}

/// Figures of tests that both have, and the names of tests that only one has. A test that each has once is the same
/// even if its variants differ: a parameter was set.
fn compared(documents: &[ResultsDocument; 2]) -> Result<Compared, Failure> {
    let [first, second] = documents;
    let of_several = documents.iter().any(|document| document.all_devices().count() > 1);
    let name = |document: &ResultsDocument, row: &ResultRow| name(document, row, of_several);
    let mut left: Vec<&ResultRow> = second.results.iter().collect();
    // Of several drives, each is compared with itself.
    let is_same_drive = |a: Option<&str>, b: Option<&str>| !of_several || a == b;
    let once = |document: &ResultsDocument, row: &ResultRow| {
        let is_like = |r: &&ResultRow| r.test == row.test && is_same_drive(device(document, r), device(document, row));
        document.results.iter().filter(is_like).count() == 1
    };
    let (mut pairs, mut one_sided, mut alone) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    for row in &first.results {
        let test = name(first, row);
        let same = |other: &&ResultRow| {
            let is_like = other.test == row.test && is_same_drive(device(first, row), device(second, other));
            name(second, other) == test || is_like && once(first, row) && once(second, other)
        };
        let Some(other) = left.iter().position(same).map(|at| left.remove(at)) else {
            alone[0].push(test);
            continue;
        };
        let theirs = name(second, other);
        let test = if theirs == test { test } else { format!("{test}, against {theirs}") };
        let (settings, mut states) = (Setting::between(row, other), states([row, other]));
        states.extend(of_real([(first, row), (second, other)]));
        let drives = [facts(first, row), facts(second, other)];
        let begun = Beginnings { rows: [row, other], drives, one_version: first.version == second.version };
        states.extend(begun.states());
        let without = |a: &ResultRow, b: &ResultRow| -> Vec<String> {
            let has = |metric: &String, unit: &str| b.metrics.get(metric).is_some_and(|m| m.unit == unit);
            a.metrics.iter().filter(|(metric, m)| !has(metric, &m.unit)).map(|(metric, _)| metric.clone()).collect()
        };
        // What does not say what it began with may be anything.
        let one_program = first.version == second.version && first.quick == second.quick;
        let one_drive = device(first, row) == device(second, other) && begun.are_alike();
        let nothing_else = one_drive && settings.is_empty() && states.is_empty();
        let by_chance = first.seed != second.seed && one_program && nothing_else;
        let is_real = of_real([(first, row), (second, other)]).is_some();
        if first.seed != second.seed && !by_chance && !is_real {
            states.push(OTHER_SEEDS.to_owned());
        }
        let capacity = |facts: Option<&DeviceFacts>| facts.map_or(f64::INFINITY, |facts| facts.capacity_bytes as f64);
        // Runs that nothing sets apart may be too short for an order, too.
        let no_order = no_order_of([(row, capacity(drives[0])), (other, capacity(drives[1]))]);
        states.extend(no_order.map(|no_order| no_order.sentence().to_owned()));
        let metrics = [without(row, other), without(other, row)];
        if metrics.iter().any(|m| !m.is_empty()) {
            one_sided.push(OneSided { test: test.clone(), metrics });
        }
        for (metric, figure) in &row.metrics {
            if let Some(theirs) = other.metrics.get(metric).filter(|m| m.unit == figure.unit) {
                let values = [figure.value, theirs.value];
                let overlap = overlap(metric, [row, other]).filter(|_| values[0] != values[1]);
                pairs.push(Pair {
                    test: test.clone(),
                    settings: settings.clone(),
                    states: states.clone(),
                    changed: begun.changed(),
                    by_chance,
                    metric: metric.clone(),
                    label: metric_label_of(&row.test, metric),
                    unit: figure.unit.clone(),
                    values,
                    overlap,
                });
            }
        }
    }
    alone[1].extend(left.iter().map(|row| name(second, row)));
    if pairs.is_empty() {
        let of = |document: &ResultsDocument| {
            let devices: Vec<&str> = document.all_devices().map(|d| d.name.as_str()).collect();
            devices.join(", ")
        };
        let error = Failure::bad_input("the two have no test in common")
            .help("compare results of the same tests with the same variants");
        return Err(match of_several {
            true => error.help(format!(
                "of several drives each is compared with itself; here they are {} and {}",
                of(first),
                of(second)
            )),
            false => error,
        });
    }
    Ok(Compared { pairs, one_sided, alone })
}

fn text(args: &CompareArgs, documents: &[ResultsDocument; 2], compared: &Compared) -> String {
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
            for state in pair.states.iter().chain(&pair.changed) {
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
        let verdict = match pair.is_better() {
            Some(true) => "better",
            Some(false) => "worse",
            None if pair.overlap.is_some() => "not told apart",
            None => "",
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
        text.push_str("\nThe same devices and tests with another seed: what differs here is chance.\n");
    }
    text
}

/// How many times as much, as far as two figures carry it.
fn ratio(of: f64) -> String {
    figure_text(if of < 100.0 { (of * 10.0).round() / 10.0 } else { of.round() }, "")
}

/// Of a pair that nothing but the seed sets apart, beside others.
const CHANCE: &str = "nothing but the seed is not the same: what differs here is chance";
/// Of a pair that more than the seed sets apart.
const OTHER_SEEDS: &str = "the seeds are not the same, so that chance made a part of what differs: run both with one";

#[cfg(test)]
mod tests {
    use super::*;

    fn row(test: &str, more: Value) -> ResultRow {
        let figure = json!({ "value": 5.0, "unit": "IOPS" });
        let mut row = json!({ "test": test, "params": {}, "metrics": { "iops": figure } });
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(row).unwrap()
    }

    fn document(results: Vec<ResultRow>) -> ResultsDocument {
        let document =
            json!({ "schema": "ssdlab.results/1", "version": "0", "seed": 1, "quick": false, "results": [] });
        ResultsDocument { results, ..serde_json::from_value(document).unwrap() }
    }

    #[test]
    fn runs_that_cannot_be_compared_as_they_are_say_so_and_tests_of_one_say_whose_they_are() {
        let unsettled = json!({ "small_by": 8, "not_steady": [{ "reason": "drifts", "why": "the mean falls" }] });
        let documents = [
            document(vec![row("consistency", unsettled), row("trim", json!({}))]),
            document(vec![row("consistency", json!({})), row("power", json!({}))]),
        ];
        let compared = compared(&documents).unwrap_or_else(|_| panic!("both have a test"));
        let states = ["the first ran on a drive 8 times smaller", "the first had not settled: the mean falls"];
        assert_eq!(compared.pairs[0].states, states);
        assert_eq!(compared.alone, [["trim"], ["power"]]);
    }

    #[test]
    fn rates_of_seconds_and_of_parts_of_one_are_not_called_steadier_than_each_other() {
        let of = |iops: f64| {
            let iops = json!({ "value": iops, "unit": "IOPS" });
            let small = json!({ "small_by": 8, "metrics": { "iops": iops } });
            document(vec![row("consistency", small)])
        };
        let states = |a: f64, b: f64| {
            let compared = compared(&[of(a), of(b)]).unwrap_or_else(|e| panic!("{e}"));
            compared.pairs[0].states.clone()
        };
        assert_eq!(states(40.0, 120.0), ["the first has 1 a second of its rates, the second 8, and fewer vary less"]);
        assert!(states(120.0, 300.0).is_empty() && states(39.0, 40.0).is_empty());
    }

    #[test]
    fn the_better_one_is_told_where_a_figure_has_a_better_end() {
        let pair = |metric: &str, unit: &str, values| Pair {
            test: "consistency".to_owned(),
            settings: Vec::new(),
            states: Vec::new(),
            changed: None,
            by_chance: false,
            metric: metric.to_owned(),
            label: String::new(),
            unit: unit.to_owned(),
            values,
            overlap: None,
        };
        assert_eq!(pair("iops", "IOPS", [100.0, 101.0]).is_better(), Some(true));
        assert_eq!(pair("iops", "IOPS", [100.0, 99.0]).is_better(), Some(false));
        assert_eq!(pair("latency_p99", "us", [100.0, 99.0]).is_better(), Some(true));
        assert_eq!(pair("waf", "ratio", [2.0, 3.0]).is_better(), Some(false));
        assert_eq!(pair("zero_iops_seconds", "s", [0.0, 3.0]).is_better(), Some(false));
        // Who does less in a given time draws less; a trace is the same work for both.
        let energy =
            |test: &str, figure: &str| Pair { test: test.to_owned(), ..pair(figure, "J", [2.0, 1.0]) }.is_better();
        assert_eq!([energy("consistency", "energy"), energy("run", "energy")], [None, None]);
        assert_eq!([energy("heavy", "energy"), energy("heavy", "energy_full")], [Some(true), Some(true)]);
        assert_eq!(energy("replay", "energy"), Some(true));
        // Ends of specimens go by the figure whose ends they are.
        assert_eq!(pair("iops_stddev_tail_highest", "IOPS", [100.0, 101.0]).is_better(), Some(false));
        // Less than is shown, and a figure that is neither good nor bad.
        assert_eq!(pair("iops", "IOPS", [100.0, 100.04]).is_better(), None);
        assert_eq!(pair("iops_autocorrelation_max", "ratio", [0.1, 0.9]).is_better(), None);
        // Per cent are compared by their difference, which may scatter around zero.
        for shortfall in [[0.0033, -0.0452], [0.0033, 0.0452], [-0.0033, 0.0452]] {
            assert_eq!(pair("trimmed_shortfall", "%", shortfall).is_better(), None);
        }
        assert_eq!(pair("trimmed_shortfall", "%", [-0.1, 5.0]).points().map(f64::round), Some(5.0));
        let states = vec!["the first had not settled: the mean falls".to_owned()];
        assert_eq!(Pair { states, ..pair("iops", "IOPS", [100.0, 101.0]) }.is_better(), None);
    }

    #[test]
    fn figures_whose_intervals_or_bands_overlap_are_not_told_apart() {
        let told = |test: &str, unit: &str, keys: [&str; 3], figures: [[f64; 3]; 2]| {
            let metric = |value: f64| json!({ "value": value, "unit": unit });
            let of = |values: [f64; 3]| -> Value {
                keys.into_iter().zip(values).map(|(key, value)| (key.to_owned(), metric(value))).collect()
            };
            let documents = figures.map(|values| document(vec![row(test, json!({ "metrics": of(values) }))]));
            let compared = compared(&documents).unwrap_or_else(|e| panic!("{e}"));
            let pairs = keys.map(|key| compared.pairs.iter().find(|pair| pair.metric == key));
            pairs.map(|pair| pair.and_then(Pair::is_better))
        };
        let life = ["life_at_error", "life_at_error_least", "life_at_error_most"];
        assert_eq!(told("endurance", "%", life, [[120.0, 100.0, 150.0], [140.0, 130.0, 160.0]]), [None; 3]);
        assert_eq!(told("endurance", "%", life, [[120.0, 100.0, 125.0], [140.0, 130.0, 160.0]]), [Some(true); 3]);
        let written = ["tb_until_error", "life_at_error_least", "life_at_error_most"];
        assert_eq!(told("endurance", "TB", written, [[12.0, 100.0, 150.0], [14.0, 130.0, 160.0]])[0], None);
        let band = ["iops", "iops_lowest", "iops_highest"];
        assert_eq!(told("consistency", "IOPS", band, [[100.0, 90.0, 110.0], [120.0, 110.0, 130.0]]), [None; 3]);
        assert_eq!(told("consistency", "IOPS", band, [[100.0, 90.0, 109.0], [120.0, 110.0, 130.0]])[0], Some(true));
    }

    #[test]
    fn a_figure_of_consistency_says_which_part_of_the_run_it_is_of() {
        let figures =
            json!({ "waf": { "value": 2.0, "unit": "ratio" }, "waf_tail": { "value": 3.0, "unit": "ratio" } });
        let documents = || document(vec![row("consistency", json!({ "metrics": figures })), row("trim", json!({}))]);
        let compared = compared(&[documents(), documents()]).unwrap_or_else(|e| panic!("{e}"));
        let labels: Vec<&str> = compared.pairs.iter().map(|pair| pair.label.as_str()).collect();
        let of_part = ["Write amplification, whole run", "Write amplification, last part of the run"];
        assert_eq!(labels, [of_part[0], of_part[1], "IOPS"]);
    }

    #[test]
    fn what_only_chance_sets_apart_is_said_to_be_chance() {
        let by = |seed: u64, params: Value| {
            let document = about(document(vec![row("consistency", json!({ "params": params }))]), &["a"]);
            ResultsDocument { seed, ..document }
        };
        let chance = |documents: [ResultsDocument; 2]| {
            let compared = compared(&documents).unwrap_or_else(|e| panic!("{e}"));
            compared.pairs.iter().all(|pair| pair.by_chance)
        };
        assert!(chance([by(1, json!({})), by(2, json!({}))]));
        assert!(!chance([by(1, json!({})), by(1, json!({}))]), "nothing differs");
        assert!(!chance([by(1, json!({})), by(2, json!({ "seconds": 9 }))]), "a parameter was set");
        let other = ResultsDocument { seed: 2, ..about(document(vec![row("consistency", json!({}))]), &["b"]) };
        assert!(!chance([by(1, json!({})), other]), "two drives");
        let mut old = by(2, json!({}));
        old.device.as_mut().unwrap().identity = None;
        assert!(!chance([by(1, json!({})), old]), "an earlier program did not say which drive it was");
    }

    #[test]
    fn what_was_changed_between_two_runs_is_not_chance() {
        let of = |seed: u64, test: &str, params: Value, drive: &str, begins_as: Option<&str>| {
            let mut document = about(document(vec![row(test, json!({ "params": params }))]), &["a"]);
            let facts = document.device.as_mut().unwrap();
            (facts.identity, facts.begins_as) = (Some(drive.to_owned()), begins_as.map(str::to_owned));
            ResultsDocument { seed, ..document }
        };
        let told = |documents: [ResultsDocument; 2]| {
            let document = super::document(&documents).unwrap_or_else(|e| panic!("{e}"));
            let figure = &document["figures"][0];
            assert_eq!(figure["settings"], json!([]));
            let state = figure["states"][0].as_str().unwrap_or_default().to_owned();
            (document["differ_by_chance_alone"].as_bool().unwrap(), state)
        };
        let test = |seed, drive, begins_as| of(seed, "trim", json!({}), drive, begins_as);
        assert_eq!(told([test(1, "d", None), test(2, "d", None)]), (true, String::new()));
        assert_eq!(told([test(1, "d", Some("s")), test(2, "d", Some("s"))]), (true, String::new()));
        let (chance, state) = told([test(1, "d", None), test(1, "e", None)]);
        assert!(!chance && state.starts_with("the drive is not the same: its file"), "{state}");
        assert_eq!(told([test(1, "d", None), test(2, "e", None)]), (false, OTHER_SEEDS.to_owned()));
        let (chance, state) = told([test(1, "d", None), test(2, "d", Some("s"))]);
        assert!(!chance && state == "the first began new, the second as it was saved", "{state}");
        let (chance, state) = told([test(1, "d", Some("r")), test(2, "d", Some("s"))]);
        assert!(!chance && state == "they began as saved drives that are not the same", "{state}");
        let replay = |seed, params| of(seed, "replay", params, "d", None);
        let trace = |digest: &str| json!({ "trace": "t.csv", TRACE_DIGEST: digest });
        assert_eq!(told([replay(1, trace("a")), replay(2, trace("a"))]), (true, String::new()));
        assert_eq!(
            told([replay(1, trace("a")), replay(2, trace("b"))]),
            (false, "the traces are not the same, though both are called t.csv".to_owned())
        );
        // The same requests, by standard input and from a file of another format.
        let source = |name: &str, format: &str| json!({ "trace": name, "format": format, TRACE_DIGEST: "a" });
        let (file, input) = (source("t.vscsi", "vscsi1"), source("standard input", "mqsim"));
        assert_eq!(told([replay(1, file.clone()), replay(2, input.clone())]), (true, String::new()));
        let mut faster = replay(1, input);
        faster.results[0].metrics.values_mut().for_each(|figure| figure.value *= 2.0);
        let of_one_trace = super::compared(&[replay(1, file), faster]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(of_one_trace.pairs[0].is_better(), Some(true));
        let (chance, _) = told([replay(1, trace("a")), replay(2, json!({ "trace": "t.csv" }))]);
        assert!(!chance, "an earlier program did not say which trace it was");
        // A drive that was changed is better or worse all the same: that is what was run for.
        let mut faster = test(1, "e", None);
        faster.results[0].metrics.values_mut().for_each(|figure| figure.value *= 2.0);
        let compared = compared(&[test(1, "d", None), faster]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(compared.pairs[0].is_better(), Some(true));
    }

    #[test]
    fn a_changed_drive_with_another_seed_is_not_called_better() {
        let of = |seed: u64, identity: &str, rate: f64| {
            let figure = json!({ "iops": { "value": rate, "unit": "IOPS" } });
            let mut document = about(document(vec![row("random-read", json!({ "metrics": figure }))]), &["a"]);
            document.device.as_mut().unwrap().identity = Some(identity.to_owned());
            ResultsDocument { seed, ..document }
        };
        let better = |seed: u64| {
            let compared = compared(&[of(1, "d", 100.0), of(seed, "e", 120.0)]).unwrap_or_else(|e| panic!("{e}"));
            compared.pairs[0].is_better()
        };
        assert_eq!([better(1), better(2)], [Some(true), None]);
        // A change of `--set` stands in the name.
        let mut changed = of(2, "e", 120.0);
        changed.device.as_mut().unwrap().name = "a with gc.policy=fifo".to_owned();
        let compared = compared(&[of(1, "d", 100.0), changed]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(compared.pairs[0].is_better(), None);
    }

    #[test]
    fn what_a_function_of_a_program_chose_is_not_called_chance() {
        let of = |seed: u64, functions: &[&str]| {
            let mut document = about(document(vec![row("random-read", json!({}))]), &["a with victim=mine"]);
            let functions = functions.iter().map(|&function| function.to_owned()).collect();
            document.device.as_mut().unwrap().functions = functions;
            ResultsDocument { seed, ..document }
        };
        let by_chance = |functions: &[&str]| {
            let json = super::document(&[of(1, functions), of(2, functions)]).unwrap_or_else(|e| panic!("{e}"));
            json["differ_by_chance_alone"].as_bool()
        };
        assert_eq!([by_chance(&[]), by_chance(&["victim=mine"])], [Some(true), Some(false)]);
    }

    #[test]
    fn figures_of_a_real_device_and_those_of_chance_are_in_no_order() {
        let by = |iops: f64, seed: u64, kind: &str| {
            let figure = json!({ "iops": { "value": iops, "unit": "IOPS" } });
            let mut document = about(document(vec![row("random-read", json!({ "metrics": figure }))]), &["a"]);
            document.seed = seed;
            document.device.as_mut().unwrap().kind = kind.to_owned();
            document
        };
        let args = CompareArgs { first: "a".into(), second: "b".into(), json: false };
        let told = |documents: [ResultsDocument; 2]| {
            let json = super::document(&documents).unwrap_or_else(|e| panic!("{e}"));
            let compared = compared(&documents).unwrap_or_else(|e| panic!("{e}"));
            (json["figures"][0]["second_is_better"].clone(), text(&args, &documents, &compared))
        };
        let (is_better, text) = told([by(100.0, 1, "ssd"), by(120.0, 1, "ssd")]);
        assert!(is_better == json!(true) && text.contains("+20.0 %  better"), "{text}");
        for (first, second, whose) in
            [("host", "host", "both are"), ("host", "ssd", "the first is"), ("ssd", "host", "the second is")]
        {
            let (is_better, text) = told([by(100.0, 1, first), by(120.0, 2, second)]);
            assert!(is_better.is_null() && !text.contains("  better") && !text.contains("chance"), "{text}");
            assert!(
                text.contains(&format!("{whose} of a real device, whose figures differ from run to run")),
                "{text}"
            );
        }
        let (is_better, text) = told([by(100.0, 1, "ssd"), by(120.0, 2, "ssd")]);
        assert!(is_better.is_null() && !text.contains("better") && text.contains("is chance"), "{text}");
    }

    #[test]
    fn figures_that_a_page_puts_in_no_order_have_no_verdict() {
        let of = |test: &str, params: Value, more: Value, capacity: u64, rate: f64| {
            let figure = json!({ "bandwidth": { "value": rate, "unit": "MB/s" } });
            let mut row = row(test, json!({ "params": params, "metrics": figure }));
            if let Some(by) = more.as_u64() {
                (row.small_by, row.shortened) = (Some(by as u32), Some("It is shorter.".to_owned()));
            }
            let mut document = about(document(vec![row]), &["a"]);
            document.device.as_mut().unwrap().capacity_bytes = capacity;
            document
        };
        let told = |documents: [ResultsDocument; 2]| {
            let json = super::document(&documents).unwrap_or_else(|e| panic!("{e}"));
            let figure = &json["figures"][0];
            (figure["second_is_better"].clone(), figure["states"].as_array().unwrap().clone())
        };
        // A hundredth of a trace on an eighth of a drive, and an eighth of it.
        let light = |requests: u64, rate| of("light", json!({ "requests": requests }), json!(8), 128 << 30, rate);
        let too_short = json!("a trace was too short to put drives in an order");
        assert_eq!(told([light(8_323, 300.0), light(8_323, 100.0)]), (Value::Null, vec![too_short]));
        assert_eq!(told([light(104_042, 300.0), light(104_042, 100.0)]), (json!(false), vec![]));
        // Eight gigabytes of a drive, and all of a file that has two.
        let span = |capacity, rate| {
            let params = json!({ "span_bytes": 8_000_000_000_u64, "seconds": 180 });
            of("random-write", params, Value::Null, capacity, rate)
        };
        let (is_better, states) = told([span(1 << 40, 300.0), span(2 << 30, 400.0)]);
        assert!(is_better.is_null() && states[0].as_str().unwrap().ends_with("are in no order"), "{states:?}");
        assert_eq!(told([span(1 << 40, 300.0), span(1 << 41, 400.0)]), (json!(true), vec![]));
        // What only chance sets apart is chance all the same.
        let again = ResultsDocument { seed: 2, ..light(8_323, 100.0) };
        let json = super::document(&[light(8_323, 300.0), again]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(json["differ_by_chance_alone"], true);
    }

    #[test]
    fn what_is_chance_beside_what_is_not_has_no_verdict() {
        let of = |seed: u64, queue_depth: u64| {
            let rows = vec![row("random-read", json!({})), row("trim", json!({ "params": { "qd": queue_depth } }))];
            let mut document = about(document(rows), &["a"]);
            document.seed = seed;
            document.results[0].metrics.values_mut().for_each(|figure| figure.value *= seed as f64);
            document
        };
        let json = super::document(&[of(1, 1), of(2, 4)]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(json["differ_by_chance_alone"], false);
        assert_eq!(json["figures"][0]["second_is_better"], Value::Null);
        assert_eq!(json["figures"][0]["states"], json!([CHANCE]));
        assert_eq!(json["figures"][1]["states"], json!([OTHER_SEEDS]));
    }

    /// A job of a job file: with what the drive was filled, how long it rested, and what ran beside the job.
    fn job(prefill: &str, rest_seconds: f64, others: &str) -> Value {
        json!({ "rw": "randread", "prefill": prefill, "rest_seconds": rest_seconds, "other_jobs_digest": others })
    }

    #[test]
    fn jobs_that_began_otherwise_or_ran_beside_others_are_not_called_better() {
        let of = |seed: u64, params: Value, rate: f64| {
            let figures = json!({
                "iops": { "value": rate, "unit": "IOPS" }, "asked_iops": { "value": rate, "unit": "IOPS" }
            });
            let row = row(fio_run::TEST, json!({ "params": params, "metrics": figures }));
            ResultsDocument { seed, ..about(document(vec![row]), &["a"]) }
        };
        let told = |seed: u64, first: Value, second: Value| {
            let json =
                super::document(&[of(1, first, 100.0), of(seed, second, 200.0)]).unwrap_or_else(|e| panic!("{e}"));
            let of = |i: usize, key: &str| json["figures"][i][key].clone();
            assert!(of(0, "second_is_better").is_null(), "what the file asks for is no figure of the drive");
            let settings: Vec<Value> = of(1, "settings").as_array().unwrap().iter().map(|s| s["key"].clone()).collect();
            (of(1, "second_is_better"), settings, of(1, "states"), json["differ_by_chance_alone"].clone())
        };
        let as_usual = || job("read", 10.0, "none");
        let (none, no) = (json!([]), json!(false));
        assert_eq!(told(1, as_usual(), as_usual()), (json!(true), vec![], none.clone(), no.clone()));
        assert_eq!(told(2, as_usual(), as_usual()), (Value::Null, vec![], none.clone(), json!(true)));
        let settings = vec![json!("prefill"), json!("rest_seconds")];
        assert_eq!(told(1, as_usual(), job("none", 0.0, "none")), (Value::Null, settings, none, no.clone()));
        let others = json!(["the jobs beside it are not the same"]);
        assert_eq!(told(1, as_usual(), job("read", 10.0, "d")), (Value::Null, vec![], others, no.clone()));
        // An earlier version wrote the options of the job, and nothing else.
        let old = || json!({ "rw": "randread" });
        let silent = |who: &str| json!([format!("{who} with what the drive was filled, and which jobs ran beside it")]);
        assert_eq!(told(1, old(), as_usual()), (Value::Null, vec![], silent("the first does not say"), no.clone()));
        assert_eq!(told(1, as_usual(), old()), (Value::Null, vec![], silent("the second does not say"), no.clone()));
        assert_eq!(told(1, old(), old()), (Value::Null, vec![], silent("neither says"), no));
    }

    #[test]
    fn a_job_that_was_stopped_is_neither_better_nor_worse_than_a_whole_one() {
        let of = |shortened: Option<&str>, rate: f64| {
            let figure = json!({ "bandwidth": { "value": rate, "unit": "MB/s" } });
            let row = row(fio_run::TEST, json!({ "params": job("read", 10.0, "none"), "metrics": figure }));
            about(document(vec![ResultRow { shortened: shortened.map(str::to_owned), ..row }]), &["a"])
        };
        let told = |first, second| {
            let json = super::document(&[of(first, 100.0), of(second, 120.0)]).unwrap_or_else(|e| panic!("{e}"));
            (json["figures"][0]["second_is_better"].clone(), json["figures"][0]["states"].clone())
        };
        let (at_3, at_9) = (Some("stopped after 3.00 s."), Some("stopped after 9.00 s."));
        assert_eq!(told(None, None), (json!(true), json!([])));
        assert_eq!(told(None, at_3), (Value::Null, json!(["the second was stopped after 3.00 s"])));
        let both = ["the first was stopped after 9.00 s", "the second was stopped after 3.00 s"];
        assert_eq!(told(at_9, at_3), (Value::Null, json!(both)));
        assert_eq!(told(at_3, at_3), (json!(true), json!([])));
    }

    fn about(document: ResultsDocument, devices: &[&str]) -> ResultsDocument {
        let facts = |name: &&str| json!({ "name": name, "description": "", "kind": "ssd", "capacity_bytes": 1, "queue_depth": 1, "supports_trim": true, "identity": "d" });
        let facts: Vec<Value> = devices.iter().map(facts).collect();
        let mut whole = serde_json::to_value(&document).unwrap();
        match facts.as_slice() {
            [one] => whole["device"] = one.clone(),
            several => whole["devices"] = several.into(),
        }
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn a_drive_is_found_again_among_several() {
        let several = vec![row("trim", json!({ "device": "a" })), row("trim", json!({ "device": "b" }))];
        let several = about(document(several), &["a", "b"]);
        let alone = |name: &str| about(document(vec![row("trim", json!({}))]), &[name]);
        for documents in [[several.clone(), alone("b")], [alone("b"), several.clone()]] {
            let compared = compared(&documents).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(compared.pairs.iter().map(|p| p.test.as_str()).collect::<Vec<_>>(), ["trim on b"]);
            assert_eq!(compared.alone.concat(), ["trim on a"]);
        }
        let Err(error) = compared(&[several, alone("c")]) else { panic!("there is nothing in common") };
        assert!(error.to_string().contains("here they are a, b and c"), "{error}");
        let compared = compared(&[alone("b"), alone("c")]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(compared.pairs[0].test, "trim", "two drives");
    }
}
