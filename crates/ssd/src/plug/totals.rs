//! What a drive has counted in its life, noted apart from its state: see [`ssdlab_device::Plug::totals`].

use serde::{Deserialize, Serialize};
use ssdlab_core::Nanos;
use ssdlab_device::{FlashCounters, HostCounters, LoadError, Specimen, is_plausible, is_plausible_time};
use ssdlab_ftl::Translation;

use crate::SimulatedSsd;
use crate::backend::{Correction, CorrectionCounters};
use crate::power::link_bytes;

#[derive(Serialize, Deserialize)]
pub(super) struct Totals {
    specimen: Specimen,
    host: HostCounters,
    flash: FlashCounters,
    cycles: u64,
    powered: Nanos,
}

impl Totals {
    /// Whether a drive can have lived so long.
    fn is_plausible(&self) -> bool {
        self.host.is_plausible()
            && self.flash.is_plausible()
            && self.cycles > 0
            && is_plausible(self.cycles)
            && is_plausible_time(self.powered)
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// What the flash has done in the drive's life: as far as it is known of each command, and what was noted besides. A count never
    /// goes back: after a cut it stands still until it is greater again than what was said before.
    pub(crate) fn flash_counters(&self) -> FlashCounters {
        let said = &self.plug.said;
        said.plus(&self.flash_counted().beyond(said))
    }

    fn flash_counted(&self) -> FlashCounters {
        let f = self.translation.counters();
        let c = self.backend.correction().map_or_else(CorrectionCounters::default, Correction::counters);
        let layout = self.translation.medium().layout();
        let row_bytes = u64::from(layout.row_bytes());
        let counted = FlashCounters {
            host_program_bytes: f.host_rows * row_bytes,
            fold_program_bytes: f.fold_rows * row_bytes,
            gc_program_bytes: (f.gc_rows + f.retire_rows) * row_bytes,
            metadata_program_bytes: f.metadata_rows * row_bytes,
            safety_program_bytes: f.safety_rows * row_bytes,
            gc_read_bytes: f.gc_read_units * u64::from(layout.unit_bytes),
            block_erases: f.block_erases,
            buffer_overwrites: f.overwrites_in_buffer,
            rmw_read_bytes: f.merge_read_units * u64::from(layout.unit_bytes),
            reread_units: c.reread_units,
            soft_units: c.soft_units,
            rebuilt_units: c.rebuilt_units,
            lost_units: c.lost_units,
            ..FlashCounters::default()
        };
        self.flash.plus(&counted)
    }

    pub(super) fn note_totals(&self, now: Nanos) -> Vec<u8> {
        let totals = Totals {
            specimen: self.plug.specimen,
            host: self.host,
            flash: self.flash_counters(),
            cycles: self.plug.cycles,
            powered: self.plug.time_powered(now),
        };
        postcard::to_stdvec(&totals).expect("a vector takes everything")
    }

    /// What the totals of this drive say.
    pub(super) fn totals_of(&self, totals: &[u8]) -> Result<Totals, LoadError> {
        let (specimen, _) = postcard::take_from_bytes::<Specimen>(totals).map_err(|_| LoadError::Damaged)?;
        self.plug.specimen.check(&specimen)?;
        let totals: Totals = postcard::from_bytes(totals).map_err(|_| LoadError::Damaged)?;
        if !totals.is_plausible() {
            return Err(LoadError::Damaged);
        }
        Ok(totals)
    }

    /// Erases that the drive does not know of have worn all of its blocks alike.
    pub(super) fn take_totals(&mut self, totals: &[u8]) -> Result<(), LoadError> {
        let totals = self.totals_of(totals)?;
        let unknown = totals.host.beyond(&self.host);
        self.host = self.host.plus(&unknown);
        self.plug.link_bytes_before += link_bytes(&unknown);
        let missing = totals.flash.beyond(&self.flash_counters());
        (self.flash, self.plug.said) = (self.flash.plus(&missing), self.plug.said.plus(&missing));
        // The start that was needed to ask for these is none of its own. The state may have been noted after the totals.
        self.plug.cycles = totals.cycles.max(self.plug.unclean + 1);
        self.plug.powered_before += totals.powered.saturating_sub(self.plug.time_powered(self.now));
        let medium = self.translation.medium();
        let (planes, rated) = (u64::from(medium.layout().planes), u64::from(medium.rated_cycles()));
        let blocks = self.working_blocks();
        let (erases, count) = (missing.block_erases / planes, blocks.len().max(1) as u64);
        let more = (0..).zip(blocks).map(|(k, block)| (block, erases / count + u64::from(k < erases % count)));
        let more: Vec<_> = more.filter(|more| more.1 > 0).collect();
        self.wear_each(
            more.into_iter().map(|(block, erases)| {
                (block, u32::try_from(erases).unwrap_or(u32::MAX), erases * 1_000_000_000 / rated)
            }),
        );
        Ok(())
    }
}
