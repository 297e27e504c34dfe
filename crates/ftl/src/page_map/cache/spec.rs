//! The `[slc_cache]` table of a drive file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_keys::SpecError;
use ssdlab_nand::{CellMode, DieSpec};

use crate::spec::{Frontier, GcSpec, MappingSpec, SuperblockSpan};

/// How a drive uses blocks at one bit per cell (pseudo-SLC) to take in what the host writes. Absent: it does not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "SLC cache"))]
pub struct SlcCacheSpec {
    /// Which blocks take what the host writes at one bit per cell.
    pub policy: SlcCachePolicy,
    /// For `dynamic`: superblocks, as a share of those that can hold data, that must be free for one to be opened at one
    /// bit per cell; with fewer the host's data go into the die's own mode at once.
    #[serde(default)]
    #[schemars(range(min = 0, max = 900))]
    pub keep_free_per_1000: Option<u32>,
    /// For `dynamic`: where the host's data go while cached ones are folded for want of free blocks.
    #[serde(default)]
    pub host_while_folding: Option<HostTarget>,
    /// What the cache holds, in decimal gigabytes of host data; for `dynamic` the most that it holds, absent: all that fits.
    #[serde(default)]
    #[schemars(range(max = 8000.0), extend("exclusiveMinimum" = 0.0))]
    pub capacity_gb: Option<f64>,
    /// For `on-die`: of each die's blocks that can hold data, the share set aside for the cache.
    #[serde(default)]
    #[schemars(range(min = 1, max = 900))]
    pub blocks_per_1000: Option<u32>,
    /// For `fixed` and `on-die`: what happens to writes when the cache is full.
    #[serde(default)]
    pub when_full: Option<WhenFull>,
    /// For `fixed` and `on-die`: the longest write command whose data go into the cache; those of longer ones go past
    /// it, into blocks of the die's own mode. Absent: all go into the cache.
    #[serde(default)]
    #[schemars(range(min = 4, max = LONGEST_WRITE_KIB), extend("multipleOf" = 4))]
    pub largest_write_kib: Option<u32>,
    /// Idle time after which the drive begins to fold. Absent: it does not by itself, but for what `[refresh]` has moved.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub fold_after_idle_ms: Option<f64>,
    /// In idle time, from one superblock folded to the next.
    #[serde(default = "default_pause")]
    #[schemars(range(min = 0.01, max = 1e6))]
    pub fold_pause_ms: f64,
}

fn default_pause() -> f64 {
    1.0
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlcCachePolicy {
    /// Some superblocks are set aside for good.
    Fixed,
    /// Any free superblock, as long as enough are free.
    Dynamic,
    /// Some blocks of every die are set aside, and folded within their die.
    OnDie,
}

/// Where the host's data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostTarget {
    /// Into blocks of one bit per cell.
    Slc,
    /// Into blocks of the die's own mode.
    Native,
}

/// What happens to writes when the cache is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// They go past it, into blocks of the die's own mode.
    Direct,
    /// They wait until a part of it has been folded.
    Fold,
}

/// The longest command of the host: 65,536 sectors.
const LONGEST_WRITE_KIB: u32 = 32_768;

impl SlcCacheSpec {
    /// Streams of the write buffer: what may go into the cache has one of its own where long writes go past it.
    #[must_use]
    pub fn streams(&self) -> u8 {
        1 + u8::from(self.largest_write_kib.is_some())
    }

    /// Superblocks set aside for the cache in each set of superblocks. `blocks` are those of one die that are not
    /// reserved.
    #[must_use]
    pub fn pool_per_set(&self, die: &DieSpec, span: SuperblockSpan, dies: u32, blocks: u32) -> u32 {
        match self.policy {
            SlcCachePolicy::Dynamic => 0,
            SlcCachePolicy::Fixed => Self::superblocks_of(self.capacity_gb.unwrap_or(0.0), die, dies),
            SlcCachePolicy::OnDie => {
                debug_assert_eq!(span, SuperblockSpan::OneDie);
                (u64::from(blocks) * u64::from(self.blocks_per_1000.unwrap_or(0))).div_ceil(1000) as u32
            }
        }
    }

