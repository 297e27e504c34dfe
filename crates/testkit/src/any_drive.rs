//! Small drives drawn at random by property tests.

use proptest::prelude::*;
use ssdlab_ftl::{
    Buffering, Frontier, GcSpec, HostShare, LogBlockSpec, LogScheme, MappingSpec, RowSpan, SuperblockSpan, TieBreak,
    VictimPolicy, WearLevellingSpec,
};
use ssdlab_nand::{Bus, DieSpec, Geometry, PageOrder, Timing, Wear};
use ssdlab_ssd::{ControllerSpec, DriveSpec, LinkGeneration, LinkSpec, NotQueued, PcieSpec, WriteBufferSpec};

/// A small drive whose capacity is still to be found, and a seed.
#[derive(Clone, Debug)]
pub struct DrawnDrive {
    pub seed: u64,
    die: DieSpec,
    drive: DriveSpec,
    spare_percent: u64,
}

impl DrawnDrive {
    /// The same with a processor that takes so long for each unit that is moved.
    #[must_use]
    pub fn moving_units_in_us(mut self, us: u32) -> Self {
        self.drive.controller.move_unit_us = us.into();
        self
    }

    /// The same with units of up to so many KiB: as many as a page of its die holds.
    #[must_use]
    pub fn mapping_units_of_kib(mut self, unit_kib: u32) -> Self {
        self.drive.mapping.unit_kib = unit_kib.min(self.die.geometry.page_bytes >> 10);
        self
    }

    /// The drive with the greatest capacity that its own check accepts, less the spare; `None` if there is none.
    #[must_use]
    pub fn build(&self) -> Option<(DriveSpec, DieSpec)> {
        let mut spec = self.drive.clone();
        let raw = self.die.raw_bytes() * u64::from(spec.flash.dies);
        let unit_bytes = u64::from(spec.mapping.unit_bytes());
        for percent in (5..=90).rev().step_by(5) {
            spec.capacity_bytes = raw / 100 * percent / 100 * (100 - self.spare_percent) / unit_bytes * unit_bytes;
            let valid = spec.capacity_bytes > 0 && spec.validate(&self.die).is_ok();
            if valid && ssdlab_ssd::build("small", &spec, &self.die, self.seed).is_ok() {
                return Some((spec, self.die.clone()));
            }
        }
        None
    }
}

prop_compose! {
    fn any_die()(
        planes in prop::sample::select(vec![1u32, 2, 4]),
        blocks_per_plane in 12u32..=40,
        pages_per_block in 4u32..=32,
        units in prop::sample::select(vec![1u32, 2, 4]),
        alternating in any::<bool>(),
        read_us in 1u32..=200,
        program_us in 100u32..=3000,
        bus in prop::sample::select(vec![0.0, 40.0, 400.0]),
        bad in prop::sample::select(vec![0u32, 0, 200]),
    ) -> DieSpec {
        let times = |us: u32| if alternating { vec![f64::from(us), f64::from(us) * 2.5] } else { vec![f64::from(us)] };
        let geometry = Geometry {
            planes,
            blocks_per_plane,
            pages_per_block,
            page_bytes: units * 4096,
            spare_bytes: 100 * units,
            bits_per_cell: if alternating { 2 } else { 1 },
            page_order: if alternating { PageOrder::Alternating } else { PageOrder::Uniform },
        };
        DieSpec {
            timing: Timing { read_us: times(read_us), program_us: times(program_us), erase_ms: 3.0 },
            bus: Bus { mega_transfers_per_s: bus, command_us: 1.5 },
            wear: Wear { rated_program_erase_cycles: 1000, factory_bad_blocks_per_10000: bad },
            ..DieSpec::plain(geometry)
        }
    }
}

