//! Charts as SVG: an own small renderer that knows [`ssdlab_bench::Chart`] and nothing else.
//!
//! The same picture comes in two skins: inside the page its colours are custom properties that follow the reader's
//! light or dark scheme; as a file they are fixed. And in three sizes, so that letters stay legible on a phone
//! rather than being scaled down with the picture.

mod bars;
mod canvas;
mod figure;
mod legend;
mod marks;
mod scale;
mod skin;
pub(crate) mod timeline;
mod xy;

use std::fmt::Write as _;

use ssdlab_bench::Mark;

use crate::text;
use canvas::{Anchor, Canvas, coord};

pub(crate) use figure::{Crossed, Figure, axis_title};
pub(crate) use scale::Extent;
pub(crate) use skin::{Skin, hatch_definitions, properties, rules};
pub(crate) use xy::has_names_at_end;

/// The size that a picture is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Across the page.
    Full,
    /// Two beside each other.
    Half,
    /// A phone held upright.
    Phone,
    /// A file of its own, with its title inside.
    File,
}

/// Measures of a layout, in user units (pixels where the picture is shown unscaled).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measures {
    pub width: f64,
    pub plot_height: f64,
    pub font: f64,
    pub bar: f64,
    /// Labels that fit beside and below the plot.
    pub ticks_x: usize,
    pub ticks_y: usize,
    pub dot: f64,
}

impl Layout {
    pub(crate) fn measures(self) -> Measures {
        match self {
            Layout::Full => {
                Measures { width: 880.0, plot_height: 330.0, font: 13.0, bar: 17.0, ticks_x: 9, ticks_y: 6, dot: 2.6 }
            }
            Layout::Half => {
                Measures { width: 428.0, plot_height: 270.0, font: 12.0, bar: 16.0, ticks_x: 5, ticks_y: 5, dot: 2.2 }
            }
            Layout::Phone => {
                Measures { width: 350.0, plot_height: 240.0, font: 12.0, bar: 16.0, ticks_x: 4, ticks_y: 5, dot: 1.9 }
            }
            Layout::File => {
                Measures { width: 960.0, plot_height: 400.0, font: 14.0, bar: 20.0, ticks_x: 9, ticks_y: 6, dot: 2.8 }
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Layout::Full => "full",
            Layout::Half => "half",
            Layout::Phone => "phone",
            Layout::File => "file",
        }
    }
}

/// The bounds that an axis chooses for data of this extent.
pub(crate) fn bounds(axis: &ssdlab_bench::Axis, extent: Extent, magnitude: bool) -> (f64, f64) {
    let role = if magnitude { scale::Role::Magnitude } else { scale::Role::Position };
    let chosen = scale::Scale::new(axis, Some(extent), role, Layout::Half.measures().ticks_y, &[]);
    (chosen.lo, chosen.hi)
}

/// Draws `figure` as one `<svg>` element.
pub(crate) fn draw(figure: &Figure, layout: Layout, skin: Skin) -> String {
    let m = layout.measures();
    let mut canvas = Canvas::default();
    let mut y = if skin == Skin::File { heading(&mut canvas, figure, m) } else { 2.0 };
    let mut data = String::new();
    if figure.is_empty() {
        canvas.text(m.width / 2.0, y + 40.0, m.font, Anchor::Middle, "t", "No data: nothing was measured here.");
        y += 60.0;
    } else {
        y = match figure.mark {
            Mark::Scatter | Mark::Line => xy::draw(&mut canvas, figure, m, layout, y, &mut data),
            Mark::Bars => bars::draw_grouped(&mut canvas, figure, m, y),
            Mark::StackedBars => bars::draw_stacked(&mut canvas, figure, m, y),
        };
    }
    if skin == Skin::File {
        y = footer(&mut canvas, figure, m, y);
    }
    document(figure, layout, skin, m.width, y + 4.0, &canvas.body, &data)
}

/// Title and subject, inside the picture. Returns where the rest begins.
fn heading(canvas: &mut Canvas, figure: &Figure, m: Measures) -> f64 {
    let mut y = 14.0;
    for line in text::wrap(&figure.title, m.font * 1.35, m.width - 40.0) {
        y += m.font * 1.5;
        canvas.text(20.0, y, m.font * 1.35, Anchor::Start, "b", &line);
    }
    for line in text::wrap(&figure.subject, m.font, m.width - 40.0) {
        y += m.font * 1.45;
        canvas.text(20.0, y, m.font, Anchor::Start, "t", &line);
    }
    y + 14.0
}

/// What must not be lost when the picture travels alone. Returns where it ends.
fn footer(canvas: &mut Canvas, figure: &Figure, m: Measures, mut y: f64) -> f64 {
    let size = m.font * 0.88;
    let sentences = [figure.shortened.as_deref().map(|s| format!("Shortened run: {s}")), Some(figure.caption.clone())];
    for sentence in sentences.into_iter().flatten().filter(|s| !s.is_empty()) {
        y += 4.0;
        for line in text::wrap(&sentence, size, m.width - 40.0) {
            y += size * 1.4;
            canvas.text(20.0, y, size, Anchor::Start, "t", &line);
        }
    }
    y + 12.0
}

fn document(figure: &Figure, layout: Layout, skin: Skin, w: f64, h: f64, body: &str, data: &str) -> String {
    let id = format!("{}-{}", text::slug(&figure.stem), layout.name());
    let (title, description) = (text::escape(&figure.title), text::escape(&figure.description()));
    let size = format!("viewBox=\"0 0 {} {}\"", coord(w), coord(h));
    let mut out = String::with_capacity(body.len() + 2048);
    match skin {
        Skin::Page => {
            // No <title> child here: browsers would show it as a tooltip over every dot.
            let _ = write!(
                out,
                "<svg class=\"chart {}\" {size} role=\"img\" aria-label=\"{title}. {description}\"{data}>{body}</svg>",
                layout.name()
            );
        }
        Skin::File => {
            let _ = write!(
                out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} width=\"{}\" height=\"{}\" role=\"img\" \
                 aria-labelledby=\"{id}-t {id}-d\" font-family=\"'DejaVu Sans', Verdana, sans-serif\" \
                 font-stretch=\"condensed\"><title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}\
                 </desc>{}<style>\n{}</style><rect width=\"100%\" height=\"100%\" class=\"p\"/>{body}</svg>\n",
                coord(w),
                coord(h),
                hatch_definitions(),
                rules(Skin::File),
            );
        }
    }
    out
}
