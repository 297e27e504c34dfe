//! Everything that a review consists of, before it is written in any form.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use ssdlab_bench::{Chart, ClaimKind, Outcome};
use ssdlab_core::CAUSES;
use ssdlab_device::DeviceInfo;

use crate::{ReportError, number};

/// A review: one or several devices, what the bench measured on them, and what others published about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Version of ssdlab that measured.
    pub version: String,
    /// Seed of every random number in it.
    pub seed: u64,
    /// Whether tests were shortened on request. Each outcome says for itself how.
    pub quick: bool,
    /// In the order in which they were named.
    pub devices: Vec<ReviewedDevice>,
    /// In the order in which they shall be read; tests of the same name and variant are shown together.
    pub outcomes: Vec<Outcome>,
    /// Tests that were asked for and have no outcome.
    pub left_out: Vec<LeftOut>,
    pub claims: Vec<ClaimRow>,
}

/// What the devices of a review are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reality {
    Simulated,
    /// Measured in real time: no run is like another.
    Real,
    Both,
}

/// A device under review.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReviewedDevice {
    pub facts: DeviceFacts,
    /// Grouped by [`SpecRow::section`], in the order given.
    pub specification: Vec<SpecRow>,
    /// What it is made of, if it is made of devices.
    pub members: Vec<Member>,
    /// Estimates that its rates hang on, the one that they hang on most first.
    pub hangs_on: Vec<String>,
    /// What it is in a few words each: controller, flash, link.
    pub traits: Vec<String>,
    /// What is collected at once, if it is flash that maps by pages.
    pub superblock_bytes: Option<u64>,
    /// Whether it is a drive that takes writes into cells at one bit each first.
    pub has_slc_cache: bool,
    /// Writes that an adapter's cache without a battery answers for at most, before the drives have them.
    pub lost_with_power_bytes: Option<u64>,
    /// Whether a FLUSH is answered before what it is for is safe, so that a power cut takes that all the same.
    pub loses_flushed: bool,
}

/// A device that others are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: String,
    /// How many equal ones stand side by side.
    pub count: usize,
    pub specification: Vec<SpecRow>,
    pub members: Vec<Member>,
}

/// How many parameters devices have, and how many of them are estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParameterCount {
    pub all: usize,
    pub estimates: usize,
}

impl ParameterCount {
    /// Of a device of this name with what it is made of, and what is counted of others already: each kind of device once.
    pub fn add<'a>(
        &mut self,
        counted: &mut BTreeSet<&'a str>,
        name: &'a str,
        specification: &[SpecRow],
        members: &'a [Member],
    ) {
        if !counted.insert(name) {
            return;
        }
        self.all += specification.len();
        self.estimates += specification.iter().filter(|row| row.estimate).count();
        for member in members {
            self.add(counted, &member.name, &member.specification, &member.members);
        }
    }
}

/// What a device says of itself: [`DeviceInfo`], in a form that can be stored and read back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    pub name: String,
    /// `ssd`, `hdd`, `array`, `host`.
    pub kind: String,
    /// A line for people: controller, flash, capacity.
    pub description: String,
    pub capacity_bytes: u64,
    pub queue_depth: u32,
    pub supports_trim: bool,
    /// Spare area, as a percentage of the capacity sold; `None` for a device without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning_percent: Option<f64>,
    /// Digest of all that decides on what it is: its files, and what was changed of them. What chance gives it is not in it. `None` of
    /// a real device, whose state nobody knows, and in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// As which models its SSDs were drawn, in their order: beside the seed, these names decide on what chance gives each of them.
    /// `None` of a real device, and in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn_as: Option<Vec<String>>,
    /// Digest of the saved drive that it began as, and of how long that had lain; `None` if it was new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_as: Option<String>,
    /// Functions of a program that took the place of keys of its drives, as in `victim=oldest`. Nobody knows whether two of one name
    /// do the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
}

impl From<&DeviceInfo> for DeviceFacts {
    fn from(info: &DeviceInfo) -> Self {
        DeviceFacts {
            name: info.name.clone(),
            kind: info.kind.to_owned(),
            description: info.description.clone(),
            capacity_bytes: info.capacity_bytes,
            queue_depth: info.queue_depth,
            supports_trim: info.supports_trim,
            over_provisioning_percent: info.over_provisioning_percent,
            identity: None,
            drawn_as: None,
            begins_as: None,
            functions: Vec::new(),
        }
    }
}

/// A line of a device's specification, with where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpecRow {
    /// Heading under which the row stands: `Flash`, `Controller`, `Firmware`…
    pub section: String,
    pub key: String,
    pub value: String,
    /// Unit of `value`, or empty.
    pub unit: String,
    /// Data sheet, review or paper; for an estimate, how it was arrived at.
    pub source: String,
    /// Nobody published it. Marked as such wherever it is shown.
    pub estimate: bool,
}

