//! The NBD protocol, without sockets and without a device: bytes in, requests out, replies as bytes.
//!
//! What is served: fixed newstyle negotiation, simple and structured replies, `base:allocation`. Not served: TLS, extended
//! headers, resizing.

mod client;
mod export;
mod handshake;
pub mod reply;
mod session;
pub mod words;

use thiserror::Error;

pub use client::NbdClient;
pub use export::MAX_PAYLOAD_BYTES;
pub use handshake::{ALLOCATION, Agreed};
pub use session::{Event, NbdRequest, Session};

/// Why a client is disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    #[error("unknown flags in the answer to the greeting")]
    UnknownFlags,
    #[error("a magic number is wrong")]
    BadMagic,
    #[error("an option is too long")]
    OptionTooLong,
    #[error("too many options")]
    TooManyOptions,
    #[error("no such export")]
    NoSuchExport,
    #[error("a write is too long")]
    PayloadTooLong,
}
