//! The tables of a test: metrics, time by cause, slowest I/Os, parameters, and the data behind a chart.

use ssdlab_bench::{Mark, SHARE_BELOW, Series, SlowIo, percentile_of};
use ssdlab_core::CAUSES;

use crate::compare::TestGroup;
use crate::figures;
use crate::number;
use crate::review::Review;
use crate::svg::{Figure, axis_title};
use crate::text::{escape, prose};

/// Charts of more points than this show a summary of each series instead of the points.
const TABLE_POINTS: usize = 400;

fn open(out: &mut String, label: &str, class: &str) {
    out.push_str(&format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"{class}\">\n",
        escape(label)
    ));
}

fn head(out: &mut String, columns: &[(&str, bool)]) {
    out.push_str("<thead><tr>");
    for (name, numeric) in columns {
        let class = if *numeric { " class=\"n\"" } else { "" };
        out.push_str(&format!("<th scope=\"col\"{class}>{}</th>", escape(name)));
    }
    out.push_str("</tr></thead><tbody>\n");
}

fn close(out: &mut String) {
    out.push_str("</tbody></table></div>\n");
}

/// A table as it is: columns with whether they hold numbers, rows of text.
pub(crate) fn plain(out: &mut String, label: &str, columns: &[(String, bool)], rows: &[Vec<String>]) {
    open(out, label, "metrics");
    head(out, &columns.iter().map(|(name, numeric)| (name.as_str(), *numeric)).collect::<Vec<_>>());
    for row in rows {
        out.push_str("<tr>");
        for (cell, (_, numeric)) in row.iter().zip(columns) {
            out.push_str(&format!("<td{}>{}</td>", if *numeric { " class=\"n\"" } else { "" }, escape(cell)));
        }
        out.push_str("</tr>\n");
    }
    close(out);
}

/// Figures stay on a line, and stand at the right; what is longer is a sentence, which may break.
const LONGEST_FIGURE: usize = 32;

/// The tables that the test itself gives: each drive's, but once where all drives have the same.
pub(crate) fn own(out: &mut String, group: &TestGroup) {
    for (i, outcome) in group.outcomes.iter().enumerate() {
        for table in &outcome.tables {
            let shared = group.outcomes.iter().all(|o| o.tables.contains(table));
            if shared && i > 0 {
                continue;
            }
            let whose =
                if group.outcomes.len() > 1 && !shared { format!(", {}", outcome.device) } else { String::new() };
            let title = format!("{}{whose}", table.title);
            out.push_str(&format!("<h3>{}</h3>\n", escape(&title)));
            let in_words =
                |i: usize| table.rows.iter().any(|row| row.get(i).is_some_and(|c| c.chars().count() > LONGEST_FIGURE));
            let numeric: Vec<bool> = (0..table.columns.len()).map(|i| i > 0 && !in_words(i)).collect();
            // Beside three columns, a phone has no room for sentences.
            open(out, &title, if numeric.iter().skip(1).all(|&n| n) { "own" } else { "own cards" });
            head(out, &table.columns.iter().zip(&numeric).map(|(c, &n)| (c.as_str(), n)).collect::<Vec<_>>());
            for row in &table.rows {
                for (i, cell) in row.iter().enumerate() {
                    let cell = match cell.parse::<u64>() {
                        Ok(count) if i > 0 => number::grouped(count as f64, 0),
                        _ => prose(cell),
                    };
                    out.push_str(&if i == 0 {
                        format!("<tr><th scope=\"row\">{cell}</th>")
                    } else if numeric.get(i).is_none_or(|&n| n) {
                        let column = table.columns.get(i).map_or("", String::as_str);
                        format!("<td class=\"n\" data-l=\"{}\">{cell}</td>", escape(column))
                    } else {
                        format!("<td class=\"words\">{cell}</td>")
                    });
                }
                out.push_str("</tr>\n");
            }
            close(out);
            if !table.caption.is_empty() {
                out.push_str(&format!("<p class=\"under\">{}</p>\n", prose(&table.caption)));
            }
        }
    }
}

