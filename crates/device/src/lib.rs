//! The face of a storage device: everything that a host, a test bench or an array sees of one, and nothing of what is
//! inside.
//!
//! | to | begin at |
//! |---|---|
//! | serve I/O over time | [`Device`] |
//! | ask for something | [`Request`], with its [`Hints`] |
//! | know how it ended and where its time went | [`Completion`], [`Status`] |
//! | know why it was not accepted | [`Refusal`] |
//! | know what the device is and can do | [`DeviceInfo`] |
//! | know what it has done so far | [`Counters`] |
//! | check one's own times | [`Occupancy`] |
//! | know which commands the host still holds | [`HostQueue`] |
//! | number writes for a plug | [`WriteNumbers`], [`UnitWrites`] |
//!
//! What only some devices have are faces of their own, which a device hands out if it has them: [`Flash`] (wear),
//! [`PowerManagement`] (the sleep of the link), [`Security`] (erases of everything), [`Plug`] (a plug that can be pulled) and
//! [`Recorder`] (what each part did when).
//!
//! **What it is not.** No device lives here. The simulated drives are in `ssdlab-ssd`, arrays in `ssdlab-arrays`.
//!
//! **Limits.** Requests carry no data: [`PayloadId`] is the number of a buffer that the device's contents hold. Offsets
//! and lengths are 64-bit bytes in whole sectors. Time is integer nanoseconds and never runs backwards.
//!
//! ```
//! use ssdlab_device::{DeviceInfo, Refusal, Request};
//!
//! let info = DeviceInfo { capacity_bytes: 1 << 30, ..DeviceInfo::new("small", "ssd") };
//! assert_eq!(info.check(&Request::read(1, 0, 4096)), Ok(()));
//! let write = Request::write(2, 4096, 1000).with_stream(1);
//! assert!(matches!(info.check(&write), Err(Refusal::NotWholeSectors { length_bytes: 1000, .. })));
//! ```

mod completion;
mod counters;
mod device;
mod flash;
mod host_queue;
mod info;
mod link_policy;
mod occupancy;
mod refusal;
mod request;
mod specimen;
mod timeline;
mod unit_writes;
mod write_numbers;

pub use completion::{Completion, Status};
pub use counters::{
    CacheCounters, Counters, DiskCounters, EnergyCounters, FlashCounters, HeatCounters, HostCounters, is_plausible,
    is_plausible_time,
};
pub use device::{Destroyed, Device, Held, LoadError, Plug, PowerManagement, Security};
pub use flash::{Differences, EccScheme, ExpectedErrors, Flash, MOST_WEAR_RECORDS, Wear};
pub use host_queue::{HostQueue, Sent, SentAlone};
pub use info::DeviceInfo;
pub use link_policy::LinkPolicy;
pub use occupancy::Occupancy;
pub use refusal::Refusal;
pub use request::{Hints, PayloadId, Request};
pub use specimen::{Specimen, name_of_file, name_of_model};
pub use timeline::{Last, Recorder, Stretch, Timeline, Track, Work};
pub use unit_writes::{Sectors, UnitWrites};
pub use write_numbers::WriteNumbers;
