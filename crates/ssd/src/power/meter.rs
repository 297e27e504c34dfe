//! The energy that a drive has drawn.
//!
//! It is never added up event by event: the parts of a drive are metered as times and bytes (how long dies sensed,
//! programmed and erased; how long the processor worked; how many bytes crossed the link and the buses; how long the
//! link slept), and energy is what these come to at the time of reading, in whole femtojoules. So a reading is exact
//! at any time, whether anything happened just then or not, and a simulation that nobody reads pays three additions
//! for an operation of a die.
//!
//! Dies draw while their arrays work: of an operation that has been booked, what still lies ahead does not count yet
//! ([`Ahead`]). Liberties: once an operation is suspended, all of it counts; rereads of a page that did not decode, the bytes
//! on a flash bus, and the processor's work on a command count from the moment they are booked; bytes on the host link, when
//! their command ends. Of a drive that is starting or erases everything, the time up to the end of that counts from the beginning,
//! and is taken back if the power goes before.

use ssdlab_core::Nanos;
use ssdlab_device::{EnergyCounters, HostCounters};
use ssdlab_ftl::Translation;
use ssdlab_nand::DieSpec;

use super::spec::standby_microwatts;
use super::{Rest, Slept};
use crate::SimulatedSsd;
use crate::spec::DriveSpec;

/// What the array of a die is at; a number, since every operation of a die is metered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayWork(u8);

impl ArrayWork {
    /// Four kinds, each on one to four planes ([`ssdlab_nand::Geometry::planes`]). A power of two, so that a number can be
    /// masked instead of checked.
    const COUNT: usize = 16;

    #[inline]
    #[must_use]
    pub const fn programming(planes: u32) -> ArrayWork {
        ArrayWork::on_planes(0, planes)
    }

    /// The same in a block with fewer bits per cell than the die's own.
    #[inline]
    #[must_use]
    pub const fn programming_reduced(planes: u32) -> ArrayWork {
        ArrayWork::on_planes(1, planes)
    }

    #[inline]
    #[must_use]
    pub const fn erasing(planes: u32) -> ArrayWork {
        ArrayWork::on_planes(2, planes)
    }

    #[inline]
    #[must_use]
    pub const fn sensing(planes: u32) -> ArrayWork {
        ArrayWork::on_planes(3, planes)
    }

    #[inline]
    const fn on_planes(kind: u8, planes: u32) -> ArrayWork {
        debug_assert!(planes >= 1 && planes <= 4);
        ArrayWork(4 * kind + planes as u8 - 1)
    }

    #[inline]
    fn index(self) -> usize {
        usize::from(self.0) & (Self::COUNT - 1)
    }
}

/// What the dies have been asked to do so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashWork {
    /// Array time of all dies together, by [`ArrayWork`].
    array: [Nanos; ArrayWork::COUNT],
    /// Eighths of units that came over a flash bus, and were corrected.
    pub read_eighths: u64,
    /// Units that went over a flash bus to be programmed, once for each pass.
    pub sent_units: u64,
    /// Units whose parity was made.
    pub encoded_units: u64,
}

impl FlashWork {
    #[inline]
    pub fn add(&mut self, work: ArrayWork, time: Nanos) {
        self.array[work.index()] += time;
    }

    #[must_use]
    pub fn plus(self, other: &FlashWork) -> Self {
        self.combined(other, |a, b| a + b)
    }

    /// # Panics
    /// In a build that checks, if there is more of anything in the other.
    #[must_use]
    pub fn minus(self, other: &FlashWork) -> Self {
        self.combined(other, |a, b| a - b)
    }

    fn combined(self, other: &FlashWork, both: impl Fn(u64, u64) -> u64) -> Self {
        FlashWork {
            array: std::array::from_fn(|k| both(self.array[k], other.array[k])),
            read_eighths: both(self.read_eighths, other.read_eighths),
            sent_units: both(self.sent_units, other.sent_units),
            encoded_units: both(self.encoded_units, other.encoded_units),
        }
    }

