//! Translation by blocks behind the face of every translation layer.

use std::ops::Range;

use ssdlab_nand::{BlockId, DieId, Interrupted, LogicalPage, LogicalPages, Medium, MisfitError, Outcome, UnitAddress};

use super::LogBlock;
use super::host_rows::Waiting;
use super::superblocks::Use;
use crate::op::{FlashOp, OpKind, OpSink};
use crate::translation::{ErasedBlock, FlashSpot, Recovered, Source, Stretch, Translation, TranslationCounters};

impl Translation for LogBlock {
    fn medium(&self) -> &Medium {
        self.contents.medium()
    }

    fn medium_mut(&mut self) -> &mut Medium {
        self.contents.medium_mut()
    }

    fn kept_back(&self) -> Vec<BlockId> {
        let medium = self.contents.medium();
        let mut idle = vec![true; medium.layout().all_blocks().count()];
        self.superblocks.blocks().for_each(|block| idle[block.index()] = false);
        medium.layout().all_blocks().filter(|&block| idle[block.index()] && !medium.is_bad(block)).collect()
    }

    fn logical_pages(&self) -> u32 {
        self.geometry.logical_pages
    }

    fn usable_units(&self) -> u64 {
        u64::from(self.superblocks.count()) * u64::from(self.geometry.lanes * self.geometry.rows)
    }

    fn counters(&self) -> TranslationCounters {
        let chores = self.chores.counters();
        TranslationCounters {
            host_units: self.host.started(),
            host_rows: self.host.started(),
            gc_units: chores.rows_copied,
            gc_rows: chores.rows_copied + chores.padding_rows,
            gc_read_units: chores.rows_read,
            block_erases: chores.block_erases,
            collections: self.merges.total(),
            padding_units: chores.padding_rows,
            overwrites_in_buffer: self.overwritten,
            trimmed_units: self.trimmed,
            ..TranslationCounters::default()
        }
    }

    fn check_invariants(&self) -> Result<(), String> {
        self.check()
    }

    fn buffered_units(&self) -> u32 {
        self.host.in_memory()
    }

    fn unfinished_units(&self) -> u32 {
        self.host.unfinished()
    }

    fn waiting_units(&self) -> u32 {
        self.host.waiting()
    }

    fn accepted_units(&self) -> u64 {
        self.host.accepted()
    }

    fn durable_units(&self) -> u64 {
        self.host.durable()
    }

    fn write_begins(&mut self, pages: Range<LogicalPage>, ends_within: bool) {
        self.command_end = pages.end;
        self.held = ends_within.then(|| LogicalPage::new(pages.end.number() - 1));
    }

    fn needs_room(&mut self, sink: &mut impl OpSink) {
        // Whatever else is there leaves by itself.
        if self.host.in_memory() == 1 && self.held.take().is_some() {
            self.place_waiting(sink);
        }
    }

    fn write_units(&mut self, stretch: &Stretch, mut write_number: impl FnMut(LogicalPage) -> u8) {
        for k in 0..stretch.units {
            let page = stretch.first + k;
            let write_number = write_number(page);
            self.contents.accept(page, write_number);
            let ready = stretch.from + stretch.each * u64::from(k + 1);
            let (spot, command_end) = (self.geometry.spot(page), self.command_end);
            let (superblock, die) =
                (spot.superblock, self.geometry.die(self.geometry.column(spot.superblock), spot.lane));
            let waiting = Waiting { page, superblock, die, write_number, command_end, ready, trimmed: false };
            self.overwritten += u64::from(self.host.push(waiting));
        }
    }

    fn dispatch(&mut self, sink: &mut impl OpSink) {
        self.place_waiting(sink);
    }

    fn force(&mut self, up_to: u64, sink: &mut impl OpSink) {
        debug_assert!(up_to <= self.host.accepted());
        self.forced_to = self.forced_to.max(up_to);
        self.place_waiting(sink);
    }

    fn trim(&mut self, pages: Range<LogicalPage>, _sink: &mut impl OpSink) {
        // Of a trim that covers no page whole the end comes before the start.
        let pages = pages.start..pages.end.max(pages.start);
        self.trimmed += pages.each().filter(|&page| self.source(page) != Source::Unmapped).count() as u64;
        self.host.forget(&pages);
        self.recovery.forget(&pages);
        self.contents.forget(pages);
    }

    fn secure_erase(&mut self) -> Vec<ErasedBlock> {
        assert!(
            self.host.is_idle() && self.chores.is_idle() && self.to_relocate.is_empty(),
            "nothing may be under way"
        );
        let free: Vec<bool> = {
            let mut free = vec![false; self.superblocks.count() as usize];
            self.superblocks.free().for_each(|place| free[place as usize] = true);
            free
        };
        let mut erased = Vec::new();
        for place in (0..self.superblocks.count()).filter(|&place| !free[place as usize]) {
            for lane in 0..self.geometry.lanes {
                let block = self.superblocks.block(place, lane);
                erased.push(ErasedBlock::about_to_be(block, self.contents.medium()));
                assert_eq!(self.contents.erase(block), Outcome::Done, "faults are injected into page maps only");
            }
            self.chores.count_erases(self.geometry.lanes.into());
            self.superblocks.set_use(place, Use::None);
            self.superblocks.give_back(place);
        }
        self.logs.forget_all();
        self.data.fill(None);
        self.contents.forget_all();
        self.recovery.forget_all();
        erased
    }

