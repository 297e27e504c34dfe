//! What a die can do beside plain operations, and how its cycles use the channel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Absent features are not there: a die works on one operation at a time to its end, each page crosses the channel once, and
/// command cycles take time without occupying the channel (`bus.command_us`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-heading" = "Die features"))]
pub struct Features {
    /// How often the data of a page cross the channel to be programmed in the die's own mode: planar cells of three bits are
    /// programmed in several passes, each of which takes all pages of the word line.
    #[schemars(range(min = 1, max = 4))]
    pub program_passes: u32,
    /// Cache read: the array senses the host's next page while the last one leaves by a second register. This is what it
    /// takes to hand a page from one register to the other. No effect where host reads do not go first
    /// (`controller.reads_first`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub cache_read_busy_us: Option<f64>,
    /// Cache program: the data of the die's next program cross the channel into a second register while the array programs,
    /// unless a read of the host's waits for the die, or other dies for their turn to program. This is what it takes to hand
    /// them over once the array is through (tCBSY less what is left of the program). Only where rows are of all planes
    /// (`mapping.row`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub cache_program_busy_us: Option<f64>,
    /// Each plane reads a page for the host by itself, whatever the others read (independent plane reads). All else, reads of
    /// collectors and of the map included, takes the die as a whole. No effect on dies of one plane, and where host reads do not go
    /// first (`controller.reads_first`) or data are compressed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub independent_plane_reads: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<BusCycles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<Suspend>,
}

impl Default for Features {
    fn default() -> Self {
        Features {
            program_passes: 1,
            cache_read_busy_us: None,
            cache_program_busy_us: None,
            independent_plane_reads: false,
            cycles: None,
            suspend: None,
        }
    }
}

impl Features {
    pub(crate) fn is_plain(&self) -> bool {
        *self == Features::default()
    }
}

/// How long command, address and status cycles occupy the channel, in place of `bus.command_us`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Cycles on the channel"))]
pub struct BusCycles {
    /// Command and addresses of a read, of all planes.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub read_us: f64,
    /// What comes before the data of a read.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub data_out_us: f64,
    /// Command and addresses of a program, of all planes.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub program_us: f64,
    /// Command and addresses of an erase.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub erase_us: f64,
}

/// Programs and erases are interrupted for the host's reads, and go on afterwards. No effect where host reads do not go first
/// (`controller.reads_first`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Suspend"))]
pub struct Suspend {
    /// From the command until a read may begin, of a program; absent: programs are not interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub program_us: Option<f64>,
    /// The same of an erase; absent: erases are not interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub erase_us: Option<f64>,
    /// What an operation that goes on takes longer.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub resume_us: f64,
    /// How often one operation is interrupted at most.
    #[schemars(range(min = 1, max = 1000), extend("x-unit" = "times"))]
    pub most_per_operation: u32,
    /// How long an operation works at least before it is interrupted, and between two interruptions.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub least_progress_us: f64,
}