/// A row of every metric, a column of every drive.
pub(crate) fn metrics(out: &mut String, review: &Review, group: &TestGroup) {
    let keys = figures::key_metrics(&group.outcomes, usize::MAX);
    if keys.is_empty() {
        return;
    }
    out.push_str("<h3>Figures</h3>\n");
    open(out, &format!("Figures of {}", group.title()), "metrics");
    let mut columns = vec![("Metric", false)];
    let single = review.devices.len() == 1;
    columns.extend(group.outcomes.iter().map(|o| (if single { "Value" } else { o.device.as_str() }, true)));
    head(out, &columns);
    for key in keys {
        let label = escape(&figures::label(&group.outcomes, key));
        out.push_str(&format!("<tr><th scope=\"row\">{label} <code>{}</code></th>", escape(key)));
        for outcome in &group.outcomes {
            let text = outcome.metrics.get(key).map_or_else(|| "–".to_owned(), |m| number::value(m.value, &m.unit));
            out.push_str(&format!("<td class=\"n\">{}</td>", escape(&text)));
        }
        out.push_str("</tr>\n");
    }
    close(out);
}

/// Mean microseconds by cause, a column of every kind of I/O.
pub(crate) fn time(out: &mut String, group: &TestGroup) {
    let shares: Vec<_> = group.outcomes.iter().flat_map(|o| o.time_shares.iter().map(move |s| (*o, s))).collect();
    let several = group.outcomes.iter().filter(|o| !o.time_shares.is_empty()).count() > 1;
    let name = |(o, s): &(&ssdlab_bench::Outcome, &ssdlab_bench::TimeShare)| {
        if several { format!("{}, {}", s.label, o.device) } else { s.label.clone() }
    };
    out.push_str("<details><summary>Mean time by cause, as a table</summary>\n");
    open(out, "Mean time by cause", "time");
    let names: Vec<String> = shares.iter().map(name).collect();
    let mut columns = vec![("Cause", false)];
    columns.extend(names.iter().map(|n| (n.as_str(), true)));
    head(out, &columns);
    for cause in CAUSES {
        let us = |s: &ssdlab_bench::TimeShare| s.mean_us.get(cause.key()).copied().unwrap_or(0.0);
        if shares.iter().all(|(_, s)| us(s) == 0.0) {
            continue;
        }
        out.push_str(&format!("<tr><th scope=\"row\">{}</th>", cause.label()));
        for (_, share) in &shares {
            let text = if us(share) == 0.0 { "–".to_owned() } else { number::latency(us(share)) };
            out.push_str(&format!("<td class=\"n\">{text}</td>"));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("<tr class=\"sum\"><th scope=\"row\">mean latency</th>");
    for (_, share) in &shares {
        out.push_str(&format!("<td class=\"n\">{}</td>", number::latency(share.latency_mean_us)));
    }
    out.push_str("</tr>\n<tr><th scope=\"row\">I/Os</th>");
    for (_, share) in &shares {
        out.push_str(&format!("<td class=\"n\">{}</td>", number::grouped(share.ios as f64, 0)));
    }
    out.push_str("</tr>\n");
    close(out);
    out.push_str("</details>\n");
}

/// The slowest I/Os of each drive, with their causes in words.
pub(crate) fn slowest(out: &mut String, group: &TestGroup) {
    let drives: Vec<_> = group.outcomes.iter().filter(|o| !o.slowest.is_empty()).collect();
    if drives.is_empty() {
        return;
    }
    out.push_str("<h3>The slowest I/Os</h3>\n");
    for outcome in drives {
        if group.outcomes.len() > 1 {
            out.push_str(&format!("<h4>{}</h4>\n", escape(&outcome.device)));
        }
        open(out, &format!("The slowest I/Os of {}", outcome.device), "slowest cards");
        let of_runs = outcome.slowest.iter().any(|slow| slow.run.is_some());
        let run = of_runs.then_some(("Run", false));
        let columns = [("Latency", true), ("At", true)].into_iter().chain(run).chain([("I/Os", false), ("Why", false)]);
        head(out, &columns.collect::<Vec<_>>());
        for event in events(&outcome.slowest) {
            let worst = event[0];
            let what = match event.len() {
                1 => what(worst),
                n => format!("{n} at once; the slowest: {}", what(worst)),
            };
            let run = worst.run.as_deref().unwrap_or_default();
            let run = if of_runs { format!("<td>{}</td>", prose(run)) } else { String::new() };
            out.push_str(&format!(
                "<tr><td class=\"n\"><b>{}</b></td><td class=\"n\" data-l=\"at\">{} s</td>{run}<td>{}</td><td class=\"words\">{}</td></tr>\n",
                number::latency(worst.latency_us),
                number::grouped(worst.at_s, 3),
                escape(&what),
                prose(&worst.sentence)
            ));
        }
        close(out);
    }
}

/// Half a nanosecond: of requests one at a time, one is sent when the other ends.
const SAME_INSTANT_S: f64 = 0.5e-9;

/// Requests of one run that waited while the slowest of their event did, that one first, in the order of the slowest.
fn events(slowest: &[SlowIo]) -> Vec<Vec<&SlowIo>> {
    let ends = |slow: &SlowIo| slow.at_s + slow.latency_us / 1e6 - SAME_INSTANT_S;
    let overlap = |a: &SlowIo, b: &SlowIo| a.run == b.run && a.at_s < ends(b) && b.at_s < ends(a);
    let mut events: Vec<Vec<&SlowIo>> = Vec::new();
    for slow in slowest {
        match events.iter_mut().find(|event| overlap(event[0], slow)) {
            Some(event) => event.push(slow),
            None => events.push(vec![slow]),
        }
    }
    events
}

fn what(slow: &SlowIo) -> String {
    if slow.op == "flush" {
        return slow.op.clone();
    }
    format!("{} {} at {}", slow.op, number::transfer(slow.length_bytes), number::bytes(slow.offset_bytes as f64))
}

/// What the test was run with.
pub(crate) fn parameters(out: &mut String, group: &TestGroup) {
    let mut keys: Vec<&str> = group.outcomes.iter().flat_map(|o| o.params.keys().map(String::as_str)).collect();
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return;
    }
    out.push_str("<details><summary>Parameters</summary>\n");
    open(out, "Parameters", "params");
    let mut columns = vec![("Parameter", false)];
    columns.extend(group.outcomes.iter().map(|o| (o.device.as_str(), true)));
    head(out, &columns);
    for key in keys {
        out.push_str(&format!("<tr><th scope=\"row\"><code>{}</code></th>", escape(key)));
        for outcome in &group.outcomes {
            let text = match outcome.params.get(key) {
                None => "–".to_owned(),
                Some(serde_json::Value::String(s)) => s.clone(),
                Some(v) => v.to_string(),
            };
            out.push_str(&format!("<td class=\"n\">{}</td>", escape(&text)));
        }
        out.push_str("</tr>\n");
    }
    close(out);
    out.push_str("</details>\n");
}

/// The data of a chart, for those who cannot or would rather not see it, and the files behind it.
pub(crate) fn data(out: &mut String, figure: &Figure, files: &[String]) {
    let points: usize = figure.series.iter().map(|s| s.points.len()).sum();
    if points == 0 {
        return;
    }
    out.push_str("<details class=\"data\"><summary>Data</summary>\n");
    open(out, &format!("Data of {}", figure.title), "data");
    if figure.x.unit == SHARE_BELOW {
        by_percentile(out, figure);
    } else if points <= TABLE_POINTS && figure.mark != Mark::Scatter {
        by_position(out, figure);
    } else if points <= TABLE_POINTS && !figure.point_names.is_empty() {
        by_point(out, figure);
    } else {
        by_series(out, figure);
    }
    close(out);
    let links: Vec<String> = files.iter().map(|path| format!("<a href=\"{0}\">{0}</a>", escape(path))).collect();
    if !links.is_empty() {
        out.push_str(&format!("<p class=\"files\">{}</p>\n", links.join(" · ")));
    }
    out.push_str("</details>\n");
}

fn by_position(out: &mut String, figure: &Figure) {
    let x_title = axis_title(&figure.x);
    let mut columns = vec![(if x_title.is_empty() { "Position" } else { &x_title }, false)];
    let y_title = axis_title(&figure.y);
    let name = |s: &'_ str| {
        if s.is_empty() { y_title.clone() } else { s.to_owned() }
    };
    let names: Vec<String> = figure.series.iter().map(|s| name(&s.name)).collect();
    columns.extend(names.iter().map(|n| (n.as_str(), true)));
    head(out, &columns);
    let beside = |s: &Series| number::Beside::of(s.points.iter().map(|p| p[1]), &figure.y.unit);
    let series: Vec<_> = figure.series.iter().map(|s| (s, beside(s))).collect();
    let positions = figure.positions();
    let labels = match figure.x.categories.as_slice() {
        [] => number::told_apart(&positions, &figure.x.unit, |x| number::value(x, &figure.x.unit)),
        names => {
            let name = |&x: &f64| names.get(x as usize).map_or_else(|| number::value(x, &figure.x.unit), Clone::clone);
            positions.iter().map(name).collect()
        }
    };
    for (x, label) in positions.into_iter().zip(labels) {
        out.push_str(&format!("<tr><th scope=\"row\">{}</th>", escape(&label)));
        for (series, beside) in &series {
            let at = series.points.iter().filter(|p| p[0].to_bits() == x.to_bits());
            let found: Vec<String> = at.map(|p| beside.text(p[1])).collect();
            let text = if found.is_empty() { "–".to_owned() } else { found.join(", ") };
            out.push_str(&format!("<td class=\"n\">{}</td>", escape(&text)));
        }
        out.push_str("</tr>\n");
    }
}

