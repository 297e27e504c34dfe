//! Real devices for the bench.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use ssdlab_bench::{Begins, Lab, PoweredOn};
use ssdlab_catalog::{is_of_catalog, reference};
use ssdlab_device::Device;
use ssdlab_hostdev::{Consent, Facts, Kind, OpenError, RealDrive};
use ssdlab_report::{DeviceFacts, ReviewedDevice, SpecRow};

use crate::failure::Failure;
use crate::lab::Tested;

/// A block device of this machine, or a file that stands for one.
#[derive(Debug)]
pub struct RealDevice {
    drive: RealDrive,
    reviewed: ReviewedDevice,
}

/// Whether a DEVICE of the command line is the path of something that is there, and no drive file.
pub fn is_real(text: &str) -> bool {
    !text.ends_with(".toml") && !is_of_catalog(text) && Path::new(text).exists()
}

/// Consent is for devices of the command alone.
///
/// # Errors
/// If it names another one.
pub fn consent_for(devices: &[&str], destroyed: &[PathBuf]) -> Result<(), Failure> {
    let named = |path: &&PathBuf| devices.iter().any(|d| is_real(d) && Consent::to_destroy(path).is_for(Path::new(d)));
    match destroyed.iter().find(|path| !named(path)) {
        Some(path) => {
            Err(Failure::bad_input(format!("--destroy {}: that is no real device of this command", path.display()))
                .help("name the device that is tested, once as DEVICE and once behind --destroy"))
        }
        None => Ok(()),
    }
}

impl RealDevice {
    /// Looks at a device. It is only read unless it is among those that may be `destroyed`.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn new(text: &str, destroyed: &[PathBuf]) -> Result<Self, Failure> {
        let path = Path::new(text);
        let consent = destroyed.iter().map(|named| Consent::to_destroy(named)).find(|consent| consent.is_for(path));
        let drive = RealDrive::find(path, consent.as_ref()).map_err(failure)?;
        let facts = drive.facts();
        let reviewed = ReviewedDevice {
            facts: DeviceFacts::from(&drive.info()),
            specification: specification(facts),
            traits: traits(&drive),
            // What nobody can see from outside.
            ..ReviewedDevice::default()
        };
        Ok(RealDevice { drive, reviewed })
    }
}

/// Why a real device cannot be used, in the words of every other message.
fn failure(error: OpenError) -> Failure {
    let failure = Failure::bad_input(error.to_string());
    match error.help() {
        Some(help) => failure.help(help),
        None => failure,
    }
}

impl Tested for RealDevice {
    fn reviewed(&self) -> &ReviewedDevice {
        &self.reviewed
    }

    fn identity(&self) -> Value {
        let f = self.drive.facts();
        json!({
            "real": f.path,
            "model": f.model,
            "firmware": f.firmware,
            "serial": f.serial,
            "capacity_bytes": f.capacity_bytes,
            "place": format!("{:?}", f.place),
            "destroyed": self.drive.is_writable(),
        })
    }

    fn meters_energy(&self) -> bool {
        false
    }

    fn is_real(&self) -> bool {
        true
    }
}

impl Lab for RealDevice {
    /// The same device each time, trimmed whole where it may be and knows how.
    fn fresh(&self, _seed: u64) -> Result<PoweredOn, String> {
        self.drive.open().map(PoweredOn::from).map_err(|e| e.to_string())
    }

    fn name(&self) -> &str {
        &self.drive.facts().path
    }

    fn begins(&self) -> Begins {
        if self.drive.begins_trimmed() { Begins::Trimmed } else { Begins::AsFound }
    }

    fn has_disk(&self, _seed: u64) -> Result<bool, String> {
        Ok(self.drive.facts().rotates)
    }

    fn queue_depth(&self, _seed: u64) -> Result<u32, String> {
        Ok(self.drive.info().queue_depth)
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        reference(model, seed)
    }
}

/// What it is in a few words each.
fn traits(drive: &RealDrive) -> Vec<String> {
    let f = drive.facts();
    let cache = (!f.write_cache.is_empty()).then(|| format!("write cache: {}", f.write_cache));
    let real = match f.kind {
        Kind::BlockDevice => "a real device",
        Kind::File => "a file on a real device",
    };
    let model = (!f.model.is_empty()).then(|| f.model.clone());
    let begins = if drive.begins_trimmed() { "trimmed before each test" } else { "used as it was found" };
    [Some(real.to_owned()), model, cache, Some(begins.to_owned())].into_iter().flatten().collect()
}

/// What the system knows of it. The serial number is its owner's, and stays out of a page that may be published.
fn specification(f: &Facts) -> Vec<SpecRow> {
    let row = |key: &str, value: String, unit: &str| SpecRow {
        section: "Real device".to_owned(),
        key: key.to_owned(),
        value,
        unit: unit.to_owned(),
        source: "told by the system".to_owned(),
        estimate: false,
    };
    let text = |key: &str, value: &str| (!value.is_empty()).then(|| row(key, value.to_owned(), ""));
    let number = |key: &str, value: u64, unit: &str| Some(row(key, value.to_string(), unit));
    [
        text("model", &f.model),
        text("firmware", &f.firmware),
        number("capacity", f.capacity_bytes, "B"),
        number("smallest request", f.sector_bytes.into(), "B"),
        number("physical sector", f.physical_sector_bytes.into(), "B"),
        f.queue_depth.and_then(|depth| number("commands at once", depth.into(), "")),
        text("write cache", &f.write_cache),
        text("scheduler", &f.scheduler),
        (f.hole_bytes > 0).then(|| row("holes", f.hole_bytes.to_string(), "B")),
    ]
    .into_iter()
    .flatten()
    .collect()
}
