//! `[log_blocks]` of a drive file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Translation by blocks, as controllers without DRAM do it, instead of a map of pages: `[mapping]` and `[gc]` are then
/// left out. A superblock is one block of one die of each channel. Data are rewritten superblock by superblock; what is
/// new goes into log blocks first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Log blocks"))]
pub struct LogBlockSpec {
    /// What a log block takes in.
    pub scheme: LogScheme,
    /// Log superblocks that can be open at once; of one column never more than it has blocks to spare. Shared ones (`fast`) are
    /// divided among the columns: as many for each, what is left over is not used, and at least one.
    #[schemars(range(min = 1, max = 65_535), extend("x-unit" = "superblocks"))]
    pub open_logs: u32,
    /// Columns that can be at chores (merges, copies, erases) while the host's next pages are taken in: 1 for firmware that
    /// finishes one thing before it begins the next.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 512), extend("x-unit" = "columns"))]
    pub merges_at_once: u32,
    /// Whether a page that is copied crosses the bus to be corrected, instead of staying within its die with its errors.
    #[serde(default = "yes")]
    pub corrects_copies: bool,
    /// Superblocks on as many dies of each channel that sequential data are striped over.
    #[schemars(range(min = 1, max = 64))]
    pub stripe_superblocks: u32,
    /// Groups of a stripe's superblocks that are written by turns: a group takes more once all that it was given has been
    /// programmed. Absent: each die takes a page as soon as it can.
    #[serde(default)]
    #[schemars(range(min = 1, max = 64))]
    pub banks: Option<u32>,
    /// After so many merges that copied pages, the stripe of superblocks that was erased least often moves to other blocks (static wear
    /// levelling). Absent: never.
    #[serde(default)]
    #[schemars(range(min = 1), extend("x-unit" = "merges"))]
    pub relocate_after_merges: Option<u32>,
}

impl LogBlockSpec {
    /// Log blocks with every key at its default, and superblocks that are not striped: `open_logs` logs of this scheme.
    #[must_use]
    pub fn plain(scheme: LogScheme, open_logs: u32) -> Self {
        LogBlockSpec {
            scheme,
            open_logs,
            merges_at_once: one(),
            corrects_copies: yes(),
            stripe_superblocks: 1,
            banks: None,
            relocate_after_merges: None,
        }
    }
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

/// How data get from the host to the block that they belong in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogScheme {
    /// A log belongs to one superblock, and begins as its replacement: what lies before the first page that the host writes
    /// to a die is copied when the write comes, on its die alone. Pages that then come in order have their places; the
    /// first that does not makes it a log that takes pages in any order. What it lacks is copied when it closes.
    Replacement,
    /// A log belongs to one superblock and takes its pages in any order (BAST).
    Bast,
    /// Logs take the pages of all superblocks of their dies in any order (FAST).
    Fast,
}
