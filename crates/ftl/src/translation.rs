//! The translation layer as the drive sees it: units come in, operations go out, operations end.

use ssdlab_core::Rng;
use ssdlab_nand::{BlockId, DieSpec, GrowingFaults, Layout, Medium, Outcome, TagFormat, UnitAddress};

use crate::buffer::WriteBuffer;
use crate::collector::Set;
use crate::compression::{Compression, CompressionSpec};
use crate::demand_map::{DemandMap, DemandMapCounters};
use crate::gc::Selector;
use crate::journal::{Journal, NO_CHECKPOINTS};
use crate::map::{Map, Place, Validity};
use crate::op::{FlashOp, OpKind, OpSink};
use crate::retire::Retirement;
use crate::rounds::Round;
use crate::slc_cache::{SlcCache, SlcCacheSpec};
use crate::spec::{
    Frontier as FrontierPolicy, GcSpec, HostShare, MappingSpec, STREAMS, SuperblockSpan, WearLevellingSpec,
};
use crate::superblock::{State, SuperblockId, Superblocks};
use crate::window::Window;

/// What a translation layer is built from.
#[derive(Clone, Copy, Debug)]
pub struct FtlConfig<'a> {
    pub die: &'a DieSpec,
    pub dies: u32,
    /// Multi-plane blocks of one die.
    pub blocks: u32,
    /// Of all these, how many are not used: one each on the first dies. For drives of an exact spare.
    pub withheld_blocks: u32,
    pub logical_pages: u32,
    /// Room of the write buffer, in units of 4 KiB.
    pub buffer_units: u32,
    pub mapping: &'a MappingSpec,
    pub gc: &'a GcSpec,
    pub wear_levelling: &'a WearLevellingSpec,
    pub slc_cache: Option<&'a SlcCacheSpec>,
    pub compression: Option<&'a CompressionSpec>,
}

/// Units programmed and moved, operations asked for. Units are logical ones of 4 KiB, where not said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlCounters {
    pub host_units: u64,
    pub host_rows: u64,
    pub gc_units: u64,
    pub gc_rows: u64,
    /// Moved out of the SLC cache; not among the `gc` figures, except for what was read.
    pub fold_units: u64,
    pub fold_rows: u64,
    /// Units of flash.
    pub gc_read_units: u64,
    pub metadata_rows: u64,
    pub block_erases: u64,
    pub collections: u64,
    pub overwrites_in_buffer: u64,
    pub trimmed_units: u64,
    /// Units of flash that are padding in host and collector rows.
    pub padding_units: u64,
    /// Units of flash that compression has saved: of what the host wrote, and again of what was moved.
    pub saved_units: u64,
    pub saved_moving_units: u64,
    /// Rows programmed again because a block went bad, and how often programs and erases failed.
    pub retire_rows: u64,
    pub program_failures: u64,
    pub erase_failures: u64,
}

/// A row that the host is about to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostRow {
    pub set: usize,
    pub superblock: SuperblockId,
    pub die: u32,
    pub block: BlockId,
    pub page: u32,
    /// What a unit of it costs of the host's share, in millionths.
    pub cost_micro: i64,
}

