//! Bars, lying: names of any length fit, and a phone shows as many as a wide page.

use std::fmt::Write as _;

use super::Measures;
use super::canvas::{Anchor, Canvas, coord};
use super::figure::{Figure, axis_title};
use super::legend;
use super::scale::{Extent, Role, Scale};
use crate::{number, text};

/// Name of a position on the x axis.
fn category(figure: &Figure, x: f64) -> String {
    let index = x as usize;
    match figure.x.categories.get(index) {
        Some(name) => name.clone(),
        None => number::value(x, &figure.x.unit),
    }
}

/// A tenth to spare: the reader's letters may be wider than ours.
const WIDER_LETTERS: f64 = 1.1;

/// Margins of a bar chart.
struct Frame {
    pad: f64,
    left: f64,
    right: f64,
    /// Names stand above their bars instead of before them.
    above: bool,
    size: f64,
}

fn frame(figure: &Figure, m: Measures, positions: &[f64], above: bool) -> Frame {
    let pad = if m.width >= 950.0 { 20.0 } else { 0.0 };
    let widest = positions.iter().map(|&x| text::width(&category(figure, x), m.font)).fold(0.0, f64::max);
    let widest = widest * WIDER_LETTERS;
    let above = above || widest > 0.3 * m.width;
    let left = if above { pad } else { pad + widest + 10.0 };
    Frame { pad, left, right: m.width - pad, above, size: m.font }
}

/// Draws the value axis below (or above) the bars; returns where it ends.
fn value_axis(c: &mut Canvas, scale: &Scale, title: &str, f: &Frame, (top, bottom): (f64, f64)) -> f64 {
    let mut lines = String::new();
    let mut free_from = f64::NEG_INFINITY;
    let zero = scale.zero_strip.then(|| (scale.bottom(), "0"));
    let ticks = scale.ticks.iter().map(|tick| (scale.at(tick.value), tick.label.as_str()));
    for (at, label) in zero.into_iter().chain(ticks) {
        let _ = write!(lines, "M{} {}V{}", coord(at), coord(top), coord(bottom));
        let half = text::width(label, f.size) / 2.0;
        let middle = at.clamp(half, f.right + f.pad - half);
        if middle - half >= free_from {
            free_from = middle + half + f.size * 0.6;
            c.text(middle, bottom + f.size * 1.25, f.size, Anchor::Middle, "t", label);
        }
    }
    // The grid lies behind the bars: it is put before what has been drawn so far.
    c.body.insert_str(0, &format!("<path d=\"{lines}\" class=\"g\"/>"));
    let mut y = bottom + f.size * 1.5;
    if !title.is_empty() {
        y += f.size * 1.2;
        c.text((f.left + f.right) / 2.0, y, f.size, Anchor::Middle, "t", title);
        y += f.size * 0.3;
    }
    y + 2.0
}

