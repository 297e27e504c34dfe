//! Firmware that recovers wrongly, for tests that must find out.

use ssdlab_nand::{CellMode, LogicalPage, SequenceNumber};

use crate::log_block::LogBlock;
use crate::log_block::superblocks::{Place, Use};

/// What firmware that translates by blocks does wrong with what it has on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogBlockFault {
    /// The table of blocks names what is being merged into as the data while pages are still being copied there.
    BelievesMergeTooEarly,
    /// Data that a log has taken the place of are forgotten while the host's last pages in it are still under way.
    ForgetsReplacedData,
    /// Of the logs, the first is not looked into.
    SkipsLog,
    /// Of two copies of a page the one in the data counts, however old it is.
    IgnoresSequence,
    /// A copy that the cut has destroyed is passed over as if it had never been: an older one comes back.
    HidesDestroyed,
    /// What earlier recoveries have noted as lost is forgotten.
    ForgetsLost,
    /// The erase point of a crypto erase is forgotten: what was there before comes back.
    ForgetsErasePoint,
}

impl LogBlock {
    /// For tests of tests: firmware that recovers wrongly.
    pub fn break_recovery(&mut self, fault: LogBlockFault) {
        self.fault = Some(fault);
    }

    /// At the cut: what a wrong table of blocks says.
    pub(in crate::log_block) fn spoil_table(&mut self) {
        match self.fault {
            Some(LogBlockFault::BelievesMergeTooEarly) => {
                let installs: Vec<(u32, Place)> = self.chores.installs_under_way().collect();
                for (superblock, place) in installs {
                    self.superblocks.set_use(place, Use::Data);
                    if let Some(old) = self.data[superblock as usize].replace(place) {
                        self.superblocks.set_use(old, Use::None);
                    }
                }
            }
            Some(LogBlockFault::ForgetsReplacedData) => {
                let erased: Vec<Place> = self.chores.erases_under_way().collect();
                erased.into_iter().for_each(|place| self.superblocks.set_use(place, Use::None));
            }
            _ => {}
        }
    }

    /// At the recovery: what a wrong one makes of copies that were found destroyed.
    pub(super) fn spoil_found(&self, destroyed: &mut Vec<(LogicalPage, SequenceNumber, CellMode)>) {
        if self.fault == Some(LogBlockFault::HidesDestroyed) {
            destroyed.clear();
        }
    }

    /// And of what was noted before.
    pub(super) fn spoil_noted(&mut self) {
        match self.fault {
            Some(LogBlockFault::ForgetsLost) => self.recovery.lost.clear(),
            Some(LogBlockFault::ForgetsErasePoint) => self.recovery.void_before = None,
            _ => {}
        }
    }
}