/// Page-mapped translation. Decides, never waits: it hears of units and of ended operations, and answers with
/// operations.
#[derive(Clone, Debug)]
pub struct Ftl {
    pub(crate) medium: Medium,
    pub(crate) map: Map,
    pub(crate) validity: Validity,
    pub(crate) blocks: Superblocks,
    pub(crate) sets: Vec<Set>,
    pub(crate) buffer: WriteBuffer,
    pub(crate) journal: Option<Journal>,
    pub(crate) demand_map: Option<DemandMap>,
    pub(crate) gc: GcSpec,
    pub(crate) slc_cache: Option<SlcCache>,
    pub(crate) compression: Option<Box<Compression>>,
    pub(crate) wear_levelling: WearLevellingSpec,
    mapping: MappingSpec,
    pub(crate) rng: Rng,
    pub(crate) counters: FtlCounters,
    pub(crate) host_programs: Window,
    /// Host programs waiting or under way, by die.
    pub(crate) host_outstanding: [u8; 64],
    /// Units in host programs under way.
    pub(crate) units_writing: u32,
    pub(crate) next_set: u32,
    /// By stream: sets in which the host may write now; and sets whose die can take another host program: one bit each.
    pub(crate) writable: [u64; STREAMS as usize],
    pub(crate) unfilled: u64,
    /// Sets in which collecting cannot free a superblock, and those of them in which a unit has died since.
    pub(crate) stalled: u64,
    pub(crate) revived: u64,
    /// Sets with victims that wait for programs to end.
    pub(crate) finishing: u64,
    /// Sets with victims that wait for a few last units, while the host waits for nothing.
    pub(crate) held: u64,
    /// A flush waits: partly filled rows are written too.
    pub(crate) forced: bool,
    pub(crate) valid_units: u64,
    pub(crate) row_units: u32,
    /// Binary logarithm of the units of flash that make 4 KiB.
    pub(crate) unit_shift: u32,
    /// How many rows' valid bits one word can hold.
    pub(crate) rows_per_span: u32,
    pub(crate) gc_buffer_units: u32,
    pub(crate) shared_frontier: bool,
    /// A collection leaves the host as much as it takes.
    pub(crate) free_share: bool,
    /// The collector works in rounds, and what it is about then.
    pub(crate) in_rounds: bool,
    pub(crate) round: Round,
    /// Streams that the host may name: each has open superblocks of its own.
    pub(crate) streams: u8,
    /// Streams of the write buffer: those, or those of [`SlcCacheSpec::streams`].
    pub(crate) buffer_streams: u8,
    /// Streams that have been written, one bit each.
    pub(crate) streams_used: u8,
    pub(crate) retirement: Retirement,
}

impl Ftl {
    /// Builds the translation layer over fresh dies.
    #[must_use]
    pub fn new(config: &FtlConfig, rng: &Rng) -> Self {
        let ratio = config.compression.map_or(1, |compression| compression.max_ratio);
        let layout = Layout::with_shares(config.die, config.dies, config.blocks, ratio);
        let mut medium = Medium::new(config.die, layout, TagFormat::new(config.logical_pages), rng);
        (1..=config.withheld_blocks).for_each(|die| medium.mark_bad(die * config.blocks - 1));
        let row_units = medium.layout().row_units;
        let reserve = config.blocks * config.mapping.reserved_blocks_per_1000 / 1000;
        let blocks = Superblocks::new(config.mapping.superblock, &medium, reserve);
        let buffer_streams = config.slc_cache.map_or(config.gc.frontier.streams(), SlcCacheSpec::streams);
        let mut ftl = Ftl {
            map: Map::new(config.logical_pages),
            validity: Validity::new(medium.layout().units(), row_units),
            sets: Vec::new(),
            buffer: WriteBuffer::new(config.buffer_units * ratio, buffer_streams, ratio > 1),
            journal: None,
            demand_map: None,
            gc: config.gc.clone(),
            slc_cache: config
                .slc_cache
                .map(|spec| SlcCache::new(spec, config.die, &blocks, config.blocks - reserve, config.gc)),
            compression: config
                .compression
                .map(|_| Box::new(Compression::new(ratio, medium.layout().units(), row_units, rng))),
            unit_shift: ratio.trailing_zeros(),
            wear_levelling: config.wear_levelling.clone(),
            mapping: config.mapping.clone(),
            rng: rng.stream("garbage collection"),
            counters: FtlCounters::default(),
            host_programs: Window::default(),
            host_outstanding: [0; 64],
            units_writing: 0,
            next_set: 0,
            writable: [0; STREAMS as usize],
            unfilled: u64::MAX,
            stalled: 0,
            revived: 0,
            finishing: 0,
            held: 0,
            forced: false,
            valid_units: 0,
            row_units,
            rows_per_span: 64 / row_units,
            // At least one read, and beside it the units of earlier ones that do not fill a row.
            gc_buffer_units: (config.gc.buffer_superpages * blocks.width() * row_units)
                .max((config.gc.rows_per_read + 1) * row_units - 1),
            shared_frontier: config.gc.frontier == FrontierPolicy::Shared,
            free_share: matches!(config.gc.host_share, HostShare::Unlimited | HostShare::BetweenRounds),
            in_rounds: config.gc.host_share == HostShare::BetweenRounds,
            round: Round::None,
            streams: config.gc.frontier.streams(),
            buffer_streams,
            streams_used: 1,
            retirement: Retirement::default(),
            blocks,
            medium,
        };
        ftl.set_aside();
        ftl.fill_free_lists();
        ftl
    }

