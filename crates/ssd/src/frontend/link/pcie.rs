//! NVMe over PCI Express: packets, both directions at once.
//!
//! The host rings a doorbell; the drive reads the command from the host's memory. Data of a read are written into it, those of a
//! write are read from it. At the end the drive writes a completion entry and an interrupt.
//!
//! Not modelled: the list of pages of a long read, which a drive fetches while the flash is read; how many requests for the host's
//! memory can be under way; retraining, and links that share an uplink with others.

use ssdlab_core::{Nanos, nanos_from_us};

use super::Direction;
use super::spec::{LinkGeneration, LinkSpec, PcieSpec};

/// Framing, sequence number and LCRC of a packet (PCI Express 3.0, table of its physical and data link layers): eight bytes in
/// all generations.
const LINK_LAYER_BYTES: u64 = 8;
/// A write or a request to read, with an address of 64 bits.
const REQUEST_BYTES: u64 = LINK_LAYER_BYTES + 16;
/// A completion, which brings data that were asked for.
const COMPLETION_BYTES: u64 = LINK_LAYER_BYTES + 12;
/// What a device reads with one request: the default of PCI Express.
const READ_REQUEST_BYTES: u64 = 512;
/// Acknowledgement and flow-control credit: eight bytes each. Estimate: one of each for every four packets.
const UPKEEP_BYTES: u64 = 4;
/// Submission queue entry, completion queue entry, and the data of a message-signalled interrupt (NVMe, PCI Express).
const COMMAND_BYTES: u64 = 64;
const ENTRY_BYTES: u64 = 16;
const INTERRUPT_BYTES: u64 = 4;
const DOORBELL_BYTES: u64 = 4;
/// A command has room for the addresses of two pages of memory; those of longer writes are in a list.
const UNLISTED_BYTES: u64 = 8192;

/// One lane, for one byte.
fn femtos_per_byte(generation: LinkGeneration) -> u64 {
    // 8b/10b, and a skip of four symbols within 1,538 (2.5 and 5 GT/s); 130 bits for 128, and a skip of one block within 375
    // (8, 16 and 32 GT/s: PCI Express Base Specification 5.0, physical layer).
    match generation {
        LinkGeneration::Pcie1 => (4_000_000u64 * 1538).div_ceil(1534),
        LinkGeneration::Pcie2 => (2_000_000u64 * 1538).div_ceil(1534),
        LinkGeneration::Pcie3 => (1_015_625u64 * 375).div_ceil(374),
        LinkGeneration::Pcie4 => (507_813u64 * 375).div_ceil(374),
        LinkGeneration::Pcie5 => (253_907u64 * 375).div_ceil(374),
        _ => unreachable!("not a link of PCI Express"),
    }
}

/// What goes with the data of one direction.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// From when the drive asks for data until the first of them are on the wire.
    fetch: Nanos,
    /// Payload of a packet, and what is around it.
    payload_bytes: u64,
    packet_bytes: u64,
    /// Meanwhile the other way, for each packet.
    answer_bytes: u64,
    free_at: Nanos,
}

impl Way {
    /// Something small goes in between packets of data, which are later by as much.
    fn slip_in(&mut self, now: Nanos, time: Nanos) {
        self.free_at = self.free_at.max(now) + time;
    }
}

/// A full-duplex link.
#[derive(Clone, Debug)]
pub struct Pcie {
    /// Of all lanes together, with its share of what the coding and the upkeep of the link take.
    femtos_per_byte: u64,
    command_time: Nanos,
    /// Of that, the request for it, and what the host sends: two doorbells and the command itself.
    asks_for_command: Nanos,
    command_on_wire: Nanos,
    status_time: Nanos,
    to_host: Way,
    to_drive: Way,
}

