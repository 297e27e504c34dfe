//! Where a test gets its devices from.

use ssdlab_device::Device;

/// Makes devices of one model.
pub trait Lab: Sync {
    /// A device as it leaves the factory, powered on at time zero. The same seed gives the same specimen (factory
    /// bad blocks, variation between dies).
    ///
    /// # Errors
    /// Why it cannot be made.
    fn fresh(&self, seed: u64) -> Result<Box<dyn Device>, String>;

    /// Its name in reports.
    fn name(&self) -> &str;

    /// Another model, fresh likewise, that a test measures beside this one to give an index: `model` as the catalog calls
    /// it. `None` where there is no such device.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn reference(&self, _model: &str, _seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        Ok(None)
    }
}

impl<L: Lab + ?Sized> Lab for &L {
    fn fresh(&self, seed: u64) -> Result<Box<dyn Device>, String> {
        (**self).fresh(seed)
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        (**self).reference(model, seed)
    }
}
