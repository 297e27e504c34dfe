//! The collector's buffer: units that reads have brought and that wait to be programmed.
//!
//! Kept as runs of neighbouring units, a bit each, in the order in which they came: what a read brings lies together,
//! so that its valid bits, its tags and its superblock are looked up once and not for every unit.

use crate::page_map::superblock::SuperblockId;
use ssdlab_nand::UnitAddress;

use crate::page_map::compression::{Extents, MOST, Pack};
use crate::page_map::validity::Validity;

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
    /// What [`Staging::take_packed`] took.
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

    /// How many units a row of `wanted` takes of those that are still valid: all of them, or with `all` what there is if
    /// there are fewer; otherwise none. [`Staging::front_run`] tells which, and [`Staging::take_front`] takes them.
    #[inline]
    pub fn begin_row(&mut self, wanted: u32, all: bool, validity: &Validity) -> u32 {
        let mut units = 0;
        for run in &self.runs[self.head..] {
            units += (run.units & validity.span(run.start)).count_ones();
            if units >= wanted {
                return wanted;
            }
        }
        self.keep_valid(validity);
        if all { units } else { 0 }
    }

    /// What is valid of the first run; nothing, if all of it has died.
    #[inline]
    #[must_use]
    pub fn front_run(&self, validity: &Validity) -> Run {
        let Run { start, units } = self.runs[self.head];
        Run { start, units: units & validity.span(start) }
    }

    /// Takes these units of the first run, all that are valid of it, or, where they fill a row (`last`), the first of them.
    #[inline]
    pub fn take_front(&mut self, taken: u64, last: bool) {
        let units = self.runs[self.head].units;
        // What lies behind the last unit that fills a row stays, be it alive or not.
        let behind = if last { units & !(u64::MAX >> taken.leading_zeros()) } else { 0 };
        self.len -= (units ^ behind).count_ones();
        self.runs[self.head].units = behind;
        self.head += usize::from(behind == 0);
    }

    /// Takes a row where logical units take several of flash each: those that came first, as far as they fill `wanted` to
    /// the last unit. Only where the last of a victim meet those of the next they all go, so that nothing holds the
    /// victim up, even if they leave a gap. Every run taken is one extent.
    pub fn take_packed(
        &mut self,
        wanted: u32,
        all: bool,
        validity: &Validity,
        extents: &Extents,
        victim_of: impl Fn(UnitAddress) -> SuperblockId,
    ) -> u32 {
        self.taken.clear();
        // Run, first unit and size of those that it is filled from.
        let (mut pieces, mut sizes) = ([(0, 0); MOST], [0; MOST]);
        let (mut n, mut total, mut at) = (0, 0, self.head);
        let (mut seen, mut victim, mut last_of_victim) = (0, None, 0);
        while at < self.runs.len() {
            let run = self.runs[at];
            let mut begins = run.units & validity.span(run.start) & extents.span(run.start);
            let of = victim_of(run.start);
            while begins != 0 && total < wanted {
                let unit = begins.trailing_zeros();
                begins &= begins - 1;
                let size = extents.len(run.start + unit);
                (pieces[n], sizes[n]) = ((at, unit), size as u8);
                if *victim.get_or_insert(of) == of {
                    last_of_victim = n + 1;
                }
                (n, total) = (n + 1, total + size);
                seen = unit + size;
            }
            if total >= wanted {
                break;
            }
            at += 1;
        }
        if total < wanted && !all {
            self.keep_valid(validity);
            return 0;
        }
        let first = if last_of_victim < n { last_of_victim } else { 0 };
        let pack = Pack::with_first(&sizes[..n], first, wanted);
        let bits = |k: usize| u64::MAX >> (64 - sizes[k]);
        for k in pack.order() {
            let (run, first) = pieces[k];
            self.taken.push(Run { start: self.runs[run].start + first, units: bits(k) });
        }
        if total < wanted {
            self.runs.clear();
            (self.head, self.len) = (0, 0);
            return pack.units;
        }
        // What was not looked at, and what was passed over, stays.
        let gone: u32 = self.runs[self.head..=at].iter().map(|run| run.units.count_ones()).sum();
        self.runs[self.head..at].iter_mut().for_each(|run| run.units = 0);
        self.runs[at].units &= !(u64::MAX >> (64 - seen));
        for k in (0..n).filter(|&k| pack.chosen >> k & 1 == 0) {
            let (run, first) = pieces[k];
            self.runs[run].units |= bits(k) << first;
        }
        let left: u32 = self.runs[self.head..=at].iter().map(|run| run.units.count_ones()).sum();
        self.len = self.len - gone + left;
        // Closes up what stays, so that the front is never an empty run.
        let mut to = at + 1;
        for from in (self.head..=at).rev() {
            if self.runs[from].units != 0 {
                to -= 1;
                self.runs[to] = self.runs[from];
            }
        }
        self.head = to;
        pack.units
    }

    /// The runs of the last [`Staging::take_packed`].
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

    fn at(unit: u32) -> UnitAddress {
        UnitAddress::new(unit)
    }

    fn valid(units: &[u32]) -> Validity {
        let mut v = Validity::new(256, 8);
        units.iter().for_each(|&u| v.set_row(at(u & !7), 1 << (u & 7)));
        v
    }

    fn list(taken: &[Run]) -> Vec<u32> {
        taken.iter().flat_map(|r| (0..64).filter(|k| r.units >> k & 1 != 0).map(|k| r.start.number() + k)).collect()
    }

    /// Takes a row.
    fn take(s: &mut Staging, wanted: u32, all: bool, validity: &Validity) -> Vec<u32> {
        let (n, mut taken) = (s.begin_row(wanted, all, validity), Vec::new());
        while taken.len() < n as usize {
            let mut run = s.front_run(validity);
            while run.units.count_ones() > n - taken.len() as u32 {
                run.units &= !(1 << (63 - run.units.leading_zeros()));
            }
            taken.extend(list(&[run]));
            s.take_front(run.units, taken.len() == wanted as usize);
        }
        taken
    }

    #[test]
    fn units_come_out_in_order_and_the_dead_are_dropped() {
        let mut s = Staging::default();
        s.push(Run { start: at(8), units: 0b1011 });
        s.push(Run { start: at(128), units: 0b111 });
        assert_eq!(s.len(), 6);
        let v = valid(&[8, 11, 128, 130]);
        assert_eq!(take(&mut s, 3, false, &v), [8, 11, 128]);
        // 129 is dead but lies behind what was taken.
        assert_eq!(s.len(), 2);
        assert!(take(&mut s, 3, false, &v).is_empty());
        assert_eq!(s.len(), 1);
        assert_eq!(take(&mut s, 3, true, &v), [130]);
        assert!(s.is_empty());
        s.push(Run { start: at(8), units: 0b10 });
        assert!(take(&mut s, 3, true, &v).is_empty());
        assert!(s.is_empty());
    }

    #[test]
    fn extents_fill_a_row_to_the_last_unit_and_what_does_not_fit_stays_in_front() {
        let mut e = Extents::new(256, 8);
        e.set_row(at(0), 0b0111_0101); // 2, 2, 1, 1, 2
        e.set_row(at(64), 0b0001_0001); // 4, 4
        let mut v = Validity::new(256, 8);
        v.set_row(at(0), 0xFF);
        v.set_row(at(64), 0xFF);
        let mut s = Staging::default();
        s.push(Run { start: at(0), units: 0b1111_1100 });
        s.push(Run { start: at(64), units: 0xFF });
        // 2 and 4 of it are taken for 6 of 8, and the singles; the last pair has to wait.
        v.clear_span(at(5), 0b1);
        assert_eq!(s.take_packed(8, false, &v, &e, |_| SuperblockId::default()), 8);
        let taken: Vec<_> = s.taken().iter().map(|r| (r.start.number(), r.units.count_ones())).collect();
        assert_eq!(taken, [(64, 4), (2, 2), (6, 2)]);
        assert_eq!((s.len(), s.front()), (5, Some(at(4))));
        v.clear_span(at(2), 0b11);
        v.clear_span(at(6), 0b11);
        v.clear_span(at(64), 0xF);
        assert_eq!(s.take_packed(8, false, &v, &e, |_| SuperblockId::default()), 0);
        assert_eq!(s.take_packed(8, true, &v, &e, |_| SuperblockId::default()), 5);
        let taken: Vec<_> = s.taken().iter().map(|r| (r.start.number(), r.units.count_ones())).collect();
        assert_eq!(taken, [(68, 4), (4, 1)]);
        assert!(s.is_empty());
    }

    #[test]
    fn the_last_extents_of_a_victim_are_never_passed_over() {
        let mut e = Extents::new(256, 8);
        e.set_row(at(0), 0b0011_0001); // 4, 1, 3
        e.set_row(at(64), 0b0001_0001); // 4, 4
        let mut v = Validity::new(256, 8);
        v.set_row(at(0), 0b1_0000);
        v.set_row(at(64), 0xFF);
        let mut s = Staging::default();
        s.push(Run { start: at(0), units: 0b1_0000 });
        s.push(Run { start: at(64), units: 0xFF });
        assert_eq!(s.take_packed(8, false, &v, &e, |unit| SuperblockId::new(unit.number() / 64)), 5);
        let taken: Vec<_> = s.taken().iter().map(|r| (r.start.number(), r.units.count_ones())).collect();
        assert_eq!(taken, [(4, 1), (64, 4)]);
        assert_eq!((s.len(), s.front()), (4, Some(at(68))));
    }
}
