//! Reference drives: what a review of one drive is set beside. Measured by a full run of this version and shipped with the
//! program; `make reference-drives` measures them anew.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use ssdlab_bench::NotSteady;
use ssdlab_bench::suite::PUBLISHED_SECONDS;

use crate::headline::Headline;

/// A drive with its headline figures and the curve of its random writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReferenceDrive {
    pub name: String,
    /// Values by [`crate::Headline::key`], in the metric's unit.
    pub figures: BTreeMap<String, f64>,
    /// Mean rate, in MB/s, at which it was filled in sequence before its random writes, if that was kept: a rate that falls past an
    /// SLC cache shows in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_mb_per_s: Option<f64>,
    /// IOPS of random writes over the whole drive, at every [`STEP_SECONDS`]-th second of `consistency`.
    pub iops: Vec<f64>,
    /// Why these writes came to no steady state: empty if they did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_steady: Vec<NotSteady>,
}

impl ReferenceDrive {
    /// Its value by a headline, if it was measured and is what the title says.
    pub(crate) fn figure(&self, headline: &Headline) -> Option<f64> {
        self.figures.get(headline.key).copied().filter(|_| self.has_settled() || !headline.settles)
    }

    pub(crate) fn has_settled(&self) -> bool {
        self.not_steady.is_empty()
    }

    /// [`ReferenceDrive::iops`] of what `consistency` takes for the steady state.
    pub(crate) fn tail(&self) -> &[f64] {
        let (length, from) = PUBLISHED_SECONDS;
        &self.iops[(self.iops.len() as u64 * from / length) as usize..]
    }
}

/// Between two values of [`ReferenceDrive::iops`].
pub const STEP_SECONDS: usize = 4;

/// How many drives a review of one is set beside.
const BESIDE: usize = 3;

const SHIPPED: &str = include_str!("../data/reference-drives.json");

static DRIVES: LazyLock<Vec<ReferenceDrive>> =
    LazyLock::new(|| serde_json::from_str(SHIPPED).unwrap_or_else(|e| panic!("data/reference-drives.json: {e}")));

/// Those that a review of the drive `name` is set beside: its contemporaries first. Drives that know no TRIM, disks among
/// them, are of the years before the others.
pub(crate) fn beside(name: &str, supports_trim: bool) -> Vec<&'static ReferenceDrive> {
    let mut drives: Vec<&ReferenceDrive> = DRIVES.iter().filter(|d| d.name != name).collect();
    // The file has those with TRIM first.
    if !supports_trim {
        drives.reverse();
    }
    drives.truncate(BESIDE);
    drives
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_set_beside_three_others_of_its_time() {
        let names = |name, trim| beside(name, trim).iter().map(|d| d.name.clone()).collect::<Vec<_>>();
        assert_eq!(names("mine", true).len(), 3);
        assert!(!names("m600-256gb", true).contains(&"m600-256gb".to_owned()));
        assert!(names("a-disk", false).contains(&"spinpoint-f1-1tb".to_owned()));
        for drive in DRIVES.iter() {
            assert!(drive.figures.len() >= 6, "{} has {} figures", drive.name, drive.figures.len());
            assert!(!drive.iops.is_empty(), "{}", drive.name);
        }
    }
}
