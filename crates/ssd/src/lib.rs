//! The simulated drive: a [`ssdlab_device::Device`] built from a drive file ([`DriveSpec`]) and a die file
//! ([`ssdlab_nand::DieSpec`]).

mod backend;
mod drive;
mod firmware;
mod frontend;
mod plain;
mod power;
mod probe;
mod security;
mod spec;
pub mod timing;

pub use backend::{Loss, LossReader};
pub use drive::{BareSsd, SimulatedSsd, Ssd};
pub use power::PowerSpec;
pub use spec::{ControllerSpec, DriveSpec, FlashSpec, LinkGeneration, LinkSpec, WriteBufferSpec, drive_keys};