    /// Sets the system area aside: the rings of the journal and of a map that is loaded on demand.
    fn set_aside(&mut self) {
        let (layout, pages) = (self.medium.layout().clone(), self.map.len());
        self.journal = None;
        self.demand_map = None;
        if self.mapping.journal {
            // A map that is on flash anyway needs no checkpoints.
            let on_flash = self.mapping.map_cache_kib.is_some();
            let interval = if on_flash { NO_CHECKPOINTS } else { self.mapping.journal_rows_per_checkpoint_row };
            let ring = self.take_ring(Journal::ring_blocks(pages, &layout, interval));
            self.journal = Some(Journal::new(ring, pages, &layout, interval));
        }
        if let Some(kib) = self.mapping.map_cache_kib {
            let wanted = DemandMap::places(pages, &layout);
            let ring = self.take_ring(wanted);
            // Too short a ring makes the drive read-only, and its map need not change.
            self.demand_map = (ring.len() == wanted as usize).then(|| DemandMap::new(kib, ring, pages, &layout));
        }
    }

    /// Takes blocks for a ring: the highest-numbered superblocks that are not reserve, over all dies.
    fn take_ring(&mut self, wanted: u32) -> Vec<Vec<BlockId>> {
        let layout = self.medium.layout();
        let mut ring: Vec<Vec<BlockId>> = Vec::new();
        for index in (0..layout.blocks).rev() {
            if ring.len() == wanted as usize {
                break;
            }
            let row: Vec<SuperblockId> = match self.mapping.superblock {
                SuperblockSpan::AllDies => vec![index],
                SuperblockSpan::OneDie => (0..layout.dies).map(|d| d * layout.blocks + index).collect(),
            };
            if row.iter().any(|&sb| self.blocks.state[sb as usize] != State::Free) {
                continue;
            }
            row.iter().for_each(|&sb| self.blocks.state[sb as usize] = State::System);
            ring.push((0..layout.dies).map(|d| self.blocks.block_on(row[d as usize % row.len()], d)).collect());
        }
        if ring.len() < wanted as usize {
            self.retirement.read_only |= self.retirement.any_failure();
        }
        ring
    }

    fn fill_free_lists(&mut self) {
        let (count, capacity) = (self.blocks.per_set(), self.blocks.capacity(self.medium.layout()));
        self.sets = (0..self.blocks.sets()).map(|_| Set::new(Selector::new(&self.gc, count, capacity))).collect();
        self.set_pool_aside();
        for sb in 0..self.blocks.count() {
            if self.blocks.state[sb as usize] == State::Free && !self.blocks.in_pool(sb) {
                let (_, set) = self.blocks.local(sb, self.medium.layout());
                self.sets[set as usize].free.push_back(sb);
            }
        }
        self.unfilled = u64::MAX;
        (self.stalled, self.revived, self.held, self.finishing) = (0, 0, 0, 0);
        self.round = Round::None;
        (0..self.sets.len()).for_each(|s| self.note_writable(s));
    }

    /// From now on blocks go bad in use, at moments drawn from `rng`.
    pub fn inject(&mut self, faults: GrowingFaults, rng: &Rng) {
        self.medium.inject(faults, rng);
    }

    /// Tells by how many thousandths the data shrink that are written from now on; 0: they cannot be compressed. Without
    /// meaning where the drive does not compress.
    pub fn set_compressibility(&mut self, per_1000: u32) {
        if let Some(compression) = &mut self.compression {
            compression.set_compressibility(per_1000);
        }
    }

    // ---- what the drive asks ------------------------------------------------------------------------------------

