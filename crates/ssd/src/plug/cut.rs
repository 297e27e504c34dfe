//! The power goes.

use ssdlab_core::Nanos;
use ssdlab_ftl::{FlashOp, OpKind, Translation, Undone};
use ssdlab_nand::{DieId, Interrupted};

use super::capacitors::Capacitors;
use super::spec::Protection;
use super::start::{Starting, TimedRepair};
use crate::SimulatedSsd;
use crate::backend::{AtWork, NEVER};

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// See [`ssdlab_device::Plug::cut`].
    pub(super) fn cut_power(&mut self, now: Nanos) {
        assert!(!self.plug.out, "the power is off already");
        self.cut_erase(now);
        let rests = self.frontend.in_flight.is_none() && self.backend.next_event().0 == NEVER;
        let clean = rests && self.plug.stands_by;
        self.plug.clean = clean;
        self.plug.unclean += u64::from(!clean);
        self.plug.stands_by = false;
        let starting = std::mem::take(&mut self.plug.starting);
        let held_up = if now < starting.ready {
            self.cut_while_starting(now, starting);
            0
        } else {
            self.cut_at_work(now)
        };
        self.forget_all(now);
        self.probe.power_cut(now + held_up);
        // A drive that starts or erases is ahead of its host: it has not come that far.
        self.now = now + held_up;
        self.plug.out = true;
        self.plug.since = now;
        self.feel(now);
    }

    /// Returns how long capacitors have kept it at work.
    fn cut_at_work(&mut self, now: Nanos) -> Nanos {
        self.plug.destroyed.clear();
        self.now = self.now.max(now);
        self.drop_commands(now);
        let began = self.now;
        if self.plug.capacitors.protects == Protection::Everything {
            self.save_while_energy_lasts();
        }
        let mut at_work = self.backend.at_work(self.now, self.translation.medium());
        if self.translation.is_frozen() {
            // Its dies only seem to program.
            at_work.retain(|work| work.op.kind() == OpKind::Erase);
        }
        let layout = self.translation.medium().layout();
        let die_of = |op: &FlashOp| self.backend.die_of(layout.die_of(op.block()).0);
        let left: Vec<(DieId, Nanos)> = at_work.iter().map(|work| (die_of(&work.op), work.ends - self.now)).collect();
        let carried = self.plug.capacitors.carry(&left, self.now - began);
        let of_die = |(work, carried): (&AtWork, bool)| -> Vec<Interrupted> {
            [work.op].iter().chain(&work.beside).map(|op| interrupted(op, carried)).collect()
        };
        let under_way: Vec<Interrupted> = at_work.iter().zip(carried).flat_map(of_die).collect();
        // What was queued counts no more from here on, but no count goes back behind what the drive has said.
        self.plug.said = self.flash_counters();
        let ops = at_work.iter().flat_map(|work| [&work.op].into_iter().chain(&work.beside));
        ops.for_each(|op| self.translation.cut_short(op));
        self.translation.cut_power(&under_way);
        self.now - began
    }

    /// Goes on without a host until everything accepted is on flash, or the capacitors are empty.
    fn save_while_energy_lasts(&mut self) {
        let limit = self.now.saturating_add(self.plug.capacitors.hold_up());
        loop {
            self.ask(|translation, queues| translation.save_on_capacitors(queues));
            self.backend.leave_erases_out(|block| self.translation.leaves_erase_out(block));
            let trims = self.translation.unsaved_trims();
            if self.translation.unfinished_units() == 0 && trims.is_none_or(|trims| trims.is_empty()) {
                return;
            }
            let (die_at, d) = self.backend.next_event();
            let processed_at = self.firmware.processor.next_event().unwrap_or(NEVER);
            let next = die_at.min(processed_at);
            if next > limit || next == NEVER {
                self.now = self.now.max(limit.min(next));
                return;
            }
            if processed_at < die_at {
                self.processed();
            } else {
                self.die_event(die_at, d);
            }
        }
    }

    /// Not all repairs of the last recovery have been done.
    fn cut_while_starting(&mut self, now: Nanos, starting: Starting) {
        // What waits for the drive to be ready has not begun.
        self.plug.said = self.flash_counters();
        self.translation.cut_power(&[]);
        for (timed, undone) in undone(&starting.repairs, now, &self.plug.capacitors).into_iter().rev() {
            // An erase has worn its block already, begun or not.
            if undone == Undone::NotBegun && timed.repair.kind.page().is_some() {
                self.flash = self.flash.beyond(&self.counted(&timed));
                self.backend.count_out(&timed.steps);
            }
            self.translation.undo_repair(&timed.repair, undone);
        }
    }

    /// Commands under way are never answered.
    fn drop_commands(&mut self, now: Nanos) {
        self.frontend.drop_commands(now);
        if let Some(heat) = &mut self.heat {
            heat.drop_commands(now);
        }
        self.firmware.processor.drop_commands();
        self.firmware.rounds.drop_commands();
        self.translation.forget_map_reads();
        self.backend.drop_reads(|op| self.translation.awaits_map_read(op));
    }

    /// Nothing goes on.
    pub(super) fn forget_all(&mut self, now: Nanos) {
        self.drop_commands(now);
        self.frontend.link_sleep.power_cut(now);
        self.firmware.power_cut(now);
        self.backend.power_cut(self.now);
    }
}

