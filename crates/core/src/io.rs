//! The commands that a host knows, and where their time goes.

use serde::{Deserialize, Serialize};

use crate::time::Nanos;

/// A host command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Op {
    Read,
    Write,
    /// DATA SET MANAGEMENT / deallocate: the host no longer needs these sectors.
    Trim,
    /// FLUSH CACHE: everything acknowledged so far must reach the medium. Offset and length are ignored.
    Flush,
    /// WRITE ZEROES: these sectors read as zeroes from now on, and no data travel.
    WriteZeroes,
}

impl Op {
    /// Every command, in the order of its number.
    pub const ALL: [Op; 5] = [Op::Read, Op::Write, Op::Trim, Op::Flush, Op::WriteZeroes];

    /// Its name in messages, reports and keys.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
            Op::WriteZeroes => "write_zeroes",
        }
    }
}

/// Where the time of an I/O went. The parts of a [`Breakdown`] sum to the latency exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Cause {
    /// On the host link, including waiting for it while other frames pass.
    Link,
    /// Waiting for a command slot, for its turn behind other commands, or for nothing that has a better name.
    Queue,
    /// Held by the host because a FLUSH or TRIM goes alone: that waits for the commands before it, and those behind it wait for it.
    NotQueued,
    /// Firmware: decoding the command, looking up and updating the map, and waiting for the processor.
    Controller,
    /// The write buffer was full, and writes to the medium had to finish first.
    Buffer,
    /// Transfers between controller and die, including waiting for the channel.
    Bus,
    /// Array reads: its own, and those of other host commands in the way on the same die.
    Read,
    /// Host programs: its own (FUA, flush), and those in the way on the same die.
    Program,
    /// Erases in the way on the same die.
    Erase,
    /// Garbage collection in the way: its reads, programs and erases, or firmware holding the host back for it.
    GarbageCollection,
    /// Folding cached data into denser cells.
    Fold,
    /// Journal and checkpoint traffic in the way; map pages that had to be loaded.
    Metadata,
    /// Reading again, soft decoding, parity recovery.
    EccRetry,
    /// Merging log blocks with data blocks: copies in the way, or firmware holding the host back for them.
    Merge,
    /// Arm of a disk: from one cylinder or head to another, and settling there.
    Seek,
    /// Platter of a disk: until the first sector comes round.
    Rotation,
    /// Sectors of a disk pass under its heads, switches from track to track included.
    Transfer,
    /// Cached writes of a disk on their way to the platter: those in the way, and those that a flush waits for.
    Destage,
    /// The cache of a host adapter was full of data that no drive had yet.
    AdapterCache,
    /// Held back by an adapter that writes its cache out, or waiting for it to have done so.
    AdapterFlush,
    /// Held back by a drive that is too hot.
    Heat,
}

/// Every [`Cause`], in the order of the fields of a [`Breakdown`] and of every report.
pub const CAUSES: [Cause; 21] = [
    Cause::Link,
    Cause::Queue,
    Cause::NotQueued,
    Cause::Controller,
    Cause::Buffer,
    Cause::Bus,
    Cause::Read,
    Cause::Program,
    Cause::Erase,
    Cause::GarbageCollection,
    Cause::Fold,
    Cause::Metadata,
    Cause::EccRetry,
    Cause::Merge,
    Cause::Seek,
    Cause::Rotation,
    Cause::Transfer,
    Cause::Destage,
    Cause::AdapterCache,
    Cause::AdapterFlush,
    Cause::Heat,
];

impl Cause {
    /// The key in JSON and CSV.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Cause::Link => "link",
            Cause::Queue => "queue",
            Cause::NotQueued => "not_queued",
            Cause::Controller => "controller",
            Cause::Buffer => "buffer_full",
            Cause::Bus => "bus",
            Cause::Read => "read",
            Cause::Program => "program",
            Cause::Erase => "erase",
            Cause::GarbageCollection => "garbage_collection",
            Cause::Fold => "fold",
            Cause::Metadata => "metadata",
            Cause::EccRetry => "ecc_retry",
            Cause::Merge => "merge",
            Cause::Seek => "seek",
            Cause::Rotation => "rotation",
            Cause::Transfer => "media_transfer",
            Cause::Destage => "destage",
            Cause::AdapterCache => "adapter_cache_full",
            Cause::AdapterFlush => "adapter_flush",
            Cause::Heat => "heat",
        }
    }

    /// The words in a legend.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Cause::Link => "host link",
            Cause::Queue => "queue",
            Cause::NotQueued => "unqueued FLUSH or TRIM",
            Cause::Controller => "controller",
            Cause::Buffer => "write buffer full",
            Cause::Bus => "flash bus",
            Cause::Read => "flash read",
            Cause::Program => "flash program",
            Cause::Erase => "erase",
            Cause::GarbageCollection => "garbage collection",
            Cause::Fold => "cache folding",
            Cause::Metadata => "map and journal",
            Cause::EccRetry => "ECC retry",
            Cause::Merge => "block merge",
            Cause::Seek => "seek",
            Cause::Rotation => "rotation",
            Cause::Transfer => "media transfer",
            Cause::Destage => "cache destaging",
            Cause::AdapterCache => "adapter cache full",
            Cause::AdapterFlush => "adapter flushing",
            Cause::Heat => "too hot",
        }
    }
}

/// Nanoseconds by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakdown {
    pub nanos: [Nanos; CAUSES.len()],
}

impl Breakdown {
    /// No time on anything.
    pub const NOTHING: Breakdown = Breakdown { nanos: [0; CAUSES.len()] };

    #[inline]
    pub fn add(&mut self, cause: Cause, t: Nanos) {
        self.nanos[cause as usize] += t;
    }

    #[inline]
    #[must_use]
    pub fn get(&self, cause: Cause) -> Nanos {
        self.nanos[cause as usize]
    }

    #[must_use]
    pub fn sum(&self) -> Nanos {
        self.nanos.iter().sum()
    }

    /// Adds every part of `other`.
    pub fn merge(&mut self, other: &Breakdown) {
        for (a, b) in self.nanos.iter_mut().zip(other.nanos) {
            *a += b;
        }
    }
}