    /// Without what lies ahead.
    #[must_use]
    pub fn without(mut self, ahead: impl Iterator<Item = Ahead>) -> Self {
        for Ahead { work, time } in ahead {
            self.array[work.index()] -= time;
        }
        self
    }

    /// Array time of one kind of work.
    #[cfg(test)]
    #[must_use]
    pub fn of(&self, work: ArrayWork) -> Nanos {
        self.array[work.index()]
    }
}

/// What the array of a die has been given and has not done yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    pub work: ArrayWork,
    pub time: Nanos,
}

/// Power of every part in microwatts, and energy per byte in femtojoules, as the drive's supply sees them. A microwatt for a
/// nanosecond is a femtojoule.
#[derive(Clone, Debug)]
pub struct PowerMeter {
    /// All that is drawn while the link is up and nothing is done.
    idle: u64,
    /// What is not drawn of it in Partial, Slumber and DevSleep: by the link alone, and by the rest of the drive.
    link_saves: [u64; 3],
    drive_saves: [u64; 3],
    /// What the controller draws on top while it is not at rest.
    awake: u64,
    processor: u64,
    array: [u64; ArrayWork::COUNT],
    link_byte: u64,
    bus_byte: u64,
    encoded_byte: u64,
    decoded_byte: u64,
    /// Bytes of a page with its spare ones, and units in it.
    page_bytes: u64,
    units_per_page: u64,
}

impl PowerMeter {
    /// Of a drive and its dies as the files have them. `None` for a drive without power figures.
    #[must_use]
    pub fn new(drive: &DriveSpec, die: &DieSpec) -> Option<Self> {
        let p = drive.power.as_ref()?;
        let mw = |v: f64| p.at_supply(v * 1e3);
        let pj = |v: f64| p.at_supply(v * 1e3);
        let dram = |uw_per_mib: f64| p.at_supply(uw_per_mib * f64::from(drive.controller.dram_mib));
        let idle = p.idle_microwatts(drive.controller.dram_mib, die, drive.flash.dies);
        let (phy, memory) = (mw(p.phy_active_mw), dram(p.dram_standby_uw_per_mib));
        let controller = mw(p.controller_idle_mw);
        let slumber = controller - mw(p.controller_slumber_mw) + memory - dram(p.dram_self_refresh_uw_per_mib);
        // The converters rest: what is left draws at the supply.
        let kept = |microwatts: f64| (microwatts + 0.5) as u64;
        let asleep = kept(p.controller_devsleep_mw * 1e3) + kept(standby_microwatts(die)) * u64::from(drive.flash.dies);
        let page = &die.geometry;
        let mut array = [0; ArrayWork::COUNT];
        if let Some(d) = &die.power {
            for planes in 1..=page.planes {
                let share = d.share_of_planes(planes, page.planes);
                for (work, of_all_planes_ma) in [
                    (ArrayWork::programming(planes), d.program_ma(true)),
                    (ArrayWork::programming_reduced(planes), d.program_ma(false)),
                    (ArrayWork::erasing(planes), d.erase_current_ma),
                    (ArrayWork::sensing(planes), d.read_current_ma),
                ] {
                    // Volts times milliamperes are milliwatts.
                    array[work.index()] = mw(d.supply_v * (of_all_planes_ma * share));
                }
            }
        }
        Some(PowerMeter {
            idle,
            link_saves: [phy - mw(p.phy_partial_mw), phy - mw(p.phy_slumber_mw), phy],
            drive_saves: [0, slumber, idle - phy - asleep],
            awake: p.controller_awake_mw.map_or(0, mw),
            processor: mw(p.controller_active_mw),
            array,
            link_byte: pj(p.controller_pj_per_byte + p.dram_pj_per_byte),
            bus_byte: pj(p.controller_pj_per_byte + p.dram_pj_per_byte + p.flash_bus_pj_per_byte),
            encoded_byte: pj(p.encode_pj_per_byte),
            decoded_byte: pj(p.decode_pj_per_byte),
            page_bytes: u64::from(page.page_bytes + page.spare_bytes),
            units_per_page: drive.units_per_page(die).into(),
        })
    }

