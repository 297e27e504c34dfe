//! The section of one test.

use ssdlab_bench::{Mark, Outcome};

use super::tables;
use crate::compare::{Panel, TestGroup, Timeline};
use crate::number;
use crate::review::Review;
use crate::svg::{self, Figure, Layout, Skin};
use crate::text::{escape, prose, slug, units};
use crate::timeline::words::slowest_text;

/// `is_above`: whether a panel, by its place, has been shown among the selected charts.
pub(crate) fn write(out: &mut String, review: &Review, group: &TestGroup, is_above: &dyn Fn(usize) -> bool) {
    let id = &group.anchor;
    out.push_str(&format!("<section id=\"{id}\" class=\"test\" aria-labelledby=\"{id}-h\">\n"));
    out.push_str(&format!("<h2 id=\"{id}-h\">{}</h2>\n", escape(&group.title())));
    for (text, whose) in told(review, group, |o| vec![o.method.clone()]) {
        out.push_str(&format!("<p class=\"method\">{}{}</p>\n", whose, prose(&text)));
    }
    for outcome in &group.outcomes {
        if let Some(verdict) = &outcome.verdict {
            let (class, word) = (super::verdict_class(verdict), verdict.word());
            out.push_str(&format!(
                "<p class=\"verdict {class}\"><span class=\"tag {class}\">{word}</span> <b>{}</b>: {}</p>\n",
                escape(&outcome.device),
                prose(&verdict.sentence)
            ));
        }
    }
    let shortened = |o: &Outcome| o.shortened.iter().map(|how| format!("Shortened run: {how}")).collect::<Vec<_>>();
    let notes = told(review, group, |o| [shortened(o), o.notes.clone()].concat());
    if !notes.is_empty() {
        out.push_str("<ul class=\"notes\">\n");
        for (text, whose) in notes {
            out.push_str(&format!("<li>{whose}{}</li>\n", prose(&text)));
        }
        out.push_str("</ul>\n");
    }
    let mut above = Vec::new();
    for (i, panel) in group.panels.iter().enumerate() {
        match (&panel.figures[..], is_above(i)) {
            ([figure, ..], true) => {
                above.push(format!("<a href=\"#fig-{}\">{}</a>", slug(&figure.stem), escape(&figure.title)))
            }
            (figures, false) if figures.iter().all(is_flat) => {
                out.push_str(&format!("<p class=\"under\">{}</p>\n", escape(&flat(&panel.figures))));
            }
            _ => write_panel(out, panel),
        }
    }
    if !above.is_empty() {
        out.push_str(&format!("<p class=\"under\">Among the selected charts: {}.</p>\n", above.join(", ")));
    }
    tables::own(out, group);
    tables::metrics(out, review, group);
    if let Some(figure) = &group.time {
        out.push_str("<h3>Where the time went</h3>\n");
        write_figure(out, figure, Layout::Full, None, "");
        tables::time(out, group);
    }
    tables::slowest(out, group);
    for timeline in &group.timelines {
        write_timeline(out, timeline);
    }
    tables::parameters(out, group);
    out.push_str("</section>\n");
}

fn write_timeline(out: &mut String, Timeline { device, seen, stem }: &Timeline) {
    let (title, sentence) = (svg::timeline::title(device), units(&slowest_text(seen)));
    out.push_str(&format!(
        "<figure id=\"fig-{stem}\">\n<figcaption><b>{}</b><br><span class=\"caption\">{}</span></figcaption>\n<div class=\"plot\">",
        escape(&title),
        escape(&sentence),
    ));
    for layout in [Layout::Full, Layout::Phone] {
        out.push_str(&svg::timeline::draw(seen, device, &sentence, layout, Skin::Page));
    }
    out.push_str("</div>\n</figure>\n");
}

/// Curves over time or position that do not move need no picture.
const FLAT: f64 = 0.03;

pub(super) fn is_flat(figure: &Figure) -> bool {
    let over_time = figure.x.categories.is_empty() && matches!(figure.mark, Mark::Scatter | Mark::Line);
    let still = |points: &[[f64; 2]]| {
        let (low, high) = points.iter().fold((f64::INFINITY, 0.0f64), |(l, h), p| (l.min(p[1]), h.max(p[1])));
        high - low <= FLAT * high
    };
    over_time && !figure.series.is_empty() && figure.series.iter().all(|s| s.points.len() > 1 && still(&s.points))
}

/// What the picture would have shown.
fn flat(figures: &[Figure]) -> String {
    let first = &figures[0];
    let levels: Vec<String> = figures
        .iter()
        .flat_map(|f| f.series.iter().map(move |s| (f, s)))
        .map(|(f, s)| {
            let mean = s.points.iter().map(|p| p[1]).sum::<f64>() / s.points.len() as f64;
            let whose = (figures.len() > 1).then_some(&f.subject);
            let name = whose.into_iter().chain([&s.name]).filter(|name| !name.is_empty());
            let name = name.map(String::as_str).collect::<Vec<_>>().join(", ");
            let level = number::value(mean, &f.y.unit);
            if name.is_empty() { format!("at {level}") } else { format!("{name} at {level}") }
        })
        .collect();
    format!("{}: flat, {}.", first.title, levels.join("; "))
}

