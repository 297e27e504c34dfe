//! The `[compression]` section of a drive file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_keys::SpecError;

/// A controller that compresses what the host writes (docs/compression.md). Absent: the drive writes every byte that it
/// is given. Not together with `[ecc]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Compression"))]
pub struct CompressionSpec {
    /// How many logical units of 4 KiB one of flash can hold at most. Its inverse is the least that a logical unit takes,
    /// and the unit in which flash is shared out.
    #[schemars(extend("enum" = [2, 4, 8, 16]))]
    pub max_ratio: u32,
}

/// Places that a row can have.
const MOST_UNITS: u32 = 64;

impl CompressionSpec {
    /// Checks the ratio against the die, of which a row holds `row_units` units of 4 KiB.
    ///
    /// # Errors
    /// A ratio that makes too many units of a row.
    pub fn validate(&self, row_units: u32) -> Result<(), SpecError> {
        const KEY: &str = "compression.max_ratio";
        if row_units * self.max_ratio > MOST_UNITS {
            let problem = format!(
                "a row of this die holds {row_units} units of 4096 bytes, {} of 1/{} of that; {MOST_UNITS} is the most",
                row_units * self.max_ratio,
                self.max_ratio
            );
            let most = MOST_UNITS / row_units.max(1);
            let expected = if most < 2 { "leave [compression] out".to_owned() } else { format!("use at most {most}") };
            return Err(SpecError::new(KEY, problem, expected));
        }
        Ok(())
    }
}
