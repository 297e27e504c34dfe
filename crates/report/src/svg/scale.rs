//! Axes: where a value lies, and which values are printed.

use ssdlab_bench::{Axis, SHARE_BELOW};

use crate::number;

/// A tick of an axis. A minor one has a faint grid line and no label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    pub label: String,
}

/// Smallest and largest value of a set of figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    pub min: f64,
    pub max: f64,
    /// Smallest value above zero: where a logarithmic axis can begin.
    pub min_positive: f64,
}

impl Extent {
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Extent> {
        values.into_iter().fold(None, |seen: Option<Extent>, v| {
            let positive = if v > 0.0 { v } else { f64::INFINITY };
            Some(seen.map_or(Extent { min: v, max: v, min_positive: positive }, |e| Extent {
                min: e.min.min(v),
                max: e.max.max(v),
                min_positive: e.min_positive.min(positive),
            }))
        })
    }
}

impl Extent {
    /// What covers all of `extents`.
    pub fn union(extents: impl IntoIterator<Item = Extent>) -> Option<Extent> {
        extents.into_iter().reduce(|a, b| Extent {
            min: a.min.min(b.min),
            max: a.max.max(b.max),
            min_positive: a.min_positive.min(b.min_positive),
        })
    }
}

/// Which way an axis runs decides what it starts from: rates and latencies from zero, positions where the data do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Position,
    Magnitude,
}

/// Off which end of an axis a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    Low,
    High,
}

/// Maps values to coordinates.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    pub lo: f64,
    pub hi: f64,
    pub log: bool,
    /// A logarithmic axis has no zero. If the data do, a strip beyond its low end is kept for them.
    pub zero_strip: bool,
    pub ticks: Vec<Tick>,
    /// Whether the ticks stand at the values of the data, twelve at most, on a logarithmic axis. Beside the pointer these values are
    /// told in full, all others as exactly as a place in the picture tells.
    pub is_at_data: bool,
    /// Values of unlabelled grid lines.
    pub minor: Vec<f64>,
    from: f64,
    to: f64,
}

/// Share of the axis that the strip for zero takes.
const ZERO_STRIP: f64 = 0.07;

/// The label of a tick may be off where it stands by this share of the step to the next: multiples of a step are rounded.
const TICK_OFF: f64 = 0.01;

impl Scale {
    /// An axis for `extent`, about `want` labels long. `distinct` are the positions of the data, if few: a
    /// logarithmic axis of queue depths is labelled with the queue depths.
    pub fn new(axis: &Axis, extent: Option<Extent>, role: Role, want: usize, distinct: &[f64]) -> Scale {
        let extent = extent.unwrap_or(Extent { min: 0.0, max: 1.0, min_positive: 1.0 });
        let (lo, hi) = if axis.log { log_bounds(axis, extent, role) } else { linear_bounds(axis, extent, role, want) };
        let zero_strip = axis.log && role == Role::Magnitude && extent.min <= 0.0;
        let is_share = axis.log && axis.unit == SHARE_BELOW;
        let at_data =
            axis.log && !is_share && role == Role::Position && distinct.len() <= 12 && distinct.first() > Some(&0.0);
        let (mut values, minor) = if !axis.log {
            (linear_ticks(lo, hi, want), Vec::new())
        } else if is_share {
            (share_ticks(lo, hi), Vec::new())
        } else if at_data {
            (distinct.iter().copied().filter(|&v| v >= lo && v <= hi).collect(), Vec::new())
        } else {
            log_ticks(lo, hi, want)
        };
        if values.len() < 2 && !is_share && !at_data {
            // One value tells no scale.
            let finer = (want..5 * want).map(|want| linear_ticks(lo, hi, want)).find(|ticks| ticks.len() > 1);
            values = finer.unwrap_or(values);
        }
        let label = if at_data { number::tick_in_full } else { number::tick };
        let mut labels: Vec<String> = values.iter().map(|&v| label(v, &axis.unit)).collect();
        let step = values.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        // A round value must be told in full, since readers measure by it. Of values of the data, those that read the same
        // tell nothing.
        let misread = if at_data {
            labels.windows(2).any(|pair| pair[0] == pair[1])
        } else {
            values.iter().any(|&v| number::tick_is_off(v, &axis.unit, TICK_OFF * step))
        };
        if misread {
            labels = values.iter().map(|&v| number::tick_to_step(v, step, &axis.unit)).collect();
        }
        let ticks = values.into_iter().zip(labels).map(|(value, label)| Tick { value, label }).collect();
        Scale { lo, hi, log: axis.log, zero_strip, ticks, is_at_data: at_data, minor, from: 0.0, to: 1.0 }
    }

