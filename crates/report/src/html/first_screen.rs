//! The first screen: what the drive is, how steadily it writes, how it compares, what was found, for whom it is, and how far
//! to trust all that.

use std::collections::BTreeSet;

use ssdlab_bench::suite::is_as_declared;
use ssdlab_bench::{Axis, ClaimKind, Mark, Outcome, Series, Unsettled};

use super::test::open_figure;
use crate::compare::TestGroup;
use crate::figures::{doubt, last_part};
use crate::headline::{HEADLINES, Headline};
use crate::name;
use crate::number;
use crate::random_writes;
use crate::reach::{self, Covered, Reach};
use crate::reference::{STEP_SECONDS, beside};
use crate::review::{ParameterCount, Reality, Review, ReviewedDevice, Tally};
use crate::story::{Decks, Story, bar_notes, decks, drifts, story, waits_for_collection};
use crate::svg::{Figure, Layout};
use crate::text::{escape, listed};

/// How many bar charts the first screen has; the others follow below.
const BARS: usize = 5;

/// For how many drives the narrow column has room to say whom they suit.
const COLUMN: usize = 3;

/// A drive in a bar chart.
struct Bar {
    label: String,
    /// `None`: its test ran, and the figure had not settled, or is left to a full run.
    value: Option<f64>,
    /// Where it stood at the end, settled or not.
    so_far: Option<f64>,
    /// Place among the drives of the review; `None`: a reference drive.
    own: Option<usize>,
    /// What its run covered; a bar that is not `in_order` has no length, since it is of another span or time than the others.
    reach: Reach,
    in_order: bool,
}

/// Whether there is something to compare or to conclude: a trace, a fio job file or a single test may hold neither.
fn concludes(review: &Review, charts: &[(Headline, Vec<Bar>)], stories: &[Story]) -> bool {
    !charts.is_empty()
        || stories.iter().any(|story| !story.findings.is_empty())
        || review.devices.iter().any(|d| !random_writes::curve(review, &d.facts.name).is_empty())
}

/// Writes it, and returns whether there was something to compare or to conclude.
pub(crate) fn write(out: &mut String, review: &Review, groups: &[TestGroup]) -> bool {
    let stories: Vec<Story> = review.devices.iter().map(|d| story(review, d)).collect();
    head(out, review, &decks(review));
    let charts = charts(review);
    if !concludes(review, &charts, &stories) {
        trust(out, review);
        return false;
    }
    out.push_str("<div class=\"first\">\n<div class=\"wide\">\n");
    scatter(out, review);
    findings(out, review, groups, &stories);
    out.push_str("</div>\n<div class=\"narrow\">\n<h2 id=\"glance\">At a glance</h2>\n");
    for (headline, bars) in charts.iter().take(BARS) {
        bar_chart(out, review, headline, bars);
    }
    if charts.is_empty() {
        out.push_str(&format!("<p class=\"under\">{}</p>\n", without_charts(review)));
    }
    // Of many drives, side by side below: the column would be longer than all else.
    let many = stories.len() > COLUMN;
    if !many {
        conclusion(out, review, &stories);
    }
    trust(out, review);
    out.push_str("</div>\n</div>\n");
    if many {
        conclusion(out, review, &stories);
    }
    let rest: Vec<_> = charts.iter().skip(BARS).collect();
    if !rest.is_empty() {
        out.push_str("<section id=\"more-bars\" aria-labelledby=\"more-bars-h\">\n<h2 id=\"more-bars-h\">More comparisons</h2>\n<div class=\"bars\">\n");
        for (headline, bars) in rest {
            bar_chart(out, review, headline, bars);
        }
        out.push_str("</div>\n</section>\n");
    }
    true
}

/// Why there is nothing to compare drives by.
fn without_charts(review: &Review) -> &'static str {
    let ran = |is_so: fn(&Outcome) -> bool| {
        let shown = || HEADLINES.iter().filter(|h| h.is_shown(review.quick));
        review.outcomes.iter().any(|o| shown().any(|h| h.fits(&o.test, &o.variant)) && is_so(o))
    };
    if ran(|o| is_as_declared(o) && drifts(o)) {
        "None of the figures that drives are compared by is there: random writes came to no steady state."
    } else if ran(|o| is_as_declared(o) && !o.has_settled()) {
        "None of the figures that drives are compared by is there: they are left to a full run."
    } else if ran(|o| !is_as_declared(o)) {
        "None of the tests that drives are compared by has run with its own parameters."
    } else {
        "None of the tests that drives are compared by has run."
    }
}

