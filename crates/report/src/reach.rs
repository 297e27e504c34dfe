//! What a run covered: figures of runs that covered another part of their drives, or went on for another time, are in no order.

use ssdlab_bench::Outcome;
use ssdlab_bench::suite::find_test;

use crate::headline::Headline;
use crate::json::ResultRow;
use crate::number;
use crate::review::{Review, ReviewedDevice};

/// What a run covered, in the measures of the whole drive: a drive in small stands for one that is so many times as large, and its
/// seconds for as many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reach {
    /// Bytes, of a test of a part of the drive.
    span: Option<f64>,
    /// Of writes whose rate changes with what has been written before.
    seconds: Option<f64>,
    /// Of a test in sequence: whether it came past the end, and went over the same addresses again.
    is_round: bool,
}

/// Spans and times that differ by no more than this are alike: a unit of the drive may keep a span from being a round number.
const ALIKE: f64 = 1.1;

impl Reach {
    /// Of a run on a drive of so many bytes.
    pub fn of(outcome: &Outcome, capacity: f64) -> Reach {
        let small = f64::from(outcome.small_by.unwrap_or(1));
        let param = |key: &str| param(outcome, key);
        let (test, seconds) = (find_test(&outcome.test).ok(), param("seconds"));
        Reach {
            span: param("span_bytes").map(|bytes| (bytes * small).min(capacity)),
            seconds: seconds.filter(|_| test.is_some_and(|test| test.hangs_on_time)).map(|seconds| seconds * small),
            is_round: in_sequence(outcome) && turns(outcome, capacity).is_some_and(|turns| turns >= 1.0),
        }
    }

    /// Of a full run of the published method on a drive that is large enough for it, as those that are shipped have had.
    pub fn published(headline: &Headline) -> Reach {
        let Ok(test) = find_test(headline.test) else { return Reach::default() };
        let outcome = Outcome {
            test: test.name.to_owned(),
            params: test.resolve(&[], false).map(|params| params.to_json()).unwrap_or_default(),
            ..Outcome::default()
        };
        Reach::of(&outcome, f64::INFINITY)
    }

    /// Of the run that a headline figure of a device is from.
    pub fn of_headline(review: &Review, headline: &Headline, device: &str) -> Option<Reach> {
        let outcome = headline.outcome(&review.outcomes, device)?;
        Some(Reach::of(outcome, capacity_of(review, device)))
    }

    pub fn is_like(&self, other: &Reach) -> bool {
        let like = |a: Option<f64>, b: Option<f64>| a.zip(b).is_none_or(|(a, b)| a <= ALIKE * b && b <= ALIKE * a);
        like(self.span, other.span) && like(self.seconds, other.seconds) && self.is_round == other.is_round
    }
}

fn param(outcome: &Outcome, key: &str) -> Option<f64> {
    outcome.params.get(key).and_then(serde_json::Value::as_f64).filter(|&value| value > 0.0)
}

pub(crate) fn capacity_of(review: &Review, device: &str) -> f64 {
    review.device(device).map_or(f64::INFINITY, |d| d.facts.capacity_bytes as f64)
}

/// The bytes that a device of this capacity had in the run.
fn whole_of(outcome: &Outcome, capacity: f64) -> f64 {
    capacity / f64::from(outcome.small_by.unwrap_or(1))
}

/// How often a test in sequence went over its addresses.
fn turns(outcome: &Outcome, capacity: f64) -> Option<f64> {
    let span = span_of(outcome, capacity).unwrap_or(whole_of(outcome, capacity));
    let turns = outcome.metrics.get("bandwidth")?.value * 1e6 * param(outcome, "seconds")? / span;
    turns.is_finite().then_some(turns)
}

fn in_sequence(outcome: &Outcome) -> bool {
    find_test(&outcome.test).is_ok_and(|test| test.in_sequence)
}

/// The span of a run in bytes, if it is one of a part of the drive: no more than the drive has.
pub(crate) fn span_of(outcome: &Outcome, capacity: f64) -> Option<f64> {
    Some(param(outcome, "span_bytes")?.min(whole_of(outcome, capacity)))
}

/// How much the runs of a headline figure in sequence went over: the least and the most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Covered {
    /// Of their drives, in per cent.
    Percent(f64, f64),
    /// Every one of them all of its addresses, so many times.
    Times(f64, f64),
}

