//! How the times of one specimen's dies, blocks and pages differ from those of the datasheet, and change with wear.
//!
//! Every share is drawn once per specimen: it follows from the seed and the place, not from what has happened. All
//! arithmetic is in whole numbers, of 2^-16.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_core::Rng;

use crate::BlockId;

/// Standard deviations, in per cent of the datasheet's time. The mean of many specimens is the datasheet's; that of one differs
/// from it by what is drawn for its dies and blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Variation"))]
pub struct VariationSpec {
    /// Of tPROG between dies.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub program_dies_percent: f64,
    /// Of tPROG between blocks of a die.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub program_blocks_percent: f64,
    /// Of tPROG between pages of one kind in a block.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub program_pages_percent: f64,
    /// Of tR between pages of one kind.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub read_pages_percent: f64,
    /// Of tBERS between blocks.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub erase_blocks_percent: f64,
    /// How much faster programs are once the rated life is used up; in proportion before.
    #[schemars(range(min = 0.0, max = 50.0))]
    pub program_gain_at_rated_cycles_percent: f64,
    /// How much longer erases take once the rated life is used up; in proportion before, and at most four times as much after.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub erase_growth_at_rated_cycles_percent: f64,
}

impl VariationSpec {
    /// How long programs, reads and erases take at the most, as shares of the datasheet's times: in the slowest place there can
    /// be, on blocks that have used up so much of their rated life.
    #[must_use]
    pub fn slowest(&self, lives: f64) -> Slowest {
        let widest = |percent: f64| 1.0 + percent / 100.0 * MEAN_OF_BYTES as f64 / DEVIATION_OF_BYTES as f64;
        Slowest {
            program: widest(self.program_dies_percent + self.program_blocks_percent + self.program_pages_percent),
            read: widest(self.read_pages_percent),
            erase: widest(self.erase_blocks_percent)
                + lives.min(MOST_LIVES as f64) * self.erase_growth_at_rated_cycles_percent / 100.0,
        }
    }
}

/// See [`VariationSpec::slowest`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowest {
    pub program: f64,
    pub read: f64,
    pub erase: f64,
}

impl Default for Slowest {
    /// Every place takes the datasheet's times.
    fn default() -> Self {
        Slowest { program: 1.0, read: 1.0, erase: 1.0 }
    }
}

/// A time's share of the datasheet's, in 2^-16.
pub const WHOLE: u64 = 1 << 16;

/// One specimen's shares.
#[derive(Clone, Debug)]
pub struct Variation {
    seed: u64,
    /// Of tPROG by block, those of its die included.
    program_blocks: Arc<[i32]>,
    program_pages: i64,
    read_pages: i64,
    erase_blocks: i64,
    program_gain: u64,
    erase_growth: u64,
}

/// The sum of four bytes: its mean, and the standard deviation to which draws are scaled.
const MEAN_OF_BYTES: i64 = 510;
const DEVIATION_OF_BYTES: i64 = 148;

/// No operation is quicker than a tenth of its time, however wide the draws are.
const LEAST: u64 = WHOLE / 10;
/// A rated life, as [`crate::BlockHistory::wear_ppb`] counts it.
const LIFE_PPB: u64 = 1_000_000_000;
/// So many of them count at most.
const MOST_LIVES: u64 = 4;

impl Variation {
    /// Draws a specimen's shares. Its blocks are numbered die by die.
    #[must_use]
    pub fn new(spec: &VariationSpec, dies: u32, blocks_per_die: u32, rng: &Rng) -> Self {
        let share = |percent: f64| (percent * WHOLE as f64 / 100.0).round() as i64;
        let seed = rng.stream("variation").next_u64();
        let [of_die, of_block] = [spec.program_dies_percent, spec.program_blocks_percent].map(share);
        let program_block = |block: u32| {
            (drawn(seed, 2, (block / blocks_per_die).into(), of_die) + drawn(seed, 3, block.into(), of_block)) as i32
        };
        Variation {
            seed,
            program_blocks: (0..dies * blocks_per_die).map(program_block).collect(),
            program_pages: share(spec.program_pages_percent),
            read_pages: share(spec.read_pages_percent),
            erase_blocks: share(spec.erase_blocks_percent),
            program_gain: share(spec.program_gain_at_rated_cycles_percent) as u64,
            erase_growth: share(spec.erase_growth_at_rated_cycles_percent) as u64,
        }
    }

    fn page(block: BlockId, page: u32) -> u64 {
        u64::from(block.number()) << 16 | u64::from(page)
    }

    /// tR's share for a page.
    #[must_use]
    pub fn read(&self, block: BlockId, page: u32) -> u64 {
        WHOLE.saturating_add_signed(drawn(self.seed, 1, Self::page(block, page), self.read_pages)).max(LEAST)
    }

    /// tPROG's share for a page of a block that has used up so much of its life.
    #[must_use]
    pub fn program(&self, block: BlockId, page: u32, wear_ppb: u64) -> u64 {
        let of_block = i64::from(self.program_blocks[block.index()]);
        let of_page = drawn(self.seed, 4, Self::page(block, page), self.program_pages);
        let gain = self.program_gain * wear_ppb.min(LIFE_PPB) / LIFE_PPB;
        WHOLE.saturating_add_signed(of_block + of_page).saturating_sub(gain).max(LEAST)
    }

    /// tBERS's share for a block that has used up so much of its life.
    #[must_use]
    pub fn erase(&self, block: BlockId, wear_ppb: u64) -> u64 {
        let growth = self.erase_growth * wear_ppb.min(MOST_LIVES * LIFE_PPB) / LIFE_PPB;
        let of_block = drawn(self.seed, 5, block.number().into(), self.erase_blocks);
        WHOLE.saturating_add_signed(of_block).max(LEAST) + growth
    }
}