    #[must_use]
    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    /// For who models errors: the block is programmed for the first time after an erase, or pages of it are read.
    #[inline]
    pub fn note_programmed(&mut self, block: BlockId, now_s: u32) {
        self.medium.note_programmed(block, now_s);
    }

    /// See [`Ftl::note_programmed`].
    #[inline]
    pub fn count_reads(&mut self, block: BlockId, reads: u32) {
        self.medium.count_reads(block, reads);
    }

    /// Wears a block as if time had passed; see [`Medium::wear`].
    pub fn wear(&mut self, block: BlockId, erases: u32, wear_ppb: u64) {
        self.medium.wear(block, erases, wear_ppb);
    }

    #[must_use]
    pub fn counters(&self) -> FtlCounters {
        FtlCounters {
            metadata_rows: self.counters.metadata_rows
                + self.journal.as_ref().map_or(0, Journal::rows_written)
                + self.demand_map.as_ref().map_or(0, DemandMap::rows_written),
            retire_rows: self.retirement.rows,
            program_failures: self.retirement.program_failures,
            erase_failures: self.retirement.erase_failures,
            ..self.counters
        }
    }

    /// Units of flash that can hold host data: everything but bad, reserved and system blocks, and
    /// those set aside for an SLC cache.
    #[must_use]
    pub fn usable_units(&self) -> u64 {
        let kept = |s: &State| !matches!(s, State::System | State::Reserved);
        let each = u64::from(self.blocks.capacity(self.medium.layout()));
        let pool = self.blocks.pool.iter().filter(|&&p| p).count() as u64;
        (self.blocks.state.iter().filter(|s| kept(s)).count() as u64 - pool) * each
    }

    /// Whether the drive compresses what it writes.
    #[inline]
    #[must_use]
    pub fn compresses(&self) -> bool {
        self.unit_shift > 0
    }

    /// Units of flash that 4 KiB take if they cannot be compressed: a power of two, given by its binary logarithm.
    #[inline]
    #[must_use]
    pub fn unit_shift(&self) -> u32 {
        self.unit_shift
    }

    /// Units of flash that the logical unit takes which begins at `unit`.
    #[inline]
    #[must_use]
    pub fn units_at(&self, unit: UnitAddress) -> u32 {
        self.compression.as_ref().map_or(1, |compression| compression.extents.len(unit))
    }

    /// Logical pages that hold data.
    #[must_use]
    pub fn mapped_units(&self) -> u64 {
        self.valid_units
    }

    #[must_use]
    pub fn logical_pages(&self) -> u32 {
        self.map.len()
    }

    /// Streams that the host may name.
    #[inline]
    #[must_use]
    pub fn streams(&self) -> u8 {
        self.streams
    }

    /// Units of flash that the write buffer holds: waiting, or in programs that have not ended.
    #[inline]
    #[must_use]
    pub fn buffered_units(&self) -> u32 {
        self.buffer.units() + self.units_writing
    }

    #[inline]
    #[must_use]
    pub fn place(&self, lpn: u32) -> Place {
        self.map.get(lpn)
    }

    /// Whether a unit's program has not ended, so that it is read from the buffer.
    #[inline]
    #[must_use]
    pub fn in_ram(&self, unit: UnitAddress) -> bool {
        let (block, page) = self.medium.layout().row_of(unit);
        page >= self.medium.finished_pages(block)
    }

    /// Block and page of a unit that must be read from its die; `None` if its program has not ended.
    #[inline]
    #[must_use]
    pub fn row_on_flash(&self, unit: UnitAddress) -> Option<(BlockId, u32)> {
        let (block, page) = self.medium.layout().row_of(unit);
        (page < self.medium.finished_pages(block)).then_some((block, page))
    }

    /// Write generation of a logical page as the drive would return it; `None` if unmapped.
    #[inline]
    #[must_use]
    pub fn generation(&self, lpn: u32) -> Option<u8> {
        match self.map.get(lpn) {
            Place::Unmapped => None,
            Place::Buffer(slot) => Some(self.medium.format().generation(self.buffer.slot(slot).tag)),
            Place::Flash(unit) => Some(self.medium.generation(unit)),
        }
    }

    /// Asks the processor to fetch the map entry of a page that will be needed soon.
    #[inline]
    pub fn prefetch(&self, lpn: u32) {
        self.map.prefetch(lpn);
    }

