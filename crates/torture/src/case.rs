//! Drives and faults drawn from a seed.

use ssdlab_core::{Rng, UNIT_BYTES};
use ssdlab_ftl::{
    Buffering, CompressionSpec, Frontier, GcSpec, HostShare, HostTarget, KeepsOlderPages, LogBlockSpec, LogScheme,
    MappingSpec, RowSpan, SlcCachePolicy, SlcCacheSpec, SuperblockSpan, TieBreak, VictimPolicy, WearLevellingSpec,
    WhenFull,
};
use ssdlab_nand::{
    Bus, BusCycles, CellMode, DieSpec, Geometry, GrowingFaults, PageOrder, ReducedMode, Suspend, Timing, VariationSpec,
    Wear,
};
use ssdlab_ssd::{
    Cipher, ControllerSpec, Cores, DriveSpec, EncryptionSpec, HeatSpec, LinkGeneration, LinkSpec, Locking, NotQueued,
    PcieSpec, PowerSpec, SimulatedSsd, Ssd, WriteBufferSpec,
};

use crate::draw::{between, one};
use crate::errors::{add_correction, add_earlier_use, add_refresh};

/// Mapping units of flash that a drive may have: what a run costs is nearly proportional to it.
const MOST_UNITS: u32 = 12_000;

/// Units of flash that a row may have.
const MOST_PLACES: u32 = 64;

/// What is left of a seed divided by eight, if its drive translates by blocks.
const LOG_BLOCKS: u64 = 2;

/// Whether the drive of a seed translates by blocks: one of eight does.
pub(crate) fn translates_by_blocks(seed: u64) -> bool {
    seed % 8 == LOG_BLOCKS
}

/// One drive and what goes wrong in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub seed: u64,
    pub die: DieSpec,
    pub drive: DriveSpec,
    pub faults: GrowingFaults,
}

impl Case {
    /// The case of a seed: every eighth has a drive that translates by blocks. Drives that their own checks refuse are
    /// drawn again.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        if translates_by_blocks(seed) {
            Self::draw_log_blocks_with(seed, &|_, _| {})
        } else {
            Self::draw_page_map(seed)
        }
    }

    /// A case with a drive that translates by blocks, with some changes to die and drive.
    pub(crate) fn draw_log_blocks_with(seed: u64, change: &dyn Fn(&mut DieSpec, &mut DriveSpec)) -> Self {
        let mut rng = Rng::new(seed).stream("case");
        loop {
            let mut die = draw_die(&mut rng);
            let mut drive = draw_drive(&mut rng, &die);
            add_log_blocks(&mut drive, &mut die, &mut rng);
            add_lanes(&mut drive, &die, seed);
            add_cache_program(&mut die, seed);
            add_plane_reads(&mut die, seed);
            change(&mut die, &mut drive);
            add_read_granule(&mut drive, seed);
            add_encryption(&mut drive, seed);
            let spare = one(&mut rng, &[0, 0, 0, 2, 10, 40]);
            if let Some(drive) = with_capacity_of_log_blocks(drive, &die, seed, spare) {
                return Case { seed, die, drive, faults: GrowingFaults::default() };
            }
        }
    }

    fn draw_page_map(seed: u64) -> Self {
        Self::draw_page_map_with(seed, 0, &|_, _| {})
    }

    /// A case with a map of pages, with some changes to die and drive, and at least a fifth of spare beyond the least.
    pub(crate) fn draw_with(seed: u64, change: impl Fn(&mut DieSpec, &mut DriveSpec)) -> Self {
        Self::draw_page_map_with(seed, 20, &change)
    }

    fn draw_page_map_with(seed: u64, least_spare: u64, change: &dyn Fn(&mut DieSpec, &mut DriveSpec)) -> Self {
        let mut rng = Rng::new(seed).stream("case");
        loop {
            let die = draw_die(&mut rng);
            let mut drive = draw_drive(&mut rng, &die);
            let faults = draw_faults(&mut rng);
            let mut die = add_slc_cache(die, &mut drive, seed);
            add_waiting_rules(&mut drive, seed);
            add_windowed_greedy(&mut drive, seed);
            add_features(&mut die, &mut drive, seed);
            add_cache_program(&mut die, seed);
            add_plane_reads(&mut die, seed);
            add_way_past_cache(&mut drive, &die, seed);
            add_demand_map(&mut drive, seed);
            add_processor_time(&mut drive, seed);
            add_heat(&mut drive, seed);
            add_pcie(&mut drive, seed);
            add_compression(&mut drive, &die, seed);
            add_correction(&mut die, &mut drive, seed);
            change(&mut die, &mut drive);
            add_read_granule(&mut drive, seed);
            add_large_units(&mut drive, &die, seed);
            add_die_groups(&mut drive, seed);
            add_row_span(&mut drive, &die, seed);
            add_refresh(&mut drive, seed);
            add_earlier_use(&die, &mut drive, seed);
            add_work_beside_host(&mut drive, seed);
            add_encryption(&mut drive, seed);
            let spare = one(&mut rng, &[0, 0, 0, 2, 10, 40]).max(least_spare);
            if let Some(drive) = with_capacity(drive, &die, seed, spare) {
                return Case { seed, die, drive, faults };
            }
        }
    }

    /// Whether the drive moves data while the host does nothing but read.
    #[must_use]
    pub fn moves_beside_reads(&self) -> bool {
        let moves_much_read = self.drive.refresh.as_ref().is_some_and(|refresh| refresh.after_block_reads.is_some());
        moves_much_read || self.drive.gc.background_beside_host
    }
}