    /// The key that says how much is set aside for the cache; `None`: nothing is.
    #[must_use]
    pub fn key_of_pool(&self) -> Option<&'static str> {
        match self.policy {
            SlcCachePolicy::Dynamic => None,
            SlcCachePolicy::Fixed => Some("slc_cache.capacity_gb"),
            SlcCachePolicy::OnDie => Some("slc_cache.blocks_per_1000"),
        }
    }

    /// The least `gc.start_free_superblocks` with it: there is room to fold what is set aside.
    #[must_use]
    pub fn least_start_free(&self) -> u32 {
        if self.key_of_pool().is_some() { 3 } else { 1 }
    }

    /// The most superblocks of each set that may be cached at a time.
    #[must_use]
    pub fn most_per_set(&self, die: &DieSpec, dies: u32) -> u32 {
        self.capacity_gb.map_or(u32::MAX, |gb| Self::superblocks_of(gb, die, dies))
    }

    /// Superblocks of each set that hold so much at one bit per cell. A superblock over all dies, or one of each die: the
    /// same number of bytes.
    fn superblocks_of(gb: f64, die: &DieSpec, dies: u32) -> u32 {
        let Some(slc) = die.mode(CellMode::Slc) else { return 0 };
        let g = &die.geometry;
        let block_bytes = u64::from(g.planes) * u64::from(g.page_bytes) * u64::from(slc.pages_per_block);
        let per_row_of_blocks = block_bytes * u64::from(dies);
        u32::try_from(((gb * 1e9) as u64).div_ceil(per_row_of_blocks)).unwrap_or(u32::MAX).max(1)
    }

    /// The longest write command whose data may go into the cache.
    #[must_use]
    pub fn largest_write_bytes(&self) -> u64 {
        self.largest_write_kib.map_or(u64::MAX, |kib| u64::from(kib) << 10)
    }

    /// Checks what no single value can tell. Ranges are checked with the whole drive.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self, die: &DieSpec, gc: &GcSpec, mapping: &MappingSpec) -> Result<(), SpecError> {
        if die.native_mode() == CellMode::Slc || die.mode(CellMode::Slc).is_none() {
            return Err(SpecError::new(
                "slc_cache.policy",
                "the die cannot be written at one bit per cell besides its own mode",
                "use a die with a [modes.slc] section, or remove [slc_cache]",
            ));
        }
        if gc.frontier != Frontier::Separate {
            return Err(SpecError::new(
                "gc.frontier",
                "does not go with an SLC cache: what is folded needs an open superblock of its own",
                "use \"separate\"",
            ));
        }
        let dynamic = self.policy == SlcCachePolicy::Dynamic;
        let name = match self.policy {
            SlcCachePolicy::Fixed => "fixed",
            SlcCachePolicy::Dynamic => "dynamic",
            SlcCachePolicy::OnDie => "on-die",
        };
        let most = dynamic && self.capacity_gb.is_some();
        let needed = [
            ("slc_cache.keep_free_per_1000", self.keep_free_per_1000.is_some(), dynamic),
            ("slc_cache.host_while_folding", self.host_while_folding.is_some(), dynamic),
            ("slc_cache.capacity_gb", self.capacity_gb.is_some(), self.policy == SlcCachePolicy::Fixed || most),
            ("slc_cache.blocks_per_1000", self.blocks_per_1000.is_some(), self.policy == SlcCachePolicy::OnDie),
            ("slc_cache.when_full", self.when_full.is_some(), !dynamic),
        ];
        let largest_write = self.largest_write_kib.is_some();
        let optional = [("slc_cache.largest_write_kib", largest_write, largest_write && !dynamic)];
        for (key, there, wanted) in needed.into_iter().chain(optional) {
            if there && !wanted {
                let problem = format!("has no effect with policy = \"{name}\"");
                return Err(SpecError::new(key, problem, "remove it, or set another policy"));
            }
            if wanted && !there {
                return Err(SpecError::new(key, "is missing", format!("policy = \"{name}\" needs it")));
            }
        }
        if self.policy == SlcCachePolicy::OnDie && mapping.superblock != SuperblockSpan::OneDie {
            return Err(SpecError::new(
                "mapping.superblock",
                "data cannot be folded within their die if a superblock spans all dies",
                "use \"one-die\", or slc_cache.policy = \"fixed\"",
            ));
        }
        let least_start_free = self.least_start_free();
        if gc.start_free_superblocks < least_start_free {
            return Err(SpecError::new(
                "gc.start_free_superblocks",
                format!("{} leave no room to fold a cache that is set aside", gc.start_free_superblocks),
                format!("use {least_start_free} or more"),
            ));
        }
        Ok(())
    }
}