/// A test that makes no sense on a device, cannot be made there, or did not finish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Name of the device as in [`DeviceFacts::name`].
    pub device: String,
    pub test: String,
    /// Which of several runs of the test, if it has several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Why, in a clause.
    pub why: String,
    /// It was stopped, or failed: the review lacks what it asked for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unfinished: bool,
}

impl LeftOut {
    /// The test, and which of its runs.
    #[must_use]
    pub fn run(&self) -> String {
        if self.variant.is_empty() { self.test.clone() } else { format!("{} ({})", self.test, self.variant) }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A published figure beside the one measured here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// Stable identifier of the claim in the catalog.
    pub id: String,
    /// What it says that the figure is met.
    pub kind: ClaimKind,
    /// Whether another row says the same: it is shown, but not counted.
    pub repeated: bool,
    /// Name of the device as in [`DeviceFacts::name`], or of the group of devices that the claim speaks of.
    pub device: String,
    /// What was measured, for people: `4 KiB random write, QD32`.
    pub quantity: String,
    /// As printed by its source, without `unit`: `81K`, `<=8`, `several`.
    pub published: String,
    /// Whether that says its own unit, or none that could follow it: `0.040 ms` of a figure in µs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub published_says_unit: bool,
    /// `published` as a number in `unit`, where it is one.
    pub published_value: Option<f64>,
    pub unit: String,
    /// Our figure in `unit`, where it is a number.
    pub ours: Option<f64>,
    /// Our finding in words, where it is not a number; otherwise empty.
    pub ours_text: String,
    /// The deviation allowed, for people: `±10 %`. Empty if none is defined.
    pub tolerance: String,
    /// How far it is from failing, or by how much it failed, for people; empty where the check has no number.
    pub margin: String,
    pub state: ClaimState,
    pub source: String,
    /// Why it was missed, not run, or is a matter of words. May be empty if met.
    pub reason: String,
    /// Whether it belongs into the summary at the head of the page (the maker's own specification does).
    pub headline: bool,
}

impl ClaimRow {
    /// As printed by its source, unit included.
    pub(crate) fn published_with_unit(&self) -> String {
        match number::unit(&self.unit) {
            "" | "-" => self.published.clone(),
            _ if self.published_says_unit => self.published.clone(),
            unit => format!("{} {unit}", self.published),
        }
    }
}

/// How a published figure and ours compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimState {
    Missed,
    Met,
    /// The run says nothing about it, or nothing here can show it; `reason` tells.
    Qualitative,
    NotRun,
}

impl ClaimState {
    /// The word in reports: the state must be readable without colour.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            ClaimState::Missed => "missed",
            ClaimState::Met => "met",
            ClaimState::Qualitative => "not shown",
            ClaimState::NotRun => "not judged",
        }
    }
}

/// How many published figures of a kind ended how; repeated ones count once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub met: usize,
    pub missed: usize,
    /// Not run, or nothing here shows it.
    pub open: usize,
}

impl DeviceFacts {
    /// Whether it is a device of the machine that measured.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.kind == "host"
    }
}

impl Review {
    /// Whether every test that was asked for, and that its device allows, has an outcome.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.left_out.iter().any(|test| test.unfinished)
    }

    pub(crate) fn reality(&self) -> Reality {
        match self.devices.iter().filter(|d| d.facts.is_real()).count() {
            0 => Reality::Simulated,
            n if n == self.devices.len() => Reality::Real,
            _ => Reality::Both,
        }
    }

    /// Its device of this name.
    pub(crate) fn device(&self, name: &str) -> Option<&ReviewedDevice> {
        self.devices.iter().find(|d| d.facts.name == name)
    }

    /// Whether some test ran on a device in small.
    pub(crate) fn is_in_small(&self) -> bool {
        self.outcomes.iter().any(|o| o.small_by.is_some())
    }

    /// Whether some test was cut short, on request or by a setting.
    pub(crate) fn is_shortened(&self) -> bool {
        self.outcomes.iter().any(|o| o.shortened.is_some())
    }

    /// The names of its real devices.
    pub(crate) fn real_names(&self) -> Vec<String> {
        self.devices.iter().filter(|d| d.facts.is_real()).map(|d| d.facts.name.clone()).collect()
    }

    pub(crate) fn tally(&self, kind: ClaimKind) -> Tally {
        let counted = |state: ClaimState| {
            self.claims.iter().filter(|c| c.kind == kind && !c.repeated && c.state == state).count()
        };
        Tally {
            met: counted(ClaimState::Met),
            missed: counted(ClaimState::Missed),
            open: counted(ClaimState::Qualitative) + counted(ClaimState::NotRun),
        }
    }

    /// Checks that the review can be written: figures are finite, names resolve and are unique.
    ///
    /// # Errors
    /// The first fault found, with the device, the test and the key that it lies in.
    pub fn validate(&self) -> Result<(), ReportError> {
        let mut names = BTreeSet::new();
        if self.devices.is_empty() {
            return Err(inconsistent("review", "there is no device in it; a review needs at least one"));
        }
        for device in &self.devices {
            let name = &device.facts.name;
            if name.is_empty() || !names.insert(name.as_str()) {
                return Err(inconsistent("devices", &format!("name {name:?} is empty or given twice")));
            }
            if let Some(spare) = device.facts.over_provisioning_percent {
                finite(spare, || format!("{name}: over_provisioning_percent"))?;
            }
        }
        let mut seen = BTreeSet::new();
        for outcome in &self.outcomes {
            let place = place(outcome);
            if !names.contains(outcome.device.as_str()) {
                return Err(inconsistent(&place, &format!("device {:?} is not part of the review", outcome.device)));
            }
            if outcome.test.is_empty() {
                return Err(inconsistent(&place, "the test has no name"));
            }
            if !seen.insert((&outcome.device, &outcome.test, &outcome.variant)) {
                return Err(inconsistent(&place, "this test and variant is there twice for one device"));
            }
            validate_outcome(outcome, &place)?;
        }
        for claim in &self.claims {
            for value in [claim.published_value, claim.ours].into_iter().flatten() {
                finite(value, || format!("claim {} of {}", claim.id, claim.device))?;
            }
        }
        Ok(())
    }
}

