//! What a flash die refuses to do.

use thiserror::Error;

use crate::CellMode;
use crate::address::DieId;

/// An operation that the die's rules forbid. Firmware that causes one is wrong; the medium never does it silently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    #[error("die {die} block {block}: page {page} programmed out of order, page {expected} is next")]
    ProgramOrder { die: DieId, block: u32, page: u32, expected: u32 },
    #[error("die {die} block {block}: page {page} programmed again without an erase")]
    ProgramTwice { die: DieId, block: u32, page: u32 },
    #[error("die {die} block {block}: page {page} read before it was programmed")]
    ReadUnwritten { die: DieId, block: u32, page: u32 },
    #[error("die {die} block {block}: erased while page {page} is still being programmed")]
    EraseDuringProgram { die: DieId, block: u32, page: u32 },
    #[error("die {die} block {block}: an erase of it was cut short; erase it again")]
    HalfErased { die: DieId, block: u32 },
    #[error("die {die} block {block} is marked bad")]
    BadBlock { die: DieId, block: u32 },
    #[error("planes {first} and {second} of one operation: {why}")]
    PlanePairing { first: u32, second: u32, why: PairingRule },
    #[error("die {die} block {block} page {page} does not exist")]
    NoSuchPage { die: DieId, block: u32, page: u32 },
    #[error("die {die} block {block}: these dies do not run blocks in {mode} mode")]
    NoSuchMode { die: DieId, block: u32, mode: CellMode },
    #[error("die {die} block {block}: opened in {wanted} mode while it holds pages in {mode} mode; erase it first")]
    OpenWithoutErase { die: DieId, block: u32, mode: CellMode, wanted: CellMode },
}

/// The rules of multi-plane operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairingRule {
    DifferentDies,
    DifferentPages,
    DifferentModes,
    SamePlane,
}

impl std::fmt::Display for PairingRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PairingRule::DifferentDies => "they must belong to one die",
            PairingRule::DifferentPages => "their page numbers must be equal",
            PairingRule::DifferentModes => "their blocks must run at the same number of bits per cell",
            PairingRule::SamePlane => "each plane can take part once",
        })
    }
}
