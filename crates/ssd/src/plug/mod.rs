//! The drive's plug: what a power cut leaves, and how the drive starts again.
//!
//! Where the data are when the power goes:
//!
//! - *in the host's hands*: commands that were not answered. They never are; of a write, any part may be there afterwards.
//! - *in the write buffer*: lost, unless the capacitors protect everything: then it is written out, as long as the energy
//!   lasts, and so is what the journal has still to say of trims. Where it lasts for all that the buffer can hold, FLUSH and
//!   FUA are answered from there; and no more units lack sectors there, whose rest is still on flash, than can be read
//!   in what is left of it: further writes of such units read the rest first.
//! - *in flight on a die*: a program is torn once the array is at it, and never happened before that. It takes the older
//!   pages of its word line along, unless the capacitors carry the die to the end of the pass. An erase is to be done again.
//! - *in flash*: safe.
//!
//! Starting takes time, in which commands wait: see [`start`].

mod capacitors;
mod cut;
mod saved;
mod spec;
mod start;
mod totals;

use std::collections::BTreeSet;
use std::ops::Range;

use ssdlab_core::Nanos;
use ssdlab_device::{Destroyed, FlashCounters, Held, LoadError, Plug, Specimen};
use ssdlab_ftl::{LostPage, Translation};
use ssdlab_nand::{DieSpec, LogicalPage};

use crate::SimulatedSsd;
use crate::spec::DriveSpec;

pub use capacitors::energy_to_save_mj;
use capacitors::{Capacitors, StartTimes};
pub use saved::SavedDrive;
use saved::specimen;
pub use spec::{PowerLossSpec, Protection};
use start::Starting;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct PlugState {
    specimen: Specimen,
    capacitors: Capacitors,
    times: StartTimes,
    /// Whether FLUSH is answered without anything being written.
    pub flush_lies: bool,
    /// Whether what has arrived in the buffer is safe there, as long as no more than `may_lack` of its units lack sectors.
    pub keeps_buffer: bool,
    /// See [`Capacitors::units_that_may_lack`].
    pub may_lack: u32,
    /// Taken out.
    out: bool,
    /// Since it was put in again: what is done to the flash before the drive is ready.
    starting: Starting,
    /// STANDBY IMMEDIATE was the host's last command.
    stands_by: bool,
    /// The last cut came after it.
    clean: bool,
    unclean: u64,
    /// Times that it was put in, and how long the drive had had power when it was loaded from a file.
    cycles: u64,
    powered_before: Nanos,
    /// What the flash had done, as the drive told it, at the last cut of one that was ready: rows that were queued then count there.
    said: FlashCounters,
    /// Bytes that the drive had moved over its link when it was loaded, or that were noted besides.
    link_bytes_before: u64,
    /// Time without power so far, and since when, if it is out.
    off: Nanos,
    since: Nanos,
    /// Pages that cuts have destroyed, and that were not written or trimmed since.
    lost: BTreeSet<LogicalPage>,
    /// What the last cut of a drive that was ready has destroyed, and those since.
    destroyed: Vec<LostPage>,
}

impl PlugState {
    #[must_use]
    pub fn new(name: &str, drive: &DriveSpec, die: &DieSpec, as_filed: (&DriveSpec, &DieSpec), seed: u64) -> Self {
        let spec = drive.power_loss.clone().unwrap_or_default();
        let capacitors = Capacitors::new(&spec, as_filed.0, as_filed.1);
        PlugState {
            specimen: specimen(name, drive, die, seed),
            keeps_buffer: capacitors.keep_buffer(drive, die),
            may_lack: capacitors.units_that_may_lack(drive, die),
            capacitors,
            times: StartTimes::new(&spec),
            flush_lies: spec.flush_lies,
            out: false,
            starting: Starting::default(),
            stands_by: false,
            clean: false,
            unclean: 0,
            cycles: 1,
            powered_before: 0,
            said: FlashCounters::default(),
            link_bytes_before: 0,
            off: 0,
            since: 0,
            lost: BTreeSet::new(),
            destroyed: Vec::new(),
        }
    }

    /// Whether the drive is not ready yet since it was put in again.
    #[must_use]
    pub fn is_starting(&self, now: Nanos) -> bool {
        now < self.starting.ready
    }

    /// The host is back: a cut from now on is no clean one.
    pub fn host_is_back(&mut self) {
        self.stands_by = false;
    }

    /// A command that is none of the queue's, and waits for the drive to be ready: a cut from then on finds the repairs done.
    pub fn command_came(&mut self) {
        self.starting = Starting::default();
    }

