//! What every translation layer is to the drive: logical pages in, flash operations out, ended operations back.
//!
//! A translation layer decides and never waits. It owns the medium, so that nobody programs or erases behind its back;
//! the drive carries its operations out on dies and buses, in time, and never sees an address that it could interpret. A
//! drive is built for one translation layer and compiled for it: there is no dispatch by page.

use std::fmt::Debug;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, CellMode, DieId, Interrupted, LogicalPage, LogicalPages, Medium, MisfitError, UnitAddress};

use crate::op::{FlashOp, OpKind, OpSink};
use crate::reads::{ReadFrom, RowReads};

/// Whether a drive can have counted so many units, rows or operations in its life: bytes of them still are a number.
#[must_use]
pub fn is_plausible(count: u64) -> bool {
    count < 1 << 46
}

/// Defines counters from the one list of their names.
macro_rules! counters {
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$what:meta])* pub $count:ident,)* }) => {
        $(#[$doc])*
        pub struct $name {
            $($(#[$what])* pub $count: u64,)*
        }

        impl $name {
            /// See [`is_plausible`].
            #[must_use]
            pub fn are_plausible(&self) -> bool {
                [$(self.$count),*].into_iter().all(is_plausible)
            }
        }
    };
}

counters! {
    /// Units programmed and moved, operations asked for; without rows and reads that a power cut has kept from being. Units are
    /// logical ones of 4 KiB, where not said otherwise.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct TranslationCounters {
        pub host_units,
        pub host_rows,
        pub gc_units,
        pub gc_rows,
        /// Moved out of the SLC cache; not among the `gc` figures, except for what was read.
        pub fold_units,
        pub fold_rows,
        /// Units of flash.
        pub gc_read_units,
        pub metadata_rows,
        pub block_erases,
        pub collections,
        pub overwrites_in_buffer,
        pub trimmed_units,
        /// Units of flash that are padding in host and collector rows.
        pub padding_units,
        /// Units of flash read to complete what the host has written in part, while it waited in the write buffer.
        pub merge_read_units,
        /// Units of flash that compression has saved: of what the host wrote, and again of what was moved.
        pub saved_units,
        pub saved_moving_units,
        /// Rows programmed again because a block went bad, and how often programs and erases failed.
        pub retire_rows,
        pub program_failures,
        pub erase_failures,
        /// Rows that are copies of older pages, made before a program endangered them, and those moved where data live.
        pub safety_rows,
    }
}

/// Neighbouring units of one command, on their way over the link one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub first: LogicalPage,
    pub units: u32,
    pub stream: u8,
    /// When the first begins to come, and the time that each takes, in nanoseconds.
    pub from: u64,
    pub each: u64,
}

impl Stretch {
    /// What comes after the first `units` of it.
    #[inline]
    #[must_use]
    pub fn after(self, units: u32) -> Stretch {
        let from = self.from + self.each * u64::from(units);
        Stretch { first: self.first + units, units: self.units - units, from, ..self }
    }
}

/// What an idle drive has left to fold out of an SLC cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unfolded {
    Nothing,
    /// There is nowhere to fold it to, unless a collection makes room.
    NoRoom,
    More,
}

/// Where a collector stands that works in rounds, between which the drive takes in the host's commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Round {
    /// The collector has nothing to do, or cannot go on by itself.
    #[default]
    None,
    /// It would go on, and waits to be let.
    Wanted,
    Running,
}

/// Where a logical page lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It was never written, or was trimmed.
    Unmapped,
    /// The controller has it in RAM: it waits for a program, or its program has not ended.
    Ram,
    Flash(FlashSpot),
}

/// A unit of flash, and the row that it lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashSpot {
    pub unit: UnitAddress,
    pub block: BlockId,
    pub page: u32,
}

/// A change of the flash that a recovery makes before the drive is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    pub block: BlockId,
    pub kind: RepairKind,
}

