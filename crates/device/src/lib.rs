//! Things that serve I/O over time, all behind one trait: [`Device`].
//!
//! [`Ssd`] is a simulated drive, built from a drive file ([`DriveSpec`]) and a die file
//! ([`ssdlab_nand::DieSpec`]). Devices compose, and a real drive will fit behind the same face.

mod device;
mod life;
mod plain;
mod power;
mod spec;
mod ssd;
pub mod timing;

pub use device::{Counters, Device, DeviceInfo};
pub use life::{Life, Outlook, Scheme, Wear};
pub use power::{LinkPolicy, PowerSpec};
pub use spec::{ControllerSpec, DriveSpec, FlashSpec, LinkGeneration, LinkSpec, WriteBufferSpec, drive_keys};
pub use ssd::{BareSsd, Loss, LossReader, SimulatedSsd, Ssd};
