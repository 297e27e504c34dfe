//! The bench at work: runs to the end of a drive's life, and traces.

mod endurance;
mod fio_run;
mod fragmented_read;
mod old_data;
mod power;
mod power_cut;
mod replay;
mod slowest;
mod small;
mod steady_state;
mod storage_bench;
mod worn_in;