impl Repair {
    /// The erase of a block, which has not been made yet.
    #[must_use]
    pub fn erase(block: BlockId, medium: &Medium) -> Self {
        Repair { block, kind: RepairKind::Erase { erased: ErasedBlock::about_to_be(block, medium) } }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairKind {
    /// A block, as it was before.
    Erase { erased: ErasedBlock },
    /// A row is programmed with nothing in it.
    Fill { page: u32 },
    /// A row is read elsewhere on the die, and programmed here.
    Copy { page: u32 },
    /// Row `of` of a block in the die's own mode is read, and its copy programmed here at one bit per cell.
    Save { page: u32, of: u32 },
    /// A row of parity and so many others of its stripe are read, and the row that is missing is programmed here at one bit per
    /// cell.
    Rebuild { page: u32, reads: u32 },
    /// Row `of` of the copies of older pages is read, and programmed here.
    Rescue { page: u32, of: u32 },
}

impl RepairKind {
    /// The page that is programmed, if any is.
    #[must_use]
    pub fn page(self) -> Option<u32> {
        match self {
            RepairKind::Erase { .. } => None,
            RepairKind::Fill { page }
            | RepairKind::Copy { page }
            | RepairKind::Save { page, .. }
            | RepairKind::Rebuild { page, .. }
            | RepairKind::Rescue { page, .. } => Some(page),
        }
    }
}

/// How far a repair had come when the power went again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    NotBegun,
    /// The die was at it; `spares_older`: capacitors have kept the older pages of its word line safe.
    Torn {
        spares_older: bool,
    },
}

/// A logical page that power cuts have destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostPage {
    pub page: LogicalPage,
    /// The cell mode that it was in, if this cut has destroyed it.
    pub mode: Option<CellMode>,
}

/// What a recovery has found and done. Its changes of the flash have been made; how long they take is for the drive to say.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// Logical pages that may hold something else than before the cut, in order; `None`: any may.
    pub changed: Option<Vec<LogicalPage>>,
    /// All that are lost, those of earlier cuts included, and not written or trimmed since.
    pub lost: Vec<LostPage>,
    /// In order, die by die.
    pub repairs: Vec<Repair>,
    /// Rows of the map and of the journal that the recovery reads.
    pub map_rows: u32,
    pub journal_rows: u32,
    /// Whether there is a journal; without one, spare areas are read: so many of a die, at most, or of every row.
    pub keeps_log: bool,
    pub looks: Option<u32>,
    /// Superblocks that are written in part: their ends are looked for.
    pub open_superblocks: u32,
}

/// A block as it was before an erase by SECURITY ERASE or by a recovery: what that takes follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasedBlock {
    pub block: BlockId,
    pub mode: CellMode,
    pub wear_ppb: u64,
}

impl ErasedBlock {
    /// A block as it is now.
    #[must_use]
    pub fn about_to_be(block: BlockId, medium: &Medium) -> Self {
        ErasedBlock { block, mode: medium.mode(block), wear_ppb: medium.history(block).wear_ppb }
    }
}

