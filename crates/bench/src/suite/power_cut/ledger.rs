//! What a host knows of its own writes, and what it may expect of each 4 KiB after a cut.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ssdlab_device::Held;

/// A unit that was written since it was last known to be safe. Writes are counted from there.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    /// Which stretch of open writes this is, of all: a flush covers that one only.
    stretch: u64,
    sent: u32,
    answered: u32,
    flushed: u32,
    in_flight: bool,
}

/// A flush under way: what it covers, by unit its stretch of open writes and how many of these.
pub struct Covered(Vec<(u32, u64, u32)>);

/// What a cut has done to what the host was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Units whose last answered write is not there; of them those that a flush had covered count as `flushed` only.
    pub acknowledged: u64,
    pub flushed: u64,
    /// Commands in flight of which some 4 KiB are there and others are not.
    pub torn: u64,
    /// 4 KiB with sectors of several writes.
    pub mixed: u64,
}

/// See the module's own page.
pub struct Ledger {
    /// By 4 KiB: the number of the write that is safe; 0: nothing is there.
    safe: Vec<u8>,
    greatest: u8,
    open: BTreeMap<u32, Unit>,
    stretches: u64,
    destroyed: BTreeSet<u32>,
}

impl Ledger {
    /// For units of 4 KiB that hold these writes, 0 for none.
    #[must_use]
    pub fn new(safe: Vec<u8>, greatest: u8) -> Self {
        Ledger { safe, greatest, open: BTreeMap::new(), stretches: 0, destroyed: BTreeSet::new() }
    }

    /// The number of the write that comes so many after another.
    fn after(&self, number: u8, writes: u32) -> u8 {
        if number == 0 && writes == 0 {
            return 0;
        }
        let greatest = u32::from(self.greatest);
        ((u32::from(number) + greatest - 1 + writes) % greatest + 1) as u8
    }

    /// Whether a write of these units is in flight.
    #[must_use]
    pub fn is_busy(&self, units: Range<u32>) -> bool {
        self.open.range(units).any(|(_, unit)| unit.in_flight)
    }

    pub fn sent(&mut self, units: Range<u32>) {
        for number in units {
            self.stretches += 1;
            let fresh = Unit { stretch: self.stretches, ..Unit::default() };
            let unit = self.open.entry(number).or_insert(fresh);
            unit.sent += 1;
            unit.in_flight = true;
        }
    }

    pub fn answered(&mut self, units: Range<u32>) {
        for (_, unit) in self.open.range_mut(units) {
            unit.answered = unit.sent;
            unit.in_flight = false;
        }
    }

    /// A flush is sent: it covers what has been answered.
    #[must_use]
    pub fn flush_sent(&self) -> Covered {
        let covered = self.open.iter().filter(|(_, unit)| unit.answered > unit.flushed);
        Covered(covered.map(|(&number, unit)| (number, unit.stretch, unit.answered)).collect())
    }

    pub fn flush_answered(&mut self, covered: &Covered) {
        for &(number, stretch, writes) in &covered.0 {
            let Some(unit) = self.open.get_mut(&number).filter(|unit| unit.stretch == stretch) else { continue };
            unit.flushed = unit.flushed.max(writes);
            if unit.flushed == unit.sent {
                let writes = unit.sent;
                self.open.remove(&number);
                self.safe[number as usize] = self.after(self.safe[number as usize], writes);
            }
        }
    }

    /// Whether a flush had covered any write of 4 KiB: then they may not become unreadable, though later writes of them were not
    /// flushed.
    #[must_use]
    pub fn was_flushed(&self, number: u32) -> bool {
        self.safe[number as usize] != 0 || self.open.get(&number).is_some_and(|unit| unit.flushed > 0)
    }

