//! Puts outcomes of the same test beside each other: what becomes one picture, what two on the same scale.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ssdlab_bench::host::SlowestSeen;
use ssdlab_bench::{Axis, Chart, Mark, Outcome, Series};
use ssdlab_core::CAUSES;

use crate::review::Review;
use crate::svg::{Crossed, Extent, Figure};
use crate::{name, number, text};

/// The outcomes of one test in one variant, one a drive, in the order of the review.
pub(crate) struct TestGroup<'a> {
    pub outcomes: Vec<&'a Outcome>,
    /// Element id in the page.
    pub anchor: String,
    /// The charts, each a row of the page: one across, or several beside each other.
    pub panels: Vec<Panel>,
    /// Where the time went; nothing if no outcome knows.
    pub time: Option<Figure>,
    pub timelines: Vec<Timeline<'a>>,
}

/// What a device did while its slowest request waited.
pub(crate) struct Timeline<'a> {
    pub device: &'a str,
    pub seen: &'a SlowestSeen,
    /// The name of its picture, without the ending.
    pub stem: String,
}

/// A row of pictures of the same kind.
pub(crate) struct Panel {
    pub chart_id: String,
    pub figures: Vec<Figure>,
    /// The series behind the pictures, relative to the review's folder.
    pub csv: Vec<String>,
}

impl TestGroup<'_> {
    pub fn first(&self) -> &Outcome {
        self.outcomes[0]
    }

    /// Title with the variant, if there is one that the title does not name already.
    pub fn title(&self) -> String {
        let first = self.first();
        if first.variant.is_empty() || first.title.contains(&first.variant) {
            first.title.clone()
        } else {
            format!("{}: {}", first.title, first.variant)
        }
    }

    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.panels.iter().flat_map(|p| &p.figures).chain(&self.time)
    }

    /// How many pictures it has, those of what its drives did while a request waited among them.
    pub fn pictures(&self) -> usize {
        self.figures().count() + self.timelines.len()
    }
}

/// Names of files and elements that are made of names that people chose: unique, in the order of first use.
#[derive(Default)]
pub(crate) struct Names {
    given: BTreeMap<String, usize>,
}

impl Names {
    pub fn unique(&mut self, wanted: String) -> String {
        let mut name = wanted.clone();
        while self.given.contains_key(&name) {
            let n = self.given.entry(wanted.clone()).or_insert(1);
            *n += 1;
            name = format!("{wanted}-{n}");
        }
        self.given.insert(name.clone(), 1);
        name
    }
}

/// Device expressions and names of jobs can be longer than file systems take. A file has up to two of them in its name.
const LONGEST_NAME: usize = 80;

fn cut(mut slug: String) -> String {
    slug.truncate(LONGEST_NAME);
    slug.truncate(slug.trim_end_matches(['-', '.']).len());
    slug
}

/// Folder name of each device, unique.
pub(crate) fn device_folders(review: &Review) -> BTreeMap<String, String> {
    let mut names = Names::default();
    names.unique("comparison".to_owned());
    let folder = |name: &str| cut(text::slug(name));
    review.devices.iter().map(|d| (d.facts.name.clone(), names.unique(folder(&d.facts.name)))).collect()
}

/// File name of a test in its variant.
fn test_stem(outcome: &Outcome) -> String {
    cut(match outcome.variant.as_str() {
        "" => text::slug(&outcome.test),
        variant => format!("{}-{}", text::slug(&outcome.test), text::slug(variant)),
    })
}

