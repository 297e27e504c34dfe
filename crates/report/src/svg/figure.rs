//! What is drawn: a chart of one drive, or several drives' charts put together.

use ssdlab_bench::{Axis, Chart, Mark, Series};

use super::marks::Style;
use super::scale::Extent;
use crate::sweep::Steps;

/// Lines that differ in two ways: by drive (colour and marker) and by what the curve is (dash).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Crossed {
    pub drives: Vec<String>,
    /// Of each drive.
    pub colours: Vec<usize>,
    pub kinds: Vec<String>,
    /// Drive and kind of each series.
    pub series: Vec<(usize, usize)>,
}

/// Lines of more points than this have no markers, only their dash.
pub(super) const MARKED_POINTS: usize = 48;

/// A chart ready to be drawn, with all that is printed around it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// File name without folder and ending; also makes element ids unique.
    pub stem: String,
    pub title: String,
    /// The drive or drives shown.
    pub subject: String,
    pub caption: String,
    /// Set if the run was shorter than the published method.
    pub shortened: Option<String>,
    /// Whose runs that were, where not all were.
    pub shortened_of: Option<String>,
    /// Of a device, or several, in small.
    pub in_small: bool,
    pub mark: Mark,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Colour of each series; by its place if empty. In a comparison a drive keeps its colour, and marker or hatch, which always go by
    /// place, tell its series apart; so does the dash where there are no markers.
    pub colours: Vec<usize>,
    /// Of lines of several drives with several curves each: what tells them apart, in place of each one's name.
    pub crossed: Option<Crossed>,
    /// A logarithmic y axis keeps a place for zero even if these data have none.
    pub zero_strip: bool,
    /// Printed at the end of each stacked bar instead of its sum.
    pub bar_ends: Vec<String>,
    /// Of a scatter: what each point of each series is, for the read-out; by series, empty if nothing is known.
    pub point_names: Vec<Vec<String>>,
    /// Of a scatter: names stand at the right end of their series instead of in a legend.
    pub names_at_end: bool,
    /// Of a scatter: a zone of the y axis that is marked, and what it is.
    pub zone: Option<(f64, f64, String)>,
    /// Of a scatter: lines of steps through points of a series.
    pub stepped: Vec<Steps>,
}

impl Figure {
    pub fn of_chart(chart: &Chart, subject: &str, stem: String, shortened: Option<String>) -> Figure {
        Figure {
            stem,
            title: chart.title.clone(),
            subject: subject.to_owned(),
            caption: chart.caption.clone(),
            shortened,
            shortened_of: None,
            in_small: false,
            mark: chart.mark,
            x: chart.x.clone(),
            y: chart.y.clone(),
            series: chart.series.clone(),
            colours: Vec::new(),
            crossed: None,
            zero_strip: false,
            bar_ends: Vec::new(),
            point_names: Vec::new(),
            names_at_end: false,
            zone: None,
            stepped: Vec::new(),
        }
    }

    pub fn extent(&self, of: usize) -> Option<Extent> {
        Extent::of(self.series.iter().flat_map(|s| s.points.iter().map(|p| p[of])))
    }

    /// Distinct positions on the x axis, ascending.
    pub fn positions(&self) -> Vec<f64> {
        let mut xs: Vec<f64> = self.series.iter().flat_map(|s| s.points.iter().map(|p| p[0])).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs
    }

    pub fn colour(&self, index: usize) -> usize {
        self.colours.get(index).copied().unwrap_or(index) % super::skin::SERIES.len()
    }

    pub fn style(&self, index: usize) -> Style {
        match self.crossed.as_ref().and_then(|c| c.series.get(index)) {
            Some(&(drive, kind)) => Style { dash: kind, marker: drive, colour: self.colour(index) },
            None => {
                // Where markers tell the series apart, a dash would look like the kind that it is elsewhere.
                let is_marked = self.mark == Mark::Line && self.series.iter().all(|s| s.points.len() <= MARKED_POINTS);
                // Colours come again after as many series; dot or dash must not come again with them.
                let dash = if is_marked { 0 } else { index + index / super::skin::SERIES.len() };
                Style { dash, marker: index, colour: self.colour(index) }
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|s| s.points.is_empty())
    }

    /// One or two sentences for those who cannot see the picture.
    pub fn description(&self) -> String {
        let kind = match self.mark {
            Mark::Scatter => "Scatter chart",
            Mark::Line => "Line chart",
            Mark::Bars => "Bar chart",
            Mark::StackedBars => "Stacked bar chart",
        };
        let mut text = format!("{kind} of {}, {}.", self.subject, axis_title(&self.y));
        if !self.x.label.is_empty() {
            text.push_str(&format!(" Horizontal axis: {}.", axis_title(&self.x)));
        }
        for series in self.series.iter().take(8) {
            if let Some(e) = Extent::of(series.points.iter().map(|p| p[1])) {
                let name = if series.name.is_empty() { "Values" } else { &series.name };
                let (min, max) = (crate::number::value(e.min, &self.y.unit), crate::number::value(e.max, &self.y.unit));
                text.push_str(&match series.points.len() {
                    1 => format!(" {name}: {max}."),
                    n => format!(" {name}: {n} points from {min} to {max}."),
                });
            }
        }
        text
    }
}

/// Label and unit of an axis, in words.
pub(crate) fn axis_title(axis: &Axis) -> String {
    let unit = crate::number::unit(&axis.unit);
    if unit.is_empty() || unit == axis.label || (crate::number::tick_has_unit(&axis.unit)) {
        axis.label.clone()
    } else if axis.label.is_empty() {
        unit.to_owned()
    } else {
        format!("{} ({unit})", axis.label)
    }
}

#[cfg(test)]
mod tests {
    use super::super::skin::{DASHES, DOTS};
    use super::*;

    #[test]
    fn no_two_of_thirty_series_look_alike() {
        let series = |points: usize| Series { name: String::new(), points: vec![[0.0, 1.0]; points] };
        for (mark, looks, points) in [(Mark::Scatter, DOTS.len(), 3), (Mark::Line, DASHES.len(), MARKED_POINTS + 1)] {
            let chart = Chart {
                id: String::new(),
                title: String::new(),
                caption: String::new(),
                mark,
                x: Axis::linear("", ""),
                y: Axis::linear("", ""),
                series: vec![series(points); 30],
                overlay_drives: true,
            };
            let figure = Figure::of_chart(&chart, "", String::new(), None);
            let look = |i: usize| (figure.style(i).colour, figure.style(i).dash % looks);
            let different: std::collections::BTreeSet<_> = (0..30).map(look).collect();
            assert_eq!(different.len(), 30, "{mark:?}");
        }
    }
}
