//! The drives that were run, and what their figures say of the unknowns.

use super::measurements::{Measured, Measurements};
use super::straight_lines::{dot, least_squares};

/// Two figures are one if what one does without the other is no larger part of what they do …
const AS_ONE: f64 = 0.01;
/// … on so many drives: on two, any figures that move may.
const ENOUGH: usize = 3;

/// What a drive shows.
pub(super) enum Shown {
    /// Beside each, whether its run had not settled.
    Figures(Vec<f64>, Vec<bool>),
    /// One of the measured figures is none of its.
    NotAll,
    /// It cannot be.
    NoDrive,
}

/// Every drive that was run, by the values of the unknowns.
pub(super) struct Tried<'a> {
    given: &'a Measurements,
    drives: Vec<(Vec<f64>, Shown)>,
}

impl<'a> Tried<'a> {
    pub(super) fn none(given: &'a Measurements) -> Self {
        Tried { given, drives: Vec::new() }
    }

    pub(super) fn given(&self) -> &'a Measurements {
        self.given
    }

    pub(super) fn is_empty(&self) -> bool {
        self.drives.is_empty()
    }

    pub(super) fn keep(&mut self, at: Vec<f64>, shown: Shown) {
        self.drives.push((at, shown));
    }

    pub(super) fn at(&self, at: &[f64]) -> Option<&Shown> {
        self.drives.iter().find(|(known, _)| known == at).map(|(_, shown)| shown)
    }

    /// Drives that were run: what cannot be was not.
    pub(super) fn runs(&self) -> usize {
        self.drives.iter().filter(|(_, shown)| !matches!(shown, Shown::NoDrive)).count()
    }

    pub(super) fn figures_at(&self, at: &[f64]) -> Option<&Vec<f64>> {
        match self.at(at) {
            Some(Shown::Figures(figures, _)) => Some(figures),
            _ => None,
        }
    }

    /// Whether the run of a measurement had not settled there.
    pub(super) fn drifts(&self, at: &[f64], measurement: usize) -> bool {
        matches!(self.at(at), Some(Shown::Figures(_, drift)) if drift[measurement])
    }

    /// Sum of the squares of how far each measurement is missed, in tolerances.
    pub(super) fn misfit(&self, at: &[f64]) -> f64 {
        self.off(at).map_or(f64::INFINITY, |off| dot(&off, &off))
    }

    /// How much too large each measured figure is there, as a share of what was measured.
    fn residuals(&self, at: &[f64]) -> Option<Vec<f64>> {
        let figures = self.figures_at(at)?;
        Some(self.given.measurement.iter().zip(figures).map(|(m, &figure)| figure / m.value - 1.0).collect())
    }

    /// Whether two measured figures of one run are one in two units: on all drives that were run, one changes as the other does, or as
    /// its inverse, as a rate with a latency at a fixed depth.
    pub(super) fn are_one_figure(&self, a: usize, b: usize) -> bool {
        let measured = &self.given.measurement;
        if !measured[a].is_of_one_run_with(&measured[b]) {
            return false;
        }
        let all: Vec<&Vec<f64>> = self.drives.iter().filter_map(|(at, _)| self.figures_at(at)).collect();
        let pairs: Vec<(f64, f64)> = all.iter().map(|shown| (libm::log(shown[a]), libm::log(shown[b]))).collect();
        let spread = |of: fn(&(f64, f64)) -> f64| {
            let ends = pairs.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
            ends.1 - ends.0
        };
        let moved = spread(|(a, _)| *a).min(spread(|(_, b)| *b));
        let apart = spread(|(a, b)| a - b).min(spread(|(a, b)| a + b));
        // What was zero once has no logarithm.
        pairs.len() >= ENOUGH && moved > 0.0 && moved.is_finite() && apart <= AS_ONE * moved
    }

    /// How much too large each measured figure is there, in its tolerances.
    pub(super) fn off(&self, at: &[f64]) -> Option<Vec<f64>> {
        let figures = self.figures_at(at)?;
        Some(self.given.measurement.iter().zip(figures).map(|(m, &figure)| m.off(figure)).collect())
    }

    /// [`Self::slopes`] of each unknown.
    pub(super) fn all_slopes(&self, best: &[f64]) -> Vec<Vec<f64>> {
        (0..best.len()).map(|unknown| self.slopes(best, unknown)).collect()
    }

    /// Where the figures' slopes at `at` lead, if they were straight lines: how far along the logarithm of each unknown, to a value that
    /// it can have when told to `resolution`, and what each figure would then be too large by, in its tolerances.
    pub(super) fn straight_ahead(&self, at: &[f64], resolution: f64) -> Option<(Vec<f64>, Vec<f64>)> {
        let slopes = self.all_slopes(at);
        let off = self.off(at)?;
        let wanted: Vec<f64> = off.iter().map(|off| -off).collect();
        let steps: Vec<f64> = least_squares(&slopes, &wanted)
            .into_iter()
            .zip(at.iter().zip(&self.given.unknown))
            .map(|(step, (from, unknown))| libm::log(unknown.rounded(from * libm::exp(step), resolution) / from))
            .collect();
        let left = |m: usize| off[m] + slopes.iter().zip(&steps).map(|(slope, step)| slope[m] * step).sum::<f64>();
        let left = (0..off.len()).map(left).collect();
        Some((steps, left))
    }

    /// Drives that were run and differ from `best` in this unknown alone, itself included: its value there, and how far each
    /// figure is off.
    pub(super) fn along(&self, best: &[f64], unknown: usize) -> Vec<(f64, Vec<f64>)> {
        let on_the_line = |point: &[f64]| (0..best.len()).all(|v| v == unknown || point[v] == best[v]);
        let mut line: Vec<(f64, Vec<f64>)> = self
            .drives
            .iter()
            .filter(|(point, _)| on_the_line(point))
            .filter_map(|(point, _)| Some((point[unknown], self.residuals(point)?)))
            .collect();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        line
    }

    /// What each figure, in its tolerances, does with the logarithm of an unknown around `best`: within the interval, or from it
    /// to the nearest drives that were run.
    pub(super) fn slopes(&self, best: &[f64], unknown: usize) -> Vec<f64> {
        let line = self.along(best, unknown);
        let limit = self.misfit(best) + 1.0;
        let here = line.iter().position(|(value, _)| *value == best[unknown]).unwrap_or(0);
        let inside = |(value, _): &&(f64, Vec<f64>)| {
            let mut point = best.to_vec();
            point[unknown] = *value;
            self.misfit(&point) <= limit
        };
        let (mut low, mut high) =
            (line.iter().find(inside).unwrap_or(&line[here]), line.iter().rfind(inside).unwrap_or(&line[here]));
        if low.0 == high.0 {
            (low, high) = (&line[here.saturating_sub(1)], &line[(here + 1).min(line.len() - 1)]);
        }
        let (from, to) = (libm::log(low.0), libm::log(high.0));
        let slope = |((a, b), m): ((&f64, &f64), &Measured)| match to - from {
            0.0 => 0.0,
            apart => (b - a) / (m.tolerance_percent / 100.0) / apart,
        };
        low.1.iter().zip(&high.1).zip(&self.given.measurement).map(slope).collect()
    }
}
