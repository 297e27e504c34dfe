//! Whole numbers in given proportions with a given sum, and roots of monotone functions.

/// Divides `total` in proportion to `weights` by the method of largest remainders. No part is off by one or more.
pub(super) fn apportion(weights: &[f64], total: u64) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    debug_assert!(sum > 0.0, "nothing to divide by");
    let exact: Vec<f64> = weights.iter().map(|w| w / sum * total as f64).collect();
    let mut parts: Vec<u64> = exact.iter().map(|&x| libm::floor(x) as u64).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let remainder = |i: usize| exact[i] - libm::floor(exact[i]);
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)).then(a.cmp(&b)));
    let left = total.saturating_sub(parts.iter().sum());
    for &i in order.iter().filter(|&&i| exact[i] > 0.0).take(left as usize) {
        parts[i] += 1;
    }
    parts
}

/// Where the rising function `f` reaches `want`, between `low` and `high`.
pub(super) fn solve(mut low: f64, mut high: f64, want: f64, f: impl Fn(f64) -> f64) -> f64 {
    // 200 halvings end at neighbouring numbers.
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if f(middle) < want { low = middle } else { high = middle }
    }
    low + (high - low) / 2.0
}

/// 1 / (1 + e^-x).
pub(super) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_sum_to_the_total_and_are_off_by_less_than_one() {
        for total in [0, 1, 7, 100, 832_339] {
            let weights = [0.0, 73.4, 16.8, 0.2, 9.6];
            let parts = apportion(&weights, total);
            assert_eq!(parts.iter().sum::<u64>(), total);
            assert_eq!(parts[0], 0);
            for (&part, w) in parts.iter().zip(weights) {
                assert!((part as f64 - w / 100.0 * total as f64).abs() < 1.0, "{parts:?}");
            }
        }
    }

    #[test]
    fn a_root_is_found() {
        assert!((solve(-50.0, 50.0, 8.0, |x| x * x * x) - 2.0).abs() < 1e-12);
    }
}
