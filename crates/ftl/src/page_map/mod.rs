//! Page mapping at 4 KiB: any logical page may live in any unit of flash.
//!
//! [`PageMap`] is made of parts that own their data, and only orchestrates them:
//!
//! | part | what it owns |
//! |---|---|
//! | [`map`] | where each logical page lives; what DRAM holds of that |
//! | `validity`, `superblock` | which units of flash are valid; states and valid counts of superblocks |
//! | `write_buffer`, `parts` | units that wait for a row; which of them lack sectors |
//! | `allocator` | free and open superblocks: where the next row goes |
//! | `host_rows` | in which domain the host's next row goes, and which rows have reached flash |
//! | `collector` | victims, what is read of them, and what waits to be written |
//! | [`gc`] | which victim: one file a policy |
//! | [`pacing`] | what the host may write meanwhile: one file a policy |
//! | [`cache`] | blocks at one bit per cell: one file a policy |
//! | [`compression`] | extents, and how rows are filled with them |
//! | `older_pages` | copies or parity of pages that a program endangers; padding in their place |
//! | `metadata_log` | journal, checkpoints and map pages on flash |
//! | `bad_blocks` | what has failed, and whether the drive can still write |
//! | `programmed` | which of the rows that were queued have been programmed |
//! | `recovery` | what a power cut has destroyed; how everything else is found again |
//! | `saved` | nothing: what the flash holds of all this, for a file |
//! | `map_prefetch` | nothing of the drive: which map entries this machine should fetch soon |
//!
//! The way of a host unit is in `host_write.rs`, `partial_write.rs` and `long_write.rs`, that of a moved one in `collector/`.

mod allocator;
mod as_translation;
mod bad_blocks;
pub mod cache;
mod collector;
pub mod compression;
mod frontier;
pub mod gc;
mod host_rows;
mod host_write;
mod invariants;
mod last_rows;
mod long_write;
pub mod map;
mod map_prefetch;
mod metadata_log;
mod older_pages;
pub mod pacing;
mod pairs;
mod partial_write;
mod parts;
mod program_window;
mod programmed;
mod recovery;
mod saved;
mod superblock;
mod system_ring;
mod validity;
mod write_buffer;

use std::sync::Arc;

use ssdlab_core::Rng;
use ssdlab_nand::{
    BlockId, CellMode, DieId, DieSpec, Dies, GrowingFaults, Layout, LogicalPage, Medium, Outcome, TagFormat,
    UnitAddress,
};

use crate::op::{FlashOp, OpKind, OpSink};
use crate::spec::{Buffering, Frontier, GcSpec, HostShare, KeepsOlderPages, MappingSpec, WearLevellingSpec};
use crate::translation::{ErasedBlock, Translation, TranslationCounters};
use allocator::Allocator;
use bad_blocks::BadBlocks;
use cache::{SlcCache, SlcCacheSpec};
use collector::Collector;
use compression::{Compression, CompressionSpec};
use host_rows::HostRows;
use last_rows::LastRows;
use map::{DemandMapCounters, Map, Place};
use map_prefetch::MapPrefetch;
use metadata_log::MetadataLog;
use older_pages::{CopyArea, Padding, Parity};
use pacing::HostPacing;
use parts::Parts;
use program_window::numbers_kept;
use programmed::Programmed;
use recovery::Recovery;
use superblock::{State, Superblocks};
use validity::Validity;
use write_buffer::WriteBuffer;

pub use metadata_log::{JOURNAL_ENTRY_BYTES, Journal, TAG_CHECKPOINT, TAG_JOURNAL};
pub use recovery::{RecoveryFault, RecoveryWay};
pub use saved::SavedMap;
pub use superblock::{State as SuperblockState, SuperblockId};

/// What a page map is built from.
#[derive(Clone, Copy, Debug)]
pub struct PageMapConfig<'a> {
    pub die: &'a DieSpec,
    pub dies: u32,
    /// Multi-plane blocks of one die.
    pub blocks: u32,
    /// Of all these, how many are not used: one each on the first dies. For drives of an exact spare.
    pub withheld_blocks: u32,
    pub logical_pages: u32,
    /// Room of the write buffer, in logical pages.
    pub buffer_units: u32,
    /// The least stretch of a page that is read by itself; `None`: what is read of the map is read as a row.
    pub read_granule_bytes: Option<u32>,
    pub mapping: &'a MappingSpec,
    pub gc: &'a GcSpec,
    pub wear_levelling: &'a WearLevellingSpec,
    pub slc_cache: Option<&'a SlcCacheSpec>,
    pub compression: Option<&'a CompressionSpec>,
    pub keeps_older_pages: KeepsOlderPages,
}

