//! Which units of a superpage the host asked for: only these are corrected, and only these can be reported lost.

use std::collections::VecDeque;

use ssdlab_ftl::{FlashOp, OpKind, Translation};
use ssdlab_nand::{DieId, UnitAddress};

/// For each die, one bit mask per queued host read: which units of the superpage the host asked for, one bit each by the
/// last six bits of the address. A mask is fixed when the read is queued, even if the data move before it starts.
#[derive(Clone, Debug)]
pub struct HostReadMasks(Vec<VecDeque<u64>>);

impl HostReadMasks {
    #[must_use]
    pub fn new(dies: u32) -> Self {
        HostReadMasks(vec![VecDeque::new(); dies as usize])
    }

    /// A read for the host is queued on a die, behind those that it has already.
    #[inline]
    pub fn queue(&mut self, die: DieId, units: u64) {
        self.0[die.index()].push_back(units);
    }

    /// A read begins: what it wants, if it is for the host.
    #[inline]
    pub fn begin(&mut self, die: DieId, op: &FlashOp) -> Option<u64> {
        match op.kind() {
            OpKind::HostRead | OpKind::MergeRead => self.0[die.index()].pop_front(),
            _ => None,
        }
    }
}

/// The units of one row of a read that are wanted: as the host's read said when it was queued, or those that are current.
pub fn units_read(op: &FlashOp, row: u32, mask: Option<u64>, translation: &impl Translation) -> Vec<UnitAddress> {
    let layout = translation.medium().layout();
    let start = layout.row_start(op.block(), op.page() + row);
    let units = start.run(layout.row_units);
    match mask {
        Some(mask) => units.filter(|unit| mask >> unit.bit() & 1 != 0).collect(),
        None => units.filter(|&unit| translation.is_current(op, unit)).collect(),
    }
}
