//! The adapter's plug: it loses its power together with the drives behind it.
//!
//! Without a cache the drives keep what they keep. A cache without a battery is lost, and with it what was answered from it
//! and not written out; a FLUSH is answered once everything that was dirty before it is on the drives and they have been
//! flushed themselves, so that it keeps its promise. With a battery what is dirty survives, and is written out when the drives
//! are ready and the host is quiet; what was on its way to the drives is sent again. A FLUSH is answered at once then. It is as
//! good as the drives: what they had answered from caches of their own is lost all the same, if the adapter lets them have any
//! (`drive_write_cache`). What has survived a cut is not risked in them: it is forced to their media (FUA).

use serde::{Deserialize, Serialize};
use ssdlab_core::Nanos;
use ssdlab_device::{Destroyed, Device, Held, HostCounters, LoadError, Plug, Specimen};

use super::Adapter;
use super::cache::{Cache, SavedCache};
use super::spec::{AdapterSpec, adapter_keys};

/// Raised whenever what is saved changes its form.
const FORMAT: u32 = 1;

const HAS_PLUG: &str = "the device has a plug";

/// For tests: what a saved adapter is made of.
#[doc(hidden)]
#[derive(Serialize, Deserialize)]
pub struct SavedAdapter {
    specimen: Specimen,
    device: Vec<u8>,
    host: HostCounters,
    cache: Option<SavedCache>,
}

/// Which adapter it is: of what file. What is in its cache stands in lines, of which another one may have others.
pub fn specimen(name: &str, spec: &AdapterSpec) -> Specimen {
    Specimen::new(FORMAT, name, &adapter_keys().identity(spec), 0)
}

/// What an adapter has counted in its life, and the device behind it.
#[derive(Serialize, Deserialize)]
struct Totals {
    host: HostCounters,
    device: Vec<u8>,
}

fn totals_of(totals: &[u8]) -> Result<Totals, LoadError> {
    let totals: Totals = postcard::from_bytes(totals).map_err(|_| LoadError::OtherDrive)?;
    if totals.host.is_plausible() { Ok(totals) } else { Err(LoadError::Damaged) }
}

impl Adapter {
    fn inner(&self) -> &dyn Plug {
        self.device.plug_seen().expect(HAS_PLUG)
    }

    fn inner_mut(&mut self) -> &mut dyn Plug {
        self.device.plug().expect(HAS_PLUG)
    }

    /// From `ready` on the drives serve commands, and what the cache has kept is written out once it is time.
    fn settle(&mut self, ready: Nanos) {
        self.ready = ready;
        self.host.rest_until(ready);
        if let Some(cache) = &mut self.cache {
            cache.settle(self.device.plug_seen().expect(HAS_PLUG));
        }
        self.quiet_since(ready);
    }
}

impl Plug for Adapter {
    fn has_power(&self) -> bool {
        self.inner().has_power()
    }

    fn cut(&mut self, now: Nanos) {
        self.inner_mut().cut(now);
        if let Some(cache) = self.cache.as_mut().filter(|_| now >= self.ready) {
            cache.forget_mixed();
        }
        self.power_cut(now);
    }

    fn restore(&mut self, now: Nanos) -> Nanos {
        let ready = self.inner_mut().restore(now);
        self.host.set_now(self.host.now().max(now));
        self.settle(ready);
        ready
    }

    fn stand_by(&mut self, now: Nanos) -> Nanos {
        assert!(self.has_power(), "STANDBY IMMEDIATE needs power");
        let mut now = now.max(self.host.now());
        if let Some(cache) = &mut self.cache {
            cache.stand_by(true);
            self.host.wake_at(now.max(self.ready));
        }
        let mut done = Vec::new();
        while self.cache.as_ref().is_some_and(|cache| !cache.is_settled()) {
            now = self.next_event().expect("what is dirty is written out").max(now);
            self.advance(now, &mut done);
        }
        self.cache.iter_mut().for_each(|cache| cache.stand_by(false));
        assert!(done.is_empty(), "STANDBY IMMEDIATE needs an adapter without commands under way");
        self.inner_mut().stand_by(now)
    }

