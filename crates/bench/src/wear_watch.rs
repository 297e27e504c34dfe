//! A drive's wear, watched in windows of work, by which its life is wound forward
//! ([`ssdlab_device::Flash::fast_forward`]): the same for the test `endurance` and for the lives of fleets.

use ssdlab_device::{Flash, MOST_WEAR_RECORDS};

use crate::error::BenchError;

/// Written between filling and watching, in capacities. Filling lays data in order; until the coldest have been written
/// again, blocks differ by that, which passes for lasting.
pub const SETTLE: f64 = 1.5;
/// The least that a window writes, in capacities.
pub const WINDOW: f64 = 0.5;
/// Windows.
pub const WINDOWS: usize = MOST_WEAR_RECORDS - 1;
/// A window lasts until blocks have been erased so often on average: in a shorter one, blocks that are erased in turns
/// look unlike.
const TURNOVER: f64 = 0.9;
/// But no longer than so many times what it writes at the least.
const LONGEST: f64 = 4.0;

/// A drive, and the work that is done on it.
pub trait Worked {
    /// Writes about so much; returns what was written, in the same unit.
    ///
    /// # Errors
    /// What the host or the drive cannot do.
    fn work(&mut self, amount: f64) -> Result<f64, BenchError>;

    /// # Errors
    /// If it has no flash.
    fn flash(&mut self) -> Result<&mut dyn Flash, BenchError>;
}

/// Works for [`WINDOWS`] windows of `window` at the least, all of them as long as the first, and records the wear
/// before, between and after them. Returns what was written, in the unit of `window`.
///
/// # Errors
/// As of the work.
pub fn watch_wear(worked: &mut impl Worked, window: f64) -> Result<f64, BenchError> {
    worked.flash()?.record_wear();
    let turnover = worked.flash()?.wear().erases_mean + TURNOVER;
    let (mut length, mut written) = (window, worked.work(window)?);
    while worked.flash()?.wear().erases_mean < turnover && length < LONGEST * window {
        written += worked.work(window / 4.0)?;
        length += window / 4.0;
    }
    worked.flash()?.record_wear();
    for _ in 1..WINDOWS {
        written += worked.work(length)?;
        worked.flash()?.record_wear();
    }
    Ok(written)
}
