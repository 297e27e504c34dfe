//! The simulator against theory, the LDPC table against its decoder, and the workspace against the rules of its house.

mod house;
mod ldpc;
mod theory;
