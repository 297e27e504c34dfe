//! Where a test gets its devices from.

use std::ops::Deref;

use ssdlab_core::Nanos;
use ssdlab_device::Device;

/// The state in which a [`Lab`] hands out its devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begins {
    /// As they leave the factory.
    #[default]
    New,
    /// As one of them was saved.
    Saved,
    /// Real ones, of which everything was trimmed.
    Trimmed,
    /// Real ones, as they were left.
    AsFound,
}

impl Begins {
    /// Whether it is a real drive, which takes the time that it takes.
    #[must_use]
    pub const fn is_real(self) -> bool {
        matches!(self, Begins::Trimmed | Begins::AsFound)
    }

    /// Whether data may lie on it, though nothing was written before the test.
    #[must_use]
    pub const fn may_hold_data(self) -> bool {
        matches!(self, Begins::Saved | Begins::AsFound)
    }

    /// Such a drive, for a sentence.
    #[must_use]
    pub const fn a_drive(self) -> &'static str {
        match self {
            Begins::New => "a fresh drive",
            Begins::Saved => "a drive as it was saved",
            Begins::Trimmed => "a drive that was trimmed whole",
            Begins::AsFound => "a drive as it was found",
        }
    }

    /// How it was, for the beginning of a sentence.
    #[must_use]
    pub const fn it_was(self) -> &'static str {
        match self {
            Begins::New => "The drive was new",
            Begins::Saved => "The drive was as it had been saved",
            Begins::Trimmed => "All of the drive was trimmed",
            Begins::AsFound => "The drive was as it was found",
        }
    }

    /// The same where nothing was written before the test, as a sentence.
    #[must_use]
    pub const fn unwritten(self) -> &'static str {
        match self {
            Begins::New => "The drive was new, and nothing had been written to it.",
            Begins::Saved => "The drive was as it had been saved.",
            Begins::Trimmed => "All of the drive was trimmed, and nothing was written to it then.",
            Begins::AsFound => "The drive was as it was found.",
        }
    }

    /// What is to be said of a test on a drive that does not come from the factory.
    #[must_use]
    pub const fn note(self) -> Option<&'static str> {
        match self {
            Begins::New => None,
            Begins::Saved => Some("On a drive as it was saved: that is what is called fresh, new or empty here."),
            Begins::Trimmed => Some(
                "On a real drive, of which everything was trimmed before: that is what is called fresh, new or empty here.",
            ),
            Begins::AsFound => {
                Some("On a real drive as it was found: that is what is called fresh, new or empty here.")
            }
        }
    }
}

/// A device with its power on, and the time from which it is ready.
pub struct PoweredOn {
    pub device: Box<dyn Device>,
    /// On its own clock. A command that is sent before waits until then.
    pub ready: Nanos,
}

impl PoweredOn {
    /// A device that is ready at time zero.
    #[must_use]
    pub fn new(device: impl Device + 'static) -> Self {
        PoweredOn { device: Box::new(device), ready: 0 }
    }
}

/// Ready at time zero.
impl From<Box<dyn Device>> for PoweredOn {
    fn from(device: Box<dyn Device>) -> Self {
        PoweredOn { device, ready: 0 }
    }
}

/// What is to be said of all that is measured on a drive that has lain without power.
#[must_use]
pub fn stored_note(days: u32) -> Option<String> {
    let days = match days {
        0 => return None,
        1 => "a day".to_owned(),
        days => format!("{days} days"),
    };
    Some(format!("Before, the drive had lain without power for {days} at 30 °C: what it read, and moved, was so old."))
}

/// Makes devices of one model.
pub trait Lab: Sync {
    /// A device in the state that [`Lab::begins`] says, powered on at time zero. The same seed gives the same specimen
    /// (factory bad blocks, variation between dies).
    ///
    /// # Errors
    /// Why it cannot be made.
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String>;

    /// Its name in reports.
    fn name(&self) -> &str;

    /// In which state [`Lab::fresh`] hands out a device.
    fn begins(&self) -> Begins {
        Begins::New
    }

    /// Days that it has lain without power since it was saved.
    fn stored_days(&self) -> u32 {
        0
    }

    /// Whether it is a disk, or has disks in it. A quick run of a simulated one takes all of its times.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn has_disk(&self, seed: u64) -> Result<bool, String> {
        Ok(self.fresh(seed)?.device.counters().disk.is_some())
    }

    /// Commands that it takes at once, as [`ssdlab_device::DeviceInfo`] has it.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn queue_depth(&self, seed: u64) -> Result<u32, String> {
        Ok(self.fresh(seed)?.device.info().queue_depth)
    }

    /// The same device in small: capacity, blocks, caches and what else has a size divided by `by`, everything else as it
    /// is, so that as many drive writes leave it in the same state in a `by`-th of the time. `None` of a device whose
    /// proportions cannot be kept.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn small(&self, _by: u32, _seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        Ok(None)
    }

    /// Another model, fresh likewise, that a test measures beside this one to give an index: `model` as the catalog calls
    /// it. `None` where there is no such device.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn reference(&self, _model: &str, _seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        Ok(None)
    }
}

/// Whatever points to one is one: a reference, a box, a type that holds one of several.
impl<P: Deref<Target: Lab> + Sync> Lab for P {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        (**self).fresh(seed)
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn begins(&self) -> Begins {
        (**self).begins()
    }

    fn stored_days(&self) -> u32 {
        (**self).stored_days()
    }

    fn has_disk(&self, seed: u64) -> Result<bool, String> {
        (**self).has_disk(seed)
    }

    fn queue_depth(&self, seed: u64) -> Result<u32, String> {
        (**self).queue_depth(seed)
    }

    fn small(&self, by: u32, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        (**self).small(by, seed)
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        (**self).reference(model, seed)
    }
}
