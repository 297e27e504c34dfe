//! Serial ATA with its frame overhead, one direction at a time. An ideal link is one without a wire.

use ssdlab_core::{Nanos, nanos_from_us};

use super::Direction;
use super::spec::{LinkGeneration, LinkSpec};

/// Largest data frame: 8 KiB.
const DATA_FRAME_BYTES: u64 = 8192;
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

/// A half-duplex link.
#[derive(Clone, Debug)]
pub struct Sata {
    /// Picoseconds for one byte (8b/10b coded), with its share of ALIGN primitives; 0 for an ideal link.
    picos_per_byte: u64,
    command_time: Nanos,
    status_time: Nanos,
    /// What the host controller takes for each data frame, and for each command.
    host_frame: Nanos,
    host_command: Nanos,
    free_at: Nanos,
}

impl Sata {
    pub fn new(spec: &LinkSpec) -> Self {
        // 1.5 Gb/s carry 150 MB/s of 8b/10b-coded bytes, and two dwords of 256 are ALIGN (Serial ATA). Rounded up: never
        // faster than the wire.
        let picos_per_byte = match spec.generation {
            LinkGeneration::Sata1 => 6720,
            LinkGeneration::Sata2 => 3360,
            LinkGeneration::Sata3 => 1680,
            _ => 0,
        };
        let control = nanos(picos_per_byte, CONTROL_FRAME_BYTES);
        Sata {
            picos_per_byte,
            command_time: nanos_from_us(spec.host_turnaround_us) + control,
            status_time: control,
            host_frame: nanos_from_us(spec.host_frame_us),
            host_command: nanos_from_us(spec.host_command_us),
            free_at: 0,
        }
    }

    pub fn power_cut(&mut self) {
        self.free_at = 0;
    }

    #[inline]
    pub fn command_time(&self) -> Nanos {
        self.command_time
    }

    #[inline]
    pub fn status_time(&self) -> Nanos {
        self.status_time
    }

    /// Time that `bytes` of data take on the wire: frames of at most 8 KiB, the frame that announces them, and, towards
    /// the drive, one that asks for each frame but the first.
    #[inline]
    fn data_time(&self, bytes: u64, direction: Direction) -> Nanos {
        let frames = bytes.div_ceil(DATA_FRAME_BYTES);
        let host = frames * self.host_frame;
        if self.picos_per_byte == 0 {
            return host;
        }
        let asked_for = if direction == Direction::ToDrive { frames.saturating_sub(1) } else { 0 };
        let around = frames * DATA_FRAME_OVERHEAD_BYTES + asked_for * ACTIVATE_BYTES + CONTROL_FRAME_BYTES;
        host + nanos(self.picos_per_byte, bytes + around)
    }

    #[inline]
    pub fn transfer(&mut self, from: Nanos, bytes: u64, direction: Direction, last: bool) -> (Nanos, Nanos) {
        let start = from.max(self.free_at);
        let end = start + self.data_time(bytes, direction);
        self.free_at = if last { end + self.host_command } else { end };
        (start, end)
    }
}

#[inline]
fn nanos(picos_per_byte: u64, bytes: u64) -> Nanos {
    (bytes * picos_per_byte).div_ceil(1000)
}