/// No test can bring a real drive back to the factory.
const FRESH_IF_REAL: &str = "On a real drive, what is called fresh, new or empty was trimmed whole before the test if the drive \
                             knows TRIM, and is as it was found otherwise.";

fn head(out: &mut String, review: &Review, decks: &Decks) {
    title(out, review, decks);
    if review.reality() != Reality::Simulated {
        out.push_str(&format!("<p class=\"under\">{FRESH_IF_REAL}</p>\n"));
    }
}

fn title(out: &mut String, review: &Review, decks: &Decks) {
    let names: Vec<String> = review.devices.iter().map(|d| escape(&name::pretty(&d.facts.name))).collect();
    match (review.devices.as_slice(), decks.each.as_slice()) {
        ([one], [deck]) => {
            out.push_str(&format!("<h1>{}</h1>\n<p class=\"deck\">{}</p>\n", names[0], escape(deck)));
            traits(out, one);
        }
        _ => {
            let spans: Vec<String> = names.iter().map(|n| format!("<span>{n}</span>")).collect();
            out.push_str(&format!("<h1>{}</h1>\n", spans.join(" <small>and</small> ")));
            // A drive that nothing sets apart has no line of its own.
            let apart: Vec<(&String, &String)> = names.iter().zip(&decks.each).filter(|(_, d)| !d.is_empty()).collect();
            if !apart.is_empty() {
                out.push_str("<dl class=\"decks\">\n");
                for (name, deck) in apart {
                    out.push_str(&format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escape(deck)));
                }
                out.push_str("</dl>\n");
            }
            if !decks.all.is_empty() {
                out.push_str(&format!("<p class=\"under\">{}</p>\n", escape(&decks.all)));
            }
        }
    }
}

fn traits(out: &mut String, device: &ReviewedDevice) {
    let f = &device.facts;
    let mut all = vec![number::bytes(f.capacity_bytes as f64)];
    if let Some(spare) = f.over_provisioning_percent {
        all.push(format!("{} % spare", number::trimmed(spare, 1)));
    }
    if !f.supports_trim {
        all.push("no TRIM".to_owned());
    }
    // The first says what it is, the last how much of it is estimated.
    for (i, own) in device.traits.iter().enumerate() {
        all.insert(if i == 0 { 0 } else { all.len() }, own.clone());
    }
    let items: Vec<String> = all.iter().map(|t| format!("<li>{}</li>", escape(t))).collect();
    out.push_str(&format!("<ul class=\"traits\">{}</ul>\n", items.concat()));
}

/// Where names stand at the ends of a scatter: no figure, since those are of another part of the run.
fn at_median(review: &Review) -> String {
    format!(
        "Names beside the dots stand at the median of the last eighth of each run; figures are of the {}.",
        last_part(&random_writes::all_drawn(review))
    )
}

/// Of a run in small beside reference drives.
const LAID_OVER: &str = "The runs of the other drives are laid over it, eight of their seconds to one.";

/// Of runs in small beside whole ones.
const STRETCHED: &str = "Runs on an eighth of a drive, for an eighth of the time, are drawn eight times as long.";