/// The repairs that a cut comes before the end of, in order, and how far each had come.
fn undone(repairs: &[TimedRepair], now: Nanos, capacitors: &Capacitors) -> Vec<(TimedRepair, Undone)> {
    let has_begun = |timed: &TimedRepair| timed.from < now;
    let unfinished: Vec<&TimedRepair> = repairs.iter().filter(|timed| timed.to > now).collect();
    // A die is at one of them.
    let begun = (0u32..).zip(unfinished.iter().filter(|timed| has_begun(timed)));
    let left: Vec<(DieId, Nanos)> = begun.map(|(die, timed)| (DieId::new(die), timed.to - now)).collect();
    let mut carried = capacitors.carry(&left, 0).into_iter();
    let mut how_far = |timed: &TimedRepair| match has_begun(timed) {
        true => Undone::Torn { spares_older: carried.next().expect("one for each that has begun") },
        false => Undone::NotBegun,
    };
    unfinished.into_iter().map(|timed| (*timed, how_far(timed))).collect()
}

fn interrupted(op: &FlashOp, carried: bool) -> Interrupted {
    let block = op.block();
    match op.kind() {
        OpKind::Erase => Interrupted::Erase { block },
        _ => Interrupted::Program { block, page: op.page(), spares_older: carried },
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_device::{Device, Request};
    use ssdlab_ftl::{Repair, RepairKind};
    use ssdlab_nand::{BlockId, DieSpec, Geometry, PageOrder};

    use super::*;
    use crate::backend::RepairSteps;
    use crate::spec::DriveSpec;
    use crate::{PowerLossSpec, Ssd};

    fn small() -> Ssd {
        let die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 40,
            pages_per_block: 16,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 2,
            page_order: PageOrder::Alternating,
        });
        let mut drive = DriveSpec::plain("small", 4, 1600 * 4096);
        // What it has to say of changes that a cut undid is queued as it starts.
        drive.mapping.journal = true;
        Ssd::new("small", &drive, &die, 1).expect("it can be built")
    }

    /// Rows that dies were at count, torn as they are; those that waited for them do not.
    #[test]
    fn what_dies_were_at_when_the_power_went_counts_and_what_waited_does_not() {
        let mut ssd = small();
        let mut done = Vec::new();
        for tag in 0..4 {
            ssd.submit(0, Request::write(tag, tag * 65_536, 65_536)).expect("it is within the drive");
        }
        // Until the first programs are under way.
        let mut now = 0;
        while ssd.backend.at_work(now, ssd.translation.medium()).is_empty() {
            now += 1000;
            ssd.advance(now, &mut done);
        }
        let at_work = ssd.backend.at_work(now, ssd.translation.medium()).len() as u64;
        let queued = ssd.translation.counters().host_rows;
        assert!(queued > at_work, "{at_work} of {queued} rows are under way");
        ssd.cut_power(now);
        assert_eq!(ssd.translation.counters().host_rows, at_work);
    }

    #[test]
    fn a_repair_that_the_energy_carries_spares_older_pages_whatever_becomes_of_others() {
        let die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 8,
            pages_per_block: 4,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        });
        let repair = |block, from, to| {
            let repair = Repair { block: BlockId::new(block), kind: RepairKind::Fill { page: 0 } };
            TimedRepair { repair, steps: RepairSteps::default(), from, to }
        };
        // The first has ended. The second needs 2 ms, the third waits for it, and the last needs 1 ms: 1.165 mJ, see `capacitors.rs`.
        let ms = 1_000_000;
        let repairs =
            [repair(0, 0, 2 * ms), repair(1, 2 * ms, 5 * ms), repair(2, 5 * ms, 6 * ms), repair(16, 0, 4 * ms)];
        for (energy_mj, spared) in [(1.0, [false, false]), (1.2, [false, true]), (3.0, [true, true])] {
            let protects = Protection::DataAtRest;
            let spec = PowerLossSpec { protects, energy_mj: Some(energy_mj), ..PowerLossSpec::default() };
            let capacitors = Capacitors::new(&spec, &DriveSpec::plain("plain", 2, 0), &die);
            let found: Vec<(u32, Undone)> = undone(&repairs, 3 * ms, &capacitors)
                .into_iter()
                .map(|(timed, undone)| (timed.repair.block.number(), undone))
                .collect();
            let [second, last] = spared.map(|spares_older| Undone::Torn { spares_older });
            assert_eq!(found, [(1, second), (2, Undone::NotBegun), (16, last)], "{energy_mj} mJ");
        }
    }
}
