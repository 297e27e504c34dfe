//! The power comes back: how long the drive takes until it is ready.
//!
//! Time to be ready = boot + reading the map (checkpoint or map pages) and the journal that these may not know of, over all
//! channels + putting its entries into the map + after an unclean cut, finding the end of what was open, and repairs. STANDBY
//! IMMEDIATE writes out the journal, not the pieces of the map that it is about. If the last
//! erase of everything was cut short, the rest of it comes on top. A drive without a journal reads the spare area of every row
//! instead, or of those rows that its translation needs. Boot and the processor's time for an entry are estimates of the drive
//! file; the rest follows from the mechanisms.
//!
//! What is read and written then counts in the drive's counters and its energy: copies of blocks that have gone bad as moved,
//! copies of older pages as such, filled rows as the firmware's own.
//!
//! Liberties, stated: dies that do repairs side by side do not wait for each other's transfers. Rows take the times of the die's
//! file, whatever `[variation]` says; erases take the block's own. A repair that the power cuts short counts as a whole, and what is read to find the map takes no energy beyond the controller's.

use ssdlab_core::Nanos;
use ssdlab_device::FlashCounters;
use ssdlab_ftl::{JOURNAL_ENTRY_BYTES, Recovered, Repair, RepairKind, Translation};
use ssdlab_nand::{CellMode, LogicalPage, LogicalPages};

use crate::SimulatedSsd;
use crate::backend::RepairSteps;
use crate::probe::Checks;

/// A repair, and when its die is at it.
#[derive(Clone, Copy, Debug)]
pub struct TimedRepair {
    pub repair: Repair,
    pub steps: RepairSteps,
    pub from: Nanos,
    pub to: Nanos,
}

/// A drive that is not ready yet; the default was always ready.
#[derive(Clone, Debug, Default)]
pub struct Starting {
    pub ready: Nanos,
    pub repairs: Vec<TimedRepair>,
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// See [`ssdlab_device::Plug::restore`].
    pub(super) fn start(&mut self, now: Nanos) -> Nanos {
        assert!(self.plug.out, "the power is on already");
        self.feel(now);
        // Capacitors may have kept it at work for a while.
        self.now = now.max(self.now);
        self.plug.out = false;
        self.plug.cycles += 1;
        self.plug.off += now.saturating_sub(self.plug.since);
        let recovered = self.translation.recover();
        self.settle_checks(&recovered);
        self.plug.lost = recovered.lost.iter().map(|lost| lost.page).collect();
        let mut starting = self.time_repairs(&recovered);
        starting.ready += self.security.left;
        let ready = starting.ready;
        for timed in &starting.repairs {
            self.flash = self.flash.plus(&self.counted(timed));
            self.backend.count_repair(&timed.steps);
            if let (Some(correction), Some(page)) = (self.backend.correction(), timed.repair.kind.page()) {
                correction.programs(timed.repair.block, page, timed.from, &mut self.translation);
            }
        }
        self.plug.starting = starting;
        self.plug.destroyed.extend(recovered.lost.into_iter().filter(|lost| lost.mode.is_some()));
        self.now = ready;
        self.firmware.processor.rest_until(ready);
        self.firmware.idle.begin(ready);
        if self.frontend.link_sleep.is_watched() {
            self.frontend.link_sleep.rest(ready, true);
        }
        self.ask(|translation, queues| translation.resume(queues));
        ready
    }

    /// From now on what the drive has found counts as what the host has written.
    fn settle_checks(&mut self, recovered: &Recovered) {
        let all = LogicalPage::all(self.translation.logical_pages());
        let (translation, probe) = (&self.translation, &mut self.probe);
        probe.check(Checks::begin_trimmed_anew);
        let mut settle = |page: LogicalPage| {
            let number = translation.write_number(page).unwrap_or(0);
            probe.check(|checks| checks.set_last_write(page, number));
        };
        match &recovered.changed {
            Some(pages) => pages.iter().for_each(|&page| settle(page)),
            None => all.each().for_each(&mut settle),
        }
        if let Some(correction) = self.backend.correction_mut() {
            correction.settle_losses(|page| translation.write_number(page));
        }
    }

