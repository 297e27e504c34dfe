//! Drives that were saved: to begin with one, and to keep one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ssdlab_catalog::DeviceRecipe;
use ssdlab_contents::{Image, ImageError, StateFileError, check_state_file, read_state_file, resume, write_state_file};
use ssdlab_core::{Fnv1a, Nanos};
use ssdlab_device::{Device, EccScheme, Flash, LoadError};

use crate::failure::Failure;
use crate::output::complain;

/// What a device kept without power.
#[derive(Clone)]
pub struct SavedDrive {
    bytes: Arc<[u8]>,
    /// For which it has lain without power since.
    stored_seconds: u64,
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
        let saved = match read_state_file(path, device.info().capacity_bytes) {
            Ok(bytes) => SavedDrive { bytes: bytes.into(), stored_seconds: 0 },
            Err(StateFileError::NoState) => {
                let bytes = in_image(path, &mut *device, words)?.into();
                SavedDrive { bytes, stored_seconds: 0 }
            }
            Err(e @ StateFileError::Capacity { .. }) => return Err(Failure::bad_input(at(&e)).help(THE_SAME)),
            Err(e) => return Err(Failure::bad_input(at(&e))),
        };
        saved.put_into(&mut *recipe.build(seed)?).map_err(|e| {
            let help = match e {
                LoadError::Seed { found, .. } => format!("use {}{found}", words.seed_is),
                _ => THE_SAME.to_owned(),
            };
            Failure::bad_input(at(&format_args!("it does not fit {}: {e}", recipe.name))).help(help)
        })?;
        Ok(saved)
    }

    /// A device fresh from the factory becomes the one that was saved. Returns the time from which it is ready.
    ///
    /// # Errors
    /// If it is another one.
    ///
    /// # Panics
    /// If the device has no plug, or has worked before.
    pub fn put_into(&self, device: &mut dyn Device) -> Result<Nanos, LoadError> {
        let plug = device.plug().expect("a device that was saved has a plug");
        plug.load(&self.bytes)?;
        let ready = plug.restore(0);
        if let Some(flash) = device.flash().filter(|_| self.stored_seconds > 0) {
            flash.begin_retention(self.stored_seconds);
        }
        Ok(ready)
    }

    /// What tells it from others.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv1a::default();
        hash.add(&self.bytes);
        hash.add(&self.stored_seconds.to_le_bytes());
        hash.value()
    }
}

/// What to name instead.
const THE_SAME: &str = "name the drive that was saved, with the same changes";

/// What a device that is to be fresh keeps without power, once it is the one that an image holds.
fn in_image(path: &Path, device: &mut dyn Device, words: Words) -> Result<Vec<u8>, Failure> {
    let wrong = |e: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {e}", path.display()));
    let mut contents = Image::inspect(path).map_err(|e| match e {
        ImageError::NoImage => {
            let takes = format!("{}, or the image of a drive that was attached", words.takes);
            wrong(&"neither a saved drive nor an image").help(takes)
        }
        e => wrong(&e),
    })?;
    let (found, wanted) = (contents.header.capacity_bytes, device.info().capacity_bytes);
    if found != wanted {
        let error = wrong(&format_args!("an image of {found} bytes, not {wanted}"));
        return Err(error.help(format!("name the drive for which it was made: {}", contents.header.device)));
    }
    let Some(state) = &contents.state else {
        return Err(
            wrong(&"it holds bytes, and no drive yet").help("attach it once: the drive is saved when that ends")
        );
    };
    let clean = contents.header.clean;
    let resumed = resume(device, &mut contents.store, state, clean).map_err(|e| {
        let device = &contents.header.device;
        wrong(&format_args!("the image holds another drive: {e}"))
            .help(format!("name the drive for which it was made, with its {}: {device}", words.seed))
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
        let stored_seconds = u64::from(days) * 86_400;
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
            check_state_file(path).map_err(|e| {
                Failure::bad_input(format!("cannot save a drive in {}: {e}", path.display()))
                    .help("choose another name or folder")
            })?;
        }
        Ok(Keep { path: save.map(Path::to_owned) })
    }

    /// Whether one is.
    pub fn is_asked_for(&self) -> bool {
        self.path.is_some()
    }

    /// Keeps it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, capacity_bytes: u64, kept: Option<&[u8]>) -> Result<(), Failure> {
        let (Some(path), Some(kept)) = (&self.path, kept) else { return Ok(()) };
        write_state_file(path, capacity_bytes, kept)
            .map_err(|e| Failure::run(format!("the drive could not be saved in {}: {e}", path.display())))
    }
}
