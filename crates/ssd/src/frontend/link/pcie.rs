//! NVMe over PCI Express: packets, both directions at once.
//!
//! The host rings a doorbell; the drive reads the command from the host's memory. Data of a read are written into it, those of a
//! write are read from it. At the end the drive writes a completion entry and an interrupt.
//!
//! Not modelled: the list of pages of a long read, which a drive fetches while the flash is read; retraining, and links that
//! share an uplink with others.

use ssdlab_core::nanos_from_us;

use super::spec::{LinkGeneration, LinkSpec};
use super::{Framing, Wire};

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

/// One lane, for one byte.
fn femtos_per_byte(generation: LinkGeneration) -> u64 {
    // 8b/10b, and a skip of four symbols within 1,538 (2.5 and 5 GT/s); 130 bits for 128, and a skip of one block within 375
    // (8 and 16 GT/s).
    match generation {
        LinkGeneration::Pcie1 => (4_000_000u64 * 1538).div_ceil(1534),
        LinkGeneration::Pcie2 => (2_000_000u64 * 1538).div_ceil(1534),
        LinkGeneration::Pcie3 => (1_015_625u64 * 375).div_ceil(374),
        LinkGeneration::Pcie4 => (507_813u64 * 375).div_ceil(374),
        _ => unreachable!("not a link of PCI Express"),
    }
}

pub(super) fn wire(spec: &LinkSpec) -> Wire {
    let pcie = spec.pcie.as_ref().expect("a validated drive");
    let payload = u64::from(pcie.max_payload_bytes);
    let fetch = nanos_from_us(pcie.host_read_us);
    let to_host = Framing { packet_bytes: REQUEST_BYTES, answer_bytes: UPKEEP_BYTES, ..Framing::default() };
    let to_drive = Framing {
        fetch,
        packet_bytes: COMPLETION_BYTES,
        answer_bytes: UPKEEP_BYTES + (REQUEST_BYTES * payload).div_ceil(READ_REQUEST_BYTES),
        ..Framing::default()
    };
    let mut wire = Wire {
        femtos_per_byte: femtos_per_byte(spec.generation).div_ceil(u64::from(pcie.lanes)),
        packet_shift: pcie.max_payload_bytes.ilog2(),
        framing: [to_host, to_drive],
        full_duplex: true,
        list_time: fetch,
        ..Wire::default()
    };
    let doorbell = wire.time(REQUEST_BYTES + DOORBELL_BYTES);
    let command = wire.time(COMPLETION_BYTES + COMMAND_BYTES);
    wire.command_time = nanos_from_us(spec.host_turnaround_us) + doorbell + fetch + command;
    wire.status_time = wire.time(REQUEST_BYTES + ENTRY_BYTES + REQUEST_BYTES + INTERRUPT_BYTES);
    wire
}
