//! The iSCSI protocol, without sockets: bytes in, commands to the logical unit, bytes out.
//!
//! As RFC 7143 has it, with one connection a session, no authentication, no digests and no recovery within a session
//! (error recovery level 0). One target with one logical unit, LUN 0.

mod client;
mod keys;
mod login;
mod names;
mod pdu;
mod transfers;
pub mod words;

pub use client::IscsiClient;
pub use names::{target_name, url};
pub use pdu::{HEADER_BYTES, Header};
