//! Sweeps from their plan to their table.

mod fingerprint_of_code;
mod sweeps;