/// Sentences of the outcomes, each once; with the drive's name in front where not all of the drives share it.
fn told(review: &Review, group: &TestGroup, of: impl Fn(&Outcome) -> Vec<String>) -> Vec<(String, String)> {
    let mut out: Vec<(String, Vec<&str>)> = Vec::new();
    for outcome in &group.outcomes {
        for text in of(outcome).into_iter().filter(|t| !t.is_empty()) {
            match out.iter_mut().find(|(have, _)| *have == text) {
                Some((_, drives)) => drives.push(&outcome.device),
                None => out.push((text, vec![&outcome.device])),
            }
        }
    }
    let all = group.outcomes.len();
    out.into_iter()
        .map(|(text, drives)| {
            let shared = drives.len() == all && all == review.devices.len();
            let whose = if shared { String::new() } else { format!("<b>{}</b>: ", escape(&drives.join(", "))) };
            (text, whose)
        })
        .collect()
}

pub(super) fn write_panel(out: &mut String, panel: &Panel) {
    let several = panel.figures.len() > 1;
    out.push_str(if several { "<div class=\"pair\">\n" } else { "" });
    for (i, figure) in panel.figures.iter().enumerate() {
        let layout = if several { Layout::Half } else { Layout::Full };
        let csv = if several { panel.csv.get(i..=i) } else { Some(panel.csv.as_slice()) };
        write_figure(out, figure, layout, csv, &figure.title);
    }
    out.push_str(if several { "</div>\n" } else { "" });
}

/// `title` may be empty where a heading has said it.
fn write_figure(out: &mut String, figure: &Figure, layout: Layout, csv: Option<&[String]>, title: &str) {
    open_figure(out, figure, layout, title);
    if csv.is_some() || figure.mark != Mark::StackedBars {
        let pictures = ["svg", "png"].map(|ending| format!("charts/{}.{ending}", figure.stem));
        tables::data(out, figure, &[csv.unwrap_or_default(), &pictures].concat());
    }
    out.push_str("</figure>\n");
}

/// Caption and picture; what follows within the `<figure>` and its end are the caller's.
pub(super) fn open_figure(out: &mut String, figure: &Figure, layout: Layout, title: &str) {
    let id = slug(&figure.stem);
    let of_drive =
        figure.of_drive.as_ref().map_or_else(String::new, |name| format!(" data-drive=\"{}\"", escape(name)));
    out.push_str(&format!("<figure id=\"fig-{id}\"{of_drive}>\n<figcaption><b>{}</b>", escape(title)));
    out.push_str(&format!(" <span class=\"subject\">{}</span>", escape(&figure.subject)));
    if !figure.caption.is_empty() {
        out.push_str(&format!("<br><span class=\"caption\">{}</span>", escape(&figure.caption)));
    }
    if figure.shortened.is_some() {
        let whose = figure.shortened_of.as_ref().map_or_else(String::new, |whose| format!(": {}", escape(whose)));
        out.push_str(&format!("<br><span class=\"shortened\">Shortened run{whose}</span>"));
    }
    out.push_str("</figcaption>\n<div class=\"plot\">");
    out.push_str(&svg::draw(figure, layout, Skin::Page));
    out.push_str(&svg::draw(figure, Layout::Phone, Skin::Page));
    out.push_str("</div>\n");
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::{Axis, Chart, Series};

    use super::*;
    use crate::review::{DeviceFacts, ReviewedDevice};

    /// The page of two drives' rates over time, each drawn by itself.
    fn page(rates: [[f64; 2]; 2]) -> String {
        let figure = |(drive, [begin, end]): (&str, [f64; 2])| {
            let points = vec![[0.0, begin], [1.0, end]];
            let chart = Chart {
                id: "rate".to_owned(),
                title: "Rate".to_owned(),
                caption: String::new(),
                mark: Mark::Line,
                x: Axis::linear("time", "s"),
                y: Axis::linear("rate", "MB/s"),
                series: vec![Series { name: "read".to_owned(), points }],
                overlay_drives: false,
            };
            Figure::of_chart(&chart, drive, format!("{drive}-rate"), None)
        };
        let names = ["first", "second"];
        let device = |name: &str| ReviewedDevice {
            facts: DeviceFacts { name: name.to_owned(), ..DeviceFacts::default() },
            ..ReviewedDevice::default()
        };
        let review = Review {
            version: String::new(),
            seed: 1,
            quick: false,
            devices: names.map(device).into(),
            outcomes: Vec::new(),
            left_out: Vec::new(),
            claims: Vec::new(),
        };
        let outcomes = names.map(|name| Outcome { device: name.to_owned(), ..Outcome::default() });
        let figures = names.into_iter().zip(rates).map(figure).collect();
        let panel = Panel { chart_id: "rate".to_owned(), figures, csv: Vec::new() };
        let group = TestGroup {
            outcomes: outcomes.iter().collect(),
            anchor: "test-rate".to_owned(),
            panels: vec![panel],
            time: None,
            timelines: Vec::new(),
        };
        let mut out = String::new();
        write(&mut out, &review, &group, &|_| false);
        out
    }

    #[test]
    fn only_what_is_flat_for_every_drive_needs_no_picture() {
        assert!(
            page([[100.0, 100.0], [500.0, 505.0]]).contains("Rate: flat, first, read at 100 MB/s; second, read at")
        );
        for moving in [[[100.0, 100.0], [500.0, 90.0]], [[500.0, 90.0], [100.0, 100.0]]] {
            let page = page(moving);
            assert!(!page.contains(": flat,") && page.contains("fig-first-rate") && page.contains("fig-second-rate"));
        }
    }
}
