//! Reads that wait for a piece of the map, on drives whose DRAM does not hold it as a whole.

use std::ops::Range;

use ssdlab_ftl::{FOR_BUFFER, FlashOp, NOBODY, Translation};
use ssdlab_nand::{DieId, LogicalPage, LogicalPages};

use crate::SimulatedSsd;
use crate::slot::Slot;

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Asks for the pieces of the map that a decoded read needs; returns whether it has to wait for any.
    #[inline]
    pub(crate) fn waits_for_map(&mut self, slot: Slot) -> bool {
        self.translation.loads_on_demand() && self.ask_for_map(slot)
    }

    fn ask_for_map(&mut self, slot: Slot) -> bool {
        let (first, last) = self.unit.touched(&self.frontend.commands.slot(slot).request);
        let (translation, mut queues) = self.translation_and_queues();
        let parts = translation.look_up(first..last, slot.for_read(), &mut queues);
        self.begin_woken();
        self.frontend.commands.slot(slot).parts = parts;
        parts > 0
    }

    /// Asks for the pieces of the map that are needed to read pages ahead. Returns those whose entries are known; the others are
    /// read when theirs have come.
    #[cold]
    #[inline(never)]
    pub(super) fn known_ahead(&mut self, pages: Range<LogicalPage>) -> Vec<LogicalPage> {
        let (translation, mut queues) = self.translation_and_queues();
        pages.each().filter(|&page| translation.look_up(page.run(1), NOBODY, &mut queues) == 0).collect()
    }

    /// A piece of the map has come, perhaps for several at once, or for nobody.
    #[inline(never)]
    pub(crate) fn map_read_done(&mut self, op: FlashOp, die: DieId) {
        let waiting = self.translation.map_read_ended(&op);
        // Before the die goes on: it is asked what it did.
        let mut ready = Vec::new();
        for &(who, _) in waiting.iter().filter(|(who, _)| !matches!(*who, NOBODY | FOR_BUFFER)) {
            let slot = Slot::of_read(who);
            if self.entry_came(slot, die) {
                ready.push(slot);
            }
        }
        let of = |asker| waiting.iter().filter(move |(who, _)| *who == asker).map(|&(_, page)| page).collect();
        let (ahead, in_buffer): (Vec<LogicalPage>, Vec<LogicalPage>) = (of(NOBODY), of(FOR_BUFFER));
        // Before commands that have asked for the same meanwhile: they find it on its way.
        if !ahead.is_empty() {
            self.read_pages_ahead(ahead.into_iter());
        }
        if !in_buffer.is_empty() {
            self.buffer_map_read_done(&op, die, &in_buffer);
        }
        ready.into_iter().for_each(|slot| self.begin_read(slot));
    }

    /// An entry of the map has come. Returns whether it is the last that a read waits for, which can begin then.
    fn entry_came(&mut self, slot: Slot, die: DieId) -> bool {
        let now = self.now;
        let c = self.frontend.commands.slot(slot);
        if c.parts == 0 {
            return false; // the power has gone meanwhile, and the command with it
        }
        c.parts -= 1;
        if c.parts > 0 {
            return false;
        }
        let decoded = std::mem::replace(&mut c.decoded, now);
        self.probe.explain(|explanations| explanations.map_read_ended(slot, die, decoded, now));
        true
    }
}
