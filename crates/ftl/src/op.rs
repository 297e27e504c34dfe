//! Operations that the translation layer asks of the dies.

use std::fmt;

use ssdlab_core::Nanos;
use ssdlab_nand::{BlockId, DieId, LogicalPage};

/// What an operation is for; decides its priority and whose time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OpKind {
    HostRead,
    /// Reading what a partial write leaves unchanged.
    MergeRead,
    HostProgram,
    GcRead,
    GcProgram,
    /// The same for a victim of the SLC cache.
    FoldRead,
    FoldProgram,
    /// A fold within the die, which gets its data from the die itself.
    FoldCopy,
    /// Reading a piece of a map that DRAM does not hold as a whole.
    MapRead,
    MetadataProgram,
    /// Bringing a superblock into one piece: a page is read, crosses the bus to be corrected, and is programmed within its
    /// die.
    CopyRead,
    CopyProgram,
    Erase,
    /// Reading an older page of a word line, and programming its copy, before a program endangers it.
    SafetyRead,
    SafetyProgram,
    /// Reading what a block that has gone bad still holds, and programming it into the block that replaces it.
    RetireRead,
    RetireProgram,
}

/// What a die does for an operation, whatever that is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Senses pages and hands data out.
    Read,
    /// Programs data that cross the channel.
    Program,
    /// Programs what it has read itself.
    ProgramOwn,
    Erase,
}

impl OpKind {
    /// The one with a number.
    // As arms and not as a table: the compiler sees that number and kind are the same.
    #[inline(always)]
    fn of_number(number: u8) -> OpKind {
        match number {
            0 => OpKind::HostRead,
            1 => OpKind::MergeRead,
            2 => OpKind::HostProgram,
            3 => OpKind::GcRead,
            4 => OpKind::GcProgram,
            5 => OpKind::FoldRead,
            6 => OpKind::FoldProgram,
            7 => OpKind::FoldCopy,
            8 => OpKind::MapRead,
            9 => OpKind::MetadataProgram,
            10 => OpKind::CopyRead,
            11 => OpKind::CopyProgram,
            12 => OpKind::Erase,
            13 => OpKind::SafetyRead,
            14 => OpKind::SafetyProgram,
            15 => OpKind::RetireRead,
            _ => OpKind::RetireProgram,
        }
    }

    /// What the die does.
    #[inline(always)]
    #[must_use]
    pub fn act(self) -> Act {
        use OpKind::{
            CopyProgram, CopyRead, Erase, FoldCopy, FoldProgram, FoldRead, GcProgram, GcRead, HostProgram, HostRead,
            MapRead, MergeRead, MetadataProgram, RetireProgram, RetireRead, SafetyProgram, SafetyRead,
        };
        match self {
            HostRead | MergeRead | GcRead | FoldRead | MapRead | CopyRead | SafetyRead | RetireRead => Act::Read,
            HostProgram | GcProgram | FoldProgram | MetadataProgram | SafetyProgram | RetireProgram => Act::Program,
            FoldCopy | CopyProgram => Act::ProgramOwn,
            Erase => Act::Erase,
        }
    }

    /// Whether cells are programmed.
    #[inline]
    #[must_use]
    pub fn is_program(self) -> bool {
        matches!(self.act(), Act::Program | Act::ProgramOwn)
    }

    /// Whether it is a read of a single row: for the host, a merge or the map.
    #[inline]
    #[must_use]
    pub fn reads_one_row(self) -> bool {
        matches!(self, OpKind::HostRead | OpKind::MergeRead | OpKind::MapRead)
    }

    /// Whether it writes what a collector has moved.
    #[inline]
    #[must_use]
    pub fn moves_units(self) -> bool {
        matches!(self, OpKind::GcProgram | OpKind::FoldProgram | OpKind::FoldCopy | OpKind::CopyProgram)
    }
}

/// Number of nobody, where a command's would stand.
pub const NOBODY: u16 = u16::MAX;
/// The same for the write buffer: a read of the map that a merge read waits for.
pub const FOR_BUFFER: u16 = u16::MAX - 1;

/// In the head of an operation that [yields](FlashOp::yields).
const YIELDS: u64 = 1 << 24;

