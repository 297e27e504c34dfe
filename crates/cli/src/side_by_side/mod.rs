//! The figures of two results side by side: which pairs there are, what sets the two runs apart, and what can be said of each.

mod chance;
mod conditions;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use ssdlab_bench::suite::{Better, better_end_in};
use ssdlab_report::{DeviceFacts, LEVEL, ResultRow, ResultsDocument, metric_label_of, no_order_of};

use crate::failure::Failure;
use chance::Drawn;
use conditions::{Beginnings, Overlap, of_real, overlap, states};

pub use conditions::Setting;

/// Of a pair that nothing but chance sets apart, beside others.
pub const CHANCE: &str = "nothing but what was drawn is not the same: what differs here is chance";
/// Of a pair that more than the seed sets apart.
const OTHER_SEEDS: &str = "the seeds are not the same, so that chance made a part of what differs: run both with one";
/// Of two drives with one seed that are not one specimen.
const OTHER_DRAWS: &str = "they are specimens of their own, so that chance made a part of what differs: run both with --specimens to see \
                           how much";

/// A figure that both have.
pub struct Pair {
    pub test: String,
    /// Parameters of the test that are not the same, and what they are in each.
    pub settings: Vec<Setting>,
    /// What sets the two runs apart beside that, so that none of them is called better: sentences.
    pub states: Vec<String>,
    /// What sets the two runs apart and lets one be called better all the same: sentences.
    pub remarks: Vec<String>,
    /// Nothing but what was drawn sets the two apart, so that a reader must not take one for better.
    pub by_chance: bool,
    pub metric: String,
    /// What the metric is called of this test.
    pub label: String,
    pub unit: String,
    pub values: [f64; 2],
    pub verdict: Verdict,
}

/// What can be said of the second of two figures.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Better,
    Worse,
    /// They differ, and by less than tells one from the other: why, in a sentence.
    NotToldApart(String),
    /// They are the same, or nothing says which of them is the good one, or something else sets the runs apart than what ran.
    None,
}

impl Verdict {
    pub fn is_better(&self) -> Option<bool> {
        match self {
            Verdict::Better => Some(true),
            Verdict::Worse => Some(false),
            Verdict::NotToldApart(_) | Verdict::None => None,
        }
    }
}

/// How far two figures are apart: of per cent, in points of them; else in per cent of the larger one.
fn apart(unit: &str, [first, second]: [f64; 2]) -> f64 {
    let by = (second - first).abs();
    match (unit, first.abs().max(second.abs())) {
        ("%", _) => by,
        (_, 0.0) => 0.0,
        (_, larger) => by / larger * 100.0,
    }
}

impl Pair {
    /// How much larger the second is, in per cent; nothing of per cent, which can lie on either side of zero.
    pub fn change(&self) -> Option<f64> {
        let [first, second] = self.values;
        (self.unit != "%" && first > 0.0 && second >= 0.0).then(|| (second / first - 1.0) * 100.0)
    }

    /// How many points the second has more, of per cent.
    pub fn points(&self) -> Option<f64> {
        let [first, second] = self.values;
        (self.unit == "%").then_some(second - first)
    }
}

/// What can be said of a figure of two runs that nothing else sets apart than what ran.
fn verdict(metric: &str, rows: [&ResultRow; 2], drawn: Drawn) -> Verdict {
    let figures = rows.map(|row| &row.metrics[metric]);
    let unit = figures[0].unit.as_str();
    let values = figures.map(|figure| figure.value);
    let [first, second] = values;
    let Some(end) = better_end_in(&rows[0].test, metric, unit).filter(|_| first != second) else {
        return Verdict::None;
    };
    let (known, drawn) = match overlap(metric, rows) {
        Overlap::Of(why) => return Verdict::NotToldApart(why),
        // What several specimens have tells itself how far chance goes.
        Overlap::None => (true, Drawn::Alike),
        Overlap::Unknown => (false, drawn),
    };
    let least = drawn.least_apart(metric, unit);
    let least = if known { least.min(LEVEL * 100.0) } else { least };
    if apart(unit, values) < least {
        let of = if unit == "%" { "points" } else { "%" };
        return Verdict::NotToldApart(format!(
            "{metric} differs by less than {least} {of}, which chance alone can make"
        ));
    }
    if (second > first) == (end == Better::Higher) { Verdict::Better } else { Verdict::Worse }
}

/// Figures of a test that both have which one of the two has not.
pub struct OneSided {
    pub test: String,
    /// Of the first alone, and of the second.
    pub metrics: [Vec<String>; 2],
}

/// Two documents side by side.
pub struct Compared {
    pub pairs: Vec<Pair>,
    pub one_sided: Vec<OneSided>,
    /// Tests that only the first has, and only the second.
    pub alone: [Vec<String>; 2],
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
            let not_apart = match &p.verdict {
                Verdict::NotToldApart(why) => Some(why),
                Verdict::Better | Verdict::Worse | Verdict::None => None,
            };
            json!({
                "test": p.test, "metric": p.metric, "unit": p.unit, "first": p.values[0], "second": p.values[1],
                "change_percent": p.change(), "settings": p.settings.iter().map(Setting::to_json).collect::<Vec<_>>(),
                "second_is_better": p.verdict.is_better(),
                "states": p.states.iter().chain(&p.remarks).chain(&chance).chain(not_apart).collect::<Vec<_>>(),
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
///
/// # Errors
/// If they have none in common.
pub fn compared(documents: &[ResultsDocument; 2]) -> Result<Compared, Failure> {
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
        let drawn = Drawn::of(drives);
        let is_real = of_real([(first, row), (second, other)]).is_some();
        // What does not say what it began with may be anything.
        let one_program = first.version == second.version && first.quick == second.quick;
        let nothing_else = begun.are_alike() && settings.is_empty() && states.is_empty();
        let one_seed = first.seed == second.seed;
        let by_chance = (!one_seed || drawn == Drawn::Apart) && one_program && nothing_else;
        let mut remarks = Vec::from_iter(begun.changed());
        if !by_chance && !is_real {
            states.extend((!one_seed).then(|| OTHER_SEEDS.to_owned()));
            remarks.extend((one_seed && drawn == Drawn::Apart).then(|| OTHER_DRAWS.to_owned()));
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
                let nothing_else = settings.is_empty() && states.is_empty() && !by_chance;
                let verdict = if nothing_else { verdict(metric, [row, other], drawn) } else { Verdict::None };
                pairs.push(Pair {
                    test: test.clone(),
                    settings: settings.clone(),
                    states: states.clone(),
                    remarks: remarks.clone(),
                    by_chance,
                    metric: metric.clone(),
                    label: metric_label_of(&row.test, metric),
                    unit: figure.unit.clone(),
                    values: [figure.value, theirs.value],
                    verdict,
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
