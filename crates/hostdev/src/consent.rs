//! The rule that nothing is written without consent.

use std::path::{Path, PathBuf};

use crate::facts::Place;

/// Consent that everything on one drive may be destroyed. It names the drive; nothing else makes it one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    named: PathBuf,
}

impl Consent {
    /// Of somebody who has named this drive, by any of its paths.
    #[must_use]
    pub fn to_destroy(named: &Path) -> Consent {
        Consent { named: named.to_owned() }
    }

    /// The path that it was given for.
    #[must_use]
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Whether it is about this drive: both paths lead to the same file, or the same block device. A path that leads nowhere is
    /// about nothing.
    #[must_use]
    pub fn is_for(&self, drive: &Path) -> bool {
        Place::of(drive).is_some_and(|place| self.is_for_place(place))
    }

    pub(crate) fn is_for_place(&self, place: Place) -> bool {
        Place::of(&self.named) == Some(place)
    }
}
