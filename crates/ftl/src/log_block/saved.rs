//! What such a drive keeps without power, in a form that goes into a file: its flash, the table of blocks, pages that are
//! lost, and counts. A recovery finds everything else again, as after any cut.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{LogicalPage, MisfitError, SavedMedium};

use super::LogBlock;
use super::chores::ChoreCounters;
use super::merges::Merges;
use super::recovery::Recovery;
use super::superblocks::{Place, Use};
use crate::translation::is_plausible;

/// See the module's own page.
#[derive(Serialize, Deserialize)]
pub struct SavedLogBlock {
    medium: SavedMedium,
    uses: Vec<Use>,
    data: Vec<Option<Place>>,
    recovery: Recovery,
    chores: ChoreCounters,
    merges: Merges,
    relocate_at: u64,
    relocations: u64,
    trimmed: u64,
    overwritten: u64,
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
            overwritten: self.overwritten,
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
        if !self.recovery.is_sound(self.geometry.logical_pages, self.contents.medium().next_sequence()) {
            return Err(MisfitError("a page that does not exist"));
        }
        if !self.has_room() || !self.blocks_are_good() {
            return Err(MisfitError("superblocks that cannot be written"));
        }
        self.look_at_tags()?;
        let counts = [saved.relocate_at, saved.relocations, saved.trimmed, saved.overwritten, saved.started];
        let sound = saved.chores.is_plausible() && saved.merges.is_plausible() && counts.into_iter().all(is_plausible);
        if !sound || saved.relocate_at > saved.merges.partial + saved.merges.full {
            return Err(MisfitError("a count beyond any drive's life"));
        }
        self.chores.set_counters(saved.chores);
        (self.merges, self.relocate_at) = (saved.merges, saved.relocate_at);
        (self.relocations, self.trimmed, self.overwritten) = (saved.relocations, saved.trimmed, saved.overwritten);
        self.host.go_on_from(saved.started);
        Ok(())
    }

    /// Whether every column has the room to merge its logs.
    fn has_room(&self) -> bool {
        let (each, data) = (self.superblocks.each(), self.geometry.superblocks_of_a_column());
        let is_log = |place: &Place| self.superblocks.use_of(*place) == Use::Log;
        (0..self.geometry.columns).all(|column| {
            let logs = (column * each..(column + 1) * each).filter(is_log).count() as u32;
            data + logs < each
        })
    }

    /// Nothing ever fails on a drive that translates by blocks, nor runs in another mode than its die's own.
    fn blocks_are_good(&self) -> bool {
        let medium = self.contents.medium();
        let places =
            (0..self.superblocks.count()).flat_map(|place| (0..self.geometry.lanes).map(move |lane| (place, lane)));
        let mut blocks = places.map(|(place, lane)| self.superblocks.block(place, lane));
        medium.never_fails() && blocks.all(|block| !medium.is_bad(block) && medium.mode(block) == medium.native_mode())
    }

    /// Whether the spare areas say what firmware writes there: in data each page in its own row, in logs pages of their
    /// column and lane.
    fn look_at_tags(&self) -> Result<(), MisfitError> {
        let (medium, geometry) = (self.contents.medium(), &self.geometry);
        let numbers = 1..=medium.format().max_generation();
        let superblock_of: BTreeMap<Place, u32> =
            self.data.iter().zip(0..).filter_map(|(place, superblock)| Some(((*place)?, superblock))).collect();
        for place in (0..self.superblocks.count()).filter(|&place| self.superblocks.use_of(place) != Use::None) {
            for lane in 0..geometry.lanes {
                let block = self.superblocks.block(place, lane);
                let start = medium.layout().row_start(block, 0);
                for row in 0..medium.finished_pages(block) {
                    let (page, number) = (medium.lpn(start + row), medium.generation(start + row));
                    if page == LogicalPage::NONE {
                        continue;
                    }
                    let in_place = geometry.has(page) && numbers.contains(&number) && {
                        let spot = geometry.spot(page);
                        let column = geometry.column(spot.superblock);
                        let in_row =
                            superblock_of.get(&place).is_none_or(|&of| spot.superblock == of && spot.row == row);
                        spot.lane == lane && column == self.superblocks.column(place) && in_row
                    };
                    if !in_place {
                        return Err(MisfitError("a page where it cannot be"));
                    }
                }
            }
        }
        Ok(())
    }
}
