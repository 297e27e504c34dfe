//! Low-density parity-check codes, built and decoded: where the table of `ssdlab-ecc` comes from.
//!
//! - [`matrix`]: quasi-cyclic parity-check matrices of the catalog's codes
//! - [`rank`]: how many parity bits a matrix really costs, and codewords of it
//! - [`decoder`]: layered normalised min-sum in integers
//! - [`frames`]: frames decoded by Monte-Carlo, counted

pub mod decoder;
pub mod frames;
pub mod matrix;
pub mod rank;
