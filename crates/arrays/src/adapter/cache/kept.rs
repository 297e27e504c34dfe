//! Which writes of the host the drives behind a cache hold: for power cuts.
//!
//! The drives number their writes, which are not the host's: the cache merges some and delays others. What came into the cache
//! and what was sent to the drives is noted in order, and looked through after a cut only. The last [`MOST`] of both are
//! remembered; what drives lose of earlier ones counts as there.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_core::{SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::{Device, Held, Plug, Sectors, UnitWrites, WriteNumbers};

use crate::plug_of_pages;

/// So that the writes of a unit among them can be numbered from 1 in sixteen bits.
const MOST: usize = (1 << 16) - 1;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum What {
    /// Came into the cache; `goes_on`: of a command of which others came before.
    Taken { goes_on: bool },
    /// Went on to the drives, as the cache held it.
    Sent,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    what: What,
    sectors: Range<u64>,
}

/// See the module's own page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    entries: VecDeque<Entry>,
    /// Of the host's writes, and of those of the drives.
    numbers: WriteNumbers,
    drives: WriteNumbers,
    /// Since the last cut: units whose sectors are of several writes.
    mixed: BTreeMap<u32, [Held; 8]>,
}

/// A unit that was written.
#[derive(Default)]
struct Unit {
    writes: UnitWrites,
    /// By write of the drives: what their sectors held then.
    sent: Vec<Sectors>,
}

fn sectors_of(offset_bytes: u64, length_bytes: u64) -> Range<u64> {
    offset_bytes / SECTOR_BYTES..(offset_bytes + length_bytes) / SECTOR_BYTES
}

impl Kept {
    /// For a device with a plug whose units can be counted.
    pub fn of(device: &dyn Device) -> Option<Self> {
        let units = u32::try_from(device.info().capacity_bytes.div_ceil(UNIT_BYTES)).ok()?;
        let plug = plug_of_pages(device)?;
        Some(Kept {
            entries: VecDeque::new(),
            numbers: WriteNumbers::new(units, u8::MAX),
            drives: WriteNumbers::new(units, plug.greatest_write_number()),
            mixed: BTreeMap::new(),
        })
    }

    pub fn is_shaped_like(&self, other: &Kept) -> bool {
        self.numbers.is_shaped_like(&other.numbers) && self.drives.is_shaped_like(&other.drives)
    }

    /// Whether an adapter on a device of this capacity can have been left like this. `dirty`: of its cache.
    pub fn is_sound(&self, capacity_bytes: u64, mut dirty: impl Iterator<Item = u64>) -> bool {
        let per_unit = UNIT_BYTES / SECTOR_BYTES;
        let sectors = capacity_bytes / SECTOR_BYTES;
        let units = capacity_bytes.div_ceil(UNIT_BYTES);
        let can_be = |entry: &Entry| {
            let goes_on = matches!(entry.what, What::Taken { goes_on: true });
            let begins_within = !entry.sectors.start.is_multiple_of(per_unit);
            entry.sectors.start < entry.sectors.end && entry.sectors.end <= sectors && (begins_within || !goes_on)
        };
        let is_write = |held: &Held| match held {
            Held::Nothing => true,
            Held::Write(number) => (1..=self.numbers.greatest()).contains(number),
            Held::Mixed(_) | Held::Unreadable => false,
        };
        // Something is there of the newest write.
        let is_mixed = |(&unit, held): (&u32, &[Held; 8])| {
            u64::from(unit) < units
                && held.iter().all(is_write)
                && self.numbers.of(unit) != 0
                && held.contains(&Held::Write(self.numbers.of(unit)))
        };
        // A cut may have destroyed what the drives had of a unit, and left the cache a part of it: that is no write.
        let mut of_none: BTreeMap<u64, u64> = BTreeMap::new();
        let mut is_of_a_write = |unit: u64| {
            self.numbers.of(unit as u32) != 0 || {
                let found = of_none.entry(unit).or_default();
                *found += 1;
                *found < per_unit
            }
        };
        self.entries.len() <= MOST
            && self.entries.iter().all(can_be)
            && self.were_counted()
            && self.mixed.iter().all(is_mixed)
            && dirty.all(|sector| sector < sectors && is_of_a_write(sector / per_unit))
    }

    /// Whether no unit has more writes among those that are remembered than were counted of it.
    fn were_counted(&self) -> bool {
        let mut writes: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
        for Entry { what, sectors } in &self.entries {
            let (kind, counted_before) = match what {
                What::Taken { goes_on } => (0, u32::from(*goes_on)),
                What::Sent => (1, 0),
            };
            for unit in UnitWrites::units(sectors).skip(counted_before as usize) {
                writes.entry(unit).or_default()[kind] += 1;
            }
        }
        let counted = |numbers: &WriteNumbers, unit, writes: u32| writes == 0 || numbers.before(unit, writes - 1) != 0;
        writes
            .iter()
            .all(|(&unit, [taken, sent])| counted(&self.numbers, unit, *taken) && counted(&self.drives, unit, *sent))
    }