/// Random writes over time, all drives in one picture.
fn scatter(out: &mut String, review: &Review) {
    let single = review.devices.len() == 1;
    let (mut series, mut colours): (Vec<Series>, Vec<usize>) = (Vec::new(), Vec::new());
    for (i, device) in review.devices.iter().enumerate() {
        let points = random_writes::curve(review, &device.facts.name).to_vec();
        if !points.is_empty() {
            series.push(Series { name: name::short(&device.facts.name), points });
            colours.push(i);
        }
    }
    if series.is_empty() {
        return;
    }
    let of_several = (!single).then(|| dots(&series, None));
    // Beside whole drives, a run on an eighth of one, for an eighth of the time, would seem to stop.
    let small_by = |device: usize| random_writes::drawn(review, &review.devices[device].facts.name)?.small_by;
    let is_mixed = whole(review) && colours.iter().any(|&device| small_by(device).is_some());
    for (series, &device) in series.iter_mut().zip(&colours).filter(|_| is_mixed) {
        let times = small_by(device).map_or(1.0, f64::from);
        series.points.iter_mut().for_each(|point| point[0] *= times);
    }
    let last = series.iter().flat_map(|s| s.points.last()).map(|p| p[0]).fold(0.0, f64::max);
    if single {
        let f = &review.devices[0].facts;
        // Behind the drive of the review: what is drawn last lies on top.
        for (i, other) in beside(&f.name, f.supports_trim).into_iter().enumerate() {
            // A quick run has an eighth of the drive and of the time, and shows the others as far as it goes itself.
            let stretch = small_by(0).map_or(1.0, |by| 1.0 / f64::from(by));
            let at = |k: usize| (k * STEP_SECONDS + 1) as f64 * stretch;
            let points = other.iops.iter().enumerate().map(|(k, &v)| [at(k), v]).filter(|p| p[0] <= last).collect();
            series.insert(0, Series { name: name::short(&other.name), points });
            colours.insert(0, [2, 4, 3][i % 3]);
        }
    }
    let mut figure = Figure {
        stem: "first-screen-consistency".to_owned(),
        title: "Random writes over every address".to_owned(),
        subject: format!(
            "4 KiB, QD32, after one sequential fill, {}{}",
            of_several.unwrap_or_else(|| dots(&series, Some(series.len() - 1))),
            match (review.is_in_small(), whole(review)) {
                (true, true) => format!("; {} on an eighth of the drive", names_in_small(review)),
                (true, false) => ", an eighth of the drive".to_owned(),
                (false, _) => String::new(),
            }
        ),
        of_drive: None,
        caption: String::new(),
        shortened: None,
        shortened_of: None,
        in_small: false,
        is_band: false,
        mark: Mark::Scatter,
        x: Axis { min: Some(0.0), max: Some(last), ..Axis::linear("time", "s") },
        y: Axis::log("IOPS", "IOPS"),
        zone: stall_zone(review),
        series,
        colours,
        crossed: None,
        zero_strip: false,
        bar_ends: Vec::new(),
        point_names: Vec::new(),
        names_at_end: true,
        stepped: Vec::new(),
    };
    // Names that are too long for it stand in the legend.
    let at_median = crate::svg::has_names_at_end(&figure).then(|| at_median(review));
    let laid_over = (single && review.is_in_small() && figure.series.len() > 1).then(|| LAID_OVER.to_owned());
    let stretched = is_mixed.then(|| STRETCHED.to_owned());
    figure.caption = at_median.into_iter().chain(laid_over).chain(stretched).collect::<Vec<_>>().join(" ");
    open_figure(out, &figure, Layout::Full, &figure.title);
    out.push_str("</figure>\n");
}

/// How many dots a second the series have, and which have how many where they differ. `beside`: how many, from the first on, are of drives
/// that the last one is set beside.
fn dots(series: &[Series], beside: Option<usize>) -> String {
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    // What lies on top comes first.
    let (others, own) = series.split_at(beside.unwrap_or(0));
    for (s, whose) in own.iter().map(|s| (s, s.name.as_str())).chain(others.iter().map(|s| (s, "the others"))) {
        let dots = dots_of(&s.points);
        match kinds.iter_mut().find(|(have, _)| *have == dots) {
            Some((_, names)) => names.push(whose),
            None => kinds.push((dots, vec![whose])),
        }
    }
    if let [(dots, _)] = kinds.as_slice() {
        return dots.clone();
    }
    let told = kinds.into_iter().map(|(dots, mut names)| {
        names.dedup();
        format!("{dots} of {}", names.join(" and "))
    });
    told.collect::<Vec<_>>().join(", ")
}

fn dots_of(points: &[[f64; 2]]) -> String {
    let word = |n: f64| match n as u32 {
        2 => "two".to_owned(),
        4 => "four".to_owned(),
        8 => "eight".to_owned(),
        n => n.to_string(),
    };
    let step = match points {
        [first, .., last] => (last[0] - first[0]) / (points.len() - 1) as f64,
        _ => 1.0,
    };
    match (libm::round(step), libm::round(1.0 / step)) {
        (every, _) if every >= 2.0 => format!("a dot every {} seconds", word(every)),
        (_, each) if each >= 2.0 => format!("{} dots a second", word(each)),
        _ => "a dot a second".to_owned(),
    }
}

/// Whether the random writes of any of its drives were measured whole.
fn whole(review: &Review) -> bool {
    random_writes::all_drawn(review).iter().any(|o| o.small_by.is_none())
}

