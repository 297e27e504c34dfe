//! Drives with changed keys, for the bench.

use std::sync::OnceLock;

use ssdlab_bench::suite::QUICK_DIVISOR;
use ssdlab_bench::{Lab, PoweredOn};
use ssdlab_catalog::DeviceRecipe;
use ssdlab_device::Device;

/// A device that tests are run on.
pub(crate) struct Changed {
    recipe: DeviceRecipe,
    small: OnceLock<Option<DeviceRecipe>>,
}

impl Changed {
    pub(crate) fn new(recipe: DeviceRecipe) -> Self {
        Changed { recipe, small: OnceLock::new() }
    }

    /// What it is made of in small; `None` if there is no such drive.
    pub(crate) fn identity_in_small(&self) -> Option<serde_json::Value> {
        self.in_small(QUICK_DIVISOR as u32).map(DeviceRecipe::named_identity)
    }

    fn in_small(&self, by: u32) -> Option<&DeviceRecipe> {
        self.small.get_or_init(|| self.recipe.small(by)).as_ref()
    }

    /// What it is made of, and what chance gives it.
    pub(crate) fn identity(&self) -> serde_json::Value {
        self.recipe.named_identity()
    }
}

impl Lab for Changed {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        self.recipe.build(seed).map(PoweredOn::from).map_err(|e| e.to_string())
    }

    fn name(&self) -> &str {
        &self.recipe.name
    }

    fn small(&self, by: u32, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        self.in_small(by).map(|recipe| recipe.build(seed).map_err(|e| e.to_string())).transpose()
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        ssdlab_catalog::reference(model, seed)
    }
}
