//! How regular a series of seconds is: whether it repeats itself, and how long it stays on one side of its median.

use super::figures::{chart, mean, series};
use crate::outcome::{Axis, Chart, Mark};

/// Lags looked at. At a lag of one second neighbours resemble each other on any drive with work that takes longer.
const LAGS: std::ops::RangeInclusive<usize> = 2..=60;

/// Autocorrelation and runs of a series.
pub(super) struct Regularity {
    /// Lag and autocorrelation there.
    by_lag: Vec<(usize, f64)>,
    /// Lengths of the stretches on one side of the median.
    runs: Vec<usize>,
}

impl Regularity {
    pub(super) fn of(values: &[f64]) -> Self {
        Regularity { by_lag: autocorrelation(values), runs: runs(values) }
    }

    /// The lag of the largest autocorrelation, and its value; the shorter of two equal lags. `None` of a series that is
    /// too short or does not vary.
    pub(super) fn strongest(&self) -> Option<(usize, f64)> {
        self.by_lag.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best })
    }

    /// `None` if there are no values.
    pub(super) fn run_mean(&self) -> Option<f64> {
        let sum: usize = self.runs.iter().sum();
        (!self.runs.is_empty()).then(|| sum as f64 / self.runs.len() as f64)
    }

    pub(super) fn run_longest(&self) -> usize {
        self.runs.iter().copied().max().unwrap_or(0)
    }

    /// Autocorrelation by lag. `moments`: how many values a second has.
    pub(super) fn chart(&self, name: &str, moments: u64) -> Option<Chart> {
        let points: Vec<[f64; 2]> = self.by_lag.iter().map(|&(lag, r)| [lag as f64 / moments as f64, r]).collect();
        (!points.is_empty()).then(|| {
            chart(
                "iops-autocorrelation",
                "How the last part of the run repeats itself",
                "Autocorrelation of IOPS by lag. Near 1: what happens now happens again after so many seconds. Near 0: it \
                 tells nothing of what comes.",
                Mark::Line,
                Axis::linear("lag", "s"),
                Axis { min: Some(-1.0), max: Some(1.0), ..Axis::linear("autocorrelation", "") },
                vec![series(name, points)],
            )
        })
    }
}

/// At every lag of [`LAGS`] that leaves three quarters of the series to compare: the sum of products of deviations from
/// the mean over the sum of their squares.
fn autocorrelation(values: &[f64]) -> Vec<(usize, f64)> {
    let m = mean(values);
    let deviations: Vec<f64> = values.iter().map(|v| v - m).collect();
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    if squares <= 0.0 || squares.is_nan() {
        return Vec::new();
    }
    let at = |lag: usize| deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b).sum::<f64>() / squares;
    LAGS.filter(|&lag| lag * 4 <= values.len()).map(|lag| (lag, at(lag))).collect()
}

/// Lengths of the stretches that lie on one side of the median; a value equal to it counts as above.
fn runs(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(&median) = sorted.get(values.len() / 2) else { return Vec::new() };
    values.chunk_by(|a, b| (*a >= median) == (*b >= median)).map(<[f64]>::len).collect()
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;

    #[test]
    fn a_metronome_is_found_at_its_period() {
        let metronome: Vec<f64> = (0..600).map(|i| if i % 7 == 0 { 300.0 } else { 5_700.0 }).collect();
        let found = Regularity::of(&metronome);
        let (lag, r) = found.strongest().unwrap();
        // 593 of 600 values have a partner.
        assert!(lag == 7 && (r - 593.0 / 600.0).abs() < 0.01, "{lag} {r}");
        assert_eq!(found.run_longest(), 6);
    }

    #[test]
    fn noise_repeats_nothing() {
        let mut rng = Rng::new(7);
        let noise: Vec<f64> = (0..600).map(|_| rng.unit()).collect();
        let found = Regularity::of(&noise);
        assert!(found.strongest().unwrap().1 < 0.15, "{:?}", found.strongest());
        // Coin tosses: two in a row on average.
        assert!((found.run_mean().unwrap() - 2.0).abs() < 0.3, "{:?}", found.run_mean());
    }

    #[test]
    fn what_does_not_vary_or_is_too_short_has_no_autocorrelation() {
        assert_eq!(Regularity::of(&[5.0; 100]).strongest(), None);
        assert_eq!(Regularity::of(&[5.0; 100]).run_longest(), 100);
        assert_eq!(Regularity::of(&[1.0, 2.0, 3.0]).strongest(), None);
        assert_eq!(Regularity::of(&[]).run_mean(), None);
    }
}
