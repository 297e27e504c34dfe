//! Compression in the write path: data that can be compressed take less flash.
//!
//! The map stays as it is: one entry for each logical unit of 4 KiB. What changes is the unit of *flash*, which is as
//! small as the least that a compressed logical unit can take (`max_ratio` of them make 4 KiB): valid bits, counts,
//! room, the write buffer and the collector's are all reckoned in it. A logical unit lives in an *extent* of
//! neighbouring units of one row, and its address is that of the first, whose spare area has its tag; those of the
//! others are empty. So the books of a drive that compresses are those of any other, and a block's valid units are its
//! valid bytes.
//!
//! Extents are of a power of two of units (all of 4 KiB, a half, a quarter …), so that rows can always be filled to the
//! last unit: see [`Pack`]. Data whose mean lies in between are dealt out to the two sizes beside it, at random, so that
//! the mean is met; real data differ from one piece to the next as well. A few small pieces may stay in the buffer while
//! larger ones that came later leave it.
//!
//! Not modelled: duplicates that are found and not written again, the time that compression takes, and the parity that
//! such controllers keep across dies.

mod extents;
mod pack;
mod spec;

use serde::{Deserialize, Serialize};
use ssdlab_core::Rng;
use ssdlab_nand::UnitAddress;

pub use extents::Extents;
pub use pack::{MOST, Pack};
pub use spec::CompressionSpec;

/// What a drive that compresses knows beyond others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Compression {
    extents: Extents,
    /// Units of flash in 4 KiB.
    ratio: u32,
    /// What data take that are written now, in thousandths of a unit of flash; never less than one unit.
    mean_milliunits: u32,
    rng: Rng,
}

impl Compression {
    #[must_use]
    pub fn new(ratio: u32, units: usize, row_units: u32, rng: &Rng) -> Self {
        let extents = Extents::new(units, row_units);
        Compression { extents, ratio, mean_milliunits: ratio * 1000, rng: rng.stream("compression") }
    }

    /// Which units of flash belong together.
    #[inline]
    #[must_use]
    pub fn extents(&self) -> &Extents {
        &self.extents
    }

    /// Whether this compresses to as little as one in `ratio`, and can go on.
    #[must_use]
    pub fn is_sound(&self, ratio: u32) -> bool {
        self.ratio == ratio && (1000..=1000 * ratio).contains(&self.mean_milliunits) && self.rng.is_sound()
    }

    /// Whether what begins at a unit is an extent of a size that there is.
    #[must_use]
    pub fn holds_at(&self, unit: UnitAddress, ratio: u32) -> bool {
        let units = self.extents.len(unit);
        self.extents.span(unit) & 1 == 1 && units.is_power_of_two() && units <= ratio
    }

    /// Sets where extents begin in a row, one bit a unit.
    #[inline]
    pub fn set_row(&mut self, start: UnitAddress, begins: u64) {
        self.extents.set_row(start, begins);
    }

    /// From now on data shrink by so many thousandths.
    pub fn set_compressibility(&mut self, per_1000: u32) {
        self.mean_milliunits = ((1000 - per_1000.min(1000)) * self.ratio).max(1000);
    }

    /// Units of flash that the next logical unit takes.
    #[inline]
    pub fn draw(&mut self) -> u8 {
        // Between a power of two and the next.
        let low = 1 << (self.mean_milliunits / 1000).ilog2();
        let beyond = u64::from(self.mean_milliunits - low * 1000);
        let twice = beyond > 0 && self.rng.chance(beyond, u64::from(low) * 1000);
        (low << u32::from(twice)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(per_1000: u32) -> f64 {
        let mut c = Compression::new(8, 64, 64, &Rng::new(1));
        c.set_compressibility(per_1000);
        (0..100_000).map(|_| f64::from(c.draw())).sum::<f64>() / 100_000.0 / 8.0
    }

    #[test]
    fn the_mean_share_is_what_was_asked_for_down_to_the_least() {
        for (per_1000, share) in [(0, 1.0), (500, 0.5), (750, 0.25), (875, 0.125), (990, 0.125), (1000, 0.125)] {
            assert_eq!(mean(per_1000), share, "{per_1000}");
        }
        for per_1000 in [100, 300, 460, 700, 860] {
            let share = 1.0 - f64::from(per_1000) / 1000.0;
            assert!((mean(per_1000) - share).abs() < 0.003, "{per_1000}: {}", mean(per_1000));
        }
    }
}
