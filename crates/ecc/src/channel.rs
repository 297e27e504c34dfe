//! What a read of a worn cell tells: the Gaussian-threshold channel.
//!
//! Around one read reference, cells of either bit value have threshold voltages spread normally (distance one,
//! deviation sigma). One read compares them with the middle: a binary symmetric channel whose crossover probability
//! is the raw bit error rate. Three or seven reads at evenly spaced references sort the cells into four or eight
//! bins, each with its log-likelihood ratio; the spacing is the one that carries the most information. The model is
//! the usual one of soft NAND decoding (Wang, Courtade, Shankar, Wesel, GLOBECOM 2011).

use std::f64::consts::{LN_2, SQRT_2};

use serde::{Deserialize, Serialize};

use crate::solve;

/// How many times the word line is sensed before the decoder starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sensing {
    /// One read: bits without reliability.
    Hard,
    /// Three reads: two bits a cell.
    #[serde(rename = "soft-3")]
    Soft3,
    /// Seven reads: three bits a cell.
    #[serde(rename = "soft-7")]
    Soft7,
}

impl Sensing {
    pub const ALL: [Sensing; 3] = [Sensing::Hard, Sensing::Soft3, Sensing::Soft7];

    /// Reads of the array, the first included.
    #[must_use]
    pub fn reads(self) -> u32 {
        match self {
            Sensing::Hard => 1,
            Sensing::Soft3 => 3,
            Sensing::Soft7 => 7,
        }
    }

    /// Bits sent over the bus for each cell: page transfers, the first included.
    #[must_use]
    pub fn transfers(self) -> u32 {
        match self {
            Sensing::Hard => 1,
            Sensing::Soft3 => 2,
            Sensing::Soft7 => 3,
        }
    }
}

/// P(N(0,1) > x).
#[must_use]
pub fn gaussian_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / SQRT_2)
}

/// The argument at which the Gaussian tail is `p`, 0 < p < 1/2.
#[must_use]
pub fn gaussian_tail_inverse(p: f64) -> f64 {
    solve::rising(1e-9, 40.0, |x| p - gaussian_tail(x))
}

/// The channel seen by a decoder: probability of each bin given the bit stored, the most wrong bin first. Given the
/// other bit, the probabilities are the same in reverse.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    probability: Vec<f64>,
}

impl Channel {
    /// # Panics
    /// If `rber` is not strictly between 0 and 1/2.
    #[must_use]
    pub fn new(rber: f64, sensing: Sensing) -> Self {
        assert!(rber > 0.0 && rber < 0.5, "a raw bit error rate of {rber} leaves nothing to decode");
        let inverse_sigma = gaussian_tail_inverse(rber);
        let side = (sensing.reads() - 1) / 2;
        if side == 0 {
            return Channel { probability: vec![rber, 1.0 - rber] };
        }
        let information = |spacing: f64| Self::spaced(inverse_sigma, side, spacing).information();
        let spacing = solve::peak(0.0, 2.0, information);
        Self::spaced(inverse_sigma, side, spacing)
    }

    fn spaced(inverse_sigma: f64, side: u32, spacing: f64) -> Self {
        let side = f64::from(side);
        // The bit stored puts the cell at +1; a reference at v has the cell below it with this probability.
        let below = |v: f64| gaussian_tail((1.0 - v) * inverse_sigma);
        let references = (0..=2 * side as u32).map(|i| (f64::from(i) - side) * spacing);
        let mut probability = Vec::with_capacity(2 * side as usize + 2);
        let mut before = 0.0;
        for v in references {
            let now = below(v);
            probability.push(now - before);
            before = now;
        }
        probability.push(1.0 - before);
        Channel { probability }
    }

    /// Probability of each bin given the stored bit, the most wrong bin first.
    #[must_use]
    pub fn probabilities(&self) -> &[f64] {
        &self.probability
    }

    /// Log-likelihood ratio of each bin in favour of the stored bit, in nats.
    #[must_use]
    pub fn llrs(&self) -> Vec<f64> {
        let p = &self.probability;
        p.iter().zip(p.iter().rev()).map(|(right, wrong)| libm::log(right / wrong)).collect()
    }

    /// Mutual information between the stored bit and the bin, in bits.
    #[must_use]
    pub fn information(&self) -> f64 {
        let p = &self.probability;
        let term = |a: f64, b: f64| if a > 0.0 { a * libm::log(2.0 * a / (a + b)) / LN_2 } else { 0.0 };
        p.iter().zip(p.iter().rev()).map(|(&a, &b)| term(a, b)).sum()
    }
}

/// The raw bit error rate at which the channel's information equals the code rate: no decoder of a long code works
/// above it.
#[must_use]
pub fn capacity_limit(rate: f64, sensing: Sensing) -> f64 {
    solve::rising(1e-6, 0.4, |p| rate - Channel::new(p, sensing).information())
}

/// Failure rate below which no code of `n` bits and this rate can come on a hard-decision channel, in the normal
/// approximation of Polyanskiy, Poor and Verdu (2010): the raw bit error rate at which it is `failure`.
#[must_use]
pub fn finite_length_limit(n: u32, rate: f64, failure: f64) -> f64 {
    let n = f64::from(n);
    let quantile = gaussian_tail_inverse(failure);
    solve::rising(1e-6, 0.4, |p| {
        let (lp, lq) = (libm::log2(p), libm::log2(1.0 - p));
        let capacity = 1.0 + p * lp + (1.0 - p) * lq;
        let dispersion = p * (1.0 - p) * (lq - lp) * (lq - lp);
        rate - (capacity - libm::sqrt(dispersion / n) * quantile + libm::log2(n) / (2.0 * n))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_read_is_a_binary_symmetric_channel() {
        let c = Channel::new(0.01, Sensing::Hard);
        assert_eq!(c.probabilities(), &[0.01, 0.99]);
        assert!((c.llrs()[1] - libm::log(99.0)).abs() < 1e-12);
        // 1 - H(0.01)
        assert!((c.information() - 0.919_206_864).abs() < 1e-9);
    }

    #[test]
    fn soft_bins_keep_the_hard_error_rate_and_add_information() {
        let mut before = 0.0;
        for sensing in Sensing::ALL {
            let c = Channel::new(0.02, sensing);
            let half = c.probabilities().len() / 2;
            let wrong: f64 = c.probabilities()[..half].iter().sum();
            assert!((wrong - 0.02).abs() < 1e-12, "{sensing:?}: {wrong}");
            assert!((c.probabilities().iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(c.information() > before + 0.001);
            before = c.information();
        }
    }

    #[test]
    fn gaussian_tail_inverts() {
        for p in [1e-12, 1e-5, 0.01, 0.3] {
            assert!((gaussian_tail(gaussian_tail_inverse(p)) / p - 1.0).abs() < 1e-9);
        }
    }
}
