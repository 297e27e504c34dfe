//! Where a curve changes its level.
//!
//! Optimal partitioning (Jackson et al. 2005): of all ways to cut the values into stretches of a constant level, the
//! one with the least sum of squared deviations plus a penalty a cut. The penalty follows the noise, which is
//! estimated from the differences of neighbours (half of them lie within 0.954 standard deviations), so that a step
//! does not count as noise. Rates are compared as logarithms: from 400 to 200 MB/s is as much of a step as from 50
//! to 25.
//!
//! A curve that is steady at first and swings after that has no one noise, and its swings hide the step. So where no cut
//! is found, the beginning is compared with the rest, each with a deviation of its own (Welch).

/// Noise below this share is not taken for a change, however quiet the rest of the curve is.
const QUIETEST: f64 = 0.03;
/// Penalty of a cut, in units of noise squared times the logarithm of the number of values. 2 would be Schwarz's
/// criterion for independent noise; rates of successive stretches of a drive are not independent.
const PENALTY: f64 = 8.0;
/// Levels closer than this factor are one.
pub const SAME_LEVEL: f64 = 1.15;
/// Means are so many standard errors apart, if the beginning of a curve is another stretch than the rest. Far above what chance
/// gives among a thousand cuts, since successive rates are not independent.
const OTHER_BEGINNING: f64 = 10.0;

/// Cuts `values` (positive) into at most `most` stretches of a constant level, none shorter than `shortest` values.
/// Returns the ends of the stretches; the last is `values.len()`.
///
/// # Panics
/// If there are fewer values than `shortest`, or if `shortest` or `most` is 0.
pub(crate) fn stretches(values: &[f64], shortest: usize, most: usize) -> Vec<usize> {
    assert!(shortest > 0 && most > 0 && values.len() >= shortest, "{} values", values.len());
    let logs: Vec<f64> = values.iter().map(|&v| libm::log(v.max(f64::MIN_POSITIVE))).collect();
    let sums = Sums::new(&logs);
    let noise = noise(&logs).max(QUIETEST);
    let mut penalty = PENALTY * noise * noise * libm::log(logs.len().max(2) as f64);
    loop {
        let ends = merged(&sums, without_slopes(&sums, partition(&sums, shortest, penalty), 2 * shortest));
        if ends.len() == 1 && most > 1 {
            return other_beginning(&sums, 2 * shortest).into_iter().chain(ends).collect();
        }
        if ends.len() <= most {
            return ends;
        }
        penalty *= 2.0;
    }
}

/// Sums from the start, for means and deviations of any stretch.
struct Sums {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Sums {
    fn new(values: &[f64]) -> Self {
        let (mut first, mut second) = (vec![0.0], vec![0.0]);
        // Counted from the first value, so that squares stay small.
        let origin = values[0];
        for (i, v) in values.iter().enumerate() {
            let v = v - origin;
            first.push(first[i] + v);
            second.push(second[i] + v * v);
        }
        Sums { first, second }
    }

    fn len(&self) -> usize {
        self.first.len() - 1
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        (self.first[to] - self.first[from]) / (to - from) as f64
    }