/// Page-mapped translation. Decides, never waits: it hears of units and of ended operations, and answers with
/// operations. See the module's own page.
#[derive(Clone, Debug)]
pub struct PageMap {
    medium: Medium,
    map: Map,
    validity: Validity,
    superblocks: Superblocks,
    buffer: WriteBuffer,
    parts: Parts,
    allocator: Allocator,
    host: HostRows,
    collector: Collector,
    pacing: HostPacing,
    cache: Option<SlcCache>,
    compression: Option<Box<Compression>>,
    log: MetadataLog,
    /// Only where firmware makes copies of older pages, or parity of them.
    copies: Option<Box<CopyArea>>,
    /// Only where firmware covers older pages by parity.
    parity: Option<Box<Parity>>,
    /// Only where firmware pads at a flush.
    padding: Option<Box<Padding>>,
    bad_blocks: BadBlocks,
    recovery: Recovery,
    counters: TranslationCounters,
    programmed: Programmed,
    rng: Rng,
    prefetch: MapPrefetch,
    // What never changes.
    gc: GcSpec,
    mapping: MappingSpec,
    read_granule_bytes: Option<u32>,
    /// See [`WearLevellingSpec`].
    least_worn_first: bool,
    static_spread_erases: Option<u32>,
    row_units: u32,
    /// Room of the write buffer, in units of flash.
    buffer_room: u32,
    /// Units that a superblock can hold in the die's own cell mode.
    superblock_units: u32,
    /// Binary logarithm of the units of flash that make a logical page.
    unit_shift: u32,
    /// How many rows' valid bits one word can hold.
    rows_per_span: u32,
    /// Nothing but room in its buffer ever holds the collector up.
    streams_freely: bool,
    /// Any row or moved unit may change whether the host may write another row; otherwise only what the allocator notes.
    room_changes_by_row: bool,
    /// Capacitors feed the drive.
    last_rows: LastRows,
}

impl PageMap {
    /// Builds the page map over fresh dies.
    #[must_use]
    pub fn new(config: &PageMapConfig, rng: &Rng) -> Self {
        let ratio = config.compression.map_or(1, |compression| compression.max_ratio);
        let layout = Layout::with_units(config.die, config.dies, config.blocks, config.mapping.unit_bytes() / ratio);
        let mut medium = Medium::new(config.die, layout, TagFormat::new(config.logical_pages), rng);
        let last_of_die = |die| medium.layout().block_at(die, config.blocks - 1);
        let withheld: Vec<BlockId> = Dies::all(config.withheld_blocks).iter().map(last_of_die).collect();
        withheld.into_iter().for_each(|block| medium.mark_bad(block));
        let layout = medium.layout();
        let (row_units, units) = (layout.row_units, layout.units());
        let (mapping, gc) = (config.mapping, config.gc);
        let reserve = reserved_blocks(config.blocks, mapping);
        let superblocks = Superblocks::new(mapping, &medium, reserve);
        let superblock_units = superblocks.capacity(layout);
        let buffer_streams = config.slc_cache.map_or(gc.frontier.streams(), SlcCacheSpec::streams);
        let new_cache = |spec| SlcCache::new(spec, config.die, &superblocks, config.blocks - reserve, gc);
        let new_compression = |_| Box::new(Compression::new(ratio, units, row_units, rng));
        let mut map = PageMap {
            map: Map::new(config.logical_pages),
            validity: Validity::new(units, row_units),
            buffer: WriteBuffer::new(config.buffer_units * ratio, buffer_streams, ratio > 1),
            parts: Parts::of_units(config.mapping.unit_bytes()),
            buffer_room: config.buffer_units * ratio,
            allocator: Allocator::new(&superblocks, gc.frontier, config.wear_levelling.dynamic, row_units),
            host: HostRows::new(
                superblocks.domains(),
                superblocks.width(),
                numbers_kept(config.keeps_older_pages != KeepsOlderPages::No),
            ),
            collector: Collector::new(gc, &superblocks, superblock_units, row_units),
            pacing: HostPacing::new(gc),
            cache: config.slc_cache.map(new_cache),
            compression: config.compression.map(new_compression),
            log: MetadataLog::default(),
            copies: (config.keeps_older_pages != KeepsOlderPages::No).then(Box::default),
            padding: (config.keeps_older_pages == KeepsOlderPages::PaddingAtFlush).then(Box::default),
            parity: (config.keeps_older_pages == KeepsOlderPages::Parity).then(Box::default),
            bad_blocks: BadBlocks::default(),
            recovery: Recovery::new(superblocks.count(), config.die.geometry.bits_per_cell),
            counters: TranslationCounters::default(),
            programmed: Programmed::default(),
            rng: rng.stream("garbage collection"),
            prefetch: MapPrefetch::default(),
            gc: gc.clone(),
            mapping: mapping.clone(),
            read_granule_bytes: config.read_granule_bytes,
            least_worn_first: config.wear_levelling.dynamic,
            static_spread_erases: config.wear_levelling.static_spread_erases,
            row_units,
            superblock_units,
            unit_shift: ratio.trailing_zeros(),
            rows_per_span: 64 / row_units,
            streams_freely: gc.buffering == Buffering::Streaming
                && gc.host_share == HostShare::Unlimited
                && config.slc_cache.is_none(),
            room_changes_by_row: gc.frontier == Frontier::Shared
                || gc.host_share != HostShare::Unlimited
                || config.slc_cache.is_some(),
            last_rows: LastRows::None,
            superblocks,
            medium,
        };
        map.begin_empty();
        map
    }

