//! What such a drive keeps without power, in a form that goes into a file: its flash, the table of blocks, pages that are
//! lost, and counts. A recovery finds everything else again, as after any cut.

use serde::{Deserialize, Serialize};
use ssdlab_nand::{MisfitError, SavedMedium};

use super::LogBlock;
use super::chores::ChoreCounters;
use super::merges::Merges;
use super::recovery::Recovery;
use super::superblocks::{Place, Use};

/// See the module's own page.
#[derive(Serialize, Deserialize)]
struct SavedLogBlock {
    medium: SavedMedium,
    uses: Vec<Use>,
    data: Vec<Option<Place>>,
    recovery: Recovery,
    chores: ChoreCounters,
    merges: Merges,
    relocate_at: u64,
    relocations: u64,
    trimmed: u64,
    /// Pages of the host that were given to dies.
    started: u64,
}

impl LogBlock {
    /// See [`crate::Translation::save`].
    pub(super) fn save(&self) -> Vec<u8> {
        let saved = SavedLogBlock {
            medium: self.contents.medium().save(),
            uses: self.superblocks.uses().to_vec(),
            data: self.data.clone(),
            recovery: self.recovery.clone(),
            chores: self.chores.counters(),
            merges: self.merges,
            relocate_at: self.relocate_at,
            relocations: self.relocations,
            trimmed: self.trimmed,
            started: self.host.started(),
        };
        postcard::to_stdvec(&saved).expect("a vector takes everything")
    }

    /// See [`crate::Translation::load`].
    pub(super) fn load(&mut self, bytes: &[u8]) -> Result<(), MisfitError> {
        let saved: SavedLogBlock = postcard::from_bytes(bytes)
            .map_err(|_| MisfitError("not the state of a drive that translates by blocks"))?;
        let count = self.superblocks.count();
        let is_data = |&place: &Place| place < count && saved.uses.get(place as usize) == Some(&Use::Data);
        let in_column = |(superblock, place): (u32, Place)| {
            is_data(&place) && self.superblocks.column(place) == self.geometry.column(superblock)
        };
        let places = || (0..).zip(&saved.data).filter_map(|(superblock, place)| Some((superblock, (*place)?)));
        let mut each: Vec<Place> = places().map(|(_, place)| place).collect();
        each.sort_unstable();
        let twice = each.windows(2).any(|pair| pair[0] == pair[1]);
        let data = saved.uses.iter().filter(|&&u| u == Use::Data).count();
        if saved.data.len() != self.data.len() || !places().all(in_column) || twice || data != each.len() {
            return Err(MisfitError("superblocks that do not exist"));
        }
        if !self.superblocks.set_uses(saved.uses) {
            return Err(MisfitError("another number of superblocks"));
        }
        self.contents.medium_mut().load(saved.medium)?;
        (self.data, self.recovery) = (saved.data, saved.recovery);
        if self.recovery.pages().any(|page| page >= self.geometry.logical_pages) {
            return Err(MisfitError("a page that does not exist"));
        }
        self.chores.set_counters(saved.chores);
        (self.merges, self.relocate_at) = (saved.merges, saved.relocate_at);
        (self.relocations, self.trimmed) = (saved.relocations, saved.trimmed);
        self.host.go_on_from(saved.started);
        Ok(())
    }
}
