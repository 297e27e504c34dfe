//! Sweeps from their plan to their table.

mod sweeps;