/// Gives a drive the greatest capacity that its flash allows, less `spare` per cent: garbage collection at the brink.
pub(crate) fn with_capacity(mut drive: DriveSpec, die: &DieSpec, seed: u64, spare: u64) -> Option<DriveSpec> {
    let superblock = drive.superblock_bytes(die);
    let needed = superblock * u64::from(drive.spare_superblocks_needed());
    let mut room = drive.usable_bytes(die).checked_sub(needed)?;
    // How much bad blocks and the journal take is known once the drive is built.
    for _ in 0..8 {
        let unit_bytes = u64::from(drive.mapping.unit_bytes());
        drive.capacity_bytes = room / 100 * (100 - spare) / unit_bytes * unit_bytes;
        if drive.capacity_bytes == 0 || drive.validate(die).is_err() {
            return None;
        }
        if Ssd::new("torture", &drive, die, seed).is_ok() {
            return Some(drive);
        }
        room = room.checked_sub(superblock)?;
    }
    None
}

/// The same for a drive that translates by blocks: the greatest capacity with which it can be built.
pub(crate) fn with_capacity_of_log_blocks(
    mut drive: DriveSpec,
    die: &DieSpec,
    seed: u64,
    spare: u64,
) -> Option<DriveSpec> {
    let all = die.raw_bytes() * u64::from(drive.flash.dies) / UNIT_BYTES;
    let mut can_be_built = |pages: u64| {
        drive.capacity_bytes = pages * UNIT_BYTES;
        drive.validate(die).is_ok()
            && SimulatedSsd::<true, true, _>::with_log_blocks("torture", &drive, die, seed).is_ok()
    };
    let (mut most, mut too_many) = (0, all + 1);
    while most + 1 < too_many {
        let pages = most.midpoint(too_many);
        *(if can_be_built(pages) { &mut most } else { &mut too_many }) = pages;
    }
    let pages = most * (100 - spare) / 100;
    (pages > 0 && can_be_built(pages)).then_some(drive)
}

