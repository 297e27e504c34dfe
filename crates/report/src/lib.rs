//! A [`Review`] as terminal text, JSON, CSV, pictures and a self-contained page.
//!
//! The bench hands over [`ssdlab_bench::Outcome`]s; this crate writes them down and measures nothing itself. What it
//! writes depends on the review alone: no clock, no environment, no system fonts. The same review gives the same
//! bytes.
//!
//! * [`write_review`] fills a folder: `index.html`, `results.json`, `series/*.csv`, `charts/*.svg` and `*.png`;
//! * [`terminal_summary`] prints the key figures;
//! * [`results_json`] and [`ResultsDocument`] write and read the figures alone;
//! * [`sweep_html`] makes the page of a sweep, out of a [`SweepPage`];
//! * [`timeline_svg`] and [`timeline_json`] show what the parts of a device did while its slowest request waited, as a picture and
//!   for a viewer of traces;
//! * [`index_html`], [`chart_svg`] and [`PngPainter`] make single pieces.
//!
//! Its limits: charts are those of [`ssdlab_bench::Mark`], not a plotting library; the page shows series of up to a
//! few thousand points each.
//!
//! ```
//! use std::collections::BTreeMap;
//! use ssdlab_bench::{Axis, Chart, Mark, Metric, Outcome, Series};
//! use ssdlab_report::{DeviceFacts, Review, ReviewedDevice, results_json, terminal_summary};
//!
//! let curve = Chart {
//!     id: "iops-by-queue-depth".into(), title: "4 KiB random read".into(), caption: String::new(),
//!     mark: Mark::Line, x: Axis::log("Queue depth", ""), y: Axis::linear("IOPS", "IOPS"),
//!     series: vec![Series { name: "random read".into(), points: vec![[1.0, 9_700.0], [32.0, 81_000.0]] }],
//!     overlay_drives: true,
//! };
//! let review = Review {
//!     version: "0.1.0".into(), seed: 1, quick: false,
//!     devices: vec![ReviewedDevice {
//!         facts: DeviceFacts {
//!             name: "my-drive".into(), kind: "ssd".into(), description: "a drive of one's own".into(),
//!             capacity_bytes: 128_035_676_160, queue_depth: 32, supports_trim: true, over_provisioning_percent: Some(7.4),
//!             ..DeviceFacts::default()
//!         },
//!         ..ReviewedDevice::default()
//!     }],
//!     outcomes: vec![Outcome {
//!         test: "qd-scaling".into(), variant: String::new(), device: "my-drive".into(),
//!         title: "Queue depth".into(), method: "Random reads at rising queue depth.".into(),
//!         metrics: BTreeMap::from([("iops".to_owned(), Metric::new(81_000.0, "IOPS"))]),
//!         charts: vec![curve], ..Outcome::default()
//!     }],
//!     left_out: vec![], claims: vec![],
//! };
//! assert!(terminal_summary(&review, None, false).contains("81,000 IOPS"));
//! assert!(results_json(&review)?.contains("\"schema\": \"ssdlab.results/1\""));
//! # Ok::<(), ssdlab_report::ReportError>(())
//! ```

mod compare;
mod csv;
mod error;
mod felt;
mod figures;
mod headline;
mod html;
mod json;
mod name;
mod number;
mod png;
mod random_writes;
mod reach;
mod reference;
mod review;
mod story;
mod svg;
mod sweep;
mod terminal;
mod text;
mod timeline;
mod write;

pub use csv::{chart_csv, time_csv};
pub use error::ReportError;
pub use headline::{HEADLINES, Headline, LEVEL, are_level};
pub use html::{index_html, sweep_html};
pub use json::{ResultRow, ResultsDocument, results_json};
pub use png::PngPainter;
pub use reach::{NoOrder, no_order_of};
pub use reference::{ReferenceDrive, STEP_SECONDS};
pub use review::{ClaimRow, ClaimState, DeviceFacts, LeftOut, Member, ParameterCount, Review, ReviewedDevice, SpecRow};
pub use sweep::{Holds, Steps, SweepFigure, SweepPage, SweepRow, SweepSection, SweepTable};
pub use terminal::terminal_summary;
pub use timeline::{PICTURE_BEGINS, TIMELINE_BEGINS, slowest_text, timeline_json, timeline_svg};
pub use write::{Written, unfinished_name, write_review};

/// Name and version of the shape of `results.json`.
pub const SCHEMA: &str = "ssdlab.results/1";

/// A measured figure with its unit, as pages print it: `75,900 IOPS`, `421 µs`.
#[must_use]
pub fn figure_text(value: f64, unit: &str) -> String {
    number::value(value, unit)
}

/// A metric's key as people say it: `latency_p99_9` is `Latency, 99.9th percentile`.
#[must_use]
pub fn metric_label(key: &str) -> String {
    number::metric_label(key)
}

/// The same of a figure of `test`: where some are of its whole run and others of the last part of it, with the part.
#[must_use]
pub fn metric_label_of(test: &str, key: &str) -> String {
    if test == random_writes::TEST { number::label_with_part(key, number::LAST_PART) } else { metric_label(key) }
}

/// A chart of one drive as a standalone SVG file with light colours. `subject` names the drive; `shortened` is the
/// sentence of an outcome that was cut short.
///
/// # Errors
/// If a point or a bound is not finite, bounds are in the wrong order, or a position has no category.
pub fn chart_svg(chart: &ssdlab_bench::Chart, subject: &str, shortened: Option<&str>) -> Result<String, ReportError> {
    review::validate_chart(chart, &format!("{subject}: chart {}", chart.id))?;
    let figure = svg::Figure::of_chart(chart, subject, text::slug(&chart.id), shortened.map(str::to_owned));
    Ok(svg::draw(&figure, svg::Layout::File, svg::Skin::File))
}
