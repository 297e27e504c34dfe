//! The medium: cells, pages, blocks, planes and dies; program order, erases, wear, and what each page holds.
//!
//! It is the referee: an operation that a die's rules forbid is a typed [`Violation`], never silently done. It knows
//! no logical map and no clock; addresses in spare areas are numbers that it keeps and gives back.
//!
//! Any block can run at fewer bits per cell than its die's own, where the die offers it ([`CellMode`]); each block
//! keeps its [`BlockHistory`], from which errors can be told.
//!
//! Pulling the plug is one of its operations ([`Medium::cut_power`]): what a die was at is torn, what was only queued never
//! happened, and older pages of the same word line may be destroyed.
//!
//! Limits: 31-bit unit addresses (8 TiB of flash in units of 4 KiB, 64 TiB in units of 32), rows of at most 64 units, one to four bits per cell.

mod address;
mod cell_mode;
mod damage;
mod die_modes;
mod faults;
mod features;
mod history;
mod layout;
mod medium;
pub mod memory;
mod page_order;
mod plain;
mod plane_block;
mod power_cut;
pub mod rber;
mod saved;
mod sequence;
mod spec;
mod variation;
mod violation;
mod word_lines;

pub use address::{BlockId, DieId, Dies, LogicalPage, LogicalPages, UnitAddress};
pub use cell_mode::{CellMode, CellModes, Power, ReducedMode};
pub use damage::{Cut, Interrupted};
pub use die_modes::ModeSpec;
pub use faults::GrowingFaults;
pub use features::{BusCycles, Features, Suspend};
pub use history::{BlockHistory, MOST_PLANES};
pub use layout::{Layout, planes_sensed};
pub use medium::{EMPTY_TAG, Medium, Outcome, PageAddress, PageState, Row, TagFormat};
pub use page_order::PageOrder;
pub use saved::{MisfitError, SavedMedium};
pub use sequence::{SequenceNumber, SequenceTable};
pub use spec::{Bus, DieSpec, Geometry, Timing, Wear, die_keys};
pub use ssdlab_keys::SpecError;
pub use variation::{Slowest, Variation, VariationSpec, WHOLE};
pub use violation::{PairingRule, Violation};
