//! A map that DRAM cannot hold: entries are loaded on demand and written out when changed ones must leave (DFTL).
//!
//! The simulator always knows where a page lives; what this adds are the operations that a controller needs to know it
//! too. A read of the host whose entry is missing waits until its map page has been read. Whoever needs an entry of what
//! is being read waits for the same read and sends no second one, even if the entry has left DRAM before it came. An entry that has been changed in DRAM is known, whatever is being read. Data are read ahead once their entries
//! are known. For a write the read of the map page occupies its die, but nothing waits: the data are in the buffer, and the
//! old copy is only counted as dead. Units that a collector moves change entries without a look at the old ones. An entry
//! that leaves changed takes its map page along: read by itself unless it is at hand, all changed entries of it put in,
//! written to another row. A map page
//! is one row (all planes). What was read last stays at hand, so that a run of neighbours reads it once. Where parts of a
//! page are corrected by themselves, the part with the entry is read; a run that leaves it reads the rest of its unit in
//! one go.
//!
//! Liberties, stated: a map page is read and written in the same instant; the program does not wait for the read, though
//! both occupy their dies. A read that nobody waited for at first keeps its turn when somebody does. Without a write cache
//! the rest of a unit that is written in part is read without a look at the map.

mod area;
mod cache;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, Layout, LogicalPage, Medium, SequenceNumber};

use area::Area;
pub use area::TAG_MAP;
use cache::{Cache, Touched};

use crate::op::{FOR_BUFFER, FlashOp, NOBODY, OpSink};
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
    /// Entries that were read last, or are being read.
    at_hand: Range<LogicalPage>,
    /// By their first entry: parts that are being read. None overlaps another.
    coming: BTreeMap<LogicalPage, Coming>,
    /// Entries of what is read of a map page at once; the page, where it is read as a whole.
    entries_per_part: u32,
    counters: DemandMapCounters,
}

/// A part that is being read.
#[derive(Clone, Debug)]
struct Coming {
    end: LogicalPage,
    /// Who waits for it, each for the entry of a logical page.
    waiting: Vec<(u16, LogicalPage)>,
}

/// Entries of a map page.
fn entries_per_page(layout: &Layout) -> u32 {
    layout.row_bytes() / ENTRY_BYTES
}

