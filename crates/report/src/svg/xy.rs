//! Scatters and lines: two numeric axes.

use std::fmt::Write as _;

use ssdlab_bench::{Mark, SHARE_BELOW, Series};

use super::canvas::{Anchor, Canvas, Hides, coord};
use super::figure::{Figure, MARKED_POINTS, axis_title};
use super::legend;
use super::marks::{Style, append_dot, append_marker, dot_attributes, dot_swatch, line_attributes, marker_attributes};
use super::scale::{Beyond, Role, Scale};
use super::skin::DOTS;
use super::{Layout, Measures};
use crate::sweep::Holds;
use crate::text;

/// A scatter is drawn in this many interleaved paths: within one path overlapping dots do not add up, across paths
/// they do, and dense places become dark.
const LAYERS: usize = 5;

/// Draws the chart from `top` on and returns where it ends. `data` receives what the page's read-out needs.
pub(crate) fn draw(c: &mut Canvas, figure: &Figure, m: Measures, layout: Layout, top: f64, data: &mut String) -> f64 {
    let distinct = if figure.x.log { figure.positions() } else { Vec::new() };
    let mut y_scale = Scale::new(&figure.y, figure.extent(1), Role::Magnitude, m.ticks_y, &[]);
    y_scale.zero_strip |= figure.zero_strip && y_scale.log;
    let x_scale = Scale::new(&figure.x, figure.extent(0), Role::Position, m.ticks_x, &distinct);

    let widest = y_scale.ticks.iter().map(|t| text::width(&t.label, m.font)).fold(12.0, f64::max);
    let pad = if layout == Layout::File { 20.0 } else { 0.0 };
    // The reader's letters may be wider than ours.
    let left = pad + widest * 1.14 + 8.0;
    let names = end_labels(figure, m, layout);
    let right = m.width - pad - names.map_or(10.0, |w| w * 1.06 + 28.0);
    let mut top = top;
    if names.is_none() {
        top = legend::draw(c, figure, m, left, top);
    }
    // The label of the y axis stands level above it: no one turns the head.
    let title = axis_title(&figure.y);
    if !title.is_empty() {
        top += m.font * 1.1;
        c.text(pad, top, m.font, Anchor::Start, "t", &text::fit(&title, m.font, m.width - pad));
    }
    top += m.font * 1.05;
    let bottom = top + m.plot_height;
    let x_scale = x_scale.between(left, right);
    let y_scale = y_scale.between(bottom, top);

    if let Some((low, high, _)) = &figure.zone {
        let (from, to) = (y_scale.at(high.min(y_scale.hi)), y_scale.at(low.max(y_scale.lo)));
        c.rect(left, from, right - left, to - from, "q");
    }
    grid(c, &y_scale, m, (left, right));
    let y_end = x_axis(c, figure, &x_scale, m, (left, right), (top, bottom));
    let mut ends = Vec::new();
    let id = format!("clip-{}-{}", text::slug(&figure.stem), layout.name());
    // Marks of points on the edge are whole.
    let (x, y) = (left - MARK, top - MARK);
    c.open_clipped(&id, (x, y), (right + MARK - x, bottom + MARK - y), layout != Layout::File);
    for (i, series) in figure.series.iter().enumerate() {
        match figure.mark {
            Mark::Scatter => {
                for line in figure.stepped.iter().filter(|line| line.series == i) {
                    let points = line.points.iter().filter_map(|&at| series.points.get(at));
                    let points: Vec<_> = points.map(|p| (x_scale.at(p[0]), y_scale.at(p[1]))).collect();
                    steps(c, &points, line.holds, figure.colour(i));
                }
                let names = figure.point_names.get(i).map_or(&[][..], Vec::as_slice);
                scatter(c, series, names, figure.style(i), &x_scale, &y_scale, dot_size(m, figure));
            }
            _ if figure.x.unit == SHARE_BELOW => {
                line(c, series, figure.style(i), &x_scale, &y_scale, Vertices::Bends);
            }
            _ if figure.crossed.is_some() && series.points.len() > MARKED_POINTS => {
                line(c, series, figure.style(i), &x_scale, &y_scale, Vertices::Many);
            }
            _ => line(c, series, figure.style(i), &x_scale, &y_scale, Vertices::Measured),
        }
        if let Some(y) = end_of(series, figure.mark) {
            ends.push((i, y_scale.at(y)));
        }
    }
    c.close_clipped(layout != Layout::File);
    if let Some((low, _, what)) = &figure.zone {
        let y = (y_scale.at(low.max(y_scale.lo)) + m.font * 1.3).min(bottom - 4.0);
        c.text(left + 8.0, y, m.font, Anchor::Start, "o", &text::fit(what, m.font, right - left - 16.0));
    }
    if names.is_some() {
        label_ends(c, figure, m, right + 15.0, (top, bottom), ends);
    }
    let beyond = not_drawn(figure, &x_scale, &y_scale);
    if !beyond.is_empty() {
        c.text(right, top - 4.0, m.font * 0.9, Anchor::End, "t", &beyond);
    }
    read_out_data(data, figure, &x_scale, &y_scale, (left, right), (top, bottom));
    y_end
}

