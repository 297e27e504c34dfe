//! Where logical pages live: page mapping at 4 KiB, allocation striped over dies, garbage collection, TRIM, wear
//! levelling, and the journal by which the map survives a power cut.
//!
//! The translation layer decides and never waits: it hears of host units and of operations that have ended, and
//! answers with operations for dies. Time belongs to the crate above it, bits to the crate below.
//!
//! ```
//! # use ssdlab_core::Rng;
//! # use ssdlab_ftl::*;
//! # use ssdlab_nand::*;
//! # let die = DieSpec::plain(Geometry { planes: 1, blocks_per_plane: 16, pages_per_block: 8, page_bytes: 4096,
//! #     spare_bytes: 0, bits_per_cell: 1, page_order: PageOrder::Uniform });
//! # let mapping = MappingSpec { unit_kib: 4, row: RowSpan::AllPlanes, dies_per_group: None, superblock: SuperblockSpan::OneDie, reserved_blocks_per_1000: 0, journal: false,
//! #     journal_rows_per_checkpoint_row: 1, journal_limit_rows: None, map_cache_kib: None };
//! # let gc = GcSpec { policy: VictimPolicy::Greedy, choices: 2, tie_break: TieBreak::Fifo,
//! #     frontier: Frontier::Separate, start_free_superblocks: 2, victims_per_start: 0, buffer_superpages: 8,
//! #     buffering: Buffering::Streaming, host_share: HostShare::Unlimited, trickle_per_1000: 0, rows_per_read: 1,
//! #     background_after_idle_ms: None, background_free_superblocks: 0, background_beside_host: false,
//! #     erases_what_trim_empties: false };
//! # let wear_levelling = WearLevellingSpec::default();
//! let config = PageMapConfig { die: &die, dies: 1, blocks: 16, withheld_blocks: 0, logical_pages: 80, buffer_units: 8,
//!     read_granule_bytes: None, mapping: &mapping, gc: &gc, wear_levelling: &wear_levelling, slc_cache: None, compression: None,
//!     keeps_older_pages: KeepsOlderPages::No };
//! let mut map = PageMap::new(&config, &Rng::new(1));
//! let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
//! map.write(LogicalPage::new(7), 1, 0);
//! map.dispatch(&mut ops);
//! assert_eq!(ops[0].1.kind(), OpKind::HostProgram);
//! ```

mod log_block;
mod op;
pub mod page_map;
mod reads;
mod spec;
mod translation;

#[doc(hidden)]
pub use log_block::SavedLogBlock;
pub use log_block::{LogBlock, LogBlockConfig, LogBlockFault, LogBlockSpec, LogScheme, Merges};
pub use op::{Act, FOR_BUFFER, FlashOp, NOBODY, OpKind, OpSink};
#[doc(hidden)]
pub use page_map::SavedMap;
pub use page_map::cache::{HostTarget, PAST_CACHE, SlcCachePolicy, SlcCacheSpec, WhenFull};
pub use page_map::compression::CompressionSpec;
pub use page_map::gc;
pub use page_map::gc::{Candidate, ChooseVictim};
pub use page_map::map::{DemandMap, DemandMapCounters, Place, TAG_MAP};
pub use page_map::pacing::HostUnits;
pub use page_map::{
    JOURNAL_ENTRY_BYTES, Journal, PageMap, PageMapConfig, RecoveryFault, RecoveryWay, SuperblockId, SuperblockState,
    TAG_CHECKPOINT, TAG_JOURNAL, system_blocks,
};
pub use reads::{Promise, ReadFrom, RowReads, first_page, pages_brought};
pub use spec::{
    Buffering, Frontier, GcSpec, HostShare, KeepsOlderPages, MappingSpec, RowSpan, STREAMS, SuperblockSpan, TieBreak,
    VictimPolicy, WearLevellingSpec, spare_superblocks,
};
pub use translation::{
    ErasedBlock, FlashSpot, LostPage, Recovered, Repair, RepairKind, Round, Source, Stretch, Translation,
    TranslationCounters, Undone, Unfolded,
};