    /// The same axis drawn from coordinate `from` (its low end) to `to`.
    pub fn between(mut self, from: f64, to: f64) -> Scale {
        (self.from, self.to) = (from, to);
        self
    }

    /// The coordinate of `value`; values beyond the axis are drawn at its end.
    pub fn at(&self, value: f64) -> f64 {
        let start = if self.zero_strip { ZERO_STRIP } else { 0.0 };
        let share = if self.log {
            if value <= 0.0 {
                if self.zero_strip { ZERO_STRIP * 0.35 } else { 0.0 }
            } else {
                let (a, b) = (libm::log10(self.lo), libm::log10(self.hi));
                start + (1.0 - start) * ((libm::log10(value) - a) / (b - a)).clamp(0.0, 1.0)
            }
        } else {
            ((value - self.lo) / (self.hi - self.lo)).clamp(0.0, 1.0)
        };
        self.from + (self.to - self.from) * share
    }

    /// Whether `value` lies off the axis: below its low end, or above its high end.
    pub fn is_beyond(&self, value: f64) -> Option<Beyond> {
        // What rounding adds is none: an axis that was chosen for the data holds them all.
        const ROUNDING: f64 = 1e-6;
        let of_zero = self.log && value <= 0.0;
        let share = match self.log {
            true => (libm::log10(value) - libm::log10(self.lo)) / (libm::log10(self.hi) - libm::log10(self.lo)),
            false => (value - self.lo) / (self.hi - self.lo),
        };
        match share {
            _ if of_zero => None,
            share if share < -ROUNDING => Some(Beyond::Low),
            share if share > 1.0 + ROUNDING => Some(Beyond::High),
            _ => None,
        }
    }

    /// The coordinate of the low end of the axis, strip included.
    pub fn bottom(&self) -> f64 {
        self.from
    }

    /// Where the strip for zero ends and the logarithmic part begins.
    pub fn strip_end(&self) -> f64 {
        self.from + (self.to - self.from) * if self.zero_strip { ZERO_STRIP } else { 0.0 }
    }
}

/// The smallest of 1, 2, 5 × 10^n that is at least `v`.
fn nice_step(v: f64) -> f64 {
    let base = libm::pow(10.0, libm::floor(libm::log10(v)));
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * base).find(|&s| s >= v * 0.999_999).unwrap_or(10.0 * base)
}

fn linear_bounds(axis: &Axis, extent: Extent, role: Role, want: usize) -> (f64, f64) {
    let from_zero = extent.min >= 0.0 && (role == Role::Magnitude || extent.min <= 0.2 * extent.max);
    let mut lo = axis.min.unwrap_or(if from_zero { 0.0 } else { extent.min });
    let mut hi = axis.max.unwrap_or(extent.max);
    if hi <= lo {
        hi = lo + if lo == 0.0 { 1.0 } else { lo.abs() * 0.1 };
    }
    let step = nice_step((hi - lo) / want as f64);
    if axis.min.is_none() && !from_zero {
        lo = libm::floor(lo / step + 1e-9) * step;
    }
    if axis.max.is_none() {
        let rounded = libm::ceil(hi / step - 1e-9) * step;
        // A position axis ends with the data, unless a round figure is close; a magnitude axis ends on a tick.
        if role == Role::Magnitude || rounded - hi <= 0.06 * (hi - lo) {
            hi = rounded;
        }
    }
    (lo, hi)
}

fn log_bounds(axis: &Axis, extent: Extent, role: Role) -> (f64, f64) {
    let positive = if extent.min_positive.is_finite() { extent.min_positive } else { 1.0 };
    let top = if extent.max > 0.0 { extent.max } else { 10.0 };
    let exact = role == Role::Position;
    let lo = axis.min.filter(|&m| m > 0.0).unwrap_or(if exact { positive } else { round_1_2_5(positive, false) });
    let hi = axis.max.unwrap_or(if exact { top } else { round_1_2_5(top, true) });
    if hi > lo { (lo, hi) } else { (lo / 2.0, lo * 2.0) }
}

/// The next 1, 2 or 5 × 10^n at or above (`up`) or at or below `v`.
fn round_1_2_5(v: f64, up: bool) -> f64 {
    let decade = libm::pow(10.0, libm::floor(libm::log10(v) + 1e-12));
    let steps = [1.0, 2.0, 5.0, 10.0].map(|m| m * decade);
    if up {
        steps.into_iter().find(|&s| s >= v * (1.0 - 1e-9)).unwrap_or(10.0 * decade)
    } else {
        steps.into_iter().rev().find(|&s| s <= v * (1.0 + 1e-9)).unwrap_or(decade)
    }
}

