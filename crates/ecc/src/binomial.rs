//! Binomial tails in logarithms: the chance that more bits are wrong than a decoder can correct.

use std::f64::consts::LN_10;

/// log10 of P(X > t) for X binomial with `n` trials of probability `p`; negative infinity for an impossible event.
///
/// The terms of the smaller side are added up outward from `t`, starting at one computed by log-gamma, so nothing
/// cancels and nothing underflows: the absolute error stays below 1e-8 down to 1e-300 and beyond.
#[must_use]
pub fn log10_tail(n: u32, t: u32, p: f64) -> f64 {
    if t >= n || p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return 0.0;
    }
    let (nf, ratio) = (f64::from(n), p / (1.0 - p));
    if f64::from(t) + 1.0 > nf * p {
        // Above the mean: terms t+1, t+2, … fall.
        let (mut term, mut sum, mut i) = (1.0, 1.0, f64::from(t) + 1.0);
        while i < nf {
            term *= (nf - i) / (i + 1.0) * ratio;
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
            i += 1.0;
        }
        (ln_term(n, t + 1, p) + libm::log(sum)) / LN_10
    } else {
        // Below the mean: terms t, t-1, … fall; the tail is what they leave.
        let (mut term, mut sum, mut i) = (1.0, 1.0, f64::from(t));
        while i > 0.0 {
            term *= i / ((nf - i + 1.0) * ratio);
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
            i -= 1.0;
        }
        let below = libm::exp(ln_term(n, t, p)) * sum;
        libm::log1p(-below.min(1.0)) / LN_10
    }
}

/// Natural logarithm of C(n, i) p^i (1-p)^(n-i).
fn ln_term(n: u32, i: u32, p: f64) -> f64 {
    let (nf, i) = (f64::from(n), f64::from(i));
    libm::lgamma(nf + 1.0) - libm::lgamma(i + 1.0) - libm::lgamma(nf - i + 1.0)
        + i * libm::log(p)
        + (nf - i) * libm::log1p(-p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every term added up directly, where that is exact enough.
    fn direct(n: u32, t: u32, p: f64) -> f64 {
        let mut term = libm::pow(1.0 - p, f64::from(n));
        let mut tail = 0.0;
        for i in 0..=n {
            if i > t {
                tail += term;
            }
            term *= f64::from(n - i) / f64::from(i + 1) * p / (1.0 - p);
        }
        libm::log10(tail)
    }

    #[test]
    fn agrees_with_the_direct_sum_on_both_sides_of_the_mean() {
        for (n, p) in [(40, 0.3), (100, 0.05), (400, 0.01), (63, 0.5)] {
            for t in 0..20 {
                let (ours, sum) = (log10_tail(n, t, p), direct(n, t, p));
                assert!((ours - sum).abs() < 1e-9, "n {n} p {p} t {t}: {ours} and {sum}");
            }
        }
    }

    #[test]
    fn edges_are_certain_or_impossible() {
        assert_eq!(log10_tail(100, 100, 0.5), f64::NEG_INFINITY);
        assert_eq!(log10_tail(100, 3, 0.0), f64::NEG_INFINITY);
        assert_eq!(log10_tail(100, 3, 1.0), 0.0);
        // One trial: P(X > 0) = p.
        assert!((log10_tail(1, 0, 1e-30) + 30.0).abs() < 1e-9);
    }
}