    /// What the drive draws while commands wait and nothing else happens.
    #[must_use]
    pub fn waiting_watts(&self) -> f64 {
        (self.idle + self.awake) as f64 / 1e6
    }

    /// Energy drawn in so much time with power, in nanojoules, rounded down; `u64::MAX` if it is more. `processor` is how long it
    /// worked, and `host_bytes` what crossed the link.
    #[must_use]
    pub fn nanojoules(&self, time: Nanos, work: &FlashWork, processor: Nanos, slept: &Slept, host_bytes: u64) -> u64 {
        let of_eighths =
            |eighths: u64| (product(eighths, self.page_bytes) / u128::from(8 * self.units_per_page)) as u64;
        let bytes = |units: u64| of_eighths(8 * units);
        let arrays: u128 = self.array.iter().zip(&work.array).map(|(&power, &time)| product(power, time)).sum();
        let drawn = product(self.idle, time)
            + product(self.awake, time.saturating_sub(slept.at_rest))
            + product(self.processor, processor)
            + arrays
            + product(self.link_byte, host_bytes)
            + product(self.bus_byte, of_eighths(work.read_eighths + 8 * work.sent_units))
            + product(self.encoded_byte, bytes(work.encoded_units))
            + product(self.decoded_byte, of_eighths(work.read_eighths));
        in_nanojoules(drawn - self.saved(slept))
    }

    /// What is not drawn while the link sleeps, in femtojoules.
    fn saved(&self, slept: &Slept) -> u128 {
        let saved = |saves: &[u64; 3], times: &[Nanos; 3]| -> u128 {
            saves.iter().zip(times).map(|(&saves, &time)| product(saves, time)).sum()
        };
        saved(&self.link_saves, &slept.link) + saved(&self.drive_saves, &slept.drive)
    }

    /// Mean power of a rest.
    fn resting_watts(&self, rest: &Rest) -> f64 {
        let time = rest.to - rest.from;
        (product(self.idle, time) - self.saved(&rest.slept)) as f64 / time as f64 / 1e6
    }
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// A counter that is full stays so: after 584 years at one watt.
fn in_nanojoules(femtojoules: u128) -> u64 {
    u64::try_from(femtojoules / 1_000_000).unwrap_or(u64::MAX)
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Energy drawn since it was built or loaded, if the drive meters it.
    pub(crate) fn energy(&self) -> Option<EnergyCounters> {
        // The host may have been answered since the drive last did something.
        self.energy_at(self.now.max(self.frontend.in_flight.changed()))
    }

    /// The same up to a time at which the host has something to tell, which a drive that starts may be ahead of.
    pub(crate) fn energy_at(&self, now: Nanos) -> Option<EnergyCounters> {
        let (_, meter) = self.power.as_deref()?;
        let slept = self.frontend.link_sleep.slept(now);
        let (work, processor) = (self.backend.work_done(now), self.firmware.processor.busy());
        let host_bytes = link_bytes(&self.host) - self.plug.link_bytes_before();
        let nanojoules = meter.nanojoules(self.plug.time_on(now), &work, processor, &slept, host_bytes);
        Some(EnergyCounters { nanojoules })
    }

    /// The last long rests up to `now`: from when to when, and what was drawn in them, in watts.
    pub(crate) fn rests(&self, now: Nanos) -> impl Iterator<Item = (Nanos, Nanos, f64)> + '_ {
        let meter = self.power.as_deref().map(|(_, meter)| meter);
        let of = move |rest: Rest| meter.map(|meter| (rest.from, rest.to, meter.resting_watts(&rest)));
        self.frontend.link_sleep.rests(now).filter_map(of)
    }
}

/// Bytes that have crossed the host link.
#[must_use]
pub fn link_bytes(host: &HostCounters) -> u64 {
    host.read_bytes + host.write_bytes
}
