//! A device as it was, to be saved while it goes on.

use ssdlab_core::Nanos;
use ssdlab_device::{Completion, Device};

/// A copy of a device, which is to be saved. See [`crate::ContentDevice::copy_to_save`].
pub struct CopyToSave {
    /// It has a plug, and power.
    device: Box<dyn Device>,
    under_way: usize,
    now: Nanos,
}

impl CopyToSave {
    pub(crate) fn new(device: Box<dyn Device>, under_way: usize, now: Nanos) -> Self {
        CopyToSave { device, under_way, now }
    }

    /// What it keeps without power. What is under way ends, and then it is shut down in good order: of commands that were not
    /// answered it may hold more than the bytes do.
    #[must_use]
    pub fn save(mut self) -> Vec<u8> {
        let mut done: Vec<Completion> = Vec::new();
        while done.len() < self.under_way {
            let before = done.len();
            self.now = self.device.advance_to_completion(Nanos::MAX / 2, &mut done).max(self.now);
            assert!(done.len() > before, "a command never ends");
        }
        let plug = self.device.plug().expect("a device that is saved has a plug");
        let off = plug.stand_by(self.now);
        plug.cut(off);
        plug.save()
    }
}

/// What a device at rest keeps if it is shut down in good order now, while it goes on. `None` if it has no plug, or cannot be copied.
#[must_use]
pub fn saved_at_rest(device: &dyn Device, now: Nanos) -> Option<Vec<u8>> {
    device.plug_seen()?;
    Some(CopyToSave::new(device.snapshot()?, 0, now).save())
}
