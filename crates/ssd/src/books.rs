//! The drive's own books: what the host wrote against what the flash would return, and Little's law.

use ssdlab_ftl::{Source, Translation};

use crate::SimulatedSsd;

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    pub(super) fn check_own_books(&self) -> Result<(), String> {
        self.frontend.in_flight.check()?;
        for (page, expected) in self.probe.checks().last_writes() {
            let found = self.translation.write_number(page).unwrap_or(0);
            if found != expected {
                return Err(format!("page {page}: the host's last write was number {expected}, the drive has {found}"));
            }
        }
        if let Some(page) =
            self.lost_pages().into_iter().find(|&page| self.translation.source(page) == Source::Unmapped)
        {
            return Err(format!("page {page} counts as lost, but the host has nothing there"));
        }
        if let Some(page) = self.plug.lost().find(|&page| self.translation.source(page) != Source::Unmapped) {
            return Err(format!("page {page} counts as destroyed by a power cut, but the drive has something there"));
        }
        let kept = self.translation.counters().host_units + u64::from(self.translation.waiting_units());
        if kept != self.translation.accepted_units() {
            return Err(format!("{} units were accepted, {kept} are accounted for", self.translation.accepted_units()));
        }
        Ok(())
    }
}
