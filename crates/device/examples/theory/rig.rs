//! Drives that lose no time but on flash, and a closed loop that drives them.

use ssdlab_core::{Completion, Nanos, Op, Request, Rng, UNIT_BYTES};
use ssdlab_device::{
    ControllerSpec, Device, DriveSpec, FlashSpec, LinkGeneration, LinkSpec, SimulatedSsd, WriteBufferSpec,
};
use ssdlab_ftl::{
    Buffering, Frontier, GcSpec, HostShare, MappingSpec, SuperblockSpan, TieBreak, VictimPolicy, WearLevellingSpec,
};
use ssdlab_nand::{Bus, CellModes, DieSpec, Geometry, PageOrder, Timing, Wear};

use super::measure::Length;

/// The whole path of a drive as reviews use it; only the breakdown is off.
pub type Drive = SimulatedSsd<false, true>;

pub const READ_NANOS: Nanos = 50_000;

pub struct Lab {
    pub drive: Drive,
    pub units: u64,
    pub now: Nanos,
    pub rng: Rng,
    /// Sum of the latencies of all commands, nanoseconds.
    pub latency_sum: u128,
    done: Vec<Completion>,
}

/// What a drive of the theory is made of.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    pub dies: u32,
    /// Blocks of one die that hold data.
    pub data_blocks: u32,
    pub pages: u32,
    /// Hundredths of a per cent.
    pub spare_per_10000: u32,
    pub policy: VictimPolicy,
    pub choices: u32,
    pub seed: u64,
}

pub fn die(pages: u32) -> DieSpec {
    DieSpec {
        description: "4 KiB pages, one plane, a bus that takes no time".into(),
        geometry: Geometry {
            planes: 1,
            blocks_per_plane: 16,
            pages_per_block: pages,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        },
        timing: Timing { read_us: vec![READ_NANOS as f64 / 1e3], program_us: vec![500.0], erase_ms: 1.0 },
        bus: Bus { mega_transfers_per_s: 0.0, command_us: 0.0 },
        wear: Wear { rated_program_erase_cycles: 10_000, factory_bad_blocks_per_10000: 0 },
        modes: CellModes::default(),
        power: None,
    }
}

pub fn spec(build: &Build) -> DriveSpec {
    let physical = u64::from(build.dies) * u64::from(build.data_blocks) * u64::from(build.pages);
    DriveSpec {
        description: "no time lost but on flash".into(),
        capacity_bytes: physical * 10_000 / u64::from(10_000 + build.spare_per_10000) * UNIT_BYTES,
        flash: FlashSpec { die: "theory".into(), dies: build.dies, exact_spare_per_10000: Some(build.spare_per_10000) },
        link: LinkSpec { generation: LinkGeneration::Ideal, host_turnaround_us: 0.0 },
        controller: ControllerSpec {
            name: "theory".into(),
            channels: build.dies.min(32),
            ways: 8,
            queue_depth: 32,
            dram_mib: 64,
            read_command_us: 0.0,
            write_command_us: 0.0,
            read_unit_us: 0.0,
            write_unit_us: 0.0,
            read_ahead_kib: 0,
            reads_first: false,
        },
        write_buffer: WriteBufferSpec { capacity_kib: 64, write_cache: true, flush_after_idle_ms: 100.0 },
        mapping: MappingSpec {
            superblock: SuperblockSpan::OneDie,
            reserved_blocks_per_1000: 0,
            journal: false,
            journal_rows_per_checkpoint_row: 1,
        },
        gc: GcSpec {
            policy: build.policy,
            choices: build.choices,
            tie_break: TieBreak::Fifo,
            frontier: Frontier::Shared,
            start_free_superblocks: 1,
            victims_per_start: 1,
            buffer_superpages: 8,
            buffering: Buffering::Streaming,
            host_share: HostShare::Balanced,
            trickle_per_1000: 0,
            rows_per_read: 1,
            background_after_idle_ms: None,
            background_free_superblocks: 0,
        },
        wear_levelling: WearLevellingSpec::default(),
    }
}

impl Lab {
    pub fn new(build: &Build) -> Lab {
        Lab::of(&spec(build), build.pages, build.seed)
    }

    pub fn of(spec: &DriveSpec, pages: u32, seed: u64) -> Lab {
        let drive = Drive::new("theory", spec, &die(pages), seed).expect("a valid drive");
        Lab {
            units: spec.capacity_bytes / UNIT_BYTES,
            drive,
            now: 0,
            rng: Rng::new(seed),
            latency_sum: 0,
            done: Vec::new(),
        }
    }

    /// Keeps `depth` commands under way until `count` have completed, and waits for the rest.
    pub fn closed_loop(&mut self, count: u64, depth: u64, mut next: impl FnMut(&mut Rng) -> (Op, u64)) {
        let (mut sent, mut completed) = (0, 0);
        while completed < count {
            while sent < count && sent - completed < depth {
                let (op, unit) = next(&mut self.rng);
                let request =
                    Request { tag: sent, op, offset_bytes: unit * UNIT_BYTES, length_bytes: UNIT_BYTES, fua: false };
                self.drive.submit(self.now, request);
                sent += 1;
            }
            self.now = self.drive.advance_to_completion(Nanos::MAX - 1, &mut self.done);
            completed += self.done.len() as u64;
            self.latency_sum += self.done.drain(..).map(|c| u128::from(c.latency())).sum::<u128>();
        }
    }

    /// Writes every unit once, in order.
    pub fn fill(&mut self) {
        let mut at = 0;
        self.closed_loop(self.units, 32, |_| {
            at += 1;
            (Op::Write, at - 1)
        });
    }

    /// Fills the drive, and measures write amplification in the steady state of what `next` draws from all units.
    pub fn steady_waf(&mut self, length: Length, next: impl FnMut(&mut Rng, u64) -> (Op, u64)) -> f64 {
        self.fill();
        self.waf_of(length, self.units, next)
    }

    /// Write amplification of what `next` draws from the first `span` units, which also is the length of a drive
    /// write.
    pub fn waf_of(&mut self, length: Length, span: u64, mut next: impl FnMut(&mut Rng, u64) -> (Op, u64)) -> f64 {
        let commands = |drive_writes: f64| (span as f64 * drive_writes) as u64;
        self.closed_loop(commands(length.warm_up), 32, |rng| next(rng, span));
        let before = self.drive.counters();
        self.closed_loop(commands(length.measured), 32, |rng| next(rng, span));
        let counters = self.drive.counters().since(&before);
        self.drive.check_books().expect("the books balance");
        counters.waf().expect("something was written")
    }
}
