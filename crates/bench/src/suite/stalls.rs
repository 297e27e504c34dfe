//! What the mean hides: the longest gaps without a completion, and how often a user would have noticed.

use ssdlab_core::{CAUSES, Cause, MILLISECOND, Nanos, SECOND, format_duration, to_us};

use super::figures::{by_category, categories, chart, put, series};
use crate::explain;
use crate::measure::{Gap, Stalls};
use crate::outcome::{Axis, Chart, Mark, Outcome, Series, Table};

/// The title of the table of gaps.
pub const LONGEST_GAPS: &str = "The longest gaps without a completion";
/// Gaps in the table.
const LISTED: usize = 10;
/// Of each limit of [`crate::measure::FELT`], the figure that says in which share of the seconds a request had been waiting for
/// longer, and its name in charts and tables.
pub const FELT_FIGURES: [(&str, &str); 3] =
    [("seconds_over_100ms", "over 0.1 s"), ("seconds_over_500ms", "over 0.5 s"), ("seconds_over_1s", "over 1 s")];
/// Between share and cause.
const PERCENT_OF: &str = " % ";
const UNKNOWN: &str = "the device does not say";

/// The metrics, each with `suffix`; and a note where the latencies, which are those of completed requests, hide a wait.
pub(super) fn put_stalls(out: &mut Outcome, stalls: &Stalls, suffix: &str) {
    let longest = stalls.longest().first().map_or(0, |g| g.length);
    put(out, &format!("stall_longest{suffix}"), to_us(longest), "us");
    put(out, &format!("stall_share{suffix}"), stalls.percent_in_stalls(), "%");
    // A rate hides it: of a run that is answered for a moment and then no more, it is what the moment makes of the whole.
    put(out, &format!("longest_gap_share{suffix}"), stalls.percent_in_longest(), "%");
    for ((key, _), percent) in FELT_FIGURES.into_iter().zip(stalls.percent_felt()) {
        put(out, &format!("{key}{suffix}"), percent, "%");
    }
    note_outlasted(out, stalls, "When");
}

/// A note where the latencies of a run, which are those of completed requests, hide a wait. `when` comes before "the time was over".
pub(super) fn note_outlasted(out: &mut Outcome, stalls: &Stalls, when: &str) {
    let (requests, longest) = stalls.outlasted();
    if longest >= SECOND {
        let who = match requests {
            1 => "a request was still under way,".to_owned(),
            n => format!("{n} requests were still under way, the oldest of them"),
        };
        out.notes.push(format!(
            "{when} the time was over, {who} for {}: latencies are those of completed requests.",
            format_duration(longest)
        ));
    }
}

/// The two charts and the table of a run, which `label` names.
pub(super) fn show_stalls(out: &mut Outcome, stalls: &Stalls, label: &str) {
    let gaps = stalls.longest();
    if gaps.is_empty() {
        return;
    }
    out.charts.push(gap_chart(&gaps, stalls.began(), label));
    out.charts.push(chart(
        "felt",
        "What it felt like",
        &format!("Share of the seconds in which a request had been waiting for longer. {label}."),
        Mark::Bars,
        categories("", "", FELT_FIGURES.map(|n| n.1.to_owned()).to_vec()),
        Axis { min: Some(0.0), max: Some(100.0), ..Axis::linear("share of seconds", "%") },
        vec![series("", by_category(&stalls.percent_felt()))],
    ));
    // Nobody notices shorter ones.
    let noticed: Vec<&Gap> = gaps.iter().filter(|gap| gap.length >= MILLISECOND).take(LISTED).collect();
    if noticed.is_empty() {
        return;
    }
    out.tables.push(Table {
        title: LONGEST_GAPS.to_owned(),
        caption: format!(
            "{label}. Where the time went of the requests that ended the gap, but for that behind others in the queue, if it is half \
             of the gap or more."
        ),
        columns: ["at", "length", "requests that ended it", "what the device did"].map(str::to_owned).to_vec(),
        rows: noticed.into_iter().map(|gap| row(gap, stalls.began())).collect(),
    });
}

