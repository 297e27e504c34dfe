//! What is drawn: a chart of one drive, or several drives' charts put together.

use ssdlab_bench::specimens::is_band;
use ssdlab_bench::{Axis, Chart, Mark, Series};

use super::marks::{MARKERS, Style};
use super::scale::Extent;
use super::skin::{DASHES, DOTS, HATCHES, SERIES, bar_fill, cause_index};
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

impl Crossed {
    /// What all lines of a drive have in common.
    pub fn style(&self, drive: usize) -> Style {
        let colour = |i: usize| self.colours.get(i).copied().unwrap_or(i) % SERIES.len();
        Style { dash: 0, marker: look_of(drive, MARKERS, colour), colour: colour(drive) }
    }
}

/// Which of so many looks the series at this place has: by its place, or the next one that no earlier series of its colour has. A
/// colour may come again at any place, since a drive keeps its own; its look must not come again with it.
fn look_of(index: usize, looks: usize, colour: impl Fn(usize) -> usize) -> usize {
    let mut taken = Vec::new();
    for i in (0..=index).filter(|&i| colour(i) == colour(index)) {
        let free = (i..i + looks).map(|look| look % looks).find(|look| !taken.contains(look));
        taken.push(free.unwrap_or(i % looks));
    }
    taken.last().copied().unwrap_or(index % looks)
}

/// More series than these are too many to listen to.
const MOST_DESCRIBED: usize = 8;

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
    /// As its switch above the charts calls it: the one drive of several that all of this is of.
    pub of_drive: Option<String>,
    pub caption: String,
    /// Set if the run was shorter than the published method.
    pub shortened: Option<String>,
    /// Whose runs that were, where not all were.
    pub shortened_of: Option<String>,
    /// Of a device, or several, in small.
    pub in_small: bool,
    /// What several specimens have in common: its curves of percentiles end before the slowest request of some.
    pub is_band: bool,
    pub mark: Mark,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Colour of each series; by its place if empty. In a comparison a drive keeps its colour, and marker or hatch tell its series apart;
    /// so does the dash where there are no markers.
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
            of_drive: None,
            caption: chart.caption.clone(),
            shortened,
            shortened_of: None,
            in_small: false,
            is_band: is_band(&chart.id),
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
        self.colours.get(index).copied().unwrap_or(index) % SERIES.len()
    }

    pub fn style(&self, index: usize) -> Style {
        match self.crossed.as_ref().and_then(|c| Some((c, c.series.get(index)?))) {
            Some((crossed, &(drive, kind))) => Style { dash: kind, ..crossed.style(drive) },
            None => {
                // Where markers tell the series apart, a dash would look like the kind that it is elsewhere.
                let is_marked = self.mark == Mark::Line && self.series.iter().all(|s| s.points.len() <= MARKED_POINTS);
                let dash = match self.mark {
                    _ if is_marked => 0,
                    Mark::Scatter => self.look(index, DOTS.len()),
                    _ => self.look(index, DASHES.len()),
                };
                Style { dash, marker: self.look(index, MARKERS), colour: self.colour(index) }
            }
        }
    }

    /// How the bars of a series are filled.
    pub fn fill(&self, index: usize) -> (String, usize) {
        let cause = self.series.get(index).and_then(|series| cause_index(&series.name));
        bar_fill(self.look(index, HATCHES), self.colour(index), cause)
    }

    /// Which of so many looks a series has beside its colour.
    fn look(&self, index: usize, looks: usize) -> usize {
        look_of(index, looks, |i| self.colour(i))
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
        let drawn = || self.series.iter().filter_map(|s| Some((s, Extent::of(s.points.iter().map(|p| p[1]))?)));
        for (series, e) in drawn().take(MOST_DESCRIBED) {
            let name = if series.name.is_empty() { "Values" } else { &series.name };
            let (min, max) = (crate::number::value(e.min, &self.y.unit), crate::number::value(e.max, &self.y.unit));
            text.push_str(&match series.points.len() {
                1 => format!(" {name}: {max}."),
                n => format!(" {name}: {n} points from {min} to {max}."),
            });
        }
        let rest = drawn().count().saturating_sub(MOST_DESCRIBED);
        if rest > 0 {
            text.push_str(&format!(" And {rest} more series."));
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
    use super::*;

    fn figure(mark: Mark, series: usize, points: usize) -> Figure {
        let one = Series { name: String::new(), points: vec![[0.0, 1.0]; points] };
        let chart = Chart {
            id: String::new(),
            title: String::new(),
            caption: String::new(),
            mark,
            x: Axis::linear("", ""),
            y: Axis::linear("", ""),
            series: vec![one; series],
            overlay_drives: true,
        };
        Figure::of_chart(&chart, "", String::new(), None)
    }

    /// What a series is told by in a picture.
    fn look(figure: &Figure, i: usize) -> String {
        let Style { dash, marker, colour } = figure.style(i);
        let is_marked = figure.series[i].points.len() <= MARKED_POINTS;
        match figure.mark {
            Mark::Scatter => format!("{colour} {:?}", DOTS[dash % DOTS.len()]),
            Mark::Line if is_marked => format!("{colour} {}", marker % MARKERS),
            Mark::Line => format!("{colour} {}", DASHES[dash % DASHES.len()]),
            Mark::Bars | Mark::StackedBars => format!("{:?}", figure.fill(i)),
        }
    }

    fn assert_all_differ(figure: &Figure) {
        let n = figure.series.len();
        let different: std::collections::BTreeSet<_> = (0..n).map(|i| look(figure, i)).collect();
        assert_eq!(different.len(), n, "{:?} {:?}", figure.mark, figure.colours);
    }

    const KINDS: [(Mark, usize); 4] =
        [(Mark::Scatter, 3), (Mark::Line, MARKED_POINTS + 1), (Mark::Line, 3), (Mark::Bars, 1)];

    #[test]
    fn no_two_of_thirty_series_look_alike() {
        KINDS.into_iter().for_each(|(mark, points)| assert_all_differ(&figure(mark, 30, points)));
    }

    #[test]
    fn no_two_look_alike_where_drives_keep_their_colours() {
        for (mark, points) in KINDS {
            for drives in 2..=16 {
                // Without one that has no such chart; two curves of each, the same curve of all of them together.
                for without in 0..=drives {
                    let places: Vec<usize> = (0..drives).filter(|&drive| drive != without).collect();
                    let figure = figure(mark, 2 * places.len(), points);
                    assert_all_differ(&Figure { colours: places.repeat(2), ..figure });
                }
            }
        }
        // As crossed lines, which tell their curves by the dash.
        let crossed = Crossed { colours: (0..16).filter(|drive| *drive != 3).collect(), ..Crossed::default() };
        let of = |drive| (crossed.style(drive).colour, crossed.style(drive).marker % MARKERS);
        let different: std::collections::BTreeSet<_> = (0..15).map(of).collect();
        assert_eq!(different.len(), 15);
    }

    #[test]
    fn a_description_says_how_many_series_it_leaves_out() {
        let told = |series| figure(Mark::Line, series, 1).description();
        assert!(told(8).ends_with("Values: 1.") && told(11).ends_with("Values: 1. And 3 more series."), "{}", told(11));
    }
}
