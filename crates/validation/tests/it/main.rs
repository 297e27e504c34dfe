//! The simulator against theory, and the LDPC table against its decoder.

mod ldpc;
mod theory;
