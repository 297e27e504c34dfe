//! Figures in the words of sentences.

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

pub(super) fn times(ratio: f64) -> String {
    // Two significant digits: a ratio carries no more than the lesser of its figures.
    let mut step = 1.0;
    while ratio / step >= 100.0 {
        step *= 10.0;
    }
    let number =
        if ratio < 10.0 { number::trimmed(ratio, 1) } else { number::grouped((ratio / step).round() * step, 0) };
    format!("{number} times")
}

pub(super) fn seconds(value: f64) -> String {
    match value.round() as u64 {
        0 | 1 => "every second".to_owned(),
        n => format!("every {n} s"),
    }
}