/// Translation by blocks. Blocks do not go bad in use.
fn add_log_blocks(drive: &mut DriveSpec, die: &mut DieSpec, rng: &mut Rng) {
    die.geometry.page_bytes = 4096;
    die.geometry.planes = between(rng, 1, 2);
    drive.flash.planes_apart = die.geometry.planes > 1;
    drive.write_buffer.capacity_kib = one(rng, &[4, 16, 64, 2048]);
    drive.wear_levelling.static_spread_erases = None;
    let columns = drive.flash.dies * die.geometry.planes / drive.controller.channels;
    let divisors = |n: u32| (1..=n).filter(|k| n.is_multiple_of(*k)).collect::<Vec<_>>();
    let stripe_superblocks = one(rng, &divisors(columns));
    let banks = one(rng, &divisors(stripe_superblocks));
    drive.log_blocks = Some(LogBlockSpec {
        scheme: one(rng, &[LogScheme::Replacement, LogScheme::Bast, LogScheme::Fast]),
        open_logs: one(rng, &[1, 1, 2, 4, 8]),
        merges_at_once: one(rng, &[1, 1, 2, 3, 8]),
        corrects_copies: rng.chance(1, 2),
        stripe_superblocks,
        banks: rng.chance(1, 2).then_some(banks),
        relocate_after_merges: rng.chance(1, 2).then(|| between(rng, 1, 40)),
    });
}

/// Superblocks over several dies: what is drawn elsewhere has a single channel nine times of ten, where the dies of a superblock
/// never differ in what they are at. Drawn from a stream of its own, as the cache is.
fn add_lanes(drive: &mut DriveSpec, die: &DieSpec, seed: u64) {
    let g = &die.geometry;
    let most = MOST_UNITS / (drive.flash.dies * g.planes * g.blocks_per_plane * g.pages_per_block);
    let times = one(&mut Rng::new(seed).stream("lanes"), &[1, 2, 3, 4]).min(most).max(1);
    drive.flash.dies *= times;
    drive.controller.channels *= times;
    drive.controller.ways *= times;
}

fn draw_die(rng: &mut Rng) -> DieSpec {
    let planes = one(rng, &[1u32, 2, 4]);
    let units = one(rng, &[1u32, 2, 4]);
    let alternating = rng.chance(1, 2);
    let mut times = |low: u32, high: u32| {
        let us = f64::from(between(rng, low, high));
        if alternating { vec![us, us * 2.5] } else { vec![us] }
    };
    let (read_us, program_us) = (times(1, 200), times(100, 3000));
    let geometry = Geometry {
        planes,
        blocks_per_plane: between(rng, 8, 48),
        // Short blocks often: they are full while their first programs are still under way.
        pages_per_block: if rng.chance(1, 3) { 4 } else { between(rng, 4, 48) },
        page_bytes: units * 4096,
        spare_bytes: 100 * units,
        bits_per_cell: if alternating { 2 } else { 1 },
        page_order: if alternating { PageOrder::Alternating } else { PageOrder::Uniform },
    };
    DieSpec {
        description: "drawn".to_owned(),
        timing: Timing { read_us, program_us, erase_ms: one(rng, &[0.1, 3.0, 10.0]) },
        bus: Bus { mega_transfers_per_s: one(rng, &[0.0, 40.0, 400.0]), command_us: one(rng, &[0.0, 1.5]) },
        wear: Wear { rated_program_erase_cycles: 1000, factory_bad_blocks_per_10000: one(rng, &[0, 0, 100, 300]) },
        ..DieSpec::plain(geometry)
    }
}

