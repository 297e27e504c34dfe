//! The six hot paths, on drives small enough for valgrind: 192 MiB of the catalog's ideal drives, and 64 MiB where a command
//! takes most instructions.

use std::hint::black_box;

use ssdlab_core::{Nanos, Op, Rng};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, SimulatedSsd};

/// The catalog's drives and their dies, without its loader.
const IDEAL_4K: [&str; 2] =
    [include_str!("../../../../catalog/drives/ideal-32die.toml"), include_str!("../../../../catalog/nand/ideal.toml")];
const IDEAL_16K: [&str; 2] = [
    include_str!("../../../../catalog/drives/ideal-16k-32die.toml"),
    include_str!("../../../../catalog/nand/ideal-16k.toml"),
];

const UNIT_BYTES: u64 = 4096;
const SEQUENTIAL_BYTES: u64 = 128 << 10;
const CAPACITY_BYTES: u64 = 192 << 20;
const SHORT_ROWS_BYTES: u64 = 64 << 20;
const QUEUE_DEPTH: u64 = 32;
const WRITES: u64 = 40_000;
const SHORT_ROWS: u64 = 10_000;
const READS: u64 = 100_000;

/// Names of the paths, and the host commands that each counts.
pub const PATHS: [(&str, u64); 6] = [
    ("random-writes", WRITES),
    ("random-writes-explained", WRITES),
    ("random-writes-checked", WRITES),
    ("random-writes-short-rows", SHORT_ROWS),
    ("random-reads-qd32", READS),
    ("sequential-fill", CAPACITY_BYTES / SEQUENTIAL_BYTES),
];

/// Runs one path; what [`measured_part`] does is what counts.
pub fn run(name: &str) -> Result<(), String> {
    match name {
        "random-writes" => steady_writes::<false, false>(IDEAL_16K, CAPACITY_BYTES, WRITES),
        "random-writes-explained" => steady_writes::<true, false>(IDEAL_16K, CAPACITY_BYTES, WRITES),
        "random-writes-checked" => steady_writes::<true, true>(IDEAL_16K, CAPACITY_BYTES, WRITES),
        // Four times as many operations of dies for the same data, by collectors that keep in step with the host.
        "random-writes-short-rows" => steady_writes::<true, true>(IDEAL_4K, SHORT_ROWS_BYTES, SHORT_ROWS),
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

struct Host<D> {
    drive: D,
    capacity_bytes: u64,
    rng: Rng,
    now: Nanos,
    next_offset: u64,
    done: Vec<Completion>,
}

impl<const EXPLAIN: bool, const CHECK: bool> Host<SimulatedSsd<EXPLAIN, CHECK>> {
    /// A drive of the catalog with eight dies and smaller blocks, so that there are enough of them.
    fn new([drive, die]: [&str; 2], capacity_bytes: u64) -> Self {
        let mut spec: DriveSpec = toml::from_str(drive).expect("a drive");
        let mut die: DieSpec = toml::from_str(die).expect("a die");
        spec.capacity_bytes = capacity_bytes;
        spec.flash.dies = 8;
        die.geometry.pages_per_block = 32;
        let drive = SimulatedSsd::new("small", &spec, &die, 1).expect("it is valid");
        Host { drive, capacity_bytes, rng: Rng::new(5), now: 0, next_offset: 0, done: Vec::new() }
    }
}

impl<D: Device> Host<D> {
    /// Keeps a queue full until `count` commands have ended; then waits for the rest.
    #[inline(always)]
    fn closed_loop(&mut self, count: u64, mut next: impl FnMut(&mut Rng, &mut u64) -> Request) {
        let (mut sent, mut ended) = (0, 0);
        while ended < count {
            while sent < count && sent - ended < QUEUE_DEPTH {
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

fn steady_writes<const EXPLAIN: bool, const CHECK: bool>(files: [&str; 2], capacity_bytes: u64, count: u64) {
    let mut host = Host::<SimulatedSsd<EXPLAIN, CHECK>>::new(files, capacity_bytes);
    host.fill();
    host.random(Op::Write, capacity_bytes / UNIT_BYTES);
    measured_part(&mut || host.random(Op::Write, count));
}

fn random_reads() {
    let mut host = Host::<SimulatedSsd<false, false>>::new(IDEAL_4K, CAPACITY_BYTES);
    host.fill();
    measured_part(&mut || host.random(Op::Read, READS));
}

fn sequential_fill() {
    let mut host = Host::<SimulatedSsd<false, false>>::new(IDEAL_16K, CAPACITY_BYTES);
    measured_part(&mut || host.fill());
}
