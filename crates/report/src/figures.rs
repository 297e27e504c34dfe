//! The figures of a test that a reader looks for first: which they are, what they are called, and what stands in place of one
//! that is not there. The page, the terminal and the text choose by this.

use ssdlab_bench::suite::leading_figures;
use ssdlab_bench::{Outcome, Unsettled, replay};

use crate::review::Review;
use crate::{number, random_writes, reach, text};

/// What a reader looks for first, best first.
const KEYS: [&str; 16] = [
    "score",
    "score_total",
    "iops_mean_tail",
    "write_bandwidth",
    "read_bandwidth",
    "trimmed_bandwidth",
    "write_peak",
    "read_peak",
    "latency_mean_write",
    "iops",
    "bandwidth",
    "iops_min",
    "latency_p99",
    "latency_mean",
    "waf",
    "power_mean",
];

/// The `n` metrics of a test that matter most: well-known ones first, then in alphabetical order.
pub(crate) fn key_metrics<'a>(outcomes: &[&'a Outcome], n: usize) -> Vec<&'a str> {
    let has = |key: &str| outcomes.iter().any(|o| o.metrics.contains_key(key));
    let first = outcomes.iter().flat_map(|o| leading_figures(&o.test));
    let mut keys: Vec<&str> = Vec::new();
    for key in first.copied().chain(KEYS).filter(|k| has(k)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut others: Vec<&str> = outcomes.iter().flat_map(|o| o.metrics.keys()).map(String::as_str).collect();
    others.sort_by(|a, b| text::natural_order(a, b));
    for key in others {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.truncate(n);
    keys
}

/// What a figure of these outcomes is called: of requests that were sent at recorded times with what that makes of it.
pub(crate) fn label(outcomes: &[&Outcome], key: &str) -> String {
    if outcomes.iter().all(|o| o.test == random_writes::TEST) {
        return number::label_with_part(key, &last_part(outcomes));
    }
    let label = number::metric_label(key);
    if matches!(key, "iops" | "bandwidth") && outcomes.iter().all(|o| is_as_asked(o)) {
        return format!("{label}, as the job asks");
    }
    let mut timed = outcomes.iter().filter(|o| o.test == replay::TEST && o.metrics.contains_key(OF_TIMED)).peekable();
    let is_timed = timed.peek().is_some();
    let of_timed = match key {
        // Of a device that cannot follow, the rate is its own.
        "iops" | "bandwidth" if timed.all(|o| keeps_up(o)) => ", as the trace sends",
        key if key.starts_with("latency_") && !key.ends_with("_from_arrival") => ", from sending",
        _ => "",
    };
    if is_timed { format!("{label}{of_timed}") } else { label }
}

/// The last part of these runs: how long it is, where they agree.
pub(crate) fn last_part(outcomes: &[&Outcome]) -> String {
    let of = |o: &Outcome| {
        let seconds = |key: &str| o.params.get(key).and_then(serde_json::Value::as_f64);
        Some(seconds("seconds")? - seconds("tail_from_seconds")?)
    };
    let lengths: Vec<Option<f64>> = outcomes.iter().map(|o| of(o)).collect();
    match lengths.first() {
        Some(&Some(first)) if lengths.iter().all(|length| *length == Some(first)) => {
            format!("last {} s", number::trimmed(first, 1))
        }
        _ => number::LAST_PART.to_owned(),
    }
}

/// A rate within this share of what the job asks for is that of the job, and not the drive's.
const AS_ASKED: f64 = 0.98;

/// Whether the rate of a job is the one that its file limits it to.
fn is_as_asked(outcome: &Outcome) -> bool {
    let of = |key: &str| outcome.metrics.get(key).map(|m| m.value);
    let reaches = |asked: &str, got: &str| of(asked).zip(of(got)).is_some_and(|(asked, got)| got >= AS_ASKED * asked);
    reaches("asked_bandwidth", "bandwidth") || reaches("asked_iops", "iops")
}

/// A replay that takes so many times as long as its trace fell behind it.
const BEHIND: f64 = 1.05;

/// Whether requests that were sent at recorded times were done about as fast as they came.
fn keeps_up(outcome: &Outcome) -> bool {
    let seconds = |key: &str| outcome.metrics.get(key).map_or(0.0, |m| m.value);
    let speed = outcome.params.get("speed").and_then(serde_json::Value::as_str).and_then(|s| s.strip_suffix('x'));
    let speed: f64 = speed.and_then(|s| s.parse().ok()).unwrap_or(1.0);
    seconds("duration") * speed <= BEHIND * seconds("trace_duration")
}

/// A figure that a replay has if its requests were sent at recorded times.
const OF_TIMED: &str = "delayed";

/// Why the figures of a test put several drives in no order, if they do not.
pub(crate) fn in_no_order(review: &Review, outcomes: &[&Outcome]) -> Option<&'static str> {
    let runs: Vec<(&Outcome, f64)> = outcomes.iter().map(|o| (*o, reach::capacity_of(review, &o.device))).collect();
    reach::no_order(&runs).map(reach::NoOrder::in_words)
}

