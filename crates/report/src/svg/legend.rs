//! The legend: a swatch that shows colour, dash, marker or hatch, and the name.

use ssdlab_bench::Mark;

use super::Measures;
use super::canvas::{Anchor, Canvas};
use super::figure::Figure;
use super::marks;
use super::skin;
use crate::text;

/// Draws the names of the series in rows above the plot; returns where the plot may begin. A single series that has
/// no name of its own needs none.
pub(crate) fn draw(canvas: &mut Canvas, figure: &Figure, m: Measures, indent: f64, top: f64) -> f64 {
    let series: Vec<(usize, &str)> = figure
        .series
        .iter()
        .enumerate()
        .filter(|(_, s)| s.points.iter().any(|p| figure.mark != Mark::StackedBars || p[1] > 0.0))
        .map(|(i, s)| (i, s.name.as_str()))
        .collect();
    if series.len() < 2 && series.iter().all(|(_, name)| name.is_empty() || figure.series.len() == 1) {
        return top;
    }
    let line = m.font * 1.6;
    let swatch = if figure.mark == Mark::Line { 34.0 } else { 16.0 };
    let (mut x, mut y) = (indent, top + m.font);
    for (i, name) in series {
        let name = text::fit(name, m.font, m.width - indent - swatch - 8.0);
        // The reader's letters may be wider than ours.
        let room = swatch + 6.0 + text::width(&name, m.font) * 1.14 + 16.0;
        if x > indent && x + room - 16.0 > m.width {
            x = indent;
            y += line;
        }
        let middle = y - m.font * 0.35;
        canvas.open_key(&figure.series[i].name);
        match figure.mark {
            Mark::Bars | Mark::StackedBars => {
                let fill = skin::bar_fill(i, figure.colour(i), skin::cause_index(&figure.series[i].name));
                canvas.bar(x, middle - 6.0, 16.0, 12.0, &fill, &figure.series[i].name);
            }
            Mark::Line => {
                marks::line_swatch(canvas, (i, figure.colour(i)), x, middle, swatch - 4.0);
            }
            Mark::Scatter => marks::dot_swatch(canvas, (i, figure.colour(i)), x + 6.0, middle),
        }
        canvas.text(x + swatch + 4.0, y, m.font, Anchor::Start, "l", &name);
        canvas.body.push_str("</g>");
        x += room;
    }
    y + m.font * 0.9
}