/// The percentiles that reviews name.
const PERCENTILES: [(&str, f64); 6] =
    [("50 %", 50.0), ("90 %", 90.0), ("95 %", 95.0), ("99 %", 99.0), ("99.9 %", 99.9), ("99.99 %", 99.99)];

/// How many of them a run on a part of the drive has.
const IN_SMALL: usize = 4;

/// A curve of percentiles: its points are steps of a histogram, so that their own median would say nothing.
fn by_percentile(out: &mut String, figure: &Figure) {
    // On a part of the drive the slowest requests are not those of the whole one.
    let in_small = figure.in_small;
    let named = if in_small { &PERCENTILES[..IN_SMALL] } else { &PERCENTILES[..] };
    let mut columns = vec![("Share of the requests", false)];
    columns.extend(named.iter().map(|(name, _)| (*name, true)));
    let to_slowest = !in_small && !figure.is_band;
    if to_slowest {
        columns.push(("Slowest", true));
    }
    head(out, &columns);
    let y_title = axis_title(&figure.y);
    let mut rows: Vec<(&str, Vec<Option<f64>>)> = Vec::new();
    for series in &figure.series {
        let Some(&[requests, slowest]) = series.points.last() else { continue };
        let name = if series.name.is_empty() { &y_title } else { &series.name };
        // Of fewer requests no such percentile is known: it would be the slowest under another name.
        let is_known = |percent: f64| requests * (100.0 - percent) >= 99.9;
        let at = |percent: f64| percentile_of(&series.points, percent, to_slowest).filter(|_| is_known(percent));
        let last = to_slowest.then_some(Some(slowest));
        rows.push((name, named.iter().map(|(_, percent)| at(*percent)).chain(last).collect()));
    }
    let beside = number::Beside::of(rows.iter().flat_map(|row| &row.1).flatten().copied(), &figure.y.unit);
    for (name, values) in &rows {
        out.push_str(&format!("<tr><th scope=\"row\">{}</th>", escape(name)));
        figures(out, values, &beside);
        out.push_str("</tr>\n");
    }
}

