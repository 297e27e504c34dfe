//! What a cache keeps when the power goes, and what it and the drives hold together afterwards.

use serde::{Deserialize, Serialize};
use ssdlab_core::{SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::{Held, LoadError, Plug};

use super::Cache;
use super::kept::Kept;
use super::lines::Dirty;
use super::under_way::UnderWay;
use crate::adapter::flush::policy;

/// What of a cache is in a saved adapter.
#[derive(Serialize, Deserialize)]
pub struct SavedCache {
    kept: Kept,
    dirty: Vec<Dirty>,
}

impl Cache {
    /// Which writes of the host are where, if the device has a plug.
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    /// The power goes: what waits or is under way is forgotten, and lines stay if there is a battery.
    pub fn power_cut(&mut self) {
        self.lines.power_cut(self.battery);
        self.policy = policy(self.choice);
        self.sweep.power_cut();
        self.fills = UnderWay::default();
        self.streams.power_cut();
        self.blocked.clear();
        self.held.clear();
        self.barriers.clear();
        self.failed = None;
        self.standing_by = false;
    }

    /// The power goes in a device that was ready since the last time: what that one has mixed is known.
    pub fn forget_mixed(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.forget_mixed();
        }
    }

    /// The drives have power again.
    pub fn settle(&mut self, drives: &dyn Plug) {
        if let Some(kept) = &mut self.kept {
            kept.settle(drives, |sector| self.lines.is_dirty(sector));
        }
    }

    /// Whether nothing is under way to the drives, and there is nothing more to write out: nothing is dirty, or the drives take
    /// no more.
    pub fn is_settled(&self) -> bool {
        let has_written_out = self.lines.dirty() == 0 || self.failed.is_some();
        self.sweep.writes() == 0 && self.fills.count() == 0 && has_written_out
    }

    /// Whether a flush is answered before drives that may answer from caches of their own.
    pub fn flushes_end_here(&self) -> bool {
        self.battery && !self.force_writes
    }

    /// Whether all of 4 KiB is here, and no drive has it yet, or may not have.
    fn has_all_of(&self, unit: u64) -> bool {
        let per_unit = UNIT_BYTES / SECTOR_BYTES;
        (unit * per_unit..(unit + 1) * per_unit).all(|sector| self.lines.is_dirty(sector))
    }

    /// What 4 KiB hold of which the drives say this.
    pub fn held(&self, unit: u64, of_drives: Held) -> Held {
        match &self.kept {
            Some(kept) if of_drives != Held::Unreadable || self.has_all_of(unit) => kept.held(unit as u32),
            _ => of_drives,
        }
    }

    /// `None` if no device here has a plug.
    pub fn save(&self) -> Option<SavedCache> {
        let kept = Kept::clone(self.kept.as_ref()?);
        Some(SavedCache { kept, dirty: self.lines.all_dirty() })
    }

    /// # Errors
    /// It was saved by another kind of cache, or cannot have been left like this.
    pub fn load(&mut self, saved: SavedCache, capacity_bytes: u64) -> Result<(), LoadError> {
        let SavedCache { kept, dirty } = saved;
        let own = self.kept.as_mut().expect("a cache with a plug behind it has one");
        if !kept.is_shaped_like(own) {
            return Err(LoadError::OtherDrive);
        }
        let sound = kept.is_sound(capacity_bytes, self.lines.sectors_of(&dirty));
        let fits = (self.battery || dirty.is_empty()) && self.lines.take_over(&dirty);
        if !sound || !fits {
            return Err(LoadError::Damaged);
        }
        **own = kept;
        Ok(())
    }
}
