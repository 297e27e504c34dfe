//! What the flash holds, and the referee of what may be done to it.

use ssdlab_core::Rng;

use crate::address::{BlockId, DieId, LogicalPage, UnitAddress};
use crate::damage::Damage;
use crate::faults::{Faults, GrowingFaults};
use crate::layout::Layout;
use crate::memory::Table;
use crate::plane_block::{Modes, PlaneBlock};
use crate::sequence::{SequenceNumber, SequenceTable};
use crate::violation::{PairingRule, Violation};
use crate::{BlockHistory, CellMode, DieSpec, memory};

/// The tag of a unit that holds no data of the host (padding, or never programmed).
pub const EMPTY_TAG: u32 = u32::MAX;

/// Addresses that are kept for the firmware's own rows, [`LogicalPage::NONE`] among them.
const RESERVED_ADDRESSES: u32 = 16;

/// How a logical address and a write count share the 32 bits of a unit's tag: the address takes as many bits as it
/// needs, the count the rest, but eight at most. A drive of 128 GB has 7 bits of count, one of 1 TB 4.
///
/// The sixteen greatest addresses are nobody's: a tag with one of them, such as those of the firmware's own rows, is never
/// mistaken for data of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagFormat {
    mask: u32,
    bits: u32,
}

impl TagFormat {
    /// The format for addresses below `logical_pages`.
    ///
    /// # Panics
    /// If fewer than two bits are left for the count (more than 2^30 - 16 pages).
    #[must_use]
    pub fn new(logical_pages: u32) -> Self {
        // All ones stands for "no address".
        let bits = (u32::BITS - logical_pages.saturating_add(RESERVED_ADDRESSES - 1).leading_zeros()).max(24);
        assert!(bits <= 30, "{logical_pages} logical pages leave no room for a write count");
        TagFormat { mask: (1 << bits) - 1, bits }
    }

    #[inline]
    #[must_use]
    pub fn pack(self, lpn: LogicalPage, generation: u8) -> u32 {
        lpn.number() & self.mask | u32::from(generation) << self.bits
    }

    /// The address, or [`LogicalPage::NONE`].
    #[inline]
    #[must_use]
    pub fn lpn(self, tag: u32) -> LogicalPage {
        let address = tag & self.mask;
        if address == self.mask { LogicalPage::NONE } else { LogicalPage::new(address) }
    }

    /// The address of a tag that is known to have one.
    #[inline]
    #[must_use]
    pub fn address(self, tag: u32) -> LogicalPage {
        LogicalPage::new(tag & self.mask)
    }

    #[inline]
    #[must_use]
    pub fn generation(self, tag: u32) -> u8 {
        (tag >> self.bits) as u8
    }

    /// The greatest count; after it comes 1. Who counts in bytes has a bit to spare.
    #[inline]
    #[must_use]
    pub fn max_generation(self) -> u8 {
        (u32::MAX >> self.bits).min(127) as u8
    }
}

/// One page of one plane, for operations that name their planes one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageAddress {
    pub die: DieId,
    pub plane: u32,
    pub block: u32,
    pub page: u32,
}

/// All dies of a drive: contents of the spare areas, programming state, wear, bad blocks.
///
/// User data itself is not kept: each unit's spare area holds a tag, made of its logical address and the low bits of
/// the host's write count of that address, which is what every read is checked against (see [`TagFormat`]). Each row
/// holds the drive-wide sequence number of its programming, by which a recovery tells old copies from new.
#[derive(Clone, Debug)]
pub struct Medium {
    pub(crate) layout: Layout,
    format: TagFormat,
    pub(crate) tags: Table<u32>,
    pub(crate) sequence: SequenceTable,
    pub(crate) next_sequence: SequenceNumber,
    pub(crate) modes: Modes,
    pub(crate) blocks: Vec<PlaneBlock>,
    /// By multi-plane block.
    pub(crate) history: Vec<BlockHistory>,
    /// One flag a multi-plane block: set if any of its planes is bad.
    pub(crate) bad: Vec<bool>,
    pub(crate) faults: Faults,
    /// What power cuts have left behind.
    pub(crate) damage: Damage,
}

/// What becomes of a page between two erases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    Empty,
    /// A program has been decided on; the data are in the controller's RAM.
    Queued,
    /// The die is at it.
    Programming,
    Programmed,
}

