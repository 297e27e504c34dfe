//! fio job files on a simulated drive, with fio's own output.

mod json;
mod meter;
mod normal;
mod report;
mod runner;

pub use json::json;
pub use normal::normal;
pub use runner::{diagnostic, run};

/// The version of fio whose output is imitated.
pub const FIO_VERSION: &str = "fio-3.38";
