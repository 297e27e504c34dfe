//! Things that serve I/O over time, all behind one trait.

mod device;

pub use device::{Counters, Device, DeviceInfo};
