//! Where a test gets its devices from.

use ssdlab_ssd::Device;

/// Makes devices of one model. The suite is generic over it, so that its innermost loops are compiled for the
/// device itself.
pub trait Lab: Sync {
    type Device: Device;

    /// A device as it leaves the factory, powered on at time zero. The same seed gives the same specimen (factory
    /// bad blocks, variation between dies).
    ///
    /// # Errors
    /// Why it cannot be made.
    fn fresh(&self, seed: u64) -> Result<Self::Device, String>;

    /// Its name in reports.
    fn name(&self) -> &str;
}

impl<L: Lab + ?Sized> Lab for &L {
    type Device = L::Device;

    fn fresh(&self, seed: u64) -> Result<Self::Device, String> {
        (**self).fresh(seed)
    }

    fn name(&self) -> &str {
        (**self).name()
    }
}
