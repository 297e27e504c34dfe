//! What a series is drawn with, in the plot as in the legend: dots, lines and markers.

use std::fmt::Write as _;

use super::canvas::{Canvas, coord};
use super::skin::{DASHES, DOTS, Dot};
use crate::text;

/// What a series looks like.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// Dash of a line, dot of a scatter.
    pub(super) dash: usize,
    pub(super) marker: usize,
    pub(super) colour: usize,
}

/// One dot as a sub-path: a line of no or little length, that its stroke makes visible.
pub(super) fn append_dot(d: &mut String, dot: Dot, pen: &mut (i64, i64), at: (i64, i64), size: f64) {
    let long = libm::round(size * 20.0) as i64;
    let (dx, dy, draw) = match dot {
        Dot::Round => (0, 0, "h0".to_owned()),
        // A PDF paints a line of no length with round caps only.
        Dot::Square => (0, 0, "h.1".to_owned()),
        Dot::Dash => (-long / 2, 0, format!("h{}", coord(long as f64 / 10.0))),
        Dot::Upright => (0, -long / 2, format!("v{}", coord(long as f64 / 10.0))),
    };
    let start = (at.0 + dx, at.1 + dy);
    let (mx, my) = (start.0 - pen.0, start.1 - pen.1);
    let letter = if d.is_empty() { 'M' } else { 'm' };
    let number = |v: i64| coord(v as f64 / 10.0).replacen("0.", ".", usize::from(v.abs() < 10));
    let (mx, my) = (number(mx), number(my));
    let gap = if my.starts_with('-') { "" } else { " " };
    let _ = write!(d, "{letter}{mx}{gap}{my}{draw}");
    *pen = match dot {
        Dot::Round => start,
        Dot::Square => (start.0 + 1, start.1),
        Dot::Dash => (start.0 + long, start.1),
        Dot::Upright => (start.0, start.1 + long),
    };
}

pub(super) fn dot_attributes(dot: Dot, colour: usize, size: f64, opacity: f64, name: &str) -> String {
    let (cap, width) = match dot {
        Dot::Round => ("round", size),
        Dot::Square => ("square", size * 0.8),
        Dot::Dash | Dot::Upright => ("butt", size * 0.55),
    };
    format!(
        "class=\"s{colour}\" stroke-linecap=\"{cap}\" stroke-width=\"{}\" stroke-opacity=\"{opacity}\" data-name=\"{}\"",
        coord(width),
        text::escape(name)
    )
}

/// The dot of a series in the legend.
pub(super) fn dot_swatch(c: &mut Canvas, style: Style, x: f64, y: f64) {
    let dot = DOTS[style.dash % DOTS.len()];
    let mut d = String::new();
    append_dot(&mut d, dot, &mut (0, 0), ((x * 10.0) as i64, (y * 10.0) as i64), 6.0);
    let attributes = dot_attributes(dot, style.colour, 6.0, 1.0, "");
    c.path(&d, attributes.split(" data-name").next().unwrap_or_default());
}

fn dash_array(dash: usize) -> String {
    match DASHES[dash % DASHES.len()] {
        "" => String::new(),
        dash => format!(" stroke-dasharray=\"{dash}\""),
    }
}

pub(super) fn line_attributes(style: Style, name: &str) -> String {
    let dash = dash_array(style.dash);
    format!(
        "class=\"s{}\" stroke-width=\"2\" stroke-linejoin=\"round\"{dash} data-name=\"{}\"",
        style.colour,
        text::escape(name)
    )
}

pub(super) fn marker_attributes(colour: usize) -> String {
    format!("class=\"f{colour}\" stroke=\"none\"")
}

/// Line and marker of a series in the legend.
pub(super) fn line_swatch(c: &mut Canvas, style: Style, x: f64, y: f64, length: f64) {
    let attributes = line_attributes(style, "");
    let attributes = attributes.split(" data-name").next().unwrap_or_default();
    c.path(&format!("M{} {}h{}", coord(x), coord(y), coord(length)), attributes);
    let mut marker = String::new();
    append_marker(&mut marker, style.marker, x + length / 2.0, y, 3.6);
    c.path(&marker, &marker_attributes(style.colour));
}

/// A dash by itself, of no drive.
pub(super) fn dash_swatch(c: &mut Canvas, dash: usize, x: f64, y: f64, length: f64) {
    let attributes = format!("class=\"w\"{}", dash_array(dash));
    c.path(&format!("M{} {}h{}", coord(x), coord(y), coord(length)), &attributes);
}

/// Number of shapes of markers.
pub(super) const MARKERS: usize = 8;

/// A closed shape that differs from series to series.
pub(super) fn append_marker(d: &mut String, index: usize, x: f64, y: f64, r: f64) {
    let at = |dx: f64, dy: f64| format!("{} {}", coord(x + dx * r), coord(y + dy * r));
    let polygon = |points: &[(f64, f64)]| {
        let corners: Vec<String> = points.iter().map(|&(dx, dy)| at(dx, dy)).collect();
        format!("M{}Z", corners.join("L"))
    };
    let shape = match index % MARKERS {
        0 => format!("M{}a{1} {1} 0 1 0 {2} 0a{1} {1} 0 1 0 -{2} 0", at(-1.0, 0.0), coord(r), coord(2.0 * r)),
        1 => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => polygon(&[(0.0, -1.2), (1.15, 0.9), (-1.15, 0.9)]),
        3 => polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        4 => polygon(&[(0.0, 1.2), (1.15, -0.9), (-1.15, -0.9)]),
        5 => polygon(&[(-1.2, -0.4), (1.2, -0.4), (1.2, 0.4), (-1.2, 0.4)]),
        6 => polygon(&[(-0.4, -1.2), (0.4, -1.2), (0.4, 1.2), (-0.4, 1.2)]),
        _ => polygon(&[(-1.1, -1.1), (1.1, 1.1), (1.1, -1.1), (-1.1, 1.1)]),
    };
    d.push_str(&shape);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Viewers of a PDF leave out lines of no length, but for those with round caps.
    #[test]
    fn a_dot_has_round_caps_or_a_length_and_the_next_one_begins_where_it_ended() {
        for dot in DOTS {
            let (mut d, mut pen) = (String::new(), (0, 0));
            append_dot(&mut d, dot, &mut pen, (100, 200), 2.6);
            assert_eq!(d.ends_with("h0"), dot == Dot::Round, "{d}");
            assert_eq!(dot_attributes(dot, 0, 2.6, 1.0, "").contains("\"round\""), dot == Dot::Round);
            let first = pen;
            append_dot(&mut d, dot, &mut pen, (130, 200), 2.6);
            assert_eq!((pen.0 - first.0, pen.1 - first.1), (30, 0), "{d}");
        }
        // Squares 3 apart: 2.9 from the end of one to the begin of the next.
        let (mut d, mut pen) = (String::new(), (0, 0));
        for x in [100, 130] {
            append_dot(&mut d, Dot::Square, &mut pen, (x, 200), 2.6);
        }
        assert_eq!(d, "M10 20h.1m2.9 0h.1");
    }
}
