//! A die: what it does, what waits for it, and how far it is.

use ssdlab_core::{Nanos, Ring};
use ssdlab_ftl::FlashOp;
use ssdlab_nand::BlockId;

use super::correction::ReadRetry;
use super::suspend::{Progress, Suspended};
use crate::power::{Ahead, ArrayWork};

// What every operation touches comes first, on two cache lines; then what dies with features need.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Die {
    pub current: FlashOp,
    /// What its array was given last, and when it is or was through with it.
    pub array: Ahead,
    pub array_until: Nanos,
    pub reads: Ring<FlashOp>,
    pub others: Ring<FlashOp>,
    pub busy: bool,
    pub channel: u8,
    /// Reads that have passed what else waits, since something of that began last.
    pub passes: u16,
    /// The read under way did not decode at once.
    pub retry: Option<Box<ReadRetry>>,
    /// With cache reads, and where planes read by themselves: when each of `reads` was asked for.
    pub asked: Ring<Nanos>,
    /// With cache reads: when the last could go from the array's register to the other: it was sensed, and that was empty.
    pub sensed: Nanos,
    /// When planes that read by themselves may, after an interruption.
    pub reads_from: Nanos,
    pub suspended: Option<Suspended>,
    pub progress: Progress,
    /// Its event is when it may be interrupted, or can load its next program; this is when its operation ends otherwise.
    pub ends_otherwise: Option<Nanos>,
}

impl Die {
    pub fn idle(channel: u8) -> Self {
        let nothing = FlashOp::erase(BlockId::default());
        Die {
            current: nothing,
            busy: false,
            channel,
            passes: 0,
            retry: None,
            reads: Ring::new(8, nothing),
            others: Ring::new(8, nothing),
            asked: Ring::new(8, 0),
            sensed: 0,
            reads_from: 0,
            suspended: None,
            progress: Progress::default(),
            ends_otherwise: None,
            array: Ahead { work: ArrayWork::erasing(1), time: 0 },
            array_until: 0,
        }
    }

    /// The host's next read. It passes what else waits.
    #[inline(always)]
    pub fn take_read(&mut self) -> Option<FlashOp> {
        let op = self.reads.pop_front()?;
        if !self.others.is_empty() || self.suspended.is_some() {
            self.passes = self.passes.saturating_add(1);
        }
        Some(op)
    }

    /// What its array has been given and has not done at this time.
    pub fn ahead(&self, now: Nanos) -> Ahead {
        Ahead { time: self.array_until.saturating_sub(now).min(self.array.time), ..self.array }
    }
}
