//! The key figure of each test, the verdicts, and what a user would have noticed.

use ssdlab_bench::suite::{Better, FELT_FIGURES, better_end, leading_figures};
use ssdlab_bench::{Outcome, Unsettled, replay};

use crate::compare::TestGroup;
use crate::felt;
use crate::random_writes;
use crate::reach;
use crate::review::{LeftOut, Review, ReviewedDevice};
use crate::text::{self, escape, prose};
use crate::{name, number};

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

/// What was made for a yes or no, and what a user would have noticed: beside each other if there are both.
pub(crate) fn write(out: &mut String, review: &Review, groups: &[TestGroup]) {
    let (mut decided, mut noticed) = (String::new(), String::new());
    verdicts(&mut decided, groups);
    felt_like(&mut noticed, review, groups);
    out.push_str("<section id=\"verdicts\" aria-label=\"Verdicts\">\n");
    if decided.is_empty() || noticed.is_empty() {
        out.push_str(&decided);
        out.push_str(&noticed);
    } else {
        out.push_str(&format!("<div class=\"two\">\n<div>\n{decided}</div>\n<div>\n{noticed}</div>\n</div>\n"));
    }
    out.push_str("</section>\n");
}

fn verdicts(out: &mut String, groups: &[TestGroup]) {
    let found: Vec<_> =
        groups.iter().flat_map(|g| g.outcomes.iter().filter_map(move |o| Some((g, o, o.verdict.as_ref()?)))).collect();
    if found.is_empty() {
        return;
    }
    out.push_str("<h2>Verdicts</h2>\n<ul class=\"verdicts\">\n");
    for (group, outcome, verdict) in found {
        let (class, word) = (super::verdict_class(verdict), verdict.word());
        out.push_str(&format!(
            "<li><span class=\"tag {class}\">{word}</span> <a href=\"#{}\">{}</a>, {}: {}</li>\n",
            group.anchor,
            escape(&group.title()),
            escape(&outcome.device),
            prose(&verdict.sentence)
        ));
    }
    out.push_str("</ul>\n");
}

fn felt_like(out: &mut String, review: &Review, groups: &[TestGroup]) {
    let (noticed, others) = felt::felt(review, groups);
    if noticed.is_empty() && others.calm == 0 {
        return;
    }
    out.push_str("<h2>What it felt like</h2>\n");
    if !noticed.is_empty() {
        out.push_str(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What it felt like\"><table class=\"metrics\">\n\
             <thead><tr><th scope=\"col\">Test</th><th scope=\"col\">Drive</th><th scope=\"col\" class=\"n\">Longest gap</th>",
        );
        for (_, name) in FELT_FIGURES {
            out.push_str(&format!("<th scope=\"col\" class=\"n\">Seconds {name}</th>"));
        }
        out.push_str("</tr></thead><tbody>\n");
        for row in &noticed {
            out.push_str(&format!(
                "<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th><td>{}</td><td class=\"n\">{}</td>",
                row.anchor,
                escape(&row.test),
                escape(&row.device),
                escape(&row.longest)
            ));
            for share in &row.shares {
                out.push_str(&format!("<td class=\"n\">{}</td>", escape(share)));
            }
            out.push_str("</tr>\n");
        }
        out.push_str(
            "</tbody></table></div>\n<p class=\"under\">Share of the seconds in which a request had been waiting for longer. \
             A gap is time without a completion.</p>\n",
        );
    }
    let sentence = others.sentence(noticed.len());
    if !sentence.is_empty() {
        out.push_str(&format!("<p class=\"under\">{sentence}</p>\n"));
    }
}

/// Says of a review that lacks tests that it does.
pub(crate) fn unfinished(out: &mut String, review: &Review) {
    let missing: Vec<&LeftOut> = review.left_out.iter().filter(|test| test.unfinished).collect();
    if missing.is_empty() {
        return;
    }
    let of = |test: &&LeftOut| format!("{} of {}", test.run(), name::pretty(&test.device));
    let mut named: Vec<String> = missing.iter().map(of).collect();
    named.dedup();
    let (count, more) = (super::counted(missing.len(), "test"), if named.len() > MISSING_NAMED { ", …" } else { "" });
    named.truncate(MISSING_NAMED);
    // A job that is stopped has the figures of what it did.
    let is_below =
        |o: &Outcome, test: &LeftOut| (&o.device, &o.test, &o.variant) == (&test.device, &test.test, &test.variant);
    let below = match missing.iter().filter(|test| review.outcomes.iter().any(|o| is_below(o, test))).count() {
        0 => "What is below is of the others.",
        n if n == missing.len() => "What is below is of what ran.",
        _ => "What is below is of the others, and of these as far as they ran.",
    };
    out.push_str(&format!(
        "<p class=\"notes\"><strong>This review is not whole.</strong> {count} did not finish: {}{more}. \
         {below}</p>\n",
        escape(&named.join(", "))
    ));
}

