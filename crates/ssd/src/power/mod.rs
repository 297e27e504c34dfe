//! What a drive draws: its parts as the section `[power]` of a drive file ([`PowerSpec`]), the energy that they have drawn
//! ([`PowerMeter`]), and the sleep of its link ([`LinkSleep`]).

mod link_sleep;
mod meter;

use serde::{Deserialize, Serialize};
use ssdlab_core::{MILLISECOND, Nanos, SECOND, nanos_from_ms, nanos_from_us};
use ssdlab_device::LinkPolicy;
use ssdlab_nand::SpecError;

pub use link_sleep::{LinkSleep, Slept};
pub use meter::{FlashWork, PowerMeter};

/// Power of a drive by its parts, and the sleep of its link; what its dies draw is in the die file
/// ([`ssdlab_nand::Power`]). Figures are those at the drive's own supply: what the voltage converters lose is part of
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSpec {
    /// The controller with nothing to do, its clocks running.
    pub controller_idle_mw: f64,
    /// What comes on top while the processor works on a command.
    pub controller_active_mw: f64,
    /// The controller while the drive rests and the link is in Slumber.
    pub controller_slumber_mw: f64,
    /// The part of it that listens for the end of DevSleep.
    pub controller_devsleep_mw: f64,
    /// The data path of the controller (DMA, ECC, scrambling), for each byte that crosses the host link or a flash bus.
    pub controller_pj_per_byte: f64,
    /// Both ends of a flash bus, for each byte that crosses it, spare bytes included.
    pub flash_bus_pj_per_byte: f64,
    /// DRAM that is refreshed by the controller and can be accessed, for each MiB of `controller.dram_mib`.
    pub dram_standby_uw_per_mib: f64,
    /// DRAM that refreshes itself: in Slumber. In DevSleep it is off.
    pub dram_self_refresh_uw_per_mib: f64,
    /// Accesses: every byte that crosses the host link or a flash bus goes into the DRAM or comes out of it.
    pub dram_pj_per_byte: f64,
    /// The drive's end of the host link while it can carry data, whether it does or not.
    pub phy_active_mw: f64,
    pub phy_partial_mw: f64,
    pub phy_slumber_mw: f64,
    /// Accepts the host's requests for Partial and Slumber.
    pub hipm: bool,
    /// Can ask for Partial and Slumber by itself.
    pub dipm: bool,
    /// Has the DEVSLP signal.
    pub devsleep: bool,
    /// Idle time after which the drive asks for Partial, and for Slumber, where the host allows it to.
    pub dipm_partial_after_ms: f64,
    pub dipm_slumber_after_ms: f64,
    /// From the request until the link is down.
    pub partial_entry_us: f64,
    pub slumber_entry_us: f64,
    /// DEVSLP has to stay asserted for so long.
    pub devsleep_entry_ms: f64,
    /// From the host's wake-up until the link carries a command.
    pub partial_exit_us: f64,
    pub slumber_exit_ms: f64,
    pub devsleep_exit_ms: f64,
}

impl PowerSpec {
    /// Checks what no single field can.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self) -> Result<(), SpecError> {
        for (key, v, hi, unit) in [
            ("controller_idle_mw", self.controller_idle_mw, 1e5, "milliwatts"),
            ("controller_active_mw", self.controller_active_mw, 1e5, "milliwatts"),
            ("controller_slumber_mw", self.controller_slumber_mw, 1e5, "milliwatts"),
            ("controller_devsleep_mw", self.controller_devsleep_mw, 1e5, "milliwatts"),
            ("controller_pj_per_byte", self.controller_pj_per_byte, 1e6, "picojoules"),
            ("flash_bus_pj_per_byte", self.flash_bus_pj_per_byte, 1e6, "picojoules"),
            ("dram_standby_uw_per_mib", self.dram_standby_uw_per_mib, 1e6, "microwatts"),
            ("dram_self_refresh_uw_per_mib", self.dram_self_refresh_uw_per_mib, 1e6, "microwatts"),
            ("dram_pj_per_byte", self.dram_pj_per_byte, 1e6, "picojoules"),
            ("phy_active_mw", self.phy_active_mw, 1e5, "milliwatts"),
            ("phy_partial_mw", self.phy_partial_mw, 1e5, "milliwatts"),
            ("phy_slumber_mw", self.phy_slumber_mw, 1e5, "milliwatts"),
            ("dipm_partial_after_ms", self.dipm_partial_after_ms, 1e6, "milliseconds"),
            ("dipm_slumber_after_ms", self.dipm_slumber_after_ms, 1e6, "milliseconds"),
            ("partial_entry_us", self.partial_entry_us, 1e6, "microseconds"),
            ("slumber_entry_us", self.slumber_entry_us, 1e6, "microseconds"),
            ("devsleep_entry_ms", self.devsleep_entry_ms, 1e5, "milliseconds"),
            ("partial_exit_us", self.partial_exit_us, 1e6, "microseconds"),
            ("slumber_exit_ms", self.slumber_exit_ms, 1e5, "milliseconds"),
            ("devsleep_exit_ms", self.devsleep_exit_ms, 1e5, "milliseconds"),
        ] {
            if !(0.0..=hi).contains(&v) {
                let key = format!("power.{key}");
                return Err(SpecError::new(&key, format!("{v} is impossible"), format!("use 0 to {hi} {unit}")));
            }
        }
        // Sleeping deeper never costs more, or energy would seem to come back.
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