/// In the word of an operation of which [`FlashOp::is_behind_all`] holds.
const BEHIND_ALL: u32 = 1;

/// Low bits of a time that a program of the host keeps: of 18 minutes, half of them before and half of them after now.
const TIME_BITS: u32 = 40;

/// One operation of one die. Which die follows from the block; who queues operations knows it.
///
/// It is two words and nothing else: put together from smaller fields it would pass through memory on its way, written in
/// pieces and read as a whole, which costs a dozen cycles each time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FlashOp {
    /// From the lowest byte on: the kind; `rows`; units; whether it yields; two bytes of the page; two bytes that are a command slot, or
    /// the low bits of a program number. `rows`: of collectors' reads a bit each, counted from the page. Of reads of one row,
    /// for the host, a merge or the map: 1, and from the second bit on how many eighths of the only unit cross the bus, 0 for
    /// all that is read. Of programs of the host: bits 32 to 39 of a time. 1 for everything else.
    head: u64,
    /// In the lower half the block; above it the low bits of a time, a logical page, a count of logical pages, or a block. It
    /// means different things to different kinds: ask by the names below, which check the kind.
    tail: u64,
}

impl fmt::Debug for FlashOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlashOp")
            .field("kind", &self.kind())
            .field("rows", &self.rows_field())
            .field("units", &self.units())
            .field("page", &self.page())
            .field("number", &self.number_field())
            .field("block", &self.block())
            .field("word", &self.word())
            .finish()
    }
}

impl FlashOp {
    #[inline(always)]
    fn new(kind: OpKind, block: BlockId, page: u32, (rows, units): (u8, u32), number: u16, word: u32) -> Self {
        debug_assert!(page <= u16::MAX.into() && units <= u8::MAX.into());
        let units = u64::from(units & 0xff) << 16;
        let head =
            kind as u64 | u64::from(rows) << 8 | units | u64::from(page & 0xffff) << 32 | u64::from(number) << 48;
        FlashOp { head, tail: u64::from(block.number()) | u64::from(word) << 32 }
    }

    #[inline(always)]
    fn rows_field(&self) -> u8 {
        (self.head >> 8) as u8
    }

    #[inline(always)]
    fn number_field(&self) -> u16 {
        (self.head >> 48) as u16
    }

    #[inline(always)]
    fn word(&self) -> u32 {
        (self.tail >> 32) as u32
    }

    #[inline(always)]
    fn with_word(self, word: u32) -> Self {
        FlashOp { tail: self.tail & u64::from(u32::MAX) | u64::from(word) << 32, ..self }
    }

    #[inline(always)]
    fn with_block(self, block: BlockId) -> Self {
        FlashOp { tail: self.tail & !u64::from(u32::MAX) | u64::from(block.number()), ..self }
    }

    #[inline(always)]
    fn of(self, kind: OpKind) -> Self {
        FlashOp { head: self.head & !0xff | kind as u64, ..self }
    }

    /// A read of the collector's: `units` of the `rows` from `page` on, one bit each.
    #[inline]
    #[must_use]
    pub fn read(kind: OpKind, block: BlockId, page: u32, rows: u8, units: u32) -> Self {
        debug_assert!(matches!(kind, OpKind::GcRead | OpKind::FoldRead | OpKind::CopyRead));
        FlashOp::new(kind, block, page, (rows, units), 0, 0)
    }

    /// A read for the host. `command`: the slot of the command that waits for it, or [`NOBODY`]. `pages`: see
    /// [`FlashOp::pages_word`].
    #[inline]
    #[must_use]
    pub fn host_read(block: BlockId, page: u32, units: u32, command: u16, pages: u32) -> Self {
        FlashOp::new(OpKind::HostRead, block, page, (1, units), command, pages)
    }

    /// A read of what a partial write of a logical page leaves unchanged, for the command in a slot.
    #[must_use]
    pub fn merge_read(block: BlockId, page: u32, units: u32, command: u16, lpn: LogicalPage) -> Self {
        Self::host_read(block, page, units, command, lpn.number()).of(OpKind::MergeRead)
    }

