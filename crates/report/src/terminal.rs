//! The summary in the terminal: plain text, aligned, one screen where possible.

use ssdlab_bench::suite::FELT_FIGURES;
use ssdlab_bench::{Chart, ClaimKind, Mark, Outcome};

use crate::compare::{self, TestGroup};
use crate::felt;
use crate::figures::{doubt, figure_of, in_no_order, key_metrics, keys_of, label};
use crate::number;
use crate::review::{ClaimRow, ClaimState, Review, Tally};
use crate::write::Written;

/// The chart whose dots are gaps and not seconds.
const STALLS: &str = "stalls";

/// What stands out in colour, if the caller wants any.
#[derive(Clone, Copy)]
enum Tone {
    Head,
    Good,
    Bad,
    Quiet,
}

struct Painter {
    colour: bool,
}

impl Painter {
    fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Head => "1",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Quiet => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// A table whose columns are as wide as their widest cell; the first `left` stand left, the rest right.
fn table(rows: &[Vec<String>], left: usize) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |s: &str| s.chars().count();
    let widths: Vec<usize> =
        (0..columns).map(|c| rows.iter().filter_map(|r| r.get(c)).map(|s| width(s)).max().unwrap_or(0)).collect();
    rows.iter()
        .map(|row| {
            let cells = row.iter().enumerate().map(|(c, cell)| {
                let gap = " ".repeat(widths[c] - width(cell));
                if c < left { format!("{cell}{gap}") } else { format!("{gap}{cell}") }
            });
            cells.collect::<Vec<_>>().join("   ").trim_end().to_owned()
        })
        .collect()
}

/// The run as a line of blocks: the mean of each of `columns` stretches, against the highest of them.
fn sparkline(values: &[f64], columns: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let n = values.len();
    let columns = columns.min(n).max(1);
    let means: Vec<f64> = (0..columns)
        .map(|c| &values[c * n / columns..((c + 1) * n / columns).max(c * n / columns + 1).min(n)])
        .map(|part| part.iter().sum::<f64>() / part.len().max(1) as f64)
        .collect();
    let top = means.iter().copied().fold(0.0, f64::max);
    means.iter().map(|m| if top > 0.0 && *m > 0.0 { BLOCKS[((m / top * 8.0) as usize).min(7)] } else { ' ' }).collect()
}

/// The summary of a review. `colour` adds ANSI colours; without them, nothing is lost. `written` names the files.
#[must_use]
pub fn terminal_summary(review: &Review, written: Option<&Written>, colour: bool) -> String {
    let painter = Painter { colour };
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    for device in &review.devices {
        let facts = &device.facts;
        line(&painter.paint(Tone::Head, &facts.name));
        let capacity = number::bytes(facts.capacity_bytes as f64);
        let spare = facts
            .over_provisioning_percent
            .map_or(String::new(), |spare| format!(" · {} % spare area", number::trimmed(spare, 1)));
        line(&format!("  {} · {capacity}{spare}", facts.description));
    }
    let quick = match review.quick {
        true if review.is_shortened() => " · quick: runs are shorter than the published method",
        true => " · quick",
        false => "",
    };
    line(&painter.paint(Tone::Quiet, &format!("ssdlab {} · seed {}{quick}", review.version, review.seed)));
    let groups = compare::groups(review);
    if !groups.is_empty() {
        line("");
        let mut rows = Vec::new();
        if review.devices.len() > 1 {
            let names = review.devices.iter().map(|d| d.facts.name.clone());
            rows.push([String::new(), String::new()].into_iter().chain(names).collect());
        }
        for group in &groups {
            rows.extend(metric_rows(review, group));
        }
        for (i, text) in table(&rows, 2).into_iter().enumerate() {
            let head = i == 0 && review.devices.len() > 1;
            line(&if head { painter.paint(Tone::Head, &text) } else { text });
        }
        runs(review, &groups, &mut line);
        felt(review, &groups, &painter, &mut line);
        verdicts(&groups, &painter, &mut line);
    }
    claims(review, &painter, &mut line);
    if let Some(written) = written {
        line("");
        line(&format!("Report   {}", written.index.display()));
        line(&format!("Figures  {}", written.results.display()));
        let series = written.files.iter().filter(|f| f.extension().is_some_and(|e| e == "csv")).count();
        let charts = written.files.iter().filter(|f| f.extension().is_some_and(|e| e == "svg")).count();
        line(&format!("Series   {series} CSV files, {charts} charts as SVG and PNG in the same folder"));
    }
    out
}