/// Tests that are named among those that did not finish; all of them stand below, each with its reason.
const MISSING_NAMED: usize = 8;

/// Tests that a device of the review has no figures of, and why.
pub(crate) fn left_out(out: &mut String, review: &Review) {
    if review.left_out.is_empty() {
        return;
    }
    let mut devices: Vec<String> = Vec::new();
    for left_out in &review.left_out {
        let name = name::pretty(&left_out.device);
        if !devices.contains(&name) {
            devices.push(name);
        }
    }
    let tests = super::counted(review.left_out.len(), "test");
    out.push_str(&format!(
        "<details class=\"left-out\"><summary>Left out: {tests} of {}</summary>\n<ul>\n",
        escape(&devices.join(", "))
    ));
    for left_out in &review.left_out {
        let (run, device) = (left_out.run(), name::pretty(&left_out.device));
        out.push_str(&format!("<li>{} of {}: {}</li>\n", escape(&run), escape(&device), escape(&left_out.why)));
    }
    out.push_str("</ul></details>\n");
}

/// Why the figures of a test put several drives in no order, if they do not.
pub(crate) fn in_no_order(review: &Review, outcomes: &[&Outcome]) -> Option<&'static str> {
    let runs: Vec<(&Outcome, f64)> = outcomes.iter().map(|o| (*o, reach::capacity_of(review, &o.device))).collect();
    reach::no_order(&runs).map(reach::NoOrder::in_words)
}

/// What is the figure of a steady state only where there is one.
const SETTLES: &str = random_writes::MEAN;

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
    let Some(doubt) = doubt(outcome) else { return "–".to_owned() };
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
/// figure of it.
fn stands(outcome: &Outcome, key: &str) -> bool {
    outcome.has_settled() || is_left(outcome) || key != SETTLES && outcome.test != "steady-state"
}

pub(crate) fn key_figures(out: &mut String, review: &Review, groups: &[TestGroup]) {
    if groups.is_empty() {
        return;
    }
    out.push_str(
        "<h2 id=\"key-figures\">Key figures</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Key figures\">",
    );
    out.push_str("<table class=\"key cards\"><thead><tr><th scope=\"col\">Test</th><th scope=\"col\">Figure</th>");
    for device in &review.devices {
        out.push_str(&format!("<th scope=\"col\" class=\"n\">{}</th>", escape(&device.facts.name)));
    }
    out.push_str("</tr></thead><tbody>\n");
    for group in groups {
        let no_order = in_no_order(review, &group.outcomes);
        for (key, label) in keys_of(&group.outcomes) {
            let label = no_order.map_or_else(|| label.clone(), |why| format!("{label} ({why})"));
            let outcome = |name: &str| group.outcomes.iter().find(|o| o.device == name).copied();
            let metric = |name: &str| outcome(name)?.metrics.get(key);
            let all: Vec<_> = review.devices.iter().map(|d| metric(&d.facts.name)).collect();
            // Beside those that have not settled, a bar is as long as it would be beside what they have come to so far.
            let so_far = |d: &ReviewedDevice| random_writes::so_far(outcome(&d.facts.name)?, key);
            let most = review.devices.iter().filter_map(so_far).fold(0.0, f64::max);
            let lower = all.iter().flatten().any(|m| better_end(key, &m.unit) == Some(Better::Lower))
                && review.devices.len() > 1;
            out.push_str(&format!(
                "<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th><td class=\"words\">{}</td>",
                group.anchor,
                escape(&group.title()),
                escape(&if lower { format!("{label} (lower is better)") } else { label })
            ));
            for (device, m) in review.devices.iter().zip(all) {
                let name = escape(&device.facts.name);
                let text = escape(&figure_of(outcome(&device.facts.name), key));
                match m {
                    Some(m) => {
                        // A bar behind the figure, where there is something to compare it with and a longer one is better.
                        let share = if most > 0.0 { (m.value / most * 100.0).clamp(0.0, 100.0) } else { 0.0 };
                        let bar = if review.devices.len() > 1 {
                            format!(" style=\"--w:{}%\"", number::trimmed(share, 1))
                        } else {
                            String::new()
                        };
                        let settled = outcome(&device.facts.name).is_none_or(|outcome| stands(outcome, key));
                        let bar = if settled && !lower && no_order.is_none() { bar } else { String::new() };
                        out.push_str(&format!("<td class=\"n bar\" data-l=\"{name}\"{bar}>{text}</td>"));
                    }
                    None => {
                        out.push_str(&format!("<td class=\"n\" data-l=\"{name}\">{text}</td>"));
                    }
                }
            }
            out.push_str("</tr>\n");
        }
    }
    out.push_str("</tbody></table></div>\n");
}