/// A dot a gap, by the main cause of what ended it.
fn gap_chart(gaps: &[Gap], began: Nanos, label: &str) -> Chart {
    let main = |g: &Gap| cause_of(g).map(|c| c.0);
    let of_cause = |cause: Option<Cause>| -> Option<Series> {
        let mut points: Vec<[f64; 2]> = gaps
            .iter()
            .filter(|g| main(g) == cause)
            .map(|g| [(g.start - began) as f64 / 1e9, to_us(g.length)])
            .collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        (!points.is_empty()).then(|| series(cause.map_or(UNKNOWN, Cause::label), points))
    };
    let lines: Vec<Series> = CAUSES.iter().map(|&c| Some(c)).chain([None]).filter_map(of_cause).collect();
    // A single cause has no legend.
    let causes = match lines.as_slice() {
        [one] => format!("A dot a gap; the main cause of what ended each of them: {}.", one.name),
        _ => "A dot a gap, by the main cause of what ended it.".to_owned(),
    };
    chart(
        "stalls",
        "The longest gaps without a completion",
        &format!("{causes} {label}."),
        Mark::Scatter,
        Axis { min: Some(0.0), ..Axis::linear("time", "s") },
        Axis::log("length of the gap", "us"),
        lines,
    )
}

/// What held up the requests that ended a gap, and how much of the gap it has in per cent, or of the time in which they did not wait
/// for each other where that is longer: a queue is no cause, but what holds up those in front. Where that time is not even half of the
/// gap, what they met behind the queue explains nothing: it was the queue, or nobody knows, as of a request that came late.
fn cause_of(gap: &Gap) -> Option<(Cause, f64)> {
    let mut inside = gap.breakdown;
    inside.nanos[Cause::Queue as usize] = 0;
    let (time, gaps) = (inside.sum(), gap.length.saturating_mul(gap.requests));
    if time == 0 || 2 * time < gaps {
        return explain::main_cause(&gap.breakdown).filter(|&(cause, _)| cause == Cause::Queue);
    }
    let (cause, _) = explain::main_cause(&inside)?;
    Some((cause, 100.0 * inside.get(cause) as f64 / time.max(gaps) as f64))
}

fn row(gap: &Gap, began: Nanos) -> Vec<String> {
    let cause = match cause_of(gap) {
        Some((cause, percent)) => format!("{percent:.0}{PERCENT_OF}{}", cause.label()),
        None => UNKNOWN.to_owned(),
    };
    let at = format!("{:.3} s", (gap.start - began) as f64 / 1e9);
    vec![at, format_duration(gap.length), gap.requests.to_string(), cause]
}

/// The main cause of what ended the longest gap of a run, and its share in per cent, rounded as its table has it.
#[must_use]
pub fn cause_of_longest_gap(outcome: &Outcome) -> Option<(Cause, f64)> {
    let table = outcome.tables.iter().find(|table| table.title == LONGEST_GAPS)?;
    let (percent, label) = table.rows.first()?.last()?.split_once(PERCENT_OF)?;
    Some((CAUSES.into_iter().find(|cause| cause.label() == label)?, percent.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Breakdown;

    use super::*;

    #[test]
    fn the_cause_of_the_longest_gap_is_the_one_that_its_table_tells() {
        for cause in CAUSES.into_iter().filter(|&cause| cause != Cause::Queue) {
            let mut breakdown = Breakdown::default();
            breakdown.add(cause, 1_000_000);
            let other = if cause == Cause::Link { Cause::Bus } else { Cause::Link };
            breakdown.add(other, 500_000);
            // However long it waited for those in front.
            breakdown.add(Cause::Queue, 9_000_000);
            let gap = Gap { start: 0, length: 1_500_000, requests: 1, breakdown };
            let table = Table {
                title: LONGEST_GAPS.to_owned(),
                caption: String::new(),
                columns: Vec::new(),
                rows: vec![row(&gap, 0)],
            };
            let outcome = Outcome { tables: vec![table], ..Outcome::default() };
            assert_eq!(cause_of_longest_gap(&outcome), Some((cause, 67.0)));
        }
        let mut breakdown = Breakdown::default();
        breakdown.add(Cause::Queue, 1_000);
        let gap = Gap { start: 0, length: 1_000, requests: 1, breakdown };
        assert_eq!(cause_of(&gap), Some((Cause::Queue, 100.0)), "of nothing else is anything known");
        breakdown.add(Cause::Controller, 250);
        let gap = Gap { length: 1_250, breakdown, ..gap };
        assert_eq!(cause_of(&gap), Some((Cause::Queue, 80.0)), "a fifth of it is not why nothing was answered");
        let mut late = Breakdown::default();
        late.add(Cause::Controller, 250);
        assert_eq!(cause_of(&Gap { breakdown: late, ..gap }), None, "nor where it came late");
        late.add(Cause::Controller, 500);
        assert_eq!(cause_of(&Gap { breakdown: late, ..gap }), Some((Cause::Controller, 60.0)), "of the gap");
    }
}
