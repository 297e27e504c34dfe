//! What commands put to the test: a simulated device, or a real one.

use std::ops::Deref;
use std::path::PathBuf;

use ssdlab_bench::Lab as _;
use ssdlab_bench::suite::QUICK_DIVISOR;

use crate::args::StartArgs;
use crate::failure::Failure;
use crate::lab::{SimulatedDrive, TestedLab, each_once};
use crate::memory::say_if_scarce;
use crate::real::{RealDevice, consent_for, is_real};

#[derive(Debug)]
pub enum TestedDevice {
    Simulated(Box<SimulatedDrive>),
    Real(Box<RealDevice>),
}

impl TestedDevice {
    /// Finds what `text` names, with these values for keys of its drive file. A real device is only read unless it is among
    /// those that may be `destroyed`.
    ///
    /// # Errors
    /// What is wrong with the name, the keys, a file or the device.
    pub fn new(text: &str, changes: &[(String, String)], seed: u64, destroyed: &[PathBuf]) -> Result<Self, Failure> {
        if !is_real(text) {
            return Ok(TestedDevice::Simulated(Box::new(SimulatedDrive::changed(text, changes, seed)?)));
        }
        if let Some((key, _)) = changes.first() {
            let error = Failure::bad_input(format!("{text} is a real device, of which `{key}` cannot be set"));
            return Err(error.help("keys of drive files are of simulated drives; parameters of tests can be set"));
        }
        Ok(TestedDevice::Real(Box::new(RealDevice::new(text, destroyed)?)))
    }

    /// The one device of a command.
    ///
    /// # Errors
    /// As [`TestedDevice::new`], and if consent was given for another device.
    pub fn only(text: &str, changes: &[(String, String)], seed: u64, destroyed: &[PathBuf]) -> Result<Self, Failure> {
        consent_for(&[text], destroyed)?;
        Self::new(text, changes, seed, destroyed)
    }

    /// Says so where it may need more memory than is free. `quick`: where it can be made in small, it is.
    pub fn say_if_memory_is_scarce(&self, quick: bool) {
        if let TestedDevice::Simulated(drive) = self {
            let small = if quick { drive.recipe().small(QUICK_DIVISOR as u32) } else { None };
            say_if_scarce(small.as_ref().unwrap_or(drive.recipe()));
        }
    }

    /// The same device, which begins as `start` says.
    ///
    /// # Errors
    /// Of a real device; else as [`crate::saved::SavedDrive::open`].
    pub fn starting(self, start: &StartArgs, seed: u64) -> Result<Self, Failure> {
        match (self, &start.from) {
            (TestedDevice::Simulated(drive), Some(_)) => {
                let saved = start.saved(drive.recipe(), seed)?;
                Ok(TestedDevice::Simulated(Box::new(drive.starting(saved))))
            }
            (TestedDevice::Real(drive), Some(_)) => {
                Err(Failure::bad_input(format!("{} is a real device, which begins as it is", drive.name()))
                    .help("leave --from out: it is for simulated drives"))
            }
            (drive, None) => Ok(drive),
        }
    }

    /// All devices named, each once.
    ///
    /// # Errors
    /// As [`TestedDevice::only`], and if one is named twice.
    pub fn all(
        devices: &[String],
        changes: &[(String, String)],
        seed: u64,
        destroyed: &[PathBuf],
    ) -> Result<Vec<Self>, Failure> {
        consent_for(&devices.iter().map(String::as_str).collect::<Vec<_>>(), destroyed)?;
        each_once(devices, |device| Self::new(device, changes, seed, destroyed))
    }

    /// Another device of the same model.
    ///
    /// # Errors
    /// Of a real device: there is only one.
    pub fn specimen(&self, number: u32) -> Result<Self, Failure> {
        match self {
            TestedDevice::Simulated(drive) if drive.is_saved() => {
                Err(Failure::bad_input("of a saved drive there is one specimen")
                    .help("leave --specimens or --from out"))
            }
            TestedDevice::Simulated(drive) => Ok(TestedDevice::Simulated(Box::new(drive.specimen(number)))),
            TestedDevice::Real(drive) => Err(Failure::bad_input(format!("of {} there is one specimen", drive.name()))
                .help("leave --specimens out: it is for simulated drives")),
        }
    }
}

/// What it tells and how it is powered on is up to the device that it holds.
impl Deref for TestedDevice {
    type Target = dyn TestedLab;

    fn deref(&self) -> &Self::Target {
        match self {
            TestedDevice::Simulated(drive) => &**drive,
            TestedDevice::Real(drive) => &**drive,
        }
    }
}