    /// For studying policies: from now on `choose` chooses the victims, and `pace` says what the host may write meanwhile.
    /// They stay through power cuts, and when the drive is erased.
    ///
    /// # Panics
    /// If the map is in use already, or `pace` is given and the drive file's pacing sets the host no limit.
    pub fn study(&mut self, choose: Option<Arc<gc::ChooseVictim>>, pace: Option<Arc<pacing::HostUnits>>) {
        assert_eq!(self.counters, TranslationCounters::default(), "policies are changed before anything is written");
        if let Some(choose) = choose {
            self.collector.choose_by(&choose, &self.superblocks);
        }
        if let Some(pace) = pace {
            assert!(self.pacing.limits_host(), "the drive file must name a pacing that limits the host");
            self.pacing = HostPacing::of(pacing::Pacing::Study(pacing::Study(pace)));
        }
    }

    /// A collector that knows of no superblock. A policy that is studied goes on choosing.
    fn begin_collecting(&mut self) {
        let studied = self.collector.chosen_by();
        self.collector = Collector::new(&self.gc, &self.superblocks, self.superblock_units, self.row_units);
        if let Some(choose) = studied {
            self.collector.choose_by(&choose, &self.superblocks);
        }
    }

    /// Begins on flash that holds nothing: sets the system area and the cache aside, and lists what is free.
    fn begin_empty(&mut self) {
        let (superblocks, bad_blocks) = (&mut self.superblocks, &mut self.bad_blocks);
        let take_ring = |wanted: u32| {
            let ring = superblocks.take_ring(wanted);
            if ring.len() < wanted as usize && bad_blocks.any_failure() {
                bad_blocks.make_read_only();
            }
            ring
        };
        let (layout, rows_before) = (self.medium.layout(), self.log.rows_written());
        let (logical_pages, granule) = (self.map.logical_pages(), self.read_granule_bytes);
        self.log = MetadataLog::new(&self.mapping, logical_pages, layout, rows_before, granule, take_ring);
        if let Some(copies) = &mut self.copies {
            let wanted = match self.parity {
                Some(_) => {
                    let (medium, one_bit) = (&self.medium, CellMode::Slc);
                    older_pages::blocks_for_parity(medium.native_mode().bits(), medium.pages_in_mode(one_bit))
                }
                None => older_pages::BLOCKS_OF_A_DIE,
            };
            let blocks = self.superblocks.take_of_every_die(wanted);
            if blocks.iter().any(|blocks| blocks.len() < wanted as usize) && self.bad_blocks.any_failure() {
                self.bad_blocks.make_read_only();
            }
            if let Some(parity) = &mut self.parity {
                parity.begin_empty(blocks.len());
            }
            copies.begin_empty(blocks);
        }
        if let Some(cache) = &mut self.cache {
            cache.clear();
            if cache.pool_per_domain() > 0 {
                self.superblocks.set_pool_aside(cache.pool_per_domain());
            }
        }
        self.allocator = Allocator::new(&self.superblocks, self.gc.frontier, self.least_worn_first, self.row_units);
        self.begin_collecting();
        self.host.restart();
        (0..self.allocator.domains()).for_each(|domain| self.note_writable(domain));
    }

    /// From now on blocks go bad in use, at moments drawn from `rng`.
    pub fn inject(&mut self, faults: GrowingFaults, rng: &Rng) {
        self.medium.inject(faults, rng);
    }

    /// Logical pages that hold data.
    #[must_use]
    pub fn mapped_units(&self) -> u64 {
        self.map.mapped()
    }

    /// Where the map says that a logical page lives.
    #[inline]
    #[must_use]
    pub fn place(&self, lpn: LogicalPage) -> Place {
        self.map.get(lpn)
    }

