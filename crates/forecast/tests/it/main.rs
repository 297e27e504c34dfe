//! Sensitivities, calibrations and predictions, on small drives and on the files of this repository.

mod calibrated;
mod kept;
mod predicted;
mod sensitive;
