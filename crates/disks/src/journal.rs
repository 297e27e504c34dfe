//! Which write each sector that is not on the platters yet was to be of, and what is there instead: for power cuts.
//!
//! What came into the write cache and what left it is noted in order, and looked through after a cut only. What is older than
//! everything that waits is forgotten.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use ssdlab_device::{Held, Sectors, UnitWrites, WriteNumbers};

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

/// A unit of which something was lost.
#[derive(Clone, Debug, Default)]
struct Unit {
    writes: UnitWrites,
    /// What is being written, and what the platters hold.
    writing: Sectors,
    platters: Sectors,
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
        found.into_iter().map(|(unit, state)| (unit, state.writes.held(state.platters, unit, numbers))).collect()
    }
}

/// Of some sectors those that lie in a unit, counted from its first.
fn within(unit: u32, sectors: &Range<u32>) -> Range<usize> {
    UnitWrites::within(unit, &(sectors.start.into()..sectors.end.into()))
}

impl Unit {
    fn note(&mut self, what: What, sectors: Range<usize>, goes_on: bool) {
        match what {
            What::Taken { .. } => self.writes.written(sectors, goes_on),
            What::Begun => self.writing[sectors.clone()].copy_from_slice(&self.writes.newest()[sectors]),
            What::Written => self.platters[sectors.clone()].copy_from_slice(&self.writing[sectors]),
        }
    }
}
