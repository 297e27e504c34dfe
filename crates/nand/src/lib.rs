//! The medium: cells, pages, blocks, planes and dies; program order, erases, wear, and what each page holds.
//!
//! It is the referee: an operation that a die's rules forbid is a typed [`Violation`], never silently done. It knows
//! no logical map and no clock; addresses in spare areas are numbers that it keeps and gives back.
//!
//! Limits: 31-bit unit addresses (8 TiB of flash), rows of at most 64 units of 4 KiB, one and two bits per cell.

mod faults;
mod layout;
mod medium;
pub mod memory;
mod spec;
mod violation;

pub use faults::GrowingFaults;
pub use layout::{BlockId, Layout, UnitAddress};
pub use medium::{Medium, NO_LPN, Outcome, PageAddress, Row, TagFormat};
pub use spec::{Bus, DieSpec, Geometry, PageOrder, SpecError, Timing, Wear};
pub use violation::{PairingRule, Violation};
