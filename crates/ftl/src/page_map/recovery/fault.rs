//! Firmware that recovers wrongly, or prepares for it wrongly, for tests that must find out.

use ssdlab_nand::{LogicalPage, SequenceNumber};
use std::ops::Range;

use crate::page_map::metadata_log::TrimTable;

/// What a recovery does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryFault {
    /// A checkpoint is believed that was written before the rows that it speaks of were on flash.
    BelievesCheckpointTooEarly,
    /// The journal row that was written last is passed over.
    SkipsJournalRow,
    /// Of the trims, the one with the lowest address is forgotten.
    ForgetsTrim,
    /// The erase point of a crypto erase is forgotten: what was there before comes back.
    ForgetsErasePoint,
    /// Copies of older pages, and parity, are not looked at.
    ForgetsCopies,
    /// A flush, or an erase, does not wait until anything is closed in: nothing is padded.
    PadsNothing,
    /// Programs that endanger older pages go out without parity of these.
    SkipsParity,
    /// A copy of an older page counts as newer than anything else, whatever its number.
    BelievesOldCopies,
}

impl RecoveryFault {
    /// Whether it passes over a trim of these pages.
    pub(super) fn forgets_trim(
        self,
        pages: &Range<LogicalPage>,
        before_row: SequenceNumber,
        table: &TrimTable,
    ) -> bool {
        match self {
            RecoveryFault::BelievesCheckpointTooEarly
            | RecoveryFault::ForgetsErasePoint
            | RecoveryFault::ForgetsCopies
            | RecoveryFault::PadsNothing
            | RecoveryFault::SkipsParity
            | RecoveryFault::BelievesOldCopies => false,
            RecoveryFault::SkipsJournalRow => table.last_row().iter().any(|trim| trim.before_row == before_row),
            RecoveryFault::ForgetsTrim => table.ranges().next().is_some_and(|first| first.0 == *pages),
        }
    }
}
