//! Operations that the translation layer asks of the dies.

use ssdlab_core::Nanos;
use ssdlab_nand::{BlockId, DieId};

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

impl OpKind {
    /// Whether cells are programmed.
    #[inline]
    #[must_use]
    pub fn is_program(self) -> bool {
        use OpKind::{CopyProgram, FoldCopy, FoldProgram, GcProgram, HostProgram, MetadataProgram, RetireProgram};
        matches!(
            self,
            HostProgram
                | GcProgram
                | FoldProgram
                | FoldCopy
                | MetadataProgram
                | CopyProgram
                | RetireProgram
                | OpKind::SafetyProgram
        )
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

/// In the word of an operation of which [`FlashOp::is_behind_all`] holds.
const BEHIND_ALL: u32 = 1;

/// One operation of one die, in two words. Which die follows from the block; who queues operations knows it.
///
/// Two of the words mean different things to different kinds: ask by the names below, which check the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashOp {
    kind: OpKind,
    /// Collectors' reads: rows, one bit each, counted from `page`. Reads of one row, for the host, a merge or the map: 1, and from the
    /// second bit on how many eighths of the only unit cross the bus, 0 for all that is read. 1 for everything else.
    rows: u8,
    units: u8,
    page: u16,
    /// A command slot, or the low bits of a program number.
    number: u16,
    block: BlockId,
    /// A time code, a logical page, a count of logical pages, or a block.
    word: u32,
}

impl FlashOp {
    /// A read of the collector's: `units` of the `rows` from `page` on, one bit each.
    #[inline]
    #[must_use]
    pub fn read(kind: OpKind, block: BlockId, page: u32, rows: u8, units: u32) -> Self {
        debug_assert!(matches!(kind, OpKind::GcRead | OpKind::FoldRead | OpKind::CopyRead));
        FlashOp { kind, rows, units: units as u8, page: page as u16, number: 0, block, word: 0 }
    }

    /// A read for the host. `command`: the slot of the command that waits for it, or [`NOBODY`]. `pages`: see
    /// [`FlashOp::pages_word`].
    #[inline]
    #[must_use]
    pub fn host_read(block: BlockId, page: u32, units: u32, command: u16, pages: u32) -> Self {
        FlashOp {
            kind: OpKind::HostRead,
            rows: 1,
            units: units as u8,
            page: page as u16,
            number: command,
            block,
            word: pages,
        }
    }

    /// A read of what a partial write of a logical page leaves unchanged, for the command in a slot.
    #[must_use]
    pub fn merge_read(block: BlockId, page: u32, units: u32, command: u16, lpn: u32) -> Self {
        FlashOp { kind: OpKind::MergeRead, ..Self::host_read(block, page, units, command, lpn) }
    }

    /// A read of a piece of the map, for the entry of a logical page. `command`: the slot of the command that waits for it,
    /// [`FOR_BUFFER`] or [`NOBODY`].
    #[must_use]
    pub fn map_read(block: BlockId, page: u32, units: u32, command: u16, lpn: u32) -> Self {
        FlashOp { kind: OpKind::MapRead, ..Self::host_read(block, page, units, command, lpn) }
    }

    /// A read of a row of a block that has gone bad, and that `replacement` takes the place of.
    #[must_use]
    pub fn retire_read(block: BlockId, page: u32, units: u32, replacement: BlockId) -> Self {
        FlashOp { kind: OpKind::RetireRead, ..Self::host_read(block, page, units, 0, replacement.number()) }
    }

    /// A read of an older page of a word line, which is to be copied.
    #[must_use]
    pub fn safety_read(block: BlockId, page: u32, units: u32) -> Self {
        FlashOp { kind: OpKind::SafetyRead, ..Self::host_read(block, page, units, 0, 0) }
    }

    /// A program of a row that holds `units`, the rest being padding. `number`: the program's, where they are counted.
    #[inline]
    #[must_use]
    pub fn program(kind: OpKind, block: BlockId, page: u32, units: u32, number: u16) -> Self {
        debug_assert!(kind.is_program());
        FlashOp { kind, rows: 1, units: units as u8, page: page as u16, number, block, word: 0 }
    }

