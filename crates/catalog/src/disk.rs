//! Hard disks of the catalog, and disk files of one's own.

use ssdlab_core::nearest;
use ssdlab_device::Device;
use ssdlab_disks::DiskSpec;
use ssdlab_keys::SpecError;

use crate::diagnostic::Diagnostic;
use crate::embedded::{DISKS, find};
use crate::keys::SpecRow;
use crate::kind::DISK;
use crate::load::{Loaded, load};

/// A hard disk that was found, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// Catalog name, or the path it was read from.
    pub name: String,
    pub spec: DiskSpec,
    /// Every value of the disk file, with its source.
    pub rows: Vec<SpecRow>,
}

impl Disk {
    /// The line for people.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.spec.description
    }

    /// A simulated disk.
    ///
    /// # Errors
    /// The first value of `spec` that cannot be built: none, unless the spec was changed.
    pub fn build(&self, seed: u64) -> Result<Box<dyn Device>, SpecError> {
        Ok(Box::new(ssdlab_disks::Disk::new(&self.name, self.spec.clone(), seed)?))
    }
}

/// Names of the disks of the catalog, in alphabetical order.
pub fn disk_names() -> impl Iterator<Item = &'static str> + Clone {
    DISKS.iter().map(|f| f.name)
}

/// Reads a disk of the catalog.
///
/// # Errors
/// If there is none of that name, with the nearest names.
pub fn disk(name: &str) -> Result<Disk, Diagnostic> {
    if let Some(file) = find(DISKS, name) {
        return read_disk(name, file.path, file.text);
    }
    let mut error = Diagnostic::new(format!("there is no disk `{name}`"));
    let close = nearest(name, disk_names());
    if !close.is_empty() {
        error = error.help(format!("did you mean {}?", close.join(" or ")));
    }
    Err(error.help(format!("the catalog has {}", disk_names().collect::<Vec<_>>().join(", "))))
}

/// Reads a disk from the text of a disk file; `file` is its name in messages.
///
/// # Errors
/// If it cannot be read or built.
pub fn parse_disk(file: &str, text: &str) -> Result<Disk, Diagnostic> {
    read_disk(file, file, text)
}

fn read_disk(name: &str, file: &str, text: &str) -> Result<Disk, Diagnostic> {
    let loaded: Loaded<DiskSpec> = load(&DISK, file, text)?;
    loaded.spec.validate().map_err(|e| loaded.source.spec_error(&e))?;
    let description = loaded.description_of_changes(name);
    let mut spec = loaded.spec;
    if let Some(description) = description {
        spec.description = description;
    }
    Ok(Disk { name: name.to_owned(), spec, rows: loaded.rows })
}
