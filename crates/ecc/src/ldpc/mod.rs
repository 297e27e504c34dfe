//! Low-density parity-check codes, built and decoded.
//!
//! - [`code`]: quasi-cyclic parity-check matrices: the CCSDS C2 code and a 2 KiB code of ours
//! - [`rank`]: how many parity bits a matrix really costs, and codewords of it
//! - [`decoder`]: layered normalised min-sum in integers
//! - [`frames`]: frames decoded by Monte-Carlo, counted
//! - [`table`]: the counts, stored, and what is read from between and below them
//!
//! A simulated drive uses the table alone; the rest is what makes the table and what checks it.

pub mod code;
pub mod decoder;
pub mod frames;
pub mod rank;
pub mod table;