    /// A program of the host's data, which are there at `ready_code` (see [`OpSink::ready_code`]).
    #[inline]
    #[must_use]
    pub fn host_program(block: BlockId, page: u32, units: u32, number: u16, ready_code: u32) -> Self {
        FlashOp {
            kind: OpKind::HostProgram,
            rows: 1,
            units: units as u8,
            page: page as u16,
            number,
            block,
            word: ready_code,
        }
    }

    #[inline]
    #[must_use]
    pub fn erase(block: BlockId) -> Self {
        FlashOp { kind: OpKind::Erase, rows: 1, units: 0, page: 0, number: 0, block, word: 0 }
    }

    /// A program of a row of parity, which comes behind everything that its die was asked for before.
    #[must_use]
    pub fn parity_program(block: BlockId, page: u32, units: u32) -> Self {
        FlashOp { word: BEHIND_ALL, ..Self::program(OpKind::SafetyProgram, block, page, units, 0) }
    }

    /// The erase of a block of parity, likewise.
    #[must_use]
    pub fn area_erase(block: BlockId) -> Self {
        FlashOp { word: BEHIND_ALL, ..Self::erase(block) }
    }

    /// Whether it must not overtake anything that its die was asked for before, of whatever block.
    #[inline]
    #[must_use]
    pub fn is_behind_all(&self) -> bool {
        matches!(self.kind, OpKind::SafetyProgram | OpKind::Erase) && self.word == BEHIND_ALL
    }

    /// An operation of any kind on the `rows` from `page` on, one bit each, for tests of what carries operations out.
    #[must_use]
    pub fn of_kind(kind: OpKind, block: BlockId, page: u32, rows: u8, units: u32) -> Self {
        let rows = if kind.reads_one_row() { 1 } else { rows };
        FlashOp { kind, rows, units: units as u8, page: page as u16, number: 0, block, word: 0 }
    }

    /// This program once more in another block; its data are there at `ready_code`.
    #[must_use]
    pub fn again_in(self, block: BlockId, ready_code: u32) -> Self {
        debug_assert!(self.kind.is_program());
        FlashOp { block, word: ready_code, ..self }
    }

    #[inline]
    #[must_use]
    pub fn kind(&self) -> OpKind {
        self.kind
    }

    #[inline]
    #[must_use]
    pub fn block(&self) -> BlockId {
        self.block
    }

    /// Its first page.
    #[inline]
    #[must_use]
    pub fn page(&self) -> u32 {
        self.page.into()
    }

    /// Rows of a read, one bit each, counted from the page; 1 for everything else.
    #[inline]
    #[must_use]
    pub fn rows(&self) -> u8 {
        if self.kind.reads_one_row() { 1 } else { self.rows }
    }

    /// The same where no read is [`FlashOp::of_part`].
    #[inline]
    #[must_use]
    pub fn rows_of_whole(&self) -> u8 {
        debug_assert!(!self.kind.reads_one_row() || self.rows == 1);
        self.rows
    }

    /// This read of one unit, of which only so many eighths cross the bus (1 to 8).
    #[inline]
    #[must_use]
    pub fn of_part(self, eighths: u8) -> Self {
        debug_assert!(self.kind.reads_one_row() && self.units == 1 && matches!(eighths, 1..=8));
        FlashOp { rows: 1 | eighths << 1, ..self }
    }

    /// What of a read crosses the bus, in eighths of a unit.
    #[inline]
    #[must_use]
    pub fn eighths(&self) -> u32 {
        let part = if self.kind.reads_one_row() { self.rows >> 1 } else { 0 };
        if part == 0 { u32::from(self.units) * 8 } else { part.into() }
    }

    /// Units of flash that it is about, padding aside.
    #[inline]
    #[must_use]
    pub fn units(&self) -> u32 {
        self.units.into()
    }

    /// Reads for the host, for a merge and of the map: the slot of the command that waits, [`NOBODY`] or [`FOR_BUFFER`].
    /// A merge read that nobody waits for completes a unit in the write buffer.
    #[inline]
    #[must_use]
    pub fn command(&self) -> u16 {
        debug_assert!(matches!(self.kind, OpKind::HostRead | OpKind::MergeRead | OpKind::MapRead));
        self.number
    }