/// Figures of a test, at the most.
const FIGURES: usize = 3;

/// Why none of the runs of a test came to a steady state, if that is so of each for one reason: of one of several it stands at its figure.
fn doubt_of_all(group: &TestGroup) -> Option<&'static str> {
    let first = doubt(group.first())?;
    group.outcomes.iter().all(|o| doubt(o) == Some(first)).then_some(first)
}

/// First what the page has for its key figures.
fn metric_rows(review: &Review, group: &TestGroup) -> Vec<Vec<String>> {
    let mut keys = keys_of(&group.outcomes);
    let leads = keys.len();
    for key in key_metrics(&group.outcomes, usize::MAX) {
        if keys.iter().all(|(have, _)| *have != key) {
            keys.push((key, label(&group.outcomes, key)));
        }
    }
    keys.truncate(FIGURES);
    let rows = keys.into_iter().enumerate().map(|(i, (key, label))| {
        let title = if i == 0 { group.title() } else { String::new() };
        let is_shortened = group.outcomes.iter().any(|o| o.shortened.is_some());
        let marks = [is_shortened.then_some("shortened"), doubt_of_all(group), in_no_order(review, &group.outcomes)];
        let marks: Vec<&str> = marks.into_iter().flatten().filter(|_| i == 0).collect();
        let figures = review.devices.iter().map(|d| {
            let outcome = group.outcomes.iter().find(|o| o.device == d.facts.name).copied();
            // Only of what leads a page says why it is absent.
            figure_of(outcome.filter(|o| i < leads || o.metrics.contains_key(key)), key)
        });
        let title = if marks.is_empty() { title } else { format!("{title} ({})", marks.join(", ")) };
        [title, label].into_iter().chain(figures).collect()
    });
    rows.collect()
}

/// How often a user would have noticed that the drive was busy.
fn felt(review: &Review, groups: &[TestGroup], painter: &Painter, line: &mut impl FnMut(&str)) {
    let (noticed, others) = felt::felt(review, groups);
    let sentence = others.sentence(noticed.len());
    if noticed.is_empty() && sentence.is_empty() {
        return;
    }
    line("");
    if !noticed.is_empty() {
        line(&painter.paint(Tone::Head, "What it felt like: share of seconds in which a request waited longer"));
        let heads = ["", "", "longest gap"].into_iter().chain(FELT_FIGURES.map(|l| l.1)).map(str::to_owned).collect();
        let rows = noticed.into_iter().map(|f| [f.test, f.device, f.longest].into_iter().chain(f.shares).collect());
        let rows: Vec<Vec<String>> = std::iter::once(heads).chain(rows).collect();
        for text in table(&rows, 2) {
            line(&format!("  {text}"));
        }
    }
    if !sentence.is_empty() {
        line(&painter.paint(Tone::Quiet, &sentence));
    }
}

/// The highest mean of a second. Runs in small have several points a second, each at the end of its part.
fn best_second(points: &[[f64; 2]]) -> f64 {
    let seconds: Vec<&[[f64; 2]]> = points.chunk_by(|a, b| libm::ceil(a[0]) == libm::ceil(b[0])).collect();
    // A second of which the run has a part only is none.
    let whole = seconds.iter().map(|s| s.len()).max().unwrap_or(0);
    let means =
        seconds.iter().filter(|s| s.len() == whole).map(|s| s.iter().map(|p| p[1]).sum::<f64>() / s.len() as f64);
    means.fold(0.0, f64::max)
}

/// The course of every per-second scatter, the first of each outcome.
fn runs(review: &Review, groups: &[TestGroup], line: &mut impl FnMut(&str)) {
    let mut rows = Vec::new();
    for outcome in groups.iter().flat_map(|g| &g.outcomes) {
        let is_rate = |c: &Chart| c.mark == Mark::Scatter && c.id != STALLS && c.x.unit == "s" && c.y.unit == "IOPS";
        let scatter = outcome.charts.iter().find(|c| is_rate(c));
        let Some(series) = scatter.and_then(|c| c.series.iter().find(|s| s.points.len() >= 60)) else {
            continue;
        };
        let values: Vec<f64> = series.points.iter().map(|p| p[1]).collect();
        let name = if review.devices.len() > 1 { outcome.device.as_str() } else { outcome.test.as_str() };
        let name = if outcome.variant.is_empty() { name.to_owned() } else { format!("{name}, {}", outcome.variant) };
        rows.push((name, sparkline(&values, 60), number::si(best_second(&series.points))));
    }
    if !rows.is_empty() {
        line("");
        let width = rows.iter().map(|r| r.0.chars().count()).max().unwrap_or(0);
        for (name, blocks, top) in rows {
            let gap = " ".repeat(width - name.chars().count());
            line(&format!("{name}{gap}  {blocks}  best second {top}"));
        }
    }
}

