//! Five application mixes: stand-ins for the traces behind the StorageMark indexes of 2006 and 2008.
//!
//! The traces were never published, and hardly a figure about them was. A mix is what such applications are known to
//! send to a drive: programs loaded piece by piece, files read through and written, pages updated in place, logs that
//! grow, each with its sizes, its depth and its area of a file system. What is known, what is an estimate, and the
//! hashes of the streams stand in `docs/application-mixes.md`.
//!
//! Shares of the activities are met by counting down, so that they are exact whatever the seed. There are no pauses,
//! and every address lies below [`FOOTPRINT_BYTES`].
//!
//! ```
//! use ssdlab_core::Rng;
//! use ssdlab_workload::application_mix::{Application, FOOTPRINT_BYTES, Stream};
//!
//! let steps: Vec<_> = Stream::new(Application::Desktop, 1_000, &Rng::new(1)).collect();
//! assert_eq!(steps.len(), 1_000);
//! assert!(steps.iter().all(|s| s.command.offset_bytes + s.command.length_bytes <= FOOTPRINT_BYTES));
//! ```

mod activity;
mod desktop;
mod files;
mod fingerprint;
mod servers;
mod stream;

pub use fingerprint::Fingerprint;
pub use stream::Stream;

use activity::Machine;

/// Every request of every mix lies below this: the mixes fit a drive of 16 GB.
pub const FOOTPRINT_BYTES: u64 = 12_000_000_000;

/// A mix, named after the applications that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Application {
    Desktop,
    BootAndLaunch,
    Workstation,
    DatabaseServer,
    StreamingServer,
}

impl Application {
    /// In the order in which they are played.
    pub const ALL: [Application; 5] = [
        Application::Desktop,
        Application::BootAndLaunch,
        Application::Workstation,
        Application::DatabaseServer,
        Application::StreamingServer,
    ];

    /// For sentences.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Application::Desktop => "desktop",
            Application::BootAndLaunch => "boot and launch",
            Application::Workstation => "workstation",
            Application::DatabaseServer => "database server",
            Application::StreamingServer => "streaming-media server",
        }
    }

    /// Requests of the mix at full length.
    #[must_use]
    pub const fn requests(self) -> u64 {
        match self {
            Application::BootAndLaunch => 200_000,
            _ => 300_000,
        }
    }

    const fn machine(self) -> &'static Machine {
        match self {
            Application::Desktop => &desktop::DESKTOP,
            Application::BootAndLaunch => &desktop::BOOT_AND_LAUNCH,
            Application::Workstation => &desktop::WORKSTATION,
            Application::DatabaseServer => &servers::DATABASE,
            Application::StreamingServer => &servers::STREAMING,
        }
    }
}
