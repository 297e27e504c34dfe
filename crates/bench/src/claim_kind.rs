//! What it says that a published figure is met.

use serde::{Deserialize, Serialize};

/// What it says that a figure is met. Only [`ClaimKind::Measured`] is evidence for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// A number or an order came out of a run, and could have come out otherwise.
    Measured,
    /// A parameter was chosen with the figure in view.
    Calibration,
    /// The test has the published parameters.
    ByMethod,
    /// The drive file says what the source says.
    AsBuilt,
}

impl ClaimKind {
    /// In the order in which reports show them.
    pub const ALL: [ClaimKind; 4] =
        [ClaimKind::Measured, ClaimKind::Calibration, ClaimKind::ByMethod, ClaimKind::AsBuilt];

    /// The heading in reports.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            ClaimKind::Measured => "Measured here",
            ClaimKind::Calibration => "Calibration",
            ClaimKind::ByMethod => "By method",
            ClaimKind::AsBuilt => "As built",
        }
    }

    /// What a figure of this kind says, in a sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            ClaimKind::Measured => "A number or an order that came out of a run, and could have come out otherwise.",
            ClaimKind::Calibration => {
                "A parameter was chosen with the figure in view. That it is met says how well it was chosen, and nothing about the model."
            }
            ClaimKind::ByMethod => "The test was run with the published parameters.",
            ClaimKind::AsBuilt => "The drive file says what the source says.",
        }
    }
}
