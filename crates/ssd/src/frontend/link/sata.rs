//! Serial ATA: frames, one direction at a time. An ideal link is one without a wire.

use ssdlab_core::nanos_from_us;

use super::spec::{LinkGeneration, LinkSpec};
use super::{Framing, Wire};

/// Largest data frame: 8 KiB.
const DATA_FRAME_SHIFT: u32 = 13;
/// Dwords that pass before one end answers the other: Serial ATA allows 20 for HOLD; estimate: as many for the others.
const ANSWER_DWORDS: u64 = 20;
/// The handshake of a frame: X_RDY is answered by R_RDY, WTRM by R_OK, and SYNC ends it.
const HANDSHAKE_BYTES: u64 = 3 * ANSWER_DWORDS * 4;
/// What a data frame costs beside its payload: SOF, header, CRC, EOF, and the handshake.
const DATA_FRAME_OVERHEAD_BYTES: u64 = 16 + HANDSHAKE_BYTES;
/// A register, set-device-bits or DMA-setup frame of seven dwords at most with SOF, CRC, EOF, and the handshake.
const CONTROL_FRAME_BYTES: u64 = 28 + 12 + HANDSHAKE_BYTES;
/// DMA ACTIVATE, with which the drive asks for a data frame of a write: one dword, SOF, CRC, EOF, and the handshake. The
/// DMA setup frame asks for the first (auto-activate).
const ACTIVATE_BYTES: u64 = 4 + 12 + HANDSHAKE_BYTES;

pub(super) fn wire(spec: &LinkSpec) -> Wire {
    // 1.5 Gb/s carry 150 MB/s of 8b/10b-coded bytes, and two dwords of 256 are ALIGN (Serial ATA).
    let femtos_per_byte = match spec.generation {
        LinkGeneration::Sata1 => 6_720_000,
        LinkGeneration::Sata2 => 3_360_000,
        LinkGeneration::Sata3 => 1_680_000,
        _ => 0,
    };
    // A frame announces the data.
    let to_host =
        Framing { packet_bytes: DATA_FRAME_OVERHEAD_BYTES, transfer_bytes: CONTROL_FRAME_BYTES, ..Framing::default() };
    let to_drive = Framing { next_packet_bytes: ACTIVATE_BYTES, ..to_host };
    let mut wire = Wire {
        femtos_per_byte,
        packet_shift: DATA_FRAME_SHIFT,
        framing: [to_host, to_drive],
        host_packet: nanos_from_us(spec.host_frame_us),
        host_command: nanos_from_us(spec.host_command_us),
        ..Wire::default()
    };
    wire.status_time = wire.time(CONTROL_FRAME_BYTES);
    wire.command_time = nanos_from_us(spec.host_turnaround_us) + wire.status_time;
    wire
}
