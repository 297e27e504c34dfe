//! The security commands of the drive.

use ssdlab_core::Nanos;
use ssdlab_device::Security;
use ssdlab_ftl::Translation;

use crate::SimulatedSsd;

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> Security for SimulatedSsd<EXPLAIN, CHECK, T> {
    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        assert!(self.frontend.in_flight.is_none(), "SECURITY ERASE UNIT needs a drive without commands under way");
        // What is under way inside ends first.
        self.wake_from_idle(now);
        self.now = self.now.max(now);
        self.finish_inside();
        let at = self.now;
        if self.translation.is_read_only() {
            return at;
        }
        let erased_before = self.translation.counters().block_erases;
        let blocks = self.translation.secure_erase();
        let erased = (self.translation.counters().block_erases - erased_before)
            / u64::from(self.translation.medium().layout().planes);
        self.backend.count_erases(erased);
        self.frontend.read_ahead.clear();
        let all = 0..self.translation.logical_pages();
        self.probe.check(|checks| checks.forget(all.clone()));
        self.forgive_lost(all);
        let ready = at + u64::from(blocks) * self.backend.erase_time();
        self.firmware.idle.begin_empty(ready);
        self.now = ready;
        self.firmware.processor.rest_until(ready);
        if self.frontend.link_sleep.is_watched() {
            self.frontend.link_sleep.rest(ready, true);
        }
        ready
    }
}
