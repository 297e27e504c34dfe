//! Which write each sector that is not on the platters yet was to be of, and what is there instead: for power cuts.
//!
//! What came into the write cache and what left it is noted in order, and looked through after a cut only. What is older than
//! everything that waits is forgotten.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use ssdlab_device::{Held, WriteNumbers};

const SECTORS: u32 = 8;

#[derive(Clone, Copy, Debug)]
enum What {
    /// Came into the cache.
    Taken {
        command: u64,
        /// The first unit was counted when the sectors before came in.
        goes_on: bool,
    },
    /// From now on what the cache held of these is written.
    Begun,
    Written,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    what: What,
    from: u32,
    to: u32,
}

/// Entries from which on those that are too old are looked for.
const MANY: usize = 256;

/// See the module's own page.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    entries: VecDeque<Entry>,
    /// Command of the sectors that came in last, and where they end.
    last: (u64, u32),
}

/// A unit of which something was lost. Writes of it are counted from the first that the journal has, by 1.
#[derive(Clone, Debug, Default)]
struct Unit {
    /// By write: its sectors, one bit each.
    covers: Vec<u8>,
    /// By sector: the last write in the cache, in what is being written, and on the platters.
    cached: [u16; SECTORS as usize],
    writing: [u16; SECTORS as usize],
    platters: [u16; SECTORS as usize],
}

/// Units that sectors lie in.
fn units(sectors: &Range<u32>) -> Range<u32> {
    sectors.start / SECTORS..sectors.end.div_ceil(SECTORS)
}

impl Journal {
    /// Sectors come into the cache. Returns the units that this is another write of.
    pub fn taken(&mut self, command: u64, from: u32, to: u32) -> Range<u32> {
        let goes_on = self.last == (command, from) && !from.is_multiple_of(SECTORS);
        self.last = (command, to);
        self.entries.push_back(Entry { what: What::Taken { command, goes_on }, from, to });
        let units = units(&(from..to));
        units.start + u32::from(goes_on)..units.end
    }

    pub fn begun(&mut self, from: u32, to: u32) {
        self.entries.push_back(Entry { what: What::Begun, from, to });
    }

    /// What was being written is on the platters. `oldest`: of commands with sectors that are not.
    pub fn written(&mut self, from: u32, to: u32, oldest: impl Fn() -> Option<u64>) {
        self.entries.push_back(Entry { what: What::Written, from, to });
        if self.entries.len() < MANY {
            return;
        }
        let oldest = oldest().unwrap_or(u64::MAX);
        while self.entries.front().is_some_and(|e| !matches!(e.what, What::Taken { command, .. } if command >= oldest))
        {
            self.entries.pop_front();
        }
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.last = (0, 0);
    }

    /// What the units hold after a cut of which sectors were `lost`; of these some had been `written` all the same. By unit
    /// and sector, where that is not what the last write has left.
    pub fn after_cut(
        &self,
        lost: &[Range<u32>],
        written: &Range<u32>,
        numbers: &WriteNumbers,
    ) -> BTreeMap<u32, (Held, [Held; SECTORS as usize])> {
        let all = lost.iter().flat_map(units).map(|unit| (unit, Unit::default()));
        let mut found: BTreeMap<u32, Unit> = all.collect();
        for entry in &self.entries {
            let sectors = entry.from..entry.to;
            for (&unit, state) in found.range_mut(units(&sectors)) {
                let goes_on = matches!(entry.what, What::Taken { goes_on: true, .. } if unit == entry.from / SECTORS);
                state.note(entry.what, within(unit, &sectors), goes_on);
            }
        }
        for (&unit, state) in found.range_mut(units(written)) {
            state.note(What::Written, within(unit, written), false);
        }
        found.into_iter().map(|(unit, state)| (unit, state.held(unit, numbers))).collect()
    }
}

/// Of some sectors those that lie in a unit, counted from its first.
fn within(unit: u32, sectors: &Range<u32>) -> Range<usize> {
    let first = unit * SECTORS;
    let place = |sector: u32| sector.clamp(first, first + SECTORS) as usize - first as usize;
    place(sectors.start)..place(sectors.end)
}

impl Unit {
    fn note(&mut self, what: What, sectors: Range<usize>, goes_on: bool) {
        match what {
            What::Taken { .. } => {
                if !goes_on || self.covers.is_empty() {
                    self.covers.push(0);
                }
                let write = self.covers.len() as u16;
                for sector in sectors {
                    self.covers[usize::from(write) - 1] |= 1 << sector;
                    self.cached[sector] = write;
                }
            }
            What::Begun => self.writing[sectors.clone()].copy_from_slice(&self.cached[sectors]),
            What::Written => self.platters[sectors.clone()].copy_from_slice(&self.writing[sectors]),
        }
    }

    /// What a sector would hold after so many writes: the last of them that has it.
    fn after(&self, writes: usize, sector: usize) -> u16 {
        let last = self.covers[..writes].iter().rposition(|covers| covers >> sector & 1 == 1);
        last.map_or(0, |k| k as u16 + 1)
    }

    fn held(&self, unit: u32, numbers: &WriteNumbers) -> (Held, [Held; SECTORS as usize]) {
        let writes = self.covers.len();
        let held = |write: usize| match numbers.before(unit, (writes - write) as u32) {
            0 => Held::Nothing,
            number => Held::Write(number),
        };
        let is =
            |write: &usize| (0..SECTORS as usize).all(|sector| self.after(*write, sector) == self.platters[sector]);
        if let Some(write) = (0..=writes).rev().find(is) {
            return (held(write), [held(write); SECTORS as usize]);
        }
        let newest = self.platters.iter().copied().max().unwrap_or(0);
        let newest = numbers.before(unit, (writes - usize::from(newest)) as u32);
        (Held::Mixed(newest), self.platters.map(|write| held(write.into())))
    }
}