/// Series side by side within each category; the value is printed at the end of each bar.
pub(crate) fn draw_grouped(c: &mut Canvas, figure: &Figure, m: Measures, top: f64) -> f64 {
    let positions = figure.positions();
    let f = frame(figure, m, &positions, false);
    let mut y = legend::draw(c, figure, m, f.pad, top) + 4.0;
    let values = figure.series.iter().flat_map(|s| &s.points).map(|p| p[1]);
    let beside = number::Beside::of(values, &figure.y.unit);
    let label = |v: f64| beside.text(v);
    let widest =
        figure.series.iter().flat_map(|s| &s.points).map(|p| text::width(&label(p[1]), m.font)).fold(0.0, f64::max);
    let extent = figure.extent(1).map(|e| Extent { min: e.min.min(0.0), max: e.max.max(0.0), ..e });
    // A logarithmic axis begins below the smallest value, whose bar would have no length.
    let of_log = || figure.extent(1).map(|e| Extent { min_positive: e.min_positive / 2.0, ..e });
    let extent = if figure.y.log { of_log() } else { extent };
    let scale = Scale::new(&figure.y, extent, Role::Magnitude, m.ticks_x.min(6), &[]);
    let scale = scale.between(f.left, f.right - widest - 8.0);
    let base = if figure.y.log { scale.bottom() } else { scale.at(0.0) };
    let start = y;
    let bar = if figure.series.len() * positions.len() > 30 { m.bar * 0.85 } else { m.bar };
    for &position in &positions {
        if f.above {
            y += m.font * 1.1;
            let name = text::fit(&category(figure, position), m.font, f.right - f.left);
            c.text(f.left, y, m.font, Anchor::Start, "o", &name);
            y += 4.0;
        }
        let group = y;
        for (i, series) in figure.series.iter().enumerate() {
            for p in series.points.iter().filter(|p| p[0].to_bits() == position.to_bits()) {
                // On a logarithmic axis nothing has a bar.
                let end = if figure.y.log && p[1] <= 0.0 { base } else { scale.at(p[1]) };
                let fill = figure.fill(i);
                let named = [category(figure, position), series.name.clone()];
                let named: Vec<String> = named.into_iter().filter(|s| !s.is_empty()).collect();
                let tooltip = format!("{}: {}", named.join(", "), label(p[1]));
                c.bar(base.min(end), y, (end - base).abs(), bar, &fill, &tooltip);
                let x = base.max(end) + 5.0;
                c.text(x, y + bar / 2.0 + m.font * 0.35, m.font, Anchor::Start, "o", &label(p[1]));
                y += bar + 2.0;
            }
        }
        if !f.above {
            let middle = (group + y - 2.0) / 2.0 + m.font * 0.35;
            c.text(f.left - 8.0, middle, m.font, Anchor::End, "l", &category(figure, position));
        }
        y += bar * 0.55;
    }
    value_axis(c, &scale, &axis_title(&figure.y), &f, (start - 2.0, y))
}

