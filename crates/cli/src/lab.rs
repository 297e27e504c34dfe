//! Simulated devices for the bench: the one place where they are built.

use std::ops::Deref;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::json;
use ssdlab_bench::specimens::device_seed;
use ssdlab_bench::{Begins, Lab, PoweredOn};
use ssdlab_catalog::{
    DeviceRecipe, DeviceTemplate, device, is_key_without_section, is_of_catalog, one_spelling, reference,
};
use ssdlab_core::input;
use ssdlab_device::Device;
use ssdlab_hostdev::Place;
use ssdlab_report::{DeviceFacts, ReviewedDevice};
use ssdlab_sweep::digest;

use crate::failure::Failure;
use crate::saved::SavedDrive;
use crate::specification::{
    hangs_on, has_slc_cache, loses_flushed, lost_with_power_bytes, members, specification, superblock_bytes, traits,
};

/// What reports and kept tests are told of a device that was put to the test.
pub trait Tested {
    /// What the device says of itself, for the report.
    fn reviewed(&self) -> &ReviewedDevice;

    /// Everything that decides on what is tested.
    fn identity(&self) -> serde_json::Value;

    /// Whether it is known what it draws.
    fn meters_energy(&self) -> bool;

    /// Whether it is measured in real time, so that nothing else may run beside.
    fn is_real(&self) -> bool {
        false
    }
}

/// Whatever points to one is one.
impl<P: Deref<Target: Tested>> Tested for P {
    fn reviewed(&self) -> &ReviewedDevice {
        (**self).reviewed()
    }

    fn identity(&self) -> serde_json::Value {
        (**self).identity()
    }

    fn meters_energy(&self) -> bool {
        (**self).meters_energy()
    }

    fn is_real(&self) -> bool {
        (**self).is_real()
    }
}

/// A device that commands put to the test.
pub trait TestedLab: Tested + Lab {}

impl<T: Tested + Lab> TestedLab for T {}

/// What a report says of a drive that did not begin as a new one.
pub const BEGINS_AS_SAVED: &str = "begins as it was saved";

/// A device of the catalog, of a file or of a device expression, fresh from the factory or as it was saved, as often as tests
/// ask for one.
#[derive(Debug)]
pub struct SimulatedDrive {
    recipe: DeviceRecipe,
    /// The same in small, for runs that are shortened.
    small: OnceLock<Option<DeviceRecipe>>,
    /// Which of several drives of this model it is, counted from 0.
    specimen: u32,
    /// What it begins as, if it is not new.
    saved: Option<SavedDrive>,
    /// What the device says of itself, for the report.
    pub reviewed: ReviewedDevice,
}

impl SimulatedDrive {
    /// Finds the device and builds it once, so that whatever is wrong with it is found before anything runs.
    ///
    /// # Errors
    /// What is wrong with the name, the expression, a file or the device.
    pub fn new(text: &str, seed: u64) -> Result<Self, Failure> {
        Self::of(device(text)?, seed)
    }

    /// The same with other values for keys of its drive file, as in `gc.policy`.
    ///
    /// # Errors
    /// As [`SimulatedDrive::new`], and if there is no such key or value.
    pub fn changed(text: &str, changes: &[(String, String)], seed: u64) -> Result<Self, Failure> {
        if changes.is_empty() {
            return Self::new(text, seed);
        }
        let recipe = DeviceTemplate::open(text, Path::new(""))?.set(changes)?;
        Self::of(recipe, seed)
    }

    /// Of a device that was read already.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn of(recipe: DeviceRecipe, seed: u64) -> Result<Self, Failure> {
        let facts = DeviceFacts::from(recipe.build(seed)?.info());
        // A file that gives an array a name describes it, too.
        let description = input::printable(&recipe.description, &[]).into_owned();
        // So do changes of its values.
        let identity = Some(digest(recipe.identity_but_for_chance().to_string().as_bytes()));
        let drawn_as = Some(recipe.drawn_as().into_iter().map(str::to_owned).collect());
        let (name, functions) = (recipe.name.clone(), recipe.functions.clone());
        let facts = DeviceFacts { name, description, identity, drawn_as, functions, ..facts };
        let (specification, members, hangs_on) = (specification(&recipe), members(&recipe), hangs_on(&recipe));
        let (traits, superblock_bytes) = (traits(&recipe, &specification, &members), superblock_bytes(&recipe));
        let (lost_with_power_bytes, loses_flushed) = (lost_with_power_bytes(&recipe), loses_flushed(&recipe));
        let reviewed = ReviewedDevice {
            facts,
            specification,
            members,
            hangs_on,
            traits,
            superblock_bytes,
            has_slc_cache: has_slc_cache(&recipe),
            lost_with_power_bytes,
            loses_flushed,
        };
        Ok(SimulatedDrive { recipe, small: OnceLock::new(), specimen: 0, saved: None, reviewed })
    }

    /// Another drive of the same model.
    pub fn specimen(&self, number: u32) -> Self {
        SimulatedDrive {
            recipe: self.recipe.clone(),
            small: OnceLock::new(),
            specimen: number,
            saved: self.saved.clone(),
            reviewed: self.reviewed.clone(),
        }
    }

    /// The same model, which begins as a drive that was saved; `None`: new.
    pub fn starting(&self, saved: Option<SavedDrive>) -> Self {
        let mut reviewed = self.reviewed.clone();
        reviewed.traits.extend(saved.is_some().then(|| BEGINS_AS_SAVED.to_owned()));
        reviewed.facts.begins_as = saved.as_ref().map(|saved| format!("{:016x}", saved.fingerprint()));
        SimulatedDrive { recipe: self.recipe.clone(), small: OnceLock::new(), specimen: self.specimen, saved, reviewed }
    }

    /// Whether it begins as a drive that was saved.
    pub fn is_saved(&self) -> bool {
        self.saved.is_some()
    }

    /// Gives power to a device of this recipe that somebody else has built.
    ///
    /// # Errors
    /// If the drive that was saved is another one.
    pub fn power_on(&self, mut device: Box<dyn Device>) -> Result<PoweredOn, String> {
        let saved = self.saved.as_ref().map(|saved| saved.put_into(&mut *device)).transpose();
        let ready = saved.map_err(|e| format!("the saved drive does not fit {}: {e}", self.device()))?.unwrap_or(0);
        Ok(PoweredOn { device, ready })
    }

    fn build(&self, seed: u64) -> Result<Box<dyn Device>, String> {
        self.recipe.build(device_seed(seed, self.specimen)).map_err(|e| e.to_string())
    }

    /// What is built.
    pub fn recipe(&self) -> &DeviceRecipe {
        &self.recipe
    }

    /// Its name on the command line and in reports.
    pub fn device(&self) -> &str {
        &self.recipe.name
    }
}