/// Whether a point lies within both axes: one drawn at an edge would pass for one that was measured there.
fn is_within(p: &[f64; 2], x: &Scale, y: &Scale) -> bool {
    x.is_beyond(p[0]).is_none() && y.is_beyond(p[1]).is_none()
}

/// How many points lie off which end of the axes; empty if none does.
fn not_drawn(figure: &Figure, x: &Scale, y: &Scale) -> String {
    let points = || figure.series.iter().flat_map(|s| &s.points);
    let off = |p: &&[f64; 2]| match x.is_beyond(p[0]) {
        Some(end) => Some((0, end)),
        None => y.is_beyond(p[1]).map(|end| (1, end)),
    };
    let ends = [
        ("↑", "above", (1, Beyond::High), y.hi, &figure.y),
        ("↓", "below", (1, Beyond::Low), y.lo, &figure.y),
        ("←", "before", (0, Beyond::Low), x.lo, &figure.x),
        ("→", "beyond", (0, Beyond::High), x.hi, &figure.x),
    ];
    let told = ends.into_iter().filter_map(|(arrow, word, end, bound, axis)| {
        let count = points().filter(|p| off(p) == Some(end)).count();
        (count > 0).then(|| format!("{arrow} {count} {word} {}", crate::number::value(bound, &axis.unit)))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// How far the mark of a point reaches beyond it.
const MARK: f64 = 5.0;

/// Where the name of a series stands at its right end: at the last point of a line, among the last dots of a scatter.
fn end_of(series: &Series, mark: Mark) -> Option<f64> {
    let n = series.points.len();
    if mark != Mark::Scatter {
        return series.points.last().map(|p| p[1]);
    }
    let mut last: Vec<f64> = series.points[n - n.div_ceil(8)..].iter().map(|p| p[1]).collect();
    last.sort_by(f64::total_cmp);
    last.get(last.len() / 2).copied()
}

/// Dots grow when there are few of them.
fn dot_size(m: Measures, figure: &Figure) -> f64 {
    let most = figure.series.iter().map(|s| s.points.len()).max().unwrap_or(0);
    m.dot
        * if most <= 150 {
            2.0
        } else if most <= 600 {
            1.4
        } else {
            1.0
        }
}

/// Whether names stand at the ends of its series where the picture is as wide as the page.
pub(crate) fn has_names_at_end(figure: &Figure) -> bool {
    end_labels(figure, Layout::Full.measures(), Layout::Full).is_some()
}

/// Room for names at the ends of lines, if they are few and short enough to stand there.
fn end_labels(figure: &Figure, m: Measures, layout: Layout) -> Option<f64> {
    let n = figure.series.len();
    if figure.crossed.is_some()
        || (figure.mark != Mark::Line && !figure.names_at_end)
        || !(2..=6).contains(&n)
        || layout == Layout::Phone
        || layout == Layout::Half
    {
        return None;
    }
    let widest = figure.series.iter().map(|s| text::width(&s.name, m.font)).fold(0.0, f64::max);
    (widest > 0.0 && widest <= 0.24 * m.width).then_some(widest)
}

fn grid(c: &mut Canvas, y: &Scale, m: Measures, (left, right): (f64, f64)) {
    let (mut minor, mut major) = (String::new(), String::new());
    for &v in &y.minor {
        let _ = write!(minor, "M{} {}H{}", coord(left), coord(y.at(v)), coord(right));
    }
    if y.zero_strip {
        let (a, b) = (y.at(0.0), y.strip_end());
        c.rect(left, b, right - left, y.bottom() - b, "z");
        c.text(left - 8.0, a + m.font * 0.35, m.font, Anchor::End, "t", "0");
    }
    for tick in &y.ticks {
        let at = y.at(tick.value);
        let _ = write!(major, "M{} {}H{}", coord(left), coord(at), coord(right));
        c.text(left - 8.0, at + m.font * 0.35, m.font, Anchor::End, "t", &tick.label);
    }
    if !minor.is_empty() {
        c.path(&minor, "class=\"n\"");
    }
    c.path(&major, "class=\"g\"");
}

/// Draws the axis with its labels and title; returns where it ends.
fn x_axis(
    c: &mut Canvas,
    figure: &Figure,
    x: &Scale,
    m: Measures,
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
) -> f64 {
    let ticks: Vec<(f64, String)> = if figure.x.categories.is_empty() {
        x.ticks.iter().map(|t| (x.at(t.value), t.label.clone())).collect()
    } else {
        figure.x.categories.iter().enumerate().map(|(i, name)| (x.at(i as f64), name.clone())).collect()
    };
    let (mut lines, mut marks) = (String::new(), String::new());
    let mut labels = Canvas::default();
    let mut free_from = f64::NEG_INFINITY;
    for (at, label) in &ticks {
        let _ = write!(lines, "M{} {}V{}", coord(*at), coord(top), coord(bottom));
        // The reader's letters may be wider than ours.
        let half = text::width(label, m.font) * 1.14 / 2.0;
        // The outermost labels may reach beyond the plot, but not beyond the picture.
        let middle = at.clamp(half, (m.width - half).max(half));
        if middle - half < free_from {
            continue;
        }
        free_from = middle + half + m.font * 0.6;
        let _ = write!(marks, "M{} {}v5", coord(*at), coord(bottom));
        labels.text(middle, bottom + 6.0 + m.font, m.font, Anchor::Middle, "t", label);
    }
    // The script of the page draws these anew where a reader zooms in.
    c.body.push_str("<g class=\"xt\">");
    if figure.x.categories.is_empty() {
        c.path(&lines, "class=\"n\"");
    }
    c.path(&marks, "class=\"x\"");
    c.body.push_str(&labels.body);
    c.body.push_str("</g>");
    c.path(&format!("M{} {}H{}", coord(left), coord(bottom), coord(right)), "class=\"x\"");
    let mut y = bottom + 8.0 + m.font;
    let title = axis_title(&figure.x);
    if !title.is_empty() {
        y += m.font * 1.35;
        c.text((left + right) / 2.0, y, m.font, Anchor::Middle, "t", &title);
    }
    y + m.font * 0.4
}

/// A line that holds each value.
fn steps(c: &mut Canvas, points: &[(f64, f64)], holds: Holds, colour: usize) {
    let d = staircase(points, holds);
    c.path(&d, &format!("class=\"s{colour}\" stroke-width=\"1.5\" stroke-linejoin=\"round\" stroke-opacity=\".6\""));
}

fn staircase(points: &[(f64, f64)], holds: Holds) -> String {
    let mut d = String::new();
    for &(x, y) in points {
        let (x, y) = (coord(x), coord(y));
        let _ = match holds {
            _ if d.is_empty() => write!(d, "M{x} {y}"),
            Holds::ToTheRight => write!(d, "H{x}V{y}"),
            Holds::ToTheLeft => write!(d, "V{y}H{x}"),
        };
    }
    d
}

fn scatter(c: &mut Canvas, series: &Series, names: &[String], style: Style, x: &Scale, y: &Scale, size: f64) {
    let dot = DOTS[style.dash % DOTS.len()];
    // Tenths, as whole numbers: relative moves must not drift.
    let tenths = |v: f64| libm::round(v * 10.0) as i64;
    let layers = if series.points.len() > 300 { LAYERS } else { 1 };
    for layer in 0..layers {
        let mut d = String::new();
        let mut pen = (0i64, 0i64);
        let mut known = Vec::new();
        for (i, p) in series.points.iter().enumerate().skip(layer).step_by(layers) {
            if !is_within(p, x, y) {
                continue;
            }
            known.extend(names.get(i).map(String::as_str));
            let at = (tenths(x.at(p[0])), tenths(y.at(p[1])));
            append_dot(&mut d, dot, &mut pen, at, size);
        }
        if !d.is_empty() {
            let mut attributes =
                dot_attributes(dot, style.colour, size, if layers > 1 { 0.5 } else { 0.85 }, &series.name);
            if !names.is_empty() {
                let _ = write!(attributes, " data-points=\"{}\"", text::escape(&known.join("|")));
            }
            c.path(&d, &attributes);
        }
    }
}

/// What the points of a line are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vertices {
    /// Each was measured, and is marked if there are few.
    Measured,
    /// Measured, but too many to mark each: marked at the ticks.
    Many,
    /// Samples of a curve: it needs them only where it bends, and is marked at the ticks.
    Bends,
}

fn line(c: &mut Canvas, series: &Series, style: Style, x: &Scale, y: &Scale, vertices: Vertices) {
    let (mut d, mut marked) = (String::new(), Vec::new());
    // Where points lie off the axes, the line has a gap.
    for stretch in series.points.split(|p| !is_within(p, x, y)) {
        let points: Vec<(f64, f64)> = stretch.iter().map(|p| (x.at(p[0]), y.at(p[1]))).collect();
        let drawn = match vertices {
            Vertices::Measured if series.points.len() <= MARKED_POINTS => {
                marked.extend_from_slice(&points);
                points
            }
            Vertices::Measured => thinned(&points),
            Vertices::Many | Vertices::Bends => {
                let drawn = if vertices == Vertices::Many { thinned(&points) } else { bends(&points) };
                marked.extend(x.ticks.iter().filter_map(|tick| on_line(&drawn, x.at(tick.value))));
                drawn
            }
        };
        for (i, (px, py)) in drawn.into_iter().enumerate() {
            let _ = write!(d, "{}{} {}", if i == 0 { 'M' } else { 'L' }, coord(px), coord(py));
        }
    }
    c.path(&d, &line_attributes(style, &series.name));
    if !marked.is_empty() {
        let mut markers = String::new();
        for (px, py) in marked {
            append_marker(&mut markers, style.marker, px, py, 3.6);
        }
        c.path(&markers, &format!("{} data-marks=\"{}\"", marker_attributes(style.colour), text::escape(&series.name)));
    }
}

/// The point of a line at a coordinate that it reaches. Where it rises upright there, where it comes from.
fn on_line(points: &[(f64, f64)], at: f64) -> Option<(f64, f64)> {
    let after = points.iter().position(|p| p.0 >= at)?;
    let (x1, y1) = points[after];
    if x1 == at {
        return Some((at, y1));
    }
    let (x0, y0) = *points.get(after.checked_sub(1)?)?;
    Some((at, y0 + (y1 - y0) * (at - x0) / (x1 - x0)))
}

/// The points without which the line would be off by more than a quarter of a pixel somewhere.
fn bends(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const OFF: f64 = 0.25;
    let mut kept = vec![true; points.len()];
    let mut spans = vec![(0, points.len().saturating_sub(1))];
    while let Some((first, last)) = spans.pop() {
        let far = |i: &usize| from_segment(points[*i], points[first], points[last]);
        let farthest = (first + 1..last).max_by(|a, b| far(a).total_cmp(&far(b)));
        match farthest.filter(|i| far(i) > OFF) {
            Some(i) => spans.extend([(first, i), (i, last)]),
            None => kept.iter_mut().take(last).skip(first + 1).for_each(|k| *k = false),
        }
    }
    points.iter().zip(kept).filter(|(_, kept)| *kept).map(|(p, _)| *p).collect()
}

/// How far `p` lies from the segment between `a` and `b`.
fn from_segment(p: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let squared = dx * dx + dy * dy;
    let along = if squared > 0.0 { (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / squared).clamp(0.0, 1.0) } else { 0.0 };
    libm::hypot(p.0 - a.0 - along * dx, p.1 - a.1 - along * dy)
}

/// Of more points than pixels, the lowest and the highest of each half pixel: no peak is lost.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= 2000 {
        return points.to_vec();
    }
    let mut out = Vec::new();
    let column = |p: &(f64, f64)| libm::floor(p.0 * 2.0) as i64;
    let mut i = 0;
    while i < points.len() {
        let end = (i..points.len()).find(|&j| column(&points[j]) != column(&points[i])).unwrap_or(points.len());
        let by_height = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
        let low = (i..end).min_by(by_height).unwrap_or(i);
        let high = (i..end).max_by(by_height).unwrap_or(i);
        out.push(points[low.min(high)]);
        if low != high {
            out.push(points[low.max(high)]);
        }
        i = end;
    }
    out
}

