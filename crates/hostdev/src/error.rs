//! Why a real drive is not used.

/// Why a path is no drive, or may not be used as one. Nothing has been written.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("real drives can be used on Linux only")]
    NotHere,
    #[error("{path} cannot be opened: {source}")]
    Open { path: String, source: std::io::Error },
    #[error("{path} is {what}, neither a block device nor a file")]
    NoDrive { path: String, what: &'static str },
    #[error("{path} has {bytes} bytes, and a drive has a whole number of sectors of {sector_bytes} bytes")]
    Size { path: String, bytes: u64, sector_bytes: u32 },
    #[error("{path} is in use: {why}")]
    InUse { path: String, why: String },
    #[error("{path} is write-protected")]
    WriteProtected { path: String },
    #[error("{path} lies on a file system that does not take requests past the page cache (O_DIRECT)")]
    NoDirectIo { path: String },
    #[error("consent was given for {named}, which is not {path}")]
    OtherDrive { named: String, path: String },
    #[error("{path} had {was} bytes when it was looked at, and has {is} now")]
    Resized { path: String, was: u64, is: u64 },
    #[error("io_uring, by which real drives are used, is not to be had: {source}")]
    NoRing { source: std::io::Error },
}

impl OpenError {
    /// What would be right, if that can be said.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            OpenError::NotHere | OpenError::Open { .. } | OpenError::Resized { .. } => return None,
            OpenError::NoDrive { .. } => "give a block device such as /dev/sdb, or a file that stands for one",
            OpenError::Size { .. } => "make the file as large as the drive shall be: `fallocate -l 8GiB FILE`",
            OpenError::InUse { .. } => {
                "unmount its file systems, detach loop devices of it, and stop whatever else uses it; a drive that holds the running \
                 system cannot be tested"
            }
            OpenError::WriteProtected { .. } => "take the write protection away, or run only what reads",
            OpenError::NoDirectIo { .. } => {
                "the page cache would be measured there: put the file on ext4, xfs or btrfs, or give the block device"
            }
            OpenError::OtherDrive { .. } => "name the drive itself, letter by letter or by another of its paths",
            OpenError::NoRing { .. } => {
                "it needs Linux 5.11, /proc/sys/kernel/io_uring_disabled at 0, and a container that allows it"
            }
        })
    }
}
