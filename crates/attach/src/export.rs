//! What is served, whatever the protocol.

use ssdlab_core::{Fnv1a, UNIT_BYTES};
use ssdlab_device::DeviceInfo;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Export {
    pub name: String,
    /// Of this one drive of its kind: 16 digits and letters.
    pub serial: String,
    pub description: String,
    pub size_bytes: u64,
    pub sector_bytes: u32,
    /// What the drive writes as one, as far as it is known: a sector or more.
    pub physical_bytes: u32,
    /// What a trim forgets as one.
    pub trim_bytes: u64,
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
            serial: serial(&info.name, 0),
            description: info.description.clone(),
            size_bytes: info.capacity_bytes,
            sector_bytes: info.sector_bytes,
            physical_bytes: info.sector_bytes,
            trim_bytes: UNIT_BYTES,
            queue_depth: info.queue_depth,
            trim: info.supports_trim,
            trimmed_reads_zeroes: true,
            write_zeroes: info.supports_write_zeroes,
            rotational: info.kind == "hdd",
            read_only,
        }
    }

    /// The block that hosts had best use: what is aligned to the pages of most maps needs no reading first.
    #[must_use]
    pub fn preferred_bytes(&self) -> u32 {
        self.sector_bytes.max(UNIT_BYTES as u32)
    }

    /// The map of the drive has pages of this size. They are told as physical sectors if they are no more than what hosts had
    /// best use anyway.
    pub fn has_pages_of(&mut self, page_bytes: u64) {
        if self.rotational {
            return;
        }
        self.trim_bytes = page_bytes;
        if page_bytes == UNIT_BYTES {
            self.physical_bytes = self.preferred_bytes();
        }
    }
}

/// A serial number that always belongs to this model and this seed.
#[must_use]
pub fn serial(name: &str, seed: u64) -> String {
    format!("{:016X}", Fnv1a::of(format!("{name}/{seed}").as_bytes()))
}
