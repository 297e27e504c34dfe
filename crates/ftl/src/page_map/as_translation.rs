//! The page map as the drive sees it.

use std::ops::Range;

use ssdlab_nand::{BlockId, DieId, Interrupted, LogicalPage, Medium, MisfitError, UnitAddress};

use super::PageMap;
use super::map::Place;
use crate::op::{FlashOp, OpKind, OpSink};
use crate::translation::{
    ErasedBlock, FlashSpot, Recovered, Repair, Round, Source, Stretch, Translation, TranslationCounters, Undone,
    Unfolded,
};

impl Translation for PageMap {
    #[inline]
    fn medium(&self) -> &Medium {
        &self.medium
    }

    #[inline]
    fn medium_mut(&mut self) -> &mut Medium {
        &mut self.medium
    }

    fn kept_back(&self) -> Vec<BlockId> {
        self.superblocks.reserve().collect()
    }

    #[inline]
    fn logical_pages(&self) -> u32 {
        self.map.logical_pages()
    }

    fn usable_units(&self) -> u64 {
        self.superblocks.usable() * u64::from(self.superblock_units)
    }

    fn counters(&self) -> TranslationCounters {
        TranslationCounters {
            metadata_rows: self.log.rows_written(),
            retire_rows: self.bad_blocks.rows(),
            program_failures: self.bad_blocks.program_failures(),
            erase_failures: self.bad_blocks.erase_failures(),
            safety_rows: self.copies.as_ref().map_or(0, |copies| copies.rows()),
            ..self.counters
        }
    }

    #[inline]
    fn streams(&self) -> u8 {
        self.allocator.streams()
    }

    #[inline]
    fn unit_shift(&self) -> u32 {
        self.unit_shift
    }

    #[inline]
    fn units_at(&self, unit: UnitAddress) -> u32 {
        self.units_at(unit)
    }

    #[inline]
    fn is_read_only(&self) -> bool {
        self.is_read_only()
    }

    #[inline]
    fn is_frozen(&self) -> bool {
        self.is_frozen()
    }

    fn check_invariants(&self) -> Result<(), String> {
        self.check_invariants()
    }

    #[inline]
    fn buffered_units(&self) -> u32 {
        self.buffer.units() + self.host.units_under_way()
    }

    #[inline]
    fn waiting_units(&self) -> u32 {
        self.buffer.waiting()
    }

    #[inline]
    fn accepted_units(&self) -> u64 {
        self.buffer.accepted()
    }

    #[inline]
    fn durable_units(&self) -> u64 {
        if let Some(padding) = &self.padding {
            return padding.closed_in(self.host.programs().head());
        }
        if self.buffered_units() == 0 { self.buffer.accepted() } else { self.host.programs().reached() }
    }

    fn set_compressibility(&mut self, per_1000: u32) {
        if let Some(compression) = &mut self.compression {
            compression.set_compressibility(per_1000);
        }
    }

    #[inline]
    fn write_units(&mut self, stretch: &Stretch, write_number: impl FnMut(LogicalPage) -> u8) {
        self.write_units(stretch, write_number);
    }

    #[inline]
    fn write_rows(
        &mut self,
        stretch: &Stretch,
        write_number: impl FnMut(LogicalPage) -> u8,
        sink: &mut impl OpSink,
    ) -> Option<u32> {
        self.write_rows(stretch, write_number, sink)
    }

    #[inline]
    fn buffers_parts(&self) -> bool {
        true
    }

    fn write_part(&mut self, page: LogicalPage, sectors: u64, stream: u8, ready: u64, write_number: u8) {
        self.write_part(page, sectors, stream, ready, write_number);
    }

    #[inline]
    fn missing_sectors(&self, page: LogicalPage) -> u64 {
        self.missing_sectors(page)
    }

    fn lacking_units(&self) -> u32 {
        self.parts.units()
    }

    fn fetch_missing(&mut self, page: LogicalPage, sink: &mut impl OpSink) {
        self.fetch_missing(page, sink);
    }

    #[inline]
    fn dispatch(&mut self, sink: &mut impl OpSink) {
        self.dispatch(sink);
    }

    fn force(&mut self, up_to: u64, sink: &mut impl OpSink) {
        self.force(up_to, sink);
    }

    #[inline]
    fn pads_at_flush(&self) -> bool {
        self.padding.is_some()
    }

    fn trim(&mut self, pages: Range<LogicalPage>, sink: &mut impl OpSink) {
        self.trim(pages, sink);
    }

    fn secure_erase(&mut self) -> Vec<ErasedBlock> {
        self.secure_erase()
    }

    fn void_all(&mut self, sink: &mut impl OpSink) {
        self.void_all(sink);
    }

    #[inline(always)]
    fn source(&self, page: LogicalPage) -> Source {
        match self.map.get(page) {
            Place::Unmapped => Source::Unmapped,
            Place::Buffer(_) => Source::Ram,
            Place::Flash(unit) => {
                let (block, page) = self.medium.layout().row_of(unit);
                // The die that reads asks for it, a little later.
                self.medium.prefetch_history(block);
                if page >= self.medium.finished_pages(block) {
                    Source::Ram
                } else {
                    Source::Flash(FlashSpot { unit, block, page })
                }
            }
        }
    }