/// The drives whose random writes were measured in small.
fn names_in_small(review: &Review) -> String {
    let in_small = random_writes::all_drawn(review).into_iter().filter(|o| o.small_by.is_some());
    let names: Vec<String> = in_small.map(|o| name::pretty(&o.device)).collect();
    names.join(" and ")
}

/// Where the stalls of the drive of a review lie.
fn stall_zone(review: &Review) -> Option<(f64, f64, String)> {
    let [one] = review.devices.as_slice() else { return None };
    let curve = random_writes::curve(review, &one.facts.name);
    let half: Vec<f64> = curve.iter().skip(curve.len() / 2).map(|p| p[1]).collect();
    let steady = crate::story::Steady::of(&half).filter(|s| s.stalls() && s.lowest > 0.0)?;
    let collects = random_writes::drawn(review, &one.facts.name).is_some_and(waits_for_collection);
    // A quick run collects smaller ones.
    let unit = one
        .superblock_bytes
        .filter(|_| collects && !review.quick)
        .map_or_else(String::new, |b| format!(" while a superblock of {} is collected", number::transfer(b)));
    let what = format!("stalls at {}{unit}", number::grouped(steady.lowest, 0));
    Some((steady.lowest * 0.8, steady.lowest * 1.6, what))
}

fn findings(out: &mut String, review: &Review, groups: &[TestGroup], stories: &[Story]) {
    if stories.iter().all(|story| story.findings.is_empty()) {
        return;
    }
    out.push_str("<h2 id=\"found\">What we found</h2>\n");
    let single = stories.len() == 1;
    // Of several drives, the first two or three findings of each: there is room for no more.
    let each = if single { usize::MAX } else { (12 / stories.len()).clamp(2, 3) };
    for (device, story) in review.devices.iter().zip(stories).filter(|(_, story)| !story.findings.is_empty()) {
        if !single {
            out.push_str(&format!("<h3>{}</h3>\n", escape(&name::pretty(&device.facts.name))));
        }
        out.push_str("<ol class=\"found\">\n");
        for f in story.findings.iter().take(each) {
            let link = groups
                .iter()
                .find(|g| g.first().test == f.test)
                .map_or_else(String::new, |g| format!(" <a href=\"#{}\">figures</a>", g.anchor));
            out.push_str(&format!(
                "<li>{}<b>{}</b>{}{link}</li>\n",
                escape(&f.before),
                escape(&f.bold),
                escape(&f.after)
            ));
        }
        out.push_str("</ol>\n");
    }
}