/// Groups the outcomes of a review in the order in which tests first appear.
pub(crate) fn groups(review: &Review) -> Vec<TestGroup<'_>> {
    let mut order: Vec<(&str, &str)> = Vec::new();
    for outcome in &review.outcomes {
        let key = (outcome.test.as_str(), outcome.variant.as_str());
        if !order.contains(&key) {
            order.push(key);
        }
    }
    let folders = device_folders(review);
    let (mut anchors, mut stems) = (Names::default(), Names::default());
    order
        .into_iter()
        .map(|(test, variant)| {
            let of = |name: &str| {
                review.outcomes.iter().find(|o| o.test == test && o.variant == variant && o.device == name)
            };
            let outcomes: Vec<&Outcome> = review.devices.iter().filter_map(|d| of(&d.facts.name)).collect();
            let stem = test_stem(outcomes[0]);
            let places = outcomes.iter().map(|o| review.devices.iter().position(|d| d.facts.name == o.device));
            let places: Vec<usize> = places.map(Option::unwrap_or_default).collect();
            let panels = panels(&outcomes, &places, review.devices.len(), &stem, &folders, &mut stems);
            let time = time_figure(&outcomes, &stem, &folders, &mut stems);
            let anchor = anchors.unique(format!("test-{stem}"));
            let timelines = timelines(&outcomes, &anchor, &folders, &mut stems);
            TestGroup { outcomes, anchor, panels, time, timelines }
        })
        .collect()
}

fn timelines<'a>(
    outcomes: &[&'a Outcome],
    anchor: &str,
    folders: &BTreeMap<String, String>,
    stems: &mut Names,
) -> Vec<Timeline<'a>> {
    let seen = outcomes.iter().filter_map(|o| Some((o.device.as_str(), o.slowest_seen.as_deref()?)));
    seen.map(|(device, seen)| {
        let stem = stems.unique(format!("{anchor}-slowest-{}", folders[device]));
        Timeline { device, seen, stem }
    })
    .collect()
}

/// `places`: of the device of each outcome among the so many `devices` of the review, which its colour goes by.
fn panels(
    outcomes: &[&Outcome],
    places: &[usize],
    devices: usize,
    stem: &str,
    folders: &BTreeMap<String, String>,
    stems: &mut Names,
) -> Vec<Panel> {
    distinct(outcomes.iter().flat_map(|o| &o.charts).map(|chart| chart.id.as_str()))
        .into_iter()
        .map(|id| {
            let with_place = || outcomes.iter().zip(places);
            let chart_of = |o: &'_ Outcome| o.charts.iter().position(|c| c.id == id);
            let having: Vec<(&Outcome, usize)> =
                with_place().filter(|(o, _)| chart_of(o).is_some()).map(|(o, &place)| (*o, place)).collect();
            let found: Vec<(&Outcome, &Chart)> =
                having.iter().filter_map(|(o, _)| Some((*o, &o.charts[chart_of(o)?]))).collect();
            let colours: Vec<usize> = having.iter().map(|&(_, place)| place).collect();
            let (_, first) = found[0];
            let file = |folder: &str| format!("{folder}/{stem}-{}", text::slug(id));
            let csv_of = |o: &Outcome| format!("series/{}", file(&folders[&o.device]));
            let same_kind = found.iter().all(|(_, c)| c.mark == first.mark);
            let csv = found.iter().map(|(o, _)| format!("{}.csv", stems.unique(csv_of(o)))).collect();
            // Stalls are told apart by cause: one drive a picture.
            let overlay =
                first.overlay_drives || (first.mark == Mark::Scatter && found.iter().all(|(_, c)| c.series.len() == 1));
            // On one axis, the curve of the quicker drive would lie on its begin.
            let far = reach_far_apart(&found);
            let mut figures = if found.len() > 1 && overlay && same_kind && !far {
                vec![merged(&found, &colours, stems.unique(file("comparison")))]
            } else {
                let mut figures: Vec<Figure> = found
                    .iter()
                    .zip(&colours)
                    .map(|((o, c), &colour)| {
                        let stem = stems.unique(file(&folders[&o.device]));
                        let in_small = o.small_by.is_some();
                        // One curve has the colour of its drive; several have one each, in a comparison none of another drive.
                        let colours = match c.series.len() {
                            1 => vec![colour],
                            _ if devices == 1 => Vec::new(),
                            several => (devices..devices + several).collect(),
                        };
                        let figure = Figure::of_chart(&of_drive(o, c), &o.device, stem, o.shortened.clone());
                        let of_drive = (devices > 1).then(|| name::pretty(&o.device));
                        Figure { in_small, colours, of_drive, ..figure }
                    })
                    .collect();
                if same_kind && !far {
                    same_scale(&mut figures);
                }
                figures
            };
            if outcomes.len() > 1 && outcomes.iter().any(|o| o.writes_short_by().is_some()) {
                for figure in &mut figures {
                    figure.caption = format!("{} {TOO_SHORT}", figure.caption).trim_start().to_owned();
                }
            }
            Panel { chart_id: id.to_owned(), figures, csv }
        })
        .collect()
}

