//! What the map costs on flash: the journal with its checkpoints, and the pages of a map that DRAM does not hold as a
//! whole. Every change of the map passes through here.

mod checkpoints;
mod held;
mod journal;
mod trims;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{
    BlockId, EMPTY_TAG, Layout, LogicalPage, LogicalPages, Medium, MisfitError, SequenceNumber, UnitAddress,
};

use super::map::{DemandMap, DemandMapCounters, SavedDemandMap};
use crate::op::{FlashOp, OpSink};
use crate::spec::MappingSpec;
use crate::translation::is_plausible;

pub use held::{Held, HeldByTrims, HeldWriter};
pub use journal::{JOURNAL_ENTRY_BYTES, Journal, TAG_CHECKPOINT, TAG_JOURNAL};
pub use trims::{Trim, TrimTable};

/// See the module's own page.
#[derive(Clone, Debug, Default)]
pub struct MetadataLog {
    journal: Option<Journal>,
    demand_map: Option<DemandMap>,
    /// Whether it matters which pages change.
    hears_pages: bool,
    /// With a map that is loaded on demand: rows of journal with changes that no map page on flash may know of.
    unwritten_rows: u32,
    /// Rows written before the log began anew.
    rows_before: u64,
    /// Of all rows given to dies, those that power cuts have kept from being.
    taken_back: u64,
}

/// What of it is on flash, for a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedLog {
    journal: Option<Journal>,
    demand_map: Option<SavedDemandMap>,
    rows_before: u64,
    taken_back: u64,
}

impl SavedLog {
    /// Blocks that it names.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let journal = self.journal.iter().flat_map(Journal::blocks);
        journal.chain(self.demand_map.iter().flat_map(SavedDemandMap::blocks))
    }
}

impl MetadataLog {
    /// What of it is on flash.
    #[must_use]
    pub fn save(&self) -> SavedLog {
        let demand_map = self.demand_map.as_ref().map(DemandMap::save);
        let MetadataLog { rows_before, taken_back, .. } = *self;
        SavedLog { journal: self.journal.clone(), demand_map, rows_before, taken_back }
    }

    /// Takes over what such a log has saved.
    ///
    /// # Errors
    /// If it was not such a log.
    pub fn load(&mut self, saved: SavedLog) -> Result<(), MisfitError> {
        const MISFIT: MisfitError = MisfitError("another kind of journal or map");
        match (&mut self.journal, saved.journal) {
            (Some(own), Some(journal)) if journal.is_shaped_like(own) => *own = journal,
            (None, None) => {}
            _ => return Err(MISFIT),
        }
        match (&mut self.demand_map, saved.demand_map) {
            (Some(own), Some(map)) => own.load(map).ok_or(MISFIT)?,
            (None, None) => {}
            _ => return Err(MISFIT),
        }
        (self.rows_before, self.taken_back) = (saved.rows_before, saved.taken_back);
        Ok(())
    }