    /// Whether a unit's program has not ended, so that it is read from RAM.
    #[inline]
    #[must_use]
    pub fn in_ram(&self, unit: UnitAddress) -> bool {
        let (block, page) = self.medium.layout().row_of(unit);
        page >= self.medium.finished_pages(block)
    }

    /// Whether any collection runs.
    #[must_use]
    pub fn is_collecting(&self) -> bool {
        self.collector.domains().any(collector::Domain::is_collecting)
    }

    /// What a map that is loaded on demand has cost.
    #[must_use]
    pub fn demand_map_counters(&self) -> DemandMapCounters {
        self.log.demand_map_counters()
    }

    // ---- operations end -----------------------------------------------------------------------------------------

    /// A die has done what it was asked. Follow-up work goes to `sink`.
    #[inline]
    pub fn done(&mut self, die: DieId, op: FlashOp, sink: &mut impl OpSink) {
        if self.is_frozen() {
            if op.is_read_for_buffer() {
                self.read_for_buffer_ended(&op, sink);
            }
            return;
        }
        if op.kind().is_program() && !self.finish_program(die, &op, sink) {
            return;
        }
        match op.kind() {
            OpKind::MergeRead | OpKind::MapRead if op.is_read_for_buffer() => self.read_for_buffer_ended(&op, sink),
            OpKind::HostRead | OpKind::MergeRead | OpKind::RetireRead | OpKind::MapRead => return,
            OpKind::HostProgram => {
                if self.host.end(die, op.units(), op.number()) {
                    self.erase_finished(sink);
                }
            }
            OpKind::GcRead | OpKind::FoldRead => self.collector_read(&op, sink),
            OpKind::GcProgram | OpKind::FoldProgram | OpKind::FoldCopy => {
                if !self.collector_wrote(&op, sink) {
                    return;
                }
            }
            OpKind::MetadataProgram => {
                self.log.row_ended(op.block(), op.page());
                if self.has_emptied() {
                    self.save_and_erase_emptied(sink);
                }
            }
            OpKind::SafetyRead => self.safety_read_ended(op.block(), op.page(), sink),
            OpKind::SafetyProgram => self.safety_program_ended(&op, sink),
            OpKind::RetireProgram => self.row_copied(op.block()),
            OpKind::Erase => self.erased(&op, sink),
            OpKind::CopyRead | OpKind::CopyProgram => unreachable!("a page map has no merges"),
        }
        self.dispatch(sink);
        if self.padding.is_some() {
            self.pad_for_flush(sink);
        }
        if self.collector.works_beside_host() {
            self.press_where_short(sink);
        }
    }

    /// Returns whether the program was good; if not, it has been asked for again, elsewhere.
    #[inline(always)]
    fn finish_program(&mut self, die: DieId, op: &FlashOp, sink: &mut impl OpSink) -> bool {
        match self.medium.finish_program(op.block(), op.page()) {
            Ok(Outcome::Done) => {
                self.programmed.ended(op.kind());
                true
            }
            Ok(Outcome::Failed) => {
                self.program_failed(die, op, sink);
                false
            }
            Err(e) => panic!("firmware broke a rule of the flash: {e}"),
        }
    }

    /// Erases a block. Returns it, or what takes its place if it has gone bad.
    fn erase_block(&mut self, block: BlockId) -> BlockId {
        match self.medium.erase(block) {
            Ok(Outcome::Done) => {
                self.counters.block_erases += u64::from(self.medium.layout().planes);
                block
            }
            Ok(Outcome::Failed) => self.erase_failed(block),
            Err(e) => panic!("firmware broke a rule of the flash: {e}"),
        }
    }

    fn erased(&mut self, op: &FlashOp, sink: &mut impl OpSink) {
        let block = self.erase_block(op.block());
        if self.is_frozen() {
            return;
        }
        let sb = self.superblocks.of_block(block);
        if self.superblocks.state(sb) == State::System {
            if self.is_copy_block(block) {
                self.copy_block_erased(op.block(), block, sink);
            } else {
                self.log.erased(block, &mut self.medium, sink);
            }
            if block != op.block() {
                // A free superblock may have gone for it.
                for domain in 0..self.allocator.domains() {
                    self.start_if_due(domain, sink);
                    self.note_writable(domain);
                }
            }
            return;
        }
        if self.superblocks.block_erased(sb) {
            let (_, domain) = self.superblocks.local(sb, self.medium.layout());
            let pool = self.superblocks.in_pool(sb);
            let sound = self.keep_erased(sb, domain);
            if sound {
                self.superblocks.set_state(sb, State::Free);
            }
            self.recovery.erased(sb);
            self.allocator.arrived(domain, sb, pool, sound);
            if self.copies.is_some() {
                self.move_copies(domain, sink);
            }
            self.collector_step(domain, sink);
            if self.has_emptied() {
                self.emptied_one(domain, sb, sink);
            }
        }
    }

