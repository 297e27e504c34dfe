//! The run of random writes over every address of a drive: what the first screen draws, and what most is told of.

use ssdlab_bench::Outcome;
use ssdlab_bench::suite::{is_as_declared, is_of_whole_drive};

use crate::review::Review;

/// The test that it is a run of.
pub(crate) const TEST: &str = "consistency";

/// Its variant by which drives are compared, and the one of the same writes with a fifth of the flash left unused.
pub(crate) const VARIANT: &str = "2013";
pub(crate) const SPACIOUS: &str = "2013, 25 % over-provisioning";

/// The run of a device by which drives are compared.
pub(crate) fn compared<'r>(review: &'r Review, device: &str) -> Option<&'r Outcome> {
    runs(review, device).find(|o| o.variant == VARIANT)
}

/// The run of a device that is drawn: that one, or else one of the same writes for longer.
pub(crate) fn drawn<'r>(review: &'r Review, device: &str) -> Option<&'r Outcome> {
    compared(review, device).or_else(|| runs(review, device).next())
}

/// The runs that are drawn, in the order of the drives.
pub(crate) fn all_drawn(review: &Review) -> Vec<&Outcome> {
    review.devices.iter().filter_map(|d| drawn(review, &d.facts.name)).collect()
}

fn runs<'r>(review: &'r Review, device: &str) -> impl Iterator<Item = &'r Outcome> {
    let of_device = review.outcomes.iter().filter(move |o| o.device == device && o.test == TEST);
    of_device.filter(|o| is_of_whole_drive(o) && is_as_declared(o))
}

/// Seconds and IOPS of a run from its begin.
pub(crate) fn curve_of(run: &Outcome) -> &[[f64; 2]] {
    let whole = run.charts.iter().find(|c| c.id.starts_with("iops-whole"));
    whole.and_then(|c| c.series.first()).map_or(&[], |s| &s.points)
}

/// The same of the run of a device that is drawn; empty if there is none.
pub(crate) fn curve<'r>(review: &'r Review, device: &str) -> &'r [[f64; 2]] {
    drawn(review, device).map_or(&[], curve_of)
}
