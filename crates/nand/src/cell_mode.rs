//! How many bits a block's cells hold, and what a die file says of its reduced modes and of its power.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bits per cell of a block between two erases.
///
/// A die has one mode of its own, the most bits that its cells hold; blocks of many dies can also run with fewer. Such
/// a block has fewer pages, programs faster and lasts longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum CellMode {
    /// One bit per cell; on a die whose cells can hold more, pseudo-SLC.
    Slc,
    /// Two bits per cell.
    Mlc,
    /// Three bits per cell.
    Tlc,
    /// Four bits per cell.
    Qlc,
}

impl CellMode {
    pub const ALL: [CellMode; CellMode::COUNT] = [CellMode::Slc, CellMode::Mlc, CellMode::Tlc, CellMode::Qlc];

    /// How many there are; also how many kinds of pages a word line has at most.
    pub const COUNT: usize = 4;

    #[must_use]
    pub fn bits(self) -> u32 {
        self as u32 + 1
    }

    /// The mode of `bits` bits per cell, 1 to 4.
    #[must_use]
    pub fn from_bits(bits: u32) -> Option<Self> {
        CellMode::ALL.into_iter().find(|m| m.bits() == bits)
    }

    /// For tables with an entry a mode.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }
}

impl std::fmt::Display for CellMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CellMode::Slc => "SLC",
            CellMode::Mlc => "MLC",
            CellMode::Tlc => "TLC",
            CellMode::Qlc => "QLC",
        })
    }
}

/// The modes with fewer bits per cell than the die's own in which its blocks can run: `[modes.slc]`, `[modes.mlc]`,
/// `[modes.tlc]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Reduced cell modes"))]
pub struct CellModes {
    /// One bit per cell (pseudo-SLC), on a die of two or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-heading" = "Die as pseudo-SLC"))]
    pub slc: Option<ReducedMode>,
    /// Two bits per cell, on a die of three or four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-heading" = "Die at two bits a cell"))]
    pub mlc: Option<ReducedMode>,
    /// Three bits per cell, on a die of four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-heading" = "Die at three bits a cell"))]
    pub tlc: Option<ReducedMode>,
}

impl CellModes {
    /// Dies that offer their own mode only.
    pub(crate) fn is_empty(&self) -> bool {
        self.slc.is_none() && self.mlc.is_none() && self.tlc.is_none()
    }
}

/// A mode with fewer bits per cell than the die's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Reduced cell mode"))]
pub struct ReducedMode {
    /// tR by kind of page: one value for SLC, lower and upper for MLC, LSB, CSB and MSB for TLC.
    #[schemars(inner(range(min = 0.0, max = 1e6)))]
    pub read_us: Vec<f64>,
    /// tPROG by kind of page.
    #[schemars(inner(range(min = 0.0, max = 1e6)))]
    pub program_us: Vec<f64>,
    /// tBERS of a block that was written in this mode.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub erase_ms: f64,
    /// Rated endurance of a block that always runs in this mode.
    #[schemars(range(min = 1, max = 10_000_000), extend("x-heading" = "rated program/erase", "x-unit" = "cycles"))]
    pub rated_program_erase_cycles: u32,
}

/// Supply and currents of a die: the energy of an operation is voltage times current times its array time. Absent:
/// operations need no energy (ideal dies).
///
/// Currents are those of the whole die while the operation runs on all of its planes, the same for every page kind; reads and
/// erases draw the same in every cell mode. The transfer over the bus is not part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Die power"))]
pub struct Power {
    /// Supply of the array.
    #[schemars(range(min = 0.0, max = 20.0))]
    pub supply_v: f64,
    /// Current of the die while it reads.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub read_current_ma: f64,
    /// Current of the die while it programs.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub program_current_ma: f64,
    /// The same of a block with fewer bits per cell than the die's own: fewer pulses of a lower voltage. Absent: as much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e4))]
    pub reduced_program_current_ma: Option<f64>,
    /// Current of the die while it erases.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub erase_current_ma: f64,
    /// Of these currents, what an operation on one plane alone draws: pumps and control run for one plane as for all, bit
    /// lines are charged by plane. In between, each further plane adds as much. Absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub one_plane_percent: Option<f64>,
    /// Current of a die that is powered and does nothing.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub standby_current_ua: f64,
}

impl Power {
    /// Current of the die while it programs a block of its own cell mode, or of one with fewer bits.
    #[must_use]
    pub fn program_ma(&self, own_mode: bool) -> f64 {
        self.reduced_program_current_ma.filter(|_| !own_mode).unwrap_or(self.program_current_ma)
    }

    /// What an operation on `busy` of the die's planes draws of the current on all of them.
    #[must_use]
    pub fn share_of_planes(&self, busy: u32, planes: u32) -> f64 {
        let one = self.one_plane_percent.map_or(1.0, |percent| percent / 100.0);
        if busy >= planes { 1.0 } else { one + (1.0 - one) * f64::from(busy - 1) / f64::from(planes - 1) }
    }
}