/// What is the figure of a steady state only where there is one.
const SETTLES: &str = random_writes::MEAN;

/// How the figures begin that are lengths of a life (`endurance`).
const LENGTHS: [&str; 2] = ["tb_until_", "life_at_error"];

/// The figures of a test that stand on the first screen, and what they are called there.
pub(crate) fn keys_of<'a>(outcomes: &[&'a Outcome]) -> Vec<(&'a str, String)> {
    let is = |test: &str| outcomes.iter().any(|o| o.test == test);
    // Of a run that has not settled there is no steady state, and its mean is of the fresh drive as well.
    if is(random_writes::TEST) {
        return vec![(SETTLES, label(outcomes, SETTLES))];
    }
    let full = outcomes.iter().any(|o| o.metrics.contains_key("bandwidth_full"));
    if (is("heavy") || is("light")) && full {
        let label = |state| format!("{}, {state} drive", number::metric_label("bandwidth"));
        return vec![("bandwidth", label("empty")), ("bandwidth_full", label("full"))];
    }
    key_metrics(outcomes, 1).into_iter().map(|key| (key, label(outcomes, key))).collect()
}

/// Of a run that came to no steady state, in place of a figure of it or behind what its last part has.
pub(crate) fn doubt(outcome: &Outcome) -> Option<&'static str> {
    if outcome.has_settled() {
        return None;
    }
    Some(if is_left(outcome) {
        "full run only"
    } else if outcome.is_too_short_to_tell() {
        "too few to tell"
    } else {
        "not settled"
    })
}

fn is_left(outcome: &Outcome) -> bool {
    outcome.is_unsettled_by(Unsettled::LeftToFullRun)
}

/// In place of a figure that a run does not have.
fn why_absent(outcome: &Outcome, key: &str) -> String {
    // A life has the same figures whether it is certain or not.
    let doubt = doubt(outcome).filter(|_| !outcome.is_unsettled_by(Unsettled::TooLittleWork));
    let Some(doubt) = doubt else { return "–".to_owned() };
    // Of writes to the spare area no rate is told.
    let tells = !is_left(outcome) && !outcome.is_unsettled_by(Unsettled::SpareNotWritten) && key == SETTLES;
    match random_writes::so_far(outcome, key).filter(|_| tells) {
        Some(iops) => format!("{}, {doubt}", number::value(iops, "IOPS")),
        None => doubt.to_owned(),
    }
}

/// A figure of a drive as the page and the terminal have it; of the steady state also that there is none yet, or why.
pub(crate) fn figure_of(outcome: Option<&Outcome>, key: &str) -> String {
    let Some(outcome) = outcome else { return "–".to_owned() };
    let Some(m) = outcome.metrics.get(key) else { return why_absent(outcome, key) };
    let value = number::value(m.value, &m.unit);
    match doubt(outcome).filter(|_| !stands(outcome, key)) {
        Some(doubt) => format!("{value}, {doubt}"),
        None => value,
    }
}

/// Whether a figure is what it is taken for: it is none of a steady state, or the run has come to one. What is left to a full run has no
/// figure of it. Of a life that is not certain, its lengths are not.
pub(crate) fn stands(outcome: &Outcome, key: &str) -> bool {
    if outcome.is_unsettled_by(Unsettled::TooLittleWork) {
        return !LENGTHS.iter().any(|begin| key.starts_with(begin));
    }
    outcome.has_settled() || is_left(outcome) || key != SETTLES && outcome.test != "steady-state"
}
