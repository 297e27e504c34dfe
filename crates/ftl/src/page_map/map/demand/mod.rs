//! A map that DRAM cannot hold: entries are loaded on demand and written out when changed ones must leave (DFTL).
//!
//! The simulator always knows where a page lives; what this adds are the operations that a controller needs to know it
//! too. A read of the host whose entry is missing waits until its map page has been read. For a write the read of the
//! map page occupies its die, but nothing waits: the data are in the buffer, and the old copy is only counted as dead.
//! Units that a collector moves change entries without a look at the old ones. An entry that leaves changed takes its
//! map page along: read, all changed entries of it put in, written to another row. A map page is one row (all planes).
//! What was read last stays at hand, so that a run of neighbours reads it once. Where parts of a page are corrected by
//! themselves, the part with the entry is read; a run that leaves it reads the rest of its unit in one go.
//!
//! Liberty, stated: a map page is read and written in the same instant; the program does not wait for the read, though
//! both occupy their dies.

mod area;
mod cache;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_core::UNIT_BYTES;
use ssdlab_nand::{BlockId, Layout, LogicalPage, Medium};

use area::Area;
pub use area::TAG_MAP;
use cache::Cache;

use crate::op::{NOBODY, OpSink};
use crate::translation::is_plausible;

/// Bytes of an entry in DRAM: logical page and unit.
const CACHED_ENTRY_BYTES: u64 = 8;
/// Bytes of an entry in a map page.
const ENTRY_BYTES: u32 = 4;

/// What the map has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemandMapCounters {
    /// Entries asked for by the host's reads, writes and trims, and how many of them were not in DRAM.
    pub lookups: u64,
    pub misses: u64,
    /// Map pages read because an entry was missing.
    pub fetches: u64,
    /// Map pages written out because a changed entry had to leave.
    pub flushes: u64,
    /// Map pages that were only moved, to make room.
    pub moves: u64,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct DemandMap {
    cache: Cache,
    area: Area,
    /// Entries that were read last.
    at_hand: Range<LogicalPage>,
    /// Entries of what is read of a map page at once; the page, where it is read as a whole.
    entries_per_part: u32,
    counters: DemandMapCounters,
}

/// Entries of a map page.
fn entries_per_page(layout: &Layout) -> u32 {
    layout.row_bytes() / ENTRY_BYTES
}

/// The entries that are read for that of a logical page, after others up to `read_to`.
fn part_to_read(lpn: LogicalPage, read_to: LogicalPage, entries_per_part: u32) -> Range<LogicalPage> {
    let start = lpn.number() / entries_per_part * entries_per_part;
    let runs_on = start != 0 && start == read_to.number();
    let per_unit = entries_per_part.max(UNIT_BYTES as u32 / ENTRY_BYTES);
    let end = if runs_on { start - start % per_unit + per_unit } else { start + entries_per_part };
    LogicalPage::new(start)..LogicalPage::new(end)
}

/// What of such a map is on flash, for a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedDemandMap {
    area: Area,
    counters: DemandMapCounters,
}

impl SavedDemandMap {
    /// Blocks that it lies in.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.area.blocks()
    }
}

impl DemandMap {
    /// What of it is on flash.
    #[must_use]
    pub fn save(&self) -> SavedDemandMap {
        SavedDemandMap { area: self.area.clone(), counters: self.counters }
    }

    /// Takes over what such a map has saved; `None`: it was not such a map.
    pub fn load(&mut self, saved: SavedDemandMap) -> Option<()> {
        if !saved.area.is_shaped_like(&self.area) {
            return None;
        }
        (self.area, self.counters) = (saved.area, saved.counters);
        Some(())
    }

