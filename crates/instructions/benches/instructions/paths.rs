//! The six hot paths, on drives small enough for valgrind: 192 MiB of the catalog's ideal drives, and 64 MiB where a command
//! takes most instructions. They are the drives that ship, every read checked, with causes and without.

use std::hint::black_box;

use ssdlab_core::{Nanos, Op, Rng};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, build, build_unexplained};

/// The catalog's drives and their dies, without its loader.
const IDEAL_4K: [&str; 2] =
    [include_str!("../../../../catalog/drives/ideal-32die.toml"), include_str!("../../../../catalog/nand/ideal.toml")];
const IDEAL_16K: [&str; 2] = [
    include_str!("../../../../catalog/drives/ideal-16k-32die.toml"),
    include_str!("../../../../catalog/nand/ideal-16k.toml"),
];
const JMF602B: [&str; 2] = [
    include_str!("../../../../catalog/drives/memorycorp-mf4-64gb.toml"),
    include_str!("../../../../catalog/nand/mlc-50nm-16gbit.toml"),
];

const UNIT_BYTES: u64 = 4096;
const SEQUENTIAL_BYTES: u64 = 128 << 10;
const CAPACITY_BYTES: u64 = 192 << 20;
const SHORT_ROWS_BYTES: u64 = 64 << 20;
const QUEUE_DEPTH: u64 = 32;
const WRITES: u64 = 40_000;
const SHORT_ROWS: u64 = 10_000;
const LOG_BLOCKS: u64 = 300;
const READS: u64 = 100_000;

/// Names of the paths, and the host commands that each counts.
pub const PATHS: [(&str, u64); 6] = [
    ("random-writes", WRITES),
    ("random-writes-explained", WRITES),
    ("random-writes-short-rows", SHORT_ROWS),
    ("random-writes-log-blocks", LOG_BLOCKS),
    ("random-reads-qd32", READS),
    ("sequential-fill", CAPACITY_BYTES / SEQUENTIAL_BYTES),
];

/// Runs one path; what [`measured_part`] does is what counts.
pub fn run(name: &str) -> Result<(), String> {
    match name {
        "random-writes" => steady_writes(&mut Host::new(IDEAL_16K, CAPACITY_BYTES, false), WRITES),
        "random-writes-explained" => steady_writes(&mut Host::new(IDEAL_16K, CAPACITY_BYTES, true), WRITES),
        // Four times as many operations of dies for the same data, by collectors that keep in step with the host.
        "random-writes-short-rows" => steady_writes(&mut Host::new(IDEAL_4K, SHORT_ROWS_BYTES, true), SHORT_ROWS),
        // Merges of blocks: hundreds of page copies for a command.
        "random-writes-log-blocks" => steady_writes(&mut Host::with_log_blocks(), LOG_BLOCKS),
        "random-reads-qd32" => random_reads(),
        "sequential-fill" => sequential_fill(),
        _ => return Err(format!("no such path: {name}")),
    }
    Ok(())
}

/// Callgrind counts from here to its return.
#[inline(never)]
fn measured_part(work: &mut dyn FnMut()) {
    work();
    black_box(());
}

struct Host {
    drive: Box<dyn Device>,
    capacity_bytes: u64,
    queue_depth: u64,
    rng: Rng,
    now: Nanos,
    next_offset: u64,
    done: Vec<Completion>,
}

impl Host {
    /// A drive of the catalog with eight dies and smaller blocks, so that there are enough of them.
    fn new(files: [&str; 2], capacity_bytes: u64, explains: bool) -> Self {
        Self::with(files, explains, |spec, die| {
            spec.capacity_bytes = capacity_bytes;
            spec.flash.dies = 8;
            die.geometry.pages_per_block = 32;
        })
    }

    /// One that maps blocks, with few of them.
    fn with_log_blocks() -> Self {
        Self::with(JMF602B, true, |spec, die| {
            spec.capacity_bytes = 256 << 20;
            die.geometry.blocks_per_plane = 20;
        })
    }

    fn with([drive, die]: [&str; 2], explains: bool, change: impl FnOnce(&mut DriveSpec, &mut DieSpec)) -> Self {
        let mut spec: DriveSpec = toml::from_str(drive).expect("a drive");
        let mut die: DieSpec = toml::from_str(die).expect("a die");
        change(&mut spec, &mut die);
        let build = if explains { build } else { build_unexplained };
        let drive = build("small", &spec, &die, 1).unwrap_or_else(|e| panic!("{e}"));
        Host {
            drive,
            capacity_bytes: spec.capacity_bytes,
            queue_depth: QUEUE_DEPTH.min(spec.controller.queue_depth.into()),
            rng: Rng::new(5),
            now: 0,
            next_offset: 0,
            done: Vec::new(),
        }
    }

    /// Keeps a queue full until `count` commands have ended; then waits for the rest.
    #[inline(always)]
    fn closed_loop(&mut self, count: u64, mut next: impl FnMut(&mut Rng, &mut u64) -> Request) {
        let (mut sent, mut ended) = (0, 0);
        while ended < count {
            while sent < count && sent - ended < self.queue_depth {
                let request = next(&mut self.rng, &mut self.next_offset);
                self.drive.submit(self.now, request).expect("it lies within the drive");
                sent += 1;
            }
            self.now = self.drive.advance_to_completion(Nanos::MAX - 1, &mut self.done);
            ended += self.done.len() as u64;
            black_box(&self.done);
            self.done.clear();
        }
    }

    fn fill(&mut self) {
        self.closed_loop(self.capacity_bytes / SEQUENTIAL_BYTES, |_, next_offset| {
            let offset_bytes = *next_offset;
            *next_offset += SEQUENTIAL_BYTES;
            Request::write(0, offset_bytes, SEQUENTIAL_BYTES)
        });
    }

    fn random(&mut self, op: Op, count: u64) {
        let units = self.capacity_bytes / UNIT_BYTES;
        self.closed_loop(count, |rng, _| {
            let offset_bytes = rng.below(units) * UNIT_BYTES;
            Request::new(0, op, offset_bytes, UNIT_BYTES)
        });
    }
}

fn steady_writes(host: &mut Host, count: u64) {
    host.fill();
    // A page each in all; or so many merges, each of which is one more of the same.
    let before = if count == LOG_BLOCKS { LOG_BLOCKS } else { host.capacity_bytes / UNIT_BYTES };
    host.random(Op::Write, before);
    measured_part(&mut || host.random(Op::Write, count));
}

fn random_reads() {
    let mut host = Host::new(IDEAL_4K, CAPACITY_BYTES, false);
    host.fill();
    measured_part(&mut || host.random(Op::Read, READS));
}

fn sequential_fill() {
    let mut host = Host::new(IDEAL_16K, CAPACITY_BYTES, false);
    measured_part(&mut || host.fill());
}
