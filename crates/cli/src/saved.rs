//! Drives that were saved: to begin with one, and to keep one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ssdlab_catalog::DeviceRecipe;
use ssdlab_contents::{
    Header, Image, ImageError, StateFileError, check_state_file, read_state_file, resume, write_state_file,
};
use ssdlab_core::{Fnv1a, Nanos};
use ssdlab_device::{Device, EccScheme, Flash, LoadError};

use crate::apart::try_to_write;
use crate::failure::Failure;
use crate::output::complain;

/// What a device kept without power.
#[derive(Clone)]
pub struct SavedDrive {
    bytes: Arc<[u8]>,
    /// For which it has lain without power since.
    stored_seconds: u64,
    /// The device by which it was seen that it fits: the first one that is asked for.
    loaded: Arc<Mutex<Option<Loaded>>>,
}

struct Loaded {
    seed: u64,
    device: Box<dyn Device>,
    /// From then on it is ready.
    ready: Nanos,
}

impl std::fmt::Debug for SavedDrive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SavedDrive({} bytes)", self.bytes.len())
    }
}

/// How whoever begins with a saved drive says with which: for messages.
#[derive(Clone, Copy)]
pub struct Words {
    /// What gives a seed, up to the number.
    pub seed_is: &'static str,
    /// What a seed is called.
    pub seed: &'static str,
    /// What takes the file, and what has written it.
    pub takes: &'static str,
}

impl Words {
    pub const OF_COMMAND: Self =
        Words { seed_is: "--seed ", seed: "--seed", takes: "--from takes what --save has written" };
}

impl SavedDrive {
    /// Reads a saved drive, or the one in an image of `attach`, and sees whether it is of this device and specimen.
    ///
    /// # Errors
    /// If the file is neither or damaged, or the drive another one.
    pub fn open(path: &Path, recipe: &DeviceRecipe, seed: u64, words: Words) -> Result<Self, Failure> {
        let mut device = recipe.build(seed)?;
        let at = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        if device.plug().is_none() {
            let error =
                Failure::bad_input(format!("{} cannot begin as one that was saved: it has no plug", recipe.name));
            return Err(error.help("begin with a new one"));
        }
        let bytes = match read_state_file(path, device.info().capacity_bytes) {
            Ok(bytes) => bytes,
            Err(StateFileError::NoState) => {
                let bytes = in_image(path, &mut *device, words)?;
                device = recipe.build(seed)?;
                bytes
            }
            Err(e @ StateFileError::Capacity { .. }) => return Err(Failure::bad_input(at(&e)).help(THE_SAME)),
            Err(e) => return Err(Failure::bad_input(at(&e))),
        };
        let ready = load(&mut *device, &bytes).map_err(|e| {
            let help = match e {
                LoadError::Seed { found, .. } => format!("use {}{found}", words.seed_is),
                _ => THE_SAME.to_owned(),
            };
            Failure::bad_input(at(&format_args!("it does not fit {}: {e}", recipe.name))).help(help)
        })?;
        let loaded = Arc::new(Mutex::new(Some(Loaded { seed, device, ready })));
        Ok(SavedDrive { bytes: bytes.into(), stored_seconds: 0, loaded })
    }

    /// The device that was saved, with its power on, and the time from which it is ready. Of the device with which it was
    /// opened.
    ///
    /// # Errors
    /// If it cannot be built, or is another one.
    pub fn power_on(&self, recipe: &DeviceRecipe, seed: u64) -> Result<(Box<dyn Device>, Nanos), String> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).take_if(|loaded| loaded.seed == seed);
        let (mut device, ready) = match loaded {
            Some(Loaded { device, ready, .. }) => (device, ready),
            None => {
                let mut device = recipe.build(seed).map_err(|e| e.to_string())?;
                let ready = load(&mut *device, &self.bytes)
                    .map_err(|e| format!("the saved drive does not fit {}: {e}", recipe.name))?;
                (device, ready)
            }
        };
        self.pass_storage(&mut *device);
        Ok((device, ready))
    }

    /// A device fresh from the factory becomes the one that was saved, with its power on. Returns the time from which it is ready.
    ///
    /// # Errors
    /// If it is another one.
    ///
    /// # Panics
    /// If the device has no plug, or has worked before.
    pub fn put_into(&self, device: &mut dyn Device) -> Result<Nanos, LoadError> {
        let ready = load(device, &self.bytes)?;
        self.pass_storage(device);
        Ok(ready)
    }

    /// It has lain without power.
    fn pass_storage(&self, device: &mut dyn Device) {
        if let Some(flash) = device.flash().filter(|_| self.stored_seconds > 0) {
            flash.begin_retention(self.stored_seconds);
        }
    }

    /// Days that it has lain without power.
    pub fn stored_days(&self) -> u32 {
        u32::try_from(self.stored_seconds / SECONDS_A_DAY).unwrap_or(u32::MAX)
    }

    /// What tells it from others.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv1a::default();
        hash.add(&self.bytes);
        hash.add(&self.stored_seconds.to_le_bytes());
        hash.value()
    }
}

