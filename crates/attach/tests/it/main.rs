//! The server, with clients of the tests' own and devices with known times.

mod adversary;
mod client;
mod cuts;
mod given_up;
mod handshake;
mod initiator;
mod iscsi;
mod locking;
mod steady;
mod transmission;
