//! The disk behind the face of everything whose plug can be pulled: see `plug.rs`.

use ssdlab_core::Nanos;
use ssdlab_device::{Held, LoadError, Plug};

use crate::disk::Disk;

fn unit_of(unit: u64) -> u32 {
    u32::try_from(unit).expect("a unit of the disk")
}

impl Plug for Disk {
    fn has_power(&self) -> bool {
        self.plug.has_power()
    }

    fn cut(&mut self, now: Nanos) {
        assert!(self.plug.has_power(), "the power is off already");
        let idle = !self.has_commands();
        let (lost, written) = self.power_cut(now);
        self.plug.cut(now, idle, &lost, &written);
    }

    fn restore(&mut self, now: Nanos) -> Nanos {
        assert!(!self.plug.has_power(), "the power is on already");
        let ready = now + self.mechanics.spin_up;
        self.plug.restore(now, ready);
        self.power_up(now, ready);
        ready
    }

    fn stand_by(&mut self, now: Nanos) -> Nanos {
        assert!(self.plug.has_power(), "STANDBY IMMEDIATE needs power");
        assert!(!self.has_commands(), "STANDBY IMMEDIATE needs a disk without commands under way");
        let now = self.write_all(now.max(self.plug.ready()));
        self.plug.stands_by();
        now
    }

    fn save(&self) -> Vec<u8> {
        assert!(!self.plug.has_power(), "a disk is saved while its power is off");
        self.plug.save(self.host, self.now)
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        assert!(self.now == 0 && self.plug.has_power(), "a disk that has worked cannot become another one");
        self.host = self.plug.load(saved)?;
        Ok(())
    }

    fn unclean_shutdowns(&self) -> u64 {
        self.plug.unclean()
    }

    fn power_cycles(&self) -> u64 {
        self.plug.cycles()
    }

    fn time_powered(&self, now: Nanos) -> Nanos {
        self.plug.time_powered_in_all(now)
    }

    fn totals(&self, now: Nanos) -> Vec<u8> {
        self.plug.totals(self.host, now)
    }

    fn check_totals(&self, totals: &[u8]) -> Result<(), LoadError> {
        self.plug.totals_of(totals).map(drop)
    }

    fn count_at_least(&mut self, totals: &[u8]) -> Result<(), LoadError> {
        let host = self.plug.count_at_least(totals, self.now)?;
        self.host = self.host.plus(&host.beyond(&self.host));
        Ok(())
    }

    fn held(&self, unit: u64) -> Held {
        self.plug.held(unit_of(unit))
    }

    fn sectors(&self, unit: u64) -> [Held; 8] {
        self.plug.sectors(unit_of(unit)).unwrap_or_else(|| [self.held(unit); 8])
    }

    fn greatest_write_number(&self) -> u8 {
        self.plug.greatest_write_number()
    }
}
