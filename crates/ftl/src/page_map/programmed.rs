//! Which rows have been programmed of those that were queued: a power cut takes the others out of the counts.
//!
//! Rows count when they are queued, so that the books balance at any time. What a cut finds queued never comes to be, and is
//! queued and counted anew if it is still wanted. Units of the host and of the collector stay counted: they number what was
//! accepted, and are the clock of ages.

use super::PageMap;
use super::parts::State;
use crate::op::{FlashOp, OpKind};

const KINDS: usize = OpKind::RetireProgram as usize + 1;

/// Programs that have ended, by kind, as far as they are still among the rows counted.
#[derive(Clone, Debug, Default)]
pub struct Programmed([u64; KINDS]);

impl Programmed {
    #[inline(always)]
    pub fn ended(&mut self, kind: OpKind) {
        self.0[kind as usize] += 1;
    }

    /// Rows among so many of these kinds that no program has ended for.
    fn queued(&self, rows: u64, kinds: &[OpKind]) -> u64 {
        rows.saturating_sub(kinds.iter().map(|&kind| self.0[kind as usize]).sum())
    }
}

impl PageMap {
    /// See [`crate::Translation::cut_short`].
    pub(super) fn cut_short(&mut self, op: &FlashOp) {
        if op.kind().is_program() && !self.is_frozen() {
            self.programmed.ended(op.kind());
        }
    }

