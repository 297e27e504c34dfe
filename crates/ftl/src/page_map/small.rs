//! A small page map for tests, whose dies do at once what they are asked to.

use ssdlab_core::Rng;
use ssdlab_nand::{CellModes, DieId, DieSpec, Geometry, PageOrder, ReducedMode};

use super::allocator::Writer;
use super::cache::{SlcCachePolicy, SlcCacheSpec, WhenFull};
use super::{PageMap, PageMapConfig};
use crate::op::FlashOp;
use crate::spec::{
    Buffering, Frontier, GcSpec, HostShare, KeepsOlderPages, MappingSpec, RowSpan, SuperblockSpan, TieBreak,
    VictimPolicy, WearLevellingSpec,
};
use crate::translation::Translation;

/// Logical pages.
pub const PAGES: u32 = 300;

/// A die of 16 blocks of 8 rows of 4 units, with two bits a cell.
pub fn map(journal: bool) -> PageMap {
    build(journal, None, KeepsOlderPages::No, (PageOrder::Alternating, 8))
}

/// The same with two superblocks set aside at one bit per cell, in which 16 units fit.
pub fn map_with_cache() -> PageMap {
    let cache = SlcCacheSpec {
        policy: SlcCachePolicy::Fixed,
        keep_free_per_1000: None,
        host_while_folding: None,
        capacity_gb: Some(2.0 * 16.0 * 4096.0 / 1e9),
        blocks_per_1000: None,
        when_full: Some(WhenFull::Direct),
        largest_write_kib: None,
        fold_after_idle_ms: Some(1.0),
        fold_pause_ms: 1.0,
    };
    build(false, Some(&cache), KeepsOlderPages::No, (PageOrder::Alternating, 8))
}

/// The same with parity of older pages, on a die of another order of so many pages.
pub fn map_with_parity(order: PageOrder, pages: u32) -> PageMap {
    build(false, None, KeepsOlderPages::Parity, (order, pages))
}

/// A collector without any refinement.
pub fn gc() -> GcSpec {
    GcSpec {
        policy: VictimPolicy::Greedy,
        choices: 2,
        tie_break: TieBreak::Fifo,
        frontier: Frontier::Separate,
        start_free_superblocks: 2,
        victims_per_start: 0,
        buffer_superpages: 8,
        buffering: Buffering::Streaming,
        host_share: HostShare::Unlimited,
        trickle_per_1000: 0,
        rows_per_read: 1,
        background_after_idle_ms: None,
        background_free_superblocks: 0,
        background_beside_host: false,
        erases_what_trim_empties: false,
    }
}

fn build(
    journal: bool,
    slc_cache: Option<&SlcCacheSpec>,
    keeps_older_pages: KeepsOlderPages,
    (page_order, pages_per_block): (PageOrder, u32),
) -> PageMap {
    let geometry = Geometry {
        planes: 1,
        blocks_per_plane: 16,
        pages_per_block,
        page_bytes: 16_384,
        spare_bytes: 0,
        bits_per_cell: 2,
        page_order,
    };
    let slc =
        ReducedMode { read_us: vec![25.0], program_us: vec![300.0], erase_ms: 1.0, rated_program_erase_cycles: 10_000 };
    let die = DieSpec { modes: CellModes { slc: Some(slc), ..CellModes::default() }, ..DieSpec::plain(geometry) };
    let mapping = MappingSpec {
        unit_kib: 4,
        row: RowSpan::AllPlanes,
        dies_per_group: None,
        superblock: SuperblockSpan::OneDie,
        reserved_blocks_per_1000: 0,
        journal,
        journal_rows_per_checkpoint_row: 1,
        journal_limit_rows: None,
        map_cache_kib: None,
    };
    let config = PageMapConfig {
        die: &die,
        dies: 1,
        blocks: 16,
        withheld_blocks: 0,
        logical_pages: PAGES,
        buffer_units: 16,
        read_granule_bytes: None,
        mapping: &mapping,
        gc: &gc(),
        wear_levelling: &WearLevellingSpec::default(),
        slc_cache,
        compression: None,
        keeps_older_pages,
    };
    PageMap::new(&config, &Rng::new(1))
}

/// Opens superblocks until no more than so many are free.
pub fn leave_free(map: &mut PageMap, free: u32) {
    while map.allocator.free(0) > free {
        let writer = Writer::Collector { stream: 0 };
        map.allocator.take(0, writer, &mut map.superblocks, &mut map.medium).expect("some are free");
    }
}

/// Ends every operation in the order in which it was asked for.
pub fn work(map: &mut PageMap, ops: &mut Vec<(DieId, FlashOp)>) {
    while !ops.is_empty() {
        let (die, op) = ops.remove(0);
        map.began(&op);
        map.done(die, op, ops);
    }
}