/// The cells of a row of figures; a dash where there is none.
fn figures(out: &mut String, values: &[Option<f64>], beside: &number::Beside<'_>) {
    for value in values {
        let text = value.map_or_else(|| "–".to_owned(), |v| beside.text(v));
        out.push_str(&format!("<td class=\"n\">{}</td>", escape(&text)));
    }
}

/// The mean of a curve. Points of a rate by position stand for as much data each, not for as much time: their mean is the
/// harmonic one, the rate of all of it. A line with a few corners has none.
fn mean_of(ys: &[f64], figure: &Figure) -> Option<f64> {
    if figure.x.label == "position" && figure.y.unit == "MB/s" {
        let time: f64 = ys.iter().map(|y| 1.0 / y).sum();
        return (ys.len() > CORNERS).then_some(ys.len() as f64 / time);
    }
    Some(ys.iter().sum::<f64>() / ys.len() as f64)
}

/// A line of stages has two for each.
const CORNERS: usize = 12;

/// Points that have names, one by one.
fn by_point(out: &mut String, figure: &Figure) {
    let (x, y) = (axis_title(&figure.x), axis_title(&figure.y));
    head(out, &[("Point", false), ("Series", false), (&x, true), (&y, true)]);
    let named = figure.series.iter().zip(&figure.point_names);
    let points: Vec<(&[f64; 2], &str, &str)> = named
        .flat_map(|(s, names)| s.points.iter().zip(names).map(|(point, name)| (point, name.as_str(), s.name.as_str())))
        .collect();
    let texts = |of: usize, unit: &str| {
        let values: Vec<f64> = points.iter().map(|point| point.0[of]).collect();
        let beside = number::Beside::of(values.iter().copied(), unit);
        number::told_apart(&values, unit, |value| beside.text(value))
    };
    let (xs, ys) = (texts(0, &figure.x.unit), texts(1, &figure.y.unit));
    for ((_, name, series), (x, y)) in points.iter().zip(xs.iter().zip(&ys)) {
        let [name, series, x, y] = [name, series, x.as_str(), y].map(escape);
        out.push_str(&format!(
            "<tr><th scope=\"row\">{name}</th><td>{series}</td><td class=\"n\">{x}</td><td class=\"n\">{y}</td></tr>\n"
        ));
    }
}

