//! Random numbers of our own, so that no library update ever moves a result.
//!
//! SplitMix64 (Steele, Lea, Flood 2014) turns a seed and a stream name into state; xoshiro256++ (Blackman, Vigna
//! 2019) produces the numbers; Lemire's multiply-shift (2019) bounds them without bias. The first outputs are
//! pinned in a test.

use serde::{Deserialize, Serialize};

use crate::fnv::Fnv1a;
use crate::time::Nanos;

/// A small, fast, reproducible generator. Not for cryptography.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rng {
    s: [u64; 4],
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Rng {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        Rng { s: std::array::from_fn(|_| splitmix64(&mut state)) }
    }

    /// An independent generator, fixed by this one's present state and a name. Streams keep parts of a simulation
    /// apart: adding a draw in one of them does not move the others.
    #[must_use]
    pub fn stream(&self, name: &str) -> Self {
        let h = Fnv1a::of(name.as_bytes());
        Rng::new(h ^ self.s[0] ^ self.s[1].rotate_left(17) ^ self.s[2].rotate_left(31) ^ self.s[3].rotate_left(47))
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.s;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// Whether this is the state of a generator at all: all zeroes would stay that for ever.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.s != [0; 4]
    }

    /// Uniform in `0..n`, without bias.
    ///
    /// # Panics
    /// If `n` is zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "a bound of zero leaves nothing to choose from");
        let mut m = u128::from(self.next_u64()) * u128::from(n);
        if (m as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (m as u64) < threshold {
                m = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (m >> 64) as u64
    }

    /// Uniform in `0.0..1.0`, 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True in `share` of `of` cases. Integer ratios, so that no platform rounds a chance differently.
    #[inline]
    pub fn chance(&mut self, share: u64, of: u64) -> bool {
        self.below(of) < share
    }

    /// Exponentially distributed with the given mean, by `libm` (the same bits everywhere).
    #[inline]
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        (-libm::log(1.0 - self.unit()) * mean as f64) as Nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_outputs_never_change() {
        let mut r = Rng::new(1);
        let got: Vec<u64> = (0..4).map(|_| r.next_u64()).collect();
        assert_eq!(
            got,
            [
                14_971_601_782_005_023_387,
                13_781_649_495_232_077_965,
                1_847_458_086_238_483_744,
                13_765_271_635_752_736_470
            ]
        );
        let mut s = Rng::new(1).stream("x");
        assert_ne!(s.next_u64(), got[0]);
    }

    #[test]
    fn bounded_numbers_are_uniform() {
        let mut r = Rng::new(7);
        let mut count = [0u32; 10];
        for _ in 0..100_000 {
            count[r.below(10) as usize] += 1;
        }
        // 5 sigma of a binomial with n = 100,000 and p = 0.1 is 474.
        assert!(count.iter().all(|&c| (9_526..10_474).contains(&c)), "{count:?}");
    }
}