/// How a program or an erase that broke no rule ended, as the die's status register tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    Done,
    /// The block has gone bad. What was programmed into it before stays readable; it takes no more programs or erases.
    Failed,
}

/// Tags of units that are not programmed: nobody looks at them. With room behind the last, for looking at 64 at a time.
pub(crate) fn unprogrammed(units: usize) -> Table<u32> {
    Table::zeroed(units + 64)
}

impl Medium {
    /// Fresh dies with factory bad blocks drawn from `rng`.
    #[must_use]
    pub fn new(die: &DieSpec, layout: Layout, format: TagFormat, rng: &Rng) -> Self {
        let mut rng = rng.stream("factory bad blocks");
        let share = u64::from(die.wear.factory_bad_blocks_per_10000);
        // Block 0 of every die is guaranteed good, as datasheets promise.
        let bad = layout
            .all_blocks()
            .map(|b| {
                (0..layout.planes).fold(false, |bad, _| rng.chance(share, 10_000) | bad) && layout.die_of(b).1 != 0
            })
            .collect();
        let units = layout.units();
        let modes = Modes::new(die);
        Medium {
            format,
            tags: unprogrammed(units),
            sequence: SequenceTable::new(units / layout.row_units as usize),
            next_sequence: SequenceNumber::FIRST,
            blocks: vec![modes.empty_block(modes.native); (layout.block_count() * layout.planes) as usize],
            history: vec![BlockHistory::default(); layout.block_count() as usize],
            modes,
            bad,
            faults: Faults::default(),
            damage: Damage::default(),
            layout,
        }
    }

