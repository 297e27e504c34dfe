//! Systems on which real drives cannot be used: the same face, and no drive behind it.

use std::path::Path;

use ssdlab_device::{Device, DeviceInfo};

use crate::consent::Consent;
use crate::error::OpenError;
use crate::facts::Facts;

/// There is none.
#[derive(Clone, Debug)]
pub enum RealDrive {}

impl RealDrive {
    /// # Errors
    /// [`OpenError::NotHere`].
    pub fn find(_path: &Path, _consent: Option<&Consent>) -> Result<RealDrive, OpenError> {
        Err(OpenError::NotHere)
    }

    #[must_use]
    pub fn facts(&self) -> &Facts {
        match *self {}
    }

    #[must_use]
    pub fn is_writable(&self) -> bool {
        match *self {}
    }

    #[must_use]
    pub fn begins_trimmed(&self) -> bool {
        match *self {}
    }

    #[must_use]
    pub fn info(&self) -> DeviceInfo {
        match *self {}
    }

    /// # Errors
    /// None.
    pub fn open(&self) -> Result<Box<dyn Device>, OpenError> {
        match *self {}
    }
}
