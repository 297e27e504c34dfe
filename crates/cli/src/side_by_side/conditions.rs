//! What sets two runs of a test apart beside what ran: their settings, how they began and ended, and what is known of their figures.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use ssdlab_bench::fio_run::{self, OTHER_JOBS};
use ssdlab_bench::replay::{self, TRACE_DIGEST};
use ssdlab_bench::specimens::BAND_ENDINGS;
use ssdlab_bench::suite::{COUNTS_RATES, between, rates_a_second};
use ssdlab_report::{DeviceFacts, ResultRow, ResultsDocument, figure_text};

use super::device;

/// A parameter that two runs of a test do not share.
#[derive(Clone)]
pub struct Setting {
    pub key: String,
    pub first: Value,
    pub second: Value,
}

impl Setting {
    pub(super) fn between(first: &ResultRow, second: &ResultRow) -> Vec<Setting> {
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

    pub(super) fn to_json(&self) -> Value {
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
pub(super) fn states(rows: [&ResultRow; 2]) -> Vec<String> {
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

/// What two runs know of how well a figure is known.
pub(super) enum Overlap {
    /// Nothing.
    Unknown,
    /// Their intervals, or what their specimens have, lie apart.
    None,
    /// They overlap: how, in a sentence.
    Of(String),
}

/// Whether what two runs know of a figure, or what their specimens have, overlaps.
pub(super) fn overlap(metric: &str, rows: [&ResultRow; 2]) -> Overlap {
    let both = |keys: [&str; 2]| {
        let of = |row: &ResultRow, end: usize| Some(row.metrics.get(keys[end])?.value);
        let [first, second] = rows.map(|row| Some([of(row, 0)?, of(row, 1)?]));
        let ([a, b], [c, d]) = (first?, second?);
        if a.max(c) > b.min(d) {
            return Some(Overlap::None);
        }
        let [a, b, c, d] = [a, b, c, d].map(|end| figure_text(end, ""));
        let (low, high) = (keys[0], keys[1]);
        Some(Overlap::Of(format!("{low} and {high} overlap: {a} to {b} of the first, {c} to {d} of the second")))
    };
    let base = BAND_ENDINGS.iter().find_map(|ending| metric.strip_suffix(ending)).unwrap_or(metric);
    let [lowest, highest] = BAND_ENDINGS.map(|ending| format!("{base}{ending}"));
    let known = between(metric).and_then(both);
    let band = both([&lowest, &highest]);
    match (known, band) {
        (Some(Overlap::Of(why)), _) | (_, Some(Overlap::Of(why))) => Overlap::Of(why),
        (None, None) => Overlap::Unknown,
        (Some(_), _) | (_, Some(_)) => Overlap::None,
    }
}

/// Of runs one of which is of a real device: nobody can tell from one run of each what is better.
pub(super) fn of_real(runs: [(&ResultsDocument, &ResultRow); 2]) -> Option<String> {
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
pub(super) struct Beginnings<'a> {
    pub rows: [&'a ResultRow; 2],
    pub drives: [Option<&'a DeviceFacts>; 2],
    /// Of the programs that ran.
    pub one_version: bool,
}

impl Beginnings<'_> {
    fn traces(&self) -> [Option<&Value>; 2] {
        self.rows.map(|row| row.params.get(TRACE_DIGEST))
    }

    fn identities(&self) -> [Option<&String>; 2] {
        self.drives.map(|drive| drive?.identity.as_ref())
    }

    /// Whether all of it is known, and the same. Of functions of a program it is not: they do what they do by then.
    pub(super) fn are_alike(&self) -> bool {
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
    pub(super) fn states(&self) -> Vec<String> {
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

    pub(super) fn changed(&self) -> Option<String> {
        let [Some(first), Some(second)] = self.drives else { return None };
        let [Some(a), Some(b)] = self.identities() else { return None };
        // Another version may know more keys, with values of their own.
        let is_changed = self.one_version && first.name == second.name && a != b;
        is_changed.then(|| {
            "the drive is not the same: its file, or one that it is made of, was changed in between".to_owned()
        })
    }
}
