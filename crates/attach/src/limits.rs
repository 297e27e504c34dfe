//! What a client may take.

use std::time::Duration;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Clients at once. One more is hung up on.
    pub connections: usize,
    /// From the greeting to the end of the handshake.
    pub handshake: Duration,
    /// A client that does not finish a request, or does not take its replies, and does nothing for so long.
    pub stall: Duration,
    /// Requests of one client that are not answered. More are read when some are.
    pub requests: u32,
    /// Data of one client's requests and replies. Beyond it no more requests are read. A request that is being read can
    /// add as much as the largest payload.
    pub held_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 32,
            handshake: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            requests: 512,
            held_bytes: 32 << 20,
        }
    }
}
