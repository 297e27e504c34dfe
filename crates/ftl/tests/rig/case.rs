//! What is drawn at random: geometry, policies, and how the host behaves.

use proptest::prelude::*;
use ssdlab_ftl::{
    Buffering, Frontier, GcSpec, HostShare, MappingSpec, SuperblockSpan, TieBreak, VictimPolicy, WearLevellingSpec,
};
use ssdlab_nand::{Bus, CellModes, DieSpec, Geometry, PageOrder, Timing, Wear};

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
}

impl Case {
    pub fn die(&self) -> DieSpec {
        DieSpec {
            description: String::new(),
            geometry: Geometry {
                planes: self.planes,
                blocks_per_plane: self.blocks,
                pages_per_block: self.pages,
                page_bytes: 4096 * self.units_per_page,
                spare_bytes: 0,
                bits_per_cell: 1,
                page_order: PageOrder::Uniform,
            },
            timing: Timing { read_us: vec![50.0], program_us: vec![500.0], erase_ms: 1.0 },
            bus: Bus { mega_transfers_per_s: 0.0, command_us: 0.0 },
            wear: Wear { rated_program_erase_cycles: 1000, factory_bad_blocks_per_10000: self.bad },
            modes: CellModes::default(),
            power: None,
        }
    }

    pub fn mapping(&self) -> MappingSpec {
        MappingSpec {
            superblock: if self.all_dies { SuperblockSpan::AllDies } else { SuperblockSpan::OneDie },
            reserved_blocks_per_1000: self.reserved_per_1000,
            journal: self.journal,
            journal_rows_per_checkpoint_row: self.checkpoint_interval,
        }
    }

    pub fn gc(&self) -> GcSpec {
        let gc = GcSpec {
            policy: self.policy,
            choices: self.choices,
            tie_break: if self.lifo { TieBreak::Lifo } else { TieBreak::Fifo },
            frontier: self.frontier,
            start_free_superblocks: self.start_free,
            victims_per_start: self.victims_per_start,
            buffer_superpages: self.buffer_superpages,
            buffering: if self.streaming { Buffering::Streaming } else { Buffering::StopAndWait },
            host_share: self.host_share,
            trickle_per_1000: if self.host_share == HostShare::Trickle { self.trickle } else { 0 },
            rows_per_read: self.rows_per_read,
            background_after_idle_ms: Some(1.0),
            background_free_superblocks: self.background_free,
        };
        gc.validate().expect("every case is a valid policy");
        gc
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
    fn policy()(
        policy in prop::sample::select(vec![VictimPolicy::Greedy, VictimPolicy::Fifo, VictimPolicy::DChoices,
            VictimPolicy::CostBenefit, VictimPolicy::Random]),
        choices in 1u32..=8,
        lifo in any::<bool>(),
        frontier in prop::sample::select(vec![Frontier::Shared, Frontier::Separate, Frontier::ByStream]),
        start_free in 1u32..=3,
        victims_per_start in 0u32..=2,
        buffer_superpages in 1u32..=8,
        streaming in any::<bool>(),
        host_share in prop::sample::select(vec![HostShare::Unlimited, HostShare::Balanced, HostShare::Trickle]),
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
    ) -> Case {
        let (dies, planes, units_per_page, blocks, pages, bad, reserved_per_1000, all_dies, journal,
            checkpoint_interval, buffer_rows) = g;
        Case {
            seed, dies, planes, units_per_page, blocks, pages, bad, reserved_per_1000, all_dies, journal,
            checkpoint_interval, buffer_rows, extra_spare_percent,
            policy: p.policy, choices: p.choices, lifo: p.lifo, frontier: p.frontier, start_free: p.start_free,
            victims_per_start: p.victims_per_start, buffer_superpages: p.buffer_superpages, streaming: p.streaming,
            host_share: p.host_share, trickle: p.trickle, rows_per_read: p.rows_per_read,
            background_free, dynamic_wear, static_spread, programs_per_failure, erases_per_failure,
        }
    }
}