    fn time_repairs(&self, recovered: &Recovered) -> Starting {
        let from = self.now + self.plug.times.boot + self.reading(recovered);
        let layout = self.translation.medium().layout();
        let mut free = vec![from; layout.dies as usize];
        let timed = |&repair: &Repair| {
            let die = &mut free[self.backend.die_of(layout.die_of(repair.block).0).index()];
            let from = *die;
            let steps = self.steps_of(&repair);
            *die += self.backend.time_to_repair(&steps);
            TimedRepair { repair, steps, from, to: *die }
        };
        let repairs: Vec<TimedRepair> = recovered.repairs.iter().map(timed).collect();
        Starting { ready: free.into_iter().max().unwrap_or(from), repairs }
    }

    fn steps_of(&self, repair: &Repair) -> RepairSteps {
        let medium = self.translation.medium();
        let (mode, native) = (medium.mode(repair.block), medium.native_mode());
        let programs = |page| RepairSteps { programs: Some((mode, page)), ..RepairSteps::default() };
        match repair.kind {
            RepairKind::Erase { erased } => RepairSteps { erases: Some(erased), ..RepairSteps::default() },
            RepairKind::Fill { page } => programs(page),
            RepairKind::Copy { page } => RepairSteps { reads: Some((mode, page)), ..programs(page) },
            RepairKind::Save { page, of } => RepairSteps { reads: Some((native, of)), ..programs(page) },
            RepairKind::Rebuild { page, reads } => {
                RepairSteps { reads: Some((mode, page)), others: reads, ..programs(page) }
            }
            RepairKind::Rescue { page, of } => RepairSteps { reads: Some((CellMode::Slc, of)), ..programs(page) },
        }
    }

    /// What a repair is in the drive's counters.
    pub(super) fn counted(&self, timed: &TimedRepair) -> FlashCounters {
        let layout = self.translation.medium().layout();
        let (bytes, nothing) = (u64::from(layout.row_bytes()), FlashCounters::default());
        match timed.repair.kind {
            RepairKind::Erase { .. } => FlashCounters { block_erases: layout.planes.into(), ..nothing },
            RepairKind::Fill { .. } => FlashCounters { metadata_program_bytes: bytes, ..nothing },
            RepairKind::Copy { .. } => FlashCounters { gc_program_bytes: bytes, ..nothing },
            RepairKind::Save { .. } | RepairKind::Rebuild { .. } | RepairKind::Rescue { .. } => {
                FlashCounters { safety_program_bytes: bytes, ..nothing }
            }
        }
    }

    /// Time to read what the map is made of.
    fn reading(&self, recovered: &Recovered) -> Nanos {
        let medium = self.translation.medium();
        let (layout, mode) = (medium.layout(), medium.native_mode());
        let look = self.backend.time_to_look(mode);
        if !recovered.keeps_log {
            let all = u64::from(layout.blocks) * u64::from(layout.pages);
            return recovered.looks.map_or(all, u64::from) * look;
        }
        let clean = self.plug.clean;
        let journal = u64::from(recovered.journal_rows);
        let rows = u64::from(recovered.map_rows) + journal;
        let entries = journal * u64::from(layout.row_bytes() / JOURNAL_ENTRY_BYTES);
        let replay = entries * self.plug.times.replay_entry_ps / 1000;
        // A search for the end of each open block, by halves, and the rows since the last one of the journal.
        let halves = u64::from(u32::BITS - layout.pages.leading_zeros());
        let since = u64::from(layout.row_bytes() / JOURNAL_ENTRY_BYTES) / u64::from(layout.row_units * layout.dies) + 1;
        let open = if clean { 0 } else { (u64::from(recovered.open_superblocks) * halves + since) * look };
        self.backend.time_to_read_rows(rows) + replay + open
    }
}
