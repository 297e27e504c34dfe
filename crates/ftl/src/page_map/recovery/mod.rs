//! Recovery from a power cut.
//!
//! What survives a cut is on flash: data rows with their spare areas (addresses, and a sequence number each), what the
//! journal says of TRIM, and the table of blocks (which are bad, which replace others, which superblocks they make), which
//! firmware writes whenever it changes. Everything else is forgotten, and found again:
//!
//! 1. A block that was being copied because it had gone bad is copied again.
//! 2. Of each logical page the newest copy counts, by sequence number; trims take part in the order (`newest.rs`). Where a
//!    cut has destroyed the newest copy, the page is lost: firmware knows the addresses from the rows that followed, which
//!    repeat them (estimate), and answers with a media error rather than with older data. Data that a collector had only
//!    moved are taken from where they were before, if that has not been erased.
//!    Where the journal knows that a page was on flash in a row that has been erased since, and nothing newer is found, the
//!    page was trimmed, even if the trim itself was not on flash yet: nothing older comes back.
//!    Rows from before the erase point ([`crate::Translation::void_all`]) hold nothing, readable or not.
//! 3. Superblocks that were open go on where they were, one for each part: dies that were behind the others are filled up,
//!    and word lines with a torn page are left out (`superblocks.rs`). What was being collected or erased is a candidate
//!    like any other.
//! 4. The system area goes on likewise.
//!
//! There are two ways to the same result ([`RecoveryWay`]). A test holds them against each other, cut by cut, over drives of
//! every kind.
//!
//! Sequence numbers go on behind the greatest that was given to any row on flash, torn ones included: firmware leaves a gap;
//! and behind those that it has noted of trims, of what was trimmed and of lost pages, since the rows themselves may have been
//! erased.

mod fault;
mod newest;
mod origins;
mod quick;
mod superblocks;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, Cut, EMPTY_TAG, Interrupted, LogicalPage, LogicalPages, SequenceNumber, UnitAddress};

use super::PageMap;
use super::last_rows::LastRows;
use super::map::Place;
use super::map_prefetch::MapPrefetch;
use super::metadata_log::HeldByTrims;
use super::superblock::{State, SuperblockId};
use crate::op::OpSink;
use crate::translation::{LostPage, Recovered, Repair, RepairKind, Undone, is_plausible};

pub use fault::RecoveryFault;
use newest::{Copies, Destroyed, Fate, Fates};
use origins::Origins;

/// How a recovery finds the newest copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryWay {
    /// On large drives quickly, on small ones in full.
    #[default]
    BySize,
    /// From the spare areas of all rows.
    Full,
    /// Of those pages only whose newest copy can be another one than before the cut: see `quick.rs`.
    Quick,
}

/// Logical pages from which on recovering in full takes so long that the quick way is worth its trouble.
const MANY_PAGES: u32 = 1 << 20;

/// See the module's own page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recovery {
    /// Pages that cuts have destroyed, as firmware notes them on flash, and the sequence number of the copy that is gone.
    lost: BTreeMap<LogicalPage, SequenceNumber>,
    origins: Origins,
    /// The erase point: data rows that were queued before the row of this number are void. Kept until none is left.
    void_before: Option<SequenceNumber>,
    /// Pages whose trims the last cut has forgotten, and the numbers of rows that held them, as the journal knows them.
    held: HeldByTrims,
    /// Rows that a cut has destroyed, with their numbers, of which everything was found elsewhere.
    #[serde(with = "super::pairs")]
    written_off: BTreeMap<(BlockId, u32), SequenceNumber>,
    /// Cuts so far.
    cuts: u64,
    #[serde(skip)]
    way: RecoveryWay,
    /// It came from a file, which may say anything.
    #[serde(skip)]
    loaded: bool,
    /// For tests: what this firmware does wrong.
    #[serde(skip)]
    fault: Option<RecoveryFault>,
    /// The quick way: pages whose newest copy may be another one since the cut.
    #[serde(skip)]
    affected: Option<Vec<LogicalPage>>,
    /// Blocks that the last recovery has copied again, and where from.
    #[serde(skip)]
    copied: Vec<(BlockId, BlockId)>,
    /// What a checkpoint that is believed too early says.
    #[serde(skip)]
    believed: Vec<(LogicalPage, UnitAddress)>,
}

impl Recovery {
    /// For a drive with so many superblocks. `bits_per_cell`: of its dies.
    #[must_use]
    pub fn new(superblocks: u32, bits_per_cell: u32) -> Self {
        Recovery { origins: Origins::new(superblocks, bits_per_cell), ..Recovery::default() }
    }

    /// The row of this number of superblock `to` is programmed with units of `source` only.
    #[inline]
    pub fn moved(&mut self, source: SuperblockId, to: SuperblockId, row: u32) {
        self.origins.moved(source, to, row);
    }