fn validate_outcome(outcome: &Outcome, place: &str) -> Result<(), ReportError> {
    for (key, metric) in &outcome.metrics {
        finite(metric.value, || format!("{place}: metric {key}"))?;
    }
    let mut ids = BTreeSet::new();
    for chart in &outcome.charts {
        let place = format!("{place}: chart {}", chart.id);
        if chart.id.is_empty() || !ids.insert(chart.id.as_str()) {
            return Err(inconsistent(&place, "chart ids must be unique within a test and not empty"));
        }
        validate_chart(chart, &place)?;
    }
    let known = |key: &str| CAUSES.iter().any(|c| c.key() == key);
    for share in &outcome.time_shares {
        finite(share.latency_mean_us, || format!("{place}: mean latency of {}", share.label))?;
        for (key, &us) in &share.mean_us {
            finite(us, || format!("{place}: time by cause of {}, {key}", share.label))?;
            if !known(key) {
                return Err(inconsistent(place, &format!("{key:?} is not a cause that an I/O's time can have")));
            }
        }
    }
    for slow in &outcome.slowest {
        finite(slow.at_s, || format!("{place}: time of a slow I/O"))?;
        finite(slow.latency_us, || format!("{place}: latency of a slow I/O"))?;
        for (key, &us) in &slow.causes_us {
            finite(us, || format!("{place}: cause {key} of a slow I/O"))?;
        }
    }
    Ok(())
}

/// Checks one chart: finite points and bounds, bounds in order, categories that exist.
pub(crate) fn validate_chart(chart: &Chart, place: &str) -> Result<(), ReportError> {
    for (name, axis) in [("x", &chart.x), ("y", &chart.y)] {
        for bound in [axis.min, axis.max].into_iter().flatten() {
            finite(bound, || format!("{place}: bound of the {name} axis"))?;
        }
        match (axis.min, axis.max) {
            (Some(min), Some(max)) if min >= max => {
                let problem = format!("the {name} axis runs from {min} to {max}; min must be less");
                return Err(inconsistent(place, &problem));
            }
            _ => {}
        }
        if axis.log && axis.max.is_some_and(|max| max <= 0.0) {
            return Err(inconsistent(place, &format!("the {name} axis is logarithmic and must end above zero")));
        }
    }
    for series in &chart.series {
        for &[x, y] in &series.points {
            finite(x, || format!("{place}: series {}", series.name))?;
            finite(y, || format!("{place}: series {}", series.name))?;
            let n = chart.x.categories.len();
            if n > 0 && !(x >= 0.0 && x < n as f64 && x.fract() == 0.0) {
                let problem = format!("series {}: position {x} has no category; there are {n}", series.name);
                return Err(inconsistent(place, &problem));
            }
        }
    }
    Ok(())
}

/// Device, test and variant, as errors name them.
pub(crate) fn place(outcome: &Outcome) -> String {
    match outcome.variant.as_str() {
        "" => format!("{}: {}", outcome.device, outcome.test),
        variant => format!("{}: {} ({variant})", outcome.device, outcome.test),
    }
}

fn inconsistent(place: &str, problem: &str) -> ReportError {
    ReportError::Inconsistent { place: place.to_owned(), problem: problem.to_owned() }
}

fn finite(value: f64, place: impl Fn() -> String) -> Result<(), ReportError> {
    if value.is_finite() { Ok(()) } else { Err(ReportError::NotFinite { place: place(), value }) }
}
