//! What is served, whatever the protocol.

use ssdlab_device::DeviceInfo;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Export {
    pub name: String,
    pub description: String,
    pub size_bytes: u64,
    pub sector_bytes: u32,
    /// Commands that the device takes at once.
    pub queue_depth: u32,
    pub trim: bool,
    /// Whether trimmed pages read as zeroes.
    pub trimmed_reads_zeroes: bool,
    pub write_zeroes: bool,
    pub rotational: bool,
    pub read_only: bool,
}

impl Export {
    #[must_use]
    pub fn new(info: &DeviceInfo, read_only: bool) -> Self {
        Export {
            name: info.name.clone(),
            description: info.description.clone(),
            size_bytes: info.capacity_bytes,
            sector_bytes: info.sector_bytes,
            queue_depth: info.queue_depth,
            trim: info.supports_trim,
            trimmed_reads_zeroes: true,
            write_zeroes: info.supports_write_zeroes,
            rotational: info.kind == "hdd",
            read_only,
        }
    }
}
