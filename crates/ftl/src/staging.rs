//! The collector's buffer: units that reads have brought and that wait to be programmed.
//!
//! Kept as runs of neighbouring units, a bit each, in the order in which they came: what a read brings lies together,
//! so that its valid bits, its tags and its superblock are looked up once and not for every unit.

use ssdlab_nand::UnitAddress;

use crate::map::Validity;

/// Units among the 64 from `start` on: bit `k` stands for unit `start + k`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    pub start: UnitAddress,
    pub units: u64,
}

/// See the module's own page.
#[derive(Clone, Debug, Default)]
pub struct Staging {
    /// From `head` on; those before it are gone, and make room when there are many of them.
    runs: Vec<Run>,
    head: usize,
    /// Units in all runs, those included that have died since they were read.
    len: u32,
    /// What [`Staging::take`] took.
    taken: Vec<Run>,
}

impl Staging {
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The unit that has waited longest.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<UnitAddress> {
        self.runs.get(self.head).map(|run| run.start + run.units.trailing_zeros())
    }

    #[inline]
    pub fn push(&mut self, run: Run) {
        if run.units != 0 {
            self.len += run.units.count_ones();
            if self.head > 64 {
                self.close_up();
            }
            self.runs.push(run);
        }
    }

    /// Takes the first `wanted` units that are still valid, and drops the dead ones before them. If there are fewer,
    /// and `all` is not set, the living stay. Returns how many were taken; [`Staging::taken`] tells which.
    #[inline]
    pub fn take(&mut self, wanted: u32, all: bool, validity: &Validity) -> u32 {
        self.taken.clear();
        let (mut units, mut passed) = (0, 0);
        for at in self.head..self.runs.len() {
            let run = self.runs[at];
            let valid = run.units & validity.span(run.start);
            let here = valid.count_ones();
            passed += run.units.count_ones();
            if units + here < wanted {
                if valid != 0 {
                    self.taken.push(Run { start: run.start, units: valid });
                }
                units += here;
                continue;
            }
            let mut rest = valid;
            for _ in units..wanted {
                rest &= rest - 1;
            }
            let first = valid ^ rest;
            self.taken.push(Run { start: run.start, units: first });
            // What lies behind the last unit taken stays, be it alive or not.
            let behind = run.units & !(u64::MAX >> first.leading_zeros());
            self.len = self.len - passed + behind.count_ones();
            self.runs[at].units = behind;
            self.head = at + usize::from(behind == 0);
            return wanted;
        }
        if all {
            self.runs.clear();
            (self.head, self.len) = (0, 0);
            return units;
        }
        self.keep_valid(validity);
        0
    }

    /// The runs of the last [`Staging::take`].
    #[inline]
    #[must_use]
    pub fn taken(&self) -> &[Run] {
        &self.taken
    }

    fn close_up(&mut self) {
        self.runs.drain(..self.head);
        self.head = 0;
    }

    #[cold]
    fn keep_valid(&mut self, validity: &Validity) {
        self.close_up();
        for run in &mut self.runs {
            run.units &= validity.span(run.start);
        }
        self.settle();
    }

    /// Forgets the runs that `keep` does not want.
    pub fn retain(&mut self, mut keep: impl FnMut(UnitAddress) -> bool) {
        self.close_up();
        self.runs.retain(|run| keep(run.start));
        self.settle();
    }

    /// Whether any unit that waits is such a one; the units of a run lie in one block.
    pub fn holds(&self, such: impl Fn(UnitAddress) -> bool) -> bool {
        self.runs[self.head..].iter().any(|run| such(run.start))
    }

    fn settle(&mut self) {
        self.runs.retain(|run| run.units != 0);
        self.len = self.runs.iter().map(|run| run.units.count_ones()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(units: &[u32]) -> Validity {
        let mut v = Validity::new(256, 8);
        units.iter().for_each(|&u| v.set_row(u & !7, 1 << (u & 7)));
        v
    }

    fn list(taken: &[Run]) -> Vec<u32> {
        taken.iter().flat_map(|r| (0..64).filter(|k| r.units >> k & 1 != 0).map(|k| r.start + k)).collect()
    }

    #[test]
    fn units_come_out_in_order_and_the_dead_are_dropped() {
        let mut s = Staging::default();
        s.push(Run { start: 8, units: 0b1011 });
        s.push(Run { start: 128, units: 0b111 });
        assert_eq!(s.len(), 6);
        let v = valid(&[8, 11, 128, 130]);
        assert_eq!(s.take(3, false, &v), 3);
        assert_eq!(list(s.taken()), [8, 11, 128]);
        // 129 is dead but lies behind what was taken.
        assert_eq!(s.len(), 2);
        assert_eq!(s.take(3, false, &v), 0);
        assert_eq!(s.len(), 1);
        assert_eq!(s.take(3, true, &v), 1);
        assert_eq!(list(s.taken()), [130]);
        assert!(s.is_empty());
    }
}
