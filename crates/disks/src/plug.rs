//! The disk's plug: what a power cut leaves, and how the disk starts again.
//!
//! - *in the host's hands*: commands that were not answered. They never are; of a write, any sector may be there afterwards.
//! - *in the write cache*: lost, though it was answered; a flush, a write with FUA, and a disk that does not write back answer
//!   once the sectors are on the platters.
//! - *under the head*: the sector that is passing is written to its end, since the platters turn on and the arm is still there
//!   (estimate: what is known of most disks). Of an extent that is being written the sectors before are new, those behind old.
//! - *on the platters*: safe.
//!
//! Starting takes the time that the platters need to reach their speed, in which commands wait.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_core::{Nanos, SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::{Held, HostCounters, LoadError, Specimen, WriteNumbers, is_plausible, is_plausible_time};

use crate::journal::Journal;
use crate::spec::{DiskSpec, disk_keys};

/// Raised whenever what is saved changes its form.
const FORMAT: u32 = 2;

/// What each sector of a unit holds.
pub type Sectors = [Held; (UNIT_BYTES / SECTOR_BYTES) as usize];

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct PlugState {
    specimen: Specimen,
    units: u32,
    numbers: WriteNumbers,
    journal: Journal,
    /// Since the last cut: units whose sectors are of several writes.
    mixed: BTreeMap<u32, Sectors>,
    out: bool,
    /// From when on commands are served.
    ready: Nanos,
    /// STANDBY IMMEDIATE was the last command.
    stood_by: bool,
    unclean: u64,
    cycles: u64,
    powered_before: Nanos,
    /// Time without power so far, and since when, if it is out.
    off: Nanos,
    since: Nanos,
}

/// What a disk has counted in its life: see [`ssdlab_device::Plug::totals`].
#[derive(Serialize, Deserialize)]
pub struct Totals {
    specimen: Specimen,
    host: HostCounters,
    cycles: u64,
    powered: Nanos,
}

/// For tests: what a saved disk is made of.
#[doc(hidden)]
#[derive(Serialize, Deserialize)]
pub struct SavedDisk {
    specimen: Specimen,
    numbers: WriteNumbers,
    /// Units whose sectors are of several writes: these, 0 for none.
    mixed: Vec<(u32, [u8; (UNIT_BYTES / SECTOR_BYTES) as usize])>,
    host: HostCounters,
    unclean: u64,
    cycles: u64,
    powered: Nanos,
}

impl SavedDisk {
    /// Whether a disk of so many units can have been left like this.
    fn is_sound(&self, units: u32) -> bool {
        let in_order = self.mixed.windows(2).all(|pair| pair[0].0 < pair[1].0);
        // Something is there of the newest write.
        let is_mixed = |(unit, sectors): &(u32, [u8; 8])| {
            *unit < units && self.numbers.of(*unit) != 0 && sectors.contains(&self.numbers.of(*unit))
        };
        in_order
            && self.mixed.iter().all(is_mixed)
            && self.host.is_plausible()
            && self.cycles > 0
            && self.unclean <= self.cycles
            && is_plausible(self.cycles)
            && is_plausible_time(self.powered)
    }
}

impl PlugState {
    pub fn new(name: &str, spec: &DiskSpec, seed: u64) -> Self {
        let units = spec.capacity_bytes.div_ceil(UNIT_BYTES) as u32;
        PlugState {
            specimen: Specimen::new(FORMAT, name, &disk_keys().identity(spec), seed),
            units,
            numbers: WriteNumbers::new(units, u8::MAX),
            journal: Journal::default(),
            mixed: BTreeMap::new(),
            out: false,
            ready: 0,
            stood_by: false,
            unclean: 0,
            cycles: 1,
            powered_before: 0,
            off: 0,
            since: 0,
        }
    }

    #[inline]
    pub fn command_comes(&mut self) {
        self.stood_by = false;
    }

    /// Sectors of a command come into the write cache.
    #[inline]
    pub fn taken(&mut self, command: u64, from: u32, to: u32) {
        let units = self.journal.taken(command, from, to);
        if !self.mixed.is_empty() {
            self.mixed.retain(|unit, _| !units.contains(unit));
        }
        self.numbers.count(units);
    }

    #[inline]
    pub fn begun(&mut self, from: u32, to: u32) {
        self.journal.begun(from, to);
    }

    /// An extent is on the platters. `oldest`: of commands with sectors that are not.
    #[inline]
    pub fn written(&mut self, from: u32, to: u32, oldest: impl Fn() -> Option<u64>) {
        self.journal.written(from, to, oldest);
    }

    /// Time with power since the simulation began.
    pub fn time_powered(&self, now: Nanos) -> Nanos {
        let until = if self.out { self.since } else { now };
        until.saturating_sub(self.off)
    }

    pub fn has_power(&self) -> bool {
        !self.out
    }

    /// From when on commands are served.
    pub fn ready(&self) -> Nanos {
        self.ready
    }

    /// Everything is on the platters, and no command has come since.
    pub fn stands_by(&mut self) {
        self.stood_by = true;
    }

