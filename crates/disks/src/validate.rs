//! Whether a disk can be built.

use ssdlab_keys::SpecError;

use crate::geometry::turn_of;
use crate::seek;
use crate::spec::DiskSpec;

impl DiskSpec {
    /// Checks every value by itself, then what no single value can tell.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self) -> Result<(), SpecError> {
        self.check_values()?;
        seek::tables(&self.seek, self.media.cylinders(), turn_of(&self.media)).map(drop)
    }
}