fn verdicts(groups: &[TestGroup], painter: &Painter, line: &mut impl FnMut(&str)) {
    let found: Vec<&&Outcome> = groups.iter().flat_map(|g| &g.outcomes).filter(|o| o.verdict.is_some()).collect();
    if !found.is_empty() {
        line("");
    }
    for outcome in found {
        if let Some(verdict) = &outcome.verdict {
            let word = match verdict.pass {
                Some(true) => painter.paint(Tone::Good, "pass"),
                Some(false) => painter.paint(Tone::Bad, "FAIL"),
                None => verdict.word().to_owned(),
            };
            line(&format!("{word}  {}: {}", outcome.device, verdict.sentence));
        }
    }
}

/// How many were met of the figures that are no evidence for the model, by kind.
fn not_counted(review: &Review) -> Vec<String> {
    let kinds = [
        (ClaimKind::Calibration, "that parameters were chosen for"),
        (ClaimKind::ByMethod, "by method"),
        (ClaimKind::AsBuilt, "as built"),
    ];
    let of_kind = |(kind, words)| {
        let Tally { met, missed, open } = review.tally(kind);
        let all = met + missed + open;
        (all > 0).then(|| format!("{met} of {all} {words}"))
    };
    kinds.into_iter().filter_map(of_kind).collect()
}

fn claims(review: &Review, painter: &Painter, line: &mut impl FnMut(&str)) {
    if review.claims.is_empty() {
        return;
    }
    let tally = review.tally(ClaimKind::Measured);
    line("");
    line(&format!(
        "Published figures measured here: {}, {}, {} without a result",
        painter.paint(Tone::Good, &format!("{} met", tally.met)),
        painter.paint(Tone::Bad, &format!("{} missed", tally.missed)),
        tally.open,
    ));
    let others = not_counted(review);
    if !others.is_empty() {
        line(&format!("Not counted: {}", others.join(", ")));
    }
    let is_counted = |c: &&ClaimRow| c.kind == ClaimKind::Measured && !c.repeated;
    let missed = review.claims.iter().filter(is_counted).filter(|c| c.state == ClaimState::Missed);
    let rows: Vec<Vec<String>> = missed
        .map(|c| {
            let ours = c.ours.map_or_else(|| c.ours_text.clone(), |v| number::value(v, &c.unit));
            let published = format!("published {}", c.published_with_unit());
            vec![format!("  missed  {}: {}", c.device, c.quantity), published, format!("here {ours}")]
        })
        .collect();
    for text in table(&rows, 1) {
        line(&painter.paint(Tone::Bad, &text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_falls_with_its_values() {
        let values: Vec<f64> = (0..600).map(|i| if i < 300 { 40_000.0 } else { 5_000.0 }).collect();
        assert_eq!(sparkline(&values, 4), "██▂▂");
        assert_eq!(sparkline(&[0.0, 1.0], 60), " █");
    }

    #[test]
    fn the_best_second_is_a_whole_one() {
        let run = |each: u32, seconds: u32, rate: &dyn Fn(u32) -> f64| -> Vec<[f64; 2]> {
            (0..each * seconds).map(|i| [f64::from(i + 1) / f64::from(each), rate(i)]).collect()
        };
        // The best eighth of a second is no second.
        let mut points = run(8, 4, &|i| if i == 9 { 9_000.0 } else { 1_000.0 });
        assert_eq!(best_second(&points), 2_000.0);
        points.push([4.125, 8_000.0]);
        assert_eq!(best_second(&points), 2_000.0);
        assert_eq!(best_second(&run(1, 90, &|i| f64::from(i))), 89.0);
        assert_eq!(best_second(&[]), 0.0);
    }

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "1".into()], vec!["long".into(), "1000".into()]];
        assert_eq!(table(&rows, 1), ["a         1", "long   1000"]);
    }
}
