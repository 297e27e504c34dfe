//! What the simulator is checked against, and the programs that write it down.
//!
//! - [`theory`]: closed forms and mean-field results beside what the simulated drive does (program `theory`, which
//!   writes `docs/theory.md`)
//! - [`ldpc`]: LDPC codes built and decoded, which gives the table that drives use (program `ldpc_tables`)
//! - [`house`]: how the workspace itself is built (program `house`, which writes `docs/architecture.md`)
//!
//! The program `ecc_page` writes `docs/error-correction.md`.
//!
//! What this is not: a part of any simulation. No other crate depends on it.

pub mod house;
pub mod ldpc;
pub mod theory;