    /// Programs of the host and of collectors: the low bits of their number.
    #[inline]
    #[must_use]
    pub fn number(&self) -> u16 {
        debug_assert!(matches!(self.kind, OpKind::HostProgram | OpKind::SafetyProgram) || self.kind.moves_units());
        self.number
    }

    /// Programs of the host: when the data are there, as [`OpSink::ready_code`] has it.
    #[inline]
    #[must_use]
    pub fn ready_code(&self) -> u32 {
        debug_assert!(self.kind == OpKind::HostProgram);
        self.word
    }

    /// Sets what [`FlashOp::ready_code`] tells.
    #[inline]
    pub fn set_ready_code(&mut self, code: u32) {
        debug_assert!(self.kind == OpKind::HostProgram);
        self.word = code;
    }

    /// Reads for the host: the first logical page that it brings; on a drive that compresses, how many.
    #[inline]
    #[must_use]
    pub fn pages_word(&self) -> u32 {
        debug_assert!(self.kind == OpKind::HostRead);
        self.word
    }

    /// Takes in the next logical page of the same row: `units` more of flash; `counts`: the drive compresses.
    #[inline]
    pub fn take_in(&mut self, units: u32, counts: bool) {
        debug_assert!(self.kind == OpKind::HostRead);
        self.units += units as u8;
        self.word += u32::from(counts);
    }

    /// Whether it is read to complete a unit in the write buffer.
    #[inline]
    #[must_use]
    pub fn is_read_for_buffer(&self) -> bool {
        match self.kind {
            OpKind::MergeRead => self.number == NOBODY,
            OpKind::MapRead => self.number == FOR_BUFFER,
            _ => false,
        }
    }

    /// Merge reads, and reads of the map for the write buffer: the logical page.
    #[inline]
    #[must_use]
    pub fn merged_page(&self) -> u32 {
        debug_assert!(matches!(self.kind, OpKind::MergeRead | OpKind::MapRead));
        self.word
    }

    /// Reads of a block that has gone bad: the block that takes its place.
    #[inline]
    #[must_use]
    pub fn replacement(&self) -> BlockId {
        debug_assert!(self.kind == OpKind::RetireRead);
        BlockId::new(self.word)
    }

    /// Lets a waiting operation of the translation layer's own on block `from` work on block `to`.
    pub fn retarget(&mut self, from: BlockId, to: BlockId) {
        let stays = matches!(self.kind, OpKind::HostRead | OpKind::MergeRead | OpKind::RetireRead | OpKind::MapRead);
        if self.block == from && !stays {
            self.block = to;
        }
        if self.kind == OpKind::RetireRead && self.word == from.number() {
            self.word = to.number();
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

    /// Puts an operation ahead of everything that waits for its die but the host's reads.
    fn enqueue_first(&mut self, die: DieId, op: FlashOp) {
        self.retarget(die, op.block(), op.block(), &[op]);
    }

    /// Packs a time into an operation that is enqueued now.
    fn ready_code(&self, ready: Nanos) -> u32 {
        ready as u32
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
    fn an_operation_is_two_words() {
        assert_eq!(std::mem::size_of::<FlashOp>(), 16);
    }

    #[test]
    fn what_waits_follows_a_block_to_its_replacement() {
        let after = |mut op: FlashOp| {
            op.retarget(BlockId::new(7), BlockId::new(9));
            (op.block.number(), op.word)
        };
        assert_eq!(after(FlashOp::host_program(BlockId::new(7), 0, 4, 0, 7)), (9, 7));
        assert_eq!(after(FlashOp::host_read(BlockId::new(7), 0, 4, 0, 7)), (7, 7));
        // A block that replaces another fails as well.
        assert_eq!(after(FlashOp::retire_read(BlockId::new(3), 0, 4, BlockId::new(7))), (3, 9));
        assert_eq!(after(FlashOp::program(OpKind::RetireProgram, BlockId::new(7), 0, 4, 0)), (9, 0));
    }
}
