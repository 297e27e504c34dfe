//! One plug for all members: they lose their power at the same instant.
//!
//! Each member has kept what such a device keeps; of a request that touched several, some parts may be there and others not: a
//! stripe is half written. The device is ready when the last member is.

use serde::{Deserialize, Serialize};
use ssdlab_core::{Nanos, UNIT_BYTES};
use ssdlab_device::{Destroyed, Device, Held, HostCounters, LoadError, Plug};

use crate::joined::{Joined, Layout};

const HAVE_PLUGS: &str = "all members have a plug";

/// What a set keeps without power.
#[derive(Serialize, Deserialize)]
struct SavedSet {
    shape: Vec<u64>,
    host: HostCounters,
    members: Vec<Vec<u8>>,
}

/// What a set has counted in its life.
#[derive(Serialize, Deserialize)]
struct Totals {
    host: HostCounters,
    members: Vec<Vec<u8>>,
}

impl<L: Layout> Joined<L> {
    /// What the totals of this set say, of which each member would take its own.
    fn totals_of(&self, totals: &[u8]) -> Result<Totals, LoadError> {
        let totals: Totals = postcard::from_bytes(totals).map_err(|_| LoadError::Damaged)?;
        if totals.members.len() != self.members.len() || !totals.host.is_plausible() {
            return Err(LoadError::OtherSet);
        }
        self.plugs().zip(&totals.members).try_for_each(|(plug, totals)| plug.check_totals(totals))?;
        Ok(totals)
    }

    fn plugs(&self) -> impl Iterator<Item = &dyn Plug> {
        self.members.iter().map(|m| m.plug_seen().expect(HAVE_PLUGS))
    }

    fn plugs_mut(&mut self) -> impl Iterator<Item = &mut dyn Plug> {
        self.members.iter_mut().map(|m| m.plug().expect(HAVE_PLUGS))
    }

    /// The member that 4 KiB lie on, and which of its own they are.
    fn member_of(&self, unit: u64) -> (&dyn Plug, u64) {
        let offset_bytes = unit * UNIT_BYTES;
        let length_bytes = UNIT_BYTES.min(self.info().capacity_bytes - offset_bytes);
        let extent = self.layout.extents(offset_bytes, length_bytes).next().expect("they lie somewhere");
        (self.members[extent.member].plug_seen().expect(HAVE_PLUGS), extent.offset_bytes / UNIT_BYTES)
    }

    /// Which 4 KiB some of a member are; `None`: nobody's.
    fn unit_of(&self, member: usize, unit: u64) -> Option<u64> {
        let offset_bytes = self.layout.place_of(member, unit * UNIT_BYTES)?;
        (offset_bytes < self.info().capacity_bytes).then_some(offset_bytes / UNIT_BYTES)
    }
}

impl<L: Layout> Plug for Joined<L> {
    fn has_power(&self) -> bool {
        !self.plug.out
    }

    fn cut(&mut self, now: Nanos) {
        assert!(!self.plug.out, "the power is off already");
        self.plugs_mut().for_each(|plug| plug.cut(now));
        self.plug.out = true;
        self.power_cut(now);
        self.look_for_events();
    }

    fn restore(&mut self, now: Nanos) -> Nanos {
        assert!(self.plug.out, "the power is on already");
        let ready = self.plugs_mut().map(|plug| plug.restore(now)).max().unwrap_or(now);
        self.plug.out = false;
        self.look_for_events();
        ready
    }

    fn stand_by(&mut self, now: Nanos) -> Nanos {
        assert!(!self.has_commands(), "STANDBY IMMEDIATE needs devices without commands under way");
        let done = self.plugs_mut().map(|plug| plug.stand_by(now)).max().unwrap_or(now);
        self.look_for_events();
        done
    }

    fn save(&self) -> Vec<u8> {
        let members = self.plugs().map(|plug| plug.save()).collect();
        let saved = SavedSet { shape: self.layout.shape(), host: self.host, members };
        postcard::to_stdvec(&saved).expect("a vector takes everything")
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        let saved: SavedSet = postcard::from_bytes(saved).map_err(|_| LoadError::OtherSet)?;
        if saved.members.len() != self.members.len() || saved.shape != self.layout.shape() {
            return Err(LoadError::OtherSet);
        }
        if !saved.host.is_plausible() {
            return Err(LoadError::Damaged);
        }
        self.plugs_mut().zip(&saved.members).try_for_each(|(plug, saved)| plug.load(saved))?;
        self.host = saved.host;
        self.plug.out = true;
        self.power_cut(0);
        self.look_for_events();
        Ok(())
    }

    /// Of the member that has counted most.
    fn unclean_shutdowns(&self) -> u64 {
        self.plugs().map(|plug| plug.unclean_shutdowns()).max().unwrap_or(0)
    }

    fn power_cycles(&self) -> u64 {
        self.plugs().map(|plug| plug.power_cycles()).max().unwrap_or(0)
    }

    fn time_powered(&self, now: Nanos) -> Nanos {
        self.plugs().map(|plug| plug.time_powered(now)).max().unwrap_or(0)
    }

    fn totals(&self, now: Nanos) -> Vec<u8> {
        let totals = Totals { host: self.host, members: self.plugs().map(|plug| plug.totals(now)).collect() };
        postcard::to_stdvec(&totals).expect("a vector takes everything")
    }

    fn check_totals(&self, totals: &[u8]) -> Result<(), LoadError> {
        self.totals_of(totals).map(drop)
    }

    fn count_at_least(&mut self, totals: &[u8]) -> Result<(), LoadError> {
        // Of all members, before any of them changes.
        let totals = self.totals_of(totals)?;
        let before = self.members_host();
        self.plugs_mut().zip(&totals.members).try_for_each(|(plug, totals)| plug.count_at_least(totals))?;
        self.members_had_counted(&before);
        self.host = self.host.plus(&totals.host.beyond(&self.host));
        Ok(())
    }

    fn held(&self, unit: u64) -> Held {
        let (plug, unit) = self.member_of(unit);
        plug.held(unit)
    }

    fn accepted(&self, unit: u64) -> Option<u8> {
        let (plug, unit) = self.member_of(unit);
        plug.accepted(unit)
    }

    fn sectors(&self, unit: u64) -> [Held; 8] {
        let (plug, unit) = self.member_of(unit);
        plug.sectors(unit)
    }

    fn keeps_flushes(&self) -> bool {
        self.plugs().all(|plug| plug.keeps_flushes())
    }

    fn destroyed(&self) -> Vec<Destroyed> {
        let of_member = |(member, plug): (usize, &dyn Plug)| -> Vec<Destroyed> {
            let place = |d: Destroyed| Some(Destroyed { unit: self.unit_of(member, d.unit)?, ..d });
            plug.destroyed().into_iter().filter_map(place).collect()
        };
        self.plugs().enumerate().flat_map(of_member).collect()
    }

    fn unreadable(&self) -> Vec<u64> {
        let of_member = |(member, plug): (usize, &dyn Plug)| -> Vec<u64> {
            plug.unreadable().into_iter().filter_map(|unit| self.unit_of(member, unit)).collect()
        };
        self.plugs().enumerate().flat_map(of_member).collect()
    }

    fn greatest_write_number(&self) -> u8 {
        self.plug.greatest.expect(HAVE_PLUGS)
    }
}
