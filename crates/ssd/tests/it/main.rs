//! The drive: its times, its promises to the host, and what it refuses.

mod die_groups;
mod erases;
mod errors;
mod face;
mod grown_bad_blocks;
mod heat;
mod impossible_drives;
mod log_blocks;
mod other_translation;
mod power;
mod power_cuts;
mod properties;
mod records;
mod rounds;
mod saved;
mod slc_cache;
mod studied;
mod timing;
mod used;
mod wound_forward;
