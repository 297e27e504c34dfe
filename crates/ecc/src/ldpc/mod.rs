//! Low-density parity-check codes: how often they fail, and how many iterations they take.
//!
//! - [`code`]: the codes, by name
//! - [`table`]: failures and iterations as counted, and what is read from between and below the counts
//!
//! Codes are built and decoded in `ssdlab-validation`, which makes the table and checks it.

pub mod code;
pub mod table;
