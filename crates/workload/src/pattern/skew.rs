//! Skewed popularity as fio draws it: zipf and pareto, scattered over the span by fio's hash.
//!
//! The rank of a block (0 the most popular) is drawn first. Then fio multiplies the rank by a 64-bit golden ratio
//! constant and adds an offset, which is random unless the centre of the distribution is given, both modulo the number
//! of blocks, so that popular blocks are not neighbours. That hash is one to one where the number of blocks is a power of
//! two. Otherwise two ranks may fall on one block, and a share of the blocks is never chosen that hangs on the number: 5 %
//! of 100,000, 12 % of 1,000,000, more than half of 244,140. It is kept, because a job file should load a drive as fio would.
//!
//! Two things are better than in fio and change no shape: the uniform numbers have 53 bits instead of 32, and the
//! normalising sum of zipf is taken over all blocks (fio stops after ten million).

use ssdlab_core::Rng;

/// fio's 64-bit multiplicative hash constant (the golden ratio, as in Linux).
const GOLDEN_RATIO_64: u64 = 0x61C8_8646_80B5_83EB;

/// Terms of the zeta sum that are added one by one; the rest is Euler-Maclaurin, good to 1e-14 from here on.
const EXACT_TERMS: u64 = 4096;

/// Where rank 0 lies, and how the others are scattered.
#[derive(Clone, Copy, Debug)]
struct Scatter {
    blocks: u64,
    offset: u64,
}

impl Scatter {
    fn new(blocks: u64, center: Option<f64>, rng: &mut Rng) -> Self {
        let offset = match center {
            Some(c) => (blocks as f64 * c) as u64,
            None => rng.below(blocks),
        };
        Scatter { blocks, offset }
    }

    #[inline]
    fn place(&self, rank: u64) -> u64 {
        let x = rank.wrapping_mul(GOLDEN_RATIO_64) % self.blocks;
        let sum = u128::from(x) + u128::from(self.offset);
        (sum % u128::from(self.blocks)) as u64
    }
}

/// Sum of `1/k^theta` for `k` in `1..=n`.
fn zeta(n: u64, theta: f64) -> f64 {
    let head = n.min(EXACT_TERMS);
    let mut sum = 0.0;
    // From the small terms up, so that no bits are lost.
    for k in (1..=head).rev() {
        sum += libm::pow(k as f64, -theta);
    }
    if n > head {
        let (a, b) = (head as f64, n as f64);
        let (fa, fb) = (libm::pow(a, -theta), libm::pow(b, -theta));
        let integral = (b * fb - a * fa) / (1.0 - theta);
        sum += integral + (fb - fa) / 2.0 + theta * (fa / a - fb / b) / 12.0;
    }
    sum
}

/// Draws blocks with zipf popularity by the method of Gray et al. (SIGMOD 1994), which fio uses: exact for the two
/// most popular ranks, an approximation by a power law for the others.
#[derive(Clone, Debug)]
pub struct Zipf {
    scatter: Scatter,
    zetan: f64,
    second: f64,
    alpha: f64,
    eta: f64,
    rng: Rng,
}

impl Zipf {
    /// `theta` greater than zero and not 1; `blocks` greater than zero.
    pub(super) fn new(blocks: u64, theta: f64, center: Option<f64>, mut rng: Rng) -> Self {
        let scatter = Scatter::new(blocks, center, &mut rng);
        let n = blocks as f64;
        let zetan = zeta(blocks, theta);
        let second = 1.0 + libm::pow(0.5, theta);
        Zipf {
            scatter,
            zetan,
            second,
            alpha: 1.0 / (1.0 - theta),
            eta: (1.0 - libm::pow(2.0 / n, 1.0 - theta)) / (1.0 - second / zetan),
            rng,
        }
    }

    /// The next rank, 0 the most popular.
    pub fn rank(&mut self) -> u64 {
        let u = self.rng.unit();
        let z = u * self.zetan;
        let rank = if z < 1.0 {
            0
        } else if z < self.second {
            1
        } else {
            (self.scatter.blocks as f64 * libm::pow(self.eta * u - self.eta + 1.0, self.alpha)) as u64
        };
        rank.min(self.scatter.blocks - 1)
    }

    /// The next block.
    pub fn block(&mut self) -> u64 {
        let rank = self.rank();
        self.scatter.place(rank)
    }
}