    fn void_all(&mut self, sink: &mut impl OpSink) {
        assert!(self.host.is_idle(), "nothing of the host's may wait in the buffer");
        self.trim(LogicalPage::all(self.geometry.logical_pages), sink);
        self.recovery.void_all(self.contents.medium().next_sequence());
    }

    fn source(&self, page: LogicalPage) -> Source {
        if self.host.waits(page) {
            return Source::Ram;
        }
        let Some(unit) = self.contents.unit(page) else { return Source::Unmapped };
        let medium = self.contents.medium();
        let (block, row) = medium.layout().row_of(unit);
        if row >= medium.finished_pages(block) {
            return Source::Ram;
        }
        Source::Flash(FlashSpot { unit, block, page: row })
    }

    fn write_number(&self, page: LogicalPage) -> Option<u8> {
        if self.host.waits(page) {
            return Some(self.contents.newest(page));
        }
        self.contents.unit(page).map(|unit| self.contents.medium().generation(unit))
    }

    fn valid_units(&self, from: UnitAddress) -> u64 {
        let medium = self.contents.medium();
        let units = medium.layout().units() as u64;
        (0..64)
            .filter(|k| u64::from(from.number()) + k < units)
            .filter(|&k| {
                let unit = from + k as u32;
                let page = medium.lpn(unit);
                self.geometry.has(page) && self.contents.unit(page) == Some(unit)
            })
            .fold(0, |bits, k| bits | 1 << k)
    }

    fn unit_of(&self, page: LogicalPage) -> Option<UnitAddress> {
        self.contents.unit(page).filter(|_| !self.host.waits(page))
    }

    fn began(&mut self, op: &FlashOp) {
        match op.kind() {
            OpKind::HostProgram => {
                self.host.began();
                self.contents.begin_program(op.block(), op.page());
            }
            OpKind::CopyProgram => self.contents.begin_program(op.block(), op.page()),
            _ => {}
        }
    }

    fn done(&mut self, die: DieId, op: FlashOp, sink: &mut impl OpSink) {
        if op.kind() == OpKind::HostProgram {
            let outcome = self.contents.finish_program(op.block(), op.page());
            assert_eq!(outcome, Outcome::Done, "faults are injected into page maps only");
            self.host.ended(die);
        } else {
            let (chores, mut work) = self.at_work();
            chores.done(die, &op, &mut work, sink);
            if self.chores.is_busy(self.geometry.column_and_lane(die).0) {
                return;
            }
        }
        self.place_waiting(sink);
    }

    const COPIES_IN_CHAINS: bool = true;
    const ROOM_AS_PROGRAMS_BEGIN: bool = true;

    #[inline]
    fn copying_beside(&self, die: DieId) -> Range<u32> {
        self.chores.copying_beside(die, &self.geometry)
    }

    #[inline]
    fn copies_into(&self, die: DieId) -> u32 {
        self.chores.copies_into(die)
    }

    #[inline(always)]
    fn copy_whole(&mut self, die: DieId) -> Option<FlashOp> {
        let (chores, mut work) = self.at_work();
        chores.copy_whole(die, &mut work)
    }

    #[inline]
    fn copy_next(&mut self, die: DieId) -> Option<FlashOp> {
        let (chores, mut work) = self.at_work();
        chores.copy_next(die, &mut work)
    }

    fn survives_cuts(&self) -> bool {
        true
    }

    fn cut_power(&mut self, under_way: &[Interrupted]) {
        let torn: Vec<(BlockId, u32)> = under_way.iter().filter_map(torn_row).collect();
        let copies = self.chores.take_back_queued(&torn, &self.geometry, self.contents.medium());
        self.host.take_back_queued(torn.len() as u32 - copies);
        self.take_back_planned();
        self.contents.medium_mut().cut_power(under_way);
        self.spoil_table();
    }

    fn save(&self) -> Vec<u8> {
        LogBlock::save(self)
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), MisfitError> {
        LogBlock::load(self, saved)
    }

    fn recover(&mut self) -> Recovered {
        LogBlock::recover(self)
    }

    fn resume(&mut self, sink: &mut impl OpSink) {
        self.do_chores(sink);
    }
}

fn torn_row(interrupted: &Interrupted) -> Option<(BlockId, u32)> {
    match *interrupted {
        Interrupted::Program { block, page, .. } => Some((block, page)),
        Interrupted::Erase { .. } => None,
    }
}
