//! When a command completes, to the nanosecond: the sum of what the datasheet says, for each flash operation and for
//! each conflict. Every scenario is written out in nanoseconds for one drive, and as a formula that must still hold
//! when any parameter of the drive is one nanosecond longer.
//!
//! [`legality`] asks the other side: the referee of time, for each operation and each conflict, when it is legal at the
//! earliest, and whether a nanosecond before is refused.

mod bench;
mod cache_program;
mod causes;
mod cell_modes;
mod channels;
mod cores;
mod features;
mod large_units;
mod legality;
mod link_processor_queue;
mod one_die;
mod operations;
mod partial_writes;
mod planes;