impl Pcie {
    pub fn new(spec: &LinkSpec, pcie: &PcieSpec) -> Self {
        let fetch = nanos_from_us(pcie.host_read_us);
        let payload_bytes = u64::from(pcie.max_payload_bytes);
        // What was asked for does not come in larger packets than it was asked for in.
        let fetched_bytes = payload_bytes.min(READ_REQUEST_BYTES);
        let asks = (REQUEST_BYTES * fetched_bytes).div_ceil(READ_REQUEST_BYTES);
        let to_host =
            Way { fetch: 0, payload_bytes, packet_bytes: REQUEST_BYTES, answer_bytes: UPKEEP_BYTES, free_at: 0 };
        let to_drive = Way {
            fetch,
            payload_bytes: fetched_bytes,
            packet_bytes: COMPLETION_BYTES,
            answer_bytes: UPKEEP_BYTES + asks,
            free_at: 0,
        };
        let mut link = Pcie {
            femtos_per_byte: femtos_per_byte(spec.generation).div_ceil(u64::from(pcie.lanes)),
            command_time: 0,
            asks_for_command: 0,
            command_on_wire: 0,
            status_time: 0,
            to_host,
            to_drive,
        };
        let doorbell = link.time(REQUEST_BYTES + DOORBELL_BYTES);
        let command = link.time(COMPLETION_BYTES + COMMAND_BYTES);
        link.command_time = nanos_from_us(spec.host_turnaround_us) + doorbell + fetch + command;
        link.asks_for_command = link.time(REQUEST_BYTES);
        link.command_on_wire = 2 * doorbell + command;
        link.status_time = link.time(REQUEST_BYTES + ENTRY_BYTES + REQUEST_BYTES + INTERRUPT_BYTES);
        link
    }

    pub fn power_cut(&mut self) {
        (self.to_host.free_at, self.to_drive.free_at) = (0, 0);
    }

    #[cold]
    #[inline(never)]
    pub fn send_command(&mut self, now: Nanos) -> Nanos {
        self.to_host.slip_in(now, self.asks_for_command);
        self.to_drive.slip_in(now, self.command_on_wire);
        self.command_time
    }

    #[cold]
    #[inline(never)]
    pub fn send_status(&mut self, now: Nanos) -> Nanos {
        self.to_host.slip_in(now, self.status_time);
        self.status_time
    }

    #[cold]
    #[inline(never)]
    pub fn list_time(&self, length_bytes: u64) -> Nanos {
        if length_bytes > UNLISTED_BYTES { self.to_drive.fetch } else { 0 }
    }

    pub fn ranges_time(&self) -> Nanos {
        self.to_drive.fetch
    }

    #[cold]
    #[inline(never)]
    pub fn transfer(&mut self, from: Nanos, bytes: u64, direction: Direction) -> (Nanos, Nanos) {
        let way = match direction {
            Direction::ToHost => self.to_host,
            Direction::ToDrive => self.to_drive,
        };
        let packets = bytes.div_ceil(way.payload_bytes);
        let start = (from + way.fetch).max(way.free_at);
        let end = start + self.time(bytes + packets * way.packet_bytes);
        let answers = self.time(packets * way.answer_bytes);
        let (this, other) = match direction {
            Direction::ToHost => (&mut self.to_host, &mut self.to_drive),
            Direction::ToDrive => (&mut self.to_drive, &mut self.to_host),
        };
        this.free_at = end;
        // Where the other way is free, there is room for them.
        other.free_at += answers;
        (start, end)
    }

    /// Rounded up: never faster than the wire.
    fn time(&self, bytes: u64) -> Nanos {
        (bytes * self.femtos_per_byte).div_ceil(1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_third_generation_on_each_is_twice_as_fast_as_the_one_before() {
        use LinkGeneration::{Pcie3, Pcie4, Pcie5};
        let [third, fourth, fifth] = [Pcie3, Pcie4, Pcie5].map(femtos_per_byte);
        assert_eq!([third, fourth, fifth], [1_018_341, 509_171, 254_586]);
        assert!(third.abs_diff(2 * fourth) <= 1 && fourth.abs_diff(2 * fifth) <= 1);
    }
}
