//! What a drive says of itself.

use std::fs::{self, Metadata};
use std::path::Path;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    BlockDevice,
    /// A file stands for the file system and the drive that it lies on.
    File,
}

/// What a path leads to, whatever its name: the number of a block device, or those of a file and of what it lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    BlockDevice { number: u64 },
    File { device: u64, inode: u64 },
}

impl Place {
    /// `None` if there is nothing, or neither of the two.
    #[must_use]
    pub fn of(path: &Path) -> Option<Place> {
        fs::metadata(path).ok().as_ref().and_then(Place::of_metadata)
    }

    #[cfg(unix)]
    pub(crate) fn of_metadata(meta: &Metadata) -> Option<Place> {
        use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
        match meta.file_type() {
            t if t.is_block_device() => Some(Place::BlockDevice { number: meta.rdev() }),
            t if t.is_file() => Some(Place::File { device: meta.dev(), inode: meta.ino() }),
            _ => None,
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn of_metadata(_meta: &Metadata) -> Option<Place> {
        None
    }
}

/// What is known of a drive before anything is asked of it. From the system's tables; empty or `None`: not told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// As it was given.
    pub path: String,
    pub place: Place,
    pub kind: Kind,
    pub capacity_bytes: u64,
    /// The smallest request.
    pub sector_bytes: u32,
    /// What the drive writes at once, by its own account.
    pub physical_sector_bytes: u32,
    /// Of the drive, or of the one that a file lies on.
    pub model: String,
    pub firmware: String,
    /// Which drive of its model; told to nobody but its owner.
    pub serial: String,
    /// Whether it turns, by the system's account; virtual drives often say so.
    pub rotates: bool,
    pub supports_trim: bool,
    /// Commands that the drive takes at once, where it says so (SATA, SCSI).
    pub queue_depth: Option<u32>,
    /// `write back`: it answers writes from a cache; `write through`: it does not, or hides it.
    pub write_cache: String,
    pub scheduler: String,
    /// Bytes of a file that no block stands behind: reads of them do not reach the drive.
    pub hole_bytes: u64,
}

impl Facts {
    /// A line for people.
    #[must_use]
    pub fn description(&self) -> String {
        let what = match self.kind {
            Kind::File => "a file",
            Kind::BlockDevice => "a block device",
        };
        let on = match (self.kind, self.model.is_empty()) {
            (_, true) => String::new(),
            (Kind::File, false) => format!(" on {}", self.model),
            (Kind::BlockDevice, false) => format!(": {}", self.model),
        };
        format!("{what} of {:.1} GB{on}", self.capacity_bytes as f64 / 1e9)
    }
}
