//! The section `[power]` of a drive file, and the states that a link goes through.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_core::{MILLISECOND, Nanos, SECOND, nanos_from_ms, nanos_from_us};
use ssdlab_device::LinkPolicy;
use ssdlab_keys::SpecError;
use ssdlab_nand::DieSpec;

use crate::frontend::LinkGeneration;

/// Power of a drive by its parts, and the sleep of its link. Absent: nothing is metered, and the link never sleeps (ideal
/// drives). What its dies draw is in the die file. Figures are those of the parts; `converter_percent` makes them those of
/// the drive's own supply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Power"))]
pub struct PowerSpec {
    /// Of what the drive draws at its supply, what its voltage converters pass on to the parts. In DevSleep they rest, and
    /// parts draw at the supply what they draw. Absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0, max = 100.0))]
    pub converter_percent: Option<f64>,
    /// The controller with nothing to do, its link up.
    #[schemars(range(min = 0.0, max = 1e5))]
    pub controller_idle_mw: f64,
    /// On top of that, while any command is under way or the drive works inside: the clocks of channels, ECC and DMA, and
    /// cores that ask again and again whether there is something to do. Absent: they run at all times, and are part of the
    /// idle power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e5))]
    pub controller_awake_mw: Option<f64>,
    /// On top of both, while the processor works on a command, or on what it moves.
    #[schemars(range(min = 0.0, max = 1e5))]
    pub controller_active_mw: f64,
    /// The controller while the drive rests and the link is in Slumber.
    #[schemars(range(min = 0.0, max = 1e5))]
    pub controller_slumber_mw: f64,
    /// The part of it that listens for the end of DevSleep.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-heading" = "controller DevSleep"))]
    pub controller_devsleep_mw: f64,
    /// Its data path (DMA, scrambling), for each byte that crosses the host link or a flash bus.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub controller_pj_per_byte: f64,
    /// Parity of each byte that is programmed, spare bytes and padding included.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "encoding"))]
    pub encode_pj_per_byte: f64,
    /// Correction of each byte that is read from flash, spare bytes included, every time that it is read.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "decoding"))]
    pub decode_pj_per_byte: f64,
    /// Both ends of a flash bus, for each byte that crosses it, spare bytes included.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub flash_bus_pj_per_byte: f64,
    /// DRAM that is refreshed by the controller and can be accessed, for each MiB of `controller.dram_mib`.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "DRAM standby"))]
    pub dram_standby_uw_per_mib: f64,
    /// DRAM that refreshes itself: in Slumber. In DevSleep it is off.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "DRAM self refresh"))]
    pub dram_self_refresh_uw_per_mib: f64,
    /// Accesses: every byte that crosses the host link or a flash bus goes into the DRAM or comes out of it.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "DRAM"))]
    pub dram_pj_per_byte: f64,
    /// The drive's end of the host link while it is up, whether it carries data or not.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-heading" = "PHY active"))]
    pub phy_active_mw: f64,
    /// The same in Partial.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-heading" = "PHY Partial"))]
    pub phy_partial_mw: f64,
    /// The same in Slumber.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-heading" = "PHY Slumber"))]
    pub phy_slumber_mw: f64,
    /// Whether the drive accepts the host's requests for Partial and Slumber.
    #[schemars(extend("x-heading" = "HIPM"))]
    pub hipm: bool,
    /// Whether it can ask for them by itself.
    #[schemars(extend("x-heading" = "DIPM"))]
    pub dipm: bool,
    /// Whether it has the DEVSLP signal.
    #[schemars(extend("x-heading" = "DevSleep"))]
    pub devsleep: bool,
    /// Idle time after which the drive asks for Partial, where the host allows it to.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "DIPM Partial after"))]
    pub dipm_partial_after_ms: f64,
    /// The same for Slumber.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "DIPM Slumber after"))]
    pub dipm_slumber_after_ms: f64,
    /// From the request until the link is in Partial.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "Partial entry"))]
    pub partial_entry_us: f64,
    /// The same for Slumber.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "Slumber entry"))]
    pub slumber_entry_us: f64,
    /// The least time that DEVSLP stays asserted.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-heading" = "DevSleep entry"))]
    pub devsleep_entry_ms: f64,
    /// From the host's wake-up until the link carries a command, out of Partial.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "Partial exit"))]
    pub partial_exit_us: f64,
    /// The same out of Slumber.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-heading" = "Slumber exit"))]
    pub slumber_exit_ms: f64,
    /// The same out of DevSleep.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-heading" = "DevSleep exit"))]
    pub devsleep_exit_ms: f64,
}

