//! Simulated drives for tests of the bench.

use ssdlab_bench::{Lab, PoweredOn};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, Ssd};

/// A drive and its die.
pub struct Small(pub DriveSpec, pub DieSpec);

impl Lab for Small {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        Ok(PoweredOn::new(Ssd::new("small", &self.0, &self.1, seed).map_err(|e| e.to_string())?))
    }
    fn name(&self) -> &str {
        "small"
    }
}