    fn note(&mut self, what: What, sectors: Range<u64>) {
        if self.entries.len() == MOST {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { what, sectors });
    }

    /// Data of the host come into the cache.
    pub fn taken(&mut self, offset_bytes: u64, length_bytes: u64, command_goes_on: bool) {
        let sectors = sectors_of(offset_bytes, length_bytes);
        let goes_on = command_goes_on && !offset_bytes.is_multiple_of(UNIT_BYTES);
        let units = UnitWrites::units(&sectors);
        let units = units.start + u32::from(goes_on)..units.end;
        if !self.mixed.is_empty() {
            self.mixed.retain(|unit, _| !units.contains(unit));
        }
        self.numbers.count(units);
        self.note(What::Taken { goes_on }, sectors);
    }

    /// A write goes to the drives.
    pub fn sent(&mut self, offset_bytes: u64, length_bytes: u64) {
        let sectors = sectors_of(offset_bytes, length_bytes);
        self.drives.count(UnitWrites::units(&sectors));
        self.note(What::Sent, sectors);
    }

    /// The last cut was one of a device that was ready: what it mixes is news.
    pub fn forget_mixed(&mut self) {
        self.mixed.clear();
    }

    /// The drives have power again. `is_dirty`: whether the cache has kept a sector.
    pub fn settle(&mut self, drives: &dyn Plug, is_dirty: impl Fn(u64) -> bool) {
        let mut units: BTreeMap<u32, Unit> = BTreeMap::new();
        for Entry { what, sectors } in std::mem::take(&mut self.entries) {
            for number in UnitWrites::units(&sectors) {
                let unit = units.entry(number).or_default();
                let within = UnitWrites::within(number, &sectors);
                match what {
                    What::Taken { goes_on } => {
                        unit.writes.written(within, goes_on && u64::from(number) == sectors.start / 8);
                    }
                    What::Sent => {
                        let mut there = unit.sent.last().copied().unwrap_or_default();
                        there[within.clone()].copy_from_slice(&unit.writes.newest()[within]);
                        unit.sent.push(there);
                    }
                }
            }
        }
        // Of what was at rest for long nothing is noted. Its writes are counted anew.
        for number in drives.unreadable().into_iter().map(|unit| unit as u32).filter(|unit| !units.contains_key(unit)) {
            self.drives.set(number, 0);
            if !(0..8).all(|k| is_dirty(u64::from(number) * 8 + k)) {
                self.numbers.set(number, 0);
            }
        }
        for (number, unit) in units {
            self.settle_unit(number, &unit, drives, &is_dirty);
        }
    }

    fn settle_unit(&mut self, number: u32, unit: &Unit, drives: &dyn Plug, is_dirty: &impl Fn(u64) -> bool) {
        // What the sectors of the drives held after their write of this number.
        let after = |write: u8| {
            let sent = unit.sent.len();
            let is = |k: &usize| self.drives.before(number, (sent - k) as u32) == write;
            let found = (0..=sent).rev().find(is).unwrap_or(0);
            found.checked_sub(1).map_or([0; 8], |k| unit.sent[k])
        };
        let held = drives.held(number.into());
        let (last, mut there) = match held {
            Held::Nothing | Held::Unreadable => (0, after(0)),
            Held::Write(write) => (write, after(write)),
            Held::Mixed(newest) => {
                let sectors = drives.sectors(number.into());
                let of = |k: usize| match sectors[k] {
                    Held::Write(write) => after(write)[k],
                    _ => after(0)[k],
                };
                (newest, std::array::from_fn(of))
            }
        };
        let dirty: [bool; 8] = std::array::from_fn(|k| is_dirty(u64::from(number) * 8 + k as u64));
        for k in (0..8).filter(|&k| dirty[k]) {
            there[k] = unit.writes.newest()[k];
        }
        self.drives.set(number, last);
        if held == Held::Unreadable && dirty.contains(&false) {
            return self.numbers.set(number, 0);
        }
        let (held, sectors) = unit.writes.held(there, number, &self.numbers);
        match held {
            Held::Nothing | Held::Unreadable => self.numbers.set(number, 0),
            Held::Write(write) => self.numbers.set(number, write),
            Held::Mixed(newest) => {
                self.numbers.set(number, newest);
                self.mixed.insert(number, sectors);
            }
        }
    }

    /// What 4 KiB hold, if the drives can read them.
    pub fn held(&self, unit: u32) -> Held {
        match self.numbers.of(unit) {
            number if self.mixed.contains_key(&unit) => Held::Mixed(number),
            0 => Held::Nothing,
            number => Held::Write(number),
        }
    }

    /// Of a unit whose sectors are of several writes: these.
    pub fn sectors(&self, unit: u32) -> Option<[Held; 8]> {
        self.mixed.get(&unit).copied()
    }

    pub fn greatest_write_number(&self) -> u8 {
        self.numbers.greatest()
    }
}