fn draw_drive(rng: &mut Rng, die: &DieSpec) -> DriveSpec {
    let block_units = die.geometry.planes * die.units_per_page(4096) * die.geometry.pages_per_block;
    let most_dies = (MOST_UNITS / (block_units * die.geometry.blocks_per_plane)).clamp(1, 12);
    let dies = between(rng, 1, most_dies);
    let divisors: Vec<u32> = (1..=dies).filter(|d| dies.is_multiple_of(*d)).collect();
    let channels = one(rng, &divisors);
    let row_kib = die.geometry.planes * die.units_per_page(4096) * 4;
    let command_us = f64::from(between(rng, 0, 20));
    let unit_us = f64::from(between(rng, 0, 10));
    let plain = DriveSpec::plain("drawn", dies, 0);
    DriveSpec {
        description: "drawn".to_owned(),
        link: LinkSpec {
            generation: one(rng, &[LinkGeneration::Sata1, LinkGeneration::Sata3, LinkGeneration::Ideal]),
            host_turnaround_us: f64::from(between(rng, 0, 10)),
            ..plain.link
        },
        controller: ControllerSpec {
            name: "drawn".to_owned(),
            channels,
            ways: dies,
            queue_depth: one(rng, &[1, 4, 32]),
            dram_mib: 0,
            read_command_us: command_us,
            write_command_us: command_us * 1.5,
            read_unit_us: unit_us,
            write_unit_us: unit_us * 0.7,
            read_ahead_kib: one(rng, &[0, 64, 512]),
            reads_first: rng.chance(1, 2),
            ..plain.controller
        },
        write_buffer: WriteBufferSpec {
            // The smallest that a drive file may ask for, often.
            capacity_kib: one(rng, &[64, 64, 100, 256, 2048]).max(row_kib),
            write_cache: rng.chance(3, 4),
            flush_after_idle_ms: f64::from(between(rng, 0, 200)),
            ..plain.write_buffer
        },
        mapping: MappingSpec {
            unit_kib: 4,
            row: RowSpan::AllPlanes,
            dies_per_group: None,
            superblock: one(rng, &[SuperblockSpan::AllDies, SuperblockSpan::OneDie]),
            reserved_blocks_per_1000: one(rng, &[0, 50, 100, 150]),
            journal: rng.chance(1, 2),
            journal_rows_per_checkpoint_row: between(rng, 1, 4),
            journal_limit_rows: None,
            map_cache_kib: None,
        },
        gc: draw_gc(rng, row_kib / 4),
        wear_levelling: WearLevellingSpec {
            dynamic: rng.chance(1, 2),
            static_spread_erases: rng.chance(1, 2).then(|| between(rng, 1, 8)),
        },
        ..plain
    }
}

/// One drive in eight collects within a window of old superblocks. Drawn from a stream of its own, as the cache is.
fn add_windowed_greedy(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("windowed greedy");
    if rng.chance(1, 8) {
        drive.gc.policy = VictimPolicy::WindowedGreedy;
        drive.gc.choices = one(&mut rng, &[1, 2, 8, 64]);
        drive.gc.tie_break = TieBreak::Fifo;
    }
}

/// Who waits for whom at the drive's door: commands that are sent alone, writes that share a row, the host's own time.
/// Drawn from a stream of its own, as the cache is.
fn add_waiting_rules(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("waiting rules");
    let rules = [NotQueued::Nothing, NotQueued::Flush, NotQueued::FlushAndTrim];
    drive.link.not_queued = one(&mut rng, &rules);
    drive.link.host_frame_us = one(&mut rng, &[0.0, 0.5, 3.0]);
    drive.link.host_command_us = one(&mut rng, &[0.0, 2.0]);
    drive.write_buffer.joins_waiting_writes = rng.chance(1, 2);
    drive.controller.trim_command_us = one(&mut rng, &[None, Some(0.0), Some(200.0)]);
    drive.controller.trim_range_us = one(&mut rng, &[0.0, 5.0]);
    drive.controller.trim_map_page_us = one(&mut rng, &[0.0, 1.0]);
    drive.gc.erases_what_trim_empties = rng.chance(1, 2);
}

/// One drive in three has a link of PCI Express instead, which sends both ways at once. Drawn from a stream of its own, as the
/// cache is.
fn add_pcie(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("pcie");
    let generations = [LinkGeneration::Pcie1, LinkGeneration::Pcie2, LinkGeneration::Pcie3, LinkGeneration::Pcie4];
    let pcie = PcieSpec {
        lanes: one(&mut rng, &[1, 2, 4, 16]),
        max_payload_bytes: one(&mut rng, &[128, 256, 4096]),
        host_read_us: one(&mut rng, &[0.0, 0.5, 5.0]),
    };
    let generation = one(&mut rng, &generations);
    if rng.chance(1, 3) {
        let host_turnaround_us = drive.link.host_turnaround_us;
        let plain = DriveSpec::plain("drawn", 1, 0).link;
        drive.link = LinkSpec { generation, pcie: Some(pcie), host_turnaround_us, ..plain };
        drive.controller.queue_depth = one(&mut rng, &[1, 32, 100]);
        if let Some(power) = &mut drive.power {
            (power.hipm, power.dipm, power.devsleep) = (false, false, false);
        }
    }
}