impl Tested for SimulatedDrive {
    fn reviewed(&self) -> &ReviewedDevice {
        &self.reviewed
    }

    fn identity(&self) -> serde_json::Value {
        match &self.saved {
            Some(saved) => json!({ "drive": self.recipe.named_identity(), "saved": saved.fingerprint() }),
            None => self.recipe.named_identity(),
        }
    }

    fn meters_energy(&self) -> bool {
        self.recipe.meters_energy()
    }
}

impl Lab for SimulatedDrive {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        match &self.saved {
            Some(saved) => {
                let (device, ready) = saved.power_on(&self.recipe, device_seed(seed, self.specimen))?;
                Ok(PoweredOn { device, ready })
            }
            None => Ok(self.build(seed)?.into()),
        }
    }

    fn has_disk(&self, seed: u64) -> Result<bool, String> {
        Ok(self.build(seed)?.counters().disk.is_some())
    }

    fn queue_depth(&self, seed: u64) -> Result<u32, String> {
        Ok(self.build(seed)?.info().queue_depth)
    }

    fn begins(&self) -> Begins {
        if self.is_saved() { Begins::Saved } else { Begins::New }
    }

    fn stored_days(&self) -> u32 {
        self.saved.as_ref().map_or(0, SavedDrive::stored_days)
    }

    fn name(&self) -> &str {
        self.device()
    }

    fn small(&self, by: u32, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        if self.is_saved() {
            return Ok(None);
        }
        let small = self.small.get_or_init(|| self.recipe.small(by));
        let seed = device_seed(seed, self.specimen);
        small.as_ref().map(|recipe| recipe.build(seed).map_err(|e| e.to_string())).transpose()
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        reference(model, seed)
    }
}

/// Whether `--set` means a key of a drive file, and not a parameter of a test.
pub fn is_of_drive(key: &str) -> bool {
    key.contains('.') || is_key_without_section(key)
}

/// All devices named, each once.
///
/// # Errors
/// As [`SimulatedDrive::new`], and if one is named twice.
pub fn drives(devices: &[String], seed: u64) -> Result<Vec<SimulatedDrive>, Failure> {
    each_once(devices, |device| SimulatedDrive::new(device, seed))
}

/// Opens every device that is named. One must not stand twice in a command: neither its name, nor a file or drive by two of
/// its paths, alone or in a device expression.
///
/// # Errors
/// Those of `open`, and if one is named twice.
pub fn each_once<D: TestedLab>(
    devices: &[String],
    mut open: impl FnMut(&str) -> Result<D, Failure>,
) -> Result<Vec<D>, Failure> {
    let (mut all, mut places): (Vec<D>, Vec<Place>) = (Vec::new(), Vec::new());
    for (i, device) in devices.iter().enumerate() {
        let twice = || Failure::bad_input(format!("{device} is named twice")).help("name each drive once");
        if let Some(place) = Place::of(Path::new(device)).filter(|_| !is_of_catalog(device)) {
            if places.contains(&place) {
                return Err(twice());
            }
            places.push(place);
        }
        let opened = open(device)?;
        let is_same = |other: &String| one_spelling(other) == one_spelling(device);
        if devices[..i].iter().any(is_same) || all.iter().any(|other| other.name() == opened.name()) {
            return Err(twice());
        }
        all.push(opened);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::suite::TESTS;

    use super::*;

    #[test]
    fn a_changed_drive_says_so_in_its_name() {
        let changes = [("gc.policy".to_owned(), "fifo".to_owned()), ("capacity_bytes".to_owned(), "64MiB".to_owned())];
        let drive = SimulatedDrive::changed("raid0(ideal-32die*2)", &changes, 1).unwrap_or_else(|e| panic!("{e}"));
        let name = "raid0(ideal-32die*2) with gc.policy=fifo, capacity_bytes=64MiB";
        assert_eq!((drive.device(), drive.reviewed.facts.name.as_str()), (name, name));
        assert_eq!(drive.reviewed.facts.capacity_bytes, 128 << 20);
    }

    #[test]
    fn no_parameter_of_a_test_is_called_as_a_key_of_a_drive() {
        assert!(is_of_drive("capacity_bytes") && is_of_drive("gc.policy"));
        for param in TESTS.iter().flat_map(|test| test.all_params()) {
            assert!(!is_of_drive(param.key), "{}", param.key);
        }
    }
}