/// Draws blocks with fio's pareto popularity: rank = blocks × u^(ln h / ln(1−h)). With `h = 0.2`, 80 % of the
/// accesses go to 20 % of the blocks.
#[derive(Clone, Debug)]
pub struct Pareto {
    scatter: Scatter,
    power: f64,
    rng: Rng,
}

impl Pareto {
    /// `h` strictly between 0 and 1; `blocks` greater than zero.
    pub(super) fn new(blocks: u64, h: f64, center: Option<f64>, mut rng: Rng) -> Self {
        let scatter = Scatter::new(blocks, center, &mut rng);
        Pareto { scatter, power: libm::log(h) / libm::log(1.0 - h), rng }
    }

    /// The next rank, 0 the most popular.
    pub fn rank(&mut self) -> u64 {
        let u = self.rng.unit();
        ((self.scatter.blocks - 1) as f64 * libm::pow(u, self.power)) as u64
    }

    /// The next block.
    pub fn block(&mut self) -> u64 {
        let rank = self.rank();
        self.scatter.place(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_zeta_sum_equals_the_long_one() {
        for theta in [0.5, 0.9, 0.99, 1.2, 2.5] {
            let n = 1_000_000;
            let long: f64 = (1..=n).rev().map(|k| libm::pow(k as f64, -theta)).sum();
            assert!((zeta(n, theta) / long - 1.0).abs() < 1e-12, "{theta}");
        }
    }

    #[test]
    fn zipf_ranks_follow_the_formula() {
        for theta in [0.8, 1.2] {
            let n = 100_000;
            let draws = 1_000_000u64;
            let mut z = Zipf::new(n, theta, None, Rng::new(3));
            let mut counts = vec![0u64; n as usize];
            for _ in 0..draws {
                counts[z.rank() as usize] += 1;
            }
            // The first two ranks are exact.
            for rank in 0..2u64 {
                let expected = draws as f64 * libm::pow((rank + 1) as f64, -theta) / zeta(n, theta);
                let got = counts[rank as usize] as f64;
                assert!((got - expected).abs() < 5.0 * libm::sqrt(expected), "rank {rank}: {got}, {expected}");
            }
            for top in [10u64, 100, 1000, 10_000] {
                let got = counts[..top as usize].iter().sum::<u64>() as f64 / draws as f64;
                // What the method promises: the draw below which ranks are smaller than `top`.
                let method = (libm::pow(top as f64 / n as f64, 1.0 / z.alpha) - 1.0) / z.eta + 1.0;
                assert!(
                    (got - method).abs() < 5.0 * libm::sqrt(method / draws as f64),
                    "{theta} {top}: {got}, {method}"
                );
                // What zipf's law says; the method is known to be off by a few per cent.
                let law = zeta(top, theta) / zeta(n, theta);
                assert!((got / law - 1.0).abs() < 0.06, "theta {theta}, top {top}: {got}, {law}");
            }
        }
    }

    #[test]
    fn pareto_of_0_2_sends_80_percent_to_20_percent() {
        let mut p = Pareto::new(100_000, 0.2, None, Rng::new(1));
        let hot = (0..200_000).filter(|_| p.rank() < 20_000).count();
        assert!((hot as f64 / 200_000.0 - 0.8).abs() < 0.005, "{hot}");
    }

    #[test]
    fn scattering_moves_ranks_apart_with_a_centre_too() {
        let mut rng = Rng::new(1);
        let scattered = Scatter::new(1_000_003, None, &mut rng);
        let gap = scattered.place(1).abs_diff(scattered.place(0));
        assert!(gap > 1000, "{gap}");
        // The most popular blocks of fio's zipf:1.2:0.3 over 16 MiB.
        let centred = Scatter::new(4096, Some(0.3), &mut rng);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|rank| centred.place(rank)), [1228, 2231, 3234, 141, 1144, 2147]);
        assert_eq!(Scatter::new(4096, Some(1.0), &mut rng).place(0), 0);
    }

    #[test]
    fn tiny_spans_do_not_fail() {
        for n in 1..5 {
            let mut z = Zipf::new(n, 1.1, None, Rng::new(1));
            let mut p = Pareto::new(n, 0.3, Some(1.0), Rng::new(1));
            for _ in 0..1000 {
                assert!(z.block() < n && p.block() < n);
            }
        }
    }
}