    fn save(&self) -> Vec<u8> {
        let cache = self.cache.as_ref().and_then(Cache::save);
        let saved =
            SavedAdapter { specimen: self.specimen, device: self.inner().save(), host: *self.host.counters(), cache };
        postcard::to_stdvec(&saved).expect("a vector takes everything")
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        // What begins otherwise may be of any device.
        let (specimen, _) = postcard::take_from_bytes::<Specimen>(saved).map_err(|_| LoadError::OtherDrive)?;
        self.specimen.check(&specimen).map_err(|_| LoadError::OtherDrive)?;
        let saved: SavedAdapter = postcard::from_bytes(saved).map_err(|_| LoadError::Damaged)?;
        if !saved.host.is_plausible() {
            return Err(LoadError::Damaged);
        }
        self.inner_mut().load(&saved.device)?;
        self.host.take_over(saved.host);
        match (&mut self.cache, saved.cache) {
            (Some(cache), Some(saved)) => cache.load(saved, self.info.capacity_bytes)?,
            (None, None) => {}
            _ => return Err(LoadError::OtherDrive),
        }
        self.power_cut(0);
        Ok(())
    }

    fn unclean_shutdowns(&self) -> u64 {
        self.inner().unclean_shutdowns()
    }

    fn power_cycles(&self) -> u64 {
        self.inner().power_cycles()
    }

    fn time_powered(&self, now: Nanos) -> Nanos {
        self.inner().time_powered(now)
    }

    fn totals(&self, now: Nanos) -> Vec<u8> {
        let totals = Totals { host: *self.host.counters(), device: self.inner().totals(now) };
        postcard::to_stdvec(&totals).expect("a vector takes everything")
    }

    fn check_totals(&self, totals: &[u8]) -> Result<(), LoadError> {
        self.inner().check_totals(&totals_of(totals)?.device)
    }

    fn count_at_least(&mut self, totals: &[u8]) -> Result<(), LoadError> {
        let totals = totals_of(totals)?;
        self.inner_mut().count_at_least(&totals.device)?;
        let counted = *self.host.counters();
        self.host.take_over(counted.plus(&totals.host.beyond(&counted)));
        self.balance();
        Ok(())
    }

    fn held(&self, unit: u64) -> Held {
        let of_drives = self.inner().held(unit);
        self.cache.as_ref().map_or(of_drives, |cache| cache.held(unit, of_drives))
    }

    /// A cache counts the host's writes itself, and takes no trims.
    fn accepted(&self, unit: u64) -> Option<u8> {
        let counts = self.cache.as_ref().is_some_and(|cache| cache.kept().is_some());
        if counts { None } else { self.inner().accepted(unit) }
    }

    fn sectors(&self, unit: u64) -> [Held; 8] {
        match self.cache.as_ref().and_then(Cache::kept) {
            Some(kept) => kept.sectors(unit as u32).unwrap_or_else(|| [self.held(unit); 8]),
            None => self.inner().sectors(unit),
        }
    }

    /// Not with a battery before drives that may answer from caches of their own: a FLUSH does not reach these.
    fn keeps_flushes(&self) -> bool {
        !self.cache.as_ref().is_some_and(Cache::flushes_end_here) && self.inner().keeps_flushes()
    }

    fn destroyed(&self) -> Vec<Destroyed> {
        self.inner().destroyed()
    }

    fn unreadable(&self) -> Vec<u64> {
        let mut units = self.inner().unreadable();
        units.retain(|&unit| self.held(unit) == Held::Unreadable);
        units
    }

    fn greatest_write_number(&self) -> u8 {
        let kept = self.cache.as_ref().and_then(Cache::kept);
        kept.map_or_else(|| self.inner().greatest_write_number(), |kept| kept.greatest_write_number())
    }
}