    /// A read of a piece of the map, for the entry of a logical page. `command`: the slot of the command that waits for it,
    /// [`FOR_BUFFER`] or [`NOBODY`].
    #[must_use]
    pub fn map_read(block: BlockId, page: u32, units: u32, command: u16, lpn: LogicalPage) -> Self {
        Self::host_read(block, page, units, command, lpn.number()).of(OpKind::MapRead)
    }

    /// A read of a row of a block that has gone bad, and that `replacement` takes the place of.
    #[must_use]
    pub fn retire_read(block: BlockId, page: u32, units: u32, replacement: BlockId) -> Self {
        Self::host_read(block, page, units, 0, replacement.number()).of(OpKind::RetireRead)
    }

    /// A read of an older page of a word line, which is to be copied.
    #[must_use]
    pub fn safety_read(block: BlockId, page: u32, units: u32) -> Self {
        Self::host_read(block, page, units, 0, 0).of(OpKind::SafetyRead)
    }

    /// A program of a row that holds `units`, the rest being padding. `number`: the program's, where they are counted.
    #[inline]
    #[must_use]
    pub fn program(kind: OpKind, block: BlockId, page: u32, units: u32, number: u16) -> Self {
        debug_assert!(kind.is_program());
        FlashOp::new(kind, block, page, (1, units), number, 0)
    }

    /// A program of the host's data, which are there at `ready` (see [`OpSink::data_from`]).
    #[inline]
    #[must_use]
    pub fn host_program(block: BlockId, page: u32, units: u32, number: u16, ready: Nanos) -> Self {
        FlashOp::new(OpKind::HostProgram, block, page, ((ready >> 32) as u8, units), number, ready as u32)
    }

    #[inline]
    #[must_use]
    pub fn erase(block: BlockId) -> Self {
        FlashOp::new(OpKind::Erase, block, 0, (1, 0), 0, 0)
    }

    /// A program of a row of parity, which comes behind everything that its die was asked for before.
    #[must_use]
    pub fn parity_program(block: BlockId, page: u32, units: u32) -> Self {
        Self::program(OpKind::SafetyProgram, block, page, units, 0).with_word(BEHIND_ALL)
    }

    /// The erase of a block of parity, likewise.
    #[must_use]
    pub fn area_erase(block: BlockId) -> Self {
        Self::erase(block).with_word(BEHIND_ALL)
    }

    /// Whether it must not overtake anything that its die was asked for before, of whatever block.
    #[inline]
    #[must_use]
    pub fn is_behind_all(&self) -> bool {
        matches!(self.kind(), OpKind::SafetyProgram | OpKind::Erase) && self.word() == BEHIND_ALL
    }

    /// The same, begun only when nothing else waits for its die.
    #[must_use]
    pub fn yielding(self) -> Self {
        debug_assert!(!self.is_behind_all());
        FlashOp { head: self.head | YIELDS, ..self }
    }

    /// Whether it yields to all that waits for its die and does not.
    #[inline(always)]
    #[must_use]
    pub fn yields(&self) -> bool {
        self.head & YIELDS != 0
    }

    /// An operation of any kind on the `rows` from `page` on, one bit each, for tests of what carries operations out.
    #[must_use]
    pub fn of_kind(kind: OpKind, block: BlockId, page: u32, rows: u8, units: u32) -> Self {
        let rows = match kind {
            // Its data are there from the beginning.
            OpKind::HostProgram => 0,
            kind if kind.reads_one_row() => 1,
            _ => rows,
        };
        FlashOp::new(kind, block, page, (rows, units), 0, 0)
    }

    /// This program once more in another block; its data are there at `ready`.
    #[must_use]
    pub fn again_in(self, block: BlockId, ready: Nanos) -> Self {
        debug_assert!(self.kind().is_program());
        let again = self.with_block(block);
        if self.kind() == OpKind::HostProgram { again.with_data_from(ready) } else { again.with_word(0) }
    }

    #[inline]
    #[must_use]
    pub fn kind(&self) -> OpKind {
        OpKind::of_number(self.head as u8)
    }

    #[inline]
    #[must_use]
    pub fn block(&self) -> BlockId {
        BlockId::new(self.tail as u32)
    }

    /// Its first page.
    #[inline]
    #[must_use]
    pub fn page(&self) -> u32 {
        (self.head >> 32) as u32 & 0xffff
    }