    #[inline]
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    #[must_use]
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.index()]
    }

    /// A block that failed: it takes no more programs or erases.
    pub fn mark_bad(&mut self, block: BlockId) {
        self.bad[block.index()] = true;
    }

    /// From now on blocks go bad in use, at moments drawn from `rng`.
    pub fn inject(&mut self, faults: GrowingFaults, rng: &Rng) {
        self.faults = Faults::new(faults, rng);
    }

    /// Whether no program and no erase is going to fail.
    #[must_use]
    pub fn never_fails(&self) -> bool {
        self.faults.are_none()
    }

    /// Rows whose programs have been queued since the dies were new, copies of [`Medium::copy_row`] aside, and those that a
    /// power cut has undone.
    #[must_use]
    pub fn rows_queued(&self) -> u64 {
        self.next_sequence.number()
    }

    /// The number that the row gets whose program is queued next.
    #[inline]
    #[must_use]
    pub fn next_sequence(&self) -> SequenceNumber {
        self.next_sequence
    }

    /// Erase count of a multi-plane block.
    #[inline]
    #[must_use]
    pub fn erases(&self, block: BlockId) -> u32 {
        self.history[block.index()].erases
    }

    /// Wear, age and reads of a multi-plane block.
    #[inline]
    #[must_use]
    pub fn history(&self, block: BlockId) -> BlockHistory {
        self.history[block.index()]
    }

    /// Notes when a block is programmed for the first time after an erase, in seconds of the caller's clock. Only who
    /// models errors needs to.
    #[inline]
    pub fn note_programmed(&mut self, block: BlockId, now_s: u32) {
        self.history[block.index()].programmed_at_s = now_s;
    }

    /// Program/erase cycles for which a block is rated in the die's own mode.
    #[must_use]
    pub fn rated_cycles(&self) -> u32 {
        self.modes.rated_cycles(self.modes.native)
    }

    /// Wears a block as `erases` more cycles would that use up `wear_ppb` of its life: for looking ahead in time. What it
    /// holds stays.
    pub fn wear(&mut self, block: BlockId, erases: u32, wear_ppb: u64) {
        let history = &mut self.history[block.index()];
        history.erases = history.erases.saturating_add(erases);
        history.wear_ppb = history.wear_ppb.saturating_add(wear_ppb);
    }

    /// Reports that so many pages of a block were sensed in each of these planes, one bit each, by which they disturb
    /// each other's cells. Only who models errors needs to.
    #[inline]
    pub fn count_reads(&mut self, block: BlockId, planes: u8, reads: u32) {
        for (plane, count) in self.history[block.index()].reads.iter_mut().enumerate() {
            *count = count.saturating_add(reads * u32::from(planes >> plane & 1));
        }
    }

    /// Mode in which a block is programmed, or will be.
    #[inline]
    #[must_use]
    pub fn mode(&self, block: BlockId) -> CellMode {
        self.blocks[self.layout.first_plane(block)].mode
    }

    /// The mode of a block that nobody has opened in another.
    #[must_use]
    pub fn native_mode(&self) -> CellMode {
        self.modes.native
    }

    /// Pages that a block has in a mode; 0: the die does not offer it.
    #[must_use]
    pub fn pages_in_mode(&self, mode: CellMode) -> u32 {
        self.modes.empty_block(mode).pages.into()
    }

    /// Pages that a block has in its mode.
    #[inline]
    #[must_use]
    pub fn pages(&self, block: BlockId) -> u32 {
        self.blocks[self.layout.first_plane(block)].pages.into()
    }

    /// Chooses the cell mode of an erased block for the cycle that begins. A block that is programmed without it runs in the
    /// die's own mode; an erase takes every block back to that.
    ///
    /// # Errors
    /// [`Violation::OpenWithoutErase`] if any of its pages has been programmed, [`Violation::NoSuchMode`] or
    /// [`Violation::BadBlock`], with nothing changed.
    pub fn open(&mut self, block: BlockId, mode: CellMode) -> Result<(), Violation> {
        let (die, index) = self.layout.die_of(block);
        if self.bad[block.index()] {
            return Err(Violation::BadBlock { die, block: index });
        }
        let opened = self.modes.empty_block(mode);
        if opened.pages == 0 {
            return Err(Violation::NoSuchMode { die, block: index, mode });
        }
        let first = self.layout.first_plane(block);
        let planes = &mut self.blocks[first..first + self.layout.planes as usize];
        if let Some(used) = planes.iter().find(|state| state.issued > 0) {
            return Err(Violation::OpenWithoutErase { die, block: index, mode: used.mode, wanted: mode });
        }
        planes.fill(opened);
        Ok(())
    }

    /// Pages whose programming has ended.
    #[inline]
    #[must_use]
    pub fn finished_pages(&self, block: BlockId) -> u32 {
        self.blocks[self.layout.first_plane(block)].finished.into()
    }

    /// Pages whose programs have been queued; some may have begun, or ended.
    #[inline]
    #[must_use]
    pub fn issued_pages(&self, block: BlockId) -> u32 {
        self.blocks[self.layout.first_plane(block)].issued.into()
    }

    /// Queues a multi-plane program of a whole row: firmware has decided on it, and holds the data until it has ended.
    /// Returns where the tags of its units go.
    ///
    /// # Errors
    /// A [`Violation`], with nothing changed.
    #[inline(always)]
    pub fn queue_program(&mut self, block: BlockId, page: u32) -> Result<Row<'_>, Violation> {
        let planes = self.layout.planes;
        let first = self.layout.first_plane(block);
        let states = &mut self.blocks[first..first + planes as usize];
        let mut illegal = self.bad[block.index()];
        for state in states.iter_mut() {
            illegal |= u32::from(state.issued) != page || page >= u32::from(state.pages);
            state.issued = state.issued.wrapping_add(1);
        }
        if illegal {
            states.iter_mut().for_each(|state| state.issued = state.issued.wrapping_sub(1));
            return Err(self.explain_row(block, page));
        }
        let start = self.layout.row_start(block, page);
        let range = start.index()..start.index() + self.layout.row_units as usize;
        self.sequence.set(self.layout.row_number(start), self.next_sequence);
        self.next_sequence = self.next_sequence.next();
        Ok(Row { start, tags: &mut self.tags[range] })
    }

    #[cold]
    fn explain_row(&self, block: BlockId, page: u32) -> Violation {
        let first = self.layout.first_plane(block);
        let planes = &self.blocks[first..first + self.layout.planes as usize];
        let issued = planes.iter().map(|state| u32::from(state.issued)).find(|&issued| issued != page);
        self.explain_program(block, page, issued.unwrap_or(page))
    }

    #[cold]
    fn explain_program(&self, block: BlockId, page: u32, issued: u32) -> Violation {
        let (die, index) = self.layout.die_of(block);
        if self.damage.is_half_erased(block) {
            Violation::HalfErased { die, block: index }
        } else if page >= self.pages(block) {
            Violation::NoSuchPage { die, block: index, page }
        } else if self.bad[block.index()] {
            Violation::BadBlock { die, block: index }
        } else if page < issued {
            Violation::ProgramTwice { die, block: index, page }
        } else {
            Violation::ProgramOrder { die, block: index, page, expected: issued }
        }
    }

    /// Queues the program of a copy of a row of `from` into the same page of `to`, its sequence number included, so that
    /// a recovery finds nothing newer or older than there was. For what a block that fails leaves behind. Of a row that a
    /// power cut has destroyed, the copy holds nothing.
    ///
    /// # Errors
    /// A [`Violation`], with nothing changed.
    pub fn copy_row(&mut self, from: BlockId, to: BlockId, page: u32) -> Result<(), Violation> {
        self.copy_row_to((from, page), (to, page))
    }

    /// The same into any page of another block.
    ///
    /// # Errors
    /// A [`Violation`], with nothing changed.
    pub fn copy_row_to(&mut self, from: (BlockId, u32), to: (BlockId, u32)) -> Result<(), Violation> {
        let units = self.layout.row_units;
        let (source, next) = (self.layout.row_start(from.0, from.1), self.next_sequence);
        let target = self.queue_program(to.0, to.1)?.start;
        self.next_sequence = next;
        self.sequence.copy(self.layout.row_number(source), self.layout.row_number(target));
        if self.is_readable(from.0, from.1) {
            self.tags.copy_within(source.index()..(source + units).index(), target.index());
        } else {
            self.tags[target.index()..(target + units).index()].fill(EMPTY_TAG);
        }
        Ok(())
    }

    /// The die begins the oldest program that is queued on this block: from now on the row is neither empty nor written.
    ///
    /// # Errors
    /// [`Violation::ProgramOrder`] if `page` is not that one, or the die is at it already.
    #[inline]
    pub fn begin_program(&mut self, block: BlockId, page: u32) -> Result<(), Violation> {
        let state = &mut self.blocks[self.layout.first_plane(block)];
        if u32::from(state.finished) != page || state.finished == state.issued || state.programming {
            let expected = state.finished.into();
            let (die, block) = self.layout.die_of(block);
            return Err(Violation::ProgramOrder { die, block, page, expected });
        }
        state.programming = true;
        Ok(())
    }

    /// What a page holds: whoever stops the clock can tell what had only been decided on from what was being done.
    #[must_use]
    pub fn page_state(&self, block: BlockId, page: u32) -> PageState {
        let state = &self.blocks[self.layout.first_plane(block)];
        match page {
            _ if page < u32::from(state.finished) => PageState::Programmed,
            _ if page == u32::from(state.finished) && state.programming => PageState::Programming,
            _ if page < u32::from(state.issued) => PageState::Queued,
            _ => PageState::Empty,
        }
    }

    /// Ends the program that the die is at on this block. If it fails, neither this row nor those queued after it hold what
    /// was meant for them.
    ///
    /// # Errors
    /// [`Violation::ProgramOrder`] if `page` is not the one that the die is at.
    #[inline]
    pub fn finish_program(&mut self, block: BlockId, page: u32) -> Result<Outcome, Violation> {
        let planes = self.layout.planes;
        let first = self.layout.first_plane(block);
        if self.faults.program_fails() {
            return self.fail_program(block, page);
        }
        if !std::mem::take(&mut self.blocks[first].programming) {
            return Err(self.explain_not_begun(block, page));
        }
        for state in &mut self.blocks[first..first + planes as usize] {
            if u32::from(state.finished) != page || state.finished == state.issued {
                let (die, index) = self.layout.die_of(block);
                let expected = state.finished.into();
                return Err(Violation::ProgramOrder { die, block: index, page, expected });
            }
            state.finished += 1;
        }
        Ok(Outcome::Done)
    }

    #[cold]
    fn explain_not_begun(&self, block: BlockId, page: u32) -> Violation {
        let expected = self.finished_pages(block);
        let (die, block) = self.layout.die_of(block);
        Violation::ProgramOrder { die, block, page, expected }
    }

    #[cold]
    fn fail_program(&mut self, block: BlockId, page: u32) -> Result<Outcome, Violation> {
        if self.page_state(block, page) != PageState::Programming {
            return Err(self.explain_not_begun(block, page));
        }
        self.blocks[self.layout.first_plane(block)].programming = false;
        self.bad[block.index()] = true;
        Ok(Outcome::Failed)
    }

    /// Programs one page each of several planes, as the die's command set has it.
    ///
    /// # Errors
    /// A [`Violation`] of the pairing or program rules, with nothing changed.
    pub fn program_pages(&mut self, pages: &[PageAddress], tags: &[u32]) -> Result<(), Violation> {
        self.check_pairing(pages)?;
        let upp = self.layout.units_per_page as usize;
        for p in pages {
            let block = self.layout.block_at(p.die, p.block);
            let state = self.blocks[self.layout.first_plane(block) + p.plane as usize];
            if u32::from(state.issued) != p.page || p.page >= u32::from(state.pages) || self.bad[block.index()] {
                return Err(self.explain_program(block, p.page, state.issued.into()));
            }
        }
        for (k, p) in pages.iter().enumerate() {
            let block = self.layout.block_at(p.die, p.block);
            let state = &mut self.blocks[self.layout.first_plane(block) + p.plane as usize];
            state.issued += 1;
            state.finished += 1;
            let at = self.layout.row_start(block, p.page).index() + p.plane as usize * upp;
            self.tags[at..at + upp].copy_from_slice(&tags[k * upp..(k + 1) * upp]);
        }
        Ok(())
    }

    /// Checks that the planes of one operation may go together.
    ///
    /// # Errors
    /// [`Violation::PlanePairing`] or [`Violation::NoSuchPage`].
    pub fn check_pairing(&self, pages: &[PageAddress]) -> Result<(), Violation> {
        let l = &self.layout;
        for (k, p) in pages.iter().enumerate() {
            if p.die.number() >= l.dies || p.plane >= l.planes || p.block >= l.blocks || p.page >= l.pages {
                return Err(Violation::NoSuchPage { die: p.die, block: p.block, page: p.page });
            }
            for q in &pages[..k] {
                let why = if q.die != p.die {
                    PairingRule::DifferentDies
                } else if q.page != p.page {
                    PairingRule::DifferentPages
                } else if q.plane == p.plane {
                    PairingRule::SamePlane
                } else if self.mode(l.block_at(q.die, q.block)) != self.mode(l.block_at(p.die, p.block)) {
                    PairingRule::DifferentModes
                } else {
                    continue;
                };
                return Err(Violation::PlanePairing { first: q.plane, second: p.plane, why });
            }
        }
        Ok(())
    }

    /// How tags are made.
    #[inline]
    #[must_use]
    pub fn format(&self) -> TagFormat {
        self.format
    }

    /// Reads the tag of a unit whose programming has ended.
    ///
    /// # Errors
    /// [`Violation::ReadUnwritten`].
    #[inline]
    pub fn read(&self, unit: UnitAddress) -> Result<u32, Violation> {
        let (block, page) = self.layout.row_of(unit);
        if page >= self.finished_pages(block) {
            let (die, block) = self.layout.die_of(block);
            return Err(Violation::ReadUnwritten { die, block, page });
        }
        Ok(self.tags[unit.index()])
    }

    /// The tag of a unit, whether or not its program has ended: what the controller still has in RAM of a row under
    /// way.
    #[inline]
    #[must_use]
    pub fn tag(&self, unit: UnitAddress) -> u32 {
        self.tags[unit.index()]
    }

    /// The tags of 64 units from one on, whether or not they are programmed.
    #[inline]
    #[must_use]
    pub fn tags_from(&self, unit: UnitAddress) -> &[u32; 64] {
        let first = unit.index();
        (&self.tags[first..first + 64]).try_into().expect("64 of them")
    }

    /// The logical address in a unit's tag, or [`LogicalPage::NONE`].
    #[inline]
    #[must_use]
    pub fn lpn(&self, unit: UnitAddress) -> LogicalPage {
        self.format.lpn(self.tags[unit.index()])
    }

    /// The write count in a unit's tag.
    #[inline]
    #[must_use]
    pub fn generation(&self, unit: UnitAddress) -> u8 {
        self.format.generation(self.tags[unit.index()])
    }

    /// Drive-wide sequence number of the programming of a row.
    #[must_use]
    pub fn sequence(&self, block: BlockId, page: u32) -> SequenceNumber {
        self.sequence.get(self.layout.row_number(self.layout.row_start(block, page)))
    }

    /// A copy takes its spare area along: the row of `to`, whose program has been queued, gets the sequence number of that of
    /// `from`, so that neither counts as newer.
    #[inline]
    pub fn take_sequence(&mut self, from: UnitAddress, to: UnitAddress) {
        let [from, to] = [from, to].map(|unit| self.layout.row_number(unit));
        self.sequence.copy(from, to);
    }

    /// Queues, begins and ends the program of a copy of a row, spare area and sequence number included, where a row is one unit
    /// and nothing can come between. Returns where the copy lies.
    ///
    /// # Errors
    /// A [`Violation`], with nothing changed.
    ///
    /// # Panics
    /// If rows have several units, or programs may fail.
    #[inline(always)]
    pub fn program_copy(&mut self, from: UnitAddress, block: BlockId, page: u32) -> Result<UnitAddress, Violation> {
        assert!(self.layout.row_units == 1 && self.never_fails(), "a row is one unit, and programs do not fail");
        let state = &mut self.blocks[self.layout.first_plane(block)];
        let is_next = u32::from(state.issued) == page && u32::from(state.finished) == page && !state.programming;
        if !is_next || page >= u32::from(state.pages) || self.bad[block.index()] {
            return Err(self.explain_row(block, page));
        }
        state.issued += 1;
        state.finished += 1;
        let to = self.layout.row_start(block, page);
        self.tags[to.index()] = self.tags[from.index()];
        self.sequence.copy(from.index(), to.index());
        self.next_sequence = self.next_sequence.next();
        Ok(to)
    }

    /// Asks the processor to fetch the wear, age and reads of a block.
    #[inline(always)]
    pub fn prefetch_history(&self, block: BlockId) {
        memory::prefetch(&self.history, block.index());
    }

    /// Asks the processor to fetch what [`Medium::program_copy`] reads of a row, or writes. The row may lie behind the last.
    #[inline(always)]
    pub fn prefetch_copied(&self, row: UnitAddress) {
        memory::prefetch(&self.tags, row.index());
        self.sequence.prefetch(row.index());
    }

    /// Asks the processor to fetch the spare areas of some units from one on.
    #[inline]
    pub fn prefetch_tags(&self, unit: UnitAddress, count: u32) {
        const UNITS_OF_A_LINE: u32 = 16;
        let mut at = 0;
        while at < count {
            memory::prefetch(&self.tags, (unit + at).index());
            at += UNITS_OF_A_LINE;
        }
    }

    /// Erases a block of every plane; it returns to the die's own mode. If that fails, nothing can be said of what it
    /// holds.
    ///
    /// # Errors
    /// [`Violation::BadBlock`], or [`Violation::EraseDuringProgram`].
    pub fn erase(&mut self, block: BlockId) -> Result<Outcome, Violation> {
        let (die, index) = self.layout.die_of(block);
        if self.bad[block.index()] {
            return Err(Violation::BadBlock { die, block: index });
        }
        if !self.damage.is_none() {
            self.repair_block(block);
        }
        let planes = self.layout.planes;
        let first = self.layout.first_plane(block);
        for state in &self.blocks[first..first + planes as usize] {
            if state.issued != state.finished {
                return Err(Violation::EraseDuringProgram { die, block: index, page: state.finished.into() });
            }
        }
        if self.faults.erase_fails() {
            self.bad[block.index()] = true;
            return Ok(Outcome::Failed);
        }
        self.erased(block);
        Ok(Outcome::Done)
    }

    /// An erase has ended well.
    pub(crate) fn erased(&mut self, block: BlockId) {
        let planes = self.layout.planes as usize;
        let (ended, first) = (self.mode(block), self.layout.first_plane(block));
        self.blocks[first..first + planes].fill(self.modes.empty_block(self.modes.native));
        self.history[block.index()].erased(self.modes.rated_cycles(ended));
    }
}