/// Every headline figure that is there, with its drives, best first.
fn charts(review: &Review) -> Vec<(Headline, Vec<Bar>)> {
    let others = match review.devices.as_slice() {
        [one] => beside(&one.facts.name, one.facts.supports_trim),
        _ => Vec::new(),
    };
    let mut charts = Vec::new();
    for headline in HEADLINES.into_iter().filter(|h| h.is_shown(review.quick)) {
        let own = |(i, device): (usize, &ReviewedDevice)| {
            let value = headline.of(&review.outcomes, &device.facts.name).map(|m| m.value);
            let ran = |o: &&Outcome| o.device == device.facts.name && headline.fits(&o.test, &o.variant);
            let may_have_none = |o: &Outcome| headline.settles || o.is_unsettled_by(Unsettled::LeftToFullRun);
            (value.is_some() || review.outcomes.iter().filter(ran).any(may_have_none)).then(|| Bar {
                label: name::short(&device.facts.name),
                value,
                so_far: headline.so_far(&review.outcomes, &device.facts.name),
                own: Some(i),
                reach: Reach::of_headline(review, &headline, &device.facts.name).unwrap_or_default(),
                in_order: true,
            })
        };
        let mut bars: Vec<Bar> = review.devices.iter().enumerate().filter_map(own).collect();
        if bars.iter().all(|b| b.value.is_none()) {
            continue;
        }
        bars.extend(others.iter().filter_map(|drive| {
            let so_far = Some(*drive.figures.get(headline.key)?);
            let (value, reach) = (drive.figure(&headline), Reach::published(&headline));
            Some(Bar { label: name::short(&drive.name), value, so_far, own: None, reach, in_order: true })
        }));
        let in_order = reach::in_order(&bars.iter().map(|bar| bar.reach).collect::<Vec<_>>());
        bars.iter_mut().zip(in_order).for_each(|(bar, in_order)| bar.in_order = in_order);
        let by_value = |a: &Bar, b: &Bar| match (a.value, b.value) {
            (Some(a), Some(b)) => headline.order(a, b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        };
        let by_order = |a: &Bar, b: &Bar| match (a.in_order, b.in_order) {
            (true, true) => by_value(a, b).then_with(|| a.label.cmp(&b.label)),
            // As they were named: those that are not in order have none.
            (a, b) => b.cmp(&a),
        };
        bars.sort_by(by_order);
        charts.push((headline, bars));
    }
    charts
}

fn bar_chart(out: &mut String, review: &Review, headline: &Headline, bars: &[Bar]) {
    let unit = headline.unit();
    // A bar is as long beside those that have not settled as it would be beside what they have come to so far: alone it
    // would pass for the best.
    let most = bars.iter().filter(|bar| bar.in_order).filter_map(|bar| bar.value.or(bar.so_far)).fold(0.0, f64::max);
    let direction = if headline.lower_is_better() { " · <b>lower is better</b>" } else { "" };
    let shown = if unit == "us" { String::new() } else { format!("{unit} · ") };
    out.push_str(&format!(
        "<figure class=\"barchart\" id=\"bar-{}\"><figcaption><b>{}</b> <span class=\"subject\">{shown}{}{direction}</span></figcaption>\n<ol>\n",
        headline.key,
        headline.title,
        detail(review, headline, bars.iter().any(|bar| bar.own.is_none()))
    ));
    // Of drives that it is set beside, a bar is absent where they had not settled.
    let why_absent = |bar: &Bar| {
        let Some(own) = bar.own else { return "not settled" };
        let is_its = |o: &&Outcome| o.device == review.devices[own].facts.name && headline.fits(&o.test, &o.variant);
        review.outcomes.iter().filter(is_its).find_map(doubt).unwrap_or("–")
    };
    let beside = number::Beside::of(bars.iter().filter_map(|bar| bar.value), unit);
    for bar in bars {
        let share =
            bar.value.filter(|_| most > 0.0 && bar.in_order).map_or(0.0, |v| (v / most * 100.0).clamp(0.4, 100.0));
        let class = bar.own.map_or("other".to_owned(), |i| format!("own c{}", i % 8));
        let text = match (bar.value, unit) {
            (None, _) => why_absent(bar).to_owned(),
            (Some(value), "us") => beside.text(value),
            (Some(value), "MB/s") if value < 10.0 => number::trimmed(value, 1),
            (Some(value), _) => number::grouped(value, usize::from(value < 10.0)),
        };
        out.push_str(&format!(
            "<li class=\"{class}\"><span class=\"who\">{}</span><span class=\"track\"><span style=\"width:{}%\"></span></span>\
             <span class=\"much\">{text}</span></li>\n",
            escape(&bar.label),
            number::trimmed(share, 1)
        ));
    }
    out.push_str("</ol>\n");
    let notes = bar_notes(review, headline).into_iter().chain(without_bars(review, headline, bars));
    let notes: Vec<String> = notes.map(|note| escape(&note)).collect();
    if !notes.is_empty() {
        out.push_str(&format!("<p class=\"under\">{}</p>\n", notes.join("<br>")));
    }
    out.push_str("</figure>\n");
}

/// Why drives have a figure and no bar: what their runs covered.
fn without_bars(review: &Review, headline: &Headline, bars: &[Bar]) -> Option<String> {
    let told = |bar: &Bar| {
        let device = &review.devices[bar.own.filter(|_| !bar.in_order && bar.value.is_some())?].facts;
        let outcome = headline.outcome(&review.outcomes, &device.name)?;
        Some(format!("{} {}", name::pretty(&device.name), reach::told(outcome, device.capacity_bytes as f64)))
    };
    let told: Vec<String> = bars.iter().filter_map(told).collect();
    (!told.is_empty()).then(|| format!("In no order, and without a bar: {}.", told.join("; ")))
}

/// The part of the drives that was written at random, where that is a part: of the smallest and of the largest, in bytes.
fn span(review: &Review, headline: &Headline) -> Option<(f64, f64)> {
    let of_test = |o: &&Outcome| headline.key == "random-write" && headline.fits(&o.test, &o.variant);
    let of_drive = |o: &Outcome| reach::span_of(o, reach::capacity_of(review, &o.device));
    let spans = review.outcomes.iter().filter(of_test).filter_map(of_drive);
    let spans: Vec<f64> = spans.map(reach::rounded).collect();
    let least = spans.iter().copied().reduce(f64::min)?;
    Some((least, spans.into_iter().fold(least, f64::max)))
}

/// What the figure is of; of a write in sequence also how far it went, since an SLC cache may hold that much and no more.
/// `beside`: drives stand beside those of the review, whose runs were full ones.
fn detail(review: &Review, headline: &Headline, beside: bool) -> String {
    let others = if beside && review.is_in_small() { " (the others: full runs)" } else { "" };
    if let Some((least, most)) = span(review, headline) {
        let span = if least < most {
            format!("{} to {}", number::bytes(least), number::bytes(most))
        } else {
            number::bytes(most)
        };
        return format!("{}, over {span}{others}", headline.detail);
    }
    let range = |ends: [String; 2]| {
        let [least, most] = ends;
        if least == most { most } else { format!("{least} to {most}") }
    };
    let where_to = match reach::covered(review, headline).filter(|_| headline.key == "sequential-write") {
        None => return headline.detail.to_owned(),
        Some(Covered::Percent(least, most)) => {
            format!("the first {} % of an empty drive", range([least, most].map(reach::percent)))
        }
        Some(Covered::Times(least, most)) => {
            format!("over all of a drive that was empty{}", reach::times_over((least, most)))
        }
    };
    format!("{}, {where_to}{others}", headline.detail)
}

fn conclusion(out: &mut String, review: &Review, stories: &[Story]) {
    let many = stories.len() > COLUMN;
    out.push_str(if many {
        "<div class=\"forwhom many\" id=\"for-whom\">\n"
    } else {
        "<div class=\"forwhom\" id=\"for-whom\">\n"
    });
    for (device, story) in review.devices.iter().zip(stories) {
        if many {
            out.push_str("<div class=\"forwhom\">\n");
        }
        if stories.len() > 1 {
            out.push_str(&format!("<h3 class=\"of\">{}</h3>\n", escape(&name::pretty(&device.facts.name))));
        }
        for (word, text) in [("For", &story.suits), ("Not for", &story.unsuited)] {
            out.push_str(&format!("<div><h3>{word}</h3><p>{}</p></div>\n", escape(text)));
        }
        if many {
            out.push_str("</div>\n");
        }
    }
    out.push_str("</div>\n");
}

/// Estimates that are named of those that its rates hang on.
const NAMED: usize = 3;

/// The names of those runs of which this is so; of several drives, with whose they are.
fn names_of_runs(review: &Review, is_so: impl Fn(&Outcome) -> bool) -> Vec<String> {
    let name_of = |o: &Outcome| {
        let test = if o.variant.is_empty() { o.test.clone() } else { format!("{} {}", o.test, o.variant) };
        if review.devices.len() == 1 { test } else { format!("{} in {test}", name::pretty(&o.device)) }
    };
    review.outcomes.iter().filter(|o| is_so(o)).map(name_of).collect()
}

/// Runs that would have a headline figure if nothing had been set that makes another test of theirs.
fn of_other_tests(review: &Review) -> String {
    let would_have = |o: &Outcome| HEADLINES.iter().any(|h| h.fits(&o.test, &o.variant) && h.is_shown(review.quick));
    let runs = names_of_runs(review, |o| would_have(o) && !is_as_declared(o));
    if runs.is_empty() {
        return String::new();
    }
    format!("Run with other parameters than the test's own, and so compared with nothing: {}. ", runs.join("; "))
}

/// Runs whose end is no steady state, whatever figures of it stand below; of one drive also those that it is set beside.
fn not_settled(review: &Review) -> String {
    let mut said = Vec::new();
    for (too_few, what) in [(false, "had not settled"), (true, "were too few to tell whether they had settled")] {
        let runs = names_of_runs(review, |run| drifts(run) && run.is_too_short_to_tell() == too_few);
        if !runs.is_empty() {
            said.push(format!(
                "Random writes {what} when the run ended ({}): what is told of its last part is no steady state. ",
                runs.join("; ")
            ));
        }
    }
    if let ([one], [_]) = (review.devices.as_slice(), random_writes::all_drawn(review).as_slice()) {
        let others = beside(&one.facts.name, one.facts.supports_trim);
        let names: Vec<String> = others.iter().filter(|d| !d.has_settled()).map(|d| name::pretty(&d.name)).collect();
        if !names.is_empty() {
            said.push(format!("Of the drives that it is set beside, {} had not settled. ", names.join(" and ")));
        }
    }
    said.concat()
}

/// What a quick run is of. `is_judged`: some of it ran at full length, and is judged as in a full run.
fn quick_run(out: &mut String, review: &Review, is_judged: bool) {
    // The drives that no test ran on in small, with whether any was shortened.
    let whole = review.devices.iter().filter_map(|device| {
        let runs = || review.outcomes.iter().filter(|o| o.device == device.facts.name);
        let is_whole = runs().next().is_some() && runs().all(|o| o.small_by.is_none());
        is_whole.then(|| (escape(&name::pretty(&device.facts.name)), runs().any(|o| o.shortened.is_some())))
    });
    let (shorter, whole): (Vec<_>, Vec<_>) = whole.partition(|(_, is_shortened)| *is_shortened);
    let mut parts = Vec::new();
    for (drives, how) in [(whole, "whole"), (shorter, "whole but with shortened runs")] {
        let names: Vec<String> = drives.into_iter().map(|(name, _)| name).collect();
        parts.extend((!names.is_empty()).then(|| format!("{} {how}", names.join(", "))));
    }
    let mixed = format!("A quick run: {}, and of the rest an eighth for an eighth of the time. ", parts.join(", "));
    let (what, verdict) = match (review.is_in_small(), review.is_shortened()) {
        (true, _) if !parts.is_empty() => (mixed.as_str(), "It is too short to be"),
        (true, _) => ("A quick run: an eighth of the drive for an eighth of the time. ", "It is too short to be"),
        (false, true) => ("A quick run, shorter than the published one. ", "It is too short to be"),
        (false, false) => ("A quick run; nothing here was shortened for it. ", "A quick run is not"),
    };
    let (verdict, rest) = match is_judged {
        true => ("Only what ran at full length is", ""),
        false => (verdict, "; that takes a run at full length"),
    };
    out.push_str(&format!(
        "{what}{verdict} held against what magazines and makers measured on the real drives{rest}. {}",
        short_traces(review)
    ));
}

/// Of traces that are shorter than the rest of a quick run.
fn short_traces(review: &Review) -> String {
    let mut short: Vec<(&str, f64)> = Vec::new();
    for (outcome, by) in review.outcomes.iter().filter_map(|o| Some((o, o.writes_short_by()?))) {
        match short.iter_mut().find(|(test, _)| *test == outcome.test) {
            Some((_, least)) => *least = least.min(by),
            None => short.push((&outcome.test, by)),
        }
    }
    if short.is_empty() {
        return String::new();
    }
    let told: Vec<String> =
        short.iter().map(|(test, by)| format!("{} {} times", escape(test), number::trimmed(*by, 1))).collect();
    format!("Storage Bench is shorter still ({}): its figures put drives in no order. ", told.join(", "))
}

/// How many published figures are met. `chosen`: of those that the model was calibrated to.
fn published(review: &Review, tally: Tally, chosen: Tally) -> String {
    if tally.met + tally.missed == 0 {
        let changed = review.devices.iter().any(|d| name::changed(&d.facts.name).is_some());
        return match (changed, review.is_shortened()) {
            (true, _) => "A drive with changed values is held against no published figure. ",
            (false, _) if chosen.met + chosen.missed > 0 => {
                "The only published figures that these tests could be held against are some that the model was \
                 calibrated to. "
            }
            (false, true) => "Tests that were shortened are held against no published figure. ",
            (false, false) => "For these tests nobody has published figures that they could be held against. ",
        }
        .to_owned();
    }
    let rest = match (chosen.met, chosen.missed) {
        (0, 0) => ". ".to_owned(),
        (met, 0) => format!("; {met} more are met after the model was calibrated to them. "),
        (met, missed) => format!(
            "; of {} more, to which the model was calibrated, {met} are met and {missed} missed. ",
            met + missed
        ),
    };
    format!(
        "Of {} figures that were published of the real drives and measured here, {} are met and {} missed{rest}",
        tally.met + tally.missed,
        tally.met,
        tally.missed
    )
}

/// Which of the drives are real, and what that means for their figures.
fn what_is_real(review: &Review) -> String {
    let real = review.real_names();
    let figures_of = |what: &str| {
        format!(
            "These are figures of {what}, as a program of this machine sees them: the system's part is in them, and \
             they differ from run to run. "
        )
    };
    match review.reality() {
        Reality::Simulated => "Every drive here is simulated. ".to_owned(),
        // Only one drive is set beside others.
        Reality::Real if real.len() == 1 => {
            format!("{}Drives that it is set beside are simulated. ", figures_of("a real drive"))
        }
        Reality::Real => figures_of("real drives"),
        Reality::Both => {
            let (are, them, their) = if real.len() == 1 { ("is", "it", "its") } else { ("are", "them", "their") };
            let others = if review.devices.len() - real.len() == 1 { "The other is" } else { "The others are" };
            format!(
                "{} {are} real, and measured as a program of this machine sees {them}: the system's part is in {their} \
                 figures. {others} simulated. ",
                escape(&listed(&real))
            )
        }
    }
}

fn trust(out: &mut String, review: &Review) {
    let tally = review.tally(ClaimKind::Measured);
    let chosen = review.tally(ClaimKind::Calibration);
    out.push_str("<div class=\"trust\" id=\"trust\"><p><b>How far to trust this page.</b> ");
    let is_judged = tally.met + tally.missed + chosen.met + chosen.missed > 0;
    if review.quick {
        quick_run(out, review, is_judged);
    }
    if is_judged || !review.quick {
        out.push_str(&published(review, tally, chosen));
    }
    out.push_str(&escape(&of_other_tests(review)));
    out.push_str(&escape(&not_settled(review)));
    if let [one] = review.devices.as_slice() {
        let hangs = &one.hangs_on[..one.hangs_on.len().min(NAMED)];
        if !hangs.is_empty() {
            out.push_str(&format!(
                "Its rates depend on values that nobody published, and that are estimates here: {}. ",
                escape(&hangs.join(", "))
            ));
        }
    }
    // One drive alone says so under its name.
    let (mut parameters, mut counted) = (ParameterCount::default(), BTreeSet::new());
    for d in &review.devices {
        parameters.add(&mut counted, &d.facts.name, &d.specification, &d.members);
    }
    if review.devices.len() > 1 && parameters.all > 0 {
        let ParameterCount { all, estimates } = parameters;
        out.push_str(&format!("Of the {all} parameters of these drives {estimates} are estimates. "));
    }
    out.push_str(&what_is_real(review));
    let claims = !review.claims.is_empty();
    if claims {
        out.push_str("<a href=\"#claims\">Published figures</a>");
    }
    if review.devices.iter().any(|d| !d.specification.is_empty()) {
        out.push_str(if claims { " · " } else { "" });
        out.push_str("<a href=\"#specification\">every parameter</a>");
    }
    out.push_str("</p></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_of_bars_have_equal_digits() {
        let headline = HEADLINES.into_iter().find(|h| h.key == "read-access").unwrap();
        let reach = Reach::published(&headline);
        let bar =
            |us: f64| Bar { label: String::new(), value: Some(us), so_far: None, own: None, reach, in_order: true };
        let (version, devices, outcomes, left_out, claims) = Default::default();
        let review = Review { version, seed: 1, quick: false, devices, outcomes, left_out, claims };
        let mut out = String::new();
        bar_chart(&mut out, &review, &headline, &[5_990.0, 6_000.0, 100_000.0].map(bar));
        let told: Vec<&str> = out.split("class=\"much\">").skip(1).filter_map(|bar| bar.split('<').next()).collect();
        assert_eq!(told, ["5.99 ms", "6.00 ms", "100 ms"]);
    }

    #[test]
    fn dots_are_counted_for_each_kind_of_run() {
        let run = |name: &str, step: f64| {
            let points = (1..=500).map(|i| [f64::from(i) * step, 1_000.0]).collect();
            Series { name: name.to_owned(), points }
        };
        let others = |step: f64| vec![run("x", step), run("y", step)];
        let beside = |own: f64, step: f64| dots(&[others(step), vec![run("mine", own)]].concat(), Some(2));
        assert_eq!(beside(1.0, 4.0), "a dot a second of mine, a dot every four seconds of the others");
        assert_eq!(beside(0.125, 0.4995), "eight dots a second of mine, two dots a second of the others");
        assert_eq!(dots(&others(1.0), None), "a dot a second");
        assert_eq!(
            dots(&[others(0.125), others(1.0)].concat(), None),
            "eight dots a second of x and y, a dot a second of x and y"
        );
        assert_eq!(dots(&[run("mine", 1.0)], Some(0)), "a dot a second");
    }
}