/// Multiples of 1, 2 or 5 × 10^n within the bounds.
pub(crate) fn linear_ticks(lo: f64, hi: f64, want: usize) -> Vec<f64> {
    let step = nice_step((hi - lo) / want.max(1) as f64);
    let (first, last) = (libm::ceil(lo / step - 1e-9) as i64, libm::floor(hi / step + 1e-9) as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}

/// Labelled and unlabelled lines of a logarithmic axis: 1-2-5 if there is room, else decades, else every n-th.
pub(crate) fn log_ticks(lo: f64, hi: f64, want: usize) -> (Vec<f64>, Vec<f64>) {
    let (first, last) = (libm::floor(libm::log10(lo) + 1e-9) as i32, libm::ceil(libm::log10(hi) - 1e-9) as i32);
    let inside = |v: &f64| *v >= lo * (1.0 - 1e-9) && *v <= hi * (1.0 + 1e-9);
    let all = |multiples: &[f64], every: i32| -> Vec<f64> {
        (first..=last)
            .filter(|d| d.rem_euclid(every) == 0)
            .flat_map(|d| multiples.iter().map(move |m| m * libm::pow(10.0, f64::from(d))))
            .filter(inside)
            .collect()
    };
    let decades = all(&[1.0], 1);
    let fine = all(&[1.0, 2.0, 5.0], 1);
    let major = if fine.len() <= want + 3 {
        fine
    } else if decades.len() <= want + 2 {
        decades
    } else {
        all(&[1.0], 1 + (decades.len() / want.max(1)) as i32)
    };
    let minor = if last - first > 7 { Vec::new() } else { all(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 1) };
    let minor = minor.into_iter().filter(|v| !major.iter().any(|m| (m / v - 1.0).abs() < 1e-9)).collect();
    (major, minor)
}

/// 50, 90, 99, 99.9 % and so on, of an axis of shares.
fn share_ticks(lo: f64, hi: f64) -> Vec<f64> {
    let inside = |v: &f64| *v >= lo * (1.0 - 1e-9) && *v <= hi * (1.0 + 1e-9);
    let nines = (1..=18).map(|n| libm::pow(10.0, f64::from(n)));
    [2.0].into_iter().chain(nines).filter(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_inside() {
        assert_eq!(linear_ticks(0.0, 40_000.0, 5), [0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0]);
        assert_eq!(linear_ticks(1400.0, 2000.0, 4), [1400.0, 1600.0, 1800.0, 2000.0]);
        assert_eq!(linear_ticks(0.0, 0.37, 5), [0.0, 0.1, 0.2, 0.30000000000000004]);
    }

    #[test]
    fn a_wide_logarithmic_axis_is_labelled_by_decades_and_ruled_between() {
        let (major, minor) = log_ticks(1.0, 100_000.0, 5);
        assert_eq!(major, [1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0]);
        assert_eq!(minor.len(), 5 * 8);
        assert!(!minor.contains(&10.0));
    }

    #[test]
    fn a_narrow_logarithmic_axis_has_ones_twos_and_fives() {
        assert_eq!(log_ticks(200.0, 10_000.0, 5).0, [200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0]);
    }

    #[test]
    fn an_axis_of_shares_is_labelled_by_its_nines() {
        let axis = Axis { min: Some(1.0), ..Axis::log("share of requests", SHARE_BELOW) };
        let scale = Scale::new(&axis, Extent::of([1.0, 24_000.0]), Role::Position, 9, &[1.0, 7.0, 24_000.0]);
        let labels: Vec<&str> = scale.ticks.iter().map(|t| t.label.as_str()).collect();
        assert_eq!(labels, ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
        assert_eq!((scale.lo, scale.hi), (1.0, 24_000.0));
    }

    #[test]
    fn a_logarithmic_axis_has_a_place_for_zero_below_everything_else() {
        let extent = Extent::of([0.0, 30.0, 40_000.0]);
        let scale = Scale::new(&Axis::log("IOPS", ""), extent, Role::Magnitude, 5, &[]).between(0.0, 100.0);
        assert!(scale.zero_strip && scale.lo == 20.0 && scale.hi == 50_000.0);
        assert!(scale.at(0.0) < scale.strip_end() && scale.at(20.0) >= scale.strip_end());
    }

    #[test]
    fn magnitudes_start_at_zero_and_positions_where_the_data_do() {
        let extent = Extent::of([1400.0, 1999.0]);
        let x = Scale::new(&Axis::linear("Time", "s"), extent, Role::Position, 6, &[]);
        assert_eq!((x.lo, x.hi), (1400.0, 2000.0));
        let y = Scale::new(&Axis::linear("Rate", "MB/s"), extent, Role::Magnitude, 5, &[]);
        assert_eq!((y.lo, y.hi), (0.0, 2000.0));
    }

    #[test]
    fn no_axis_has_one_tick_only() {
        let of = |axis: Axis, low: f64, high: f64| {
            let scale = Scale::new(&axis, Extent::of([low, high]), Role::Position, 4, &[]);
            scale.ticks.iter().map(|t| t.label.clone()).collect::<Vec<_>>()
        };
        assert_eq!(of(Axis::linear("IOPS", ""), 7000.0, 14_365.9), ["6K", "8K", "10K", "12K", "14K"]);
        assert!(of(Axis::log("IOPS", ""), 1200.0, 1900.0).len() > 1);
    }

    #[test]
    fn no_two_ticks_read_the_same() {
        let labels = |axis: Axis, low: f64, high: f64| {
            let scale = Scale::new(&axis, Extent::of([low, high]), Role::Position, 9, &[]);
            scale.ticks.iter().map(|t| t.label.clone()).collect::<Vec<_>>()
        };
        let rates = labels(Axis::linear("Bandwidth", "MB/s"), 558.759936, 558.891008);
        assert_eq!(rates.iter().map(String::as_str).take(3).collect::<Vec<_>>(), ["558.74", "558.76", "558.78"]);
        let sizes = labels(Axis::linear("Capacity", "KiB"), 131_072.0, 131_096.0);
        assert_eq!(sizes[..2], ["131,070", "131,075"]);
        let times = labels(Axis::linear("Latency", "us"), 12_341.0, 12_342.0);
        assert_eq!(times[..2], ["12,341.0 µs", "12,341.2 µs"]);
        for all in [rates, sizes, times, labels(Axis::log("IOPS", ""), 10_001.0, 10_004.0)] {
            let different: std::collections::BTreeSet<_> = all.iter().collect();
            assert!(all.len() > 1 && different.len() == all.len(), "{all:?}");
        }
    }

    #[test]
    fn ticks_read_as_the_values_that_they_stand_at() {
        let labels = |unit: &str, low: f64, high: f64, want: usize| {
            let axis = Axis { min: Some(low), max: Some(high), ..Axis::linear("", unit) };
            let scale = Scale::new(&axis, None, Role::Position, want, &[]);
            scale.ticks.iter().map(|t| t.label.clone()).collect::<Vec<_>>()
        };
        // To three digits they would be 104, 105 and 106.
        assert_eq!(labels("us", 104.475, 105.525, 4), ["104.5 µs", "105.0 µs", "105.5 µs"]);
        assert_eq!(labels("MB/s", 108.39, 108.61, 2), ["108.4", "108.6"]);
        assert_eq!(labels("", 999_490.0, 999_510.0, 2), ["999,490", "999,500", "999,510"]);
        assert_eq!(labels("s", 1_000.5, 1_001.5, 2), ["1,000.5", "1,001.0", "1,001.5"]);
        // What three digits can tell has no more.
        assert_eq!(labels("us", 950.0, 1_050.0, 2), ["950 µs", "1 ms", "1.05 ms"]);
        assert_eq!(labels("", 0.0, 0.4, 4), ["0", "0.1", "0.2", "0.3", "0.4"]);
    }

    #[test]
    fn ticks_at_values_of_the_data_are_these_values() {
        let labels = |values: &[f64], unit: &str| {
            let extent = Extent::of(values.iter().copied());
            let scale = Scale::new(&Axis::log("", unit), extent, Role::Position, 9, values);
            scale.ticks.iter().map(|t| t.label.clone()).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[512.0, 1024.0, 16_384.0, 20_000.0], "KiB"), ["512", "1,024", "16,384", "20K"]);
        assert_eq!(labels(&[0.125, 1.125, 40.0], "s"), ["0.125", "1.125", "40"]);
        assert_eq!(labels(&[1.0, 1024.0, 2000.0], "us"), ["1 µs", "1,024 µs", "2 ms"]);
        assert_eq!(labels(&[1.0 / 3.0, 2.0], "s"), ["0.333", "2"], "what was computed is rounded");
    }

    #[test]
    fn a_constant_or_empty_series_still_has_an_axis() {
        for extent in [None, Extent::of([5.0]), Extent::of([0.0, 0.0])] {
            for axis in [Axis::linear("", ""), Axis::log("", "")] {
                for role in [Role::Position, Role::Magnitude] {
                    let scale = Scale::new(&axis, extent, role, 5, &[]);
                    assert!(scale.hi > scale.lo && scale.at(5.0).is_finite(), "{axis:?} {extent:?}");
                }
            }
        }
    }
}