/// A draw for a place: about normal, within three and a half standard deviations.
#[inline]
fn drawn(seed: u64, what: u64, place: u64, deviation: i64) -> i64 {
    // SplitMix64's mixing.
    let mut z = (seed ^ (what << 56)).wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    // The sum of its four last bytes: pairs of them side by side, and then both pairs.
    let pairs = (z & 0x00FF_00FF) + ((z >> 8) & 0x00FF_00FF);
    let sum = ((pairs & 0xFFFF) + (pairs >> 16)).cast_signed();
    (sum - MEAN_OF_BYTES) * deviation / DEVIATION_OF_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_draws_leave_every_operation_some_time() {
        let spec = VariationSpec {
            program_dies_percent: 10.0,
            program_blocks_percent: 10.0,
            program_pages_percent: 10.0,
            read_pages_percent: 10.0,
            erase_blocks_percent: 10.0,
            program_gain_at_rated_cycles_percent: 50.0,
            erase_growth_at_rated_cycles_percent: 0.0,
        };
        let variation = Variation::new(&spec, 16, 64, &Rng::new(1));
        let places = || (0..1024).flat_map(|block| (0..64).map(move |page| (BlockId::new(block), page)));
        let programs: Vec<u64> = places().map(|(block, page)| variation.program(block, page, LIFE_PPB)).collect();
        let (least, most) = (*programs.iter().min().unwrap(), *programs.iter().max().unwrap());
        assert!(least == LEAST && most < 2 * WHOLE, "{least} to {most}");
        assert!(places().all(|(block, page)| variation.read(block, page) > WHOLE / 2));
    }

    #[test]
    fn nothing_is_slower_than_the_slowest() {
        let v = Variation::new(&SPEC, 64, 64, &Rng::new(1));
        let slowest = SPEC.slowest(1.0);
        let blocks = || (0..4096).map(BlockId::new);
        let most = |shares: &mut dyn Iterator<Item = u64>| shares.max().unwrap() as f64 / WHOLE as f64;
        let pages = || blocks().flat_map(|block| (0..64).map(move |page| (block, page)));
        for (most, bound) in [
            (most(&mut pages().map(|(block, page)| v.program(block, page, 0))), slowest.program),
            (most(&mut pages().map(|(block, page)| v.read(block, page))), slowest.read),
            (most(&mut blocks().map(|block| v.erase(block, LIFE_PPB))), slowest.erase),
            (most(&mut blocks().map(|block| v.erase(block, 9 * LIFE_PPB))), SPEC.slowest(9.0).erase),
        ] {
            assert!(most <= bound && most - 1.0 > 0.7 * (bound - 1.0), "{most} of at most {bound}");
        }
    }

    const SPEC: VariationSpec = VariationSpec {
        program_dies_percent: 2.0,
        program_blocks_percent: 1.0,
        program_pages_percent: 3.0,
        read_pages_percent: 5.0,
        erase_blocks_percent: 8.0,
        program_gain_at_rated_cycles_percent: 10.0,
        erase_growth_at_rated_cycles_percent: 200.0,
    };

    fn mean_and_deviation(values: impl Iterator<Item = u64>) -> (f64, f64) {
        let values: Vec<f64> = values.map(|v| v as f64 / WHOLE as f64).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn shares_have_the_deviations_of_the_file_and_keep_the_mean() {
        let v = Variation::new(&SPEC, 500, 100, &Rng::new(7));
        let (mean, deviation) = mean_and_deviation((0..40_000).map(|k| v.read(BlockId::new(k / 256), k % 256)));
        assert!((mean - 1.0).abs() < 0.001 && (deviation - 0.05).abs() < 0.001, "{mean} {deviation}");
        // Blocks and pages of many dies: the squares add up.
        let (mean, deviation) = mean_and_deviation((0..400_000).map(|k| v.program(BlockId::new(k / 8), k % 8, 0)));
        let expected = f64::sqrt(0.0004 + 0.0001 + 0.0009);
        assert!((mean - 1.0).abs() < 0.002 && (deviation - expected).abs() < 0.001, "{mean} {deviation}");
        let (mean, deviation) = mean_and_deviation((0..20_000).map(|block| v.erase(BlockId::new(block), 0)));
        assert!((mean - 1.0).abs() < 0.003 && (deviation - 0.08).abs() < 0.002, "{mean} {deviation}");
    }

    #[test]
    fn wear_shortens_programs_and_lengthens_erases() {
        let v = Variation::new(&SPEC, 1, 100, &Rng::new(7));
        let life = |lives: f64| (lives * LIFE_PPB as f64) as u64;
        let block = BlockId::new(5);
        let share = |lives| v.program(block, 5, life(lives)) as f64 - v.program(block, 5, 0) as f64;
        assert!((share(1.0) / WHOLE as f64 + 0.1).abs() < 1e-4 && share(2.0) == share(1.0));
        let grown = |lives| (v.erase(block, life(lives)) - v.erase(block, 0)) as f64 / WHOLE as f64;
        assert!((grown(0.5) - 1.0).abs() < 1e-4 && (grown(4.0) - 8.0).abs() < 1e-3 && grown(7.0) == grown(4.0));
    }

    #[test]
    fn a_seed_gives_the_same_specimen_and_another_another() {
        let v = |seed| Variation::new(&SPEC, 1, 100, &Rng::new(seed));
        assert_eq!(
            (0..50).map(|b| v(1).erase(BlockId::new(b), 0)).collect::<Vec<_>>(),
            (0..50).map(|b| v(1).erase(BlockId::new(b), 0)).collect::<Vec<_>>()
        );
        assert!((0..50).any(|block| v(1).erase(BlockId::new(block), 0) != v(2).erase(BlockId::new(block), 0)));
    }
}