    /// Takes in what is there after a cut. `commands`: writes that were in flight. `sectors`: asked of units that are mixed.
    pub fn settle(
        &mut self,
        commands: &[Range<u32>],
        held: impl Fn(u32) -> Held,
        sectors: impl Fn(u32) -> [Held; 8],
    ) -> Losses {
        let mut losses = Losses::default();
        for units in commands {
            let there = |number: &u32| {
                let unit = self.open[number];
                held(*number) == Held::Write(self.after(self.safe[*number as usize], unit.sent))
            };
            let count = units.clone().filter(there).count();
            let mixed = units.clone().any(|number| matches!(held(number), Held::Mixed(_)));
            losses.torn += u64::from(mixed || count > 0 && count < units.len());
        }
        for (number, unit) in std::mem::take(&mut self.open) {
            let found = match held(number) {
                Held::Unreadable => {
                    // What was destroyed is told apart, and the answered write that was to take its place is lost as well;
                    // nothing else that was flushed may have become unreadable.
                    let was_flushed = unit.flushed > 0 || self.safe[number as usize] != 0;
                    if was_flushed && !self.destroyed.contains(&number) {
                        losses.flushed += 1;
                    } else if unit.answered > unit.flushed {
                        losses.acknowledged += 1;
                    }
                    self.safe[number as usize] = 0;
                    continue;
                }
                Held::Nothing => 0,
                Held::Write(write) => write,
                Held::Mixed(newest) => {
                    losses.mixed += 1;
                    let safe = self.safe[number as usize];
                    let at_least = |found: Held, writes: u32| match found {
                        Held::Unreadable | Held::Mixed(_) => false,
                        Held::Nothing => writes == 0 && safe == 0,
                        Held::Write(found) => (writes..=unit.sent).any(|w| self.after(safe, w) == found),
                    };
                    // The host writes all of a unit: each of its sectors must be as new as was promised.
                    let sectors = sectors(number);
                    if !sectors.iter().all(|&found| at_least(found, unit.flushed)) {
                        losses.flushed += 1;
                    } else if !sectors.iter().all(|&found| at_least(found, unit.answered)) {
                        losses.acknowledged += 1;
                    }
                    self.safe[number as usize] = newest;
                    continue;
                }
            };
            let safe = self.safe[number as usize];
            let writes = (0..=unit.sent).rev().find(|&writes| self.after(safe, writes) == found);
            match writes {
                Some(writes) if writes >= unit.answered => {}
                Some(writes) if writes >= unit.flushed => losses.acknowledged += 1,
                _ => losses.flushed += 1,
            }
            self.safe[number as usize] = found;
        }
        for number in std::mem::take(&mut self.destroyed) {
            self.safe[number as usize] = 0;
        }
        losses
    }

    /// Units that the device says the cut has destroyed, before what is there is taken in.
    pub fn destroyed(&mut self, numbers: impl Iterator<Item = u32>) {
        self.destroyed = numbers.collect();
    }

    /// Whether any write was answered that no flush has covered.
    #[must_use]
    pub fn any_at_stake(&self) -> bool {
        self.open.values().any(|unit| unit.answered > unit.flushed)
    }

