//! How regular a series of seconds is: whether it repeats itself, and how long it stays on one side of its median.

use std::ops::RangeInclusive;

use super::figures::{chart, mean, series};
use crate::outcome::{Axis, Chart, Mark};

/// Lags looked at, in values: seconds, or moments of a drive in small. At a lag of one neighbours resemble each other on any drive with work that takes longer.
const LAGS: RangeInclusive<usize> = 2..=60;

/// By how many standard errors of noise, `1 / sqrt(n)`, an autocorrelation must rise above those of the lags before it: twice
/// that is exceeded by chance at one lag in forty, and there are sixty.
const STANDS_OUT: f64 = 4.0;

/// The id of the chart of autocorrelation by lag.
pub(super) const PERIODS_CHART: &str = "iops-autocorrelation";

/// Autocorrelation and runs of a series.
pub(super) struct Regularity {
    /// How many values it has.
    values: usize,
    /// Autocorrelation at a lag of one, of which no figure is made: a peak at two is one above it.
    of_neighbours: Option<f64>,
    /// Lag and autocorrelation there.
    by_lag: Vec<(usize, f64)>,
    /// Lengths of the stretches on one side of the median.
    runs: Vec<usize>,
}

impl Regularity {
    pub(super) fn of(values: &[f64]) -> Self {
        Regularity {
            values: values.len(),
            of_neighbours: autocorrelation(values, 1..=1).first().map(|&(_, r)| r),
            by_lag: autocorrelation(values, LAGS),
            runs: runs(values),
        }
    }

    /// The lag of the largest autocorrelation, and its value; the shorter of two equal lags. `None` of a series that is
    /// too short or does not vary.
    pub(super) fn strongest(&self) -> Option<(usize, f64)> {
        self.by_lag.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best })
    }

    /// What an autocorrelation must rise by, or exceed, to be none of noise.
    fn noise(&self) -> f64 {
        STANDS_OUT / libm::sqrt(self.values.max(1) as f64)
    }

    /// The lag after which the series repeats itself, and the autocorrelation there: the highest peak that follows a trough. A
    /// series that merely drifts is most like itself at the shortest lag, and less and less from there on.
    pub(super) fn period(&self) -> Option<(usize, f64)> {
        let (mut lowest, mut found) = (f64::INFINITY, None);
        let at_one = self.of_neighbours.map(|r| (1, r));
        let from_one: Vec<(usize, f64)> = at_one.into_iter().chain(self.by_lag.iter().copied()).collect();
        for w in from_one.windows(3) {
            let (before, (lag, r), after) = (w[0].1, w[1], w[2].1);
            lowest = lowest.min(before);
            let is_peak = before < r && r >= after && r > self.noise() && r - lowest > self.noise();
            if is_peak && found.is_none_or(|(_, best)| r > best) {
                found = Some((lag, r));
            }
        }
        found
    }

    /// Whether neighbours resemble each other although nothing comes again.
    fn drifts(&self) -> bool {
        self.period().is_none() && self.by_lag.first().is_some_and(|&(_, r)| r > self.noise())
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
        let found = match self.period() {
            Some((lag, r)) => {
                format!("The rate repeats itself after {} s: {r:.2} there.", lag as f64 / moments as f64)
            }
            None if self.drifts() => "The rate drifts, and repeats nothing: no lag stands out.".to_owned(),
            None => "The rate repeats nothing: no lag stands out.".to_owned(),
        };
        (!points.is_empty()).then(|| {
            chart(
                PERIODS_CHART,
                "How the last part of the run resembles itself",
                &format!("Autocorrelation of IOPS by lag, 1 for what comes again exactly, 0 for noise. {found}"),
                Mark::Line,
                Axis::linear("lag", "s"),
                Axis { min: Some(-1.0), max: Some(1.0), ..Axis::linear("autocorrelation", "") },
                vec![series(name, points)],
            )
        })
    }
}