prop_compose! {
    fn any_gc()(
        policy in prop::sample::select(vec![VictimPolicy::Greedy, VictimPolicy::Fifo, VictimPolicy::DChoices,
            VictimPolicy::CostBenefit, VictimPolicy::Random, VictimPolicy::WindowedGreedy]),
        lifo in any::<bool>(),
        frontier in prop::sample::select(vec![Frontier::Shared, Frontier::Separate, Frontier::ByStream]),
        start_free_superblocks in 1u32..=3,
        victims_per_start in 0u32..=2,
        buffer_superpages in 1u32..=8,
        streaming in any::<bool>(),
        host_share in prop::sample::select(vec![HostShare::Unlimited, HostShare::Balanced, HostShare::Trickle,
            HostShare::InStep, HostShare::BetweenRounds]),
        rows_per_read in 1u32..=8,
        background in prop::option::of(10u32..2000),
        background_free_superblocks in 0u32..=8,
        erases_what_trim_empties in any::<bool>(),
    ) -> GcSpec {
        let in_rounds = host_share == HostShare::BetweenRounds;
        GcSpec {
            policy,
            choices: if policy.asks_choices() { 3 } else { 2 },
            tie_break: if lifo && policy == VictimPolicy::Greedy { TieBreak::Lifo } else { TieBreak::Fifo },
            frontier,
            start_free_superblocks,
            victims_per_start,
            buffer_superpages,
            buffering: if streaming && !in_rounds { Buffering::Streaming } else { Buffering::StopAndWait },
            host_share,
            trickle_per_1000: if host_share == HostShare::Trickle { 5 } else { 0 },
            rows_per_read,
            background_after_idle_ms: background.map(f64::from),
            background_free_superblocks,
            background_beside_host: frontier != Frontier::Shared && !in_rounds && background_free_superblocks % 2 == 1,
            erases_what_trim_empties,
        }
    }
}

prop_compose! {
    fn any_controller()(
        (channels, per_channel) in (1u32..=4, 1u32..=4),
        queue_depth in prop::sample::select(vec![1u32, 4, 32]),
        command_us in 0u32..=20,
        unit_us in 0u32..=10,
        read_ahead_kib in prop::sample::select(vec![0u32, 64, 512]),
        reads_first in any::<bool>(),
        reads_in_a_row in prop::sample::select(vec![64u16, 1, 3]),
    ) -> (ControllerSpec, u32) {
        let spec = ControllerSpec {
            name: "small".into(),
            channels,
            ways: 8,
            queue_depth,
            dram_mib: 0,
            read_command_us: f64::from(command_us),
            write_command_us: f64::from(command_us) * 1.5,
            read_unit_us: f64::from(unit_us),
            write_unit_us: f64::from(unit_us) * 0.7,
            read_ahead_kib,
            reads_first,
            reads_in_a_row: if reads_first { reads_in_a_row } else { 64 },
            ..DriveSpec::plain("small", 1, 0).controller
        };
        (spec, channels * per_channel)
    }
}

prop_compose! {
    fn any_link()(
        generation in prop::sample::select(vec![
            LinkGeneration::Sata1,
            LinkGeneration::Sata3,
            LinkGeneration::Pcie1,
            LinkGeneration::Pcie3,
            LinkGeneration::Ideal,
        ]),
        turnaround in 0u32..=10,
        not_queued in prop::sample::select(vec![NotQueued::Nothing, NotQueued::Flush, NotQueued::FlushAndTrim]),
        lanes in prop::sample::select(vec![1u32, 4, 16]),
        max_payload_bytes in prop::sample::select(vec![128u32, 256, 4096]),
        host_read_tenths_us in 0u32..=30,
    ) -> LinkSpec {
        let link = LinkSpec {
            generation,
            host_turnaround_us: f64::from(turnaround),
            ..DriveSpec::plain("small", 1, 0).link
        };
        if !generation.is_pcie() {
            return LinkSpec { not_queued, ..link };
        }
        let host_read_us = f64::from(host_read_tenths_us) / 10.0;
        LinkSpec { pcie: Some(PcieSpec { lanes, max_payload_bytes, host_read_us }), ..link }
    }
}

/// Any small drive with a map of pages; what is left out, the crate names.
pub fn any_drive() -> BoxedStrategy<DrawnDrive> {
    // In a box, so that it is compiled here, and not with every test that draws one.
    page_mapped().boxed()
}

/// Any small drive that translates by blocks.
pub fn any_log_block_drive() -> BoxedStrategy<DrawnDrive> {
    block_mapped().boxed()
}

