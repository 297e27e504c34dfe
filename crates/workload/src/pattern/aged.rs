//! A fill that leaves a flash drive as a long time of uniform random writes would have left it.
//!
//! A drive that has been filled in sequence takes several drive writes to forget it. This fill takes a short cut
//! that any host can take. It writes every block of the span once, in random order, and between them blocks that it
//! is going to write again later: those copies are stale by the end. The share of copies that stay valid rises from
//! `v` at the beginning to 1 at the end as `v^(1-x)`, x the place in the fill from 0 to 1, which is the distribution
//! that uniform random writes settle into when the emptiest block is always the one collected (and when the oldest
//! is): a block of age x has been thinned out at a constant rate. `v` follows from the size of the fill, since the
//! mean of the shares is span over written bytes.
//!
//! If the fill is as large as the flash that holds data, the collector starts where the fill ends, and finds its
//! victims as thinned out as they will be from then on. Policies that pick their victims otherwise have other
//! distributions, and move on to them from here.

use ssdlab_core::{Op, Rng};

use super::{Command, Permutation, Source};

/// See the module's own page. Its length is that of the fill: it ends by itself.
#[derive(Clone, Debug)]
pub struct AgedFill {
    order: Permutation,
    rng: Rng,
    block_bytes: u64,
    /// Blocks still to be written, stale copies included.
    left: u64,
    /// Share of the copies of this place in the fill that stay valid, and what it grows by from block to block.
    valid: f64,
    growth: f64,
    /// Valid copies due, less those written: never more than a copy or two off.
    due: f64,
}

impl AgedFill {
    /// Fills the first `span_bytes` in blocks of `block_bytes` and writes `total_bytes` in all; less than the span
    /// is no fill and becomes the span. A remainder of the span smaller than a block is left out.
    #[must_use]
    pub fn new(span_bytes: u64, block_bytes: u64, total_bytes: u64, rng: &Rng) -> Self {
        assert!(block_bytes > 0, "blocks of no bytes never fill anything");
        let blocks = span_bytes / block_bytes;
        let total = (total_bytes / block_bytes).max(blocks);
        let valid = first_valid_share(blocks as f64 / total.max(1) as f64);
        let mut rng = rng.stream("aged-fill");
        AgedFill {
            order: Permutation::new(blocks, &mut rng),
            rng,
            block_bytes,
            left: total,
            valid,
            growth: libm::pow(valid, -1.0 / total.max(1) as f64),
            due: 0.0,
        }
    }
}

/// The share `v` of the oldest copies that are valid, if the mean share is `mean`: `(1 - v) / ln(1/v) = mean`.
fn first_valid_share(mean: f64) -> f64 {
    // Below this a drive has ten times the flash it needs, and its oldest copies are all but gone.
    let (mut low, mut high) = (1e-6, 1.0);
    for _ in 0..60 {
        let v = (low + high) / 2.0;
        if (1.0 - v) / -libm::log(v) < mean { low = v } else { high = v }
    }
    high
}

impl Source for AgedFill {
    #[inline]
    fn next(&mut self) -> Option<Command> {
        self.left = self.left.checked_sub(1)?;
        self.due += self.valid;
        self.valid *= self.growth;
        let must = self.left < self.order.left();
        // A threshold drawn each time keeps the count and breaks the beat: stale copies in step with the drive's own
        // turns over its dies would all lie on one of them.
        let block = if must || self.due >= self.rng.unit() {
            self.due -= 1.0;
            self.order.next()?
        } else {
            // The last one may be valid already: then there is nothing left to make stale.
            self.order.later(&mut self.rng)?
        };
        let offset_bytes = block * self.block_bytes;
        Some(Command { op: Op::Write, offset_bytes, length_bytes: self.block_bytes, fua: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each write of the fill: the block, and whether this copy is the one that stays.
    fn copies(blocks: u64, total: u64) -> Vec<(u64, bool)> {
        let mut fill = AgedFill::new(blocks * 4096 + 512, 4096, total * 4096, &Rng::new(3));
        let mut written = Vec::new();
        while let Some(c) = fill.next() {
            assert!(c.op == Op::Write && c.length_bytes == 4096 && c.offset_bytes % 4096 == 0);
            written.push(c.offset_bytes / 4096);
        }
        let mut last = vec![usize::MAX; blocks as usize];
        written.iter().enumerate().for_each(|(i, &b)| last[b as usize] = i);
        assert!(last.iter().all(|&l| l != usize::MAX), "every block is written");
        written.iter().enumerate().map(|(i, &b)| (b, last[b as usize] == i)).collect()
    }

    #[test]
    fn every_block_is_written_and_the_length_is_as_asked() {
        for (blocks, total) in [(1, 1), (1, 5), (7, 7), (1000, 1070), (1000, 2000), (1000, 10), (4096, 30_000)] {
            let written = copies(blocks, total).len() as u64;
            // It may end early by what rounding leaves at the end.
            assert!(
                written <= total.max(blocks) && written + 4 >= total.max(blocks).min(blocks * 3),
                "{written} {total}"
            );
        }
    }

    #[test]
    fn valid_shares_follow_the_steady_state_at_every_age() {
        let (blocks, total) = (100_000, 125_000);
        let copies = copies(blocks, total);
        let v = first_valid_share(0.8);
        // Write amplification 1/(1-v) of the closed form at 25 % spare (Desnoyers; 2.6927).
        assert!((1.0 / (1.0 - v) - 2.6927).abs() < 1e-3, "{v}");
        for (i, part) in copies.chunks(total as usize / 25).enumerate() {
            let valid = part.iter().filter(|c| c.1).count() as f64 / part.len() as f64;
            let expected = libm::pow(v, 1.0 - (i as f64 + 0.5) / 25.0);
            assert!((valid / expected - 1.0).abs() < 0.002, "part {i}: {valid} instead of {expected}");
        }
    }

    #[test]
    fn stale_copies_are_spread_over_the_whole_span() {
        let mut bins = [0f64; 16];
        let copies = copies(1 << 16, 2 << 16);
        let stale: Vec<u64> = copies.iter().filter(|c| !c.1).map(|c| c.0).collect();
        stale.iter().for_each(|b| bins[(b >> 12) as usize] += 1.0);
        let expected = stale.len() as f64 / 16.0;
        let chi2: f64 = bins.iter().map(|b| (b - expected) * (b - expected) / expected).sum();
        // Independent of the order's own unevenness: 15 degrees of freedom, 1 in 10^6 exceeds 57.
        assert!(chi2 < 57.0, "{chi2}");
    }
}
