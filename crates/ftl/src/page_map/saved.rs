//! What a page map keeps without power, in a form that goes into a file.
//!
//! It is what the flash holds of it: rows with their spare areas, the table of blocks, what the journal says of trims, where
//! journal, checkpoints and map pages stand. Loading puts that back, and a recovery finds everything else again, as after any
//! cut.

use serde::{Deserialize, Serialize};
use ssdlab_core::Rng;
use ssdlab_nand::{BlockId, CellMode, LogicalPage, MisfitError, SavedMedium};

use super::PageMap;
use super::bad_blocks::BadBlocks;
use super::cache::SlcCache;
use super::compression::Compression;
use super::metadata_log::SavedLog;
use super::older_pages::{CopyArea, Parity};
use super::recovery::Recovery;
use super::superblock::{Role, State, Superblocks};
use crate::spec::Frontier;
use crate::translation::{TranslationCounters, is_plausible};

/// See the module's own page.
#[derive(Serialize, Deserialize)]
pub struct SavedMap {
    medium: SavedMedium,
    superblocks: Superblocks,
    log: SavedLog,
    bad_blocks: BadBlocks,
    recovery: Recovery,
    compression: Option<Box<Compression>>,
    copies: Option<Box<CopyArea>>,
    parity: Option<Box<Parity>>,
    counters: TranslationCounters,
    rng: Rng,
}

impl PageMap {
    /// See [`crate::Translation::save`].
    pub(super) fn save(&self) -> Vec<u8> {
        let saved = SavedMap {
            medium: self.medium.save(),
            superblocks: self.superblocks.clone(),
            log: self.log.save(),
            bad_blocks: self.bad_blocks.clone(),
            recovery: self.recovery.clone(),
            compression: self.compression.clone(),
            copies: self.copies.clone(),
            parity: self.parity.clone(),
            counters: self.counters,
            rng: self.rng.clone(),
        };
        postcard::to_stdvec(&saved).expect("a vector takes everything")
    }

    /// See [`crate::Translation::load`].
    pub(super) fn load(&mut self, bytes: &[u8]) -> Result<(), MisfitError> {
        let saved: SavedMap = postcard::from_bytes(bytes).map_err(|_| MisfitError("not the state of a page map"))?;
        let blocks = self.medium.layout().block_count();
        let of_blocks = |mut ids: Box<dyn Iterator<Item = BlockId> + '_>| ids.all(|block| block.number() < blocks);
        let moving = saved.bad_blocks.moving().iter().flat_map(|&(from, to)| [from, to]);
        let copies = saved.copies.iter().flat_map(|copies| copies.blocks());
        let copies = copies.chain(saved.parity.iter().flat_map(|parity| parity.blocks()));
        if !of_blocks(Box::new(moving)) || !of_blocks(Box::new(saved.log.blocks())) || !of_blocks(Box::new(copies)) {
            return Err(MisfitError("a block that does not exist"));
        }
        let compresses = (&saved.compression, &self.compression);
        if !saved.superblocks.is_shaped_like(&self.superblocks)
            || !saved.recovery.is_shaped_like(&self.recovery)
            || !match compresses {
                (Some(saved), Some(own)) => saved.extents().is_shaped_like(own.extents()),
                (saved, own) => saved.is_none() && own.is_none(),
            }
            || !match (&saved.copies, &self.copies) {
                (Some(saved), Some(own)) => saved.is_shaped_like(own),
                (saved, own) => saved.is_none() && own.is_none(),
            }
            || saved.parity.is_some() != self.parity.is_some()
        {
            return Err(MisfitError("superblocks of another shape"));
        }
        self.log.load(saved.log)?;
        let grown = self.medium.load(saved.medium)?;
        (self.superblocks, self.bad_blocks, self.recovery) = (saved.superblocks, saved.bad_blocks, saved.recovery);
        (self.compression, self.counters, self.rng) = (saved.compression, saved.counters, saved.rng);
        (self.copies, self.parity) = (saved.copies, saved.parity);
        self.recovery.came_from_file();
        if grown > self.bad_blocks.program_failures().saturating_add(self.bad_blocks.erase_failures()) {
            return Err(MisfitError("more bad blocks than failures"));
        }
        self.look_over()?;
        self.all_is_programmed();
        Ok(())
    }