fn by_series(out: &mut String, figure: &Figure) {
    let numeric = ["Points", "Lowest", "5th percentile", "Median", "Mean", "95th percentile", "Highest"];
    let columns: Vec<(&str, bool)> = [("Series", false)].into_iter().chain(numeric.map(|c| (c, true))).collect();
    head(out, &columns);
    let mut rows: Vec<(String, usize, [Option<f64>; 6])> = Vec::new();
    for series in figure.series.iter().filter(|s| !s.points.is_empty()) {
        let mut ys: Vec<f64> = series.points.iter().map(|p| p[1]).collect();
        ys.sort_by(f64::total_cmp);
        let at = |percent: usize| ys[(ys.len() * percent / 100).min(ys.len() - 1)];
        let mean = mean_of(&ys, figure);
        let median = (ys[(ys.len() - 1) / 2] + ys[ys.len() / 2]) / 2.0;
        let name = if series.name.is_empty() { axis_title(&figure.y) } else { series.name.clone() };
        let last = ys[ys.len() - 1];
        rows.push((name, ys.len(), [Some(ys[0]), Some(at(5)), Some(median), mean, Some(at(95)), Some(last)]));
    }
    let beside = number::Beside::of(rows.iter().flat_map(|row| row.2).flatten(), &figure.y.unit);
    for (name, points, values) in &rows {
        out.push_str(&format!("<tr><th scope=\"row\">{}</th><td class=\"n\">{points}</td>", escape(name)));
        figures(out, values, &beside);
        out.push_str("</tr>\n");
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::{Axis, Chart};

    use super::*;

    fn slow(at_s: f64, latency_us: f64) -> SlowIo {
        SlowIo {
            run: None,
            at_s,
            op: "write".to_owned(),
            offset_bytes: 0,
            length_bytes: 4096,
            latency_us,
            causes_us: Default::default(),
            sentence: String::new(),
        }
    }

    /// The cells of a table, heads of rows among them.
    fn cells(table: fn(&mut String, &Figure), figure: &Figure) -> Vec<String> {
        let mut out = String::new();
        table(&mut out, figure);
        let (_, rows) = out.split_once("<tbody>").unwrap();
        let cells = rows.split("</td>").flat_map(|cell| cell.split("</th>"));
        let text = |cell: &str| cell.rsplit('>').next().unwrap().trim().replace('\u{a0}', " ");
        cells.map(text).filter(|text| !text.is_empty()).collect()
    }

    fn figure(mark: Mark, units: [&str; 2], points: &[[f64; 2]]) -> Figure {
        let [x, y] = units.map(|unit| Axis::linear("", unit));
        let series = vec![Series { name: "all".to_owned(), points: points.to_vec() }];
        let (id, title, caption) = Default::default();
        let chart = Chart { id, title, caption, mark, x, y, series, overlay_drives: false };
        Figure::of_chart(&chart, "", String::new(), None)
    }

    #[test]
    fn figures_in_a_table_have_equal_digits() {
        let percentiles = figure(Mark::Line, [SHARE_BELOW, "us"], &[[2.0, 5_340.0], [10.0, 7_210.0], [100.0, 8_900.0]]);
        assert_eq!(
            cells(by_percentile, &percentiles),
            ["all", "5.34 ms", "7.21 ms", "7.96 ms", "8.71 ms", "–", "–", "8.90 ms"]
        );
        // A band ends before the slowest request of some of its drives.
        let band = Figure { is_band: true, ..percentiles };
        assert_eq!(cells(by_percentile, &band)[4..], ["8.90 ms", "–", "–"]);
        let series = figure(Mark::Line, ["s", "us"], &[[1.0, 5_340.0], [2.0, 8_900.0]]);
        let told = ["all", "2", "5.34 ms", "5.34 ms", "7.12 ms", "7.12 ms", "8.90 ms", "8.90 ms"];
        assert_eq!(cells(by_series, &series), told);
    }

    #[test]
    fn rows_and_points_that_differ_do_not_read_the_same() {
        let rows = figure(Mark::Line, ["us", "ratio"], &[[1.0, 2.0], [1.002, 2.0], [1.004, 2.0], [3.0, 2.0]]);
        assert_eq!(cells(by_position, &rows), ["1.000 µs", "2", "1.002 µs", "2", "1.004 µs", "2", "3 µs", "2"]);
        let mut points = figure(Mark::Scatter, ["us", "MB/s"], &[[104.9, 39.04], [105.1, 38.97], [6_000.0, 38.97]]);
        points.point_names = vec![["a", "b", "c"].map(str::to_owned).to_vec()];
        let told = ["a", "all", "104.9 µs", "39.04 MB/s", "b", "all", "105.1 µs", "38.97 MB/s"];
        assert_eq!(cells(by_point, &points), [&told[..], &["c", "all", "6 ms", "38.97 MB/s"]].concat());
    }

    #[test]
    fn requests_one_after_the_other_are_not_at_once() {
        let sizes = |all: &[SlowIo]| events(all).iter().map(Vec::len).collect::<Vec<_>>();
        // As a drive at QD1 has them.
        assert_eq!(sizes(&[slow(0.335140, 104_674.0), slow(0.439814, 100_956.0)]), [1, 1]);
        assert_eq!(sizes(&[slow(0.3, 104_674.0), slow(0.400000, 100_956.0)]), [2]);
        // The third has met the second, and not the slowest.
        assert_eq!(sizes(&[slow(0.0, 3e6), slow(2.0, 2e6), slow(3.5, 1e6)]), [2, 1]);
        // Each run has times of its own.
        let of = |run: &str| SlowIo { run: Some(run.to_owned()), ..slow(0.0, 3e6) };
        assert_eq!(sizes(&[of("QD1"), of("QD4"), of("QD1")]), [2, 1]);
    }
}
