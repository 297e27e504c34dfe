//! What can go wrong when a review is written, said once and fully.

use std::io;
use std::path::PathBuf;

/// Why a review could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A figure is infinite or not a number. JSON has no word for either, and a chart no place.
    #[error("{place} is {value}: every figure of a review must be finite")]
    NotFinite {
        /// Device, test and key.
        place: String,
        value: f64,
    },
    /// The review contradicts itself.
    #[error("{place}: {problem}")]
    Inconsistent { place: String, problem: String },
    /// The file system refused.
    #[error("cannot {action} {path}: {source}; {advice}", path = .path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        advice: &'static str,
        #[source]
        source: io::Error,
    },
    /// The output path is a file.
    #[error("{path} is a file, not a folder: choose another output folder", path = .path.display())]
    NotAFolder { path: PathBuf },
    /// A document could not be turned into JSON, or is not of this schema.
    #[error("{place}: {source}")]
    Json {
        place: String,
        #[source]
        source: serde_json::Error,
    },
    /// A picture could not be drawn.
    #[error("chart {chart} could not be drawn as PNG: {problem}")]
    Picture { chart: String, problem: String },
}