    /// Which of the 64 units of flash from one on hold valid data.
    #[inline]
    #[must_use]
    pub fn valid_units(&self, from: UnitAddress) -> u64 {
        self.validity.span(from)
    }

    /// Asks the processor to fetch the map entries of what some of the 64 units from one on hold, `most` at most;
    /// returns which are left, and of how many it might have asked for more.
    #[inline]
    #[must_use]
    pub fn prefetch_moved(&self, from: UnitAddress, mut units: u64, mut most: u32) -> (u64, u32) {
        let format = self.medium.format();
        let tags = self.medium.tags_from(from);
        while units != 0 && most != 0 {
            self.map.prefetch(format.address(tags[(units.trailing_zeros() & 63) as usize]));
            units &= units - 1;
            most -= 1;
        }
        (units, most)
    }

    /// Logical units that wait in the buffer and are not yet given to a program.
    #[inline]
    #[must_use]
    pub fn waiting_units(&self) -> u32 {
        self.buffer.waiting()
    }

    /// Host units accepted so far; see [`Ftl::durable_units`].
    #[inline]
    #[must_use]
    pub fn accepted_units(&self) -> u64 {
        self.buffer.accepted()
    }

    /// Host units, in order of acceptance, up to which everything is on flash.
    #[inline]
    #[must_use]
    pub fn durable_units(&self) -> u64 {
        if self.buffered_units() == 0 { self.buffer.accepted() } else { self.host_programs.reached() }
    }

    /// Whether units wait in the buffer because the firmware holds the host back for a collection.
    #[must_use]
    pub fn host_is_held(&self) -> bool {
        let held = |stream: u8| self.buffer.units_of(stream) >= self.row_units && self.writable[stream as usize] == 0;
        (0..self.buffer_streams).any(held)
    }

    /// Whether any collection runs.
    #[must_use]
    pub fn is_collecting(&self) -> bool {
        self.sets.iter().any(|s| s.active)
    }

    /// Looks up the entries that a read of the host needs. Returns how many pieces of the map must be read for it first,
    /// with `tag` in their operations.
    pub fn look_up(&mut self, pages: std::ops::Range<u32>, tag: u16, sink: &mut impl OpSink) -> u32 {
        // Where nothing can be programmed any more, no piece of the map can be put out of DRAM for another: the firmware
        // reads the drive out with what it has.
        if self.retirement.frozen {
            return 0;
        }
        let Some(demand) = &mut self.demand_map else { return 0 };
        pages.map(|lpn| u32::from(demand.look_up(lpn, tag, &mut self.medium, sink))).sum()
    }

    /// Whether DRAM holds a part of the map only.
    #[inline]
    #[must_use]
    pub fn loads_on_demand(&self) -> bool {
        self.demand_map.is_some()
    }

    /// What a map that is loaded on demand has cost.
    #[must_use]
    pub fn demand_map_counters(&self) -> DemandMapCounters {
        self.demand_map.as_ref().map_or_else(DemandMapCounters::default, DemandMap::counters)
    }

    // ---- operations end -----------------------------------------------------------------------------------------

    /// A die has done what it was asked. Follow-up work goes to `sink`.
    #[inline]
    pub fn done(&mut self, op: FlashOp, sink: &mut impl OpSink) {
        if self.retirement.frozen {
            return;
        }
        match op.kind {
            OpKind::HostRead | OpKind::MergeRead | OpKind::RetireRead | OpKind::MapRead => return,
            OpKind::HostProgram => {
                if !self.finish_program(&op, sink) {
                    return;
                }
                self.units_writing -= u32::from(op.units);
                self.note_outstanding(op.die.into(), -1);
                if self.host_programs.end(op.tag) {
                    self.erase_finished(sink);
                }
            }
            OpKind::GcRead | OpKind::FoldRead => self.collector_read(&op, sink),
            OpKind::GcProgram | OpKind::FoldProgram | OpKind::FoldCopy => {
                if !self.finish_program(&op, sink) {
                    return;
                }
                if !self.collector_wrote(&op, sink) {
                    return;
                }
            }
            OpKind::MetadataProgram | OpKind::RetireProgram => {
                if !self.finish_program(&op, sink) {
                    return;
                }
            }
            OpKind::Erase => self.erased(&op, sink),
        }
        self.dispatch(sink);
    }

