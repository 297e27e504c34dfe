//! Real drives for the bench: a block device of this machine, or a file on one, behind the face of a device.
//!
//! | to | begin at |
//! |---|---|
//! | find one, and know what it says of itself | [`RealDrive::find`], [`Facts`] |
//! | use it | [`RealDrive::open`] |
//! | write to it | [`Consent`]: nothing is ever written without one that names the drive |
//!
//! **Time** is the machine's. A request's latency is what a program sees: from the moment at which the bench sends it to the
//! one at which the bench finds it ended, the system's part included. What ends while the bench looks elsewhere is found at
//! its next look, some microseconds later.
//!
//! **Requests** go past the page cache (`O_DIRECT`) by io_uring, with as many in flight as the bench asks for. TRIM of a block
//! device is a system call that is waited for; nothing else is sent meanwhile.
//!
//! **Data** cannot be compressed unless the bench asks for it. Each sector written says whose it is, and each sector read that
//! was written through the same [`RealDrive::open`] must say the same: a drive that returns another sector's data, or none of this
//! test's, fails the books. An older version of the same sector does not show.
//!
//! **Limits.** Linux 5.11 or newer. No causes, no flash, no power: a real drive does not tell. No secure erase: what comes
//! nearest to a new drive is one that was trimmed whole.

mod buffer;
mod clock;
mod consent;
mod error;
mod facts;
mod ledger;
mod stamp;

#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod drive;
#[cfg(target_os = "linux")]
mod ring;
#[cfg(target_os = "linux")]
mod system;

#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod drive;

pub use consent::Consent;
pub use drive::RealDrive;
pub use error::OpenError;
pub use facts::{Facts, Kind, Place};