prop_compose! {
    fn page_mapped()(
        seed in any::<u64>(),
        die in any_die(),
        gc in any_gc(),
        (controller, dies) in any_controller(),
        link in any_link(),
        buffer_kib in prop::sample::select(vec![64u32, 100, 256, 2048]),
        write_cache in any::<bool>(),
        flush_ms in 0u32..=200,
        span in prop::sample::select(vec![SuperblockSpan::AllDies, SuperblockSpan::OneDie, SuperblockSpan::DieGroup]),
        group in any::<prop::sample::Index>(),
        reserved in prop::sample::select(vec![0u32, 50, 100]),
        journal in any::<bool>(),
        interval in 1u32..=4,
        journal_limit_rows in prop::option::weighted(0.3, 2u32..=60),
        map_cache_kib in prop::option::weighted(0.25, 1u32..=32),
        dynamic in any::<bool>(),
        spread in prop::option::of(1u32..=8),
        spare_percent in prop::sample::select(vec![0u64, 0, 5, 20]),
        joins_waiting_writes in any::<bool>(),
        row in prop::sample::select(vec![RowSpan::AllPlanes, RowSpan::OnePlane, RowSpan::OnePlaneRuns]),
    ) -> DrawnDrive {
        let plain = DriveSpec::plain("small", dies, 0);
        let superblock = if gc.host_share == HostShare::BetweenRounds { SuperblockSpan::AllDies } else { span };
        let groups: Vec<u32> = (1..=dies).filter(|&group| dies.is_multiple_of(group)).collect();
        let drive = DriveSpec {
            link,
            controller,
            write_buffer: WriteBufferSpec {
                capacity_kib: buffer_kib,
                write_cache,
                joins_waiting_writes,
                flush_after_idle_ms: f64::from(flush_ms),
            },
            mapping: MappingSpec {
                unit_kib: 4,
                row: if die.geometry.planes > 1 { row } else { RowSpan::AllPlanes },
                dies_per_group: (superblock == SuperblockSpan::DieGroup).then(|| *group.get(&groups)),
                superblock,
                reserved_blocks_per_1000: reserved,
                journal,
                journal_rows_per_checkpoint_row: interval,
                journal_limit_rows,
                map_cache_kib,
            },
            gc,
            wear_levelling: WearLevellingSpec { dynamic, static_spread_erases: spread },
            ..plain
        };
        DrawnDrive { seed, die, drive, spare_percent }
    }
}

prop_compose! {
    fn block_mapped()(
        drawn in page_mapped(),
        scheme in prop::sample::select(vec![LogScheme::Replacement, LogScheme::Bast, LogScheme::Fast]),
        open_logs in 1u32..=6,
        stripe in 1u32..=4,
        banks in prop::option::of(1u32..=2),
        relocate_after_merges in prop::option::of(1u32..=40),
        merges_at_once in prop::sample::select(vec![1u32, 1, 2, 3, 8]),
        corrects_copies in any::<bool>(),
        planes_apart in any::<bool>(),
        buffer_kib in prop::sample::select(vec![4u32, 16, 64, 2048]),
        queue_depth in prop::sample::select(vec![1u32, 4, 32]),
    ) -> DrawnDrive {
        let DrawnDrive { seed, mut die, mut drive, spare_percent } = drawn;
        die.geometry.page_bytes = 4096;
        die.geometry.planes = if planes_apart { 2 } else { 1 };
        drive.mapping.row = RowSpan::AllPlanes;
        drive.flash.planes_apart = planes_apart;
        drive.controller.queue_depth = queue_depth;
        drive.write_buffer.capacity_kib = buffer_kib;
        drive.wear_levelling.static_spread_erases = None;
        let columns = drive.flash.dies * die.geometry.planes / drive.controller.channels;
        let stripe_superblocks = (1..=stripe).rev().find(|&k| columns.is_multiple_of(k)).unwrap_or(1);
        let banks = banks.filter(|&banks| stripe_superblocks.is_multiple_of(banks));
        let spec = LogBlockSpec {
            scheme,
            open_logs,
            merges_at_once,
            corrects_copies,
            stripe_superblocks,
            banks,
            relocate_after_merges,
        };
        drive.log_blocks = Some(spec);
        DrawnDrive { seed, die, drive, spare_percent }
    }
}
