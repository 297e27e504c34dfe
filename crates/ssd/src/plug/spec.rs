//! The section `[power_loss]` of a drive file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_ftl::{Frontier, GcSpec, KeepsOlderPages};
use ssdlab_keys::SpecError;
use ssdlab_nand::DieSpec;

/// What a drive does about power cuts, and how it starts again. Absent: nothing is protected, and it starts with the
/// defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Power loss"))]
pub struct PowerLossSpec {
    /// What its capacitors protect.
    #[serde(default)]
    pub protects: Protection,
    /// What firmware does for pages that share their cells with a later program, in place of capacitors or beside them.
    #[serde(default)]
    pub keeps_older_pages: KeepsOlderPages,
    /// Energy that the capacitors give when new; required where they protect anything.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "mJ"))]
    pub energy_mj: Option<f64>,
    /// Share of that energy which is left: capacitors age.
    #[serde(default = "default_energy_left")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub energy_left_percent: f64,
    /// What the controller draws from the capacitors. Each die at work draws what its file says of a program, or 82.5 mW.
    #[serde(default = "default_controller")]
    #[schemars(range(min = 0.0, max = 1e5))]
    pub controller_mw: f64,
    /// FLUSH, and the bit that asks for data on flash (FUA), are answered at once, and nothing is written for them: a lie.
    #[serde(default)]
    pub flush_lies: bool,
    /// From power on until the firmware reads flash.
    #[serde(default = "default_boot")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub boot_ms: f64,
    /// Processor time to put one entry of the journal into the map, when the drive starts.
    #[serde(default = "default_replay")]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "ns"))]
    pub replay_entry_ns: f64,
}

impl Default for PowerLossSpec {
    fn default() -> Self {
        PowerLossSpec {
            protects: Protection::Nothing,
            keeps_older_pages: KeepsOlderPages::No,
            energy_mj: None,
            energy_left_percent: default_energy_left(),
            controller_mw: default_controller(),
            flush_lies: false,
            boot_ms: default_boot(),
            replay_entry_ns: default_replay(),
        }
    }
}

fn default_energy_left() -> f64 {
    100.0
}

/// Estimate: a controller of the time with its DRAM.
fn default_controller() -> f64 {
    1000.0
}

/// Estimate: firmware is read, and DRAM and flash are set up.
fn default_boot() -> f64 {
    300.0
}

/// Estimate: 20 to 50 ns, a miss of the processor's cache or two.
fn default_replay() -> f64 {
    30.0
}

/// What capacitors protect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// There are none.
    #[default]
    Nothing,
    /// Pages that share their cells with a program under way. That program is lost, and so is the write buffer.
    DataAtRest,
    /// Everything that the host was told is written: the buffer is written out. If the energy carries all of it, FLUSH and FUA are
    /// answered once the data are there.
    Everything,
}

impl PowerLossSpec {
    /// Checks what no single value can tell, on such dies. Ranges are checked with the whole drive.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self, die: &DieSpec, die_name: &str, gc: &GcSpec) -> Result<(), SpecError> {
        let wrong =
            |problem: String, instead: &str| Err(SpecError::new("power_loss.keeps_older_pages", problem, instead));
        match self.keeps_older_pages {
            KeepsOlderPages::No => {}
            _ if die.geometry.bits_per_cell == 1 => {
                return wrong(format!("pages of the die `{die_name}` have their cells to themselves"), "leave it out");
            }
            _ if die.modes.slc.is_none() => {
                return wrong(
                    format!("the die `{die_name}` cannot run at one bit per cell, where the copies would lie"),
                    "use a die with [modes.slc]",
                );
            }
            KeepsOlderPages::PaddingAtFlush if gc.frontier == Frontier::Shared => {
                return wrong(
                    "host and collector write into the same superblock, so that what was moved long ago is in cells that the \
                     host programs"
                        .to_owned(),
                    "use \"copies\", or another gc.frontier",
                );
            }
            KeepsOlderPages::Copies | KeepsOlderPages::PaddingAtFlush | KeepsOlderPages::Parity => {}
        }
        if self.protects != Protection::Nothing && self.energy_mj.is_none() {
            return Err(SpecError::new("power_loss.energy_mj", "is missing", "capacitors need an energy, as in 5.0"));
        }
        Ok(())
    }
}
