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
        let size = match self.capacity_bytes as f64 {
            bytes if bytes < 999.95e6 => format!("{:.1} MB", bytes / 1e6),
            bytes => format!("{:.1} GB", bytes / 1e9),
        };
        format!("{what} of {size}{on}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_have_a_size() {
        let of = |capacity_bytes, model: &str| {
            let facts = Facts {
                path: "drive".to_owned(),
                place: Place::File { device: 1, inode: 1 },
                kind: Kind::File,
                capacity_bytes,
                sector_bytes: 512,
                physical_sector_bytes: 512,
                model: model.to_owned(),
                firmware: String::new(),
                serial: String::new(),
                rotates: false,
                supports_trim: false,
                queue_depth: None,
                write_cache: String::new(),
                scheduler: String::new(),
                hole_bytes: 0,
            };
            facts.description()
        };
        assert_eq!(of(16 << 20, ""), "a file of 16.8 MB");
        assert_eq!(of(999_949_999, "NAME"), "a file of 999.9 MB on NAME");
        assert_eq!((of(999_999_999, ""), of(1 << 30, "")), ("a file of 1.0 GB".into(), "a file of 1.1 GB".into()));
    }
}
