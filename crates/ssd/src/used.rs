//! The section `[used]` of a drive file: a drive that has been worn before anything is measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_core::Rng;
use ssdlab_nand::{BlockId, Medium};

/// A drive with a life behind it: its blocks are worn from the beginning, and erased. What the host and the firmware
/// counted in that life is not known: those counts begin at zero. Absent: a new drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Used before"))]
pub struct UsedSpec {
    /// Mean wear of the blocks, as a share of the cycles that their flash is rated for.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-heading" = "life used before"))]
    pub life_percent: f64,
    /// By how much the blocks differ in wear: the standard deviation over them, in per cent of its mean. 0: all alike.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 40.0), extend("x-heading" = "spread of the wear"))]
    pub spread_percent: f64,
}

/// The sum of four bytes: its mean, and its standard deviation, in tenths.
const MEAN_OF_BYTES: i64 = 510;
const DEVIATION_OF_BYTES_TENTHS: i64 = 1478;

impl UsedSpec {
    /// What the block has worn that is worn most, in rated lives: three and a half standard deviations beyond the mean.
    #[must_use]
    pub fn most_lives(&self) -> f64 {
        self.life_percent / 100.0 * (1.0 + 3.5 * self.spread_percent / 100.0)
    }

    /// What a block has worn before: erases in the die's own cell mode, and thousand-millionths of its rated life.
    /// Draws are about normal, and end at three and a half standard deviations.
    pub fn wear<'a>(&'a self, medium: &'a Medium, chance: &Rng) -> impl Iterator<Item = (BlockId, u32, u64)> + use<'a> {
        const PPB_PER_PERCENT: f64 = 1e7;
        let mut rng = chance.stream("used before");
        let mean_ppb = (self.life_percent * PPB_PER_PERCENT) as u64;
        let deviation_ppb = (self.life_percent * self.spread_percent / 100.0 * PPB_PER_PERCENT) as i64;
        let rated = u64::from(medium.rated_cycles());
        // A number for bad blocks too: what a block has worn follows from its place.
        medium.layout().all_blocks().filter_map(move |block| {
            let sum: i64 = (rng.next_u64() as u32).to_le_bytes().into_iter().map(i64::from).sum();
            let own = (sum - MEAN_OF_BYTES) * 10 * deviation_ppb / DEVIATION_OF_BYTES_TENTHS;
            let ppb = mean_ppb.saturating_add_signed(own);
            let erases = (ppb * rated + 500_000_000) / 1_000_000_000;
            (!medium.is_bad(block)).then_some((block, u32::try_from(erases).unwrap_or(u32::MAX), ppb))
        })
    }
}