    /// A superblock has been erased.
    #[inline]
    pub fn erased(&mut self, superblock: SuperblockId) {
        self.origins.erased(superblock);
    }

    /// The superblock that a row of superblock `to` was moved from.
    #[must_use]
    pub fn origin(&self, to: SuperblockId, row: u32) -> Option<SuperblockId> {
        self.origins.of(to, row)
    }

    /// Whether this is of a drive of the same superblocks.
    #[must_use]
    pub fn is_shaped_like(&self, other: &Recovery) -> bool {
        self.origins.is_shaped_like(&other.origins)
    }

    /// It comes from a file.
    pub fn came_from_file(&mut self) {
        self.loaded = true;
    }

    /// All flash has been erased.
    pub fn clear(&mut self) {
        self.forget_noted();
        self.origins.clear();
        self.void_before = None;
    }

    /// All rows so far are void; `next`: the number of the row that is queued next.
    pub fn void_all(&mut self, next: SequenceNumber) {
        self.forget_noted();
        self.void_before = Some(next);
    }

    fn forget_noted(&mut self) {
        self.lost.clear();
        self.held.clear();
        self.written_off.clear();
        self.affected = None;
    }

    /// Whether a row of this number was queued before the erase point.
    #[inline]
    fn is_void(&self, sequence: SequenceNumber) -> bool {
        self.void_before.is_some_and(|point| sequence < point)
    }

    /// Whether this is of a drive with so many pages. `next`: the number of the row that is queued next.
    #[must_use]
    pub fn is_sound(&self, logical_pages: u32, superblocks: u32, next: SequenceNumber) -> bool {
        let point_is_sound = self.void_before.is_none_or(|point| point <= next);
        let mut noted = self.lost.iter().map(|(&page, &sequence)| (page, sequence)).chain(self.held.each());
        noted.all(|(page, sequence)| page.number() < logical_pages && sequence < next)
            && self.origins.is_sound(superblocks)
            && point_is_sound
            && is_plausible(self.cuts)
    }

    /// Of these destroyed rows, with their numbers, nothing is missed any more.
    pub(super) fn set_written_off(&mut self, rows: BTreeMap<(BlockId, u32), SequenceNumber>) {
        self.written_off = rows;
    }

    /// For tests of tests: see [`RecoveryFault::PadsNothing`].
    pub(super) fn pads_nothing(&self) -> bool {
        self.has_fault(RecoveryFault::PadsNothing)
    }

    /// For tests of tests: see [`RecoveryFault::SkipsParity`].
    pub(super) fn skips_parity(&self) -> bool {
        self.has_fault(RecoveryFault::SkipsParity)
    }

    pub(super) fn has_fault(&self, fault: RecoveryFault) -> bool {
        self.fault == Some(fault)
    }

    /// A page is lost with its copy of this number.
    pub(super) fn lose(&mut self, page: LogicalPage, sequence: SequenceNumber) {
        self.lost.insert(page, sequence);
    }

    /// Whether nothing is missed of the destroyed row of this number.
    pub(super) fn is_written_off(&self, row: (BlockId, u32), number: SequenceNumber) -> bool {
        self.written_off.get(&row) == Some(&number)
    }

    /// Whether any of these pages counts as lost, or did until it was written again.
    #[inline]
    pub fn any_lost(&self, pages: &Range<LogicalPage>) -> bool {
        !self.lost.is_empty() && pages.start < pages.end && self.lost.range(pages.clone()).next().is_some()
    }
}

impl PageMap {
    /// Chooses how a recovery works; the result is the same.
    pub fn set_recovery_way(&mut self, way: RecoveryWay) {
        self.recovery.way = way;
    }

    /// For tests of tests: firmware that recovers wrongly.
    pub fn break_recovery(&mut self, fault: RecoveryFault) {
        self.recovery.fault = Some(fault);
    }

    /// See [`crate::Translation::cut_power`].
    pub(super) fn cut_power(&mut self, under_way: &[Interrupted]) -> Cut {
        let affected = self.recovers_quickly().then(|| self.pages_in_ram()).flatten();
        let cut = self.medium.cut_power(under_way);
        self.note_held(&cut);
        self.log.cut_power();
        self.take_back_queued();
        if self.recovery.fault == Some(RecoveryFault::BelievesCheckpointTooEarly) {
            self.recovery.believed = self.entries_of(cut.undone.iter().chain(&cut.torn));
        }
        self.recovery.affected = affected.map(|mut pages| {
            let rows = cut.undone.iter().chain(&cut.torn).chain(&cut.destroyed);
            pages.extend(self.entries_of(rows).into_iter().map(|(page, _)| page));
            pages
        });
        if let Some(pages) = self.recovery.affected.take() {
            self.recovery.affected = Some(Vec::new());
            self.forget_more(pages);
        }
        cut
    }

