//! The referee of time: what a die, a channel and the host link allow, and from when on.
//!
//! It stands beside the scheduler and shares nothing with it but the drive and die file: it is told of every operation
//! as it is issued, with the instants that the scheduler has chosen for its steps, and says for each whether a real die
//! would have accepted it, which rule it breaks otherwise, and the earliest instant at which it would have been legal.
//! Drives that check (`CHECK`, see [`crate::SimulatedSsd`]) run every operation past it and refuse to go on if one is a
//! nanosecond early; for others it does not exist.
//!
//! What it does not judge: contents, program order and pairing of planes (that is [`ssdlab_nand::Medium`]'s), and
//! command and address cycles on the bus, which last as the die file says but may pass between data (they are far
//! shorter than a transfer).

mod flash;
mod link;

use ssdlab_core::Nanos;
use ssdlab_nand::{CellMode, DieId, WHOLE};

pub use flash::TimingReferee;
pub use link::LinkReferee;

/// A stretch of time, its end excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub from: Nanos,
    pub to: Nanos,
}

impl Interval {
    #[must_use]
    pub const fn new(from: Nanos, to: Nanos) -> Self {
        Interval { from, to }
    }

    #[inline]
    #[must_use]
    pub const fn overlaps(self, other: Interval) -> bool {
        self.from < other.to && other.from < self.to
    }
}

/// What a die is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Senses rows `page`, `page + 1` … of which `rows` has a bit set, and hands out so many `eighths` of units of flash
    /// (4 KiB, where nothing is compressed).
    Read {
        page: u32,
        rows: u8,
        eighths: u32,
    },
    /// Senses the same rows once more, `senses` times each (shifted references, or a soft decision), and hands out
    /// `units` of what it found.
    ReadAgain {
        page: u32,
        rows: u8,
        senses: u32,
        units: u32,
    },
    /// Takes in a page of every plane concerned, and programs them at once.
    Program {
        page: u32,
    },
    /// Programs what is in the second register (see [`Load`]).
    ProgramLoaded {
        page: u32,
    },
    /// Programs what the die holds already; nothing crosses the channel.
    Copy {
        page: u32,
    },
    Erase,
}

impl Work {
    /// How often each row is sensed.
    pub(crate) fn senses(self) -> Nanos {
        match self {
            Work::ReadAgain { senses, .. } => senses.into(),
            _ => 1,
        }
    }
}

/// An operation as the scheduler issues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub die: DieId,
    /// Planes that work, one bit each.
    pub planes: u8,
    /// Cell mode of the block.
    pub mode: CellMode,
    pub work: Work,
    /// First command cycle.
    pub begin: Nanos,
    /// The place's share of the datasheet's array time, in 2^-16, as the specimen's variation has it.
    pub share: u64,
    /// Programs: when the data are in the controller; the transfer may not begin before. Else no later than `begin`.
    pub data_here: Nanos,
    /// Data on the channel, in or out; empty for an erase.
    pub transfer: Interval,
    /// When the die takes the next command.
    pub end: Nanos,
}

/// The data of a die's next program, which cross the channel while the array programs (cache program).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub die: DieId,
    /// Planes that will be programmed, one bit each.
    pub planes: u8,
    /// Cell mode of the block.
    pub mode: CellMode,
    /// First command cycle, at the earliest.
    pub asked: Nanos,
    /// When the data are in the controller.
    pub data_here: Nanos,
    pub transfer: Interval,
}

/// A die programs the copy of a page into `row` from `begin` to `programmed`, and then reads `page`, of which `units` cross
/// the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyAndRead {
    pub die: DieId,
    pub planes: u8,
    pub row: u32,
    pub begin: Nanos,
    pub programmed: Nanos,
    pub page: u32,
    pub units: u32,
    pub transfer: Interval,
}

impl CopyAndRead {
    /// The two operations, in the die's own cell mode.
    #[must_use]
    pub fn steps(&self, mode: CellMode) -> [Operation; 2] {
        let CopyAndRead { die, planes, begin, programmed, transfer, .. } = *self;
        let step = |work, begin, transfer, end| Operation {
            die,
            planes,
            mode,
            work,
            begin,
            share: WHOLE,
            data_here: begin,
            transfer,
            end,
        };
        [
            step(Work::Copy { page: self.row }, begin, Interval::new(begin, begin), programmed),
            step(Work::Read { page: self.page, rows: 1, eighths: 8 * self.units }, programmed, transfer, transfer.to),
        ]
    }
}

/// What the referee enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimingRule {
    /// The array time of a place lies within what the die file allows, and is no less when it is sensed again.
    Share,
    /// No more dies program at once than the controller lets.
    ProgramLimit,
    /// A plane does one thing at a time.
    PlaneBusy,
    /// A die takes no command while another of its planes works.
    DieBusy,
    /// No more dies of a channel work at once than the controller interleaves.
    InterleaveLimit,
    /// Data go in after the command and address cycles.
    CommandCycles,
    /// Data go in once the controller has them.
    DataNotHere,
    /// Data go into a second register only if the die has one and programs just then, and what is in it is programmed next.
    SecondRegister,
    /// Data come out after the array has sensed the page (tR).
    ReadTime,
    /// A channel carries one transfer at a time.
    ChannelBusy,
    /// A transfer takes as long as its bytes do.
    TransferTime,
    /// The die is busy until the array has programmed the page (tPROG).
    ProgramTime,
    /// The die is busy until the block is erased (tBERS).
    EraseTime,
    /// A die that hands out data is busy until they are out.
    DataOut,
    /// The link carries one data frame at a time.
    LinkBusy,
    /// A frame takes as long as its bytes do.
    FrameTime,
}

/// Something begun, or ended, too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule:?}: die or link {place} at {at} ns, which is legal from {earliest} ns on")]
pub struct TimingViolation {
    pub rule: TimingRule,
    /// Die of the operation; for the link 0.
    pub place: u32,
    /// The instant chosen.
    pub at: Nanos,
    /// The earliest instant that would have been legal for the same step.
    pub earliest: Nanos,
}
