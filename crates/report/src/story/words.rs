//! Figures in the words of sentences.

use crate::headline::are_level;
use crate::number;

pub(super) fn iops(value: f64) -> String {
    if value < 10.0 {
        return number::trimmed(value, 1);
    }
    number::grouped(rounded(value), 0)
}

/// Of what nothing is below: no more than it is.
pub(super) fn iops_at_least(value: f64) -> String {
    if value < 10.0 {
        return number::trimmed((value * 10.0).floor() / 10.0, 1);
    }
    number::grouped((value / step(value)).floor() * step(value), 0)
}

/// The same of two that are set against each other: where they would be printed alike and are not level, to three significant digits.
pub(super) fn iops_of_both(a: f64, b: f64) -> [String; 2] {
    let both = [a, b].map(iops);
    if both[0] == both[1] && !are_level(a, b) { [a, b].map(number::significant) } else { both }
}

/// A figure with its unit, to three significant digits at the least: figures that are not level differ in them.
pub(super) fn figure(value: f64, unit: &str) -> String {
    let is_told_in_three = unit == "us" || value < 100.0;
    number::value(if is_told_in_three { value } else { rounded(value) }, unit)
}

/// Three significant digits from a hundred on: more would pretend.
pub(super) fn rounded(value: f64) -> f64 {
    // As a number is printed: of two that are as near, the even one.
    (value / step(value)).round_ties_even() * step(value)
}

const fn step(value: f64) -> f64 {
    match value {
        v if v >= 10_000.0 => 100.0,
        v if v >= 1_000.0 => 10.0,
        _ => 1.0,
    }
}

/// Two significant digits: a ratio carries no more than the lesser of its figures.
pub(super) fn times(ratio: f64) -> String {
    let step = step_of_times(ratio);
    let number =
        if ratio < 10.0 { number::trimmed(ratio, 1) } else { number::grouped((ratio / step).round() * step, 0) };
    format!("{number} times")
}

/// The same of a ratio that is no less than is said.
pub(super) fn times_at_least(ratio: f64) -> String {
    let step = step_of_times(ratio);
    times(if ratio < 10.0 { (10.0 * ratio).floor() / 10.0 } else { (ratio / step).floor() * step })
}

/// Of what is printed of ratios from ten on.
fn step_of_times(ratio: f64) -> f64 {
    let mut step = 1.0;
    while ratio / step >= 100.0 {
        step *= 10.0;
    }
    step
}

pub(super) fn seconds(value: f64) -> String {
    match value.round() as u64 {
        0 | 1 => "every second".to_owned(),
        n => format!("every {n} s"),
    }
}
