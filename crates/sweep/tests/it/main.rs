//! Sweeps from their plan to their table, and which code their points belong to.

mod code;
mod sweeps;