    /// What was trimmed, and where it was last: of rows that have been programmed, the journal tells, though they may have been
    /// erased since. Rows that this cut has kept from being are unknown to it.
    fn note_held(&mut self, cut: &Cut) {
        // A row that failed on a bad block has come to be on the one in its place, or is to.
        let rows = cut.undone.iter().chain(&cut.torn).filter(|&&(block, _)| !self.medium.is_bad(block));
        let never_were: BTreeSet<_> = rows.map(|&(block, page)| self.medium.sequence(block, page)).collect();
        let trims = self.log.unsaved_trims().map(|trim| &trim.held);
        self.recovery.held = HeldByTrims::of(trims, |sequence| !never_were.contains(&sequence));
    }

    fn recovers_quickly(&self) -> bool {
        match self.recovery.way {
            // Without a journal every trim there ever was is forgotten.
            _ if !self.log.keeps_trims() || self.is_frozen() => false,
            RecoveryWay::BySize => self.map.logical_pages() >= MANY_PAGES,
            RecoveryWay::Full => false,
            RecoveryWay::Quick => true,
        }
    }

    /// Logical pages and units of what data rows hold or were to hold.
    fn entries_of<'a>(&self, rows: impl Iterator<Item = &'a (BlockId, u32)>) -> Vec<(LogicalPage, UnitAddress)> {
        let mut entries = Vec::new();
        for &(block, page) in rows {
            if !self.is_system_block(block) {
                entries.extend(self.entries_of_row(block, page));
            }
        }
        entries
    }

    fn entries_of_row(&self, block: BlockId, page: u32) -> impl Iterator<Item = (LogicalPage, UnitAddress)> + '_ {
        let start = self.medium.layout().row_start(block, page);
        let units = start.run(self.row_units).map(|unit| (self.medium.lpn(unit), unit));
        units.filter(|&(lpn, _)| lpn.number() < self.map.logical_pages())
    }

    pub(super) fn is_system_block(&self, block: BlockId) -> bool {
        let sb = self.superblocks.of_block_checked(block);
        sb.is_some_and(|sb| self.superblocks.state(sb) == State::System)
    }

    /// See [`crate::Translation::recover`].
    pub(super) fn recover(&mut self) -> Recovered {
        let mut repairs = Vec::new();
        self.recovery.cuts += 1;
        let (map_rows, journal_rows) = self.log.rows_to_read();
        self.forget_all();
        let trims = self.log.trims_on_flash().into_iter().flat_map(|trims| trims.ranges());
        let were_next = trims.map(|(_, before_row)| before_row).chain(self.recovery.void_before);
        let held = self.recovery.held.each().map(|(_, sequence)| sequence);
        let given = self.recovery.lost.values().copied().chain(self.numbers_of_copies()).chain(held);
        let not_before = were_next.chain(given.map(SequenceNumber::next)).max();
        self.medium.resume_sequence(not_before.into_iter());
        self.retire_erase_point();
        if !self.is_frozen() {
            self.erase_reserve(&mut repairs);
            self.finish_moving(&mut repairs);
            self.replace_unsound(&mut repairs);
        }
        self.look_for_parity();
        let (changed, mut lost) = self.find_newest();
        self.recover_copies();
        self.rebuild_from_parity(&mut lost, &mut repairs);
        self.gather_copies(&mut repairs);
        self.rebuild_superblocks(&mut repairs);
        self.rescue_copies(&mut repairs);
        if !self.is_frozen() {
            for (block, page) in self.log.recover(&self.medium, self.recovery.void_before) {
                self.fill_row(block, page, &mut repairs);
            }
        }
        self.host.restart_after_cut(self.buffer.accepted());
        if let Some(padding) = &mut self.padding {
            padding.restart(self.buffer.accepted());
        }
        // Nothing is under way, and what was needed is programmed by now.
        self.release_copies();
        self.check_room_for_copies();
        (0..self.allocator.domains()).for_each(|domain| self.note_writable(domain));
        let open = |domain| self.allocator.open_superblocks(domain).count() as u32;
        let open_superblocks = (0..self.allocator.domains()).map(open).max().unwrap_or(0);
        let keeps_log = self.log.keeps_trims();
        Recovered { changed, lost, repairs, map_rows, journal_rows, keeps_log, looks: None, open_superblocks }
    }

    /// Once no row from before the erase point is left, there is nothing that it could tell.
    fn retire_erase_point(&mut self) {
        if self.recovery.fault == Some(RecoveryFault::ForgetsErasePoint) {
            self.recovery.void_before = None;
        }
        if self.recovery.void_before.is_none() {
            return;
        }
        if !self.any_row_is_void() {
            self.recovery.void_before = None;
        }
    }

    /// Whether any data, or copies of them, or pages of the map are from before the erase point.
    fn any_row_is_void(&self) -> bool {
        let medium = &self.medium;
        let is_void = |block, page| self.recovery.is_void(medium.sequence(block, page));
        let data = medium.layout().all_blocks().filter(|&block| !self.is_system_block(block));
        let mut blocks = data.chain(self.copy_blocks()).chain(self.log.map_blocks());
        blocks.any(|block| (0..medium.finished_pages(block)).any(|page| is_void(block, page)))
    }

    /// Everything in RAM is gone.
    fn forget_all(&mut self) {
        self.last_rows = LastRows::None;
        self.buffer.forget(self.counters.host_units);
        self.parts.forget();
        self.superblocks.forget_contents();
        self.begin_collecting();
        if let Some(cache) = &mut self.cache {
            cache.clear();
        }
        self.prefetch = MapPrefetch::default();
    }

    /// See [`crate::Translation::resume`].
    pub(super) fn resume(&mut self, sink: &mut impl OpSink) {
        if self.is_frozen() {
            return;
        }
        self.log.resume(&mut self.medium, sink);
        for domain in 0..self.allocator.domains() {
            self.move_copies(domain, sink);
            self.erase_empty(domain, sink);
            self.start_if_due(domain, sink);
            self.note_writable(domain);
        }
    }

    // ---- the newest copies --------------------------------------------------------------------------------------

    /// Points the map at the newest copies. Returns which pages may hold something else than before the cut (`None`: any),
    /// and all that are lost.
    fn find_newest(&mut self) -> (Option<Vec<LogicalPage>>, Vec<LostPage>) {
        let affected = self.recovery.affected.take();
        let mut lost = Vec::new();
        match &affected {
            Some(pages) => {
                let fates = self.newest_of(pages);
                pages.iter().zip(fates.each()).for_each(|(&page, (_, fate))| self.settle(page, fate, &mut lost));
                self.look_at_others_lost(pages, &mut lost);
            }
            None => {
                self.map.clear();
                self.validity.clear_all();
                let fates = self.newest_of_all();
                fates.each().for_each(|(page, fate)| self.settle(LogicalPage::new(page), fate, &mut lost));
            }
        }
        for (page, unit) in std::mem::take(&mut self.recovery.believed) {
            self.believe(page, unit);
        }
        (affected, lost)
    }

    /// Points the map at what was found of a page, or notes that it is lost.
    fn settle(&mut self, page: LogicalPage, fate: Fate, lost: &mut Vec<LostPage>) {
        match fate {
            Fate::Nothing => {
                self.recovery.lost.remove(&page);
            }
            Fate::Outdated => {
                self.recovery.lost.remove(&page);
                self.log.conclude_trim(page, self.medium.next_sequence());
            }
            Fate::At(unit) => {
                self.recovery.lost.remove(&page);
                let units = self.units_at(unit);
                self.map.found(page, unit);
                self.validity.set_units(unit, u64::MAX >> (64 - units));
            }
            Fate::Lost { sequence, mode } => {
                let known = self.recovery.lost.insert(page, sequence) == Some(sequence);
                lost.push(LostPage { page, mode: mode.filter(|_| !known) });
            }
        }
    }

    /// A checkpoint that is believed too early says that a page lives in a unit that was never programmed.
    fn believe(&mut self, page: LogicalPage, unit: UnitAddress) {
        if let Place::Flash(old) = self.map.get(page) {
            let units = self.units_at(old);
            self.validity.clear_span(old, u64::MAX >> (64 - units));
            self.map.unmap(page);
        }
        self.map.found(page, unit);
        self.validity.set_units(unit, u64::MAX >> (64 - self.units_at(unit)));
    }

    fn newest_of_all(&self) -> Fates {
        let mut copies = Copies::new(self.map.logical_pages());
        for block in self.medium.layout().all_blocks() {
            if self.may_hold_data(block) {
                self.look_at_block(block, &mut copies);
            }
        }
        // After the pages themselves, whose numbers they have: they count where those are gone.
        for block in self.copy_blocks().filter(|_| self.recovery.fault != Some(RecoveryFault::ForgetsCopies)) {
            self.look_at_block(block, &mut copies);
        }
        self.recovery.lost.iter().for_each(|(&page, &sequence)| copies.lost_before(page.number(), sequence));
        let fault = self.recovery.fault;
        if let Some(table) = self.log.trims_on_flash() {
            for (pages, before_row) in table.ranges() {
                if !fault.is_some_and(|fault| fault.forgets_trim(&pages, before_row, table)) {
                    pages.each().for_each(|page| copies.trimmed(page.number(), before_row));
                }
            }
        }
        self.recovery.held.each().for_each(|(page, sequence)| copies.not_before(page.number(), sequence));
        copies.judged(|gone, unit| self.was_moved_from(gone, unit))
    }

    /// Bad blocks that have been replaced hold nothing that another does not. One that could not be replaced any more does.
    pub(super) fn may_hold_data(&self, block: BlockId) -> bool {
        let sb = self.superblocks.of_block_checked(block);
        let unreplaced = sb.is_some_and(|sb| self.superblocks.state(sb) != State::Reserved) && self.is_frozen();
        if self.medium.is_bad(block) { unreplaced } else { !self.is_system_block(block) }
    }

    fn look_at_block(&self, block: BlockId, copies: &mut Copies) {
        let layout = self.medium.layout();
        for page in 0..self.medium.finished_pages(block) {
            let (start, sequence) = (layout.row_start(block, page), self.number_found(block, page));
            let readable = self.medium.is_readable(block, page) || self.can_be_rebuilt((block, page));
            if self.recovery.is_void(sequence) {
                continue;
            }
            // What was not flushed, where firmware pads: the page before counts.
            if !readable && self.padding.is_some() {
                continue;
            }
            if !readable && (self.medium.is_torn(block, page) || self.recovery.is_written_off((block, page), sequence))
            {
                continue;
            }
            for unit in start.run(layout.row_units) {
                let lpn = self.medium.lpn(unit).number();
                if readable {
                    copies.found(lpn, sequence, unit);
                } else {
                    copies.destroyed(lpn, sequence, Destroyed { unit, block, page, mode: self.medium.mode(block) });
                }
            }
        }
    }

    /// Whether a destroyed row can be rebuilt.
    pub(super) fn can_be_rebuilt(&self, row: (BlockId, u32)) -> bool {
        self.parity.as_ref().is_some_and(|parity| parity.can_rebuild(row))
    }

    /// The number of a row.
    #[inline]
    fn number_found(&self, block: BlockId, page: u32) -> SequenceNumber {
        if self.recovery.fault == Some(RecoveryFault::BelievesOldCopies) && self.is_copy_block(block) {
            return SequenceNumber::new(self.medium.rows_queued().saturating_sub(1));
        }
        self.medium.sequence(block, page)
    }

    /// Whether what a cut has destroyed was moved from the superblock in which a unit lies that holds the same page.
    fn was_moved_from(&self, gone: Destroyed, unit: UnitAddress) -> bool {
        let layout = self.medium.layout();
        let Some(to) = self.superblocks.of_block_checked(gone.block) else { return false };
        let Some(from) = self.superblocks.of_block_checked(layout.block_of(unit)) else { return false };
        let row = self.superblocks.row_number(layout.die_of(gone.block).0, gone.page);
        // Of a superblock whose erase was cut short, another block may have held it.
        let whole = |block| !self.medium.is_erased(block) && !self.medium.is_half_erased(block);
        let same = self.recovery.origin(to, row) == Some(from) && self.superblocks.blocks_of(from).all(whole);
        let is_copy = self.medium.generation(gone.unit) == self.medium.generation(unit);
        debug_assert!(!same || is_copy || self.recovery.loaded, "a copy is the same write");
        same && is_copy
    }

    // ---- blocks -------------------------------------------------------------------------------------------------

    /// A block of the reserve has been erased before; if that was cut short, it is erased again.
    fn erase_reserve(&mut self, repairs: &mut Vec<Repair>) {
        let good = |block: &BlockId| !self.medium.is_bad(*block);
        let blocks: Vec<BlockId> = self.medium.half_erased_blocks().filter(good).collect();
        for block in blocks {
            let sb = self.superblocks.of_block_checked(block);
            if sb.is_none_or(|sb| self.superblocks.state(sb) == State::Reserved) {
                repairs.push(Repair::erase(block, &self.medium));
                self.medium.erase_at_start(block).expect("it is good");
            }
        }
    }

    /// See [`crate::Translation::undo_repair`].
    pub(super) fn undo_repair(&mut self, repair: &Repair, undone: Undone) {
        if let RepairKind::Rescue { page, .. } | RepairKind::Rebuild { page, .. } = repair.kind {
            // The copies are there still, or the parity.
            let pages = self.entries_of_row(repair.block, page).map(|(page, _)| page).collect();
            self.forget_more(pages);
        }
        match (repair.kind.page(), undone) {
            (None, _) => self.medium.leave_half_erased(repair.block),
            (Some(page), Undone::NotBegun) => self.medium.undo_program(repair.block, page),
            (Some(page), Undone::Torn { spares_older }) => {
                let destroyed = self.medium.tear_program(repair.block, page, spares_older);
                let pages: Vec<LogicalPage> =
                    self.entries_of(destroyed.iter()).into_iter().map(|(page, _)| page).collect();
                self.forget_more(pages);
            }
        }
        // A copy that is not whole is made again.
        let of_block = |copied: &(BlockId, BlockId)| copied.1 == repair.block;
        let (again, others) = std::mem::take(&mut self.recovery.copied).into_iter().partition(of_block);
        self.recovery.copied = others;
        self.bad_blocks.move_again(again);
    }

    /// Blocks that were being copied when the power went are copied again, from the beginning: the copy holds nothing of
    /// its own until it is whole.
    fn finish_moving(&mut self, repairs: &mut Vec<Repair>) {
        self.recovery.copied.clear();
        while let Some(&(_, to)) = self.bad_blocks.moving().first() {
            let rows = self.rows_to_copy(to);
            let whole = self.medium.finished_pages(to) >= rows
                && self.medium.unreadable_pages(to).all(|page| page >= rows)
                && !self.medium.is_half_erased(to);
            if !whole {
                self.copy_again(to, rows, repairs);
            }
            self.recovery.copied.extend(self.bad_blocks.moving().iter().filter(|moving| moving.1 == to));
            self.bad_blocks.moved(to);
        }
    }

    fn copy_again(&mut self, to: BlockId, rows: u32, repairs: &mut Vec<Repair>) {
        let sources: Vec<BlockId> =
            self.bad_blocks.moving().iter().filter(|moving| moving.1 == to).map(|moving| moving.0).collect();
        let mode = self.medium.mode(sources[0]);
        if !self.medium.is_erased(to) {
            repairs.push(Repair::erase(to, &self.medium));
            self.medium.erase_at_start(to).expect("a block that replaces another is good");
        }
        self.medium.open(to, mode).expect("it is erased");
        for page in 0..rows {
            let has_it = |&&from: &&BlockId| self.medium.finished_pages(from) > page;
            let from = *sources.iter().find(has_it).expect("some source has every row");
            self.medium.copy_row_at_start(from, to, page).expect("it is erased");
            repairs.push(Repair { block: to, kind: RepairKind::Copy { page } });
        }
    }

    /// Superblocks with a block that could not be erased: nothing in them is needed. Another block takes its place, or the
    /// others are kept to replace blocks of their dies.
    fn replace_unsound(&mut self, repairs: &mut Vec<Repair>) {
        for sb in self.superblocks.all() {
            if matches!(self.superblocks.state(sb), State::System | State::Reserved) {
                continue;
            }
            let of_sb = self.superblocks.blocks_of(sb);
            let (bad, good): (Vec<BlockId>, Vec<BlockId>) = of_sb.partition(|&block| self.medium.is_bad(block));
            if bad.is_empty() {
                continue;
            }
            for block in good {
                if !self.medium.is_erased(block) {
                    repairs.push(Repair::erase(block, &self.medium));
                    self.medium.erase_at_start(block).expect("it is good");
                }
            }
            for block in bad {
                let die = self.medium.layout().die_of(block).0;
                let Some(to) = self.superblocks.take_reserve(die) else {
                    self.superblocks.give_up(sb, &self.medium);
                    break;
                };
                self.superblocks.replace(block, to);
            }
        }
        self.check_room();
    }

    /// Programs a row with nothing in it.
    fn fill_row(&mut self, block: BlockId, page: u32, repairs: &mut Vec<Repair>) {
        self.medium.program_at_start(block, page, |tags| tags.fill(EMPTY_TAG)).expect("the next page of its block");
        let start = self.medium.layout().row_start(block, page);
        if let Some(compression) = &mut self.compression {
            compression.set_row(start, 1);
        }
        repairs.push(Repair { block, kind: RepairKind::Fill { page } });
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieId, GrowingFaults};

    use super::*;
    use crate::op::{FlashOp, OpKind};
    use crate::page_map::small;
    use crate::translation::Translation;

    /// The rows that firmware has noted a trim or a loss before may have been erased by now.
    #[test]
    fn what_is_written_after_a_cut_is_newer_than_any_trim_and_any_loss_that_is_noted() {
        let mut map = small::map(true);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        write_through(&mut map, 9, 1, &mut ops);
        map.log.conclude_trim(LogicalPage::new(3), SequenceNumber::new(500));
        for page in [3, 4] {
            if page == 4 {
                map.recovery.lost.insert(LogicalPage::new(4), SequenceNumber::new(700));
            }
            Translation::cut_power(&mut map, &[]);
            Translation::recover(&mut map);
            Translation::resume(&mut map, &mut ops);
            small::work(&mut map, &mut ops);
            write_through(&mut map, page, 1, &mut ops);
        }
        Translation::cut_power(&mut map, &[]);
        assert_eq!(Translation::recover(&mut map).lost, []);
        assert_eq!(
            [3, 4, 9, 5].map(|page| map.write_number(LogicalPage::new(page))),
            [Some(1), Some(1), Some(1), None]
        );
    }

    /// As many rows as an earlier test of order, of 32 bits, took for one behind or for none, and some more.
    const LONG: [u64; 5] = [(1 << 31) - 100, (1 << 31) + 200, (1 << 32) - 60, 1 << 32, 5 << 32];

    /// As if so many rows had been written, and erased again.
    fn pass_rows(map: &mut PageMap, rows: u64) {
        let next = SequenceNumber::new(map.medium.rows_queued() + rows);
        map.medium.resume_sequence(std::iter::once(next));
        assert_eq!(map.medium.next_sequence(), next);
    }

    fn write_through(map: &mut PageMap, page: u32, n: u8, ops: &mut Vec<(DieId, FlashOp)>) {
        map.write(LogicalPage::new(page), n, 0);
        map.force(map.buffer.accepted(), ops);
        small::work(map, ops);
    }

    /// A cut, and what is found after it. A drive that loads what this one has saved finds the same.
    fn cut_and_recover(map: &mut PageMap, ops: &mut Vec<(DieId, FlashOp)>) -> (Vec<Option<u8>>, usize) {
        let next = map.medium.next_sequence();
        Translation::cut_power(map, &[]);
        let saved = Translation::save(map);
        let mut loaded = small::map(true);
        assert_eq!(Translation::load(&mut loaded, &saved), Ok(()));
        assert_eq!(Translation::save(&loaded), saved);
        let mut recovered = |map: &mut PageMap| {
            let lost = Translation::recover(map).lost.len();
            Translation::resume(map, ops);
            small::work(map, ops);
            map.check_invariants().expect("the books balance");
            let held = LogicalPage::all(small::PAGES).each().map(|page| map.write_number(page)).collect();
            (held, lost)
        };
        let found = recovered(map);
        assert_eq!(recovered(&mut loaded), found);
        assert!(map.medium.next_sequence() >= next, "no number comes twice");
        found
    }

    #[test]
    fn what_is_written_long_after_a_trim_is_newer_than_it() {
        for (rows, way) in LONG.into_iter().flat_map(|rows| [(rows, RecoveryWay::Full), (rows, RecoveryWay::Quick)]) {
            let mut map = small::map(true);
            map.set_recovery_way(way);
            let mut ops = Vec::new();
            write_through(&mut map, 3, 1, &mut ops);
            map.trim(LogicalPage::all(small::PAGES), &mut ops);
            map.log.save_trims(&mut map.medium, &mut ops);
            small::work(&mut map, &mut ops);
            pass_rows(&mut map, rows);
            (0..108).for_each(|page| write_through(&mut map, page, 2, &mut ops));
            for cut in 1..=2 {
                let (held, lost) = cut_and_recover(&mut map, &mut ops);
                let right = (0..).zip(&held).all(|(page, held)| *held == (page < 108).then_some(2));
                assert!(right && lost == 0, "{rows} rows, {way:?}, cut {cut}: {held:?}, {lost} lost");
            }
        }
    }

    #[test]
    fn a_trim_counts_however_long_ago_the_data_were_written() {
        for (rows, way) in LONG.into_iter().flat_map(|rows| [(rows, RecoveryWay::Full), (rows, RecoveryWay::Quick)]) {
            let mut map = small::map(true);
            map.set_recovery_way(way);
            let mut ops = Vec::new();
            (0..200).for_each(|page| write_through(&mut map, page, 1, &mut ops));
            pass_rows(&mut map, rows);
            map.trim(LogicalPage::all(100), &mut ops);
            map.log.save_trims(&mut map.medium, &mut ops);
            small::work(&mut map, &mut ops);
            // The quick way looks for what DRAM held.
            (92..108).for_each(|page| _ = map.write(LogicalPage::new(page), 2, 0));
            let (held, lost) = cut_and_recover(&mut map, &mut ops);
            let right = (0..).zip(&held).all(|(page, held)| *held == (100..200).contains(&page).then_some(1));
            assert!(right && lost == 0, "{rows} rows, {way:?}: {held:?}, {lost} lost");
        }
    }

    #[test]
    fn the_newest_copy_counts_however_old_the_others_are() {
        for (rows, way) in LONG.into_iter().flat_map(|rows| [(rows, RecoveryWay::Full), (rows, RecoveryWay::Quick)]) {
            let mut map = small::map(true);
            map.set_recovery_way(way);
            let (mut ops, mut rng, mut last) = (Vec::new(), ssdlab_core::Rng::new(3), [Some(1); small::PAGES as usize]);
            (0..small::PAGES).for_each(|page| write_through(&mut map, page, 1, &mut ops));
            pass_rows(&mut map, rows);
            for round in 0..60 {
                // A few pages are hot, and now and then one of the others is written.
                for k in 0..10 + round * 3 {
                    let page = if rng.chance(1, 40) { 200 + rng.below(100) } else { rng.below(60) } as u32;
                    let n = ((k + round) % 126) as u8 + 2;
                    last[page as usize] = Some(n);
                    write_through(&mut map, page, n, &mut ops);
                }
                let (held, lost) = cut_and_recover(&mut map, &mut ops);
                assert_eq!((held.as_slice(), lost), (last.as_slice(), 0), "{rows} rows, {way:?}, round {round}");
            }
        }
    }

    #[test]
    fn a_page_that_was_lost_and_trimmed_since_is_lost_no_more_on_either_way() {
        for way in [RecoveryWay::Full, RecoveryWay::Quick] {
            let mut map = small::map(true);
            map.set_recovery_way(way);
            map.recovery.lost = BTreeMap::from(
                [(4, 5), (6, 50)].map(|(page, number)| (LogicalPage::new(page), SequenceNumber::new(number))),
            );
            // One trim came after the loss, the other before.
            map.log.conclude_trim(LogicalPage::new(4), SequenceNumber::new(20));
            map.log.conclude_trim(LogicalPage::new(6), SequenceNumber::new(20));
            Translation::cut_power(&mut map, &[]);
            let lost: Vec<LogicalPage> = Translation::recover(&mut map).lost.iter().map(|lost| lost.page).collect();
            assert_eq!(lost, [LogicalPage::new(6)], "{way:?}");
        }
    }

    #[test]
    fn a_row_that_never_came_to_be_makes_nothing_outdated_that_was_there_before() {
        let mut map = small::map(true);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        map.write(LogicalPage::new(3), 1, 0);
        map.force(map.buffer.accepted(), &mut ops);
        small::work(&mut map, &mut ops);
        // Written again, and trimmed while the program waits for its die: its number will be given to another row.
        map.write(LogicalPage::new(3), 2, 0);
        map.dispatch(&mut ops);
        map.trim(LogicalPage::new(3).run(1), &mut ops);
        Translation::cut_power(&mut map, &[]);
        Translation::recover(&mut map);
        assert_eq!(map.write_number(LogicalPage::new(3)), Some(1), "the trim is forgotten");
    }

    /// What a collector's program in the middle of a cut may destroy is still where it was moved from.
    #[test]
    fn what_a_collector_moved_is_found_although_the_block_that_it_wrote_has_been_replaced() {
        let (mut replaced, mut cuts) = (0, 0);
        for seed in 0..200 {
            let mut map = small::map(true);
            let mut rng = Rng::new(seed);
            let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
            let mut writes = [0u8; small::PAGES as usize];
            let mut watched: Option<SuperblockId> = None;
            'drive: for k in 0..4000u32 {
                let page = if k < small::PAGES { k } else { rng.below(small::PAGES.into()) as u32 };
                let write = &mut writes[page as usize];
                *write = *write % 200 + 1;
                map.write(LogicalPage::new(page), *write, 0);
                map.dispatch(&mut ops);
                while !ops.is_empty() {
                    let (die, op) = ops.remove(0);
                    map.began(&op);
                    let to = map.superblocks.of_block(op.block());
                    let source = map.recovery.origin(to, op.page());
                    let moved = op.kind() == OpKind::GcProgram
                        && source.is_some_and(|source| map.superblocks.state(source) == State::Victim);
                    let fails = moved && watched.is_none() && k > 600 && (1..4).contains(&op.page());
                    if op.kind() == OpKind::GcProgram && watched == Some(to) {
                        let mut cut = map.clone();
                        let program = Interrupted::Program { block: op.block(), page: op.page(), spares_older: false };
                        Translation::cut_power(&mut cut, &[program]);
                        assert_eq!(Translation::recover(&mut cut).lost, [], "drive {seed}, page {}", op.page());
                        cuts += 1;
                    }
                    let one = GrowingFaults { programs_per_failure: 1, erases_per_failure: 0, in_bursts: false };
                    if fails {
                        map.medium.inject(one, &Rng::new(1));
                    }
                    map.done(die, op, &mut ops);
                    if fails {
                        map.medium.inject(GrowingFaults::default(), &Rng::new(1));
                        watched = ops
                            .iter()
                            .rev()
                            .find(|(_, again)| again.kind() == OpKind::GcProgram)
                            .map(|(_, again)| map.superblocks.of_block(again.block()));
                        replaced += 1;
                    }
                    if map.is_frozen() || watched.is_some_and(|to| map.superblocks.state(to) != State::Open) {
                        break 'drive;
                    }
                }
            }
        }
        assert!(cuts >= 10, "{replaced} blocks were replaced, {cuts} cuts came after it");
    }

    #[test]
    fn a_recovery_reads_a_checkpoint_and_the_journal_meanwhile_as_far_as_there_are_any() {
        for journal in [false, true] {
            let mut map = small::map(journal);
            let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
            let rows = |map: &mut PageMap| {
                Translation::cut_power(map, &[]);
                let found = Translation::recover(map);
                (found.map_rows, found.journal_rows)
            };
            assert_eq!(rows(&mut map), (0, 0), "nothing was written");
            map.write(LogicalPage::new(3), 1, 0);
            map.force(map.buffer.accepted(), &mut ops);
            small::work(&mut map, &mut ops);
            map.trim(LogicalPage::new(3).run(1), &mut ops);
            map.log.save_trims(&mut map.medium, &mut ops);
            small::work(&mut map, &mut ops);
            // One piece holds the whole map, and follows every row of journal.
            assert_eq!(rows(&mut map), (u32::from(journal), u32::from(journal)));
        }
    }
}