    /// All blocks that it lies in.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.area.blocks()
    }

    /// Whether it can have counted so far.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let DemandMapCounters { lookups, misses, fetches, flushes, moves } = self.counters;
        let rows = [self.area.rows_written(), self.area.rows_moved()];
        [lookups, misses, fetches, flushes, moves].into_iter().chain(rows).all(is_plausible)
    }

    /// See [`Area::is_written_soundly`].
    #[must_use]
    pub fn is_written_soundly(&self, medium: &Medium) -> bool {
        self.area.is_written_soundly(medium)
    }

    /// Places of the ring of map pages for such a map.
    #[must_use]
    pub fn places(logical_pages: u32, layout: &Layout) -> u32 {
        Area::places(logical_pages.div_ceil(entries_per_page(layout)), layout)
    }

    /// A map of which `cache_kib` fit into DRAM, on a ring with the given places. `granule_bytes`: what of a page is read by
    /// itself; `None`: a map page is read as a whole.
    #[must_use]
    pub fn new(
        cache_kib: u32,
        places: Vec<Vec<BlockId>>,
        logical_pages: u32,
        granule_bytes: Option<u32>,
        layout: &Layout,
    ) -> Self {
        let per_page = entries_per_page(layout);
        let entries = (u64::from(cache_kib) * 1024 / CACHED_ENTRY_BYTES).min(u32::MAX.into()) as u32;
        DemandMap {
            cache: Cache::new(entries, logical_pages, per_page),
            area: Area::new(places, logical_pages.div_ceil(per_page), layout),
            at_hand: LogicalPage::all(0),
            entries_per_part: granule_bytes.map_or(per_page, |bytes| bytes / ENTRY_BYTES),
            counters: DemandMapCounters::default(),
        }
    }

    #[must_use]
    pub fn counters(&self) -> DemandMapCounters {
        DemandMapCounters { moves: self.area.rows_moved(), ..self.counters }
    }

    /// Rows programmed for the map.
    #[must_use]
    pub fn rows_written(&self) -> u64 {
        self.area.rows_written()
    }

    /// Looks up an entry for a read of the host. Returns whether the command `tag` must wait for a map page.
    pub fn look_up(&mut self, lpn: LogicalPage, tag: u16, medium: &mut Medium, sink: &mut impl OpSink) -> bool {
        self.host(lpn, false, tag, medium, sink)
    }

    /// Changes an entry for the host: a unit written or trimmed.
    pub fn change(&mut self, lpn: LogicalPage, medium: &mut Medium, sink: &mut impl OpSink) {
        self.host(lpn, true, NOBODY, medium, sink);
    }

    fn host(&mut self, lpn: LogicalPage, change: bool, tag: u16, medium: &mut Medium, sink: &mut impl OpSink) -> bool {
        let touched = self.cache.touch(lpn, change);
        self.flush(touched.flush, medium, sink);
        self.counters.lookups += 1;
        if touched.hit {
            return false;
        }
        self.counters.misses += 1;
        if self.at_hand.contains(&lpn) {
            return false;
        }
        let part = part_to_read(lpn, self.at_hand.end, self.entries_per_part);
        let bytes = (part.end - part.start) * ENTRY_BYTES;
        self.at_hand = part;
        let fetched = self.area.read(self.cache.map_page(lpn), bytes, (tag, lpn), medium, sink);
        self.counters.fetches += u64::from(fetched);
        fetched
    }

    /// Changes an entry for a unit that a collector has moved.
    pub fn moved(&mut self, lpn: LogicalPage, medium: &mut Medium, sink: &mut impl OpSink) {
        let touched = self.cache.touch(lpn, true);
        self.flush(touched.flush, medium, sink);
    }

    /// Whether a map page is at hand as a whole.
    fn is_at_hand(&self, page: u32) -> bool {
        let per_page = self.cache.entries_per_page();
        self.at_hand.start.number() <= page * per_page && (page + 1) * per_page <= self.at_hand.end.number()
    }

    fn flush(&mut self, page: Option<u32>, medium: &mut Medium, sink: &mut impl OpSink) {
        let Some(page) = page else { return };
        if !self.is_at_hand(page) {
            self.area.read(page, medium.layout().row_bytes(), (NOBODY, LogicalPage::FIRST), medium, sink);
        }
        self.counters.flushes += 1;
        self.area.write(page, medium, sink);
    }

    /// Rows of the ring that the map pages lie in.
    #[must_use]
    pub fn rows_of_ring(&self) -> u32 {
        self.area.rows_of_ring()
    }

    /// The power went: DRAM holds nothing of the map. See [`Area::recover`].
    ///
    /// Liberty, stated: changes of map pages that were not written out are in the journal, and are put in without a
    /// further operation.
    pub fn recover(&mut self, medium: &Medium) -> Vec<(BlockId, u32)> {
        self.cache.clear();
        self.at_hand = LogicalPage::all(0);
        self.area.recover(medium)
    }

    /// See [`Area::resume`].
    pub fn resume(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        self.area.resume(medium, sink);
    }

    /// See [`Area::replace`].
    pub fn replace(&mut self, from: BlockId, to: BlockId, layout: &Layout) {
        self.area.replace(from, to, layout);
    }

    /// See [`Area::erased`].
    pub fn erased(&mut self, block: BlockId, medium: &mut Medium, sink: &mut impl OpSink) -> bool {
        self.area.erased(block, medium, sink)
    }

    /// See [`Area::check`].
    ///
    /// # Errors
    /// The first map page that is not where it should be.
    pub fn check(&self, medium: &Medium) -> Result<(), String> {
        self.area.check(medium)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_and_the_rest_of_its_unit_for_a_run_that_leaves_it() {
        let part = |lpn, read_to, entries_per_part| {
            let part = part_to_read(LogicalPage::new(lpn), LogicalPage::new(read_to), entries_per_part);
            part.start.number()..part.end.number()
        };
        assert_eq!(part(5000, 0, 128), 4992..5120);
        assert_eq!(part(5120, 5120, 128), 5120..6144);
        assert_eq!(part(5248, 5120, 128), 5248..5376);
        assert_eq!(part(0, 0, 128), 0..128);
        // Where a map page is read as a whole, a run reads the next one.
        assert_eq!(part(5120, 4096, 2048), 4096..6144);
        assert_eq!(part(4096, 4096, 2048), 4096..6144);
    }
}
