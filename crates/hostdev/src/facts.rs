//! What a drive says of itself.

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    BlockDevice,
    /// A file stands for the file system and the drive that it lies on.
    File,
}

/// What is known of a drive before anything is asked of it. From the system's tables; empty or `None`: not told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// As it was given.
    pub path: String,
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
    /// Whether it turns.
    pub rotates: bool,
    pub supports_trim: bool,
    /// Commands that the drive takes at once.
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
        let what = match (self.kind, self.rotates) {
            (Kind::File, _) => "a file",
            (Kind::BlockDevice, true) => "a disk",
            (Kind::BlockDevice, false) => "a block device",
        };
        let on = match (self.kind, self.model.is_empty()) {
            (_, true) => String::new(),
            (Kind::File, false) => format!(" on {}", self.model),
            (Kind::BlockDevice, false) => format!(": {}", self.model),
        };
        format!("{what} of {:.1} GB{on}", self.capacity_bytes as f64 / 1e9)
    }
}
