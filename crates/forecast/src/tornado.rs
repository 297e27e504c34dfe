//! Sensitivities as a page: a tornado chart a figure.

use ssdlab_bench::{Axis, Chart, Mark, Series};
use ssdlab_report::{SweepFigure, SweepPage, SweepRow, SweepSection, SweepTable, figure_text};

use crate::sensitivity::{Bar, FigureSensitivity, Sensitivity};

/// Bars of a chart; the table has them all.
const MOST_BARS: usize = 12;
/// A bar shorter than this share of the figure is not drawn, in per cent.
const LEAST_PERCENT: f64 = 0.5;

/// The page. `how` says how the runs were made, in words beside words; `files` are those that lie beside it.
#[must_use]
pub fn page(sensitivity: &Sensitivity, version: &str, how: Vec<(String, String)>, files: Vec<String>) -> SweepPage {
    let mut sections: Vec<SweepSection> = sensitivity.figures.iter().map(section).collect();
    if !sensitivity.left_out.is_empty() {
        let rows = sensitivity.left_out.iter().map(|l| vec![l.key.clone(), l.value.clone(), l.reason.clone()]);
        let columns = ["key or figure", "value", "why"].map(|name| (name.to_owned(), false)).to_vec();
        let table = SweepTable { caption: "Not tried".to_owned(), columns, rows: rows.collect() };
        sections.push(SweepSection { title: "Left out".to_owned(), tables: vec![table], ..SweepSection::default() });
    }
    SweepPage {
        command: "sensitivity".to_owned(),
        title: format!("What the figures of {} hang on", sensitivity.device),
        deck: "Each estimate by itself at both ends of its band, or with the other values that it can have, and the figure with \
               it."
            .to_owned(),
        version: version.to_owned(),
        facts: how,
        notes: Vec::new(),
        sections,
        files,
    }
}

fn section(figure: &FigureSensitivity) -> SweepSection {
    let number = |v: f64| figure_text(v, &figure.unit);
    let text = format!("{} ({}, {}): {}.", figure.title, figure.test, figure.metric, figure.sentence(number));
    let rows = figure.bars.iter().map(|bar| {
        let (low, high) = bar.ends(figure.value);
        let tried: Vec<String> = bar.sides.iter().map(|s| format!("{}: {}", s.value, number(s.figure))).collect();
        let value = format!("{} {}", bar.value, bar.unit);
        let key = if bar.is_of_seeds() { "seed (chance, no estimate)" } else { &bar.key };
        vec![key.to_owned(), value.trim_end().to_owned(), tried.join("; "), number(low), number(high)]
    });
    let columns =
        [("estimate", false), ("as it is", false), ("with other values", false), ("lowest", true), ("highest", true)];
    let table = SweepTable {
        caption: "What moves it".to_owned(),
        columns: columns.map(|(name, is_number)| (name.to_owned(), is_number)).to_vec(),
        rows: rows.collect(),
    };
    let tables = if figure.bars.is_empty() { Vec::new() } else { vec![table] };
    SweepSection { title: figure.title.clone(), text, rows: tornado(figure).into_iter().collect(), tables }
}

/// Bars to both sides of the figure as it is, the widest on top.
fn tornado(figure: &FigureSensitivity) -> Option<SweepRow> {
    let percent = |v: f64| if figure.value == 0.0 { 0.0 } else { (v / figure.value - 1.0) * 100.0 };
    let ends = |bar: &Bar| {
        let (low, high) = bar.ends(figure.value);
        [percent(low), percent(high)]
    };
    let drawn: Vec<&Bar> = figure
        .bars
        .iter()
        .filter(|bar| {
            let [low, high] = ends(bar);
            high - low >= LEAST_PERCENT
        })
        .take(MOST_BARS)
        .collect();
    if drawn.is_empty() {
        return None;
    }
    let points = |end: usize| drawn.iter().enumerate().map(|(i, bar)| [i as f64, ends(bar)[end]]).collect();
    let names = drawn.iter().map(|bar| bar.key.clone()).collect();
    let chart = Chart {
        id: format!("tornado-{}-{}", figure.test, figure.metric.replace('_', "-")),
        title: format!("{}: what it hangs on", figure.title),
        caption: format!(
            "Change of the figure with the value of each estimate that makes it lowest or highest; seed: with other random \
             numbers.{}",
            match figure.bars.len() - drawn.len() {
                0 => String::new(),
                more => format!(" {more} more, which move it no further, are in the table."),
            }
        ),
        mark: Mark::Bars,
        x: Axis { categories: names, ..Axis::linear("", "") },
        y: Axis::linear("change", "%"),
        series: vec![
            Series { name: "lowest".to_owned(), points: points(0) },
            Series { name: "highest".to_owned(), points: points(1) },
        ],
        overlay_drives: false,
    };
    let figure = SweepFigure { chart, subject: String::new(), point_names: Vec::new(), stepped: Vec::new() };
    Some(SweepRow { heading: String::new(), figures: vec![figure] })
}
