//! Which units of a row that is read somebody wants: only these are corrected, and can be lost.

use std::collections::VecDeque;

use ssdlab_ftl::{FlashOp, Ftl, OpKind, Place};
use ssdlab_nand::UnitAddress;

/// By die: the units that the reads for the host want which have not begun yet, in order. One bit each, by the last six
/// bits of the address: what was read when the operation was put together, whatever has become of it since.
#[derive(Clone, Debug)]
pub struct Wanted(Vec<VecDeque<u64>>);

impl Wanted {
    pub fn new(dies: u32) -> Self {
        Wanted(vec![VecDeque::new(); dies as usize])
    }

    /// A read for the host goes to a die, behind those that it has already.
    #[inline]
    pub fn expect(&mut self, die: u8, units: u64) {
        self.0[die as usize].push_back(units);
    }

    /// A read begins: what it wants, if it is for the host.
    #[inline]
    pub fn begins(&mut self, op: &FlashOp) -> Option<u64> {
        match op.kind {
            OpKind::HostRead | OpKind::MergeRead => self.0[op.die as usize].pop_front(),
            _ => None,
        }
    }
}

/// Whether a unit that is read holds what its logical page has last been given.
pub fn is_current(op: &FlashOp, unit: UnitAddress, ftl: &Ftl) -> bool {
    let lpn = ftl.medium().lpn(unit);
    // Padding and the firmware's own rows are nobody's.
    let Place::Flash(at) = (if lpn < ftl.logical_pages() { ftl.place(lpn) } else { Place::Unmapped }) else {
        return false;
    };
    if op.kind != OpKind::RetireRead {
        return at == unit;
    }
    // What a failed block holds has moved on paper before it is read.
    let layout = ftl.medium().layout();
    at == layout.row_start(op.ready, 0) + (unit - layout.row_start(op.block, 0))
}

/// The units of one row of a read that are wanted: as the host's read said when it was put together, or those that are
/// current.
pub fn units_read(op: &FlashOp, row: u32, wanted: Option<u64>, ftl: &Ftl) -> Vec<UnitAddress> {
    let layout = ftl.medium().layout();
    let start = layout.row_start(op.block, u32::from(op.page) + row);
    let units = start..start + layout.row_units;
    match wanted {
        Some(wanted) => units.filter(|unit| wanted >> (unit & 63) & 1 != 0).collect(),
        None => units.filter(|&unit| is_current(op, unit, ftl)).collect(),
    }
}