/// Under charts of several drives.
const TOO_SHORT: &str = "The trace was too short to put drives in an order.";

/// Curves whose highest points are so many times apart need a logarithmic scale.
const FAR: f64 = 30.0;

/// Whether curves reach so much further on a linear axis for one drive than for another that each needs its own.
fn reach_far_apart(found: &[(&Outcome, &Chart)]) -> bool {
    let is_linear = |c: &Chart| c.mark == Mark::Line && !c.x.log && c.x.categories.is_empty() && !is_by_position(&c.x);
    let reach = |chart: &Chart| chart.series.iter().flat_map(|s| &s.points).map(|p| p[0]).fold(0.0, f64::max);
    let reaches = || found.iter().map(|(_, chart)| reach(chart));
    found.iter().all(|(_, c)| is_linear(c))
        && reaches().fold(0.0, f64::max) > FAR * reaches().fold(f64::INFINITY, f64::min)
}

/// The bounds that hold for all of several axes: none where one of them goes as far as its data do.
fn shared_bounds<'a>(axes: impl Iterator<Item = &'a Axis> + Clone) -> (Option<f64>, Option<f64>) {
    let min = axes.clone().map(|axis| axis.min).reduce(|a, b| Some(a?.min(b?)));
    let max = axes.map(|axis| axis.max).reduce(|a, b| Some(a?.max(b?)));
    (min.flatten(), max.flatten())
}

/// `first`, as far as all of `axes` go.
fn shared_axis<'a>(first: &Axis, axes: impl Iterator<Item = &'a Axis> + Clone) -> Axis {
    let (min, max) = shared_bounds(axes);
    Axis { min, max, ..first.clone() }
}

/// Gives figures that stand beside each other the same axes, where these are of the same unit.
pub(crate) fn same_scale(figures: &mut [Figure]) {
    if figures.len() < 2 {
        return;
    }
    for of in [0, 1] {
        let axes = || figures.iter().map(|f| if of == 0 { &f.x } else { &f.y });
        let Some(all) = Extent::union(figures.iter().filter_map(|f| f.extent(of))) else {
            continue;
        };
        if distinct(axes().map(|axis| axis.unit.as_str())).len() > 1 {
            continue;
        }
        let (least, most) = shared_bounds(axes());
        for figure in figures.iter_mut() {
            let axis = if of == 0 { &mut figure.x } else { &mut figure.y };
            if axis.categories.is_empty() {
                (axis.min, axis.max) = (least, most);
                let (min, max) = crate::svg::bounds(axis, all, of == 1);
                (axis.min, axis.max) = (Some(min), Some(max));
            }
            figure.zero_strip |= of == 1 && all.min <= 0.0;
        }
    }
}

/// One picture of several drives' charts. Categories are joined by name, curves and bars are told apart by drive.
/// `colours_of`: that of each drive.
fn merged(found: &[(&Outcome, &Chart)], colours_of: &[usize], stem: String) -> Figure {
    let (_, first) = found[0];
    let categories = distinct(found.iter().flat_map(|(_, c)| &c.x.categories).map(String::as_str));
    let x = shared_axis(&first.x, found.iter().map(|(_, c)| &c.x));
    let mut x = Axis { categories: categories.iter().map(|&c| c.to_owned()).collect(), ..x };
    let mut joined = if first.mark == Mark::StackedBars {
        let joined = Joined::in_turns(found, &categories);
        x.categories = stacked_categories(first, &x, found, &joined.series);
        joined
    } else {
        Joined::together(found, &categories)
    };
    let mut smoothed = false;
    if is_by_position(&x) {
        x = percent_of_capacity();
        joined.count_in_percent(found);
        smoothed = first.mark == Mark::Line && first.y.unit == "MB/s" && joined.smoothed();
    }
    let y = shared_axis(&first.y, found.iter().map(|(_, c)| &c.y));
    let far = first.mark == Mark::Line && far_apart(&joined.series);
    let subject = found.iter().map(|(o, _)| o.device.as_str()).collect::<Vec<_>>().join(" and ");
    let (shortened, shortened_of) = shortened(found.iter().map(|(o, _)| *o));
    Figure {
        title: merged_title(found),
        caption: merged_caption(found, smoothed),
        shortened_of,
        in_small: found.iter().any(|(o, _)| o.small_by.is_some()),
        x,
        y: if far { Axis::log(&first.y.label, &first.y.unit) } else { y },
        colours: joined.curves.iter().map(|&(drive, _)| colours_of[drive]).collect(),
        crossed: joined.crossed(found, colours_of).filter(|_| first.mark == Mark::Line),
        series: joined.series,
        ..Figure::of_chart(first, &subject, stem, shortened)
    }
}

