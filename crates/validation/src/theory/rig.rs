//! Drives that lose no time but on flash, and a closed loop that drives them.

use ssdlab_core::{Nanos, Op, Rng, UNIT_BYTES};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_ftl::{
    Buffering, CompressionSpec, Frontier, GcSpec, MappingSpec, PageMap, RowSpan, SuperblockSpan, TieBreak, Translation,
    VictimPolicy,
};
use ssdlab_nand::{DieSpec, Geometry, PageOrder, Timing, Wear};
use ssdlab_ssd::{ControllerSpec, DriveSpec, FlashSpec, SimulatedSsd, WriteBufferSpec};

/// The whole path of a drive as reviews use it; only the breakdown is off.
pub type Drive = SimulatedSsd<false, true>;

pub const READ_NANOS: Nanos = 50_000;

/// Units that the write buffer of a drive of the theory holds.
pub const BUFFER_UNITS: u32 = 16;

/// Pages of a victim that such a drive reads before the first of them is programmed.
pub const READ_AHEAD_PAGES: u32 = 8;

pub struct Lab<T: Translation = PageMap> {
    pub drive: SimulatedSsd<false, true, T>,
    pub units: u64,
    pub now: Nanos,
    pub rng: Rng,
    /// Commands that [`Lab::waf_of`] keeps under way.
    pub depth: u64,
    /// Sum of the latencies of all commands, nanoseconds.
    pub latency_sum: u128,
    /// Commands sent and not ended, their number integrated over time, and since when.
    under_way: u64,
    under_way_time: u128,
    under_way_since: Nanos,
    commands: u64,
    /// Bytes of ended commands: reads, writes, trims.
    bytes: [u64; 3],
    /// Writes that have ended: one unit each.
    units_written: u64,
    done: Vec<Completion>,
    compressibility_per_1000: u16,
    /// A page map fills every block before it erases it.
    erases_full_blocks: bool,
}

/// What a host asks for: one unit, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub op: Op,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub stream: u8,
}

impl Ask {
    pub fn of(op: Op, unit: u64) -> Ask {
        Ask { op, offset_bytes: unit * UNIT_BYTES, length_bytes: UNIT_BYTES, stream: 0 }
    }

    pub fn write(unit: u64) -> Ask {
        Ask::of(Op::Write, unit)
    }

    pub fn read(unit: u64) -> Ask {
        Ask::of(Op::Read, unit)
    }
}

/// What was measured; with the 95 % confidence interval's half-width where it is a mean of a correlated series.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    pub value: f64,
    pub half_width: Option<f64>,
    /// Beside the main figure: for TRIM, the mean share of pages in use.
    pub in_use: Option<f64>,
    /// Commands under way: rate times mean latency, as the host has seen them.
    pub little: f64,
    pub commands: u64,
    pub bytes: u64,
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
    pub tie_break: TieBreak,
    /// What has open blocks of its own: with `ByStream` hot and cold data each have theirs.
    pub frontier: Frontier,
    /// DRAM for map entries, if it does not hold the whole map.
    pub map_cache_kib: Option<u32>,
    /// Compresses data by so much, in thousandths; absent: it does not compress.
    pub compressibility_per_1000: Option<u16>,
    pub seed: u64,
}

/// 4 KiB pages, one plane, a bus that takes no time.
pub fn die(pages: u32) -> DieSpec {
    let geometry = Geometry {
        planes: 1,
        blocks_per_plane: 16,
        pages_per_block: pages,
        page_bytes: 4096,
        spare_bytes: 0,
        bits_per_cell: 1,
        page_order: PageOrder::Uniform,
    };
    DieSpec {
        timing: Timing { read_us: vec![READ_NANOS as f64 / 1e3], program_us: vec![500.0], erase_ms: 1.0 },
        wear: Wear { rated_program_erase_cycles: 10_000, factory_bad_blocks_per_10000: 0 },
        ..DieSpec::plain(geometry)
    }
}

