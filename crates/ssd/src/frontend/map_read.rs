//! Reads that wait for a piece of the map, on drives whose DRAM does not hold it as a whole.

use ssdlab_ftl::{FOR_BUFFER, FlashOp, NOBODY, Translation};
use ssdlab_nand::DieId;

use crate::SimulatedSsd;
use crate::backend::Ended;
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

    /// A piece of the map has come; the last one that a read waits for lets it begin.
    #[inline(never)]
    pub(crate) fn map_read_done(&mut self, op: FlashOp, die: DieId) {
        let ended = &Ended { die, op };
        if ended.op.command() == NOBODY {
            return;
        }
        if ended.op.command() == FOR_BUFFER {
            return self.buffer_map_read_done(ended);
        }
        let (slot, now) = (Slot::of_read(ended.op.command()), self.now);
        let c = self.frontend.commands.slot(slot);
        c.parts -= 1;
        if c.parts > 0 {
            return;
        }
        let decoded = std::mem::replace(&mut c.decoded, now);
        self.probe.explain(|explanations| explanations.map_read_ended(slot, ended.die, decoded, now));
        self.begin_read(slot);
    }
}