/// The series of several drives' charts.
#[derive(Default)]
struct Joined {
    series: Vec<Series>,
    /// Drive and kind of each series, if each is of one drive.
    curves: Vec<(usize, usize)>,
    kinds: Vec<String>,
}

impl Joined {
    /// Bars: drives take turns within each category; parts of the same name stay one series.
    fn in_turns(found: &[(&Outcome, &Chart)], categories: &[&str]) -> Self {
        let mut series: Vec<Series> = Vec::new();
        for (drive, s, points) in by_place(found, categories) {
            let spread = points.map(|p| [p[0] * found.len() as f64 + drive as f64, p[1]]);
            match series.iter_mut().find(|have| have.name == s.name) {
                Some(have) => have.points.extend(spread),
                None => series.push(Series { name: s.name.clone(), points: spread.collect() }),
            }
        }
        Joined { series, ..Joined::default() }
    }

    /// All curves of all drives.
    fn together(found: &[(&Outcome, &Chart)], categories: &[&str]) -> Self {
        let several = found.iter().any(|(_, c)| c.series.len() > 1);
        let mut joined = Joined::default();
        for (drive, s, points) in by_place(found, categories) {
            let drive_name = name::pretty(&found[drive].0.device);
            let name = if several { format!("{drive_name}, {}", s.name) } else { drive_name };
            let kind = joined.kinds.iter().position(|kind| *kind == s.name).unwrap_or_else(|| {
                joined.kinds.push(s.name.clone());
                joined.kinds.len() - 1
            });
            joined.curves.push((drive, kind));
            joined.series.push(Series { name, points: points.collect() });
        }
        joined
    }

    fn count_in_percent(&mut self, found: &[(&Outcome, &Chart)]) {
        let sizes: Vec<f64> = found.iter().map(|(_, c)| size_of(c)).collect();
        for (series, &(drive, _)) in self.series.iter_mut().zip(&self.curves) {
            to_percent(series, sizes[drive]);
        }
    }

    /// Draws curves of many points by their means; whether there were any.
    fn smoothed(&mut self) -> bool {
        let mut any = false;
        for series in self.series.iter_mut().filter(|s| s.points.len() > MANY) {
            series.points = by_position(&series.points);
            any = true;
        }
        any
    }

    /// If drives have curves of several kinds, which all have names: what tells them apart.
    fn crossed(&self, found: &[(&Outcome, &Chart)], colours_of: &[usize]) -> Option<Crossed> {
        let named = self.kinds.len() > 1 && self.kinds.iter().all(|kind| !kind.is_empty());
        named.then(|| Crossed {
            drives: found.iter().map(|(o, _)| name::pretty(&o.device)).collect(),
            colours: colours_of.to_vec(),
            kinds: self.kinds.clone(),
            series: self.curves.clone(),
        })
    }
}

