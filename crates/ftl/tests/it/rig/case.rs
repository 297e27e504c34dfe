//! What is drawn at random: geometry, policies, and how the host behaves.

use proptest::prelude::*;
use ssdlab_ftl::{
    Buffering, CompressionSpec, Frontier, GcSpec, HostShare, HostTarget, KeepsOlderPages, MappingSpec, RowSpan,
    SlcCachePolicy, SlcCacheSpec, SuperblockSpan, TieBreak, VictimPolicy, WearLevellingSpec, WhenFull,
};
use ssdlab_nand::{CellModes, DieSpec, Geometry, PageOrder, ReducedMode, Wear};

#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub dies: u32,
    pub planes: u32,
    pub units_per_page: u32,
    pub blocks: u32,
    pub pages: u32,
    /// Factory bad blocks, in ten thousand.
    pub bad: u32,
    pub reserved_per_1000: u32,
    pub all_dies: bool,
    pub journal: bool,
    pub checkpoint_interval: u32,
    pub journal_limit_rows: Option<u32>,
    pub map_cache_kib: Option<u32>,
    pub buffer_rows: u32,
    /// Spare in addition to the least that a drive may have, per cent.
    pub extra_spare_percent: u32,
    pub policy: VictimPolicy,
    pub choices: u32,
    pub lifo: bool,
    pub frontier: Frontier,
    pub start_free: u32,
    pub victims_per_start: u32,
    pub buffer_superpages: u32,
    pub streaming: bool,
    pub host_share: HostShare,
    pub trickle: u32,
    pub rows_per_read: u32,
    pub background_free: u32,
    pub dynamic_wear: bool,
    pub static_spread: Option<u32>,
    /// Mean distance between failures; 0: none.
    pub programs_per_failure: u64,
    pub erases_per_failure: u64,
    pub cache: Option<Cache>,
    /// Logical units that one of flash can hold at most, of a drive that compresses.
    pub max_ratio: Option<u32>,
    /// Anything but `No`: on a die of two bits per cell at least.
    pub keeps_older_pages: KeepsOlderPages,
    /// Bits per cell of such a die, and of one with a cache: two or three.
    pub bits: u32,
}

/// An SLC cache.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    pub policy: SlcCachePolicy,
    pub keep_free_per_1000: u32,
    /// Superblocks set aside.
    pub pool: u32,
    pub slc_while_folding: bool,
    pub waits: bool,
    /// Of the caches that are set aside: takes writes of one page only.
    pub short_only: bool,
}

impl Case {
    pub fn die(&self) -> DieSpec {
        let geometry = Geometry {
            planes: self.planes,
            blocks_per_plane: self.blocks,
            pages_per_block: self.pages,
            page_bytes: 4096 * self.units_per_page,
            spare_bytes: 0,
            bits_per_cell: self.bits_per_cell(),
            page_order: [PageOrder::Uniform, PageOrder::Alternating, PageOrder::Triplets]
                [self.bits_per_cell() as usize - 1],
        };
        DieSpec {
            wear: Wear { rated_program_erase_cycles: 1000, factory_bad_blocks_per_10000: self.bad },
            modes: CellModes {
                slc: (geometry.bits_per_cell > 1).then(|| ReducedMode {
                    read_us: vec![25.0],
                    program_us: vec![300.0],
                    erase_ms: 1.0,
                    rated_program_erase_cycles: 10_000,
                }),
                mlc: None,
                tlc: None,
            },
            ..DieSpec::plain(geometry)
        }
    }

    fn bits_per_cell(&self) -> u32 {
        let keeps = self.keeps_older_pages != KeepsOlderPages::No;
        if keeps && self.cache.is_none() && self.pages.is_multiple_of(3) {
            self.bits
        } else {
            1 + u32::from(keeps || self.cache.is_some())
        }
    }

    pub fn mapping(&self) -> MappingSpec {
        MappingSpec {
            unit_kib: 4,
            row: RowSpan::AllPlanes,
            dies_per_group: None,
            superblock: if self.spans_all_dies() { SuperblockSpan::AllDies } else { SuperblockSpan::OneDie },
            reserved_blocks_per_1000: self.reserved_per_1000,
            journal: self.journal,
            journal_rows_per_checkpoint_row: self.checkpoint_interval,
            journal_limit_rows: self.journal_limit_rows,
            map_cache_kib: self.map_cache_kib,
        }
    }

