//! The energy that a drive has drawn.
//!
//! It is never added up event by event: the parts of a drive are metered as times and bytes (how long dies sensed,
//! programmed and erased; how long the processor worked; how many bytes crossed the link and the buses; how long the
//! link slept), and energy is what these come to at the time of reading, in whole femtojoules. So a reading is exact
//! at any time, whether anything happened just then or not, and a simulation that nobody reads pays three additions
//! for an operation of a die.
//!
//! Liberties: an operation of a die, and the processor's work on a command, count from the moment they are booked
//! (milliseconds ahead at most); bytes on the host link, when their command ends.

use ssdlab_core::Nanos;
use ssdlab_device::{EnergyCounters, HostCounters};
use ssdlab_ftl::Translation;
use ssdlab_nand::DieSpec;

use super::Slept;
use crate::SimulatedSsd;
use crate::spec::DriveSpec;

/// What the dies have been asked to do so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashWork {
    /// Array time of all dies together.
    pub sensing: Nanos,
    pub programming: Nanos,
    /// The same in blocks with fewer bits per cell than the die's own.
    pub programming_reduced: Nanos,
    pub erasing: Nanos,
    /// Units of 4 KiB that crossed a flash bus.
    pub units: u64,
}

/// Power of every part in microwatts, and energy per byte in femtojoules. A microwatt for a nanosecond is a
/// femtojoule.
#[derive(Clone, Debug)]
pub struct PowerMeter {
    /// All that is drawn while the link is up and nothing is done.
    idle: u64,
    /// What is not drawn of it in Partial, Slumber and DevSleep: by the link alone, and by the rest of the drive.
    link_saves: [u64; 3],
    drive_saves: [u64; 3],
    processor: u64,
    sensing: u64,
    programming: u64,
    programming_reduced: u64,
    erasing: u64,
    link_byte: u64,
    bus_byte: u64,
    /// Bytes of a page with its spare ones, and units in it.
    page_bytes: u64,
    units_per_page: u64,
}

impl PowerMeter {
    /// `None` for a drive without power figures.
    #[must_use]
    pub fn new(drive: &DriveSpec, die: &DieSpec) -> Option<Self> {
        let p = drive.power.as_ref()?;
        let whole = |v: f64| (v + 0.5) as u64;
        let mw = |v: f64| whole(v * 1e3);
        let dram = |uw_per_mib: f64| whole(uw_per_mib * f64::from(drive.controller.dram_mib));
        let array = |f: fn(&ssdlab_nand::Power) -> f64| die.power.as_ref().map_or(0, |d| whole(d.supply_v * f(d)));
        let (controller, memory) = (mw(p.controller_idle_mw), dram(p.dram_standby_uw_per_mib));
        let phy = mw(p.phy_active_mw);
        let slumber = controller - mw(p.controller_slumber_mw) + memory - dram(p.dram_self_refresh_uw_per_mib);
        let devsleep = controller - mw(p.controller_devsleep_mw) + memory;
        let page = &die.geometry;
        Some(PowerMeter {
            idle: p.idle_microwatts(drive.controller.dram_mib, die, drive.flash.dies),
            link_saves: [phy - mw(p.phy_partial_mw), phy - mw(p.phy_slumber_mw), phy],
            drive_saves: [0, slumber, devsleep],
            processor: mw(p.controller_active_mw),
            // Volts times milliamperes are milliwatts.
            sensing: array(|d| d.read_current_ma * 1e3),
            programming: array(|d| d.program_ma(true) * 1e3),
            programming_reduced: array(|d| d.program_ma(false) * 1e3),
            erasing: array(|d| d.erase_current_ma * 1e3),
            link_byte: whole((p.controller_pj_per_byte + p.dram_pj_per_byte) * 1e3),
            bus_byte: whole((p.controller_pj_per_byte + p.dram_pj_per_byte + p.flash_bus_pj_per_byte) * 1e3),
            page_bytes: u64::from(page.page_bytes + page.spare_bytes),
            units_per_page: drive.units_per_page(die).into(),
        })
    }

    /// What the drive draws while it has nothing to do and its link is up.
    #[must_use]
    pub fn idle_watts(&self) -> f64 {
        self.idle as f64 / 1e6
    }

    /// Energy drawn from power on until `now`, in nanojoules, rounded down. `processor` is how long it worked.
    #[must_use]
    pub fn nanojoules(
        &self,
        now: Nanos,
        work: &FlashWork,
        processor: Nanos,
        slept: &Slept,
        host: &HostCounters,
    ) -> u64 {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let host_bytes = host.read_bytes + host.write_bytes;
        let bus_bytes = (product(work.units, self.page_bytes) / u128::from(self.units_per_page)) as u64;
        let drawn = product(self.idle, now)
            + product(self.processor, processor)
            + product(self.sensing, work.sensing)
            + product(self.programming, work.programming)
            + product(self.programming_reduced, work.programming_reduced)
            + product(self.erasing, work.erasing)
            + product(self.link_byte, host_bytes)
            + product(self.bus_byte, bus_bytes);
        let saved: u128 = (0..3)
            .map(|k| product(self.link_saves[k], slept.link[k]) + product(self.drive_saves[k], slept.drive[k]))
            .sum();
        ((drawn - saved) / 1_000_000) as u64
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Energy drawn since power on, if the drive meters it.
    pub(crate) fn energy(&self) -> Option<EnergyCounters> {
        let (_, meter) = self.power.as_deref()?;
        // The host may have been answered since the drive last did something.
        let now = self.now.max(self.frontend.in_flight.changed());
        let slept = self.frontend.link_sleep.slept(now);
        let (work, processor) = (self.backend.work(), self.firmware.processor.busy());
        let now = now.saturating_sub(self.plug.off_time());
        Some(EnergyCounters { nanojoules: meter.nanojoules(now, work, processor, &slept, &self.host) })
    }
}