/// Drive, series, and its points where their categories stand among those of all drives. Series by series, so that the same curve
/// of every drive stands together.
fn by_place<'a>(
    found: &'a [(&Outcome, &Chart)],
    categories: &'a [&str],
) -> impl Iterator<Item = (usize, &'a Series, impl Iterator<Item = [f64; 2]> + 'a)> {
    let most = found.iter().map(|(_, c)| c.series.len()).max().unwrap_or(0);
    let of_drives = move |place: usize| {
        found.iter().enumerate().filter_map(move |(drive, &(_, chart))| {
            let series = chart.series.get(place)?;
            let moved = |p: &[f64; 2]| match chart.x.categories.get(p[0] as usize) {
                Some(name) => [categories.iter().position(|c| c == name).unwrap_or(0) as f64, p[1]],
                None => *p,
            };
            Some((drive, series, series.points.iter().map(moved)))
        })
    };
    (0..most).flat_map(of_drives)
}

/// Each text once, with the names of the drives that it is of.
fn by_text<'a>(of: impl Iterator<Item = (&'a Outcome, &'a str)> + Clone) -> Vec<(&'a str, String)> {
    let whose = |text: &str| {
        let drives = of.clone().filter(|(_, own)| *own == text);
        drives.map(|(o, _)| name::pretty(&o.device)).collect::<Vec<_>>().join(", ")
    };
    distinct(of.clone().map(|(_, text)| text)).into_iter().map(|text| (text, whose(text))).collect()
}

/// What is the steady state of one drive may be no more than the last part of another's run.
fn merged_title(found: &[(&Outcome, &Chart)]) -> String {
    let titles = by_text(found.iter().map(|(o, c)| (*o, c.title.as_str())));
    match titles.as_slice() {
        [(title, _)] => (*title).to_owned(),
        _ => titles.iter().map(|(title, whose)| format!("{title} ({whose})")).collect::<Vec<_>>().join(" / "),
    }
}

/// How the runs behind a picture were shortened, with whose they are where not all were, or not alike; and whose they are where not all were.
fn shortened<'a>(outcomes: impl Iterator<Item = &'a Outcome> + Clone) -> (Option<String>, Option<String>) {
    let short = outcomes.clone().filter_map(|o| Some((o, o.shortened.as_deref()?)));
    let all = short.clone().count() == outcomes.count();
    let told = match (by_text(short.clone()).as_slice(), all) {
        ([], _) => return (None, None),
        ([(how, _)], true) => (*how).to_owned(),
        (hows, _) => hows.iter().map(|(how, whose)| format!("{whose}: {how}")).collect::<Vec<_>>().join("; "),
    };
    let whose = || short.map(|(o, _)| name::pretty(&o.device)).collect::<Vec<_>>().join(", ");
    (Some(told), (!all).then(whose))
}

/// What the charts say, and what is true of the picture as a whole.
fn merged_caption(found: &[(&Outcome, &Chart)], smoothed: bool) -> String {
    let captions = by_text(found.iter().map(|(o, c)| (*o, c.caption.as_str())));
    let mut parts: Vec<String> = match captions.as_slice() {
        [(caption, _)] => vec![(*caption).to_owned()],
        _ => captions.iter().map(|(caption, whose)| format!("{whose}: {caption}")).collect(),
    };
    parts.extend(unlike_sizes(found));
    parts.extend(smoothed.then(|| "Each point is the mean of one per cent of the capacity.".to_owned()));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

/// Each once, in the order in which they come first.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
}

fn is_by_position(x: &Axis) -> bool {
    x.unit == "GB" && x.label == "position"
}

/// Where a chart by position ends.
fn size_of(chart: &Chart) -> f64 {
    let ends = chart.series.iter().flat_map(|s| s.points.last()).map(|p| p[0]);
    chart.x.max.unwrap_or_else(|| ends.fold(0.0, f64::max))
}

fn to_percent(series: &mut Series, size: f64) {
    series.points.iter_mut().for_each(|p| p[0] *= 100.0 / size.max(1e-9));
}

/// A chart as it is shown of one drive: gigabytes of a drive in small are none of the drive's.
pub(crate) fn of_drive<'a>(outcome: &Outcome, chart: &'a Chart) -> Cow<'a, Chart> {
    if outcome.small_by.is_none() || !is_by_position(&chart.x) {
        return Cow::Borrowed(chart);
    }
    let size = size_of(chart);
    let mut shown = Chart { x: percent_of_capacity(), ..chart.clone() };
    shown.series.iter_mut().for_each(|s| to_percent(s, size));
    Cow::Owned(shown)
}

