//! The simulated drive: a [`ssdlab_device::Device`] built from a drive file ([`DriveSpec`]) and a die file
//! ([`ssdlab_nand::DieSpec`]).

mod plain;
mod power;
mod spec;
mod ssd;
pub mod timing;

pub use power::PowerSpec;
pub use spec::{ControllerSpec, DriveSpec, FlashSpec, LinkGeneration, LinkSpec, WriteBufferSpec};
pub use ssd::{BareSsd, Loss, LossReader, SimulatedSsd, Ssd};
