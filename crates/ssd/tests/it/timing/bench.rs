//! A drive at rest whose every time is known, and how a scenario on it is checked.

use ssdlab_core::{Nanos, Op, UNIT_BYTES};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_ftl::{Buffering, GcSpec, HostShare, MappingSpec, SuperblockSpan, Translation};
use ssdlab_nand::{Bus, DieSpec, Geometry, PageOrder, Timing};
use ssdlab_ssd::{ControllerSpec, DriveSpec, LinkGeneration, LinkSpec, Ssd, WriteBufferSpec};

/// Everything that takes time, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub read: [Nanos; 2],
    pub program: [Nanos; 2],
    pub erase: Nanos,
    /// Command, address and status cycles of one operation.
    pub command: Nanos,
    pub turnaround: Nanos,
    pub read_command: Nanos,
    pub read_unit: Nanos,
    pub write_command: Nanos,
    pub write_unit: Nanos,
    pub background_after: Nanos,
}

pub const BASE: Times = Times {
    read: [40_000, 75_000],
    program: [500_000, 1_500_000],
    erase: 3_000_000,
    command: 2_000,
    turnaround: 0,
    read_command: 0,
    read_unit: 0,
    write_command: 0,
    write_unit: 0,
    background_after: 500_000_000,
};

/// One unit of 4096 bytes and 256 of spare at 400 million transfers a second: 4352 / 0.4 ns.
pub const UNIT_TRANSFER: Nanos = 10_880;
/// A row: two planes, pages of two units.
pub const ROW: u64 = 4;
pub const ROW_TRANSFER: Nanos = 43_520;
pub const PAGES: u64 = 8;
pub const BLOCK: u64 = ROW * PAGES;
/// SATA at 6 Gb/s, 1.680 ns a byte: a control frame of 280 bytes, and 4 KiB with 256 of frame and 280 of announcement.
pub const CONTROL: Nanos = 471;
pub const UNIT_ON_LINK: Nanos = 7_782;
/// 16 KiB in two frames.
pub const FOUR_UNITS_ON_LINK: Nanos = 28_856;

pub fn us(t: Nanos) -> f64 {
    t as f64 / 1e3
}

#[derive(Clone, Copy)]
pub struct Shape {
    pub dies: u32,
    pub channels: u32,
    pub link: LinkGeneration,
    pub queue_depth: u32,
    pub reads_first: bool,
}

pub const ONE_DIE: Shape =
    Shape { dies: 1, channels: 1, link: LinkGeneration::Ideal, queue_depth: 32, reads_first: true };
pub const TWO_DIES: Shape = Shape { dies: 2, ..ONE_DIE };
pub const TWO_CHANNELS: Shape = Shape { channels: 2, ..TWO_DIES };
pub const ON_SATA: Shape = Shape { link: LinkGeneration::Sata3, ..ONE_DIE };

/// The drive and die files of a shape.
pub fn specs(shape: Shape, t: &Times) -> (DriveSpec, DieSpec) {
    let geometry = Geometry {
        planes: 2,
        blocks_per_plane: 16,
        pages_per_block: PAGES as u32,
        page_bytes: 8192,
        spare_bytes: 512,
        bits_per_cell: 2,
        page_order: PageOrder::Alternating,
    };
    let die = DieSpec {
        timing: Timing {
            read_us: t.read.map(us).to_vec(),
            program_us: t.program.map(us).to_vec(),
            erase_ms: us(t.erase) / 1e3,
        },
        bus: Bus { mega_transfers_per_s: 400.0, command_us: us(t.command) },
        ..DieSpec::plain(geometry)
    };
    let plain = DriveSpec::plain("timing", shape.dies, 8 * BLOCK * u64::from(shape.dies) * UNIT_BYTES);
    let spec = DriveSpec {
        link: LinkSpec { generation: shape.link, host_turnaround_us: us(t.turnaround), ..plain.link },
        controller: ControllerSpec {
            channels: shape.channels,
            ways: 4,
            queue_depth: shape.queue_depth,
            read_command_us: us(t.read_command),
            write_command_us: us(t.write_command),
            read_unit_us: us(t.read_unit),
            write_unit_us: us(t.write_unit),
            reads_first: shape.reads_first,
            ..plain.controller
        },
        write_buffer: WriteBufferSpec { capacity_kib: 64, ..plain.write_buffer },
        mapping: MappingSpec { superblock: SuperblockSpan::OneDie, ..plain.mapping },
        gc: GcSpec {
            start_free_superblocks: 1,
            victims_per_start: 1,
            buffering: Buffering::Streaming,
            host_share: HostShare::Unlimited,
            background_after_idle_ms: Some(us(t.background_after) / 1e3),
            background_free_superblocks: 14,
            ..plain.gc
        },
        ..plain
    };
    (spec, die)
}

/// A drive at rest, and the time.
pub struct Bench {
    pub drive: Ssd,
    pub now: Nanos,
    pub tag: u64,
}

impl Bench {
    pub fn new(shape: Shape, t: &Times) -> Bench {
        Bench::with(shape, t, |_, _| ())
    }

