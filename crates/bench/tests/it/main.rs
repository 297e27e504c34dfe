//! The bench at work: runs to the end of a drive's life, and traces.

mod endurance;
mod fragmented_read;
mod old_data;
mod replay;
mod slowest;
mod small;
mod steady_state;
mod worn_in;
