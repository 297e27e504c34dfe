//! `results.json`: the figures of a review in the shape that scripts and checks rely on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ssdlab_bench::{Metric, NotSteady, Outcome, SlowIo, Table, TimeShare, Verdict};

use crate::review::{ClaimRow, DeviceFacts, LeftOut, Review};
use crate::{ReportError, SCHEMA};

/// A results document. Written for a [`Review`], read back by any tool.
///
/// A document about one device has it under `device`, and its results do not repeat the name. A document about
/// several has them under `devices`, and each result names its own under `device`. Exactly one of the two is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultsDocument {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    pub seed: u64,
    /// Whether tests were shortened on request.
    #[serde(default)]
    pub quick: bool,
    /// Whether no test was stopped or failed.
    #[serde(default = "yes")]
    pub complete: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceFacts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceFacts>,
    pub results: Vec<ResultRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimRow>,
}

/// Documents of earlier versions were not written otherwise, or did not say so.
fn yes() -> bool {
    true
}

/// The result of one test on one device. The series behind its charts are in CSV files, not here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultRow {
    /// Only in a document about several devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    pub test: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    pub params: BTreeMap<String, Value>,
    pub metrics: BTreeMap<String, Metric>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time_shares: Vec<TimeShare>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<SlowIo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Set if the run was shorter than the published method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<String>,
    /// The parameters that were set to something else than their default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_params: Vec<String>,
    /// Set if the device was run in small: what its sizes were divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_by: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_steady: Vec<NotSteady>,
}

impl ResultsDocument {
    /// The figures of `review`.
    ///
    /// # Errors
    /// If the review does not pass [`Review::validate`].
    pub fn from_review(review: &Review) -> Result<Self, ReportError> {
        review.validate()?;
        let several = review.devices.len() > 1;
        let facts = || review.devices.iter().map(|d| d.facts.clone());
        Ok(ResultsDocument {
            schema: SCHEMA.to_owned(),
            version: review.version.clone(),
            seed: review.seed,
            quick: review.quick,
            complete: review.is_complete(),
            device: facts().next().filter(|_| !several),
            devices: facts().filter(|_| several).collect(),
            results: review.outcomes.iter().map(|o| ResultRow::from_outcome(o, several)).collect(),
            left_out: review.left_out.clone(),
            claims: review.claims.clone(),
        })
    }

    /// Every device of the document, be it one or several.
    pub fn all_devices(&self) -> impl Iterator<Item = &DeviceFacts> {
        self.device.iter().chain(&self.devices)
    }

    /// Prints the document: keys sorted, two spaces of indentation, a line feed at the end. The same document gives
    /// the same bytes.
    ///
    /// # Errors
    /// If serialisation fails, which it does not for a document made by [`ResultsDocument::from_review`].
    pub fn to_json(&self) -> Result<String, ReportError> {
        let json = |source| ReportError::Json { place: "results.json".to_owned(), source };
        let value = sorted(serde_json::to_value(self).map_err(json)?);
        let mut text = serde_json::to_string_pretty(&value).map_err(json)?;
        text.push('\n');
        Ok(text)
    }

    /// Reads a document back. `place` names it in errors, for example by its path.
    ///
    /// # Errors
    /// If it is not JSON, has not this shape, or is of another schema.
    pub fn from_json(text: &str, place: &str) -> Result<Self, ReportError> {
        let inconsistent = |problem| ReportError::Inconsistent { place: place.to_owned(), problem };
        // First, and alone: the rest of another schema has another shape.
        if let Ok(Schema { schema }) = serde_json::from_str(text)
            && schema != SCHEMA
        {
            return Err(inconsistent(format!("schema is {schema:?}; this version reads {SCHEMA:?}")));
        }
        let document: ResultsDocument =
            serde_json::from_str(text).map_err(|source| ReportError::Json { place: place.to_owned(), source })?;
        if document.device.is_some() == document.devices.is_empty() {
            return Ok(document);
        }
        Err(inconsistent("exactly one of \"device\" and \"devices\" must be there".to_owned()))
    }
}

/// What every document begins with, whatever its schema.
#[derive(Deserialize)]
struct Schema {
    schema: String,
}

impl ResultRow {
    /// What it says of its run, as far as that is needed to set it beside another. It does not say which of its parameters were
    /// shortened, if any were: all of them may have been.
    pub(crate) fn to_run(&self) -> Outcome {
        Outcome {
            test: self.test.clone(),
            variant: self.variant.clone(),
            params: self.params.clone(),
            metrics: self.metrics.clone(),
            shortened: self.shortened.clone(),
            shortened_params: self.shortened.iter().flat_map(|_| self.params.keys().cloned()).collect(),
            small_by: self.small_by,
            ..Outcome::default()
        }
    }

    fn from_outcome(outcome: &Outcome, several: bool) -> Self {
        ResultRow {
            device: several.then(|| outcome.device.clone()),
            test: outcome.test.clone(),
            variant: outcome.variant.clone(),
            params: outcome.params.clone(),
            metrics: outcome.metrics.clone(),
            tables: outcome.tables.clone(),
            time_shares: outcome.time_shares.clone(),
            slowest: outcome.slowest.clone(),
            verdict: outcome.verdict.clone(),
            notes: outcome.notes.clone(),
            shortened: outcome.shortened.clone(),
            set_params: outcome.set_params.clone(),
            small_by: outcome.small_by,
            not_steady: outcome.not_steady.clone(),
        }
    }
}

/// `results.json` of a review.
///
/// # Errors
/// If the review does not pass [`Review::validate`].
pub fn results_json(review: &Review) -> Result<String, ReportError> {
    ResultsDocument::from_review(review)?.to_json()
}

/// Sorts the keys of every object. `serde_json` keeps them sorted by itself unless some crate in the build asks for
/// insertion order; the bytes must not depend on that.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields: BTreeMap<String, Value> = map.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
