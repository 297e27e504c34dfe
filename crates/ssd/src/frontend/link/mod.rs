//! The host link: how long commands and data are on it, and when it is free.

mod pcie;
mod sata;
mod spec;

use ssdlab_core::Nanos;

use pcie::Pcie;
use sata::Sata;
pub use spec::{LinkGeneration, LinkSpec, NotQueued, PcieSpec, TrimRanges};

/// Which way data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToHost,
    ToDrive,
}

/// A link. Whoever asks first goes first.
#[derive(Clone, Debug)]
pub enum Link {
    /// An ideal link, too.
    Sata(Sata),
    Pcie(Box<Pcie>),
}

impl Link {
    #[must_use]
    pub fn new(spec: &LinkSpec) -> Self {
        match &spec.pcie {
            Some(lanes) if spec.generation.is_pcie() => Link::Pcie(Box::new(Pcie::new(spec, lanes))),
            _ => Link::Sata(Sata::new(spec)),
        }
    }

    /// Nothing is on the wire any more.
    pub fn power_cut(&mut self) {
        match self {
            Link::Sata(link) => link.power_cut(),
            Link::Pcie(link) => link.power_cut(),
        }
    }

    /// The host has decided at `now` to send a command; returns how long it takes until the drive has it. What is sent is small
    /// enough to slip in between data.
    #[inline]
    pub fn send_command(&mut self, now: Nanos) -> Nanos {
        match self {
            Link::Sata(link) => link.command_time(),
            Link::Pcie(link) => link.send_command(now),
        }
    }

    /// Sends what ends a command, likewise; returns how long it takes. `now` is when it is booked.
    #[inline]
    pub fn send_status(&mut self, now: Nanos) -> Nanos {
        match self {
            Link::Sata(link) => link.status_time(),
            Link::Pcie(link) => link.send_status(now),
        }
    }

    /// Until the drive knows where the data of a write of so many bytes are.
    #[inline]
    #[must_use]
    pub fn list_time(&self, length_bytes: u64) -> Nanos {
        match self {
            Link::Sata(_) => 0,
            Link::Pcie(link) => link.list_time(length_bytes),
        }
    }

    /// Until the drive has the ranges of a TRIM.
    #[inline]
    #[must_use]
    pub fn ranges_time(&self) -> Nanos {
        match self {
            Link::Sata(_) => 0,
            Link::Pcie(link) => link.ranges_time(),
        }
    }

    /// Reserves the wire for `bytes` that the drive has or asks for at `from`; returns when they begin and end. With the last of a
    /// command a host controller of Serial ATA is busy a little longer.
    #[inline]
    pub fn transfer(&mut self, from: Nanos, bytes: u64, direction: Direction, last: bool) -> (Nanos, Nanos) {
        match self {
            Link::Sata(link) => link.transfer(from, bytes, direction, last),
            Link::Pcie(link) => link.transfer(from, bytes, direction),
        }
    }
}