/// A device fresh from the factory becomes the one that was saved. Returns the time from which it is ready.
fn load(device: &mut dyn Device, saved: &[u8]) -> Result<Nanos, LoadError> {
    let plug = device.plug().expect("a device that was saved has a plug");
    plug.load(saved)?;
    Ok(plug.restore(0))
}

const SECONDS_A_DAY: u64 = 86_400;

/// What to name instead.
const THE_SAME: &str = "name the drive that was saved, with the same changes";

/// What a device that is to be fresh keeps without power, once it is the one that an image holds.
fn in_image(path: &Path, device: &mut dyn Device, words: Words) -> Result<Vec<u8>, Failure> {
    let wrong = |e: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {e}", path.display()));
    let wanted = device.info().capacity_bytes;
    let check_capacity = |header: &Header| match header.capacity_bytes {
        found if found != wanted => Err(wrong(&format_args!("an image of {found} bytes, not {wanted}"))
            .help(format!("name the drive for which it was made: {}", header.device))),
        _ => Ok(()),
    };
    // Before all that it holds is read; what is wrong with it is told then.
    Image::header(path).ok().as_ref().map_or(Ok(()), check_capacity)?;
    let mut contents = Image::inspect(path).map_err(|e| match e {
        ImageError::NoImage => {
            let takes = format!("{}, or the image of a drive that was attached", words.takes);
            wrong(&"neither a saved drive nor an image").help(takes)
        }
        e => wrong(&e),
    })?;
    check_capacity(&contents.header)?;
    let Some(state) = &contents.state else {
        return Err(
            wrong(&"it holds bytes, and no drive yet").help("attach it once: the drive is saved when that ends")
        );
    };
    let clean = contents.header.clean;
    let resumed = resume(device, &mut contents.store, state, clean, &|| true).map_err(|e| match e {
        e if e.is_of_another_drive() => {
            let device = &contents.header.device;
            wrong(&format_args!("the image holds another drive: {e}"))
                .help(format!("name the drive for which it was made, with its {}: {device}", words.seed))
        }
        e => wrong(&e).help("begin with a new drive, or with one that was saved in another file"),
    })?;
    if !clean {
        complain("notice: the process that had the image ended without closing it. That counts as a power cut");
    }
    let plug = device.plug().expect("it was seen");
    let off = plug.stand_by(resumed.ready);
    plug.cut(off);
    Ok(plug.save())
}

impl SavedDrive {
    /// As [`SavedDrive::open`], of a drive that has lain without power for so many days since.
    ///
    /// # Errors
    /// As there; if the device has no model of what becomes of old data.
    pub fn stored(path: &Path, days: u32, recipe: &DeviceRecipe, seed: u64, words: Words) -> Result<Self, Failure> {
        let saved = SavedDrive::open(path, recipe, seed, words)?;
        let stored_seconds = u64::from(days) * SECONDS_A_DAY;
        if stored_seconds > 0 && !recipe.build(seed)?.flash().is_some_and(|flash| ages(flash)) {
            let error = Failure::bad_input(format!("{} has no model of what becomes of old data", recipe.name));
            return Err(error.help("leave out how long it was stored, or give its drive file [ecc]"));
        }
        Ok(SavedDrive { stored_seconds, ..saved })
    }
}

/// Whether it makes a difference to a device how old its data are.
fn ages(flash: &dyn Flash) -> bool {
    flash.expected_errors(EccScheme::Installed, 1.0, 0.0).is_some()
}

/// Where a drive is kept in the end.
pub struct Keep {
    path: Option<PathBuf>,
}

