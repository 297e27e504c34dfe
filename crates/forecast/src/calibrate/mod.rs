//! Fits unknowns of the firmware to measurements: named keys, within named bounds, and nothing else.
//!
//! What may be fitted is what nobody publishes and no die decides: the processor's times and the pacing of
//! background work. A fitted value is marked as such in the drive file, and the figures that it was fitted to count as
//! calibration from then on.

mod measurements;
mod notes;
mod search;
mod straight_lines;
mod tried;

use std::path::Path;

use serde::Serialize;
use ssdlab_catalog::{DeviceTemplate, Diagnostic, Parts};

pub use self::measurements::{Measured, Measurements, ReadResults, Unknown};
use self::search::{Edge, End, Search};
use crate::runs::{Bench, NoResult};

/// What came of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    pub device: String,
    pub unknowns: Vec<Fitted>,
    pub measurements: Vec<Reached>,
    /// Sum of the squares of how far each measurement is missed, in tolerances.
    pub misfit: f64,
    /// Drives that were run.
    pub runs: usize,
    /// Whether the search ended by itself rather than for want of runs.
    pub ended: bool,
    /// What keeps the values from being taken for more than they are, in sentences.
    pub notes: Vec<String>,
}

/// A fitted key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    pub key: String,
    pub before: f64,
    pub value: f64,
    /// The last values, told to 1 % of the way there, with which the misfit is no more than one larger than at the best: with all other
    /// unknowns where it is least then, as far as slopes lead there.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Whether the misfit does not grow by one downwards, and upwards, within the bounds given. An end that is neither given nor
    /// open was not looked for.
    pub open: [bool; 2],
    /// Whether any measured figure changes with it.
    pub moves: bool,
}

/// A measurement, and what the fitted drive shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reached {
    pub test: String,
    pub metric: String,
    pub unit: String,
    pub measured: f64,
    pub tolerance_percent: f64,
    pub fitted: f64,
    pub source: String,
}

/// Fits the unknowns to the measurements, running `most_runs` drives at the most.
///
/// # Errors
/// Outer: if there is no such drive, or no such test. Inner: [`NoResult`], also if the drive does not show a figure.
pub fn calibrate(
    given: &Measurements,
    most_runs: usize,
    bench: &Bench<'_>,
) -> Result<Result<Calibration, NoResult>, Diagnostic> {
    let template = DeviceTemplate::open(&given.drive, Path::new(""))?;
    let device = template.recipe.name.clone();
    let before = values_of(&template, &given.unknown)?;
    let mut search = Search::new(template, given, bench, most_runs)?;
    let mut start: Vec<f64> = given.unknown.iter().zip(&before).map(|(u, &v)| u.allowed(v)).collect();
    if let Err(why) = search.recipe(&start) {
        let values: Vec<String> = given.unknown.iter().zip(&start).map(|(u, v)| format!("{} = {v}", u.key)).collect();
        return Err(Diagnostic::new(format!("{device} cannot be built with {}: {why}", values.join(", ")))
            .help("begin with values in the drive file, and bounds, with which it can"));
    }
    // Each time round begins with a smaller misfit: it ends.
    let (best, reached, ends, ended) = 'search: loop {
        let (best, mut ended) = match search.descend(start) {
            Ok(best) => (best, true),
            Err((best, End::NoRunsLeft)) if search.tried().figures_at(&best).is_some() => (best, false),
            Err((_, End::NoRunsLeft)) => return Err(Diagnostic::new("not even one drive may be run")),
            Err((_, End::NoResult(none))) => return Ok(Err(none)),
        };
        let Some(reached) = search.tried().figures_at(&best).cloned() else {
            return Err(Diagnostic::new(format!("{device} cannot be built with any value that was tried"))
                .help("begin with values in the drive file with which it can"));
        };
        let mut all = Vec::new();
        for place in 0..best.len() {
            let (mut ends, mut open) = ([None, None], [false, false]);
            for ((end, open), up) in ends.iter_mut().zip(&mut open).zip([false, true]) {
                match search.end_of(&best, place, up) {
                    Ok(Edge::At(value)) => *end = Some(value),
                    Ok(Edge::Open) => *open = true,
                    Ok(Edge::Better(better)) => {
                        start = better;
                        continue 'search;
                    }
                    Err(End::NoRunsLeft) => ended = false,
                    Err(End::NoResult(none)) => return Ok(Err(none)),
                }
            }
            all.push((ends, open));
        }
        break (best, reached, all, ended);
    };
    let mut unknowns = Vec::new();
    for (place, (unknown, ([low, high], open))) in given.unknown.iter().zip(ends).enumerate() {
        let line = search.tried().along(&best, place);
        // Of one drive alone there is no saying.
        let moves = line.len() < 2 || line.iter().any(|(_, residuals)| *residuals != line[0].1);
        let (key, before, value) = (unknown.key.clone(), before[place], best[place]);
        unknowns.push(Fitted { key, before, value, low, high, open, moves });
    }
    let measurements: Vec<Reached> = given
        .measurement
        .iter()
        .zip(&reached)
        .map(|(m, &fitted)| Reached {
            test: m.test.clone(),
            metric: m.metric.clone(),
            unit: m.unit.clone(),
            measured: m.value,
            tolerance_percent: m.tolerance_percent,
            fitted,
            source: m.source.clone(),
        })
        .collect();
    let misfit = search.tried().misfit(&best);
    let notes = notes::notes(search.tried(), &best, &unknowns, &measurements, ended);
    Ok(Ok(Calibration { device, unknowns, measurements, misfit, runs: search.tried().runs(), ended, notes }))
}

/// What a drive has for each of these keys.
fn values_of(template: &DeviceTemplate, unknown: &[Unknown]) -> Result<Vec<f64>, Diagnostic> {
    let device = &template.recipe.name;
    let Parts::Ssd(drive) = &template.recipe.parts else {
        return Err(Diagnostic::new(format!("{device} is no single SSD")));
    };
    let table = toml::Table::try_from(&drive.spec).map_err(|e| Diagnostic::new(e.to_string()))?;
    let value = |unknown: &Unknown| {
        let (section, key) = unknown.key.split_once('.').unwrap_or(("", &unknown.key));
        let value = table.get(section).and_then(|s| s.get(key));
        value.and_then(|v| v.as_float().or_else(|| v.as_integer().map(|i| i as f64))).ok_or_else(|| {
            Diagnostic::new(format!("{device} has no {}", unknown.key)).help("give it a first value in the drive file")
        })
    };
    unknown.iter().map(value).collect()
}
