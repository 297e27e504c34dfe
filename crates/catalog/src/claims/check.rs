//! How a published figure is checked.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Test parameters, or facts by key.
pub(crate) type Values = BTreeMap<String, toml::Value>;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// A metric must be within a tolerance of the published value.
    Value(ValueCheck),
    /// A metric must lie within bounds that make the published words true.
    Range(RangeCheck),
    /// One drive must be better than another, or one setting than another.
    Order(Box<Order>),
    /// Several drives must stand in the published order, but for so many pairs.
    Ranking(Box<Ranking>),
    /// A test made for a yes or no must say yes.
    Verdict(VerdictCheck),
    /// The slowest I/Os must be slow for the published reason.
    MainCause(MainCauseCheck),
    /// Our test must have the published parameters.
    Method(MethodCheck),
    /// Our test must report what was published: the figures, not their values.
    Reports(ReportsCheck),
    /// The drive file must say the same.
    Fact(Values),
    /// Cannot be shown here (yet); says why.
    NotSimulated(String),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueCheck {
    pub test: String,
    #[serde(default)]
    pub params: Values,
    pub metric: String,
    pub value: f64,
    pub unit: String,
    pub tolerance_percent: f64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeCheck {
    pub test: String,
    #[serde(default)]
    pub params: Values,
    pub metric: String,
    pub unit: String,
    #[serde(default)]
    pub at_least: Option<f64>,
    #[serde(default)]
    pub at_most: Option<f64>,
}

/// A metric of a test on a drive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    pub device: String,
    pub test: String,
    #[serde(default)]
    pub params: Values,
    /// Empty if `band` says what is compared.
    #[serde(default)]
    pub metric: String,
    /// Instead of the metric itself: the share of the points of a chart that lie within a band.
    #[serde(default)]
    pub band: Option<Band>,
}

/// The share (in per cent) of a chart's points whose y lies between two bounds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    pub chart: String,
    pub from: f64,
    pub to: f64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    pub higher: Figure,
    pub lower: Figure,
    /// The higher figure over the lower one must be more than this.
    pub ratio_above: f64,
}

/// A metric of one test on several drives.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    pub test: String,
    #[serde(default)]
    pub params: Values,
    pub metric: String,
    /// What was published of each drive. Only the order counts: the higher figure must be higher here.
    pub published: BTreeMap<String, f64>,
    /// Pairs of drives that may stand in the wrong order, as a share of all pairs.
    pub wrong_pairs_at_most_percent: f64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictCheck {
    pub test: String,
    #[serde(default)]
    pub params: Values,
    pub pass: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MainCauseCheck {
    pub test: String,
    #[serde(default)]
    pub params: Values,
    /// Keys of causes, one of which must be the largest part of most of the slowest I/Os.
    pub causes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodCheck {
    pub test: String,
    /// Which run of the test, where it has several forms.
    #[serde(default)]
    pub select: Values,
    /// What its parameters must be.
    pub params: Values,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportsCheck {
    pub test: String,
    #[serde(default)]
    pub params: Values,
    /// Names of metrics that the test must have.
    pub metrics: Vec<String>,
}
