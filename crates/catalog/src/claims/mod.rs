//! Published figures, and whether the simulated drives meet them.
//!
//! The files of `catalog/claims/` say what was published, by whom, and how it is checked ([`Check`]). [`needed`]
//! lists the tests to run; [`evaluate`] lays their outcomes beside the published figures.

mod check;
mod evaluate;
mod facts;
mod own;
mod tally;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

pub use check::{Band, Check, Figure, Order, Ranking, ReportsCheck};
pub use evaluate::{ClaimRow, ClaimState, evaluate};
pub use own::own;
pub use ssdlab_bench::ClaimKind;
pub use tally::Tally;

use crate::diagnostic::{Diagnostic, Place};
use crate::embedded::{ARRAYS, CLAIMS, DISKS, DRIVES, find};
use crate::explain::explain;

/// A published figure, order or behaviour, as a file of `catalog/claims` has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Stable identifier.
    pub id: String,
    /// Catalog names of the drives that it is checked on, each by itself; an order and a ranking name their drives in the check.
    #[serde(default)]
    pub devices: Vec<String>,
    /// What was measured or stated, for people.
    pub quantity: String,
    /// As published, unit included.
    pub published: String,
    pub source: String,
    /// Whether it belongs into a summary: the specification rows do.
    #[serde(default)]
    pub headline: bool,
    /// Why it is known to be missed, where it is: a miss stays a miss, but is not news.
    #[serde(default)]
    pub known_miss: Option<String>,
    /// Keys of drive files whose values were chosen with this figure in view. The figure then says how well they were
    /// chosen; it is no evidence for the model.
    #[serde(default)]
    pub calibrates: Vec<String>,
    /// Another claim that says the same of the same drives, or of these and others. This one is judged, but not counted where
    /// the other is judged as well.
    #[serde(default)]
    pub repeats: Option<String>,
    /// What it counts as, where its check alone does not tell: a run is measured, but a key of the drive file decides it.
    #[serde(default)]
    pub counts_as: Option<ClaimKind>,
    pub check: Check,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimFile {
    claim: Vec<Claim>,
}

