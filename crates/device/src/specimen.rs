//! Which device was saved: so that no other one takes its state over.

use serde::{Deserialize, Serialize};
use ssdlab_core::Fnv1a;

use crate::LoadError;

/// What a file is called, wherever it lies: of a path the last part.
#[must_use]
pub fn name_of_file(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// What a device is called that a file describes or the catalog has.
#[must_use]
pub fn name_of_model(name: &str) -> &str {
    let file = name_of_file(name);
    file.strip_suffix(".toml").unwrap_or(file)
}

/// Of what model a device is, which one of its kind, and in what form it is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Specimen {
    format: u32,
    seed: u64,
    files: u64,
}

impl Specimen {
    /// `name`: of the model, as it was given; where its file lies makes no other one of it. `values`: every value of its files, as a
    /// text. `format` is raised whenever what is saved changes its form.
    #[must_use]
    pub fn new(format: u32, name: &str, values: &str, seed: u64) -> Self {
        let model = format!("{}\n{values}", name_of_model(name));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_makes_the_same_device_wherever_it_lies() {
        let specimen = |name| Specimen::new(1, name, "a=1", 7);
        for path in ["d.toml", "./d.toml", "/home/me/d.toml", "..\\d.toml"] {
            assert_eq!(specimen(path), specimen("d"), "{path}");
            assert_eq!(name_of_file(path), "d.toml");
        }
        assert_ne!(specimen("e.toml"), specimen("d.toml"));
        assert_ne!(Specimen::new(1, "d", "a=2", 7), specimen("d"));
    }
}
