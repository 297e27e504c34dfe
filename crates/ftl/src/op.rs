//! Operations that the translation layer asks of the dies.

use ssdlab_core::Nanos;
use ssdlab_nand::BlockId;

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
    Erase,
    /// Reading what a block that has gone bad still holds, and programming it into the block that replaces it.
    RetireRead,
    RetireProgram,
}

/// One operation of one die: two words.
#[derive(Clone, Copy, Debug)]
pub struct FlashOp {
    pub kind: OpKind,
    pub die: u8,
    /// Rows of a read, one bit each, counted from `page`; 1 for everything else.
    pub rows: u8,
    /// Units that cross the bus.
    pub units: u8,
    pub block: BlockId,
    pub page: u16,
    /// For whoever asked: a command slot, or the low bits of a program number.
    pub tag: u16,
    /// Host programs: time from which the data are there, as [`OpSink::ready_code`] has it. Merge reads: the logical
    /// page. Host reads: the first logical page; of a drive that compresses, how many of them. Reads of a block that has
    /// gone bad: the block that takes its place. Else ignored.
    pub ready: u32,
}

impl FlashOp {
    /// Lets a waiting operation of the translation layer's own on block `from` work on block `to`.
    pub fn retarget(&mut self, from: BlockId, to: BlockId) {
        let stays = matches!(self.kind, OpKind::HostRead | OpKind::MergeRead | OpKind::RetireRead | OpKind::MapRead);
        if self.block == from && !stays {
            self.block = to;
        }
        if self.kind == OpKind::RetireRead && self.ready == from {
            self.ready = to;
        }
    }
}

/// Whoever queues operations on dies.
pub trait OpSink {
    fn enqueue(&mut self, op: FlashOp);

    /// A block has gone bad. `first` goes ahead of everything else that waits for this die; what waits and would
    /// program, erase or collect block `from` does so with block `to` instead. Reads for the host stay as they are.
    fn retarget(&mut self, die: u32, from: BlockId, to: BlockId, first: &[FlashOp]);

    /// Packs a time into an operation that is enqueued now.
    fn ready_code(&self, ready: Nanos) -> u32 {
        ready as u32
    }
}

impl OpSink for Vec<FlashOp> {
    fn enqueue(&mut self, op: FlashOp) {
        self.push(op);
    }

    fn retarget(&mut self, die: u32, from: BlockId, to: BlockId, first: &[FlashOp]) {
        self.iter_mut().filter(|op| u32::from(op.die) == die).for_each(|op| op.retarget(from, to));
        self.splice(..0, first.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_follows_a_block_to_its_replacement() {
        let op = |kind, block, ready| FlashOp { kind, die: 0, rows: 1, units: 4, block, page: 0, tag: 0, ready };
        let after = |mut op: FlashOp| {
            op.retarget(7, 9);
            (op.block, op.ready)
        };
        assert_eq!(after(op(OpKind::HostProgram, 7, 7)), (9, 7));
        assert_eq!(after(op(OpKind::HostRead, 7, 7)), (7, 7));
        // A block that replaces another fails as well.
        assert_eq!(after(op(OpKind::RetireRead, 3, 7)), (3, 9));
        assert_eq!(after(op(OpKind::RetireProgram, 7, 0)), (9, 0));
    }
}
