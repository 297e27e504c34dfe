//! What looks on while a drive works: where the time of every command goes ([`Explanations`]), and whether everything is
//! as it should be ([`Checks`]).
//!
//! Nothing in here changes what a drive does. A drive without explanations or checks is compiled without them: a probe
//! that is off costs nothing.

mod check;
mod explain;
mod record;

use ssdlab_core::{Breakdown, Nanos};
use ssdlab_nand::{DieSpec, LogicalPage};

use crate::die_parts::DieParts;
use crate::slot::Slot;
use crate::spec::DriveSpec;

pub use check::Checks;
pub use explain::Explanations;
pub use record::{Details, Records};

/// See the module's own page. `EXPLAIN`: completions carry their breakdown. `CHECK`: reads, flash operations and
/// transfers on the link are checked.
#[derive(Clone, Debug)]
pub struct Probe<const EXPLAIN: bool, const CHECK: bool> {
    explanations: Explanations,
    checks: Checks,
}

impl<const EXPLAIN: bool, const CHECK: bool> Probe<EXPLAIN, CHECK> {
    /// `max_write_number`: the greatest number of a write before it begins again at 1.
    #[must_use]
    pub fn new(drive: &DriveSpec, die: &DieSpec, logical_pages: u32, max_write_number: u8) -> Self {
        let checked_pages = if CHECK { logical_pages } else { 0 };
        Probe {
            explanations: Explanations::new(drive.controller.queue_depth, DieParts::of(drive, die)),
            checks: Checks::new(drive, die, checked_pages, max_write_number),
        }
    }

    /// Notes where time goes.
    #[inline(always)]
    pub fn explain(&mut self, note: impl FnOnce(&mut Explanations)) {
        if EXPLAIN {
            note(&mut self.explanations);
        }
    }

    /// Checks something.
    #[inline(always)]
    pub fn check(&mut self, check: impl FnOnce(&mut Checks)) {
        if CHECK {
            check(&mut self.checks);
        }
    }

    /// Tells where the time of the command in a slot has gone.
    #[inline]
    pub fn tell(&self, slot: Slot, breakdown: &mut Breakdown) {
        self.explanations.tell(slot, breakdown);
    }

    /// The number of the host's last write of a page, where reads are checked; 0: it holds nothing.
    #[inline]
    #[must_use]
    pub fn last_write(&self, page: LogicalPage) -> Option<u8> {
        CHECK.then(|| self.checks.last_write(page))
    }

    /// One more write of a page; returns its number, or 0 from a drive that does not check.
    #[inline]
    pub fn count_write(&mut self, page: LogicalPage) -> u8 {
        if CHECK { self.checks.count_write(page) } else { 0 }
    }

    /// What is kept of what the parts did, where that is asked for.
    #[must_use]
    pub fn records(&self) -> Option<&Records> {
        self.explanations.records()
    }

    /// The power is gone: no die and no wire is busy.
    pub fn power_cut(&mut self, now: Nanos) {
        self.explanations.power_cut(now);
        self.checks.power_cut();
    }

    /// What is checked at the end of a run as well.
    #[must_use]
    pub fn checks(&self) -> &Checks {
        &self.checks
    }
}