/// The entries that are read for that of a logical page, after others up to `read_to`, from units of so many bytes.
fn part_to_read(lpn: LogicalPage, read_to: LogicalPage, entries_per_part: u32, unit_bytes: u32) -> Range<LogicalPage> {
    let start = lpn.number() / entries_per_part * entries_per_part;
    let runs_on = start != 0 && start == read_to.number();
    let per_unit = entries_per_part.max(unit_bytes / ENTRY_BYTES);
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
            coming: BTreeMap::new(),
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

    /// Looks up an entry for a read of the host. Returns whether the command `tag` must wait for it; [`DemandMap::read_ended`]
    /// tells when it has come.
    pub fn look_up(&mut self, lpn: LogicalPage, tag: u16, medium: &mut Medium, sink: &mut impl OpSink) -> bool {
        let touched = self.touch(lpn, false, medium, sink);
        if touched.hit && (self.coming.is_empty() || touched.was_changed) {
            return false;
        }
        if !touched.hit {
            self.fetch(lpn, tag, medium, sink);
        }
        let Some(coming) = self.coming_with(lpn).and_then(|start| self.coming.get_mut(&start)) else { return false };
        // One that is in DRAM already may have been there before that read began.
        let waits = !touched.hit || coming.waiting.iter().any(|&(_, awaited)| awaited == lpn);
        if waits {
            coming.waiting.push((tag, lpn));
        }
        waits
    }

    /// Changes an entry for the host: a unit written or trimmed.
    pub fn change(&mut self, lpn: LogicalPage, medium: &mut Medium, sink: &mut impl OpSink) {
        if !self.touch(lpn, true, medium, sink).hit {
            self.fetch(lpn, NOBODY, medium, sink);
        }
    }

    /// A read of the map has ended. Returns who has waited for it, each for the entry of a logical page.
    pub fn read_ended(&mut self, op: &FlashOp) -> Vec<(u16, LogicalPage)> {
        let coming = self.coming_with(op.merged_page()).and_then(|start| self.coming.remove(&start));
        coming.map_or_else(Vec::new, |coming| coming.waiting)
    }

    /// Nobody waits but the write buffer: what is read for others alone does not come.
    pub fn forget_reads(&mut self) {
        self.coming.retain(|_, coming| {
            coming.waiting.retain(|&(who, _)| who == FOR_BUFFER);
            !coming.waiting.is_empty()
        });
        self.at_hand = LogicalPage::all(0);
    }

    /// Whether anybody waits for what this reads.
    #[must_use]
    pub fn awaits(&self, op: &FlashOp) -> bool {
        self.coming_with(op.merged_page()).is_some_and(|start| !self.coming[&start].waiting.is_empty())
    }

    /// The first entry of the part that is being read and holds that of a logical page.
    fn coming_with(&self, lpn: LogicalPage) -> Option<LogicalPage> {
        let (&start, coming) = self.coming.range(..=lpn).next_back()?;
        (lpn < coming.end).then_some(start)
    }

    fn touch(&mut self, lpn: LogicalPage, change: bool, medium: &mut Medium, sink: &mut impl OpSink) -> Touched {
        let touched = self.cache.touch(lpn, change);
        self.flush(touched.flush, medium, sink);
        self.counters.lookups += 1;
        self.counters.misses += u64::from(!touched.hit);
        touched
    }

    /// Reads the part with an entry, for `tag`, unless it is at hand or on its way.
    fn fetch(&mut self, lpn: LogicalPage, tag: u16, medium: &Medium, sink: &mut impl OpSink) {
        if self.at_hand.contains(&lpn) || self.coming_with(lpn).is_some() {
            return;
        }
        let unit_bytes = medium.layout().unit_bytes;
        let mut part = part_to_read(lpn, self.at_hand.end, self.entries_per_part, unit_bytes);
        if let Some((&next, _)) = self.coming.range(part.clone()).next() {
            part.end = next;
        }
        let bytes = (part.end - part.start) * ENTRY_BYTES;
        self.at_hand = part.clone();
        if self.area.read(self.cache.map_page(lpn), bytes, (tag, lpn), medium, sink) {
            self.counters.fetches += 1;
            self.coming.insert(part.start, Coming { end: part.end, waiting: Vec::new() });
        }
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

    /// Whether a map page is being read as a whole.
    fn is_coming(&self, page: u32) -> bool {
        let per_page = self.cache.entries_per_page();
        let end = LogicalPage::new((page + 1) * per_page);
        let coming = self.coming_with(LogicalPage::new(page * per_page)).map(|start| &self.coming[&start]);
        coming.is_some_and(|coming| end <= coming.end)
    }

    fn flush(&mut self, page: Option<u32>, medium: &mut Medium, sink: &mut impl OpSink) {
        let Some(page) = page else { return };
        if !self.is_at_hand(page) && !self.is_coming(page) {
            self.area.read(page, medium.layout().row_bytes(), (NOBODY, LogicalPage::NONE), medium, sink);
        }
        self.counters.flushes += 1;
        self.area.write(page, medium, sink);
    }

    /// Map pages that have a row.
    #[must_use]
    pub fn pages_written(&self) -> u32 {
        self.area.pages_written()
    }

    /// DRAM holds nothing of the map, and nobody waits for it.
    fn forget(&mut self) {
        self.cache.clear();
        self.at_hand = LogicalPage::all(0);
        self.coming.clear();
    }

    /// No entry holds anything any more, in DRAM or on flash. No command may wait for one.
    pub fn void_all(&mut self) {
        self.forget();
        self.area.void_all();
    }

    /// The power went: DRAM holds nothing of the map. See [`Area::recover`].
    ///
    /// Liberty, stated: changes of map pages that were not written out are in the journal, and are put in without a
    /// further operation.
    pub fn recover(&mut self, medium: &Medium, void_before: Option<SequenceNumber>) -> Vec<(BlockId, u32)> {
        self.forget();
        self.area.recover(medium, void_before)
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
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieId, DieSpec, Geometry, Outcome, PageOrder, TagFormat};

    use super::*;

    #[test]
    fn a_part_is_read_and_the_rest_of_its_unit_for_a_run_that_leaves_it() {
        let part = |lpn, read_to, entries_per_part| {
            let part = part_to_read(LogicalPage::new(lpn), LogicalPage::new(read_to), entries_per_part, 4096);
            part.start.number()..part.end.number()
        };
        assert_eq!(part(5000, 0, 128), 4992..5120);
        assert_eq!(part(5120, 5120, 128), 5120..6144);
        assert_eq!(part(5248, 5120, 128), 5248..5376);
        assert_eq!(part(0, 0, 128), 0..128);
        // Where a map page is read as a whole, a run reads the next one.
        assert_eq!(part(5120, 4096, 2048), 4096..6144);
        assert_eq!(part(4096, 4096, 2048), 4096..6144);
        // A unit of 32 KiB holds eight times as many.
        let part = part_to_read(LogicalPage::new(9216), LogicalPage::new(9216), 1024, 32_768);
        assert_eq!(part, LogicalPage::new(9216)..LogicalPage::new(16_384));
    }

    const AT: fn(u32) -> LogicalPage = LogicalPage::new;

    /// A map of three pages of 2048 entries, all on flash, of which 128 fit into DRAM.
    fn on_flash(granule_bytes: Option<u32>) -> (DemandMap, Medium) {
        let die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 8,
            pages_per_block: 4,
            page_bytes: 8192,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        });
        let layout = Layout::new(&die, 2, 8);
        let mut medium = Medium::new(&die, layout.clone(), TagFormat::new(6144), &Rng::new(1));
        let places = DemandMap::places(6144, &layout);
        let places = (0..places).map(|block| vec![BlockId::new(block), BlockId::new(8 + block)]).collect();
        let mut map = DemandMap::new(1, places, 6144, granule_bytes, &layout);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        (0..3).for_each(|page| map.area.write(page, &mut medium, &mut ops));
        for (_, op) in ops.iter().filter(|(_, op)| op.kind().is_program()) {
            medium.begin_program(op.block(), op.page()).expect("it is the next of its block");
            assert_eq!(medium.finish_program(op.block(), op.page()), Ok(Outcome::Done));
        }
        (map, medium)
    }

    #[test]
    fn whoever_needs_a_part_that_is_on_its_way_waits_for_the_same_read() {
        let (mut map, mut medium) = on_flash(None);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        assert!(map.look_up(AT(0), 7, &mut medium, &mut ops));
        assert!(map.look_up(AT(1), 8, &mut medium, &mut ops), "a neighbour");
        assert!(map.look_up(AT(0), 9, &mut medium, &mut ops), "the same entry, which has not come");
        map.change(AT(2), &mut medium, &mut ops);
        assert!(!map.look_up(AT(2), 10, &mut medium, &mut ops), "what was changed is known");
        assert_eq!(ops.len(), 1);
        assert_eq!(map.read_ended(&ops[0].1), [(7, AT(0)), (8, AT(1)), (9, AT(0))]);
        assert!(!map.look_up(AT(0), 11, &mut medium, &mut ops) && !map.look_up(AT(3), 11, &mut medium, &mut ops));
        assert_eq!((ops.len(), map.counters().fetches), (1, 1));
    }

    #[test]
    fn a_read_of_the_map_for_a_write_is_waited_for_by_reads_of_its_neighbours() {
        let (mut map, mut medium) = on_flash(None);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        map.change(AT(0), &mut medium, &mut ops);
        assert!(map.look_up(AT(1), 7, &mut medium, &mut ops));
        assert_eq!(map.read_ended(&ops[0].1), [(7, AT(1))]);
        assert_eq!(ops.len(), 1);
    }

    #[test]
    fn an_entry_that_leaves_before_it_has_come_is_waited_for_and_not_read_again() {
        let (mut map, mut medium) = on_flash(None);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        assert!(map.look_up(AT(0), 7, &mut medium, &mut ops));
        // Others take its place, and what is at hand is another page.
        (4096..4096 + 128).for_each(|lpn| _ = map.look_up(AT(lpn), NOBODY, &mut medium, &mut ops));
        assert!(map.look_up(AT(0), 8, &mut medium, &mut ops));
        assert_eq!(ops.len(), 2);
        assert_eq!(map.read_ended(&ops[0].1), [(7, AT(0)), (8, AT(0))]);
        assert_eq!(map.read_ended(&ops[1].1).len(), 128);
    }

    #[test]
    fn an_entry_that_was_there_before_does_not_wait_for_its_page_to_be_read_again() {
        let (mut map, mut medium) = on_flash(None);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        for lpn in [0, 4096] {
            assert!(map.look_up(AT(lpn), 7, &mut medium, &mut ops));
            map.read_ended(&ops.pop().expect("it is read").1);
        }
        assert!(map.look_up(AT(5), 7, &mut medium, &mut ops));
        assert!(!map.look_up(AT(0), 8, &mut medium, &mut ops));
    }

    #[test]
    fn a_run_leaves_out_what_is_on_its_way() {
        let (mut map, mut medium) = on_flash(Some(512));
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        for lpn in [512, 0, 128] {
            assert!(map.look_up(AT(lpn), 7, &mut medium, &mut ops));
        }
        let eighths: Vec<u32> = ops.iter().map(|(_, op)| op.eighths()).collect();
        assert_eq!(eighths, [1, 1, 3], "entries 128 to 511");
        assert!(map.look_up(AT(520), 8, &mut medium, &mut ops) && map.look_up(AT(140), 9, &mut medium, &mut ops));
        assert_eq!(map.read_ended(&ops[0].1), [(7, AT(512)), (8, AT(520))]);
        assert_eq!(map.read_ended(&ops[2].1), [(7, AT(128)), (9, AT(140))]);
    }

    #[test]
    fn a_page_that_is_written_out_is_not_read_again_while_it_is_being_read() {
        for comes_first in [false, true] {
            let (mut map, mut medium) = on_flash(None);
            let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
            map.change(AT(0), &mut medium, &mut ops);
            let (_, first) = ops[0];
            if comes_first {
                map.read_ended(&first);
            }
            // Others take its place, and what is at hand is another page.
            (4096..4096 + 128).for_each(|lpn| _ = map.look_up(AT(lpn), NOBODY, &mut medium, &mut ops));
            assert_eq!(map.counters().flushes, 1);
            let reads = ops.iter().filter(|(_, op)| !op.kind().is_program() && op.block() == first.block());
            let of_first = reads.filter(|(_, op)| op.page() == first.page()).count();
            assert_eq!(of_first, if comes_first { 2 } else { 1 });
        }
    }

    #[test]
    fn once_all_is_void_no_piece_of_the_map_is_read_or_written() {
        let (mut map, mut medium) = on_flash(None);
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        (0..100).for_each(|lpn| map.change(AT(lpn), &mut medium, &mut ops));
        ops.clear();
        map.void_all();
        (0..6144).for_each(|lpn| assert!(!map.look_up(AT(lpn), 7, &mut medium, &mut ops)));
        assert_eq!(ops, []);
    }
}