pub fn spec(build: &Build) -> DriveSpec {
    let physical = u64::from(build.dies) * u64::from(build.data_blocks) * u64::from(build.pages);
    let capacity_bytes = physical * 10_000 / u64::from(10_000 + build.spare_per_10000) * UNIT_BYTES;
    let plain = DriveSpec::plain("theory", build.dies, capacity_bytes);
    DriveSpec {
        flash: FlashSpec { exact_spare_per_10000: Some(build.spare_per_10000), ..plain.flash },
        controller: ControllerSpec { dram_mib: 64, reads_first: false, ..plain.controller },
        write_buffer: WriteBufferSpec {
            capacity_kib: BUFFER_UNITS * (UNIT_BYTES / 1024) as u32,
            flush_after_idle_ms: 100.0,
            ..plain.write_buffer
        },
        mapping: MappingSpec {
            unit_kib: 4,
            row: RowSpan::AllPlanes,
            dies_per_group: None,
            superblock: SuperblockSpan::OneDie,
            map_cache_kib: build.map_cache_kib,
            ..plain.mapping
        },
        gc: GcSpec {
            policy: build.policy,
            choices: build.choices,
            tie_break: build.tie_break,
            frontier: build.frontier,
            start_free_superblocks: 1,
            victims_per_start: 1,
            buffer_superpages: READ_AHEAD_PAGES,
            buffering: Buffering::Streaming,
            ..plain.gc
        },
        compression: build.compressibility_per_1000.map(|_| CompressionSpec { max_ratio: 8 }),
        ..plain
    }
}

impl Lab {
    pub fn new(build: &Build) -> Lab {
        let spec = spec(build);
        let drive = Drive::new("theory", &spec, &die(build.pages), build.seed).expect("a valid drive");
        assert_eq!(drive.info().compresses, build.compressibility_per_1000.is_some());
        let compressibility_per_1000 = build.compressibility_per_1000.unwrap_or(0);
        Lab { compressibility_per_1000, erases_full_blocks: true, ..Lab::with_drive(drive, build.seed) }
    }
}

impl<T: Translation> Lab<T> {
    pub fn with_drive(drive: SimulatedSsd<false, true, T>, seed: u64) -> Lab<T> {
        Lab {
            units: drive.info().capacity_bytes / UNIT_BYTES,
            drive,
            compressibility_per_1000: 0,
            erases_full_blocks: false,
            now: 0,
            rng: Rng::new(seed),
            depth: 32,
            latency_sum: 0,
            under_way: 0,
            under_way_time: 0,
            under_way_since: 0,
            commands: 0,
            bytes: [0; 3],
            units_written: 0,
            done: Vec::new(),
        }
    }

    fn count(&mut self, change: i64) {
        self.under_way_time += u128::from(self.now - self.under_way_since) * u128::from(self.under_way);
        self.under_way_since = self.now;
        self.under_way = self.under_way.wrapping_add_signed(change);
    }

    pub fn submit(&mut self, at: Nanos, tag: u64, ask: Ask) {
        self.now = at;
        self.count(1);
        let Ask { op, offset_bytes, length_bytes, stream } = ask;
        let request = Request::new(tag, op, offset_bytes, length_bytes)
            .with_stream(stream)
            .with_compressibility(self.compressibility_per_1000);
        self.drive.submit(at, request).expect("it lies within the drive");
    }

    /// Takes the completions that have come by now.
    fn take(&mut self, mut see: impl FnMut(&Completion)) -> u64 {
        let done = std::mem::take(&mut self.done);
        for c in &done {
            self.now = c.completed;
            self.count(-1);
            self.latency_sum += u128::from(c.latency());
            let kind = match c.op {
                Op::Read => 0,
                Op::Write => 1,
                Op::Trim | Op::Flush | Op::WriteZeroes => 2,
            };
            self.bytes[kind] += c.length_bytes;
            self.units_written += u64::from(c.op == Op::Write);
            see(c);
        }
        let n = done.len() as u64;
        self.commands += n;
        self.done = done;
        self.done.clear();
        n
    }

    /// Lets time pass to `at`.
    pub fn advance(&mut self, at: Nanos, see: impl FnMut(&Completion)) {
        self.drive.advance(at, &mut self.done);
        self.take(see);
        self.now = at;
    }