impl PowerSpec {
    /// Checks that sleeping deeper never costs more, and that the link sleeps as links of its kind do. Ranges are checked with the
    /// whole drive.
    ///
    /// # Errors
    /// The first state that costs more than a lighter one, or that the link does not have.
    pub fn validate(&self, link: LinkGeneration) -> Result<(), SpecError> {
        for (key, has) in [("hipm", self.hipm), ("dipm", self.dipm), ("devsleep", self.devsleep)] {
            if has && link.is_pcie() {
                return Err(SpecError::new(
                    &format!("power.{key}"),
                    "how a link of PCI Express sleeps (ASPM, autonomous power states) is not simulated",
                    "use false",
                ));
            }
        }
        // Energy would seem to come back.
        for (deeper, less, lighter, more) in [
            ("controller_slumber_mw", self.controller_slumber_mw, "controller_idle_mw", self.controller_idle_mw),
            (
                "controller_devsleep_mw",
                self.controller_devsleep_mw,
                "controller_slumber_mw",
                self.controller_slumber_mw,
            ),
            (
                "dram_self_refresh_uw_per_mib",
                self.dram_self_refresh_uw_per_mib,
                "dram_standby_uw_per_mib",
                self.dram_standby_uw_per_mib,
            ),
            ("phy_partial_mw", self.phy_partial_mw, "phy_active_mw", self.phy_active_mw),
            ("phy_slumber_mw", self.phy_slumber_mw, "phy_partial_mw", self.phy_partial_mw),
        ] {
            if less > more {
                return Err(SpecError::new(
                    &format!("power.{deeper}"),
                    format!("{less} is more than {lighter}, {more}"),
                    format!("use at most {more}"),
                ));
            }
        }
        Ok(())
    }
}

impl PowerSpec {
    /// What a drive draws at its supply while it has nothing to do and its link is up, in microwatts.
    #[must_use]
    pub fn idle_microwatts(&self, dram_mib: u32, die: &DieSpec, dies: u32) -> u64 {
        self.at_supply(self.controller_idle_mw * 1e3)
            + self.at_supply(self.dram_standby_uw_per_mib * f64::from(dram_mib))
            + self.at_supply(self.phy_active_mw * 1e3)
            + self.at_supply(standby_microwatts(die)) * u64::from(dies)
    }

    /// The same while commands wait and nothing else happens.
    #[must_use]
    pub fn waiting_microwatts(&self, dram_mib: u32, die: &DieSpec, dies: u32) -> u64 {
        self.idle_microwatts(dram_mib, die, dies) + self.at_supply(self.controller_awake_mw.unwrap_or(0.0) * 1e3)
    }

    /// What it takes at the supply for a part to get so much, in whole numbers.
    pub(crate) fn at_supply(&self, at_part: f64) -> u64 {
        (at_part / self.converter_percent.map_or(1.0, |percent| percent / 100.0) + 0.5) as u64
    }
}

/// What a die draws that does nothing, in microwatts.
pub(crate) fn standby_microwatts(die: &DieSpec) -> f64 {
    die.power.as_ref().map_or(0.0, |d| d.supply_v * d.standby_current_ua)
}

/// Idle time after which a host asks for Slumber.
const HOST_SLUMBER_AFTER: Nanos = 100 * MILLISECOND;
/// Idle time after which a host asserts DEVSLP.
const HOST_DEVSLEEP_AFTER: Nanos = 6 * SECOND;

impl PowerSpec {
    /// Whether the drive knows everything that the policy asks of it.
    #[must_use]
    pub fn supports(&self, policy: LinkPolicy) -> bool {
        (self.hipm || !policy.host_initiates())
            && (self.dipm || !policy.device_may_initiate())
            && (self.devsleep || policy != LinkPolicy::HipmDipmDevsleep)
    }

    /// The states that the link of a drive goes through while it has nothing to do, lightest first, with the idle time
    /// after which each is asked for.
    pub(crate) fn descent(&self, policy: LinkPolicy) -> Vec<Descent> {
        let earliest = |host: Nanos, own_ms: f64| {
            let host = policy.host_initiates().then_some(host);
            let own = policy.device_may_initiate().then(|| nanos_from_ms(own_ms));
            [host, own].into_iter().flatten().min()
        };
        let partial = earliest(0, self.dipm_partial_after_ms);
        let slumber = earliest(HOST_SLUMBER_AFTER, self.dipm_slumber_after_ms);
        let devsleep = (policy == LinkPolicy::HipmDipmDevsleep).then_some(HOST_DEVSLEEP_AFTER);
        let entry = [
            nanos_from_us(self.partial_entry_us),
            nanos_from_us(self.slumber_entry_us),
            nanos_from_ms(self.devsleep_entry_ms),
        ];
        let exit = [
            nanos_from_us(self.partial_exit_us),
            nanos_from_ms(self.slumber_exit_ms),
            nanos_from_ms(self.devsleep_exit_ms),
        ];
        let mut descent: Vec<Descent> = Vec::new();
        for (state, after) in LinkState::ASLEEP.into_iter().zip([partial, slumber, devsleep]) {
            let Some(after) = after else { continue };
            let begins = after.max(descent.last().map_or(0, |d| d.entered));
            let (entry, exit) = (entry[state as usize], exit[state as usize]);
            descent.push(Descent { state, begins, entered: begins + entry, exit });
        }
        descent
    }
}

/// A state of the link in which it carries nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LinkState {
    Partial,
    Slumber,
    DevSleep,
}

impl LinkState {
    pub(crate) const ASLEEP: [LinkState; 3] = [LinkState::Partial, LinkState::Slumber, LinkState::DevSleep];
}

/// One step down: times since the last command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descent {
    pub state: LinkState,
    pub begins: Nanos,
    pub entered: Nanos,
    /// How long the way back takes.
    pub exit: Nanos,
}