/// Every published figure of the catalog, in the order of its files.
///
/// # Panics
/// If an embedded file is malformed; a test reads them all.
#[must_use]
pub fn all() -> Vec<Claim> {
    CLAIMS.iter().flat_map(|file| parse(file.path, file.text).unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// Reads published figures from the text of a claims file; `file` is its name in messages.
///
/// # Errors
/// If it is no TOML, or holds anything but claims.
pub fn parse(file: &str, text: &str) -> Result<Vec<Claim>, Diagnostic> {
    let problem = |e: toml::de::Error| {
        let problem = explain(&e, &[]);
        let place = Place::new(file, text, problem.span.unwrap_or(0..0));
        problem.help.into_iter().fold(Diagnostic::new(problem.what).at(place), Diagnostic::help)
    };
    toml::from_str::<ClaimFile>(text).map(|f| f.claim).map_err(problem)
}

/// A test to run so that claims can be judged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededRun {
    pub device: String,
    pub test: String,
    /// Parameters that differ from the test's defaults, as `--set` takes them.
    pub settings: BTreeMap<String, String>,
}

impl Claim {
    /// Every drive that takes part in it.
    #[must_use]
    pub fn drives(&self) -> BTreeSet<&str> {
        let mut drives: BTreeSet<&str> = self.devices.iter().map(String::as_str).collect();
        match &self.check {
            Check::Order(order) => drives.extend([order.higher.device.as_str(), order.lower.device.as_str()]),
            Check::Ranking(ranking) => drives.extend(ranking.published.keys().map(String::as_str)),
            _ => {}
        }
        drives
    }

    /// What a figure that is met says; the row of one that is missed may be of [another kind](ClaimRow::kind).
    #[must_use]
    pub fn kind(&self) -> ClaimKind {
        match &self.check {
            _ if self.counts_as.is_some() => self.counts_as.unwrap_or(ClaimKind::Measured),
            Check::Fact(_) => ClaimKind::AsBuilt,
            Check::Method(_) | Check::Reports(_) => ClaimKind::ByMethod,
            _ if !self.calibrates.is_empty() => ClaimKind::Calibration,
            _ => ClaimKind::Measured,
        }
    }

    /// The same about devices by other names.
    #[must_use]
    pub fn renamed(mut self, name: impl Fn(&str) -> String) -> Claim {
        // Several paths of one file are one device.
        let mut seen = BTreeSet::new();
        self.devices.iter_mut().for_each(|device| *device = name(device));
        self.devices.retain(|device| seen.insert(device.clone()));
        match &mut self.check {
            Check::Order(order) => {
                for figure in [&mut order.higher, &mut order.lower] {
                    figure.device = name(&figure.device);
                }
            }
            Check::Ranking(ranking) => {
                ranking.published = std::mem::take(&mut ranking.published)
                    .into_iter()
                    .map(|(drive, value)| (name(&drive), value))
                    .collect();
            }
            _ => {}
        }
        self
    }

    /// Whether it says something about `device`.
    #[must_use]
    pub fn concerns(&self, device: &str) -> bool {
        self.drives().contains(device)
    }

    fn runs(&self) -> Vec<NeededRun> {
        let on_each = |test: &str, params: &BTreeMap<String, toml::Value>| {
            self.devices
                .iter()
                .map(|device| NeededRun { device: device.clone(), test: test.to_owned(), settings: settings(params) })
                .collect()
        };
        match &self.check {
            Check::Value(c) => on_each(&c.test, &c.params),
            Check::Range(c) => on_each(&c.test, &c.params),
            Check::Verdict(c) => on_each(&c.test, &c.params),
            Check::MainCause(c) => on_each(&c.test, &c.params),
            Check::Reports(c) => on_each(&c.test, &c.params),
            // The method is checked on a run of the test as it is by default, or with the parameters that select it.
            Check::Method(c) => on_each(&c.test, &c.select),
            Check::Order(order) => [&order.higher, &order.lower]
                .into_iter()
                .map(|f| NeededRun { device: f.device.clone(), test: f.test.clone(), settings: settings(&f.params) })
                .collect(),
            Check::Ranking(c) => c
                .published
                .keys()
                .map(|device| NeededRun { device: device.clone(), test: c.test.clone(), settings: settings(&c.params) })
                .collect(),
            Check::Fact(_) | Check::NotSimulated(_) => Vec::new(),
        }
    }
}

/// A TOML value as `--set key=` takes it: `32` also of `32.0`, and a list with commas.
#[must_use]
pub fn setting(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Array(list) => list.iter().map(setting).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Parameters as `--set` takes them.
fn settings(params: &check::Values) -> BTreeMap<String, String> {
    params.iter().map(|(key, value)| (key.clone(), setting(value))).collect()
}

/// Drives that something was published about but that the catalog does not have, in alphabetical order.
#[must_use]
pub fn missing_drives(claims: &[Claim]) -> Vec<&str> {
    let missing: BTreeSet<&str> = claims.iter().flat_map(Claim::drives).filter(|d| !is_known(d)).collect();
    missing.into_iter().collect()
}

/// Whether a drive is of the catalog, or none that could be missing there: an expression, a file, a real drive.
fn is_known(drive: &str) -> bool {
    [DRIVES, DISKS, ARRAYS].iter().any(|files| find(files, drive).is_some())
        || drive.contains(['(', '/'])
        || drive.ends_with(".toml")
}

/// The tests that `claims` need on `devices`, each once. Claims that also need other drives are left out.
#[must_use]
pub fn needed(claims: &[Claim], devices: &[&str]) -> Vec<NeededRun> {
    let runs: BTreeSet<NeededRun> = claims
        .iter()
        .flat_map(|claim| {
            let complete = match &claim.check {
                Check::Order(_) | Check::Ranking(_) => claim.drives().iter().all(|d| devices.contains(d)),
                _ => true,
            };
            if complete { claim.runs() } else { Vec::new() }
        })
        .filter(|run| devices.contains(&run.device.as_str()))
        .collect();
    runs.into_iter().collect()
}
