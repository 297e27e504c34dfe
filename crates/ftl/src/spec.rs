//! The firmware policies of a drive file: `[mapping]`, `[gc]`, `[wear_levelling]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_keys::SpecError;

/// How logical pages are laid out on the dies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Mapping"))]
pub struct MappingSpec {
    /// What one entry of the map stands for: the logical page, which is written, moved and found as a whole. More than 4 KiB
    /// make the map small (drives of many terabytes), and of each shorter write a read, a merge and a longer write.
    #[serde(default = "default_unit_kib", skip_serializing_if = "is_default_unit")]
    #[schemars(extend("enum" = [4, 8, 16, 32], "default" = 4))]
    pub unit_kib: u32,
    /// What is written, collected and erased together.
    pub superblock: SuperblockSpan,
    /// The least that is programmed by itself; what does not fill it is padding.
    #[serde(default, skip_serializing_if = "RowSpan::is_default")]
    #[schemars(extend("default" = "all-planes"))]
    pub row: RowSpan,
    /// For `superblock = "die-group"`: dies of a superblock; divides `flash.dies`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 512))]
    pub dies_per_group: Option<u32>,
    /// Share of the blocks that firmware keeps to replace blocks that go bad, and for itself.
    #[schemars(range(min = 0, max = 499))]
    pub reserved_blocks_per_1000: u32,
    /// Whether the map survives a power cut: every change goes into a journal on flash, and the map itself is written
    /// out piece by piece, so that recovery needs to read only a bounded stretch of journal.
    pub journal: bool,
    /// Journal rows between two pieces of checkpoint, each of one row of map.
    #[serde(default = "default_checkpoint_interval")]
    #[schemars(range(min = 1, max = 10_000))]
    pub journal_rows_per_checkpoint_row: u32,
    /// Journal rows that a recovery replays at most: pieces of the map that have changed are written out within so many,
    /// and others are not, so that checkpoints cost what the span of the writes asks for. Absent: all pieces in turn,
    /// as `journal_rows_per_checkpoint_row` says. Of no meaning with `map_cache_kib`.
    #[serde(default)]
    #[schemars(range(min = 2, max = 1_000_000))]
    pub journal_limit_rows: Option<u32>,
    /// DRAM for map entries, eight bytes each, if it does not hold the whole map: map pages of one row are then read
    /// when an entry is missing and written when a changed one must leave (DFTL), on a ring of blocks of their own;
    /// there are no checkpoints then. Absent: all of the map is in DRAM.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub map_cache_kib: Option<u32>,
}

/// For drives that have no map of pages: none of it is used.
impl Default for MappingSpec {
    fn default() -> Self {
        MappingSpec {
            unit_kib: default_unit_kib(),
            row: RowSpan::AllPlanes,
            superblock: SuperblockSpan::AllDies,
            dies_per_group: None,
            reserved_blocks_per_1000: 0,
            journal: false,
            journal_rows_per_checkpoint_row: default_checkpoint_interval(),
            journal_limit_rows: None,
            map_cache_kib: None,
        }
    }
}

impl MappingSpec {
    /// Dies of a superblock, on a drive of so many.
    #[must_use]
    pub fn superblock_dies(&self, dies: u32) -> u32 {
        match self.superblock {
            SuperblockSpan::AllDies => dies,
            SuperblockSpan::OneDie => 1,
            SuperblockSpan::DieGroup => self.dies_per_group.unwrap_or(dies),
        }
    }

    /// Bytes of a logical page.
    #[must_use]
    pub fn unit_bytes(&self) -> u32 {
        self.unit_kib << 10
    }
}

fn is_default_unit(unit_kib: &u32) -> bool {
    *unit_kib == default_unit_kib()
}

fn default_unit_kib() -> u32 {
    4
}

fn default_checkpoint_interval() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowSpan {
    /// A page of every plane of a die.
    #[default]
    AllPlanes,
    /// A page of one plane. What waits for other planes of the die right behind it goes with it as one operation, if it is of
    /// the same kind and has the same page number.
    OnePlane,
    /// The same, but pages of the host's go together only if their addresses follow each other: small writes are programmed
    /// plane by plane.
    OnePlaneRuns,
}