pub(crate) fn covered(review: &Review, headline: &Headline) -> Option<Covered> {
    let of = |device: &ReviewedDevice| {
        let outcome = headline.outcome(&review.outcomes, &device.facts.name)?;
        let capacity = device.facts.capacity_bytes as f64;
        let whole = whole_of(outcome, capacity);
        Some((turns(outcome, capacity)?, span_of(outcome, capacity).unwrap_or(whole) / whole))
    };
    let mut runs: Vec<(f64, f64)> = review.devices.iter().filter_map(of).collect();
    // Past its end it begins again, and stands in no order with those that did not.
    if runs.iter().any(|&(turns, _)| turns < 1.0) {
        runs.retain(|&(turns, _)| turns < 1.0);
    }
    let ends =
        |values: Vec<f64>| Some((values.iter().copied().reduce(f64::min)?, values.into_iter().reduce(f64::max)?));
    if runs.iter().all(|&(turns, span)| turns > 1.0 && span == 1.0) {
        let (least, most) = ends(runs.into_iter().map(|(turns, _)| turns).collect())?;
        return Some(Covered::Times(least, most));
    }
    let (least, most) = ends(runs.into_iter().map(|(turns, span)| 100.0 * turns.min(1.0) * span).collect())?;
    Some(Covered::Percent(least, most))
}

/// A span for a reader: a unit of the drive may keep it from being a round number.
pub(crate) fn rounded(bytes: f64) -> f64 {
    let to = |step: f64| (bytes / step).round() * step;
    // To two or three digits, and of those the fewest that are as good as what it is.
    let is_near = |round: &f64| (round - bytes).abs() < 0.01 * bytes;
    [1e8, 1e7, 1e6, 1e5].into_iter().map(to).find(is_near).unwrap_or(bytes)
}

/// A share of a drive in per cent, for a reader: what was written is never nothing.
pub(crate) fn percent(share: f64) -> String {
    number::trimmed(share, if share < 0.1 { 3 } else { usize::from(share < 10.0) })
}

/// How often all of a drive was gone over, the least and the most, behind what it was: nothing where that is once.
pub(crate) fn times_over((least, most): (f64, f64)) -> String {
    let [least, most] = [least, most].map(|turns| number::trimmed(turns, 1));
    match (least == most, most.as_str()) {
        (true, "1") => String::new(),
        (true, _) => format!(", {most} times"),
        (false, _) => format!(", {least} to {most} times"),
    }
}

/// What a run went over, for a reader, with the time that it took.
pub(crate) fn told(outcome: &Outcome, capacity: f64) -> String {
    let span = span_of(outcome, capacity).map(|bytes| format!("over {}", number::bytes(rounded(bytes))));
    let in_turns = turns(outcome, capacity).filter(|_| in_sequence(outcome));
    let where_to = match (span, in_turns) {
        (Some(span), _) => span,
        (None, Some(turns)) if turns >= 1.0 => {
            format!("over all of its {}{}", number::bytes(capacity), times_over((turns, turns)))
        }
        (None, Some(turns)) => format!("over the first {} %", percent(100.0 * turns)),
        (None, None) => "over all of it".to_owned(),
    };
    let time = param(outcome, "seconds").map_or(String::new(), |s| format!(" in {} s", number::trimmed(s, 1)));
    let small = match outcome.small_by {
        None | Some(1) => String::new(),
        Some(8) => " on an eighth of the drive".to_owned(),
        Some(by) => format!(" on a drive {by} times smaller"),
    };
    format!("{where_to}{time}{small}")
}

/// Why the figures of runs of one test put their drives in no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoOrder {
    /// They covered other spans of their drives, or went on for other times.
    Unlike,
    /// A trace was so short that collection had hardly begun when it ended.
    TooShort,
}

impl NoOrder {
    /// In a few words behind a figure.
    pub(crate) const fn in_words(self) -> &'static str {
        match self {
            NoOrder::Unlike => "spans or times differ",
            NoOrder::TooShort => "in no order: too short",
        }
    }

    /// A sentence, without its capital and its full stop.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            NoOrder::Unlike => "they covered spans or went on for times that differ: their figures are in no order",
            NoOrder::TooShort => "a trace was too short to put drives in an order",
        }
    }
}

/// The same of such runs, each on a drive of so many bytes; `None` if they do put them in one.
pub(crate) fn no_order(runs: &[(&Outcome, f64)]) -> Option<NoOrder> {
    let reaches: Vec<Reach> = runs.iter().map(|(outcome, capacity)| Reach::of(outcome, *capacity)).collect();
    if !reaches.iter().all(|reach| reach.is_like(&reaches[0])) {
        return Some(NoOrder::Unlike);
    }
    let is_short = runs.len() > 1 && runs.iter().any(|(outcome, _)| outcome.writes_short_by().is_some());
    is_short.then_some(NoOrder::TooShort)
}