/// What of a page crosses the channel by itself. Drawn from a stream of its own, as the cache is.
fn add_read_granule(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("read granule");
    let drawn = one(&mut rng, &[None, Some(512), Some(1024), Some(2048)]);
    let fits = |bytes: u32| drive.ecc.as_ref().is_none_or(|ecc| bytes.is_multiple_of(ecc.codeword_bytes));
    drive.controller.read_granule_bytes = drawn.filter(|&bytes| drive.compression.is_none() && fits(bytes));
}

/// Every other drive encrypts, so that it has a crypto erase. Drawn from a stream of its own, as the cache is.
fn add_encryption(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("encryption");
    let crypto_erase_ms = one(&mut rng, &[0.0, 0.5, 100.0]);
    drive.encryption =
        rng.chance(1, 2).then_some(EncryptionSpec { cipher: Cipher::Aes256, crypto_erase_ms, locking: Locking::None });
}

/// Every other drive with superblocks over all dies has them over groups of dies instead, where nothing else needs all. Drawn from
/// a stream of its own, as the cache is.
fn add_die_groups(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("die groups");
    let needs_all =
        drive.mapping.superblock != SuperblockSpan::AllDies || drive.gc.host_share == HostShare::BetweenRounds;
    if needs_all || rng.chance(1, 2) {
        return;
    }
    let dies = drive.flash.dies;
    let divisors: Vec<u32> = (1..=dies).filter(|group| dies.is_multiple_of(*group)).collect();
    drive.mapping.superblock = SuperblockSpan::DieGroup;
    drive.mapping.dies_per_group = Some(one(&mut rng, &divisors));
}

/// Half of the drives with several planes program them one by one, where nothing is folded within dies. Drawn from a stream of
/// its own, as the cache is.
fn add_row_span(drive: &mut DriveSpec, die: &DieSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("row span");
    let drawn = one(&mut rng, &[RowSpan::AllPlanes, RowSpan::AllPlanes, RowSpan::OnePlane, RowSpan::OnePlaneRuns]);
    let folds_on_die = drive.slc_cache.as_ref().is_some_and(|cache| cache.policy == SlcCachePolicy::OnDie);
    if die.geometry.planes > 1 && !folds_on_die {
        drive.mapping.row = drawn;
    }
}

/// One drive in four maps units of more than 4 KiB, where its pages hold such. Drawn from a stream of its own, as the cache is.
fn add_large_units(drive: &mut DriveSpec, die: &DieSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("large units");
    let unit_kib = one(&mut rng, &[4, 4, 8, 16]).min(die.geometry.page_bytes >> 10);
    drive.mapping.unit_kib = unit_kib;
    if let Some(bytes) = &mut drive.controller.read_granule_bytes {
        *bytes *= unit_kib / 4;
    }
    drive.write_buffer.capacity_kib = drive.write_buffer.capacity_kib.next_multiple_of(unit_kib);
    if drive.compression.is_some() {
        // What waits and does not fill a row, beside one that does.
        drive.write_buffer.capacity_kib += unit_kib;
    }
}

/// What dies can do beside plain operations, and how many may program at once. Drawn from a stream of its own, as the cache
/// is.
fn add_features(die: &mut DieSpec, drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("features");
    let rng = &mut rng;
    let f = &mut die.features;
    f.program_passes = one(rng, &[1, 1, 3]);
    f.cache_read_busy_us = one(rng, &[None, None, Some(0.0), Some(4.0)]);
    let cycles = BusCycles { read_us: 1.0, data_out_us: 0.5, program_us: 1.2, erase_us: 0.3 };
    f.cycles = rng.chance(1, 3).then_some(cycles);
    f.suspend = rng.chance(1, 3).then(|| Suspend {
        program_us: one(rng, &[None, Some(20.0)]),
        erase_us: one(rng, &[None, Some(0.0), Some(100.0)]),
        resume_us: one(rng, &[0.0, 20.0]),
        most_per_operation: between(rng, 1, 5),
        least_progress_us: one(rng, &[0.0, 100.0]),
    });
    drive.controller.programs_at_once = rng.chance(1, 3).then_some(4);
    die.variation = rng.chance(1, 3).then(|| VariationSpec {
        program_dies_percent: 2.5,
        program_blocks_percent: 1.5,
        program_pages_percent: 3.0,
        read_pages_percent: 5.0,
        erase_blocks_percent: 10.0,
        program_gain_at_rated_cycles_percent: 10.0,
        erase_growth_at_rated_cycles_percent: one(rng, &[0.0, 200.0]),
    });
}