impl RowSpan {
    fn is_default(&self) -> bool {
        *self == RowSpan::AllPlanes
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SuperblockSpan {
    /// One block of every plane of every die: the widest stripe, the largest unit of collection.
    AllDies,
    /// One block of every plane of one die; each die has its own open blocks and collects for itself.
    OneDie,
    /// One block of every plane of `dies_per_group` neighbouring dies; each group has its own open blocks and collects for
    /// itself, so that the drive collects in several places at once, and less at a time.
    DieGroup,
}

/// When and how the firmware reclaims space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Garbage collection"))]
pub struct GcSpec {
    /// Which superblock is collected.
    pub policy: VictimPolicy,
    /// For `d-choices`: how many candidates are drawn. For `windowed-greedy`: how many of those closed longest ago are
    /// looked at. The other policies do not ask, and it stays at its default.
    #[serde(default = "default_choices")]
    #[schemars(range(min = 1, max = 100_000))]
    pub choices: u32,
    /// For `greedy`: which superblock goes first among those with equally few valid units. The other policies do not ask, and it
    /// stays at its default.
    #[serde(default)]
    pub tie_break: TieBreak,
    /// Whether moved data share the host's open superblock or have one of their own.
    pub frontier: Frontier,
    /// Collection starts when no more than these superblocks are free.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub start_free_superblocks: u32,
    /// Superblocks collected before the firmware looks again, where space is needed; 0: until more than
    /// `start_free_superblocks` are free. An idle drive goes on until `background_free_superblocks` are free.
    pub victims_per_start: u32,
    /// Superpages (one page of every plane of every die of the superblock) that the collector holds in memory.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub buffer_superpages: u32,
    /// What the collector does when its buffer is full.
    pub buffering: Buffering,
    /// What the host may do while a collection runs.
    pub host_share: HostShare,
    /// For `host_share = "trickle"`: 4 KiB units of the host let in per thousand units moved; 0 stops the world.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub trickle_per_1000: u32,
    /// Rows of one die that one operation of the collector reads; more is faster to simulate and coarser.
    #[serde(default = "default_rows_per_read")]
    #[schemars(range(min = 1, max = 8))]
    pub rows_per_read: u32,
    /// Idle time after which the firmware collects in the background, whether or not the buffer has been written out by then
    /// (`write_buffer.flush_after_idle_ms` counts beside it). Absent: never.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub background_after_idle_ms: Option<f64>,
    /// Free superblocks that background collection works towards.
    #[serde(default)]
    pub background_free_superblocks: u32,
    /// Whether what an idle drive does (`background_after_idle_ms`, `slc_cache.fold_after_idle_ms`; each only where it is given)
    /// goes on while the host is busy, too, in dies for which nothing else waits, and so does moving old data, which it looks
    /// for while the host is silent. If not, all that is begun while the host is silent, and ends with what it holds when the
    /// host is back.
    #[serde(default)]
    pub background_beside_host: bool,
    /// Whether superblocks that TRIM has emptied are erased at once, one after the other beside other work; if not, the
    /// collector comes to them in its turn.
    #[serde(default)]
    pub erases_what_trim_empties: bool,
}

/// For drives that have no map of pages: none of it is used.
impl Default for GcSpec {
    fn default() -> Self {
        GcSpec {
            policy: VictimPolicy::Greedy,
            choices: default_choices(),
            tie_break: TieBreak::Fifo,
            frontier: Frontier::Shared,
            start_free_superblocks: 1,
            victims_per_start: 0,
            buffer_superpages: 1,
            buffering: Buffering::StopAndWait,
            host_share: HostShare::Unlimited,
            trickle_per_1000: 0,
            rows_per_read: default_rows_per_read(),
            background_after_idle_ms: None,
            background_free_superblocks: 0,
            background_beside_host: false,
            erases_what_trim_empties: false,
        }
    }
}

fn default_choices() -> u32 {
    2
}

fn default_rows_per_read() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VictimPolicy {
    /// Fewest valid units.
    Greedy,
    /// Longest closed.
    Fifo,
    /// Fewest valid units among `choices` drawn at random.
    DChoices,
    /// Highest (1 − u) / 2u × age: the ratio of Kawaguchi et al. (1995), u the valid share, age in units written since the
    /// superblock was closed.
    CostBenefit,
    /// Any closed block.
    Random,
    /// Fewest valid units among the `choices` closed longest ago.
    WindowedGreedy,
}

impl VictimPolicy {
    /// Whether it picks among so many as `gc.choices` says.
    #[must_use]
    pub fn asks_choices(self) -> bool {
        matches!(self, VictimPolicy::DChoices | VictimPolicy::WindowedGreedy)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TieBreak {
    /// The block that reached this valid count first.
    #[default]
    Fifo,
    /// The block that reached it last.
    Lifo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Frontier {
    /// Both go into the same open superblock.
    Shared,
    /// Each has its own.
    Separate,
    /// Separate ones for each of four streams that the host may name with its writes; moved data stay in their
    /// stream. Only programs in Rust name any (`Request::with_stream`): writes of jobs, traces, Python and `attach` are all of
    /// the first.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Buffering {
    /// Fill the buffer, write it out, wait until it is written, then read on.
    StopAndWait,
    /// Read on while data are being written, as far as the buffer reaches.
    Streaming,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostShare {
    /// The host and the collector compete for the dies; the host stops only when no free block is left to it.
    Unlimited,
    /// The processor does nothing else while the collector fills its buffer and writes it out; the host's commands
    /// that wait then are taken in between two such rounds.
    BetweenRounds,
    /// For every unit moved the host gets as many as the victim's dead share frees: a paced drive.
    Balanced,
    /// The same, and the collector waits for the host, too: it goes on all the time, and moves for each row of the host what
    /// that row costs.
    InStep,
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

/// How firmware keeps pages that share their cells with a later program, where the power may go in the middle of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeepsOlderPages {
    /// It does nothing: such a cut destroys them, unless capacitors carry the program to its end.
    #[default]
    No,
    /// Before a program, each older page of its word line is read, and a copy of it is programmed at one bit per cell in
    /// blocks of the same die that are kept for this; after a cut the copies are moved to where data live.
    Copies,
    /// Before a FLUSH is answered, rows without data are programmed until no later program shares its cells with what was
    /// flushed. Of what was not flushed, an older write may come back; what the collector moves is copied.
    PaddingAtFlush,
    /// Before a program, older pages of its word line are covered by parity, at one bit per cell in blocks of the same die that
    /// are kept for this: the sum of all pages of their kind in the block whose word lines are open. After a cut a destroyed
    /// page is rebuilt from it and the others.
    Parity,
}

/// How the firmware spreads erases over the blocks. Absent: not at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Wear levelling"))]
pub struct WearLevellingSpec {
    /// Whether the least worn free superblock is opened next, instead of the one that was freed first.
    #[serde(default)]
    pub dynamic: bool,
    /// Cold data are moved when the erase counts of two superblocks that take them are further apart than this: those of the
    /// firmware's own rows and of the SLC cache do not count. Absent: never.
    #[serde(default)]
    #[schemars(extend("x-heading" = "static spread", "x-unit" = "erases"))]
    pub static_spread_erases: Option<u32>,
}

impl GcSpec {
    /// Checks what no single value can tell. Ranges are checked with the whole drive.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self) -> Result<(), SpecError> {
        if self.host_share != HostShare::Trickle && self.trickle_per_1000 != 0 {
            return Err(SpecError::new(
                "gc.trickle_per_1000",
                "has no effect without host_share = \"trickle\"",
                "set trickle_per_1000 = 0, or host_share = \"trickle\"",
            ));
        }
        if self.choices != default_choices() && !self.policy.asks_choices() {
            return Err(SpecError::new(
                "gc.choices",
                "has no effect without policy = \"d-choices\" or \"windowed-greedy\"",
                format!("set choices = {}, or one of these policies", default_choices()),
            ));
        }
        if self.tie_break != TieBreak::default() && self.policy != VictimPolicy::Greedy {
            return Err(SpecError::new(
                "gc.tie_break",
                "has no effect without policy = \"greedy\"",
                "set tie_break = \"fifo\", or policy = \"greedy\"",
            ));
        }
        if self.host_share == HostShare::BetweenRounds && self.buffering != Buffering::StopAndWait {
            return Err(SpecError::new(
                "gc.host_share",
                "a collector that reads on while it writes knows no rounds",
                "use buffering = \"stop-and-wait\" with host_share = \"between-rounds\"",
            ));
        }
        if self.background_beside_host && self.frontier == Frontier::Shared {
            return Err(SpecError::new(
                "gc.background_beside_host",
                "what yields to the host cannot share the host's open superblock",
                "use frontier = \"separate\" or \"by-stream\", or leave it out",
            ));
        }
        if self.background_beside_host && self.host_share == HostShare::BetweenRounds {
            return Err(SpecError::new(
                "gc.background_beside_host",
                "firmware that works in rounds does nothing beside its host",
                "use another host_share, or leave it out",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_greedy_asks_which_of_equals_goes_first() {
        let of = |policy| GcSpec { policy, tie_break: TieBreak::Lifo, ..GcSpec::default() };
        assert!(of(VictimPolicy::Greedy).validate().is_ok());
        for policy in [
            VictimPolicy::Fifo,
            VictimPolicy::DChoices,
            VictimPolicy::CostBenefit,
            VictimPolicy::Random,
            VictimPolicy::WindowedGreedy,
        ] {
            assert_eq!(of(policy).validate().expect_err("it has no effect").key, "gc.tie_break");
            assert!(GcSpec { tie_break: TieBreak::Fifo, ..of(policy) }.validate().is_ok());
        }
    }
}
