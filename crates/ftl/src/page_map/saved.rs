//! What a page map keeps without power, in a form that goes into a file.
//!
//! It is what the flash holds of it: rows with their spare areas, the table of blocks, what the journal says of trims, where
//! journal, checkpoints and map pages stand. Loading puts that back, and a recovery finds everything else again, as after any
//! cut.

use serde::{Deserialize, Serialize};
use ssdlab_core::Rng;
use ssdlab_nand::{BlockId, MisfitError, SavedMedium};

use super::PageMap;
use super::bad_blocks::BadBlocks;
use super::compression::Compression;
use super::metadata_log::SavedLog;
use super::recovery::Recovery;
use super::superblock::Superblocks;
use crate::translation::TranslationCounters;

/// See the module's own page.
#[derive(Serialize, Deserialize)]
struct SavedMap {
    medium: SavedMedium,
    superblocks: Superblocks,
    log: SavedLog,
    bad_blocks: BadBlocks,
    recovery: Recovery,
    compression: Option<Box<Compression>>,
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
        if !of_blocks(Box::new(moving)) || !of_blocks(Box::new(saved.log.blocks())) {
            return Err(MisfitError("a block that does not exist"));
        }
        let compresses = (&saved.compression, &self.compression);
        if !saved.superblocks.is_shaped_like(&self.superblocks)
            || !saved.recovery.origins.is_shaped_like(&self.recovery.origins)
            || !match compresses {
                (Some(saved), Some(own)) => saved.extents().is_shaped_like(own.extents()),
                (saved, own) => saved.is_none() && own.is_none(),
            }
        {
            return Err(MisfitError("superblocks of another shape"));
        }
        self.log.load(saved.log)?;
        self.medium.load(saved.medium)?;
        (self.superblocks, self.bad_blocks, self.recovery) = (saved.superblocks, saved.bad_blocks, saved.recovery);
        (self.compression, self.counters, self.rng) = (saved.compression, saved.counters, saved.rng);
        Ok(())
    }
}