fn percent_of_capacity() -> Axis {
    Axis { min: Some(0.0), max: Some(100.0), ..Axis::linear("position", "% of the capacity") }
}

/// What to know of a picture of some devices in small and some whole.
fn unlike_sizes(found: &[(&Outcome, &Chart)]) -> Option<String> {
    let names = |small: bool| -> Vec<String> {
        found.iter().filter(|(o, _)| o.small_by.is_some() == small).map(|(o, _)| name::pretty(&o.device)).collect()
    };
    let (small, whole) = (names(true), names(false));
    (!small.is_empty() && !whole.is_empty()).then(|| {
        format!("{} ran whole, {} on an eighth: their times and sizes differ.", whole.join(", "), small.join(", "))
    })
}

/// Curves of several drives by position with more points than this are drawn by their means.
const MANY: usize = 200;

/// The rate over each per cent of the capacity: a drive that alternates between two rates is a line at what it writes in
/// the mean, not a surface that covers the others. Points stand for as much data each, so that the mean is the harmonic one.
fn by_position(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let place = |p: &[f64; 2]| (p[0].clamp(0.0, 100.0) as usize).min(99);
    (0..100)
        .filter_map(|percent| {
            let within: Vec<&[f64; 2]> = points.iter().filter(|p| place(p) == percent).collect();
            let time: f64 = within.iter().map(|p| 1.0 / p[1]).sum();
            (!within.is_empty()).then(|| [percent as f64 + 0.5, within.len() as f64 / time])
        })
        .collect()
}

/// Whether curves are so far apart that on a linear scale the lower ones would lie on the axis.
fn far_apart(series: &[Series]) -> bool {
    let values = || series.iter().flat_map(|s| &s.points).map(|p| p[1]);
    let tops = || series.iter().map(|s| s.points.iter().map(|p| p[1]).fold(0.0, f64::max));
    values().all(|v| v > 0.0) && tops().fold(0.0, f64::max) > FAR * tops().fold(f64::INFINITY, f64::min)
}

/// Names of the bars when drives take turns: category and drive.
fn stacked_categories(first: &Chart, x: &Axis, found: &[(&Outcome, &Chart)], series: &[Series]) -> Vec<String> {
    let reach = series.iter().flat_map(|s| &s.points).map(|p| p[0] as usize / found.len() + 1).max().unwrap_or(0);
    (0..reach.max(x.categories.len()))
        .flat_map(|i| {
            let category = x.categories.get(i).cloned().unwrap_or_else(|| number::value(i as f64, &first.x.unit));
            found.iter().map(move |(o, _)| format!("{category}, {}", name::pretty(&o.device)))
        })
        .collect()
}

