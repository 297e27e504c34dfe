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
    MetadataProgram,
    Erase,
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
    /// page. Else ignored.
    pub ready: u32,
}

/// Whoever queues operations on dies.
pub trait OpSink {
    fn enqueue(&mut self, op: FlashOp);

    /// Packs a time into an operation that is enqueued now.
    fn ready_code(&self, ready: Nanos) -> u32 {
        ready as u32
    }
}

impl OpSink for Vec<FlashOp> {
    fn enqueue(&mut self, op: FlashOp) {
        self.push(op);
    }
}
