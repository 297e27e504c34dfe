//! The adapter's plug: it loses its power together with the drives behind it.
//!
//! Without a cache the drives keep what they keep. A cache without a battery is lost, and with it what was answered from it
//! and not written out; a FLUSH is answered once everything that was dirty before it is on the drives and they have been
//! flushed themselves, so that it keeps its promise. With a battery what is dirty survives, and is written out when the drives
//! are ready and the host is quiet; what was on its way to the drives is sent again. A FLUSH is answered at once then. It is as
//! good as the drives: what they had answered from caches of their own is lost all the same, if the adapter lets them have any
//! (`drive_write_cache`). What has survived a cut is not risked in them: it is forced to their media (FUA).

use serde::{Deserialize, Serialize};
use ssdlab_core::{Nanos, SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::{Destroyed, Device, Held, HostCounters, LoadError, Plug};

use super::kept::Kept;
use super::lines::Dirty;
use super::{Adapter, Cache, Event};

const HAS_PLUG: &str = "the device has a plug";

/// For tests: what a saved adapter is made of.
#[doc(hidden)]
#[derive(Serialize, Deserialize)]
pub struct SavedAdapter {
    device: Vec<u8>,
    host: HostCounters,
    cache: Option<(Kept, Vec<Dirty>)>,
}

impl Adapter {
    fn inner(&self) -> &dyn Plug {
        self.device.plug_seen().expect(HAS_PLUG)
    }

    fn inner_mut(&mut self) -> &mut dyn Plug {
        self.device.plug().expect(HAS_PLUG)
    }

    fn kept(&self) -> Option<&Kept> {
        self.cache.as_ref()?.kept.as_deref()
    }

    /// From `ready` on the drives serve commands, and what the cache has kept is written out once it is time.
    fn settle(&mut self, ready: Nanos) {
        self.ready = ready;
        self.way.rest_until(ready);
        let Some(cache) = &mut self.cache else { return };
        let drives = self.device.plug_seen().expect(HAS_PLUG);
        if let Some(kept) = &mut cache.kept {
            kept.settle(drives, |sector| cache.lines.is_dirty(sector));
        }
        self.write_out_when_quiet(ready);
    }

    fn write_out_when_quiet(&mut self, from: Nanos) {
        if let Some(cache) = &mut self.cache {
            cache.quiet_since = from;
            let at = from + cache.idle;
            self.at(at, Event::Idle);
        }
    }

    /// Whether nothing is under way to the drives, and there is nothing more to write out: nothing is dirty, or the drives take
    /// no more.
    fn is_settled(&self) -> bool {
        let settled =
            |c: &Cache| c.runs_under_way == 0 && c.fills_under_way == 0 && (c.lines.dirty() == 0 || c.failed.is_some());
        self.cache.as_ref().is_none_or(settled)
    }
}

impl Plug for Adapter {
    fn has_power(&self) -> bool {
        self.inner().has_power()
    }

    fn cut(&mut self, now: Nanos) {
        self.inner_mut().cut(now);
        if let Some(kept) = self.cache.as_mut().and_then(|cache| cache.kept.as_mut()).filter(|_| now >= self.ready) {
            kept.forget_mixed();
        }
        self.power_cut(now);
    }

    fn restore(&mut self, now: Nanos) -> Nanos {
        let ready = self.inner_mut().restore(now);
        self.now = self.now.max(now);
        self.settle(ready);
        ready
    }

    fn stand_by(&mut self, now: Nanos) -> Nanos {
        assert!(self.has_power(), "STANDBY IMMEDIATE needs power");
        let mut now = now.max(self.now);
        self.write_out_when_quiet(now);
        let mut done = Vec::new();
        while !self.is_settled() {
            now = self.next_event().expect("what is dirty is written out").max(now);
            self.advance(now, &mut done);
        }
        assert!(done.is_empty(), "STANDBY IMMEDIATE needs an adapter without commands under way");
        self.inner_mut().stand_by(now)
    }

    fn save(&self) -> Vec<u8> {
        let cache = self.cache.as_ref().and_then(|c| Some(((**c.kept.as_ref()?).clone(), c.lines.all_dirty())));
        let saved = SavedAdapter { device: self.inner().save(), host: self.host, cache };
        postcard::to_stdvec(&saved).expect("a vector takes everything")
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        let saved: SavedAdapter = postcard::from_bytes(saved).map_err(|_| LoadError::OtherDrive)?;
        if !saved.host.is_plausible() {
            return Err(LoadError::Damaged);
        }
        self.inner_mut().load(&saved.device)?;
        self.host = saved.host;
        match (&mut self.cache, saved.cache) {
            (Some(cache), Some((kept, dirty))) => {
                let own = cache.kept.as_mut().expect("a cache with a plug behind it has one");
                if !kept.is_shaped_like(own) {
                    return Err(LoadError::OtherDrive);
                }
                let sound = kept.is_sound(self.info.capacity_bytes, cache.lines.sectors_of(&dirty));
                let fits = (cache.battery || dirty.is_empty()) && cache.lines.take_over(&dirty);
                if !sound || !fits {
                    return Err(LoadError::Damaged);
                }
                **own = kept;
            }
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

    fn held(&self, unit: u64) -> Held {
        let (held, Some(kept)) = (self.inner().held(unit), self.kept()) else { return self.inner().held(unit) };
        let per_unit = UNIT_BYTES / SECTOR_BYTES;
        let lines = self.cache.as_ref().map(|cache| &cache.lines);
        let in_cache = |sector| lines.is_some_and(|lines| lines.is_dirty(sector));
        if held == Held::Unreadable && !(unit * per_unit..(unit + 1) * per_unit).all(in_cache) {
            return held;
        }
        kept.held(unit as u32)
    }

    fn sectors(&self, unit: u64) -> [Held; 8] {
        match self.kept() {
            Some(kept) => kept.sectors(unit as u32).unwrap_or_else(|| [self.held(unit); 8]),
            None => self.inner().sectors(unit),
        }
    }

    /// Not with a battery before drives that may answer from caches of their own: a FLUSH does not reach these.
    fn keeps_flushes(&self) -> bool {
        let stays_here = self.cache.as_ref().is_some_and(|cache| cache.battery && !cache.force_writes);
        !stays_here && self.inner().keeps_flushes()
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
        self.kept().map_or_else(|| self.inner().greatest_write_number(), |kept| kept.greatest_write_number())
    }
}