/// Why the figures of two results of one test put their drives in no order, as a page says it of the two in one review; `None` if they do
/// put them in one. With each goes the capacity of its drive in bytes.
#[must_use]
pub fn no_order_of(rows: [(&ResultRow, f64); 2]) -> Option<NoOrder> {
    let runs = rows.map(|(row, capacity)| (row.to_run(), capacity));
    no_order(&runs.each_ref().map(|(run, capacity)| (run, *capacity)))
}

/// Which of these runs are like the most of the others: of two that differ, neither.
pub(crate) fn in_order(reaches: &[Reach]) -> Vec<bool> {
    let like = |reach: &Reach| reaches.iter().filter(|other| reach.is_like(other)).count();
    // The first of the largest group.
    let best = reaches.iter().rev().max_by_key(|reach| like(reach));
    let Some(best) = best.filter(|best| reaches.len() == 1 || like(best) > 1) else {
        return vec![false; reaches.len()];
    };
    reaches.iter().map(|reach| reach.is_like(best)).collect()
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::Metric;

    use super::*;

    fn run(test: &str, span: u64, seconds: f64, small_by: Option<u32>) -> Outcome {
        Outcome {
            test: test.into(),
            params: [("span_bytes".to_owned(), span.into()), ("seconds".to_owned(), seconds.into())].into(),
            metrics: [("bandwidth".to_owned(), Metric::new(1_430.0, "MB/s"))].into(),
            small_by,
            ..Outcome::default()
        }
    }

    #[test]
    fn a_run_in_small_is_like_the_whole_one_that_it_stands_for_and_a_smaller_drive_has_no_more_than_it_has() {
        let small = Reach::of(&run("random-write", 999_292_928, 22.5, Some(8)), 256e9);
        let whole = Reach::of(&run("random-write", 8_000_000_000, 180.0, None), 1e12);
        assert!(small.is_like(&whole));
        // As many seconds on all of the drive are an eighth of the writes.
        assert!(!small.is_like(&Reach::of(&run("random-write", 8_000_000_000, 22.5, None), 1e12)));
        // A file of 2.1 GB, of which a test was to use 8.
        let file = run("random-read", 8_000_000_000, 180.0, None);
        assert_eq!(told(&file, 2_147_483_648.0), "over 2.15 GB in 180 s");
        assert!(!Reach::of(&file, 2_147_483_648.0).is_like(&Reach::of(&file, 1e12)));
        // How long reads go on makes no difference.
        let reads = |seconds| Reach::of(&run("random-read", 8_000_000_000, seconds, None), 1e12);
        assert!(reads(8.0).is_like(&reads(180.0)));
        let burst = crate::HEADLINES.into_iter().find(|h| h.key == "random-write").unwrap();
        assert!(small.is_like(&Reach::published(&burst)) && whole.is_like(&Reach::published(&burst)));
    }

    #[test]
    fn a_run_that_comes_round_is_not_one_of_the_first_gigabytes() {
        let run = run("sequential-write", 0, 8.0, None);
        let of = |capacity: f64| Reach::of(&run, capacity);
        assert!(!of(2.1e9).is_like(&of(256e9)) && of(512e9).is_like(&of(256e9)));
        assert_eq!(told(&run, 2.1e9), "over all of its 2.1 GB, 5.4 times in 8 s");
        assert_eq!(told(&run, 256e9), "over the first 4.5 % in 8 s");
        assert_eq!(told(&run, 11.4e9), "over all of its 11.4 GB in 8 s");
        assert_eq!([(1.0, 1.04), (1.0, 2.3)].map(times_over), ["", ", 1 to 2.3 times"]);
    }

    #[test]
    fn a_span_is_told_as_what_it_is() {
        for (bytes, told) in
            [(999_292_928.0, "1 GB"), (33_280_000.0, "33 MB"), (4_096_000.0, "4.1 MB"), (5_000.0, "5 kB")]
        {
            assert_eq!(number::bytes(rounded(bytes)), told);
        }
        assert_eq!(number::bytes(rounded(124_999_680.0)), "125 MB");
    }

    #[test]
    fn the_most_that_are_alike_are_in_order_and_of_two_that_differ_neither() {
        let of = |span: f64| Reach { span: Some(span), ..Reach::default() };
        assert_eq!(in_order(&[of(2e9), of(8e9)]), [false, false]);
        assert_eq!(in_order(&[of(2e9), of(8e9), of(8.1e9)]), [false, true, true]);
        assert_eq!(in_order(&[of(2e9)]), [true]);
    }
}