    /// How many of all 4 KiB hold something else than they should; from now on that is what they should hold, so that no loss
    /// counts twice. Nothing may be in flight or waiting for a flush.
    pub fn take_stock(&mut self, held: impl Fn(u32) -> Held) -> u64 {
        let mut wrong = 0;
        for (safe, number) in self.safe.iter_mut().zip(0..) {
            let found = match held(number) {
                Held::Write(write) | Held::Mixed(write) => write,
                Held::Nothing | Held::Unreadable => 0,
            };
            wrong += u64::from(*safe != found);
            *safe = found;
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four writes of one unit, the second flushed, the third answered, the fourth in flight; the first was safe before.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(vec![3; 2], 3);
        ledger.sent(0..1);
        ledger.answered(0..1);
        let covered = ledger.flush_sent();
        ledger.sent(0..1);
        ledger.flush_answered(&covered);
        ledger.answered(0..1);
        ledger.sent(0..2);
        ledger
    }

    fn whole(_: u32) -> [Held; 8] {
        panic!("no unit is mixed")
    }

    #[test]
    fn each_sector_of_a_mixed_unit_must_be_as_new_as_was_promised() {
        let losses = |oldest| {
            let sectors = |_| std::array::from_fn(|k| if k == 3 { Held::Write(oldest) } else { Held::Write(3) });
            let held = |number| if number == 0 { Held::Mixed(3) } else { Held::Write(3) };
            let Losses { acknowledged, flushed, mixed, .. } = ledger().settle(&[], held, sectors);
            (acknowledged, flushed, mixed)
        };
        // Flushed: 1; answered: 2; in flight, or safe before: 3.
        assert_eq!([2, 1].map(losses), [(0, 0, 1), (1, 0, 1)]);
        let mut ledger = ledger();
        let held = |number| if number == 0 { Held::Mixed(3) } else { Held::Write(3) };
        ledger.settle(&[], held, |_| [Held::Write(3); 8]);
        assert_eq!(ledger.take_stock(held), 0);
    }

    #[test]
    fn what_was_promised_is_told_from_what_was_not_though_numbers_begin_anew() {
        let losses = |held| ledger().settle(&[], |number| if number == 0 { held } else { Held::Write(3) }, whole);
        // Safe: 3; flushed: 1; answered: 2; in flight: 3.
        assert_eq!(losses(Held::Write(3)), Losses::default());
        assert_eq!(losses(Held::Write(2)), Losses::default());
        assert_eq!(losses(Held::Write(1)), Losses { acknowledged: 1, ..Losses::default() });
        assert_eq!(losses(Held::Nothing), Losses { flushed: 1, ..Losses::default() });
        assert_eq!(losses(Held::Unreadable), Losses { flushed: 1, ..Losses::default() }, "nobody has told");
        let mut told = ledger();
        told.destroyed([0, 1].into_iter());
        let newest = Losses { acknowledged: 1, ..Losses::default() };
        assert_eq!(told.settle(&[], |_| Held::Unreadable, whole), newest, "what was to take its place is lost as well");
    }

    #[test]
    fn an_unreadable_unit_was_flushed_if_any_write_of_it_was() {
        let written = |safe: u8, flushed: bool| {
            let mut ledger = Ledger::new(vec![safe], 3);
            ledger.sent(0..1);
            ledger.answered(0..1);
            if flushed {
                let covered = ledger.flush_sent();
                ledger.sent(0..1);
                ledger.flush_answered(&covered);
                ledger.answered(0..1);
            }
            ledger
        };
        let cases = [(0, false), (1, false), (0, true), (1, true)];
        assert_eq!(cases.map(|(safe, flushed)| written(safe, flushed).was_flushed(0)), [false, true, true, true]);
        assert_eq!([0, 1].map(|safe| Ledger::new(vec![safe], 3).was_flushed(0)), [false, true]);
        // Whoever has told of it counts it, as flushed; here the last answered write is left.
        let losses = |told: bool| {
            let mut ledger = written(1, false);
            ledger.destroyed(0..u32::from(told));
            let Losses { acknowledged, flushed, .. } = ledger.settle(&[], |_| Held::Unreadable, whole);
            (acknowledged, flushed)
        };
        assert_eq!([true, false].map(losses), [(1, 0), (0, 1)]);
    }

    #[test]
    fn what_was_answered_and_not_flushed_is_at_stake() {
        let mut ledger = Ledger::new(vec![1], 3);
        assert!(!ledger.any_at_stake());
        ledger.sent(0..1);
        assert!(!ledger.any_at_stake());
        ledger.answered(0..1);
        assert!(ledger.any_at_stake());
        let covered = ledger.flush_sent();
        ledger.sent(0..1);
        ledger.flush_answered(&covered);
        assert!(!ledger.any_at_stake());
    }

    #[test]
    fn of_two_flushes_in_flight_the_later_covers_nothing_that_was_written_after_the_earlier() {
        let mut ledger = Ledger::new(vec![1], 3);
        ledger.sent(0..1);
        ledger.answered(0..1);
        let (first, second) = (ledger.flush_sent(), ledger.flush_sent());
        ledger.flush_answered(&first);
        ledger.sent(0..1);
        ledger.answered(0..1);
        ledger.flush_answered(&second);
        // The last write may be gone.
        assert_eq!(ledger.settle(&[], |_| Held::Write(2), whole), Losses { acknowledged: 1, ..Losses::default() });
    }

    #[test]
    fn a_command_is_torn_if_a_part_of_it_is_there() {
        let torn = |first, second| {
            let held = |number| Held::Write([first, second][number as usize]);
            ledger().settle(std::slice::from_ref(&(0..2)), held, whole).torn
        };
        assert_eq!([torn(3, 1), torn(3, 3), torn(2, 3), torn(2, 1)], [0, 1, 0, 1]);
    }

    #[test]
    fn after_a_cut_everything_is_as_it_was_found_and_stays_so() {
        let mut ledger = ledger();
        let held = |number: u32| [Held::Write(1), Held::Unreadable][number as usize];
        ledger.settle(&[], held, whole);
        assert_eq!(ledger.take_stock(held), 0);
        // What is lost is lost once.
        assert_eq!([(); 2].map(|()| ledger.take_stock(|_| Held::Write(1))), [1, 0]);
        ledger.sent(1..2);
        ledger.answered(1..2);
        let covered = ledger.flush_sent();
        ledger.flush_answered(&covered);
        assert_eq!(ledger.take_stock(|number| Held::Write([1, 2][number as usize])), 0);
    }
}