    /// Time with power since the drive was built or loaded.
    #[must_use]
    pub fn time_on(&self, now: Nanos) -> Nanos {
        let until = if self.out { self.since } else { now };
        until.saturating_sub(self.off)
    }

    /// Time with power in the drive's life.
    #[must_use]
    pub fn time_powered(&self, now: Nanos) -> Nanos {
        self.powered_before + self.time_on(now)
    }

    /// Of the bytes that have crossed the link in the drive's life, those before it was built or loaded.
    #[must_use]
    pub fn link_bytes_before(&self) -> u64 {
        self.link_bytes_before
    }

    /// Whether a cut has destroyed any of these pages.
    #[inline]
    #[must_use]
    pub fn has_lost(&self, pages: Range<LogicalPage>) -> bool {
        !self.lost.is_empty() && pages.start < pages.end && self.lost.range(pages).next().is_some()
    }

    /// The host gives or takes away data.
    #[inline]
    pub fn forgive_lost(&mut self, pages: Range<LogicalPage>) {
        if !self.lost.is_empty() {
            self.lost.retain(|page| !pages.contains(page));
        }
    }

    /// Pages that cuts have destroyed, and that were not written or trimmed since, in order.
    pub fn lost(&self) -> impl Iterator<Item = LogicalPage> + '_ {
        self.lost.iter().copied()
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Writes out what is under way and what waits inside, and then what the journal has still to say.
    fn save_everything(&mut self) {
        self.finish_inside();
        self.ask(|translation, queues| translation.save_log(queues));
        self.finish_inside();
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> Plug for SimulatedSsd<EXPLAIN, CHECK, T> {
    fn has_power(&self) -> bool {
        !self.plug.out
    }

    fn cut(&mut self, now: Nanos) {
        self.cut_power(now);
    }

    fn restore(&mut self, now: Nanos) -> Nanos {
        self.start(now)
    }

    fn stand_by(&mut self, now: Nanos) -> Nanos {
        assert!(!self.plug.out, "STANDBY IMMEDIATE needs power");
        assert!(self.frontend.in_flight.is_none(), "STANDBY IMMEDIATE needs a drive without commands under way");
        self.wake_from_idle(now);
        self.feel(now);
        self.now = self.now.max(now);
        self.save_everything();
        self.firmware.idle.rest_for_good(self.now);
        if self.frontend.link_sleep.is_watched() {
            let at_rest = self.is_at_rest();
            self.frontend.link_sleep.rest(self.now, at_rest);
        }
        self.plug.stands_by = true;
        self.now
    }

    fn save(&self) -> Vec<u8> {
        self.save_state()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        self.load_state(saved)
    }

    fn unclean_shutdowns(&self) -> u64 {
        self.plug.unclean
    }

    fn power_cycles(&self) -> u64 {
        self.plug.cycles
    }

    fn time_powered(&self, now: Nanos) -> Nanos {
        self.plug.time_powered(now)
    }

    fn totals(&self, now: Nanos) -> Vec<u8> {
        self.note_totals(now)
    }

    fn check_totals(&self, totals: &[u8]) -> Result<(), LoadError> {
        self.totals_of(totals).map(drop)
    }

    fn count_at_least(&mut self, totals: &[u8]) -> Result<(), LoadError> {
        self.take_totals(totals)
    }

    fn unit_bytes(&self) -> u64 {
        self.unit.bytes()
    }

    fn held(&self, unit: u64) -> Held {
        assert!(!self.plug.out, "a drive without power holds nothing that anybody could see");
        let page = LogicalPage::new(u32::try_from(unit).expect("a unit of the drive"));
        if self.plug.lost.contains(&page) {
            return Held::Unreadable;
        }
        self.translation.write_number(page).map_or(Held::Nothing, Held::Write)
    }

    fn accepted(&self, unit: u64) -> Option<u8> {
        self.probe.last_write(LogicalPage::new(u32::try_from(unit).expect("a unit of the drive")))
    }

    fn destroyed(&self) -> Vec<Destroyed> {
        let of = |lost: &LostPage| {
            let bits_per_cell = lost.mode?.bits() as u8;
            Some(Destroyed { unit: lost.page.number().into(), bits_per_cell })
        };
        self.plug.destroyed.iter().filter_map(of).collect()
    }

    fn unreadable(&self) -> Vec<u64> {
        self.plug.lost().map(|page| page.number().into()).collect()
    }

    fn keeps_flushes(&self) -> bool {
        !self.plug.flush_lies
    }

    fn greatest_write_number(&self) -> u8 {
        self.translation.medium().format().max_generation()
    }
}