/// On some dies of several planes, each reads by itself. Drawn from a stream of its own, as the cache is.
fn add_plane_reads(die: &mut DieSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("plane reads");
    die.features.independent_plane_reads = die.geometry.planes > 1 && rng.chance(1, 2);
}

/// Every other drive loads the next row while it programs. Drawn from a stream of its own, as the cache is.
fn add_cache_program(die: &mut DieSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("cache program");
    die.features.cache_program_busy_us = one(&mut rng, &[None, None, Some(0.0), Some(4.0)]);
}

fn draw_gc(rng: &mut Rng, row_units: u32) -> GcSpec {
    let host_share = one(rng, &[HostShare::Unlimited, HostShare::Balanced, HostShare::Trickle, HostShare::InStep]);
    let policy = one(
        rng,
        &[
            VictimPolicy::Greedy,
            VictimPolicy::Fifo,
            VictimPolicy::DChoices,
            VictimPolicy::CostBenefit,
            VictimPolicy::Random,
        ],
    );
    let choices = between(rng, 1, 8);
    let tie_break = one(rng, &[TieBreak::Fifo, TieBreak::Lifo]);
    GcSpec {
        policy,
        choices: if policy.asks_choices() { choices } else { GcSpec::default().choices },
        tie_break: if policy == VictimPolicy::Greedy { tie_break } else { TieBreak::Fifo },
        frontier: one(rng, &[Frontier::Shared, Frontier::Separate, Frontier::ByStream]),
        start_free_superblocks: one(rng, &[1, 1, 2, 3]),
        victims_per_start: between(rng, 0, 2),
        buffer_superpages: one(rng, &[1, 1, 2, 8]),
        buffering: one(rng, &[Buffering::StopAndWait, Buffering::Streaming]),
        host_share,
        trickle_per_1000: if host_share == HostShare::Trickle { one(rng, &[0, 5, 50, 500]) } else { 0 },
        rows_per_read: between(rng, 1, 8.min(255 / row_units)),
        background_after_idle_ms: rng.chance(1, 2).then(|| f64::from(between(rng, 1, 2000))),
        background_free_superblocks: between(rng, 0, 8),
        background_beside_host: false,
        erases_what_trim_empties: false,
    }
}

