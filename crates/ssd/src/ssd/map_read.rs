//! Reads that wait for a piece of the map, on drives whose DRAM does not hold it as a whole.

use ssdlab_core::Cause;
use ssdlab_ftl::NOBODY;

use super::schedule::{Finished, Wake};
use super::{SimulatedSsd, unit_range};

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    /// Asks for the pieces of the map that a decoded read needs; returns whether it has to wait for any.
    #[inline]
    pub(super) fn waits_for_map(&mut self, slot: u32) -> bool {
        self.ftl.loads_on_demand() && self.ask_for_map(slot)
    }

    fn ask_for_map(&mut self, slot: u32) -> bool {
        let (first, last) = unit_range(&self.commands.slot(slot).request);
        let mut wake = Wake { schedule: &mut self.schedule, dies: 0 };
        let parts = self.ftl.look_up(first..last, slot as u16, &mut wake);
        let dies = wake.dies;
        self.schedule.begin_idle(dies, &mut self.ftl, EXPLAIN);
        self.commands.slot(slot).parts = parts;
        parts > 0
    }

    /// A piece of the map has come; the last one that a read waits for lets it begin.
    pub(super) fn map_read_done(&mut self, finished: &Finished) {
        if finished.op.tag == NOBODY {
            return;
        }
        let (slot, now) = (u32::from(finished.op.tag), self.schedule.now);
        let c = self.commands.slot(slot);
        c.parts -= 1;
        if c.parts > 0 {
            return;
        }
        let decoded = std::mem::replace(&mut c.decoded, now);
        if EXPLAIN {
            let began = finished.began.max(decoded);
            let breakdown = &mut self.commands.account(slot).breakdown;
            self.schedule.explain_wait(finished.op.die.into(), decoded, began, Cause::Queue, breakdown);
            breakdown.add(Cause::Metadata, now - began);
        }
        self.begin_read(slot);
    }
}
