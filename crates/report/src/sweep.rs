//! What the page of a sweep is made of. Whoever ran the sweep decides what is drawn; this crate draws it.

use ssdlab_bench::Chart;

/// A page of charts and tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepPage {
    /// The command that it is of: `sweep`, `sensitivity`.
    pub command: String,
    pub title: String,
    /// A sentence below the title.
    pub deck: String,
    /// Of the program.
    pub version: String,
    /// What the sweep was, by word: base drive, points, tests, seeds.
    pub facts: Vec<(String, String)>,
    /// What the reader must know.
    pub notes: Vec<String>,
    pub sections: Vec<SweepSection>,
    /// Files beside the page.
    pub files: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepSection {
    pub title: String,
    pub text: String,
    pub rows: Vec<SweepRow>,
    pub tables: Vec<SweepTable>,
}

/// Figures that belong together: one across the page, or several beside each other on the same scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepRow {
    pub heading: String,
    pub figures: Vec<SweepFigure>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SweepFigure {
    /// [`Chart::id`] must be unique within the page.
    pub chart: Chart,
    /// What this figure holds fixed, as in `64 pages a block`.
    pub subject: String,
    /// Of a scatter: what each point is, by series; may be empty.
    pub point_names: Vec<Vec<String>>,
    /// Of a scatter: lines of steps through points of a series.
    pub stepped: Vec<Steps>,
}

/// A line of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The place of the series in its chart.
    pub series: usize,
    /// The places of the points that it passes through in that series, from left to right.
    pub points: Vec<usize>,
    pub holds: Holds,
}

/// Between which points of a line the value of one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// From its own place to the next: where less is better along the axis, it can be had further on as well.
    ToTheRight,
    /// From the place before to its own: where more is better.
    ToTheLeft,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepTable {
    pub caption: String,
    /// Heading of each column, and whether it holds numbers.
    pub columns: Vec<(String, bool)>,
    pub rows: Vec<Vec<String>>,
}