    /// Returns whether the program was good; if not, it has been asked for again, elsewhere.
    #[inline]
    fn finish_program(&mut self, op: &FlashOp, sink: &mut impl OpSink) -> bool {
        match self.medium.finish_program(op.block, op.page.into()) {
            Ok(Outcome::Done) => true,
            Ok(Outcome::Failed) => {
                self.program_failed(op, sink);
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
        let block = self.erase_block(op.block);
        if self.retirement.frozen {
            return;
        }
        let sb = self.blocks.of_block(block);
        if self.blocks.state[sb as usize] == State::System {
            let journal = self.journal.as_mut().is_some_and(|j| j.erased(block, &mut self.medium, sink));
            if !journal && let Some(demand) = &mut self.demand_map {
                demand.erased(block, &mut self.medium, sink);
            }
            if block != op.block {
                // A free superblock may have gone for it.
                for s in 0..self.sets.len() {
                    self.start_if_due(s, sink);
                    self.note_writable(s);
                }
            }
            return;
        }
        self.blocks.erasing[sb as usize] -= 1;
        if self.blocks.erasing[sb as usize] == 0 {
            let (_, set) = self.blocks.local(sb, self.medium.layout());
            let set = set as usize;
            let pool = self.blocks.in_pool(sb);
            *(if pool { &mut self.sets[set].pool_coming } else { &mut self.sets[set].coming }) -= 1;
            if self.keep_erased(sb, set) {
                self.blocks.state[sb as usize] = State::Free;
                let set = &mut self.sets[set];
                if pool { &mut set.pool_free } else { &mut set.free }.push_back(sb);
            }
            self.collector_step(set, sink);
        }
    }

    /// SECURITY ERASE: forgets everything and erases every block that is not empty. Wear stays. Returns the greatest
    /// number of blocks that any die had to erase.
    ///
    /// # Panics
    /// If operations are under way, or if the drive is read-only.
    pub fn secure_erase(&mut self) -> u32 {
        assert!(self.buffered_units() == 0 && self.sets.iter().all(|s| s.units_held() - s.staged.len() == 0));
        assert!(!self.is_read_only(), "a read-only drive is not erased");
        let layout = self.medium.layout().clone();
        let mut per_die = vec![0; layout.dies as usize];
        for block in 0..layout.block_count() {
            if !self.medium.is_bad(block) && self.medium.issued_pages(block) > 0 {
                match self.medium.erase(block) {
                    Ok(Outcome::Done) => self.counters.block_erases += u64::from(layout.planes),
                    Ok(Outcome::Failed) => self.retirement.erase_failures += 1,
                    Err(e) => panic!("firmware broke a rule of the flash: {e}"),
                }
                per_die[layout.die_of(block).0 as usize] += 1;
            } else if !self.medium.is_bad(block) && self.medium.mode(block) != self.medium.native_mode() {
                // Opened at one bit per cell, but not written yet.
                let native = self.medium.native_mode();
                self.medium.open(block, native, 0).expect("an empty block takes its die's own mode");
            }
        }
        self.map.clear();
        self.validity.clear_all();
        self.valid_units = 0;
        let reserve = layout.blocks * self.mapping.reserved_blocks_per_1000 / 1000;
        self.blocks = Superblocks::new(self.mapping.superblock, &self.medium, reserve);
        self.next_set = 0;
        self.forced = false;
        // The journal starts anew; what it has cost has been paid.
        self.counters.metadata_rows = self.counters().metadata_rows;
        self.set_aside();
        self.fill_free_lists();
        self.check_room();
        per_die.into_iter().max().unwrap_or(0)
    }

    #[must_use]
    pub fn spans_all_dies(&self) -> bool {
        self.mapping.superblock == SuperblockSpan::AllDies
    }

    pub(crate) fn static_spread(&self) -> Option<u32> {
        self.wear_levelling.static_spread_erases
    }
}