/// Where the time went: a bar for each kind of I/O and drive, each of full length, so that a fast and a slow one
/// can be compared cause by cause; the mean latency stands at its end.
fn time_figure(
    outcomes: &[&Outcome],
    stem: &str,
    folders: &BTreeMap<String, String>,
    stems: &mut Names,
) -> Option<Figure> {
    let labels = distinct(outcomes.iter().flat_map(|o| &o.time_shares).map(|share| share.label.as_str()));
    let several = outcomes.iter().filter(|o| !o.time_shares.is_empty()).count() > 1;
    let (mut categories, mut rows) = (Vec::new(), Vec::new());
    for label in labels {
        for outcome in outcomes {
            for share in outcome.time_shares.iter().filter(|s| s.label == label) {
                categories.push(if several {
                    format!("{label}, {}", name::pretty(&outcome.device))
                } else {
                    label.to_owned()
                });
                rows.push(share);
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    let means = number::Beside::of(rows.iter().map(|share| share.latency_mean_us), "us");
    let bar_ends = rows.iter().map(|share| format!("mean {}", means.text(share.latency_mean_us))).collect();
    let part = |share: &ssdlab_bench::TimeShare, key: &str| {
        let whole: f64 = share.mean_us.values().sum();
        let us = share.mean_us.get(key).copied().unwrap_or(0.0);
        if whole > 0.0 { us / whole * 100.0 } else { 0.0 }
    };
    let series = CAUSES.iter().map(|cause| Series {
        name: cause.label().to_owned(),
        points: rows.iter().enumerate().map(|(i, share)| [i as f64, part(share, cause.key())]).collect(),
    });
    let series: Vec<Series> = series.filter(|s| s.points.iter().any(|p| p[1] > 0.0)).collect();
    let known = || outcomes.iter().copied().filter(|o| !o.time_shares.is_empty());
    let drives: Vec<&str> = known().map(|o| o.device.as_str()).collect();
    let (shortened, shortened_of) = shortened(known());
    let folder = if several { "comparison" } else { folders[drives[0]].as_str() };
    Some(Figure {
        stem: stems.unique(format!("{folder}/{stem}-time")),
        title: format!("Where the time went: {}", outcomes[0].title),
        subject: drives.join(" and "),
        of_drive: None,
        caption: "Share of the mean latency by cause. Each bar is one kind of I/O; its mean latency stands at its end."
            .to_owned(),
        shortened,
        shortened_of,
        in_small: outcomes.iter().any(|o| o.small_by.is_some()),
        is_band: false,
        mark: Mark::StackedBars,
        x: Axis { categories, ..Axis::linear("", "") },
        y: Axis { min: Some(0.0), max: Some(100.0), ..Axis::linear("Share of the mean latency", "%") },
        series,
        colours: Vec::new(),
        crossed: None,
        zero_strip: false,
        bar_ends,
        point_names: Vec::new(),
        names_at_end: false,
        zone: None,
        stepped: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_far_apart_are_told_from_near_ones_and_from_those_that_touch_zero() {
        let curve = |values: [f64; 2]| Series { name: String::new(), points: vec![[0.0, values[0]], [1.0, values[1]]] };
        assert!(far_apart(&[curve([18.0, 22.0]), curve([3_000.0, 13_000.0])]));
        assert!(!far_apart(&[curve([110.0, 150.0]), curve([3_000.0, 4_000.0])]));
        assert!(!far_apart(&[curve([0.0, 22.0]), curve([3_000.0, 13_000.0])]));
        assert!(!far_apart(&[curve([18.0, 13_000.0])]));
    }

    #[test]
    fn curves_that_reach_far_apart_have_an_axis_each() {
        let drawn = |reach: f64, x: Axis| {
            let points = vec![[0.0, 0.0], [reach / 2.0, 0.3], [reach, 0.0]];
            let series = vec![Series { name: String::new(), points }];
            let (id, title, caption) = ("c".to_owned(), String::new(), String::new());
            Chart { id, title, caption, mark: Mark::Line, x, y: Axis::linear("y", ""), series, overlay_drives: true }
        };
        let outcome = Outcome::default();
        let far = |reach: f64, x: &Axis| {
            let charts = [drawn(200.0, x.clone()), drawn(reach, x.clone())];
            reach_far_apart(&[(&outcome, &charts[0]), (&outcome, &charts[1])])
        };
        let time = Axis::linear("service time", "us");
        assert!(far(250_000.0, &time) && !far(4_000.0, &time));
        assert!(!far(250_000.0, &Axis::log("service time", "us")));
        assert!(!far(250_000.0, &Axis::linear("position", "GB")));
    }

    /// A dot a second, on axes that end with the run and at `top`.
    fn seconds(length: f64, top: Option<f64>, iops: f64) -> Chart {
        let points = (0..=length as u32).map(|s| [f64::from(s), iops]).collect();
        Chart {
            id: "iops".to_owned(),
            title: "IOPS".to_owned(),
            caption: String::new(),
            mark: Mark::Scatter,
            x: Axis { min: Some(0.0), max: Some(length), ..Axis::linear("time", "s") },
            y: Axis { max: top, ..Axis::linear("IOPS", "IOPS") },
            series: vec![Series { name: String::new(), points }],
            overlay_drives: true,
        }
    }

    #[test]
    fn a_picture_of_several_drives_has_room_for_all_of_them() {
        let charts = [seconds(250.0, Some(40_000.0), 5_000.0), seconds(2_000.0, Some(90_000.0), 80_000.0)];
        let outcome = Outcome::default();
        let found: Vec<(&Outcome, &Chart)> = charts.iter().map(|chart| (&outcome, chart)).collect();
        for found in [vec![found[0], found[1]], vec![found[1], found[0]]] {
            let figure = merged(&found, &[0, 1], "stem".to_owned());
            assert_eq!((figure.x.min, figure.x.max), (Some(0.0), Some(2_000.0)));
            assert_eq!((figure.y.min, figure.y.max), (None, Some(90_000.0)));
        }
        // What goes as far as its data do has no end that another could have.
        let open = seconds(250.0, None, 5_000.0);
        let figure = merged(&[found[1], (&outcome, &open)], &[0, 1], "stem".to_owned());
        assert_eq!(figure.y.max, None);
        let beside = |chart: &Chart| Figure::of_chart(chart, "a drive", "stem".to_owned(), None);
        let mut figures = charts.each_ref().map(beside);
        same_scale(&mut figures);
        assert!(figures.iter().all(|f| (f.x.max, f.y.max) == (Some(2_000.0), Some(90_000.0))), "{figures:?}");
        // A share of the capacity is no gigabyte.
        figures[0].x = percent_of_capacity();
        same_scale(&mut figures);
        assert_eq!(figures.each_ref().map(|f| f.x.max), [Some(100.0), Some(2_000.0)]);
    }

    #[test]
    fn what_is_said_of_a_picture_has_the_name_of_the_drive_that_it_is_of() {
        let run = |device: &str, shortened: Option<&str>| Outcome {
            device: device.to_owned(),
            shortened: shortened.map(str::to_owned),
            ..Outcome::default()
        };
        let outcomes = [run("a", None), run("b", Some("10 s")), run("c", Some("10 s"))];
        let mut charts = [seconds(9.0, None, 1.0), seconds(9.0, None, 2.0), seconds(9.0, None, 3.0)];
        let picture = |charts: &[Chart; 3], of: std::ops::Range<usize>| {
            let found: Vec<(&Outcome, &Chart)> = outcomes.iter().zip(charts).collect();
            merged(&found[of], &[0, 1, 2], "stem".to_owned())
        };
        let all = picture(&charts, 0..3);
        assert_eq!((all.title.as_str(), all.shortened.as_deref()), ("IOPS", Some("B, C: 10 s")));
        assert_eq!(all.shortened_of.as_deref(), Some("B, C"));
        let alike = picture(&charts, 1..3);
        assert_eq!((alike.shortened.as_deref(), alike.shortened_of), (Some("10 s"), None));
        assert_eq!(picture(&charts, 0..1).shortened, None);
        charts[1].title = "Last part".to_owned();
        assert_eq!(picture(&charts, 0..3).title, "IOPS (A, C) / Last part (B)");
    }

    #[test]
    fn names_that_collide_are_numbered() {
        let mut names = Names::default();
        let given: Vec<String> = ["a", "a", "a-2", "a"].map(|n| names.unique(n.to_owned())).into();
        assert_eq!(given.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{given:?}");
        assert_eq!(given[..2], ["a", "a-2"]);
    }

    #[test]
    fn a_drive_that_alternates_is_drawn_at_what_it_writes_in_the_mean() {
        // Half of the data at 490 MB/s and half at 64: the rate of both together is 113.
        let points: Vec<[f64; 2]> =
            (0..1_000).map(|i| [f64::from(i) / 10.0, if i % 2 == 0 { 490.0 } else { 64.0 }]).collect();
        let means = by_position(&points);
        assert_eq!((means.len(), means[0][0], means[99][0]), (100, 0.5, 99.5));
        assert!(means.iter().all(|p| (p[1] - 2.0 / (1.0 / 490.0 + 1.0 / 64.0)).abs() < 1e-9), "{means:?}");
        // The end of the drive belongs to its last part.
        assert_eq!(by_position(&[[100.0, 5.0]]), [[99.5, 5.0]]);
    }
}
