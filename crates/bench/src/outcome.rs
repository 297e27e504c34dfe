//! What a test hands to whoever reports it: parameters, metrics, charts, and where the time went.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ssdlab_core::CAUSES;

use crate::host::SlowestSeen;

/// A measured figure with its unit (`IOPS`, `MB/s`, `us`, `ratio`, `W`, `J`, `s`, `%`, `count`, …).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    pub value: f64,
    pub unit: String,
}

/// Unit of a logarithmic axis of shares: 1/(1 - p), so that 50, 90, 99, 99.9 % stand at 2, 10, 100, 1,000.
pub const SHARE_BELOW: &str = "1/(1-p)";

/// One axis of a chart. The unit is printed beside the label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    pub label: String,
    pub unit: String,
    pub log: bool,
    /// Fixed bounds; by default the data decide.
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Names for the positions 0, 1, 2 … of a categorical axis (bars, block sizes).
    pub categories: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A dot a point: the per-second scatter.
    Scatter,
    Line,
    /// A bar a category; several series stand side by side.
    Bars,
    /// Bars of several series on top of each other: where the time went.
    StackedBars,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// For the legend. In a comparison of several drives the report puts the drive's name in front.
    pub name: String,
    pub points: Vec<[f64; 2]>,
}

/// A chart that a reviewer expects of this test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Stable, kebab-case, unique within the test: file names are made of it.
    pub id: String,
    pub title: String,
    /// One sentence on how to read it, or empty.
    pub caption: String,
    pub mark: Mark,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Whether several drives' charts of this id belong into one picture (curves, bars) or side by side (scatters).
    pub overlay_drives: bool,
}

/// Where the time of the average I/O of one kind went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeShare {
    /// For example `4 KiB random write, QD32` or `read`.
    pub label: String,
    pub ios: u64,
    pub latency_mean_us: f64,
    /// Mean microseconds by cause key ([`ssdlab_core::Cause::key`]); sums to the mean latency.
    pub mean_us: BTreeMap<String, f64>,
}

/// One of the slowest I/Os of a run, with its causes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowIo {
    /// Which run of its test it is of, where the test has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// When it was submitted, from the start of that run.
    pub at_s: f64,
    /// `read`, `write`, `trim` or `flush`.
    pub op: String,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub latency_us: f64,
    pub causes_us: BTreeMap<String, f64>,
    /// The same in words.
    pub sentence: String,
}

/// A small table that a reader expects beside the charts. Cells are words; figures in them carry their unit or the
/// column's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub title: String,
    /// What to know when reading it, or empty.
    pub caption: String,
    pub columns: Vec<String>,
    /// As many cells a row as there are columns; the first names the row.
    pub rows: Vec<Vec<String>>,
}

/// A yes or no that a test was made for (TRIM works; the drive recovers).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// `None`: inconclusive, as where there was nothing to recover from.
    pub pass: Option<bool>,
    pub sentence: String,
}

impl Verdict {
    /// The word in reports.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self.pass {
            Some(true) => "pass",
            Some(false) => "fail",
            None => "inconclusive",
        }
    }
}

/// What keeps the last part of a run from being a steady state, or a life that was wound forward from being certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unsettled {
    /// Less has been programmed than the spare area holds: nothing need be collected yet.
    SpareNotWritten,
    TooFewSeconds,
    TooFewRequests,
    /// The flash has been programmed too seldom: blocks of the fill may still be collected.
    TooFewTurnovers,
    /// Its parts differ, or follow a line that rises or falls.
    Drifts,
    /// A device in small does not show that of the whole one.
    LeftToFullRun,
    /// Of a drive whose life was wound forward: it worked too little for that life to be certain.
    TooLittleWork,
}

impl Unsettled {
    /// Whether there is too little of anything to tell.
    #[must_use]
    pub fn is_too_few(self) -> bool {
        matches!(self, Unsettled::TooFewSeconds | Unsettled::TooFewRequests)
    }
}

/// Why the last part of a run is no steady state, or a life that was wound forward not certain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotSteady {
    pub reason: Unsettled,
    /// The same in words, with the figures: what follows after a colon.
    pub why: String,
}

impl NotSteady {
    #[must_use]
    pub fn new(reason: Unsettled, why: String) -> Self {
        NotSteady { reason, why }
    }

    /// A sentence for the reader.
    #[must_use]
    pub fn sentence(&self) -> String {
        let before = match self.reason {
            Unsettled::LeftToFullRun => "The steady state is left to a full run",
            Unsettled::TooLittleWork => "Not settled",
            _ => "Not steady yet",
        };
        format!("{before}: {}.", self.why)
    }
}

/// The result of one test on one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Test name as on the command line.
    pub test: String,
    /// Tells variants of one test apart (`over-provisioning 25 %`), or empty.
    pub variant: String,
    pub device: String,
    pub title: String,
    /// What was done, in a paragraph for the reader of the report.
    pub method: String,
    pub params: BTreeMap<String, serde_json::Value>,
    pub metrics: BTreeMap<String, Metric>,
    pub charts: Vec<Chart>,
    #[serde(default)]
    pub tables: Vec<Table>,
    pub time_shares: Vec<TimeShare>,
    pub slowest: Vec<SlowIo>,
    pub verdict: Option<Verdict>,
    /// What the reader must know: adjustments, estimates, steady state not reached.
    pub notes: Vec<String>,
    /// Set if the run was shorter than the published method: said on every chart.
    pub shortened: Option<String>,
    /// The parameters that are below those of the published method.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened_params: Vec<String>,
    /// The parameters that somebody set to something else than their default. Of the others that are `auto` by default, `params` has what
    /// the test then decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_params: Vec<String>,
    /// What sizes of the device were divided by, where the test ran on it in small.
    #[serde(default)]
    pub small_by: Option<u32>,
    /// Why its last part is no steady state, where a test looks for one: empty if it is. Of a life that was wound forward, why
    /// that is not certain.
    #[serde(default)]
    pub not_steady: Vec<NotSteady>,
    /// What the parts of the device did while the slowest request waited, where the test looks at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_seen: Option<Box<SlowestSeen>>,
}

impl Outcome {
    /// Whether what a test takes for the steady state is one; of a test that looks for none there is no doubt. Of a life that was
    /// wound forward, whether it is certain.
    #[must_use]
    pub fn has_settled(&self) -> bool {
        self.not_steady.is_empty()
    }

    /// Whether its last part is no steady state for this reason.
    #[must_use]
    pub fn is_unsettled_by(&self, reason: Unsettled) -> bool {
        self.not_steady.iter().any(|n| n.reason == reason)
    }

    /// Whether its last part is no steady state because it has too little of anything to tell, not because it is seen to change.
    #[must_use]
    pub fn is_too_short_to_tell(&self) -> bool {
        self.not_steady.iter().any(|n| n.reason.is_too_few())
    }
}

impl Metric {
    #[must_use]
    pub fn new(value: f64, unit: &str) -> Self {
        Metric { value, unit: unit.to_owned() }
    }
}

impl Axis {
    #[must_use]
    pub fn linear(label: &str, unit: &str) -> Self {
        Axis {
            label: label.to_owned(),
            unit: unit.to_owned(),
            log: false,
            min: None,
            max: None,
            categories: Vec::new(),
        }
    }

    #[must_use]
    pub fn log(label: &str, unit: &str) -> Self {
        Axis { log: true, ..Axis::linear(label, unit) }
    }
}

/// Labels and keys of every cause, in report order.
#[must_use]
pub fn cause_labels() -> Vec<(&'static str, &'static str)> {
    CAUSES.iter().map(|c| (c.key(), c.label())).collect()
}