/// Every other die of several bits per cell also runs at one, and most of these have a cache. Drawn from a stream of
/// its own: a seed's drive is otherwise as it would be without.
fn add_slc_cache(mut die: DieSpec, drive: &mut DriveSpec, seed: u64) -> DieSpec {
    let mut rng = Rng::new(seed).stream("slc cache");
    if die.geometry.bits_per_cell == 1 || rng.chance(1, 2) {
        return die;
    }
    die.modes.slc = Some(ReducedMode {
        read_us: vec![f64::from(between(&mut rng, 1, 100))],
        program_us: vec![f64::from(between(&mut rng, 50, 1000))],
        erase_ms: one(&mut rng, &[0.1, 3.0]),
        rated_program_erase_cycles: 10_000,
    });
    if rng.chance(1, 8) {
        return die;
    }
    let policy = one(&mut rng, &[SlcCachePolicy::Dynamic, SlcCachePolicy::Fixed, SlcCachePolicy::OnDie]);
    let dynamic = policy == SlcCachePolicy::Dynamic;
    let g = &die.geometry;
    let slc_pages = die.mode(CellMode::Slc).map_or(0, |mode| mode.pages_per_block);
    let superblock = f64::from(g.planes * g.page_bytes * slc_pages * drive.flash.dies);
    let pool = f64::from(between(&mut rng, 1, 4));
    drive.slc_cache = Some(SlcCacheSpec {
        policy,
        keep_free_per_1000: dynamic.then(|| between(&mut rng, 0, 400)),
        host_while_folding: dynamic.then(|| one(&mut rng, &[HostTarget::Slc, HostTarget::Native])),
        capacity_gb: (policy == SlcCachePolicy::Fixed).then_some(superblock * pool / 1e9),
        blocks_per_1000: (policy == SlcCachePolicy::OnDie).then(|| between(&mut rng, 1, 200)),
        when_full: (!dynamic).then(|| one(&mut rng, &[WhenFull::Direct, WhenFull::Fold])),
        largest_write_kib: None,
        fold_after_idle_ms: rng.chance(3, 4).then(|| f64::from(between(&mut rng, 1, 500))),
        fold_pause_ms: one(&mut rng, &[0.1, 1.0, 100.0]),
    });
    drive.gc.frontier = Frontier::Separate;
    if !dynamic {
        drive.gc.start_free_superblocks = drive.gc.start_free_superblocks.max(3);
    }
    if policy == SlcCachePolicy::OnDie {
        drive.mapping.superblock = SuperblockSpan::OneDie;
    }
    let mut rng_of_most = Rng::new(seed).stream("most in a dynamic cache");
    if let Some(cache) = drive.slc_cache.as_mut().filter(|_| dynamic && rng_of_most.chance(1, 3)) {
        cache.capacity_gb = Some(superblock * f64::from(between(&mut rng_of_most, 1, 6)) / 1e9);
    }
    die
}

/// Of the caches that are set aside, every other takes short writes only. From a stream of its own.
fn add_way_past_cache(drive: &mut DriveSpec, die: &DieSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("cached writes");
    let Some(cache) = drive.slc_cache.as_mut().filter(|cache| cache.policy != SlcCachePolicy::Dynamic) else { return };
    if rng.chance(1, 2) {
        return;
    }
    cache.largest_write_kib = Some(one(&mut rng, &[4, 4, 16, 64]));
    let two_rows_kib = 2 * die.geometry.planes * die.units_per_page(4096) * 4;
    drive.write_buffer.capacity_kib = drive.write_buffer.capacity_kib.max(two_rows_kib);
}

/// One drive in four loads its map on demand, and one in three writes out what of it has changed. From a stream of its own, too.
fn add_demand_map(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("demand map");
    drive.mapping.map_cache_kib = rng.chance(1, 4).then(|| between(&mut rng, 1, 32));
    drive.mapping.journal_limit_rows = rng.chance(1, 3).then(|| between(&mut rng, 2, 60));
}

/// One drive in three takes time to move data, and of those that can collect in rounds, every other does. Half of them
/// take time for the end of each program. Likewise.
fn add_processor_time(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("processor");
    if rng.chance(1, 3) {
        drive.controller.move_unit_us = f64::from(between(&mut rng, 1, 50));
    }
    drive.controller.program_end_us = one(&mut rng, &[0.0, 0.0, 3.0, 200.0]);
    let suits = drive.mapping.superblock == SuperblockSpan::AllDies && drive.gc.buffering == Buffering::StopAndWait;
    if suits && rng.chance(1, 2) {
        (drive.gc.host_share, drive.gc.trickle_per_1000) = (HostShare::BetweenRounds, 0);
    } else {
        drive.controller.cores = one(&mut rng, &[Cores::One, Cores::One, Cores::HostAndFlash, Cores::HostMapAndFlash]);
    }
    drive.controller.dma_extent_us = one(&mut rng, &[0.0, 0.0, 2.0, 50.0]);
    drive.controller.read_latency_us = one(&mut rng, &[0.0, 0.0, 20.0, 900.0]);
    drive.controller.write_latency_us = one(&mut rng, &[0.0, 0.0, 10.0, 900.0]);
    if drive.controller.reads_first {
        drive.controller.reads_in_a_row = one(&mut rng, &[drive.controller.reads_in_a_row, 1, 3]);
    }
}

