//! Things that serve I/O over time, all behind one trait.

mod device;
mod spec;

pub use device::{Counters, Device, DeviceInfo};
pub use spec::{ControllerSpec, DriveSpec, FlashSpec, LinkGeneration, LinkSpec, WriteBufferSpec};