/// See the module's own page. What has a body here need not be told of by a layer that has nothing of the kind.
pub trait Translation: Clone + Debug + Send + Sync + 'static {
    // ---- what it is ---------------------------------------------------------------------------------------------

    fn medium(&self) -> &Medium;

    /// For who models errors and ageing; contents and program state are the layer's own.
    fn medium_mut(&mut self) -> &mut Medium;

    /// Good blocks that are kept back, and hold nothing until another one goes bad.
    fn kept_back(&self) -> Vec<BlockId> {
        Vec::new()
    }

    fn logical_pages(&self) -> u32;

    /// Units of flash that can hold the host's data: everything but bad, reserved and system blocks, and those set aside
    /// for a cache.
    fn usable_units(&self) -> u64;

    fn counters(&self) -> TranslationCounters;

    /// Streams that the host may name.
    fn streams(&self) -> u8 {
        1
    }

    /// Units of flash that 4 KiB take if they cannot be compressed, as a binary logarithm; 0: nothing is compressed.
    fn unit_shift(&self) -> u32 {
        0
    }

    /// Whether data that can be compressed take less flash.
    #[inline]
    fn compresses(&self) -> bool {
        self.unit_shift() > 0
    }

    /// Units of flash that the logical page takes which begins at `unit`.
    #[inline]
    fn units_at(&self, unit: UnitAddress) -> u32 {
        let _ = unit;
        1
    }

    /// Whether the drive has run out of good blocks, and takes no more writes or trims; and whether not even what was
    /// accepted before can be written any more.
    fn is_read_only(&self) -> bool {
        false
    }
    fn is_frozen(&self) -> bool {
        false
    }

    /// Checks everything that is known twice.
    ///
    /// # Errors
    /// The first discrepancy.
    fn check_invariants(&self) -> Result<(), String>;

    // ---- the host writes ----------------------------------------------------------------------------------------

    /// Units of flash that the write buffer holds: waiting, or in programs that have not ended.
    fn buffered_units(&self) -> u32;

    /// Units that the host has given and whose programs have not ended, wherever they are.
    fn unfinished_units(&self) -> u32 {
        self.buffered_units()
    }

    /// Logical units that wait in the buffer and are not yet given to a program.
    fn waiting_units(&self) -> u32;

    /// Host units accepted so far, and, in order of acceptance, up to which of them everything is on flash.
    fn accepted_units(&self) -> u64;
    fn durable_units(&self) -> u64;

    /// From now on data are written that shrink by so many thousandths.
    fn set_compressibility(&mut self, per_1000: u32) {
        let _ = per_1000;
    }

    /// A write of these pages begins to come. `ends_within`: it ends within the last of them, so that the next may go on there.
    #[inline]
    fn write_begins(&mut self, pages: Range<LogicalPage>, ends_within: bool) {
        let _ = (pages, ends_within);
    }

    /// A write waits, and the write buffer has no room for it.
    #[inline]
    fn needs_room(&mut self, sink: &mut impl OpSink) {
        let _ = sink;
    }

    /// Accepts the units of a stretch into the write buffer. The drive has seen to it that there is room.
    /// `write_number`: which write of a logical page this is, for the checks.
    fn write_units(&mut self, stretch: &Stretch, write_number: impl FnMut(LogicalPage) -> u8);

    /// Instead of [`Translation::write_units`] and [`Translation::dispatch`]: gives the first units of a stretch to dies
    /// as whole rows, as many as these take now. Returns how many units; the rest is to be written to the buffer, and not
    /// to be dispatched now. `None` if that would not be the same.
    #[inline]
    fn write_rows(
        &mut self,
        stretch: &Stretch,
        write_number: impl FnMut(LogicalPage) -> u8,
        sink: &mut impl OpSink,
    ) -> Option<u32> {
        let _ = (stretch, write_number, sink);
        None
    }

    /// Whether the write buffer takes in logical pages of which the host has written some sectors only. What is missing is
    /// then read from flash before the page is programmed: by merge reads for [`crate::NOBODY`], which are told of in
    /// [`Translation::done`].
    #[inline]
    fn buffers_parts(&self) -> bool {
        false
    }

    /// Accepts sectors of a logical page into the write buffer, one bit each, where [`Translation::buffers_parts`]. The drive
    /// has seen to it that there is room. They are there at `ready`; `write_number`: as in [`Translation::write_units`].
    fn write_part(&mut self, page: LogicalPage, sectors: u64, stream: u8, ready: u64, write_number: u8) {
        let _ = (page, sectors, stream, ready, write_number);
        unreachable!("this translation layer takes whole units only");
    }

    /// Sectors of a logical page in the write buffer that are still on flash only, one bit each.
    #[inline]
    fn missing_sectors(&self, page: LogicalPage) -> u64 {
        let _ = page;
        0
    }

    /// Logical pages in the write buffer that lack sectors.
    #[inline]
    fn lacking_units(&self) -> u32 {
        0
    }

    /// Sees to it that the missing sectors of a logical page are being read.
    fn fetch_missing(&mut self, page: LogicalPage, sink: &mut impl OpSink) {
        let _ = (page, sink);
    }

    /// Gives waiting units to dies as far as policy, space and queues allow.
    fn dispatch(&mut self, sink: &mut impl OpSink);

    /// Sees to it that everything up to this accepted unit ([`Translation::accepted_units`]) gets written, as soon as there is room:
    /// partly filled rows included. What is accepted later waits for a full row as ever.
    fn force(&mut self, up_to: u64, sink: &mut impl OpSink);

    /// Whether what has gone to dies is durable only once [`Translation::force`] has closed it in.
    #[inline]
    fn pads_at_flush(&self) -> bool {
        false
    }

    /// Whether what the host has given last of a logical page is on flash, and recovery brings it back, whatever was accepted
    /// before it and is not there yet. A layer that [pads](Translation::pads_at_flush) knows it of everything together only.
    #[inline]
    fn is_on_flash(&self, page: LogicalPage) -> bool {
        !self.pads_at_flush() && matches!(self.source(page), Source::Flash(_))
    }

    /// Forgets logical pages.
    fn trim(&mut self, pages: Range<LogicalPage>, sink: &mut impl OpSink);

    /// SECURITY ERASE: forgets everything, and erases every block that is not empty. Nothing may be under way. Returns
    /// these blocks.
    fn secure_erase(&mut self) -> Vec<ErasedBlock>;

    /// Forgets everything at once, and erases nothing for it: the copies that are on flash now are void, and no recovery brings
    /// any of them back. Nothing of the host's may wait in the buffer.
    fn void_all(&mut self, sink: &mut impl OpSink) {
        // A layer that recovers from no cut has nothing to note.
        self.trim(LogicalPage::all(self.logical_pages()), sink);
    }

    // ---- the host reads -----------------------------------------------------------------------------------------

    fn source(&self, page: LogicalPage) -> Source;

    /// Which write of a logical page the drive would return; `None` if it holds none.
    fn write_number(&self, page: LogicalPage) -> Option<u8>;

    /// Reads a logical page for the host: the operation goes into `reads`, where it may meet neighbours. Returns where the
    /// page comes from.
    #[inline(always)]
    fn read_page(&self, page: LogicalPage, reads: &mut RowReads, sink: &mut impl OpSink) -> ReadFrom {
        match self.source(page) {
            Source::Unmapped => ReadFrom::Nowhere,
            Source::Ram => ReadFrom::Ram,
            Source::Flash(FlashSpot { unit, block, page: row }) => {
                let layout = self.medium().layout();
                let units = self.units_at(unit);
                reads.add(page, (unit, units), (layout.die_of(block).0, block, row), sink);
                ReadFrom::Flash { unit, bytes: units * layout.unit_bytes, first: reads.first_page() }
            }
        }
    }

    /// Reads what a partial write of a logical page leaves unchanged, for the command in a slot; returns how many bytes of
    /// flash are read. `None` if nothing has to be: the controller has the page in RAM, or it holds nothing.
    fn read_for_merge(&self, page: LogicalPage, command: u16, sink: &mut impl OpSink) -> Option<u32> {
        let Source::Flash(FlashSpot { unit, block, page: row }) = self.source(page) else { return None };
        let layout = self.medium().layout();
        let units = self.units_at(unit);
        let op = FlashOp::merge_read(block, row, units, command, page);
        sink.enqueue_read(layout.die_of(block).0, op, 1 << unit.bit());
        Some(units * layout.unit_bytes)
    }

    /// Asks the processor of this machine to fetch the map entry of a page that will be needed soon.
    #[inline]
    fn prefetch(&self, page: LogicalPage) {
        let _ = page;
    }

    /// Whether DRAM holds a part of the map only.
    #[inline]
    fn loads_on_demand(&self) -> bool {
        false
    }

    /// Looks up the entries that a read of the host needs. Returns for how many of them `command` must wait until pieces of the
    /// map have been read, for it or for others; [`Translation::map_read_ended`] tells of each. [`crate::NOBODY`]: pages to be
    /// read ahead.
    fn look_up(&mut self, pages: Range<LogicalPage>, command: u16, sink: &mut impl OpSink) -> u32 {
        let _ = (pages, command, sink);
        0
    }

    /// A read of the map has ended. Returns who has waited for it since [`Translation::look_up`], or [`crate::FOR_BUFFER`], each for
    /// the entry of a logical page. Goes before [`Translation::done`].
    fn map_read_ended(&mut self, op: &FlashOp) -> Vec<(u16, LogicalPage)> {
        let _ = op;
        Vec::new()
    }

    /// Nobody waits for pieces of the map any more but [`crate::FOR_BUFFER`]; what is read for others alone need not be.
    fn forget_map_reads(&mut self) {}

    /// Whether a read of the map is waited for.
    fn awaits_map_read(&self, op: &FlashOp) -> bool {
        let _ = op;
        false
    }

    /// Which of the 64 units of flash from one on hold valid data, one bit each.
    fn valid_units(&self, from: UnitAddress) -> u64;

    /// Whether a unit that an operation reads holds what its logical page has last been given.
    fn is_current(&self, op: &FlashOp, unit: UnitAddress) -> bool {
        let page = self.medium().lpn(unit);
        // Padding and the firmware's own rows are nobody's.
        if page == LogicalPage::NONE || page.number() >= self.logical_pages() {
            return false;
        }
        let lives_at = self.needed_unit_of(page);
        if op.kind() != OpKind::RetireRead {
            return lives_at == Some(unit);
        }
        // What a failed block holds has moved on paper before it is read.
        let layout = self.medium().layout();
        lives_at == Some(layout.row_start(op.replacement(), 0) + (unit - layout.row_start(op.block(), 0)))
    }

    /// The unit of flash that a logical page lives in, or will once a program under way has ended; `None` if it waits in
    /// the buffer, or holds nothing.
    fn unit_of(&self, page: LogicalPage) -> Option<UnitAddress>;

    /// The same; and of a page that waits in the buffer, the unit that holds its missing sectors.
    #[inline]
    fn needed_unit_of(&self, page: LogicalPage) -> Option<UnitAddress> {
        self.unit_of(page)
    }

    /// Logical pages that hold data.
    fn mapped_units(&self) -> u64 {
        LogicalPage::all(self.logical_pages()).each().filter(|&page| self.source(page) != Source::Unmapped).count()
            as u64
    }

    // ---- operations ---------------------------------------------------------------------------------------------

    /// A die begins an operation.
    #[inline]
    fn began(&mut self, op: &FlashOp) {
        let _ = op;
    }

    /// A die has done what it was asked. Follow-up work goes to `sink`. Reads for a command are not told of; a read of the map
    /// is for each unit in the write buffer that has waited for it, as if for [`crate::FOR_BUFFER`].
    fn done(&mut self, die: DieId, op: FlashOp, sink: &mut impl OpSink);

    /// Whether dies copy pages one after the other ([`OpKind::CopyRead`], [`OpKind::CopyProgram`]), each with nothing else to be
    /// decided before the next is read. What such a layer says to the questions that follow lets the drive work a whole copy
    /// out at once, where nothing can come between.
    const COPIES_IN_CHAINS: bool = false;

    /// Whether pages leave the buffer when their programs begin, not when they end: there is room for more then.
    const ROOM_AS_PROGRAMS_BEGIN: bool = false;

    /// Dies that may copy at the same time as one that does, itself included; none if those of other chains do so, too.
    #[inline]
    fn copying_beside(&self, die: DieId) -> Range<u32> {
        let _ = die;
        0..0
    }

    /// The row that a page is copied into which a die is reading or programming.
    #[inline]
    fn copies_into(&self, die: DieId) -> u32 {
        let _ = die;
        unreachable!("this translation layer does not copy in chains");
    }

    /// The page that a die is reading has been read, and programmed, and the next one is to be read: returns that read. `None` if
    /// something else comes next, or nothing; then nothing is changed, and [`Translation::done`] is told of the read.
    #[inline]
    fn copy_whole(&mut self, die: DieId) -> Option<FlashOp> {
        let _ = die;
        None
    }

    /// The same for a page that a die has programmed, and [`Translation::began`] was told of.
    #[inline]
    fn copy_next(&mut self, die: DieId) -> Option<FlashOp> {
        let _ = die;
        None
    }

    /// Some operation has ended: a good moment for the simulator to fetch what it will need soon. Changes no result.
    #[inline]
    fn prefetch_ahead(&mut self) {}

    // ---- work while the host is silent --------------------------------------------------------------------------

    /// A command of the host's has ended, on a drive that works ahead of need beside its host (`gc.background_beside_host`).
    fn work_beside_host(&mut self, sink: &mut impl OpSink) {
        let _ = sink;
    }

    /// The drive is idle: collects ahead of need. Returns whether a collection runs.
    fn collect_in_background(&mut self, sink: &mut impl OpSink) -> bool {
        let _ = sink;
        false
    }

    /// The drive is idle: folds a part of an SLC cache. Returns what is left to do.
    fn fold_in_background(&mut self, sink: &mut impl OpSink) -> Unfolded {
        let _ = sink;
        Unfolded::Nothing
    }

    /// The drive is idle: moves the data of blocks that are due, as long as it is.
    fn refresh_while_idle(&mut self, is_due: &dyn Fn(BlockId) -> bool, sink: &mut impl OpSink) {
        let _ = (is_due, sink);
    }

    /// The data of a block have been read often: they are moved, even while the host is busy.
    fn refresh(&mut self, block: BlockId, sink: &mut impl OpSink) {
        let _ = (block, sink);
    }

    /// The host is back: work ahead of need ends with what it holds.
    fn stop_background(&mut self, sink: &mut impl OpSink) {
        let _ = sink;
    }

    // ---- rounds -------------------------------------------------------------------------------------------------

    #[inline]
    fn round(&self) -> Round {
        Round::None
    }

    /// Whether the collector should be let although the host has commands; and whether the round empties the SLC cache.
    fn round_is_due(&self) -> bool {
        false
    }
    fn round_folds(&self) -> bool {
        false
    }

    /// Lets the collector begin the round that it wants.
    fn begin_round(&mut self, sink: &mut impl OpSink) {
        let _ = sink;
    }

    // ---- power cuts ---------------------------------------------------------------------------------------------

    /// Whether the layer can recover from a power cut.
    fn survives_cuts(&self) -> bool {
        false
    }

    /// The power is about to go while the array of a die is at this operation: a program counts as one, torn as it is. The others
    /// that were asked for and have not ended never happened.
    fn cut_short(&mut self, op: &FlashOp) {
        let _ = op;
    }

    /// The power goes, while the dies' arrays are at these operations, of each of which [`Translation::cut_short`] has told. Nothing
    /// else is asked of the layer before [`Translation::recover`].
    fn cut_power(&mut self, under_way: &[Interrupted]) {
        let _ = under_way;
        unreachable!("this translation layer does not recover from power cuts");
    }

    /// What is on flash, and nothing else, for a file: asked between [`Translation::cut_power`] and [`Translation::recover`].
    fn save(&self) -> Vec<u8> {
        unreachable!("this translation layer does not recover from power cuts");
    }

    /// A layer over dies fresh from the factory takes over what one of the same kind has saved: it is as that one was when it
    /// was asked, and [`Translation::recover`] comes next.
    ///
    /// # Errors
    /// If the bytes are not the state of such a layer over such dies. The layer is of no use then.
    fn load(&mut self, saved: &[u8]) -> Result<(), MisfitError> {
        let _ = saved;
        unreachable!("this translation layer does not recover from power cuts");
    }

    /// Finds everything again from what is on flash, and makes the repairs that this needs. No operation is asked for:
    /// [`Translation::resume`] does, once the drive is ready.
    fn recover(&mut self) -> Recovered {
        unreachable!("this translation layer does not recover from power cuts");
    }

    /// The power went again before a repair was done. Repairs are undone from the last to the first, after
    /// [`Translation::cut_power`].
    fn undo_repair(&mut self, repair: &Repair, undone: Undone) {
        let _ = (repair, undone);
        unreachable!("this translation layer does not recover from power cuts");
    }

    /// Goes on with what has to be done without the host, after a recovery.
    fn resume(&mut self, sink: &mut impl OpSink) {
        let _ = sink;
    }

    /// The power has gone, and capacitors feed the drive for a while: everything that the host was told is written goes to flash,
    /// and nothing else is begun. A cut follows in any case.
    fn save_on_capacitors(&mut self, sink: &mut impl OpSink) {
        self.stop_background(sink);
        self.save_log(sink);
        self.force(self.accepted_units(), sink);
    }

    /// Meanwhile: whether an erase of this block that has not begun is left out, as nobody needs its room.
    fn leaves_erase_out(&self, block: BlockId) -> bool {
        let _ = block;
        false
    }

    /// Writes out all that has happened to the map and is in RAM only: after that a start looks for nothing.
    fn save_log(&mut self, sink: &mut impl OpSink) {
        let _ = sink;
    }

    /// Ranges of logical pages whose trims a cut would forget now; `None`: any trim may be forgotten.
    fn unsaved_trims(&self) -> Option<Vec<Range<LogicalPage>>> {
        None
    }
}