/// Names at the ends of the lines, moved apart where they would overlap.
fn label_ends(
    c: &mut Canvas,
    figure: &Figure,
    m: Measures,
    x: f64,
    (top, bottom): (f64, f64),
    mut ends: Vec<(usize, f64)>,
) {
    ends.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let step = m.font * 1.25;
    for i in 1..ends.len() {
        ends[i].1 = ends[i].1.max(ends[i - 1].1 + step);
    }
    // Pushed down too far: move the lowest up, and those above it out of its way.
    let mut limit = bottom;
    for i in (0..ends.len()).rev() {
        ends[i].1 = ends[i].1.min(limit).max(top);
        limit = ends[i].1 - step;
    }
    for (i, y) in ends {
        c.open_key(&figure.series[i].name, Hides::Series);
        if figure.mark == Mark::Scatter {
            dot_swatch(c, figure.style(i), x, y);
        } else {
            let mut marker = String::new();
            append_marker(&mut marker, figure.style(i).marker, x, y, 3.6);
            c.path(&marker, &marker_attributes(figure.colour(i)));
        }
        c.text(x + 9.0, y + m.font * 0.35, m.font, Anchor::Start, "l", &figure.series[i].name);
        c.body.push_str("</g>");
    }
}

/// Attributes from which the script of the page turns coordinates back into values.
fn read_out_data(
    data: &mut String,
    figure: &Figure,
    x: &Scale,
    y: &Scale,
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
) {
    let axis = |s: &Scale, from: f64, to: f64, unit: &str| {
        let kind = if s.log { "log" } else { "lin" };
        let zero = if s.zero_strip { coord(s.strip_end()) } else { String::new() };
        format!("{}|{}|{kind}|{}|{}|{zero}|{}", s.lo, s.hi, coord(from), coord(to), text::escape(unit))
    };
    let from = if y.zero_strip { y.strip_end() } else { bottom };
    let _ = write!(
        data,
        " tabindex=\"0\" data-kind=\"{}\" data-x=\"{}\" data-y=\"{}\"",
        if figure.mark == Mark::Scatter { "scatter" } else { "line" },
        axis(x, left, right, &figure.x.unit),
        axis(y, from, top, &figure.y.unit),
    );
    if x.is_at_data {
        // What was asked for is known in full, however little a place in the picture tells.
        let ticks: Vec<String> = x.ticks.iter().map(|t| format!("{}|{}", coord(x.at(t.value)), t.label)).collect();
        let _ = write!(data, " data-ticks=\"{}\"", text::escape(&ticks.join("|")));
    }
    if !figure.x.categories.is_empty() {
        let _ = write!(data, " data-names=\"{}\"", text::escape(&figure.x.categories.join("|")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_hold_the_value_on_the_side_where_it_can_be_had() {
        let points = [(1.0, 9.0), (4.0, 5.0), (6.0, 2.0)];
        assert_eq!(staircase(&points, Holds::ToTheRight), "M1 9H4V5H6V2");
        assert_eq!(staircase(&points, Holds::ToTheLeft), "M1 9V5H4V2H6");
    }

    #[test]
    fn a_curve_keeps_its_bends_and_lies_nowhere_off_by_more_than_a_quarter_pixel() {
        let staircase = [(0.0, 90.0), (40.0, 90.0), (40.0, 30.0), (70.0, 30.0), (70.0, 0.0)];
        assert_eq!(bends(&staircase), staircase);
        let straight: Vec<(f64, f64)> = (0..500).map(|i| (f64::from(i), f64::from(i) * 0.5)).collect();
        assert_eq!(bends(&straight), [straight[0], straight[499]]);
        let curve: Vec<(f64, f64)> = (0..2000).map(|i| (f64::from(i) * 0.2, f64::from(i * i) * 1e-4)).collect();
        let kept = bends(&curve);
        assert!(kept.len() < 60, "{}", kept.len());
        for &p in &curve {
            let off = kept.windows(2).map(|w| from_segment(p, w[0], w[1])).fold(f64::INFINITY, f64::min);
            assert!(off <= 0.25, "{p:?} is off by {off}");
        }
        assert_eq!(
            [20.0, 40.0, 70.0].map(|x| on_line(&staircase, x)),
            [(20.0, 90.0), (40.0, 90.0), (70.0, 30.0)].map(Some)
        );
        assert_eq!([-1.0, 71.0].map(|x| on_line(&staircase, x)), [None, None]);
        assert!(bends(&[]).is_empty() && bends(&[(1.0, 2.0)]).len() == 1);
    }
}