/// At every one of `lags` that leaves three quarters of the series to compare: the sum of products of deviations from
/// the mean over the sum of their squares.
fn autocorrelation(values: &[f64], lags: RangeInclusive<usize>) -> Vec<(usize, f64)> {
    let m = mean(values);
    let deviations: Vec<f64> = values.iter().map(|v| v - m).collect();
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    if squares <= 0.0 || squares.is_nan() {
        return Vec::new();
    }
    let at = |lag: usize| deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b).sum::<f64>() / squares;
    lags.filter(|&lag| lag * 4 <= values.len()).map(|lag| (lag, at(lag))).collect()
}

/// Lengths of the stretches that lie on one side of the median; a value equal to it counts as above, or, where no value is below
/// it, as below: those of a drive that does nothing in most seconds.
fn runs(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(&median) = sorted.get(values.len() / 2) else { return Vec::new() };
    let above = |v: f64| if median > sorted[0] { v >= median } else { v > median };
    values.chunk_by(|a, b| above(*a) == above(*b)).map(<[f64]>::len).collect()
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
        assert_eq!(found.period(), Some((lag, r)));
        let chart = found.chart("", 1).unwrap();
        assert!(chart.caption.ends_with("repeats itself after 7 s: 0.99 there."), "{}", chart.caption);
        // On a slope as well, and with two values to a period.
        let on_a_slope: Vec<f64> = metronome.iter().enumerate().map(|(i, v)| v + 4.0 * i as f64).collect();
        assert_eq!(Regularity::of(&on_a_slope).period().map(|p| p.0), Some(7));
        let every = |n: usize| (0..600).map(|i| if i % n == 0 { 300.0 } else { 5_700.0 }).collect::<Vec<f64>>();
        for n in [2, 3] {
            let found = Regularity::of(&every(n));
            assert_eq!((found.period().map(|p| p.0), found.strongest().map(|p| p.0)), (Some(n), Some(n)));
            assert!(found.chart("", 1).unwrap().series[0].points[0][0] == 2.0, "no figure is made of neighbours");
        }
    }

    #[test]
    fn a_slow_drift_is_no_metronome() {
        let mut rng = Rng::new(7);
        let drift: Vec<f64> = (0..600).map(|i| 5_000.0 + 3.0 * f64::from(i) + 300.0 * rng.unit()).collect();
        let mut walk = vec![0.0];
        (1..600).for_each(|i| walk.push(0.97 * walk[i - 1] + rng.unit() - 0.5));
        for series in [drift, walk] {
            let found = Regularity::of(&series);
            assert!(found.strongest().is_some_and(|(lag, r)| lag <= 4 && r > 0.8), "{:?}", found.strongest());
            assert_eq!(found.period(), None);
            let caption = found.chart("", 1).unwrap().caption;
            assert!(caption.ends_with("The rate drifts, and repeats nothing: no lag stands out."), "{caption}");
        }
    }

    #[test]
    fn noise_repeats_nothing() {
        let mut rng = Rng::new(7);
        let noise: Vec<f64> = (0..600).map(|_| rng.unit()).collect();
        let found = Regularity::of(&noise);
        assert!(found.strongest().unwrap().1 < 0.15, "{:?}", found.strongest());
        assert_eq!((found.period(), found.drifts()), (None, false));
        // Coin tosses: two in a row on average.
        assert!((found.run_mean().unwrap() - 2.0).abs() < 0.3, "{:?}", found.run_mean());
    }

    #[test]
    fn what_rises_above_a_median_that_is_the_minimum_ends_a_run() {
        let idle: Vec<f64> = (0..100).map(|i| if i % 10 == 9 { 500.0 } else { 0.0 }).collect();
        let found = Regularity::of(&idle);
        assert_eq!((found.run_longest(), found.run_mean()), (9, Some(5.0)));
    }

    #[test]
    fn what_does_not_vary_or_is_too_short_has_no_autocorrelation() {
        assert_eq!(Regularity::of(&[5.0; 100]).strongest(), None);
        assert_eq!(Regularity::of(&[5.0; 100]).run_longest(), 100);
        assert_eq!(Regularity::of(&[1.0, 2.0, 3.0]).strongest(), None);
        assert_eq!(Regularity::of(&[]).run_mean(), None);
    }
}
