//! A drive from its path.

use std::path::{Path, PathBuf};

use ssdlab_device::{Device, DeviceInfo};

use crate::consent::Consent;
use crate::device::HostDevice;
use crate::error::OpenError;
use crate::facts::{Facts, Kind};
use crate::ring::Ring;
use crate::system;

/// A real drive, found and looked at. Without consent it is only ever opened for reading.
#[derive(Clone, Debug)]
pub struct RealDrive {
    path: PathBuf,
    facts: Facts,
    /// Whether there is consent that everything on it is destroyed.
    writable: bool,
}

impl RealDrive {
    /// Looks at what a path leads to: a block device, or a file as large as the drive that it stands for. Writes nothing. With
    /// consent, it must be free for writing.
    ///
    /// # Errors
    /// What it is instead, or why it cannot be used; and consent that names another drive.
    pub fn find(path: &Path, consent: Option<&Consent>) -> Result<RealDrive, OpenError> {
        if let Some(other) = consent.filter(|consent| !consent.is_for(path)) {
            let named = other.named().display().to_string();
            return Err(OpenError::OtherDrive { named, path: path.display().to_string() });
        }
        let facts = system::look(path)?;
        let writable = consent.is_some();
        Ring::new(system::open(path, writable)?).map_err(|source| OpenError::NoRing { source })?;
        Ok(RealDrive { path: path.to_owned(), facts, writable })
    }

    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether there is consent to write.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Whether [`RealDrive::open`] begins with a TRIM of all of it.
    #[must_use]
    pub fn begins_trimmed(&self) -> bool {
        self.writable && self.facts.supports_trim
    }

    /// What the bench is told of it.
    #[must_use]
    pub fn info(&self) -> DeviceInfo {
        let f = &self.facts;
        DeviceInfo {
            description: f.description(),
            capacity_bytes: f.capacity_bytes,
            sector_bytes: f.sector_bytes,
            queue_depth: f.queue_depth.unwrap_or(32),
            supports_trim: f.supports_trim,
            read_only: !self.writable,
            // It may make a difference; who knows?
            compresses: f.kind == Kind::BlockDevice && !f.rotates,
            ..DeviceInfo::new(&f.path, "host")
        }
    }

    /// Opens it, as near to a new drive as it gets: with consent, and if it knows TRIM, trimmed whole. Otherwise it is as it
    /// was left.
    ///
    /// # Errors
    /// If it cannot be opened any more, or is another drive by now.
    pub fn open(&self) -> Result<Box<dyn Device>, OpenError> {
        let is = system::look(&self.path)?;
        if (&is.model, &is.serial, is.capacity_bytes)
            != (&self.facts.model, &self.facts.serial, self.facts.capacity_bytes)
        {
            let (path, was) = (self.facts.path.clone(), self.facts.description());
            return Err(OpenError::Changed { path, was, is: is.description() });
        }
        let file = system::open(&self.path, self.writable)?;
        if self.begins_trimmed() {
            system::discard(&file, 0, self.facts.capacity_bytes)
                .map_err(|source| OpenError::Trim { path: self.facts.path.clone(), source })?;
        }
        let ring = Ring::new(file).map_err(|source| OpenError::NoRing { source })?;
        let run = getrandom::u64().map_err(|e| OpenError::NoRing { source: std::io::Error::other(e.to_string()) })?;
        Ok(Box::new(HostDevice::new(self.info(), ring, run)))
    }
}
