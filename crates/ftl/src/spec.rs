//! The firmware policies of a drive file: `[mapping]`, `[gc]`, `[wear_levelling]`.

use serde::{Deserialize, Serialize};
use ssdlab_nand::SpecError;

/// How logical pages are laid out on the dies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappingSpec {
    /// What is written, collected and erased together.
    pub superblock: SuperblockSpan,
    /// Blocks in a thousand that firmware keeps for replacing blocks that go bad, and for itself.
    pub reserved_blocks_per_1000: u32,
    /// Whether the map survives a power cut: every change goes into a journal on flash, and the map itself is
    /// written out piece by piece, so that recovery needs to read only a bounded stretch of journal.
    pub journal: bool,
    /// Journal rows between two pieces of checkpoint (each one row of map).
    #[serde(default = "default_checkpoint_interval")]
    pub journal_rows_per_checkpoint_row: u32,
    /// DRAM for map entries, eight bytes each, if it does not hold the whole map: the rest lives on flash only and is
    /// loaded on demand. Absent: all of the map is in DRAM.
    #[serde(default)]
    pub map_cache_kib: Option<u32>,
}

fn default_checkpoint_interval() -> u32 {
    1
}

impl MappingSpec {
    /// Checks what no single field can.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self) -> Result<(), SpecError> {
        if self.map_cache_kib == Some(0) {
            let expected = "use at least 1, or leave it out for a map that is in DRAM as a whole";
            return Err(SpecError::new("mapping.map_cache_kib", "0 KiB hold no entry of the map", expected));
        }
        let interval = self.journal_rows_per_checkpoint_row;
        if (1..=10_000).contains(&interval) {
            return Ok(());
        }
        Err(SpecError::new(
            "mapping.journal_rows_per_checkpoint_row",
            format!("{interval} journal rows for a row of checkpoint"),
            "use 1 to 10,000",
        ))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuperblockSpan {
    /// One block of every plane of every die: the widest stripe, the largest unit of collection.
    AllDies,
    /// One block of every plane of one die; each die has its own open blocks and collects for itself.
    OneDie,
}

/// When and how the firmware reclaims space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GcSpec {
    pub policy: VictimPolicy,
    /// For `d-choices`: how many candidates are drawn.
    #[serde(default = "default_choices")]
    pub choices: u32,
    /// Among blocks of equal merit, which one goes first.
    #[serde(default)]
    pub tie_break: TieBreak,
    /// Whether moved data share the host's open superblock or have one of their own.
    pub frontier: Frontier,
    /// Collection starts when no more than this many superblocks are free.
    pub start_free_superblocks: u32,
    /// Victims collected before the firmware looks again; 0: until more than `start_free_superblocks` are free.
    pub victims_per_start: u32,
    /// Superpages (one page of every plane of every die of the superblock) that the collector holds in DRAM.
    pub buffer_superpages: u32,
    /// What the collector does when its buffer is full.
    pub buffering: Buffering,
    /// What the host may write while a collection runs.
    pub host_share: HostShare,
    /// For `host_share = "trickle"`: host units let in per thousand units moved.
    #[serde(default)]
    pub trickle_per_1000: u32,
    /// Rows of one die read by one operation of the collector. More rows make the simulation faster and coarser.
    #[serde(default = "default_rows_per_read")]
    pub rows_per_read: u32,
    /// Idle time after which the firmware collects in the background; absent: never.
    #[serde(default)]
    pub background_after_idle_ms: Option<f64>,
    /// Free superblocks that background collection works towards.
    #[serde(default)]
    pub background_free_superblocks: u32,
}

fn default_choices() -> u32 {
    2
}