    /// The power goes at `now`; see [`Journal::after_cut`]. `idle`: no command was under way.
    pub fn cut(&mut self, now: Nanos, idle: bool, lost: &[Range<u32>], written: &Range<u32>) {
        self.unclean += u64::from(!(self.stood_by && idle));
        if now >= self.ready {
            self.mixed.clear();
        }
        for (unit, (held, sectors)) in self.journal.after_cut(lost, written, &self.numbers) {
            match held {
                Held::Nothing | Held::Unreadable => self.numbers.set(unit, 0),
                Held::Write(number) => self.numbers.set(unit, number),
                Held::Mixed(newest) => {
                    self.numbers.set(unit, newest);
                    self.mixed.insert(unit, sectors);
                }
            }
        }
        self.journal.clear();
        self.stood_by = false;
        (self.out, self.since) = (true, now);
    }

    /// The power comes back: commands are served from `ready` on.
    pub fn restore(&mut self, now: Nanos, ready: Nanos) {
        self.out = false;
        self.cycles += 1;
        self.off += now.saturating_sub(self.since);
        self.ready = ready;
    }

    /// What is kept without power, for a file.
    pub fn save(&self, host: HostCounters, now: Nanos) -> Vec<u8> {
        let number = |held: Held| match held {
            Held::Write(number) => number,
            _ => 0,
        };
        let saved = SavedDisk {
            specimen: self.specimen,
            numbers: self.numbers.clone(),
            mixed: self.mixed.iter().map(|(&unit, sectors)| (unit, sectors.map(number))).collect(),
            host,
            unclean: self.unclean,
            cycles: self.cycles,
            powered: self.powered_before + self.time_powered(now),
        };
        postcard::to_stdvec(&saved).expect("a vector takes everything")
    }

    /// Becomes what was saved. Returns what the host had asked for.
    pub fn load(&mut self, saved: &[u8]) -> Result<HostCounters, LoadError> {
        let (specimen, _) = postcard::take_from_bytes::<Specimen>(saved).map_err(|_| LoadError::Damaged)?;
        self.specimen.check(&specimen)?;
        let saved: SavedDisk = postcard::from_bytes(saved).map_err(|_| LoadError::Damaged)?;
        if !saved.numbers.is_shaped_like(&self.numbers) || !saved.is_sound(self.units) {
            return Err(LoadError::Damaged);
        }
        let held = |number| if number == 0 { Held::Nothing } else { Held::Write(number) };
        self.numbers = saved.numbers;
        self.mixed = saved.mixed.into_iter().map(|(unit, sectors)| (unit, sectors.map(held))).collect();
        (self.unclean, self.cycles, self.powered_before) = (saved.unclean, saved.cycles, saved.powered);
        self.out = true;
        Ok(saved.host)
    }

    pub fn totals(&self, host: HostCounters, now: Nanos) -> Vec<u8> {
        let powered = self.time_powered_in_all(now);
        let totals = Totals { specimen: self.specimen, host, cycles: self.cycles, powered };
        postcard::to_stdvec(&totals).expect("a vector takes everything")
    }

    /// What the totals of this disk say.
    pub fn totals_of(&self, totals: &[u8]) -> Result<Totals, LoadError> {
        let (specimen, _) = postcard::take_from_bytes::<Specimen>(totals).map_err(|_| LoadError::Damaged)?;
        self.specimen.check(&specimen)?;
        let totals: Totals = postcard::from_bytes(totals).map_err(|_| LoadError::Damaged)?;
        let plausible = totals.host.is_plausible() && is_plausible(totals.cycles) && is_plausible_time(totals.powered);
        if !plausible || totals.cycles == 0 {
            return Err(LoadError::Damaged);
        }
        Ok(totals)
    }

    /// At `now` the disk has counted at least so much. Returns what the host had asked for.
    pub fn count_at_least(&mut self, totals: &[u8], now: Nanos) -> Result<HostCounters, LoadError> {
        let totals = self.totals_of(totals)?;
        self.cycles = totals.cycles;
        self.powered_before += totals.powered.saturating_sub(self.time_powered_in_all(now));
        Ok(totals.host)
    }

    pub fn greatest_write_number(&self) -> u8 {
        self.numbers.greatest()
    }

    pub fn unclean(&self) -> u64 {
        self.unclean
    }

    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Time with power in the disk's life.
    pub fn time_powered_in_all(&self, now: Nanos) -> Nanos {
        self.powered_before + self.time_powered(now)
    }

    pub fn held(&self, unit: u32) -> Held {
        assert!(!self.out, "a disk without power holds nothing that anybody could see");
        match self.numbers.of(unit) {
            number if self.mixed.contains_key(&unit) => Held::Mixed(number),
            0 => Held::Nothing,
            number => Held::Write(number),
        }
    }

    /// Of a unit whose sectors are of several writes: these.
    pub fn sectors(&self, unit: u32) -> Option<Sectors> {
        self.mixed.get(&unit).copied()
    }
}