    /// All blocks of its rings.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let journal = self.journal.iter().flat_map(Journal::blocks);
        journal.chain(self.demand_map.iter().flat_map(DemandMap::blocks))
    }

    /// Whether what it says is of a drive with so many pages. `next`: the number of the row that is queued next.
    #[must_use]
    pub fn is_sound(&self, logical_pages: u32, next: SequenceNumber) -> bool {
        is_plausible(self.rows_before)
            && self.journal.as_ref().is_none_or(|journal| journal.is_sound(logical_pages, next))
            && self.demand_map.as_ref().is_none_or(DemandMap::is_sound)
            && self.taken_back <= self.rows_given()
    }

    /// Whether the rows of its rings are such rows.
    #[must_use]
    pub fn is_written_soundly(&self, medium: &Medium) -> bool {
        self.journal.as_ref().is_none_or(|journal| journal.is_written_soundly(medium))
            && self.demand_map.as_ref().is_none_or(|map| map.is_written_soundly(medium))
    }

    /// A log for so many logical pages. `take_ring` sets as many places of a ring aside as it is asked for, if it can: for
    /// each the erased blocks of all dies.
    #[must_use]
    pub fn new(
        spec: &MappingSpec,
        logical_pages: u32,
        layout: &Layout,
        rows_before: u64,
        read_granule_bytes: Option<u32>,
        mut take_ring: impl FnMut(u32) -> Vec<Vec<BlockId>>,
    ) -> Self {
        let journal = spec.journal.then(|| {
            let checkpoints = Journal::checkpoints(spec, logical_pages, layout);
            let ring = take_ring(Journal::ring_blocks(&checkpoints, layout));
            Journal::new(ring, layout, checkpoints)
        });
        let demand_map = spec.map_cache_kib.and_then(|kib| {
            let wanted = DemandMap::places(logical_pages, layout);
            let ring = take_ring(wanted);
            // Too short a ring makes the drive read-only, and its map need not change.
            (ring.len() == wanted as usize)
                .then(|| DemandMap::new(kib, ring, logical_pages, read_granule_bytes, layout))
        });
        let hears_pages = demand_map.is_some() || journal.as_ref().is_some_and(Journal::follows_changes);
        // Entries leave DRAM in the order of their last use: what has changed and not left is among the last changes, as many as
        // there is room for (estimate: an entry that is used again and again stays longer). An entry of DRAM is as long as one
        // of the journal.
        let room = spec.map_cache_kib.map_or(0, |kib| u64::from(kib) * 1024 / u64::from(JOURNAL_ENTRY_BYTES));
        let changes = room.min(logical_pages.into()) as u32;
        let unwritten_rows = changes.div_ceil(layout.row_bytes() / JOURNAL_ENTRY_BYTES);
        MetadataLog { journal, demand_map, hears_pages, unwritten_rows, rows_before, taken_back: 0 }
    }

    /// Rows programmed for the map since power on.
    #[must_use]
    pub fn rows_written(&self) -> u64 {
        self.rows_given() - self.taken_back
    }

    /// So many of them never came to be.
    pub fn take_back_rows(&mut self, rows: u64) {
        self.taken_back += rows;
    }

    fn rows_given(&self) -> u64 {
        self.rows_before
            + self.journal.as_ref().map_or(0, Journal::rows_written)
            + self.demand_map.as_ref().map_or(0, DemandMap::rows_written)
    }

    /// A row of the host begins at `start`: `units` of flash, `pages` changes of the map.
    #[inline]
    pub fn note_written(
        &mut self,
        start: UnitAddress,
        units: u32,
        pages: u32,
        medium: &mut Medium,
        sink: &mut impl OpSink,
    ) {
        if self.hears_pages {
            self.change_entries(start, units, medium, sink);
        }
        if let Some(journal) = &mut self.journal {
            journal.note(pages, medium, sink);
        }
    }

    fn change_entries(&mut self, start: UnitAddress, units: u32, medium: &mut Medium, sink: &mut impl OpSink) {
        for unit in start.run(units) {
            let lpn = medium.lpn(unit);
            if lpn != LogicalPage::NONE {
                self.note_changed(lpn, medium, sink);
            }
        }
    }

    /// A row of the collector holds copies of the units with these tags: `pages` changes of the map.
    #[inline(always)]
    pub fn note_moved(&mut self, tags: &[u32], pages: u32, medium: &mut Medium, sink: &mut impl OpSink) {
        if self.hears_pages {
            self.move_entries(tags, medium, sink);
        }
        if let Some(journal) = &mut self.journal {
            journal.note(pages, medium, sink);
        }
    }

    fn move_entries(&mut self, tags: &[u32], medium: &mut Medium, sink: &mut impl OpSink) {
        let format = medium.format();
        for &tag in tags.iter().filter(|&&tag| tag != EMPTY_TAG) {
            let lpn = format.address(tag);
            if let Some(journal) = &mut self.journal {
                journal.mark(lpn);
            }
            if let Some(demand) = &mut self.demand_map {
                demand.moved(lpn, medium, sink);
            }
        }
    }

    /// A page has been copied out of a block that went bad; the journal does not hear of it, as the copy is told from the
    /// original by its block.
    pub fn note_copied(&mut self, lpn: LogicalPage, medium: &mut Medium, sink: &mut impl OpSink) {
        if let Some(demand) = &mut self.demand_map {
            demand.moved(lpn, medium, sink);
        }
    }

    /// A page holds nothing any more.
    pub fn note_trimmed_page(&mut self, lpn: LogicalPage, medium: &mut Medium, sink: &mut impl OpSink) {
        self.note_changed(lpn, medium, sink);
    }

    fn note_changed(&mut self, lpn: LogicalPage, medium: &mut Medium, sink: &mut impl OpSink) {
        if let Some(journal) = &mut self.journal {
            journal.mark(lpn);
        }
        if let Some(demand) = &mut self.demand_map {
            demand.change(lpn, medium, sink);
        }
    }

    /// Pages of a range hold nothing any more: one change for the journal. `held`: those that held something on flash, with
    /// the number of its row.
    pub fn note_trimmed_range(
        &mut self,
        pages: std::ops::Range<LogicalPage>,
        held: Held,
        medium: &mut Medium,
        sink: &mut impl OpSink,
    ) {
        if let Some(journal) = &mut self.journal {
            journal.note_trim(Trim { pages, before_row: medium.next_sequence(), held });
            journal.note(1, medium, sink);
        }
    }

    /// A row of the system area has been programmed.
    #[inline]
    pub fn row_ended(&mut self, block: BlockId, page: u32) {
        if let Some(journal) = &mut self.journal {
            journal.row_ended(block, page);
        }
    }

    /// Writes a journal row that is not full, if a trim waits for one.
    pub fn save_trims(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        if let Some(journal) = &mut self.journal {
            journal.save_trims(medium, sink);
        }
    }

    /// See [`Journal::save_entries`].
    pub fn save_entries(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        if let Some(journal) = &mut self.journal {
            journal.save_entries(medium, sink);
        }
    }

    /// See [`Journal::save_trims_in_turn`].
    pub fn save_trims_in_turn(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        if let Some(journal) = &mut self.journal {
            journal.save_trims_in_turn(medium, sink);
        }
    }

    /// Trims that a power cut would forget now; all, without a journal.
    pub fn unsaved_trims(&self) -> impl Iterator<Item = &Trim> {
        self.journal.iter().flat_map(|journal| journal.trims().unsaved())
    }

    /// Whether there is a journal, so that trims come to be on flash.
    #[must_use]
    pub fn keeps_trims(&self) -> bool {
        self.journal.is_some()
    }

    /// What the flash says of trims.
    #[must_use]
    pub fn trims_on_flash(&self) -> Option<&TrimTable> {
        self.journal.as_ref().map(|journal| journal.trims().on_flash())
    }

    /// A recovery has concluded that a page was trimmed before rows of this number.
    pub fn conclude_trim(&mut self, page: LogicalPage, before_row: SequenceNumber) {
        if let Some(journal) = &mut self.journal {
            journal.trims_mut().on_flash_mut().conclude(page, before_row);
        }
    }

    /// Whether a journal row has been decided on since the last look at the trims on flash, if there are any.
    #[inline]
    #[must_use]
    pub fn trims_are_due(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.trims().on_flash().is_due())
    }

    /// See [`TrimTable::let_go`]: of as many ranges as a journal row has entries.
    pub fn let_go_of_trims(&mut self, is_settled: impl Fn(LogicalPage, SequenceNumber) -> bool) {
        if let Some(journal) = &mut self.journal {
            let most = journal.entries_per_row();
            journal.trims_mut().on_flash_mut().let_go(most, is_settled);
        }
    }

    /// Rows of checkpoint or of map, and of journal, that a recovery reads to know the map.
    #[must_use]
    pub fn rows_to_read(&self) -> (u32, u32) {
        let (map, journal) = self.journal.as_ref().map_or((0, 0), Journal::rows_to_read);
        let Some(demand) = &self.demand_map else { return (map, journal) };
        // Of each map page the last one.
        (demand.pages_written(), journal.min(self.unwritten_rows))
    }

    /// The power goes.
    pub fn cut_power(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.cut_power();
        }
    }

    /// No page holds anything any more, and flash knows it without the log: what it holds of the map is void.
    pub fn void_all(&mut self) {
        if let Some(demand) = &mut self.demand_map {
            demand.void_all();
        }
    }

    /// Blocks that map pages lie in.
    pub fn map_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.demand_map.iter().flat_map(DemandMap::blocks)
    }

    /// Starts again from what is on flash; map pages from before `void_before` are void. Returns the rows that must be programmed
    /// before the rings can go on.
    pub fn recover(&mut self, medium: &Medium, void_before: Option<SequenceNumber>) -> Vec<(BlockId, u32)> {
        let mut rows = self.journal.as_mut().map_or_else(Vec::new, |journal| journal.recover(medium));
        if let Some(demand) = &mut self.demand_map {
            rows.extend(demand.recover(medium, void_before));
        }
        rows
    }

    /// Goes on after [`MetadataLog::recover`].
    pub fn resume(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        if let Some(journal) = &mut self.journal {
            journal.resume(medium, sink);
        }
        if let Some(demand) = &mut self.demand_map {
            demand.resume(medium, sink);
        }
    }

    /// Looks up the entries that a read needs; returns for how many of them `tag` must wait, see [`MetadataLog::map_read_ended`].
    pub fn look_up(
        &mut self,
        pages: std::ops::Range<LogicalPage>,
        tag: u16,
        medium: &mut Medium,
        sink: &mut impl OpSink,
    ) -> u32 {
        let Some(demand) = &mut self.demand_map else { return 0 };
        pages.each().map(|lpn| u32::from(demand.look_up(lpn, tag, medium, sink))).sum()
    }

    /// See [`DemandMap::read_ended`].
    pub fn map_read_ended(&mut self, op: &FlashOp) -> Vec<(u16, LogicalPage)> {
        self.demand_map.as_mut().map_or_else(Vec::new, |demand| demand.read_ended(op))
    }

    /// See [`crate::Translation::forget_map_reads`].
    pub fn forget_map_reads(&mut self) {
        if let Some(demand) = &mut self.demand_map {
            demand.forget_reads();
        }
    }

    /// See [`crate::Translation::awaits_map_read`].
    #[must_use]
    pub fn awaits_map_read(&self, op: &FlashOp) -> bool {
        self.demand_map.as_ref().is_some_and(|demand| demand.awaits(op))
    }

    /// Whether DRAM holds a part of the map only.
    #[inline]
    #[must_use]
    pub fn loads_on_demand(&self) -> bool {
        self.demand_map.is_some()
    }

    /// What a map that is loaded on demand has cost.
    #[must_use]
    pub fn demand_map_counters(&self) -> DemandMapCounters {
        self.demand_map.as_ref().map_or_else(DemandMapCounters::default, DemandMap::counters)
    }

    /// A block has gone bad: if it belongs to a ring, another takes its place.
    pub fn replace(&mut self, from: BlockId, to: BlockId, layout: &Layout) {
        if let Some(journal) = &mut self.journal {
            journal.replace(from, to);
        }
        if let Some(demand) = &mut self.demand_map {
            demand.replace(from, to, layout);
        }
    }

    /// A block of a ring has been erased.
    pub fn erased(&mut self, block: BlockId, medium: &mut Medium, sink: &mut impl OpSink) {
        let journal = self.journal.as_mut().is_some_and(|journal| journal.erased(block, medium, sink));
        if !journal && let Some(demand) = &mut self.demand_map {
            demand.erased(block, medium, sink);
        }
    }

    /// Checks that every page of the map lies where it should.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self, medium: &Medium) -> Result<(), String> {
        self.demand_map.as_ref().map_or(Ok(()), |demand| demand.check(medium))
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieId, DieSpec, Geometry, Outcome, PageOrder, TagFormat};

    use super::*;
    use crate::op::{FlashOp, OpKind};

    #[test]
    fn of_a_map_that_is_loaded_on_demand_each_page_is_read_once_and_the_journal_of_what_dram_held() {
        let die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 32,
            pages_per_block: 8,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        });
        let layout = Layout::new(&die, 1, 32);
        let mut medium = Medium::new(&die, layout.clone(), TagFormat::new(3000), &Rng::new(1));
        let spec = MappingSpec { journal: true, map_cache_kib: Some(8), ..MappingSpec::default() };
        let mut blocks = (0..32).map(|block| vec![BlockId::new(block)]);
        let take_ring = |wanted| blocks.by_ref().take(wanted as usize).collect();
        let mut log = MetadataLog::new(&spec, 3000, &layout, 0, None, take_ring);
        assert_eq!(log.rows_to_read(), (0, 0));
        let (mut rng, mut ops): (Rng, Vec<(DieId, FlashOp)>) = (Rng::new(2), Vec::new());
        for change in 0..20_000u64 {
            // 512 of the first changes fill a row of journal, and none has left DRAM yet; the map has three pages.
            if change == 1000 {
                assert_eq!(log.rows_to_read(), (0, 1));
            }
            log.note_changed(LogicalPage::new(rng.below(3000) as u32), &mut medium, &mut ops);
            if let Some(journal) = &mut log.journal {
                journal.note(1, &mut medium, &mut ops);
            }
            while !ops.is_empty() {
                let (_, op) = ops.remove(0);
                if op.kind() == OpKind::Erase {
                    assert_eq!(medium.erase(op.block()), Ok(Outcome::Done));
                    log.erased(op.block(), &mut medium, &mut ops);
                } else if op.kind().is_program() {
                    medium.begin_program(op.block(), op.page()).expect("it is the next of its block");
                    assert_eq!(medium.finish_program(op.block(), op.page()), Ok(Outcome::Done));
                    log.row_ended(op.block(), op.page());
                }
            }
        }
        assert!(log.rows_written() > 60, "{} rows", log.rows_written());
        // 1,024 entries, of which 512 fill a row.
        assert_eq!(log.rows_to_read(), (3, 2));
    }
}