fn default_rows_per_read() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimPolicy {
    /// Fewest valid units.
    Greedy,
    /// Longest closed.
    Fifo,
    /// Fewest valid units among `choices` drawn at random.
    DChoices,
    /// Highest (1 - u) / 2u x age, u the valid share.
    CostBenefit,
    /// Any closed block.
    Random,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TieBreak {
    /// The block that reached this valid count first.
    #[default]
    Fifo,
    /// The block that reached it last.
    Lifo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Frontier {
    Shared,
    Separate,
    /// Separate ones for each stream that the host may name with its writes ([`STREAMS`]); moved data stay in their
    /// stream.
    ByStream,
}

/// Streams of a drive with `frontier = "by-stream"`.
pub const STREAMS: u8 = 4;

impl Frontier {
    /// Streams that the host may name.
    #[must_use]
    pub fn streams(self) -> u8 {
        if self == Frontier::ByStream { STREAMS } else { 1 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Buffering {
    /// Fill the buffer, write it out, wait until it is written, then read on.
    StopAndWait,
    /// Read on while data are being written, as far as the buffer reaches.
    Streaming,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostShare {
    /// The host and the collector compete for the dies; the host stops only when no free block is left to it.
    Unlimited,
    /// The processor does nothing else while the collector fills its buffer and writes it out; the host's commands
    /// that wait then are taken in between two such rounds.
    BetweenRounds,
    /// For every unit moved the host gets as many as the victim's dead share frees: a paced drive.
    Balanced,
    /// A fixed, small share: `trickle_per_1000`. 0 is stop-the-world.
    Trickle,
}

/// Superblocks that every collection domain needs beyond those that hold the logical pages: those whose number makes
/// collection start, the open ones of host and collector for each of `streams`, that of an SLC cache, and one to collect
/// into. With fewer, writing would come to a standstill.
#[must_use]
pub fn spare_superblocks(start_free_superblocks: u32, streams: u8, slc_cache: bool) -> u32 {
    start_free_superblocks + 3 + 2 * (u32::from(streams) - 1) + u32::from(slc_cache)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WearLevellingSpec {
    /// Open the least worn free superblock instead of the one that was freed first.
    #[serde(default)]
    pub dynamic: bool,
    /// Move cold data when the erase counts of two superblocks are further apart than this; absent: never.
    #[serde(default)]
    pub static_spread_erases: Option<u32>,
}

impl GcSpec {
    /// Checks what no single field can.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self) -> Result<(), SpecError> {
        let at_least_one = |key: &str, v: u32| {
            if (1..=1_000_000).contains(&v) {
                Ok(())
            } else {
                Err(SpecError::new(key, format!("{v} leaves nothing to work with"), "use 1 or more"))
            }
        };
        at_least_one("gc.start_free_superblocks", self.start_free_superblocks)?;
        at_least_one("gc.buffer_superpages", self.buffer_superpages)?;
        at_least_one("gc.rows_per_read", self.rows_per_read)?;
        at_least_one("gc.choices", self.choices)?;
        if self.choices > 1000 {
            return Err(SpecError::new("gc.choices", format!("{} candidates", self.choices), "use 1 to 1000"));
        }
        if self.trickle_per_1000 > 1_000_000 {
            return Err(SpecError::new(
                "gc.trickle_per_1000",
                format!("{} host units per thousand moved are no trickle", self.trickle_per_1000),
                "use 0 to 1,000,000",
            ));
        }
        if self.rows_per_read > 8 {
            return Err(SpecError::new("gc.rows_per_read", "more than 8 rows in one operation", "use 1 to 8"));
        }
        if self.host_share != HostShare::Trickle && self.trickle_per_1000 != 0 {
            return Err(SpecError::new(
                "gc.trickle_per_1000",
                "has no effect without host_share = \"trickle\"",
                "remove it, or set host_share",
            ));
        }
        if self.host_share == HostShare::BetweenRounds && self.buffering != Buffering::StopAndWait {
            return Err(SpecError::new(
                "gc.host_share",
                "a collector that reads on while it writes knows no rounds",
                "use buffering = \"stop-and-wait\" with host_share = \"between-rounds\"",
            ));
        }
        if self.background_after_idle_ms.is_some_and(|t| !(0.0..=1e9).contains(&t)) {
            return Err(SpecError::new("gc.background_after_idle_ms", "not a time", "use 0 to 1e9 milliseconds"));
        }
        Ok(())
    }
}