    /// Whether a drive can have been left like this.
    fn look_over(&self) -> Result<(), MisfitError> {
        let (pages, next) = (self.map.logical_pages(), self.medium.next_sequence());
        let is_stream = |k: u32| k < self.allocator.streams().into();
        let shares = self.gc.frontier == Frontier::Shared;
        let role_exists = |role| match role {
            Role::Host => true,
            Role::Collector => !shares,
            Role::Cache => self.cache.is_some(),
        };
        let pool = self.cache.as_ref().map_or(0, SlcCache::pool_per_domain);
        let frozen = self.is_frozen();
        for (sound, what) in [
            (self.superblocks.can_be(&self.medium, is_stream, role_exists, pool), "superblocks that cannot be"),
            (self.rings_are_sound(), "a system area that cannot be"),
            (self.copies_are_sound(), "copies that cannot be"),
            (frozen || self.bad_blocks.can_go_on_moving(&self.medium, &self.superblocks), "blocks that replace none"),
            (self.recovery.is_sound(pages, self.superblocks.count(), next), "a page that does not exist"),
            (self.log.is_sound(pages, next), "a journal that cannot be"),
            (self.compression.as_ref().is_none_or(|c| c.is_sound(1 << self.unit_shift)), "compression that cannot be"),
            (self.counters.are_plausible() && self.rng.is_sound(), "a count beyond any drive's life"),
        ] {
            if !sound {
                return Err(MisfitError(what));
            }
        }
        let mut data = self.medium.layout().all_blocks().filter(|&block| self.may_hold_data(block));
        if data.all(|block| self.rows_are_sound(block)) {
            Ok(())
        } else {
            Err(MisfitError("a page where it cannot be"))
        }
    }

    /// Whether the superblocks kept for rings are those that the rings are made of, and rows there are a ring's.
    fn rings_are_sound(&self) -> bool {
        let copies = self.copies.iter().flat_map(|copies| copies.blocks());
        let mut ring: Vec<BlockId> = self.log.blocks().chain(copies).collect();
        ring.sort_unstable();
        let kept = self.superblocks.all().filter(|&sb| self.superblocks.state(sb) == State::System);
        let mut system: Vec<BlockId> = kept.flat_map(|sb| self.superblocks.blocks_of(sb)).collect();
        system.sort_unstable();
        let native = |&block: &BlockId| {
            let wanted = if self.is_copy_block(block) { CellMode::Slc } else { self.medium.native_mode() };
            let empty = self.medium.is_erased(block) || self.medium.is_half_erased(block);
            let in_mode = empty || self.medium.mode(block) == wanted;
            in_mode && (self.is_frozen() || !self.medium.is_bad(block))
        };
        ring == system && ring.iter().all(native) && self.log.is_written_soundly(&self.medium)
    }

    /// Whether the copies of older pages are such, each in a block of its own die.
    fn copies_are_sound(&self) -> bool {
        let is_sound =
            |copies: &CopyArea| is_plausible(copies.rows()) && copies.blocks().all(|block| self.is_copy_block(block));
        self.copies.as_deref().is_none_or(is_sound)
            && self.copy_blocks().all(|block| self.pages_are_sound(block))
            && self.parity.as_ref().is_none_or(|parity| parity.is_sound(self.row_units))
    }

    /// Whether the spare areas of a block of data say what firmware writes there.
    fn rows_are_sound(&self, block: BlockId) -> bool {
        self.medium.is_in_order(block) && self.pages_are_sound(block)
    }

    fn pages_are_sound(&self, block: BlockId) -> bool {
        let layout = self.medium.layout();
        let row_is_sound = |page| {
            let start = layout.row_start(block, page);
            start.run(self.row_units).all(|unit| {
                let lpn = self.medium.lpn(unit);
                let numbers = 1..=self.medium.format().max_generation();
                let is_page =
                    lpn.number() < self.map.logical_pages() && numbers.contains(&self.medium.generation(unit));
                let begins = || self.compression.as_ref().is_none_or(|c| c.holds_at(unit, 1 << self.unit_shift));
                lpn == LogicalPage::NONE || is_page && begins()
            })
        };
        (0..self.medium.finished_pages(block)).all(row_is_sound)
    }
}
