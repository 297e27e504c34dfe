//! Which device was saved: so that no other one takes its state over.

use serde::{Deserialize, Serialize};
use ssdlab_core::Fnv1a;

use crate::LoadError;

/// Of what model a device is, which one of its kind, and in what form it is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Specimen {
    format: u32,
    seed: u64,
    files: u64,
}

impl Specimen {
    /// `model`: its name and every value of its files, as a text. `format` is raised whenever what is saved changes its form.
    #[must_use]
    pub fn new(format: u32, model: &str, seed: u64) -> Self {
        Specimen { format, seed, files: Fnv1a::of(model.as_bytes()) }
    }

    /// Whether what was saved, which begins with its specimen, is of this one.
    ///
    /// # Errors
    /// If it is of another one, or in another form.
    pub fn check(&self, saved: &Specimen) -> Result<(), LoadError> {
        if saved.format != self.format {
            return Err(LoadError::Format { found: saved.format, known: self.format });
        }
        if saved.seed != self.seed {
            return Err(LoadError::Seed { found: saved.seed, own: self.seed });
        }
        if saved.files == self.files { Ok(()) } else { Err(LoadError::OtherDrive) }
    }
}
