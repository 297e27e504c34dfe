//! What is served, as the protocol says it.

use super::words::{
    FLAG_CAN_MULTI_CONN, FLAG_HAS_FLAGS, FLAG_READ_ONLY, FLAG_ROTATIONAL, FLAG_SEND_CACHE, FLAG_SEND_DF,
    FLAG_SEND_FAST_ZERO, FLAG_SEND_FLUSH, FLAG_SEND_FUA, FLAG_SEND_TRIM, FLAG_SEND_WRITE_ZEROES,
};
use crate::export::Export;

/// The largest read, and the largest write that carries data.
pub const MAX_PAYLOAD_BYTES: u32 = 32 << 20;
/// A write of more than [`MAX_PAYLOAD_BYTES`] is read to its end and refused; one of more than this ends the connection.
pub const MAX_SKIPPED_BYTES: u32 = 128 << 20;

impl Export {
    /// Whether a client may ask for the export by this name.
    #[must_use]
    pub fn is_called(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }

    /// Transmission flags. DF means something only with structured replies.
    #[must_use]
    pub fn flags(&self, structured: bool) -> u16 {
        let when = |condition: bool, flag: u16| if condition { flag } else { 0 };
        FLAG_HAS_FLAGS
            | FLAG_SEND_FLUSH
            | FLAG_SEND_FUA
            | FLAG_CAN_MULTI_CONN
            | FLAG_SEND_CACHE
            | when(!self.read_only, FLAG_SEND_WRITE_ZEROES | FLAG_SEND_FAST_ZERO)
            | when(self.trim && !self.read_only, FLAG_SEND_TRIM)
            | when(self.read_only, FLAG_READ_ONLY)
            | when(self.rotational, FLAG_ROTATIONAL)
            | when(structured, FLAG_SEND_DF)
    }

    /// Smallest, preferred and largest block.
    #[must_use]
    pub fn block_sizes(&self) -> [u32; 3] {
        [self.sector_bytes, self.preferred_bytes(), MAX_PAYLOAD_BYTES]
    }
}
