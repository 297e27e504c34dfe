//! How the times of one specimen's dies, blocks and pages differ from those of the datasheet, and change with wear.
//!
//! Every share is drawn once per specimen: it follows from the seed and the place, not from what has happened. All
//! arithmetic is in whole numbers, of 2^-16.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_core::Rng;

use crate::BlockId;

/// Standard deviations, in per cent of the datasheet's time. Of all pages of a specimen the mean stays the datasheet's.
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
    /// How much faster programs are at the rated cycles; in proportion before.
    #[schemars(range(min = 0.0, max = 50.0))]
    pub program_gain_at_rated_cycles_percent: f64,
    /// How much longer erases take at the rated cycles; in proportion before, and at most four times as much after.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub erase_growth_at_rated_cycles_percent: f64,
}

/// A time's share of the datasheet's, in 2^-16.
pub const WHOLE: u64 = 1 << 16;

/// One specimen's shares.
#[derive(Clone, Debug)]
pub struct Variation {
    seed: u64,
    program: [i64; 3],
    read_pages: i64,
    erase_blocks: i64,
    program_gain: u64,
    erase_growth: u64,
    rated_cycles: u64,
    blocks_per_die: u32,
}

/// The sum of four bytes: its mean, and the standard deviation to which draws are scaled.
const MEAN_OF_BYTES: i64 = 510;
const DEVIATION_OF_BYTES: i64 = 148;

/// No operation is quicker than a tenth of its time, however wide the draws are.
const LEAST: u64 = WHOLE / 10;
/// So much of the rated life counts at most.
const MOST_LIVES: u64 = 4;

impl Variation {
    /// Draws a specimen's shares. `blocks_per_die`: as its blocks are numbered.
    #[must_use]
    pub fn new(spec: &VariationSpec, rated_cycles: u32, blocks_per_die: u32, rng: &Rng) -> Self {
        let share = |percent: f64| (percent * WHOLE as f64 / 100.0).round() as i64;
        Variation {
            seed: rng.stream("variation").next_u64(),
            program: [spec.program_dies_percent, spec.program_blocks_percent, spec.program_pages_percent].map(share),
            read_pages: share(spec.read_pages_percent),
            erase_blocks: share(spec.erase_blocks_percent),
            program_gain: share(spec.program_gain_at_rated_cycles_percent) as u64,
            erase_growth: share(spec.erase_growth_at_rated_cycles_percent) as u64,
            rated_cycles: u64::from(rated_cycles).max(1),
            blocks_per_die,
        }
    }

    /// A draw for a place: about normal, within three and a half standard deviations.
    #[inline]
    fn drawn(&self, what: u64, place: u64, deviation: i64) -> i64 {
        // SplitMix64's mixing.
        let mut z = (self.seed ^ (what << 56)).wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        let bytes = (z as u32).to_le_bytes();
        let sum: i64 = bytes.iter().map(|&byte| i64::from(byte)).sum();
        (sum - MEAN_OF_BYTES) * deviation / DEVIATION_OF_BYTES
    }

    fn page(block: BlockId, page: u32) -> u64 {
        u64::from(block.number()) << 16 | u64::from(page)
    }

    /// tR's share for a page.
    #[must_use]
    pub fn read(&self, block: BlockId, page: u32) -> u64 {
        WHOLE.saturating_add_signed(self.drawn(1, Self::page(block, page), self.read_pages)).max(LEAST)
    }

    /// tPROG's share for a page of a block that has been erased so often.
    #[must_use]
    pub fn program(&self, block: BlockId, page: u32, erases: u32) -> u64 {
        let [dies, blocks, pages] = self.program;
        let of_die = self.drawn(2, (block.number() / self.blocks_per_die).into(), dies);
        let of_block = self.drawn(3, block.number().into(), blocks);
        let of_page = self.drawn(4, Self::page(block, page), pages);
        let lived = u64::from(erases).min(self.rated_cycles);
        let gain = self.program_gain * lived / self.rated_cycles;
        WHOLE.saturating_add_signed(of_die + of_block + of_page).saturating_sub(gain).max(LEAST)
    }

    /// tBERS's share for a block that has been erased so often.
    #[must_use]
    pub fn erase(&self, block: BlockId, erases: u32) -> u64 {
        let lived = u64::from(erases).min(MOST_LIVES * self.rated_cycles);
        let growth = self.erase_growth * lived / self.rated_cycles;
        WHOLE.saturating_add_signed(self.drawn(5, block.number().into(), self.erase_blocks)).max(LEAST) + growth
    }
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
        let variation = Variation::new(&spec, 1000, 64, &Rng::new(1));
        let places = || (0..1024).flat_map(|block| (0..64).map(move |page| (BlockId::new(block), page)));
        let programs: Vec<u64> = places().map(|(block, page)| variation.program(block, page, 1000)).collect();
        let (least, most) = (*programs.iter().min().unwrap(), *programs.iter().max().unwrap());
        assert!(least == LEAST && most < 2 * WHOLE, "{least} to {most}");
        assert!(places().all(|(block, page)| variation.read(block, page) > WHOLE / 2));
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
        let v = Variation::new(&SPEC, 3000, 100, &Rng::new(7));
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
        let v = Variation::new(&SPEC, 3000, 100, &Rng::new(7));
        let share = |erases| v.program(BlockId::new(5), 5, erases) as f64 - v.program(BlockId::new(5), 5, 0) as f64;
        assert!((share(3000) / WHOLE as f64 + 0.1).abs() < 1e-4 && share(6000) == share(3000));
        let grown = |erases| (v.erase(BlockId::new(5), erases) - v.erase(BlockId::new(5), 0)) as f64 / WHOLE as f64;
        assert!(
            (grown(1500) - 1.0).abs() < 1e-4 && (grown(12_000) - 8.0).abs() < 1e-3 && grown(20_000) == grown(12_000)
        );
    }

    #[test]
    fn a_seed_gives_the_same_specimen_and_another_another() {
        let v = |seed| Variation::new(&SPEC, 3000, 100, &Rng::new(seed));
        assert_eq!(
            (0..50).map(|b| v(1).erase(BlockId::new(b), 0)).collect::<Vec<_>>(),
            (0..50).map(|b| v(1).erase(BlockId::new(b), 0)).collect::<Vec<_>>()
        );
        assert!((0..50).any(|block| v(1).erase(BlockId::new(block), 0) != v(2).erase(BlockId::new(block), 0)));
    }
}
