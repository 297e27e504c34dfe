//! A drive from its path.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use ssdlab_device::{Device, DeviceInfo};

use crate::consent::Consent;
use crate::device::HostDevice;
use crate::error::OpenError;
use crate::facts::{Facts, Kind};
use crate::ring::Ring;
use crate::system;

/// A real drive, opened once and looked at: whatever its path leads to later, it stays this one, and with consent nobody else's.
/// Without consent it is only ever opened for reading.
#[derive(Clone, Debug)]
pub struct RealDrive {
    file: Arc<File>,
    facts: Facts,
    /// Whether there is consent that everything on it is destroyed.
    writable: bool,
}

impl RealDrive {
    /// Opens what a path leads to: a block device, or a file as large as the drive that it stands for. Writes nothing. With
    /// consent, it must be free for writing, and stays ours as long as this lives.
    ///
    /// # Errors
    /// What it is instead, or why it cannot be used; and consent that is for another drive.
    pub fn find(path: &Path, consent: Option<&Consent>) -> Result<RealDrive, OpenError> {
        let writable = consent.is_some();
        let file = system::open(path, writable)?;
        let facts = system::look(path, &file)?;
        if let Some(other) = consent.filter(|consent| !consent.is_for_place(facts.place)) {
            let named = other.named().display().to_string();
            return Err(OpenError::OtherDrive { named, path: facts.path });
        }
        if writable {
            system::check_free(path, &file, facts.place)?;
        }
        let drive = RealDrive { file: Arc::new(file), facts, writable };
        drive.ring()?;
        Ok(drive)
    }

    fn ring(&self) -> Result<Ring, OpenError> {
        let file = self.file.try_clone();
        let file = file.map_err(|source| OpenError::Open { path: self.facts.path.clone(), source })?;
        Ring::new(file).map_err(|source| OpenError::NoRing { source })
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

    /// Whether a test of it begins with a TRIM of all of it.
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

    /// The drive for one test, as near to a new one as it gets: with consent, and if it knows TRIM, trimmed whole before its first
    /// request or rest, so that a test which its own checks refuse leaves it as it was. Otherwise it is as it was left. A drive
    /// that cannot be trimmed fails its first request.
    ///
    /// # Errors
    /// If it has another size by now.
    pub fn open(&self) -> Result<Box<dyn Device>, OpenError> {
        let path = || self.facts.path.clone();
        let is = system::length(&self.file).map_err(|source| OpenError::Open { path: path(), source })?;
        if is != self.facts.capacity_bytes {
            return Err(OpenError::Resized { path: path(), was: self.facts.capacity_bytes, is });
        }
        let mut ring = self.ring()?;
        let run = getrandom::u64().map_err(|e| OpenError::NoRing { source: std::io::Error::other(e.to_string()) })?;
        ring.warm_up(run);
        Ok(Box::new(HostDevice::new(self.info(), ring, run, self.begins_trimmed())))
    }
}