    /// Sum of squared deviations from the mean.
    fn deviation(&self, from: usize, to: usize) -> f64 {
        let sum = self.first[to] - self.first[from];
        (self.second[to] - self.second[from] - sum * sum / (to - from) as f64).max(0.0)
    }
}

/// Standard deviation of one value, from the median difference of neighbours.
fn noise(values: &[f64]) -> f64 {
    let mut steps: Vec<f64> = values.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    if steps.is_empty() {
        return 0.0;
    }
    steps.sort_by(f64::total_cmp);
    steps[steps.len() / 2] / 0.954
}

fn partition(sums: &Sums, shortest: usize, penalty: f64) -> Vec<usize> {
    let n = sums.len();
    let mut best = vec![f64::INFINITY; n + 1];
    let mut from = vec![0; n + 1];
    best[0] = -penalty;
    for to in shortest..=n {
        for cut in (0..=to - shortest).filter(|&cut| cut == 0 || cut >= shortest) {
            let cost = best[cut] + sums.deviation(cut, to) + penalty;
            if cost < best[to] {
                (best[to], from[to]) = (cost, cut);
            }
        }
    }
    let mut ends = vec![n];
    while let Some(&end) = ends.last().filter(|&&end| from[end] > 0) {
        ends.push(from[end]);
    }
    ends.reverse();
    ends
}

/// Where a curve's beginning ends, if its level is another than the rest's; of stretches of `shortest` values at the least.
/// The cut is the likeliest of two levels with a deviation each.
fn other_beginning(sums: &Sums, shortest: usize) -> Option<usize> {
    let n = sums.len();
    let variance =
        |from: usize, to: usize| (sums.deviation(from, to) / (to - from - 1) as f64).max(QUIETEST * QUIETEST);
    let unlikely =
        |cut: usize| cut as f64 * libm::log(variance(0, cut)) + (n - cut) as f64 * libm::log(variance(cut, n));
    let cuts = shortest..(n + 1).saturating_sub(shortest);
    let cut = cuts.min_by(|&a, &b| unlikely(a).total_cmp(&unlikely(b)))?;
    let step = (sums.mean(0, cut) - sums.mean(cut, n)).abs();
    let error = libm::sqrt(variance(0, cut) / cut as f64 + variance(cut, n) / (n - cut) as f64);
    (step > OTHER_BEGINNING * error && step > libm::log(SAME_LEVEL)).then_some(cut)
}

fn level(sums: &Sums, ends: &[usize], i: usize) -> f64 {
    sums.mean(if i == 0 { 0 } else { ends[i - 1] }, ends[i])
}

/// A value that lies across a step belongs to both levels, and pulls a short stretch of its own out of them. Such a
/// stretch (shorter than `short`, its level between those of its neighbours) goes to the neighbour that it resembles.
fn without_slopes(sums: &Sums, mut ends: Vec<usize>, short: usize) -> Vec<usize> {
    let mut i = 1;
    while i + 1 < ends.len() {
        let (before, here, after) = (level(sums, &ends, i - 1), level(sums, &ends, i), level(sums, &ends, i + 1));
        let between = (before.min(after)..=before.max(after)).contains(&here);
        if ends[i] - ends[i - 1] < short && between {
            let joins_before = (here - before).abs() <= (here - after).abs();
            ends.remove(if joins_before { i - 1 } else { i });
        } else {
            i += 1;
        }
    }
    ends
}

/// Joins neighbours of the same level, the most alike first.
fn merged(sums: &Sums, mut ends: Vec<usize>) -> Vec<usize> {
    loop {
        let start = |i: usize, ends: &[usize]| if i == 0 { 0 } else { ends[i - 1] };
        let level = |i: usize| sums.mean(start(i, &ends), ends[i]);
        let closest =
            (0..ends.len() - 1).map(|i| (i, (level(i) - level(i + 1)).abs())).min_by(|a, b| a.1.total_cmp(&b.1));
        match closest {
            Some((i, step)) if step < libm::log(SAME_LEVEL) => {
                ends.remove(i);
            }
            _ => return ends,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    /// Stretches of (values, level) with noise of a relative size.
    fn curve(parts: &[(usize, f64)], noise: f64, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let mut deviation = || noise * ((0..12).map(|_| rng.unit()).sum::<f64>() - 6.0);
        parts
            .iter()
            .flat_map(|&(n, level)| std::iter::repeat_n(level, n))
            .map(|level| level * libm::exp(deviation()))
            .collect()
    }

    #[test]
    fn three_levels_are_found_where_they_are() {
        for noise in [0.0, 0.05, 0.2] {
            for seed in 0..20 {
                let ends = stretches(&curve(&[(450, 400.0), (170, 154.0), (380, 53.0)], noise, seed), 4, 6);
                assert_eq!(ends.len(), 3, "noise {noise}: {ends:?}");
                assert!(ends[0].abs_diff(450) <= 2 && ends[1].abs_diff(620) <= 2, "noise {noise}: {ends:?}");
                assert_eq!(ends[2], 1000);
            }
        }
    }

    #[test]
    fn a_value_across_a_step_is_no_stage() {
        let mut values = curve(&[(100, 655.0), (300, 25.0)], 0.0, 1);
        values[99] = 120.0;
        let ends = stretches(&values, 4, 6);
        assert!(ends.len() == 2 && ends[0].abs_diff(100) <= 1, "{ends:?}");
    }

    #[test]
    fn a_small_cache_at_the_beginning_is_found() {
        let ends = stretches(&curve(&[(6, 400.0), (994, 250.0)], 0.03, 1), 4, 6);
        assert_eq!(ends, [6, 1000]);
    }

    #[test]
    fn noise_alone_is_one_stretch() {
        for noise in [0.0, 0.01, 0.1, 0.5] {
            for seed in 0..20 {
                assert_eq!(stretches(&curve(&[(1000, 300.0)], noise, seed), 4, 6), [1000], "noise {noise}");
            }
        }
    }

    #[test]
    fn a_steady_beginning_is_told_from_swings_that_reach_up_to_it() {
        for seed in 0..20 {
            let mut values = curve(&[(34, 538.0)], 0.01, seed);
            let swings: Vec<(usize, f64)> = (0..960).map(|i| (1, if i % 2 == 0 { 88.0 } else { 538.0 })).collect();
            values.extend(curve(&swings, 0.05, seed));
            let ends = stretches(&values, 4, 6);
            assert!(ends.len() == 2 && ends[0].abs_diff(34) <= 3, "{ends:?}");
        }
    }

    #[test]
    fn steps_of_a_tenth_are_not_stages_and_too_many_are_refused() {
        assert_eq!(stretches(&curve(&[(500, 300.0), (500, 270.0)], 0.0, 1), 4, 6), [1000]);
        let saw: Vec<(usize, f64)> = (0..50).map(|i| (20, if i % 2 == 0 { 300.0 } else { 150.0 })).collect();
        assert!(stretches(&curve(&saw, 0.0, 1), 4, 6).len() <= 6);
    }

    #[test]
    fn few_values_are_enough() {
        assert_eq!(stretches(&[5.0], 1, 6), [1]);
        assert_eq!(stretches(&[5.0, 5.0, 1.0, 1.0], 1, 6), [2, 4]);
    }
}