    /// Rows of a read, one bit each, counted from the page; 1 for everything else.
    #[inline]
    #[must_use]
    pub fn rows(&self) -> u8 {
        if self.kind().reads_one_row() || self.kind() == OpKind::HostProgram { 1 } else { self.rows_field() }
    }

    /// The same where no read is [`FlashOp::of_part`].
    #[inline]
    #[must_use]
    pub fn rows_of_whole(&self) -> u8 {
        debug_assert!(!self.kind().reads_one_row() || self.rows_field() == 1);
        self.rows_field()
    }

    /// This read of one unit, of which only so many eighths cross the bus (1 to 8).
    #[inline]
    #[must_use]
    pub fn of_part(self, eighths: u8) -> Self {
        debug_assert!(self.kind().reads_one_row() && self.units() == 1 && matches!(eighths, 1..=8));
        FlashOp { head: self.head & !0xff00 | u64::from(1 | eighths << 1) << 8, ..self }
    }

    /// What of a read crosses the bus, in eighths of a unit.
    #[inline]
    #[must_use]
    pub fn eighths(&self) -> u32 {
        let part = if self.kind().reads_one_row() { self.rows_field() >> 1 } else { 0 };
        if part == 0 { self.units() * 8 } else { part.into() }
    }

    /// Units of flash that it is about, padding aside.
    #[inline]
    #[must_use]
    pub fn units(&self) -> u32 {
        (self.head >> 16) as u32 & 0xff
    }

    /// Reads for the host, for a merge and of the map: the slot of the command that waits, [`NOBODY`] or [`FOR_BUFFER`].
    /// A merge read that nobody waits for completes a unit in the write buffer.
    #[inline]
    #[must_use]
    pub fn command(&self) -> u16 {
        debug_assert!(matches!(self.kind(), OpKind::HostRead | OpKind::MergeRead | OpKind::MapRead));
        self.number_field()
    }

    /// Programs of the host and of collectors: the low bits of their number.
    #[inline]
    #[must_use]
    pub fn number(&self) -> u16 {
        debug_assert!(matches!(self.kind(), OpKind::HostProgram | OpKind::SafetyProgram) || self.kind().moves_units());
        self.number_field()
    }

    #[inline]
    fn with_data_from(self, ready: Nanos) -> Self {
        let head = self.head & !0xff00 | (ready >> 32 & 0xff) << 8;
        FlashOp { head, ..self }.with_word(ready as u32)
    }

    /// Programs of the host: how many nanoseconds later than now the data come; zero or less if they are here. True for nine
    /// minutes either way: what waits longer is to be [renewed](FlashOp::renew) meanwhile.
    #[inline]
    #[must_use]
    pub fn data_late_by(&self, now: Nanos) -> i64 {
        debug_assert!(self.kind() == OpKind::HostProgram);
        let ready = u64::from(self.word()) | u64::from(self.rows_field()) << 32;
        const UNKNOWN: u32 = u64::BITS - TIME_BITS;
        (ready.wrapping_sub(now) << UNKNOWN).cast_signed() >> UNKNOWN
    }

    /// Where the data of a program of the host are here, they have come now.
    pub fn renew(&mut self, now: Nanos) {
        if self.kind() == OpKind::HostProgram && self.data_late_by(now) <= 0 {
            *self = self.with_data_from(now);
        }
    }

    /// Reads for the host: the first logical page that it brings; on a drive that compresses, how many.
    #[inline]
    #[must_use]
    pub fn pages_word(&self) -> u32 {
        debug_assert!(self.kind() == OpKind::HostRead);
        self.word()
    }

    /// Takes in the next logical page of the same row: `units` more of flash; `counts`: the drive compresses.
    #[inline]
    pub fn take_in(&mut self, units: u32, counts: bool) {
        debug_assert!(self.kind() == OpKind::HostRead);
        debug_assert!(self.units() + units <= u8::MAX.into());
        self.head += u64::from(units) << 16;
        self.tail += u64::from(counts) << 32;
    }

    /// Whether it is read to complete a unit in the write buffer.
    #[inline]
    #[must_use]
    pub fn is_read_for_buffer(&self) -> bool {
        match self.kind() {
            OpKind::MergeRead => self.number_field() == NOBODY,
            OpKind::MapRead => self.number_field() == FOR_BUFFER,
            _ => false,
        }
    }