impl Keep {
    /// Sees before anything runs whether a drive could be written there. Another one that was saved is replaced.
    ///
    /// # Errors
    /// If there is something else, or no folder.
    pub fn at(save: Option<&Path>) -> Result<Self, Failure> {
        if let Some(path) = save {
            let refused = |e: &dyn std::fmt::Display| {
                Failure::bad_input(format!("cannot save a drive in {}: {e}", path.display()))
                    .help("choose another name or folder")
            };
            check_state_file(path).map_err(|e| refused(&e))?;
            try_to_write(path).map_err(|e| refused(&e))?;
        }
        Ok(Keep { path: save.map(Path::to_owned) })
    }

    /// Whether one is.
    pub fn is_asked_for(&self) -> bool {
        self.path.is_some()
    }

    /// Keeps the drive of a run that has ended; of one that was stopped only where none is kept yet: half aged, it is not what was to
    /// take the place of another. Says what became of a stopped run's.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, capacity_bytes: u64, kept: Option<&[u8]>, stopped: bool) -> Result<Option<String>, Failure> {
        let (Some(path), Some(kept)) = (&self.path, kept) else { return Ok(None) };
        if stopped && check_state_file(path).is_ok_and(|is_there| is_there) {
            return Ok(Some(format!("{} is as it was: the run was stopped", path.display())));
        }
        write_state_file(path, capacity_bytes, kept)
            .map_err(|e| Failure::run(format!("the drive could not be saved in {}: {e}", path.display())))?;
        Ok(stopped.then(|| format!("{} has the drive as it was when the run was stopped", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::Lab;
    use ssdlab_catalog::device;

    use super::*;
    use crate::lab::SimulatedDrive;

    #[test]
    fn the_drive_that_was_seen_to_fit_is_the_first_to_be_used_and_all_are_alike() {
        let folder = std::env::temp_dir().join(format!("ssdlab-loaded-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("drive.state");
        let recipe = device("ideal-32die").unwrap_or_else(|e| panic!("{e}"));
        let kept = |mut device: Box<dyn Device>, ready| {
            let plug = device.plug().unwrap();
            let off = plug.stand_by(ready);
            plug.cut(off);
            plug.save()
        };
        let mut new = recipe.build(1).unwrap();
        let capacity_bytes = new.info().capacity_bytes;
        new.submit(0, ssdlab_device::Request::write(1, 0, 1 << 20)).unwrap();
        let now = new.advance_to_completion(Nanos::MAX / 2, &mut Vec::new());
        write_state_file(&path, capacity_bytes, &kept(new, now)).unwrap();
        let saved = SavedDrive::open(&path, &recipe, 1, Words::OF_COMMAND).unwrap_or_else(|e| panic!("{e}"));
        let drive = SimulatedDrive::of(recipe, 1).unwrap_or_else(|e| panic!("{e}")).starting(Some(saved.clone()));
        let is_loaded = || saved.loaded.lock().unwrap().is_some();
        // What is only asked about the model needs none.
        assert!(drive.queue_depth(1).is_ok() && drive.has_disk(1) == Ok(false) && is_loaded());
        assert!(drive.fresh(2).is_err() && is_loaded(), "another specimen");
        let devices = [(); 2].map(|()| drive.fresh(1).unwrap_or_else(|e| panic!("{e}")));
        assert!(!is_loaded());
        let [first, second] = devices.map(|powered| (powered.ready, kept(powered.device, powered.ready)));
        assert!(first == second);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_run_that_was_stopped_leaves_the_drive_that_was_saved_before() {
        let folder = std::env::temp_dir().join(format!("ssdlab-stopped-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("drive.state");
        let keep = Keep::at(Some(&path)).unwrap_or_else(|e| panic!("{e}"));
        let write = |kept: &[u8], stopped| keep.write(4096, Some(kept), stopped).unwrap_or_else(|e| panic!("{e}"));
        let is_there = || read_state_file(&path, 4096).unwrap_or_else(|e| panic!("{e}"));
        assert!(write(b"half aged", true).unwrap().ends_with("has the drive as it was when the run was stopped"));
        assert_eq!(is_there(), b"half aged");
        assert_eq!(write(b"aged", false), None);
        assert!(write(b"half aged", true).unwrap().ends_with("is as it was: the run was stopped"));
        assert_eq!(is_there(), b"aged");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