/// Of the drives that can, every other works ahead of need beside its host. From a stream of its own, too.
fn add_work_beside_host(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("beside the host");
    let apart = drive.gc.frontier != Frontier::Shared && drive.gc.host_share != HostShare::BetweenRounds;
    drive.gc.background_beside_host = apart && drive.keeps_older_pages() == KeepsOlderPages::No && rng.chance(1, 2);
}

/// One drive in eight is so small and so badly cooled that its host is held back for heat, or stopped. From a stream of its
/// own, too.
fn add_heat(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("heat");
    if !rng.chance(1, 8) {
        return;
    }
    let mut power = PowerSpec {
        converter_percent: None,
        controller_idle_mw: 100.0,
        controller_awake_mw: None,
        controller_active_mw: 2000.0,
        controller_slumber_mw: 10.0,
        controller_devsleep_mw: 1.0,
        controller_pj_per_byte: 5000.0,
        encode_pj_per_byte: 0.0,
        decode_pj_per_byte: 0.0,
        flash_bus_pj_per_byte: 0.0,
        dram_standby_uw_per_mib: 0.0,
        dram_self_refresh_uw_per_mib: 0.0,
        dram_pj_per_byte: 0.0,
        phy_active_mw: 0.0,
        phy_partial_mw: 0.0,
        phy_slumber_mw: 0.0,
        hipm: false,
        dipm: false,
        devsleep: false,
        dipm_partial_after_ms: 0.0,
        dipm_slumber_after_ms: 0.0,
        partial_entry_us: 0.0,
        slumber_entry_us: 0.0,
        devsleep_entry_ms: 0.0,
        partial_exit_us: 0.0,
        slumber_exit_ms: 0.0,
        devsleep_exit_ms: 0.0,
    };
    // Idle, it settles at 35 °C.
    let last = one(&mut rng, &[0.0, 1.0]);
    drive.heat = Some(HeatSpec {
        ambient_c: 25.0,
        heat_capacity_j_per_k: one(&mut rng, &[0.001, 0.01]),
        thermal_resistance_k_per_w: 100.0,
        sample_ms: one(&mut rng, &[1.0, 5.0]),
        throttle_from_c: vec![40.0, 45.0],
        throttled_read_mb_per_s: vec![20.0, last],
        throttled_write_mb_per_s: vec![5.0, last],
        hysteresis_k: one(&mut rng, &[0.0, 3.0]),
    });
    // Little enough that a drive whose commands wait can cool.
    power.converter_percent = one(&mut rng, &[None, Some(90.0)]);
    power.controller_awake_mw = one(&mut rng, &[None, Some(5.0)]);
    (power.encode_pj_per_byte, power.decode_pj_per_byte) = one(&mut rng, &[(0.0, 0.0), (100.0, 5000.0)]);
    drive.power = Some(power);
}

/// One drive in four compresses, where its rows have places enough. From a stream of its own, too.
fn add_compression(drive: &mut DriveSpec, die: &DieSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("compression");
    let row_units = die.geometry.planes * die.units_per_page(4096);
    if !rng.chance(1, 4) {
        return;
    }
    let max_ratio = one(&mut rng, &[2, 4, 8, 16]).min(MOST_PLACES / row_units);
    drive.compression = Some(CompressionSpec { max_ratio });
    // An operation counts what it moves in a byte, and small data that fill no row need room beside one that does.
    drive.gc.rows_per_read = drive.gc.rows_per_read.min(255 / (row_units * max_ratio));
    drive.write_buffer.capacity_kib += 4;
}

fn draw_faults(rng: &mut Rng) -> GrowingFaults {
    GrowingFaults {
        programs_per_failure: one(rng, &[0, 0, 0, 50, 500, 2000, 8000]),
        erases_per_failure: one(rng, &[0, 0, 0, 10, 100, 500]),
        in_bursts: rng.chance(1, 2),
    }
}
