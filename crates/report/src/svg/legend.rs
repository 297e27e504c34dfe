//! The legend: a swatch that shows colour, dash, marker or hatch, and the name.

use ssdlab_bench::{Mark, Series};

use super::Measures;
use super::canvas::{Anchor, Canvas, Hides};
use super::figure::Figure;
use super::marks;
use crate::text;

/// Draws the names of the series in rows above the plot; returns where the plot may begin. A single series that has
/// no name of its own needs none.
pub(crate) fn draw(canvas: &mut Canvas, figure: &Figure, m: Measures, indent: f64, top: f64) -> f64 {
    let entries = entries(figure);
    if entries.is_empty() {
        return top;
    }
    let line = m.font * 1.6;
    let swatch = if figure.mark == Mark::Line { 34.0 } else { 16.0 };
    let (mut x, mut y) = (indent, top + m.font);
    for entry in entries {
        let name = text::fit(entry.name, m.font, m.width - indent - swatch - 8.0);
        // The reader's letters may be wider than ours.
        let room = swatch + 6.0 + text::width(&name, m.font) * 1.14 + 16.0;
        if x > indent && x + room - 16.0 > m.width {
            x = indent;
            y += line;
        }
        let middle = y - m.font * 0.35;
        canvas.open_key(entry.name, entry.hides);
        match (entry.looks, figure.mark) {
            (Looks::Dash(dash), _) => marks::dash_swatch(canvas, dash, x, middle, swatch - 4.0),
            (Looks::Series(i), Mark::Bars | Mark::StackedBars) => {
                canvas.bar(x, middle - 6.0, 16.0, 12.0, &figure.fill(i), &figure.series[i].name);
            }
            (Looks::Series(i), Mark::Line) => marks::line_swatch(canvas, figure.style(i), x, middle, swatch - 4.0),
            (Looks::Series(i), Mark::Scatter) => marks::dot_swatch(canvas, figure.style(i), x + 6.0, middle),
            (Looks::Drive(drive), _) => {
                if let Some(crossed) = &figure.crossed {
                    marks::line_swatch(canvas, crossed.style(drive), x, middle, swatch - 4.0);
                }
            }
        }
        canvas.text(x + swatch + 4.0, y, m.font, Anchor::Start, "l", &name);
        canvas.body.push_str("</g>");
        x += room;
    }
    y + m.font * 0.9
}

struct Entry<'a> {
    name: &'a str,
    looks: Looks,
    hides: Hides,
}

#[derive(Clone, Copy)]
enum Looks {
    Series(usize),
    Drive(usize),
    Dash(usize),
}

/// What the legend names: the series, or of crossed lines each drive and each kind once. Nothing where the one series
/// has no name of its own.
fn entries(figure: &Figure) -> Vec<Entry<'_>> {
    if let Some(crossed) = &figure.crossed {
        let drives = crossed.drives.iter().enumerate();
        let drives = drives.map(|(i, name)| Entry { name, looks: Looks::Drive(i), hides: Hides::Drive });
        let kinds = crossed.kinds.iter().enumerate();
        let kinds = kinds.map(|(i, name)| Entry { name, looks: Looks::Dash(i), hides: Hides::Kind });
        return drives.chain(kinds).collect();
    }
    let drawn = |s: &Series| s.points.iter().any(|p| figure.mark != Mark::StackedBars || p[1] > 0.0);
    let series: Vec<Entry<'_>> = (figure.series.iter().enumerate())
        .filter(|(_, s)| drawn(s))
        .map(|(i, s)| Entry { name: &s.name, looks: Looks::Series(i), hides: Hides::Series })
        .collect();
    if series.len() < 2 && series.iter().all(|e| e.name.is_empty() || figure.series.len() == 1) {
        return Vec::new();
    }
    series
}