    #[inline]
    fn write_number(&self, page: LogicalPage) -> Option<u8> {
        match self.map.get(page) {
            Place::Unmapped => None,
            Place::Buffer(slot) => Some(self.medium.format().generation(self.buffer.slot(slot).tag)),
            Place::Flash(unit) => Some(self.medium.generation(unit)),
        }
    }

    #[inline]
    fn prefetch(&self, page: LogicalPage) {
        self.map.prefetch(page);
    }

    #[inline]
    fn loads_on_demand(&self) -> bool {
        self.log.loads_on_demand()
    }

    fn look_up(&mut self, pages: Range<LogicalPage>, command: u16, sink: &mut impl OpSink) -> u32 {
        // Where nothing can be programmed any more, no piece of the map can be put out of DRAM for another: the firmware
        // reads the drive out with what it has.
        if self.is_frozen() {
            return 0;
        }
        self.log.look_up(pages, command, &mut self.medium, sink)
    }

    fn map_read_ended(&mut self, op: &FlashOp) -> Vec<(u16, LogicalPage)> {
        self.log.map_read_ended(op)
    }

    fn forget_map_reads(&mut self) {
        self.log.forget_map_reads();
    }

    fn awaits_map_read(&self, op: &FlashOp) -> bool {
        self.log.awaits_map_read(op)
    }

    #[inline]
    fn valid_units(&self, from: UnitAddress) -> u64 {
        self.validity.span(from)
    }

    fn mapped_units(&self) -> u64 {
        self.mapped_units()
    }

    #[inline]
    fn unit_of(&self, page: LogicalPage) -> Option<UnitAddress> {
        match self.map.get(page) {
            Place::Flash(unit) => Some(unit),
            Place::Unmapped | Place::Buffer(_) => None,
        }
    }

    #[inline]
    fn needed_unit_of(&self, page: LogicalPage) -> Option<UnitAddress> {
        match self.map.get(page) {
            Place::Flash(unit) => Some(unit),
            Place::Buffer(at) if !self.parts.is_whole(at) => Some(self.buffer.slot(at).old),
            Place::Unmapped | Place::Buffer(_) => None,
        }
    }

    #[inline(always)]
    fn began(&mut self, op: &FlashOp) {
        if matches!(op.kind(), OpKind::GcRead | OpKind::FoldRead) {
            self.prefetch.follow(*op);
        } else if op.kind().is_program() && !self.is_frozen() {
            self.medium.begin_program(op.block(), op.page()).expect("a die programs the pages of a block in order");
        }
    }

    #[inline]
    fn done(&mut self, die: DieId, op: FlashOp, sink: &mut impl OpSink) {
        self.done(die, op, sink);
    }

    #[inline(always)]
    fn prefetch_ahead(&mut self) {
        self.prefetch.step(&self.map, &self.medium, &self.validity);
    }

    fn collect_in_background(&mut self, sink: &mut impl OpSink) -> bool {
        self.collect_in_background(sink)
    }

    fn work_beside_host(&mut self, sink: &mut impl OpSink) {
        self.work_beside_host(sink);
    }

    fn fold_in_background(&mut self, sink: &mut impl OpSink) -> Unfolded {
        self.fold_in_background(sink)
    }

    fn refresh_while_idle(&mut self, is_due: &dyn Fn(BlockId) -> bool, sink: &mut impl OpSink) {
        self.refresh_while_idle(is_due, sink);
    }

    fn refresh(&mut self, block: BlockId, sink: &mut impl OpSink) {
        self.refresh_superblock_of(block, sink);
    }

    fn stop_background(&mut self, sink: &mut impl OpSink) {
        self.stop_background(sink);
    }

    #[inline]
    fn round(&self) -> Round {
        self.round()
    }

    fn round_is_due(&self) -> bool {
        self.round_is_due()
    }

    fn round_folds(&self) -> bool {
        self.round_folds()
    }

    fn begin_round(&mut self, sink: &mut impl OpSink) {
        self.begin_round(sink);
    }

    fn survives_cuts(&self) -> bool {
        true
    }

    fn cut_short(&mut self, op: &FlashOp) {
        self.cut_short(op);
    }

    fn cut_power(&mut self, under_way: &[Interrupted]) {
        self.cut_power(under_way);
    }

    fn save(&self) -> Vec<u8> {
        self.save()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), MisfitError> {
        self.load(saved)
    }

    fn recover(&mut self) -> Recovered {
        self.recover()
    }

    fn undo_repair(&mut self, repair: &Repair, undone: Undone) {
        self.undo_repair(repair, undone);
    }

    fn resume(&mut self, sink: &mut impl OpSink) {
        self.resume(sink);
    }

    fn save_on_capacitors(&mut self, sink: &mut impl OpSink) {
        self.save_on_capacitors(sink);
    }

    fn leaves_erase_out(&self, block: BlockId) -> bool {
        self.writes_last_rows_alone() && !self.is_system_block(block)
    }

    fn save_log(&mut self, sink: &mut impl OpSink) {
        if !self.is_frozen() {
            self.log.save_entries(&mut self.medium, sink);
        }
    }

    fn unsaved_trims(&self) -> Option<Vec<Range<LogicalPage>>> {
        self.log.keeps_trims().then(|| self.log.unsaved_trims().map(|trim| trim.pages.clone()).collect())
    }
}
