//! An adapter as a file in `catalog/adapters`.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_keys::{KeyTable, SpecError};

/// Everything that makes one adapter differ from another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Adapter"))]
pub struct AdapterSpec {
    /// What kind of file this is.
    pub kind: AdapterKind,
    /// A line for people: maker, model, interface.
    pub description: String,
    /// Drives that it takes.
    #[schemars(range(min = 1, max = 64))]
    pub ports: u32,
    pub link: AdapterLinkSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<AdapterCacheSpec>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AdapterKind {
    Adapter,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Host interface"))]
pub struct AdapterLinkSpec {
    /// For people.
    pub name: String,
    /// Millions of bytes a second, in each direction.
    #[schemars(range(min = 1.0, max = 100_000.0), extend("x-heading" = "rate"))]
    pub megabytes_per_s: f64,
    /// Of driver and firmware for each command, one command after the other.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub command_us: f64,
}

/// A cache of the adapter's own, which acknowledges writes before the drives have them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Adapter cache"))]
pub struct AdapterCacheSpec {
    /// Memory for data.
    #[schemars(range(min = 1, max = 65_536))]
    pub capacity_mib: u32,
    /// What is allocated and found again as a whole. Which of its sectors are there, and which are dirty, is known of
    /// each.
    #[schemars(extend("enum" = [4, 8, 16, 32, 64]))]
    pub line_kib: u32,
    /// When dirty lines are written to the drives, and what becomes of reads then.
    pub flush_policy: FlushChoice,
    /// Share of the lines that are dirty when writing out begins.
    #[schemars(range(min = 0, max = 100))]
    pub flush_threshold_percent: u32,
    /// Share of the lines that can be dirty. Writes that would exceed it wait.
    #[schemars(range(min = 1, max = 100))]
    pub dirty_limit_percent: u32,
    /// Without commands for so long, the adapter writes out what is dirty.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub flush_after_idle_ms: f64,
    /// Writes that the adapter has outstanding at each drive, as far as the drive has a queue for them.
    #[schemars(range(min = 1, max = 256), extend("x-unit" = "commands"))]
    pub drive_queue_depth: u32,
    /// The longest write that neighbouring lines are merged to.
    #[schemars(range(min = 4, max = 16_384))]
    pub merge_kib: u32,
    /// Data read ahead of a sequential stream, less than the cache holds; 0 reads nothing ahead.
    #[schemars(range(min = 0, max = 16_384))]
    pub read_ahead_kib: u32,
    /// Whether the cache survives a power cut: then a flush of the host ends at once.
    pub battery: bool,
    /// Whether the drives may acknowledge from caches of their own. With a battery no flush reaches these: a power cut takes what they
    /// hold, flushed or not.
    pub drive_write_cache: bool,
}

/// A flush policy by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlushChoice {
    /// Everything that is dirty when it begins, in one sweep of ascending addresses. Reads that the cache cannot answer wait until its
    /// end.
    Burst,
    /// Ascending addresses in turn, in gaps between commands and above the threshold. Reads are not held back.
    Polite,
}

/// Every key of an adapter file.
#[must_use]
pub fn adapter_keys() -> &'static KeyTable {
    static KEYS: LazyLock<KeyTable> = LazyLock::new(KeyTable::of::<AdapterSpec>);
    &KEYS
}

impl AdapterSpec {
    /// Checks every value by itself, then against the others.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self) -> Result<(), SpecError> {
        adapter_keys().check(self)?;
        let Some(cache) = &self.cache else { return Ok(()) };
        if cache.flush_threshold_percent > cache.dirty_limit_percent {
            return Err(SpecError::new(
                "cache.flush_threshold_percent",
                "writing out would begin only when no more can be written",
                "use at most cache.dirty_limit_percent",
            ));
        }
        // What is read ahead would drive itself out before anybody reads it.
        let capacity_kib = u64::from(cache.capacity_mib) << 10;
        if u64::from(cache.read_ahead_kib) >= capacity_kib {
            let ahead_kib = cache.read_ahead_kib;
            return Err(SpecError::new(
                "cache.read_ahead_kib",
                format!(
                    "{ahead_kib} KiB read ahead do not fit into a cache of {capacity_kib} KiB beside what the host reads"
                ),
                format!("use less than {capacity_kib} KiB, or a larger cache.capacity_mib"),
            ));
        }
        Ok(())
    }
}
