//! Draws of one thing among several.

use ssdlab_core::Rng;

/// One of a list, each with the same chance.
pub(crate) fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

/// A number from `low` to `high`, both included.
pub(crate) fn between(rng: &mut Rng, low: u32, high: u32) -> u32 {
    low + rng.below(u64::from(high - low + 1)) as u32
}
