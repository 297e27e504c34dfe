//! The map from logical pages to flash: as the simulator knows it ([`Map`]), and what it costs a controller whose DRAM
//! does not hold all of it ([`DemandMap`]).

mod demand;
mod dram;

pub use demand::{DemandMap, DemandMapCounters, SavedDemandMap, TAG_MAP};
pub use dram::{Map, Place};