    /// Keeps `depth` commands under way until `count` have completed, and waits for the rest.
    pub fn closed_loop(&mut self, count: u64, depth: u64, mut next: impl FnMut(&mut Rng) -> Ask) {
        let (mut sent, mut completed) = (0, 0);
        while completed < count {
            while sent < count && sent - completed < depth {
                let ask = next(&mut self.rng);
                self.submit(self.now, sent, ask);
                sent += 1;
            }
            let reached = self.drive.advance_to_completion(Nanos::MAX - 1, &mut self.done);
            // Little's law is summed up by what completions say of themselves.
            let at_once = self.done.iter().all(|c| c.completed == reached);
            assert!(at_once, "at {reached} ns a command came that says otherwise: {:?}", self.done);
            completed += self.take(|_| ());
        }
    }

    /// Writes every unit once, in order.
    pub fn fill(&mut self) {
        let mut at = 0;
        self.closed_loop(self.units, 32, |_| {
            at += 1;
            Ask::write(at - 1)
        });
    }

    /// Writes every unit once, in an order drawn at random.
    pub fn fill_in_no_order(&mut self, stream: impl Fn(u64) -> u8) {
        let mut order: Vec<u32> = (0..self.units as u32).collect();
        for k in (1..order.len()).rev() {
            order.swap(k, self.rng.below(k as u64 + 1) as usize);
        }
        let mut order = order.into_iter().map(u64::from);
        self.closed_loop(self.units, 32, |_| {
            let unit = order.next().expect("one for each command");
            Ask { stream: stream(unit), ..Ask::write(unit) }
        });
    }

    /// Write amplification of what `next` draws, after so many drive writes of `span` units and over so many.
    pub fn waf_of(
        &mut self,
        (warm_up, measured): (f64, f64),
        span: u64,
        mut next: impl FnMut(&mut Rng) -> Ask,
    ) -> Measured {
        let commands = |drive_writes: f64| (span as f64 * drive_writes) as u64;
        self.closed_loop(commands(warm_up), self.depth, &mut next);
        let before = self.drive.counters();
        self.closed_loop(commands(measured), self.depth, &mut next);
        let counters = self.drive.counters().since(&before);
        Measured { value: counters.waf().expect("something was written"), ..self.settle() }
    }

    /// At the end of every run: the drive's own books, Little's law as the host has seen it, and every byte from the
    /// host to the flash.
    ///
    /// # Panics
    /// If anything does not agree to the last byte and nanosecond.
    pub fn settle(&mut self) -> Measured {
        self.drive.check_books().expect("the books balance");
        assert_eq!(self.under_way, 0);
        assert_eq!(self.under_way_time, self.latency_sum, "Little's law, nanosecond by nanosecond");
        let counters = self.drive.counters();
        let flash = counters.flash.expect("a drive has flash");
        let host = [counters.host.read_bytes, counters.host.write_bytes, counters.host.trim_bytes];
        assert_eq!(host, self.bytes, "bytes that the host has seen, and that the drive has counted");
        let ftl = self.drive.translation();
        let inside = ftl.counters();
        let unit_bytes = u64::from(ftl.medium().layout().unit_bytes);
        assert_eq!(
            self.units_written,
            ftl.accepted_units() + inside.overwrites_in_buffer,
            "written units were accepted, or replaced one that waited"
        );
        assert_eq!(
            flash.host_program_bytes + flash.gc_program_bytes,
            (inside.host_units + inside.gc_units) * UNIT_BYTES + (inside.padding_units * unit_bytes)
                - (inside.saved_units + inside.saved_moving_units) * unit_bytes,
            "bytes programmed hold units of the host, of the collector, or padding, less what compression has saved"
        );
        let medium = ftl.medium();
        let layout = medium.layout();
        let on_flash: u64 = layout.all_blocks().map(|b| u64::from(medium.issued_pages(b))).sum();
        let erased = inside.block_erases / u64::from(layout.planes) * u64::from(layout.pages);
        let rows = inside.host_rows + inside.gc_rows + inside.metadata_rows;
        assert!(on_flash <= rows && rows <= on_flash + erased, "rows programmed are on flash, or were erased");
        if self.erases_full_blocks {
            assert_eq!(rows, on_flash + erased, "rows programmed are on flash, or were erased with their block");
        }
        Measured { commands: self.commands, bytes: self.bytes.iter().sum(), ..Measured::default() }
    }
}
