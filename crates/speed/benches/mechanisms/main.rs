//! What the mechanisms of dies and controllers cost together: processor time of a host write beside that of a drive that has
//! none of them.
//!
//! `m600-128gb` without its SLC cache, and with a quarter of its blocks, in steady state: 4 KiB uniform random writes at queue
//! depth 32, every I/O explained and checked; all drives in turns, half a million writes each, and the median of the ratios.
//! Times are processor times of the thread. Beside each median stand the quartiles.
//!
//! `cargo bench -p ssdlab-speed --bench mechanisms [-- ROUNDS]`

#[path = "../pairs.rs"]
mod pairs;
#[path = "../processor.rs"]
mod processor;
#[path = "../steady.rs"]
mod steady;

use pairs::quartiles;
use processor::{processor, processor_seconds};
use ssdlab_device::Device;
use ssdlab_nand::{DieSpec, Suspend};
use ssdlab_ssd::{Cores, DriveSpec, Ssd};
use steady::Steady;

const WRITES: u64 = 500_000;

/// What a drive has.
struct Drive {
    name: &'static str,
    steady: Steady<Ssd>,
    nanoseconds: Vec<f64>,
    ratios: Vec<f64>,
}

impl Drive {
    fn new(name: &'static str, change: impl FnOnce(&mut DriveSpec, &mut DieSpec)) -> Self {
        let found = ssdlab_catalog::resolve("m600-128gb").expect("a drive of the catalog");
        let (mut spec, mut die) = (found.spec, found.die.spec);
        spec.slc_cache = None;
        spec.capacity_bytes = 32_000_000_000;
        die.geometry.blocks_per_plane /= 4;
        change(&mut spec, &mut die);
        let drive = Ssd::new(name, &spec, &die, 1).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut steady = Steady::new(drive);
        steady.writes(steady.pages * 3 / 2);
        Drive { name, steady, nanoseconds: Vec::new(), ratios: Vec::new() }
    }

    fn run(&mut self) -> f64 {
        let start = processor_seconds();
        self.steady.writes(WRITES);
        let nanoseconds = (processor_seconds() - start) / WRITES as f64 * 1e9;
        self.nanoseconds.push(nanoseconds);
        nanoseconds
    }
}

/// No mechanism.
fn none(spec: &mut DriveSpec, die: &mut DieSpec) {
    (spec.power, spec.power_loss, spec.heat, spec.ecc, spec.refresh) = (None, None, None, None, None);
    (die.variation, die.power, die.errors) = (None, None, None);
    die.features = Default::default();
    let controller = &mut spec.controller;
    (controller.read_latency_us, controller.write_latency_us, controller.move_unit_us) = (0.0, 0.0, 0.0);
    (spec.link.host_frame_us, spec.link.host_command_us) = (0.0, 0.0);
}

/// All but cache programs, several passes and several collectors.
fn all_but_cache_program(spec: &mut DriveSpec, die: &mut DieSpec) {
    let controller = &mut spec.controller;
    (controller.cores, controller.dma_extent_us, controller.program_end_us) = (Cores::HostMapAndFlash, 0.5, 1.0);
    controller.programs_at_once = Some(7);
    spec.gc.background_beside_host = true;
    die.features.suspend = Some(Suspend {
        program_us: Some(20.0),
        erase_us: Some(50.0),
        resume_us: 10.0,
        most_per_operation: 4,
        least_progress_us: 100.0,
    });
}

fn all(spec: &mut DriveSpec, die: &mut DieSpec) {
    all_but_cache_program(spec, die);
    die.features.cache_program_busy_us = Some(5.0);
}

fn main() {
    let rounds = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(21);
    println!("processor: {}", processor());
    let mut without = Drive::new("none", none);
    let mut others = [
        Drive::new("as in the catalog", |_, _| {}),
        Drive::new("all but cache programs", all_but_cache_program),
        Drive::new("all", all),
    ];
    for _ in 0..rounds {
        let least = without.run();
        for drive in &mut others {
            let ratio = drive.run() / least;
            drive.ratios.push(ratio);
        }
    }
    let [low, median, high] = quartiles(&mut without.nanoseconds);
    println!("{:<24} {median:.0} ns a host write ({low:.0} to {high:.0})", without.name);
    for drive in &mut others {
        let [low, ratio, high] = quartiles(&mut drive.ratios);
        let [_, median, _] = quartiles(&mut drive.nanoseconds);
        let waf = drive.steady.drive.counters().waf().unwrap_or(0.0);
        println!("{:<24} {median:.0} ns, {ratio:.2} times that ({low:.2} to {high:.2}); WAF {waf:.2}", drive.name);
    }
}