/// The spare areas of a row being programmed.
pub struct Row<'a> {
    /// Address of its first unit.
    pub start: UnitAddress,
    pub tags: &'a mut [u32],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Geometry, PageOrder};

    fn die() -> DieSpec {
        DieSpec::plain(Geometry {
            planes: 2,
            blocks_per_plane: 8,
            pages_per_block: 4,
            page_bytes: 16_384,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        })
    }

    fn medium() -> Medium {
        let d = die();
        let layout = Layout::new(&d, 2, 8);
        Medium::new(&d, layout, TagFormat::new(100), &Rng::new(1))
    }

    fn program(m: &mut Medium, block: u32, page: u32) -> Result<(), Violation> {
        m.queue_program(BlockId::new(block), page)?.tags.fill(7);
        m.begin_program(BlockId::new(block), page)?;
        assert_eq!(m.finish_program(BlockId::new(block), page)?, Outcome::Done);
        Ok(())
    }

    #[test]
    fn pages_are_programmed_in_order_and_once_per_erase() {
        let mut m = medium();
        assert_eq!(
            program(&mut m, 9, 1),
            Err(Violation::ProgramOrder { die: DieId::new(1), block: 1, page: 1, expected: 0 })
        );
        for page in 0..4 {
            program(&mut m, 9, page).unwrap();
        }
        assert_eq!(program(&mut m, 9, 2), Err(Violation::ProgramTwice { die: DieId::new(1), block: 1, page: 2 }));
        assert_eq!(program(&mut m, 9, 4), Err(Violation::NoSuchPage { die: DieId::new(1), block: 1, page: 4 }));
        assert_eq!(m.erase(BlockId::new(9)), Ok(Outcome::Done));
        program(&mut m, 9, 0).unwrap();
        assert_eq!(m.erases(BlockId::new(9)), 1);
        assert_eq!(m.erases(BlockId::new(8)), 0);
    }

    #[test]
    fn only_finished_pages_can_be_read() {
        let mut m = medium();
        let unwritten = Err(Violation::ReadUnwritten { die: DieId::new(0), block: 3, page: 0 });
        let unit = m.layout().row_start(BlockId::new(3), 0);
        assert_eq!(m.read(unit), unwritten);
        m.queue_program(BlockId::new(3), 0).unwrap().tags.copy_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(m.read(unit), unwritten);
        assert_eq!(
            m.erase(BlockId::new(3)),
            Err(Violation::EraseDuringProgram { die: DieId::new(0), block: 3, page: 0 })
        );
        let not_begun = Err(Violation::ProgramOrder { die: DieId::new(0), block: 3, page: 0, expected: 0 });
        assert_eq!(
            (m.page_state(BlockId::new(3), 0), m.finish_program(BlockId::new(3), 0)),
            (PageState::Queued, not_begun)
        );
        m.begin_program(BlockId::new(3), 0).unwrap();
        assert_eq!((m.page_state(BlockId::new(3), 0), m.read(unit)), (PageState::Programming, unwritten));
        assert_eq!(m.begin_program(BlockId::new(3), 0).map(|()| Outcome::Done), not_begun);
        assert_eq!(m.finish_program(BlockId::new(3), 0), Ok(Outcome::Done));
        assert_eq!(
            (m.read(unit + 5), m.page_state(BlockId::new(3), 0), m.page_state(BlockId::new(3), 1)),
            (Ok(5), PageState::Programmed, PageState::Empty)
        );
        assert_eq!(m.erase(BlockId::new(3)), Ok(Outcome::Done));
        assert_eq!(m.read(unit), unwritten);
    }

    #[test]
    fn rows_are_in_order_where_each_is_newer_than_the_one_before() {
        let mut m = medium();
        (0..4).for_each(|page| program(&mut m, 3, page).unwrap());
        assert!(m.is_in_order(BlockId::new(3)));
        let rows: Vec<SequenceNumber> = (0..4).map(|page| m.sequence(BlockId::new(3), page)).collect();
        let place = m.layout.row_number(m.layout.row_start(BlockId::new(3), 1));
        for (second, in_order) in [(rows[0], false), (rows[2], false), (rows[1], true)] {
            m.sequence.set(place, second);
            assert_eq!(m.is_in_order(BlockId::new(3)), in_order, "{second} in place of {}", rows[1]);
        }
    }

    #[test]
    fn bad_blocks_take_no_program_and_no_erase() {
        let mut m = medium();
        m.mark_bad(BlockId::new(2));
        assert_eq!(program(&mut m, 2, 0), Err(Violation::BadBlock { die: DieId::new(0), block: 2 }));
        assert_eq!(m.erase(BlockId::new(2)), Err(Violation::BadBlock { die: DieId::new(0), block: 2 }));
    }

    #[test]
    fn a_program_that_fails_ends_the_block_and_leaves_what_was_there() {
        let mut m = medium();
        program(&mut m, 9, 0).unwrap();
        m.inject(GrowingFaults { programs_per_failure: 1, erases_per_failure: 1, in_bursts: false }, &Rng::new(1));
        m.queue_program(BlockId::new(9), 1).unwrap().tags.fill(8);
        m.begin_program(BlockId::new(9), 1).unwrap();
        assert_eq!(
            m.finish_program(BlockId::new(9), 0),
            Err(Violation::ProgramOrder { die: DieId::new(1), block: 1, page: 0, expected: 1 })
        );
        assert_eq!(m.finish_program(BlockId::new(9), 1), Ok(Outcome::Failed));
        let (good, failed) = (m.layout().row_start(BlockId::new(9), 0), m.layout().row_start(BlockId::new(9), 1));
        assert_eq!(m.read(good), Ok(7));
        assert_eq!(m.read(failed), Err(Violation::ReadUnwritten { die: DieId::new(1), block: 1, page: 1 }));
        assert_eq!(program(&mut m, 9, 2), Err(Violation::BadBlock { die: DieId::new(1), block: 1 }));
        assert_eq!(m.erase(BlockId::new(9)), Err(Violation::BadBlock { die: DieId::new(1), block: 1 }));
        assert_eq!(m.erase(BlockId::new(8)), Ok(Outcome::Failed));
        assert_eq!((m.erases(BlockId::new(8)), m.is_bad(BlockId::new(8))), (0, true));
    }

    #[test]
    fn a_copied_row_keeps_its_place_in_the_sequence() {
        let mut m = medium();
        program(&mut m, 0, 0).unwrap();
        program(&mut m, 1, 0).unwrap();
        m.copy_row(BlockId::new(0), BlockId::new(2), 0).unwrap();
        m.begin_program(BlockId::new(2), 0).unwrap();
        assert_eq!(m.finish_program(BlockId::new(2), 0), Ok(Outcome::Done));
        assert_eq!(m.read(m.layout().row_start(BlockId::new(2), 0)), Ok(7));
        assert_eq!((m.sequence(BlockId::new(2), 0), m.rows_queued()), (SequenceNumber::FIRST, 2));
        assert_eq!(
            m.copy_row(BlockId::new(0), BlockId::new(2), 0),
            Err(Violation::ProgramTwice { die: DieId::new(0), block: 2, page: 0 })
        );
    }

    #[test]
    fn planes_pair_only_within_a_die_at_equal_pages_and_once_each() {
        let mut m = medium();
        let p = |die, plane, block, page| PageAddress { die: DieId::new(die), plane, block, page };
        let why = |r: Result<(), Violation>| match r {
            Err(Violation::PlanePairing { why, .. }) => Some(why),
            _ => None,
        };
        let lpn = [1; 8];
        assert_eq!(why(m.program_pages(&[p(0, 0, 1, 0), p(1, 1, 1, 0)], &lpn)), Some(PairingRule::DifferentDies));
        assert_eq!(why(m.program_pages(&[p(0, 0, 1, 0), p(0, 1, 1, 1)], &lpn)), Some(PairingRule::DifferentPages));
        assert_eq!(why(m.program_pages(&[p(0, 0, 1, 0), p(0, 0, 2, 0)], &lpn)), Some(PairingRule::SamePlane));
        m.program_pages(&[p(0, 0, 1, 0), p(0, 1, 2, 0)], &lpn).unwrap();
        assert_eq!(m.read(m.layout().row_start(BlockId::new(1), 0)), Ok(1));
    }

    #[test]
    fn sequence_numbers_rise_with_every_row() {
        let mut m = medium();
        program(&mut m, 0, 0).unwrap();
        program(&mut m, 5, 0).unwrap();
        program(&mut m, 0, 1).unwrap();
        assert_eq!(
            [m.sequence(BlockId::new(0), 0), m.sequence(BlockId::new(5), 0), m.sequence(BlockId::new(0), 1)],
            [0, 1, 2].map(SequenceNumber::new)
        );
    }
}