    pub fn gc(&self) -> GcSpec {
        let gc = GcSpec {
            policy: self.policy,
            choices: if self.policy.asks_choices() { self.choices } else { GcSpec::default().choices },
            tie_break: if self.lifo && self.policy == VictimPolicy::Greedy { TieBreak::Lifo } else { TieBreak::Fifo },
            frontier: if self.cache.is_some() { Frontier::Separate } else { self.frontier },
            start_free_superblocks: if self.has_pool() { self.start_free.max(3) } else { self.start_free },
            victims_per_start: self.victims_per_start,
            buffer_superpages: self.buffer_superpages,
            buffering: if self.streaming { Buffering::Streaming } else { Buffering::StopAndWait },
            host_share: self.host_share,
            trickle_per_1000: if self.host_share == HostShare::Trickle { self.trickle } else { 0 },
            rows_per_read: self.rows_per_read,
            background_after_idle_ms: Some(1.0),
            background_free_superblocks: self.background_free,
            background_beside_host: false,
            erases_what_trim_empties: self.background_free % 2 == 1,
        };
        gc.validate().expect("every case is a valid policy");
        gc
    }

    fn has_pool(&self) -> bool {
        self.cache.is_some_and(|cache| cache.policy != SlcCachePolicy::Dynamic)
    }

    pub fn spans_all_dies(&self) -> bool {
        self.all_dies && self.cache.is_none_or(|cache| cache.policy != SlcCachePolicy::OnDie)
    }

    pub fn slc_cache(&self) -> Option<SlcCacheSpec> {
        let cache = self.cache?;
        let dynamic = cache.policy == SlcCachePolicy::Dynamic;
        let superblock = f64::from(self.planes * 4096 * self.units_per_page * (self.pages / 2) * self.dies);
        let spec = SlcCacheSpec {
            policy: cache.policy,
            keep_free_per_1000: dynamic.then_some(cache.keep_free_per_1000),
            host_while_folding: dynamic.then_some(if cache.slc_while_folding {
                HostTarget::Slc
            } else {
                HostTarget::Native
            }),
            capacity_gb: (cache.policy == SlcCachePolicy::Fixed).then_some(superblock * f64::from(cache.pool) / 1e9),
            blocks_per_1000: (cache.policy == SlcCachePolicy::OnDie).then_some(cache.pool * 50),
            when_full: (!dynamic).then_some(if cache.waits { WhenFull::Fold } else { WhenFull::Direct }),
            largest_write_kib: (cache.short_only && !dynamic).then_some(4),
            fold_after_idle_ms: Some(1.0),
            fold_pause_ms: 1.0,
        };
        spec.validate(&self.die(), &self.gc(), &self.mapping()).expect("every case is a valid cache");
        Some(spec)
    }

    /// Units of flash in 4 KiB.
    pub fn ratio(&self) -> u32 {
        self.max_ratio.unwrap_or(1)
    }

    pub fn compression(&self) -> Option<CompressionSpec> {
        let spec = CompressionSpec { max_ratio: self.max_ratio? };
        spec.validate(self.planes * self.units_per_page).expect("every case is a valid compression");
        Some(spec)
    }

    pub fn wear_levelling(&self) -> WearLevellingSpec {
        WearLevellingSpec { dynamic: self.dynamic_wear, static_spread_erases: self.static_spread }
    }
}

prop_compose! {
    fn geometry()(
        dies in 1u32..=8,
        planes in prop::sample::select(vec![1u32, 2, 4]),
        units_per_page in prop::sample::select(vec![1u32, 2, 4]),
        blocks in 8u32..=24,
        pages in 4u32..=64,
        bad in prop::sample::select(vec![0u32, 0, 100, 500]),
        reserved_per_1000 in prop::sample::select(vec![0u32, 60, 120]),
        all_dies in any::<bool>(),
        journal in any::<bool>(),
        checkpoint_interval in 1u32..=4,
        buffer_rows in 1u32..=16,
    ) -> (u32, u32, u32, u32, u32, u32, u32, bool, bool, u32, u32) {
        (dies, planes, units_per_page, blocks, pages, bad, reserved_per_1000, all_dies, journal, checkpoint_interval,
            buffer_rows)
    }
}

