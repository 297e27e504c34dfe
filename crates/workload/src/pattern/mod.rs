//! Access patterns: which block next, how large, read or write.
//!
//! A [`Pattern`] is the description; [`Pattern::build`] checks it and gives an [`AccessPattern`], the fast thing
//! that yields commands. Sequential and uniform patterns cost a few nanoseconds a command; nothing is allocated
//! after building.

mod access;
mod aged;
mod describe;
mod error;
pub mod named;
mod permutation;
mod random_map;
mod sizes;
mod skew;
mod walk;
mod zones;

pub use access::AccessPattern;
pub use aged::AgedFill;
pub use describe::{Distribution, Extent, Mix, Order, Pattern};
pub use error::PatternError;
pub use permutation::Permutation;
pub use sizes::BlockSizes;
pub use skew::{Pareto, Zipf};
pub use walk::{Strided, Walk, WalkSource};
pub use zones::{Zone, ZoneExtent};

use ssdlab_core::Op;

/// One command that a host would send. Offset and length are bytes, multiples of 512; both are zero for a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub op: Op,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    /// Force unit access: the write is acknowledged only when it is on the medium.
    pub fua: bool,
}

impl Command {
    /// A flush of the drive's write cache.
    pub const FLUSH: Command = Command { op: Op::Flush, offset_bytes: 0, length_bytes: 0, fua: false };
}

/// Something that yields commands in the order in which a host sends them.
pub trait Source {
    /// The next command, or `None` when the workload is complete (and from then on).
    fn next(&mut self) -> Option<Command>;

    /// Whether the next command must wait until all before it have completed.
    fn must_wait(&self) -> bool {
        false
    }

    /// They have completed.
    fn waited(&mut self) {}

    /// Whether the command that came last reads what was written, in a pass of its own when all is.
    fn verifies(&self) -> bool {
        false
    }

    /// Whether neither a rate nor a pause holds back the command that came last.
    fn is_unpaced(&self) -> bool {
        self.verifies()
    }

    /// Whether the command that came last is the flush at the end of a pass, which is none of the workload's own.
    fn ends_pass(&self) -> bool {
        false
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    #[inline]
    fn next(&mut self) -> Option<Command> {
        (**self).next()
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self) -> Option<Command> {
        (**self).next()
    }
}