/// Series on top of each other, names above the bars.
pub(crate) fn draw_stacked(c: &mut Canvas, figure: &Figure, m: Measures, top: f64) -> f64 {
    let positions = figure.positions();
    let f = frame(figure, m, &positions, true);
    let mut y = legend::draw(c, figure, m, f.left, top) + 6.0;
    let sum = |x: f64| -> f64 {
        let at = figure.series.iter().flat_map(|s| &s.points).filter(|p| p[0].to_bits() == x.to_bits());
        at.map(|p| p[1].max(0.0)).sum()
    };
    let extent = Extent::of(positions.iter().map(|&x| sum(x)).chain([0.0]));
    let linear = ssdlab_bench::Axis { log: false, ..figure.y.clone() };
    let scale = Scale::new(&linear, extent, Role::Magnitude, m.ticks_x.min(6), &[]).between(f.left, f.right - 1.0);
    let start = y;
    let bar = m.bar * 1.25;
    let beside = number::Beside::of(positions.iter().map(|&x| sum(x)), &figure.y.unit);
    for (row, &position) in positions.iter().enumerate() {
        let total = figure.bar_ends.get(row).cloned().unwrap_or_else(|| beside.text(sum(position)));
        let room = f.right - f.left - (text::width(&total, m.font) + 12.0) * WIDER_LETTERS;
        for line in text::wrap(&category(figure, position), m.font * 1.1, room) {
            y += m.font * 1.15;
            c.text(f.left, y, m.font, Anchor::Start, "o", &line);
        }
        c.text(f.right, y, m.font, Anchor::End, "o", &total);
        y += 5.0;
        let mut reached = 0.0;
        for (i, series) in figure.series.iter().enumerate() {
            for p in series.points.iter().filter(|p| p[0].to_bits() == position.to_bits() && p[1] > 0.0) {
                let (from, to) = (scale.at(reached), scale.at(reached + p[1]));
                reached += p[1];
                let value = number::value(p[1], &figure.y.unit);
                let fill = figure.fill(i);
                // A hair of ground between neighbours, unless the part is thinner than that.
                let gap = if to - from > 3.0 { 1.0 } else { 0.0 };
                let tooltip = format!("{}: {} {value}", category(figure, position), series.name);
                c.bar(from, y, to - from - gap, bar, &fill, &tooltip);
                let inside = number::si(p[1]);
                let inside = if figure.y.unit == "%" { format!("{} %", number::trimmed(p[1], 0)) } else { inside };
                if text::width(&inside, m.font * 0.9) + 10.0 <= to - from {
                    let middle = (from + to) / 2.0;
                    let (size, w) = (m.font * 0.88, text::width(&inside, m.font * 0.88) + 6.0);
                    c.pill(middle - w / 2.0, y + bar / 2.0 - size * 0.68, w, size * 1.36);
                    c.text(middle, y + bar / 2.0 + size * 0.36, size, Anchor::Middle, "l", &inside);
                }
            }
        }
        y += bar + m.font * 0.7;
    }
    value_axis(c, &scale, &axis_title(&figure.y), &f, (start, y))
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::{Axis, Chart, Mark, Series};

    use super::super::Layout;
    use super::*;

    /// Where the bars of these values begin on a logarithmic axis and how long they are, and the picture.
    fn drawn(values: &[f64]) -> (Vec<(f64, f64)>, String) {
        let points = values.iter().enumerate().map(|(i, &v)| [i as f64, v]).collect();
        let chart = Chart {
            id: String::new(),
            title: String::new(),
            caption: String::new(),
            mark: Mark::Bars,
            x: Axis { categories: values.iter().map(f64::to_string).collect(), ..Axis::linear("", "") },
            y: Axis::log("Power", "mW"),
            series: vec![Series { name: String::new(), points }],
            overlay_drives: false,
        };
        let mut c = Canvas::default();
        draw_grouped(&mut c, &Figure::of_chart(&chart, "", String::new(), None), Layout::Full.measures(), 0.0);
        let of = |bar: &str, name: &str| {
            let from = bar.split_once(&format!("{name}=\"")).unwrap().1;
            from.split_once('"').unwrap().0.parse::<f64>().unwrap()
        };
        let bars = c.body.split("<rect ").skip(1).filter(|bar| bar.contains("class=\"f0\""));
        (bars.map(|bar| (of(bar, "x"), of(bar, "width"))).collect(), c.body.clone())
    }

    #[test]
    fn a_bar_on_a_logarithmic_axis_begins_where_the_axis_does_and_nothing_has_none() {
        let (bars, body) = drawn(&[0.0, 2.0, 26.8, 1_000.0]);
        assert!(bars.iter().all(|bar| bar.0 == bars[0].0), "{bars:?}");
        assert!(bars[0].1 <= 0.1 && bars[1].1 > 20.0 && bars[3].1 > bars[2].1, "{bars:?}");
        assert!(body.contains(">0</text>"), "{body}");
        let (bars, body) = drawn(&[2.0, 26.8]);
        assert!(bars[0].1 > 20.0 && !body.contains(">0</text>"), "{bars:?} {body}");
    }

    #[test]
    fn names_before_bars_have_room_in_wider_letters() {
        let name = "streaming-media server mix";
        let chart = Chart {
            id: String::new(),
            title: String::new(),
            caption: String::new(),
            mark: Mark::Bars,
            x: Axis { categories: vec![name.to_owned()], ..Axis::linear("", "") },
            y: Axis::linear("", ""),
            series: vec![Series { name: String::new(), points: vec![[0.0, 1.0]] }],
            overlay_drives: false,
        };
        let figure = Figure::of_chart(&chart, "", String::new(), None);
        let m = Layout::Full.measures();
        let f = frame(&figure, m, &figure.positions(), false);
        assert!(!f.above && f.left - 8.0 >= 1.08 * text::width(name, m.font), "{}", f.left);
    }
}