    /// Merge reads, and reads of the map for the write buffer: the logical page.
    #[inline]
    #[must_use]
    pub fn merged_page(&self) -> LogicalPage {
        debug_assert!(matches!(self.kind(), OpKind::MergeRead | OpKind::MapRead));
        LogicalPage::new(self.word())
    }

    /// Reads of a block that has gone bad: the block that takes its place.
    #[inline]
    #[must_use]
    pub fn replacement(&self) -> BlockId {
        debug_assert!(self.kind() == OpKind::RetireRead);
        BlockId::new(self.word())
    }

    /// Lets a waiting operation of the translation layer's own on block `from` work on block `to`.
    pub fn retarget(&mut self, from: BlockId, to: BlockId) {
        let stays = matches!(self.kind(), OpKind::HostRead | OpKind::MergeRead | OpKind::RetireRead | OpKind::MapRead);
        if self.block() == from && !stays {
            *self = self.with_block(to);
        }
        if self.kind() == OpKind::RetireRead && self.word() == from.number() {
            *self = self.with_word(to.number());
        }
    }
}

/// Whoever queues operations on dies.
pub trait OpSink {
    fn enqueue(&mut self, die: DieId, op: FlashOp);

    /// The same for a read of the host's or of a merge. `wanted`: the units that are asked for, one bit each, by the last
    /// six bits of the address; only these are corrected, and only these can be lost.
    fn enqueue_read(&mut self, die: DieId, op: FlashOp, wanted: u64) {
        let _ = wanted;
        self.enqueue(die, op);
    }

    /// A block has gone bad. `first` goes ahead of everything else that waits for this die; what waits and would
    /// program, erase or collect block `from` does so with block `to` instead. Reads for the host stay as they are.
    fn retarget(&mut self, die: DieId, from: BlockId, to: BlockId, first: &[FlashOp]);

    /// The same for an operation that yields: a die begins it when nothing else waits for it.
    fn enqueue_yielding(&mut self, die: DieId, op: FlashOp) {
        self.enqueue(die, op);
    }

    /// Operations that were asked for and yield do so no more.
    fn bring_forward(&mut self) {}

    /// Puts an operation ahead of everything that waits for its die but the host's reads.
    fn enqueue_first(&mut self, die: DieId, op: FlashOp) {
        self.retarget(die, op.block(), op.block(), &[op]);
    }

    /// When the data of a program count as being there that is enqueued now: not before now.
    fn data_from(&self, ready: Nanos) -> Nanos {
        ready
    }
}

/// For tests and experiments: operations with their dies, in the order in which they were asked for.
impl OpSink for Vec<(DieId, FlashOp)> {
    fn enqueue(&mut self, die: DieId, op: FlashOp) {
        self.push((die, op));
    }

    fn retarget(&mut self, die: DieId, from: BlockId, to: BlockId, first: &[FlashOp]) {
        self.iter_mut().filter(|(d, _)| *d == die).for_each(|(_, op)| op.retarget(from, to));
        self.splice(..0, first.iter().map(|&op| (die, op)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_that_of_its_number() {
        for number in 0..=OpKind::RetireProgram as u8 {
            assert_eq!(OpKind::of_number(number) as u8, number);
        }
    }

    #[test]
    fn an_operation_is_two_words() {
        assert_eq!(std::mem::size_of::<FlashOp>(), 16);
    }

    #[test]
    fn what_waits_follows_a_block_to_its_replacement() {
        let after = |mut op: FlashOp| {
            op.retarget(BlockId::new(7), BlockId::new(9));
            (op.block().number(), op.word())
        };
        assert_eq!(after(FlashOp::host_program(BlockId::new(7), 0, 4, 0, 7)), (9, 7));
        assert_eq!(after(FlashOp::host_read(BlockId::new(7), 0, 4, 0, 7)), (7, 7));
        // A block that replaces another fails as well.
        assert_eq!(after(FlashOp::retire_read(BlockId::new(3), 0, 4, BlockId::new(7))), (3, 9));
        assert_eq!(after(FlashOp::program(OpKind::RetireProgram, BlockId::new(7), 0, 4, 0)), (9, 0));
    }
}
