//! The drive's own books: what the host wrote against what the flash would return, and Little's law.

use ssdlab_ftl::Place;

use super::SimulatedSsd;

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    pub(super) fn check_own_books(&self) -> Result<(), String> {
        if self.in_flight == 0 && self.in_flight_time != self.latency_sum {
            return Err(format!(
                "Little's law: commands spent {} ns in the drive, but their latencies sum to {} ns",
                self.in_flight_time, self.latency_sum
            ));
        }
        for lpn in 0..self.written.len() as u32 {
            let expected = self.written[lpn as usize];
            let found = self.ftl.generation(lpn).unwrap_or(0);
            if found != expected {
                return Err(format!("page {lpn}: the host's last write was number {expected}, the drive has {found}"));
            }
        }
        if let Some(lpn) = self.lost_pages().into_iter().find(|&lpn| self.ftl.place(lpn) == Place::Unmapped) {
            return Err(format!("page {lpn} counts as lost, but the host has nothing there"));
        }
        let kept = self.ftl.counters().host_units + u64::from(self.ftl.waiting_units());
        if kept != self.ftl.accepted_units() {
            return Err(format!("{} units were accepted, {kept} are accounted for", self.ftl.accepted_units()));
        }
        Ok(())
    }
}
