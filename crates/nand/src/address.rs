//! How units and blocks of flash are named; what the names come from is in `layout.rs`.

use ssdlab_core::number_type;

/// Physical address of a unit.
pub type UnitAddress = u32;

number_type! {
    /// A multi-plane block: die x blocks + index.
    pub struct BlockId;
}