    /// With something else in its drive or die file.
    pub fn with(shape: Shape, t: &Times, change: impl FnOnce(&mut DriveSpec, &mut DieSpec)) -> Bench {
        let (mut spec, mut die) = specs(shape, t);
        change(&mut spec, &mut die);
        let drive = Ssd::new("timing", &spec, &die, 1).expect("a valid drive");
        Bench { drive, now: 0, tag: 0 }
    }

    /// A drive whose first `rows` rows are on flash, in order, dies taking turns: row `r` is on die `r % dies`, page
    /// `r / dies`.
    pub fn written(shape: Shape, t: &Times, rows: u64) -> Bench {
        Bench::new(shape, t).filled(rows)
    }

    /// The same on a drive made otherwise.
    pub fn filled(mut self, rows: u64) -> Bench {
        for row in 0..rows {
            self.send(Op::Write, row * ROW, ROW, false);
            self.finish();
        }
        self.send(Op::Flush, 0, 0, false);
        self.finish();
        self.wait(1_000_000);
        self
    }

    /// Lets time pass.
    pub fn wait(&mut self, time: Nanos) {
        self.now += time;
        let mut done = Vec::new();
        self.drive.advance(self.now, &mut done);
    }

    pub fn send(&mut self, op: Op, unit: u64, units: u64, fua: bool) -> u64 {
        let (offset_bytes, length_bytes) = (unit * UNIT_BYTES, units * UNIT_BYTES);
        self.drive.submit(self.now, Request::new(self.tag, op, offset_bytes, length_bytes).with_fua(fua)).unwrap();
        self.tag += 1;
        self.tag - 1
    }

    pub fn read(&mut self, unit: u64, units: u64) {
        self.send(Op::Read, unit, units, false);
    }

    pub fn read_sectors(&mut self, sector: u64, sectors: u64) {
        let (offset_bytes, length_bytes) = (sector * 512, sectors * 512);
        self.drive.submit(self.now, Request::read(self.tag, offset_bytes, length_bytes)).unwrap();
        self.tag += 1;
    }

    pub fn write_sectors(&mut self, sector: u64, sectors: u64) {
        let (offset_bytes, length_bytes) = (sector * 512, sectors * 512);
        self.drive.submit(self.now, Request::write(self.tag, offset_bytes, length_bytes)).unwrap();
        self.tag += 1;
    }

    /// Lets all commands complete; latencies in the order in which they were sent.
    pub fn finish(&mut self) -> Vec<Nanos> {
        self.completions().iter().map(Completion::latency).collect()
    }

    /// Lets all commands complete, in the order in which they were sent.
    pub fn completions(&mut self) -> Vec<Completion> {
        let mut done: Vec<Completion> = Vec::new();
        let mut sent: Vec<Completion> = Vec::new();
        let before = self.tag;
        while let Some(at) = self.drive.next_event() {
            self.drive.advance(at, &mut done);
            sent.append(&mut done);
            // Idle work is not waited for.
            if sent.iter().map(|c| c.tag + 1).max() == Some(before) && self.idle() {
                self.now = at;
                break;
            }
        }
        sent.sort_by_key(|c| c.tag);
        for c in &sent {
            assert_eq!(c.breakdown.sum(), c.latency());
        }
        sent
    }

    /// Whether all that the host has written is on flash, so that what is left is idle work, or nothing is. Checks the books.
    pub fn idle(&self) -> bool {
        self.drive.check_books().expect("the books balance");
        self.drive.translation().buffered_units() == 0 || self.drive.next_event().is_none()
    }
}

/// Runs a scenario on the base drive, on which the answer is written out, and on drives with one parameter longer by a
/// nanosecond, where the formula must tell.
pub fn exactly(scenario: impl Fn(&Times) -> Vec<Nanos>, formula: impl Fn(&Times) -> Vec<Nanos>, written_out: &[Nanos]) {
    with_base(BASE, scenario, formula, written_out);
}

pub fn with_base(
    base: Times,
    scenario: impl Fn(&Times) -> Vec<Nanos>,
    formula: impl Fn(&Times) -> Vec<Nanos>,
    written_out: &[Nanos],
) {
    assert_eq!(scenario(&base), written_out, "on the base drive");
    assert_eq!(formula(&base), written_out, "the formula on the base drive");
    type Change = fn(&mut Times);
    let longer: [(&str, Change); 12] = [
        ("read, lower page", |t| t.read[0] += 1),
        ("read, upper page", |t| t.read[1] += 1),
        ("program, lower page", |t| t.program[0] += 1),
        ("program, upper page", |t| t.program[1] += 1),
        ("erase", |t| t.erase += 1),
        ("command cycles", |t| t.command += 1),
        ("host turnaround", |t| t.turnaround += 1),
        ("firmware, read command", |t| t.read_command += 1),
        ("firmware, unit of a read", |t| t.read_unit += 1),
        ("firmware, write command", |t| t.write_command += 1),
        ("firmware, unit of a write", |t| t.write_unit += 1),
        ("idle time before collection", |t| t.background_after += 1),
    ];
    for (what, change) in longer {
        let mut t = base;
        change(&mut t);
        assert_eq!(scenario(&t), formula(&t), "{what} one nanosecond longer");
    }
}

/// From the host's decision until the drive has decoded a read of one unit, alone in an idle drive without a link.
pub fn decode(t: &Times) -> Nanos {
    t.turnaround + t.read_command + t.read_unit
}
