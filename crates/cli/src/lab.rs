//! Simulated drives for the bench: the one place where a drive is built.

use ssdlab_bench::Lab;
use ssdlab_catalog::{Drive, drive_names, resolve};
use ssdlab_device::Device;
use ssdlab_nand::SpecError;
use ssdlab_report::{DeviceFacts, ReviewedDevice};
use ssdlab_ssd::Ssd;

use crate::failure::Failure;
use crate::specification::specification;

/// A drive of the catalog or of a drive file, fresh from the factory as often as tests ask for one.
#[derive(Debug)]
pub struct SimulatedDrive {
    drive: Drive,
    /// What the drive says of itself, for the report.
    pub reviewed: ReviewedDevice,
}

impl SimulatedDrive {
    /// Finds the drive and builds it once, so that whatever is wrong with it is found before anything runs.
    ///
    /// # Errors
    /// What is wrong with the name, the file or the drive.
    pub fn new(device: &str, seed: u64) -> Result<Self, Failure> {
        let drive = resolve(device)?;
        let facts = DeviceFacts::from(build(&drive, seed).map_err(|e| drive.explain(&e))?.info());
        let specification = specification(&drive);
        Ok(SimulatedDrive { drive, reviewed: ReviewedDevice { facts, specification } })
    }

    /// Its name on the command line and in reports.
    pub fn device(&self) -> &str {
        &self.drive.name
    }

    /// Whether its file says what it draws.
    pub fn meters_energy(&self) -> bool {
        self.drive.spec.power.is_some()
    }
}

impl Lab for SimulatedDrive {
    fn fresh(&self, seed: u64) -> Result<Box<dyn Device>, String> {
        build(&self.drive, seed).map_err(|e| e.to_string())
    }

    fn name(&self) -> &str {
        self.device()
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        if !drive_names().any(|name| name == model) {
            return Ok(None);
        }
        let drive = resolve(model).map_err(|d| d.to_string())?;
        build(&drive, seed).map(Some).map_err(|e| e.to_string())
    }
}

fn build(drive: &Drive, seed: u64) -> Result<Box<dyn Device>, SpecError> {
    Ok(Box::new(Ssd::new(&drive.name, &drive.spec, &drive.die.spec, seed)?))
}

/// All drives named, each once.
///
/// # Errors
/// As [`SimulatedDrive::new`], and if one is named twice.
pub fn drives(devices: &[String], seed: u64) -> Result<Vec<SimulatedDrive>, Failure> {
    for (i, device) in devices.iter().enumerate() {
        if devices[..i].contains(device) {
            return Err(Failure::bad_input(format!("{device} is named twice")).help("name each drive once"));
        }
    }
    devices.iter().map(|device| SimulatedDrive::new(device, seed)).collect()
}