    /// Rows counted, and what programs them: of the host, of the collector, folded, of the map, of older pages, out of bad blocks.
    fn counted(&self) -> [(u64, &'static [OpKind]); 6] {
        [
            (self.counters.host_rows, &[OpKind::HostProgram]),
            (self.counters.gc_rows, &[OpKind::GcProgram]),
            (self.counters.fold_rows, &[OpKind::FoldProgram, OpKind::FoldCopy]),
            (self.log.rows_written(), &[OpKind::MetadataProgram]),
            (self.copies.as_ref().map_or(0, |copies| copies.rows()), &[OpKind::SafetyProgram]),
            (self.bad_blocks.rows(), &[OpKind::RetireProgram]),
        ]
    }

    /// Everything counted has been programmed: of a drive that was saved, what was not had been taken out.
    pub(super) fn all_is_programmed(&mut self) {
        let mut rows = [0; KINDS];
        self.counted().into_iter().for_each(|(count, kinds)| rows[kinds[0] as usize] = count);
        self.programmed = Programmed(rows);
    }

    /// The power has gone: rows that were queued, and reads that were asked for, count no more.
    pub(super) fn take_back_queued(&mut self) {
        let [host, gc, folded, of_map, of_older, retired] =
            self.counted().map(|(count, kinds)| self.programmed.queued(count, kinds));
        self.counters.host_rows -= host;
        self.counters.gc_rows -= gc;
        self.counters.fold_rows -= folded;
        self.log.take_back_rows(of_map);
        if let Some(copies) = &mut self.copies {
            copies.take_back_rows(of_older);
        }
        self.bad_blocks.take_back_rows(retired);
        let read: u64 = self.collector.domains().map(|domain| u64::from(domain.units_reading())).sum();
        self.counters.gc_read_units = self.counters.gc_read_units.saturating_sub(read);
        let merged = self.parts.iter().map(|(_, part)| match part.state {
            State::Reading(unit) => u64::from(self.units_at(unit)),
            State::Waiting | State::LoadsMap => 0,
        });
        let merged = merged.sum();
        self.counters.merge_read_units = self.counters.merge_read_units.saturating_sub(merged);
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieId, GrowingFaults, Interrupted, LogicalPage, PageOrder};

    use super::*;
    use crate::page_map::small;
    use crate::translation::{Translation, TranslationCounters};

    /// All rows that count.
    fn rows(c: &TranslationCounters) -> u64 {
        c.host_rows + c.gc_rows + c.fold_rows + c.metadata_rows + c.safety_rows + c.retire_rows
    }

    #[test]
    fn what_is_queued_when_the_power_goes_is_not_counted_as_programmed() {
        let mut map = small::map(true);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        (0..8).for_each(|page| _ = map.write(LogicalPage::new(page), 1, 0));
        map.dispatch(&mut ops);
        map.trim(LogicalPage::new(3).run(1), &mut ops);
        map.log.save_trims(&mut map.medium, &mut ops);
        let queued = map.counters();
        assert_eq!((queued.host_rows, queued.metadata_rows), (2, 2), "and a piece of the map");
        // The array is at the first row of the host; all others wait.
        let (_, first) = ops[0];
        assert_eq!(first.kind(), OpKind::HostProgram);
        map.began(&first);
        map.cut_short(&first);
        let torn = Interrupted::Program { block: first.block(), page: first.page(), spares_older: true };
        Translation::cut_power(&mut map, &[torn]);
        assert_eq!((map.counters().host_rows, map.counters().metadata_rows), (1, 0));
        // What the journal still has to say is counted once, however often the power goes.
        for _ in 0..3 {
            ops.clear();
            Translation::recover(&mut map);
            Translation::resume(&mut map, &mut ops);
            assert_eq!(map.counters().metadata_rows, 2);
            Translation::cut_power(&mut map, &[]);
            assert_eq!(map.counters().metadata_rows, 0);
        }
        ops.clear();
        Translation::recover(&mut map);
        Translation::resume(&mut map, &mut ops);
        small::work(&mut map, &mut ops);
        assert_eq!((map.counters().host_rows, map.counters().metadata_rows), (1, 2));
    }

    /// Ends the operation that was asked for first. Returns whether it was a program.
    fn step(map: &mut PageMap, ops: &mut Vec<(DieId, FlashOp)>) -> bool {
        let (die, op) = ops.remove(0);
        map.began(&op);
        map.done(die, op, ops);
        op.kind().is_program()
    }

    /// Of collectors that move, of parity, and of blocks that go bad: every program that has ended counts, and no other.
    #[test]
    fn after_each_cut_as_many_rows_count_as_dies_have_programmed() {
        let drives: [(fn() -> PageMap, u64); 4] = [
            (|| small::map(true), 0),
            (small::map_with_cache, 0),
            (|| small::map_with_parity(PageOrder::Alternating, 8), 0),
            (|| small::map(true), 700),
        ];
        for (k, (drive, faults)) in drives.into_iter().enumerate() {
            let mut map = drive();
            if faults > 0 {
                let growing = GrowingFaults { programs_per_failure: faults, erases_per_failure: 0, in_bursts: false };
                map.inject(growing, &Rng::new(4));
            }
            let (mut rng, mut ops): (Rng, Vec<(DieId, FlashOp)>) = (Rng::new(3), Vec::new());
            let (mut programmed, mut cuts, mut taken_back) = (0, 0, 0);
            for n in 0..6000u32 {
                let page = if n < small::PAGES { n } else { rng.below(small::PAGES.into()) as u32 };
                map.write(LogicalPage::new(page), 1 + (n % 100) as u8, 0);
                map.dispatch(&mut ops);
                let steps = if map.buffered_units() >= 15 { u64::MAX } else { rng.below(6) };
                for _ in 0..steps {
                    if ops.is_empty() || map.is_frozen() {
                        break;
                    }
                    programmed += u64::from(step(&mut map, &mut ops));
                }
                if map.is_read_only() {
                    break;
                }
                if n < small::PAGES || !rng.chance(1, 60) {
                    continue;
                }
                let counted = rows(&map.counters());
                let mut torn = Vec::new();
                if let Some(&(_, op)) = ops.first().filter(|(_, op)| op.kind().is_program() && rng.chance(1, 2)) {
                    map.began(&op);
                    map.cut_short(&op);
                    torn.push(Interrupted::Program { block: op.block(), page: op.page(), spares_older: true });
                    programmed += 1;
                }
                Translation::cut_power(&mut map, &torn);
                assert_eq!(rows(&map.counters()), programmed, "drive {k}, after {n} writes");
                (cuts, taken_back) = (cuts + 1, taken_back + counted - programmed);
                if faults == 0 {
                    let saved = Translation::save(&map);
                    map = drive();
                    assert_eq!(Translation::load(&mut map, &saved), Ok(()));
                }
                ops.clear();
                Translation::recover(&mut map);
                Translation::resume(&mut map, &mut ops);
            }
            assert!(cuts >= 3 && taken_back > 0, "drive {k}: {cuts} cuts, {taken_back} rows");
        }
    }
}
