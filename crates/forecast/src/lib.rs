//! What the results of a drive hang on, and what they say beforehand.
//!
//! Much of a drive file is an estimate. [`Sensitivity`] varies each by itself and says which figures it moves.
//! [`calibrate`] fits unknowns of the firmware, and nothing else, to measurements. [`Prediction`] is what a drive's
//! file and its estimates say of figures that have not been looked at yet; it is kept, and laid beside them later
//! (`docs/blind-predictions.md`).
//!
//! All three run tests of the bench on drives made of one drive file by changing keys.

mod calibrate;
mod changed;
mod estimates;
mod figures;
mod from_results;
mod predict;
mod runs;
mod sensitivity;
mod tornado;

pub use calibrate::{Calibration, Fitted, Measured, Measurements, Reached, ReadResults, Unknown, calibrate};
pub use estimates::{Band, Estimate, NoEnd, STATED_BAND, estimates};
pub use figures::{Figure, headlines, predicted};
pub use predict::{
    Predicted, Prediction, PredictionError, are_one_drive, beside_figures, check_folder, may_be_predicted, predict,
    read_predictions, with_table,
};
pub use runs::{Bench, KeptTests, NoResult};
pub use sensitivity::{Bar, FigureSensitivity, LeftOut, SEED, Sensitivity, Side, sensitivity};
pub use tornado::page;