prop_compose! {
    fn any_cache()(
        policy in prop::sample::select(vec![SlcCachePolicy::Dynamic, SlcCachePolicy::Fixed, SlcCachePolicy::OnDie]),
        keep_free_per_1000 in 0u32..=400,
        pool in 1u32..=3,
        slc_while_folding in any::<bool>(),
        waits in any::<bool>(),
        short_only in any::<bool>(),
    ) -> Cache {
        Cache { policy, keep_free_per_1000, pool, slc_while_folding, waits, short_only }
    }
}

prop_compose! {
    fn policy()(
        policy in prop::sample::select(vec![VictimPolicy::Greedy, VictimPolicy::Fifo, VictimPolicy::DChoices,
            VictimPolicy::CostBenefit, VictimPolicy::Random, VictimPolicy::WindowedGreedy]),
        choices in 1u32..=8,
        lifo in any::<bool>(),
        frontier in prop::sample::select(vec![Frontier::Shared, Frontier::Separate, Frontier::ByStream]),
        start_free in 1u32..=3,
        victims_per_start in 0u32..=2,
        buffer_superpages in 1u32..=8,
        streaming in any::<bool>(),
        host_share in prop::sample::select(vec![HostShare::Unlimited, HostShare::Balanced, HostShare::Trickle,
            HostShare::InStep]),
        trickle in prop::sample::select(vec![0u32, 5, 50, 500]),
        rows_per_read in 1u32..=8,
    ) -> GcChoice {
        GcChoice { policy, choices, lifo, frontier, start_free, victims_per_start, buffer_superpages, streaming,
            host_share, trickle, rows_per_read }
    }
}

#[derive(Clone, Debug)]
struct GcChoice {
    policy: VictimPolicy,
    choices: u32,
    lifo: bool,
    frontier: Frontier,
    start_free: u32,
    victims_per_start: u32,
    buffer_superpages: u32,
    streaming: bool,
    host_share: HostShare,
    trickle: u32,
    rows_per_read: u32,
}

prop_compose! {
    /// Any translation layer that a drive file can ask for, small.
    pub fn any_case()(
        seed in any::<u64>(),
        g in geometry(),
        p in policy(),
        extra_spare_percent in prop::sample::select(vec![0u32, 0, 3, 10, 40]),
        background_free in 0u32..=6,
        dynamic_wear in any::<bool>(),
        static_spread in prop::option::of(1u32..=8),
        programs_per_failure in prop::sample::select(vec![0u64, 0, 30, 300, 3000]),
        erases_per_failure in prop::sample::select(vec![0u64, 0, 5, 50, 500]),
        cache in prop::option::of(any_cache()),
        journal_limit_rows in prop::option::of(2u32..=40),
        map_cache_kib in prop::option::of(1u32..=4),
        max_ratio in prop::option::weighted(0.35, prop::sample::select(vec![2u32, 4, 8, 16])),
    ) -> Case {
        let (dies, planes, units_per_page, blocks, pages, bad, reserved_per_1000, all_dies, journal,
            checkpoint_interval, buffer_rows) = g;
        // Rows have places for 64 at most, and an operation moves 255 units at most.
        let row_units = planes * units_per_page;
        let max_ratio = max_ratio.map(|ratio| ratio.min(64 / row_units));
        let rows_per_read = p.rows_per_read.min(255 / (row_units * max_ratio.unwrap_or(1)));
        Case {
            seed, dies, planes, units_per_page, blocks, pages, bad, reserved_per_1000, all_dies, journal,
            checkpoint_interval, buffer_rows, extra_spare_percent,
            policy: p.policy, choices: p.choices, lifo: p.lifo, frontier: p.frontier, start_free: p.start_free,
            victims_per_start: p.victims_per_start, buffer_superpages: p.buffer_superpages, streaming: p.streaming,
            host_share: p.host_share, trickle: p.trickle, rows_per_read,
            background_free, dynamic_wear, static_spread, programs_per_failure, erases_per_failure, cache,
            journal_limit_rows, map_cache_kib, max_ratio, keeps_older_pages: KeepsOlderPages::No, bits: 2,
        }
    }
}
