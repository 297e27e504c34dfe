//! Block sizes: one, a range, or a weighted mix.

use ssdlab_core::{Rng, SECTOR_BYTES};

use super::PatternError;

/// The sizes of the blocks of one operation, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSizes {
    Fixed(u64),
    /// Every multiple of `min` up to `max` equally likely; if `max` is none, it stands for the next one, with what is left of the
    /// chance (fio's `bsrange`).
    Range {
        min: u64,
        max: u64,
    },
    /// Sizes with their weights, usually per cent (fio's `bssplit`).
    Split(Vec<(u64, u32)>),
}

impl BlockSizes {
    /// The smallest size that can occur.
    #[must_use]
    pub fn min_bytes(&self) -> u64 {
        match self {
            BlockSizes::Fixed(n) => *n,
            BlockSizes::Range { min, .. } => *min,
            BlockSizes::Split(v) => v.iter().filter(|s| s.1 > 0).map(|s| s.0).min().unwrap_or(0),
        }
    }

    /// The largest size that can occur.
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        match self {
            BlockSizes::Fixed(n) => *n,
            BlockSizes::Range { max, .. } => *max,
            BlockSizes::Split(v) => v.iter().filter(|s| s.1 > 0).map(|s| s.0).max().unwrap_or(0),
        }
    }

    /// Mean size in bytes.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        match self {
            BlockSizes::Fixed(n) => *n as f64,
            BlockSizes::Range { min, max } => {
                let (whole, rest) = ((max / min) as f64, (max % min) as f64);
                let (min, max) = (*min as f64, *max as f64);
                min * min * whole * (whole + 1.0) / 2.0 / max + rest
            }
            BlockSizes::Split(v) => {
                let weight: f64 = v.iter().map(|s| f64::from(s.1)).sum();
                v.iter().map(|s| s.0 as f64 * f64::from(s.1)).sum::<f64>() / weight
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), PatternError> {
        let whole = |value: u64| {
            if value == 0 || !value.is_multiple_of(SECTOR_BYTES) {
                Err(PatternError::NotSectors { what: "the block size", value })
            } else {
                Ok(())
            }
        };
        match self {
            BlockSizes::Fixed(n) => whole(*n),
            BlockSizes::Range { min, max } => {
                whole(*min)?;
                whole(*max)?;
                if min > max { Err(PatternError::SizesReversed { min: *min, max: *max }) } else { Ok(()) }
            }
            BlockSizes::Split(v) => {
                if v.iter().all(|s| s.1 == 0) {
                    return Err(PatternError::NoSizes);
                }
                v.iter().filter(|s| s.1 > 0).try_for_each(|s| whole(s.0))
            }
        }
    }
}

/// Sizes prepared for drawing, with the number of aligned places at which each fits into the span.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    kind: Kind,
    pub align: u64,
    /// The smallest length.
    pub min_length: u64,
    span: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    Fixed {
        length: u64,
        places: u64,
    },
    Range {
        min: u64,
        max: u64,
    },
    /// Length, cumulative weight, places.
    Split(Vec<(u64, u64, u64)>),
}

impl Draw {
    /// `sizes` must have been checked, and the largest must fit into the span.
    pub fn new(sizes: &BlockSizes, align: u64, span: u64) -> Self {
        let places = |length: u64| (span - length) / align + 1;
        let kind = match sizes {
            BlockSizes::Fixed(length) => Kind::Fixed { length: *length, places: places(*length) },
            BlockSizes::Range { min, max } => Kind::Range { min: *min, max: *max },
            BlockSizes::Split(v) => {
                let mut sum = 0;
                Kind::Split(
                    v.iter()
                        .filter(|s| s.1 > 0)
                        .map(|&(length, weight)| {
                            sum += u64::from(weight);
                            (length, sum, places(length))
                        })
                        .collect(),
                )
            }
        };
        Draw { kind, align, min_length: sizes.min_bytes(), span }
    }

    /// A length of those that are no longer than `most`, which the smallest is not.
    pub fn next_of_at_most(&self, most: u64, rng: &mut Rng) -> u64 {
        match &self.kind {
            Kind::Fixed { length, .. } => *length,
            Kind::Range { min, max } if most >= *max => self.next(rng).0,
            Kind::Range { min, .. } => min * (1 + rng.below(most / min)),
            Kind::Split(v) => {
                let weight = |i: usize| v[i].1 - if i == 0 { 0 } else { v[i - 1].1 };
                let fits = |i: &usize| v[*i].0 <= most;
                let mut at = rng.below((0..v.len()).filter(fits).map(weight).sum());
                for i in (0..v.len()).filter(fits) {
                    if at < weight(i) {
                        return v[i].0;
                    }
                    at -= weight(i);
                }
                self.min_length
            }
        }
    }

    /// A length, and the number of places at which it fits.
    #[inline]
    pub fn next(&self, rng: &mut Rng) -> (u64, u64) {
        match &self.kind {
            Kind::Fixed { length, places } => (*length, *places),
            Kind::Range { min, max } => {
                let length = if max.is_multiple_of(*min) {
                    min * (1 + rng.below(max / min))
                } else {
                    (min * (1 + rng.below(*max) / min)).min(*max)
                };
                (length, (self.span - length) / self.align + 1)
            }
            Kind::Split(v) => {
                let total = v[v.len() - 1].1;
                let at = rng.below(total);
                let mut i = 0;
                while v[i].1 <= at {
                    i += 1;
                }
                (v[i].0, v[i].2)
            }
        }
    }
}