    /// SECURITY ERASE: forgets everything and erases every block that is not empty. Wear stays. Returns these
    /// blocks.
    ///
    /// # Panics
    /// If operations are under way, or if the drive is read-only.
    pub fn secure_erase(&mut self) -> Vec<ErasedBlock> {
        assert!(self.buffered_units() == 0 && self.collector.domains().all(|domain| domain.units_under_way() == 0));
        assert!(!self.is_read_only(), "a read-only drive is not erased");
        let layout = self.medium.layout().clone();
        let mut erased = Vec::new();
        for block in layout.all_blocks() {
            if !self.medium.is_bad(block) && self.medium.issued_pages(block) > 0 {
                erased.push(ErasedBlock::about_to_be(block, &self.medium));
                match self.medium.erase(block) {
                    Ok(Outcome::Done) => self.counters.block_erases += u64::from(layout.planes),
                    Ok(Outcome::Failed) => self.bad_blocks.count_erase_failure(),
                    Err(e) => panic!("firmware broke a rule of the flash: {e}"),
                }
            } else if !self.medium.is_bad(block) && self.medium.mode(block) != self.medium.native_mode() {
                // Opened at one bit per cell, but not written yet.
                let native = self.medium.native_mode();
                self.medium.open(block, native).expect("an empty block takes its die's own mode");
            }
        }
        self.map.clear();
        self.recovery.clear();
        self.validity.clear_all();
        let reserve = reserved_blocks(layout.blocks, &self.mapping);
        self.superblocks.form_again(&self.mapping, &self.medium, reserve);
        self.parts.clear();
        self.buffer.set_lacking(false);
        self.begin_empty();
        self.check_room();
        erased
    }

    /// The clock of ages: logical units that host and collector have written so far, without folds and padding.
    #[inline]
    fn units_written(&self) -> u64 {
        self.counters.host_units + self.counters.gc_units
    }

    /// What it showed when so many rows fewer had been queued: on the average, as a row may hold padding, or the firmware's own.
    fn units_written_before(&self, rows: u64) -> u64 {
        let (now, queued) = (self.units_written(), self.medium.rows_queued());
        let since = u128::from(now) * u128::from(rows.min(queued)) / u128::from(queued.max(1));
        now - since as u64
    }

    /// Units of flash that the logical page takes which begins at `unit`.
    #[inline]
    fn units_at(&self, unit: UnitAddress) -> u32 {
        self.compression.as_ref().map_or(1, |compression| compression.extents().len(unit))
    }

    /// Notes where extents begin in a row of which so many units are filled, on a drive that compresses.
    fn begin_extents(&mut self, start: UnitAddress, begins: u64, units: u32) {
        let padding = if units < self.row_units { 1 << units } else { 0 };
        if let Some(compression) = &mut self.compression {
            compression.set_row(start, begins | padding);
        }
    }
}

/// Blocks of each die that firmware sets aside for rows of its own, for a drive with so many logical pages: journal, map, and what
/// keeps older pages.
#[must_use]
pub fn system_blocks(
    mapping: &MappingSpec,
    keeps_older_pages: KeepsOlderPages,
    logical_pages: u32,
    die: &DieSpec,
    layout: &Layout,
) -> u32 {
    let journal = mapping.journal.then(|| Journal::checkpoints(mapping, logical_pages, layout));
    let ring = journal.map_or(0, |checkpoints| Journal::ring_blocks(&checkpoints, layout));
    let map = mapping.map_cache_kib.map_or(0, |_| map::DemandMap::places(logical_pages, layout));
    let at_one_bit = || die.mode(CellMode::Slc).map_or(0, |mode| mode.pages_per_block);
    let older_pages = match keeps_older_pages {
        KeepsOlderPages::No => 0,
        KeepsOlderPages::Copies | KeepsOlderPages::PaddingAtFlush => older_pages::BLOCKS_OF_A_DIE,
        KeepsOlderPages::Parity => older_pages::blocks_for_parity(die.native_mode().bits(), at_one_bit()),
    };
    ring + map + older_pages
}

/// Blocks of each die that are kept for replacing others.
fn reserved_blocks(blocks: u32, mapping: &MappingSpec) -> u32 {
    blocks * mapping.reserved_blocks_per_1000 / 1000
}

#[cfg(test)]
mod small;
