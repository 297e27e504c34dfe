//! The host link: how long commands and data are on it, and when it is free.

mod pcie;
mod sata;
mod spec;

use ssdlab_core::{Nanos, Op};

pub use spec::{LinkGeneration, LinkSpec, NotQueued, PcieSpec};

/// Which way data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToHost,
    ToDrive,
}

/// What goes with the data of a transfer in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Framing {
    /// From when the drive asks for data until the first of them are on the wire.
    fetch: Nanos,
    /// Around the payload of each packet.
    packet_bytes: u64,
    /// Before each packet but the first.
    next_packet_bytes: u64,
    /// Before all of them.
    transfer_bytes: u64,
    /// Meanwhile in the other direction, for each packet.
    answer_bytes: u64,
}

/// What one kind of link makes of commands and data.
#[derive(Clone, Copy, Debug, Default)]
struct Wire {
    /// Femtoseconds for one byte, with its share of what the coding and the upkeep of the link take; 0 for an ideal link.
    femtos_per_byte: u64,
    /// A packet has at most so much payload: two to the power of this.
    packet_shift: u32,
    /// To the host, and to the drive.
    framing: [Framing; 2],
    /// Whether data go both ways at once.
    full_duplex: bool,
    command_time: Nanos,
    /// What a write of more than [`LISTED_FROM_BYTES`] takes on top of it.
    list_time: Nanos,
    status_time: Nanos,
    /// What the host controller takes for each packet, and for each command.
    host_packet: Nanos,
    host_command: Nanos,
}

impl Wire {
    /// Rounded up: never faster than the wire.
    #[inline]
    fn time(&self, bytes: u64) -> Nanos {
        (bytes * self.femtos_per_byte).div_ceil(1_000_000)
    }
}

/// An NVMe command has room for the addresses of two pages of memory; those of longer ones are in a list.
const LISTED_FROM_BYTES: u64 = 8193;

/// A link. Whoever asks first goes first.
#[derive(Clone, Debug)]
pub struct Link {
    wire: Wire,
    /// To the host, and to the drive; the first is that of both where they share a wire.
    free_at: [Nanos; 2],
}

impl Link {
    #[must_use]
    pub fn new(spec: &LinkSpec) -> Self {
        let wire = match spec.generation {
            LinkGeneration::Sata1 | LinkGeneration::Sata2 | LinkGeneration::Sata3 | LinkGeneration::Ideal => {
                sata::wire(spec)
            }
            LinkGeneration::Pcie1 | LinkGeneration::Pcie2 | LinkGeneration::Pcie3 | LinkGeneration::Pcie4 => {
                pcie::wire(spec)
            }
        };
        Link { wire, free_at: [0; 2] }
    }

    /// Nothing is on the wire any more.
    pub fn power_cut(&mut self) {
        self.free_at = [0; 2];
    }

    /// From the host's decision to send a command until the drive has it, and knows where the data of a write are.
    #[inline]
    #[must_use]
    pub fn command_time(&self, op: Op, length_bytes: u64) -> Nanos {
        let list = if length_bytes >= LISTED_FROM_BYTES && op == Op::Write { self.wire.list_time } else { 0 };
        self.wire.command_time + list
    }

    /// Sends what ends a command; it is small enough to slip in between data.
    #[inline]
    #[must_use]
    pub fn status_time(&self) -> Nanos {
        self.wire.status_time
    }

    /// Reserves the wire for `bytes` that the drive has or asks for at `from`; returns when they begin and end. With the last of a
    /// command the host controller is busy a little longer.
    #[inline]
    pub fn transfer(&mut self, from: Nanos, bytes: u64, direction: Direction, last: bool) -> (Nanos, Nanos) {
        let wire = &self.wire;
        let framing = &wire.framing[direction as usize];
        let packets = (bytes + ((1 << wire.packet_shift) - 1)) >> wire.packet_shift;
        let around = packets * framing.packet_bytes
            + packets.saturating_sub(1) * framing.next_packet_bytes
            + framing.transfer_bytes;
        let data = packets * wire.host_packet + wire.time(bytes + around);
        let way = if wire.full_duplex { direction as usize } else { 0 };
        let start = (from + framing.fetch).max(self.free_at[way]);
        let end = start + data;
        self.free_at[way] = if last { end + wire.host_command } else { end };
        if wire.full_duplex {
            let other = &mut self.free_at[1 - way];
            *other = from.max(*other) + wire.time(packets * framing.answer_bytes);
        }
        (start, end)
    }
}
