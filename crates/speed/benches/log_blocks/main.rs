//! How fast drives that translate by blocks are simulated, in page copies a second of processor time.
//!
//! The A-Data 300 with 32 GB, full; random writes of 4 KiB over all addresses, one after the other. Nearly all that it does
//! is copy pages. Every tag is checked, and no I/O explained. Times are processor times of the thread.
//!
//! `cargo bench --bench log_blocks [-- ROUNDS]`

#[path = "../processor.rs"]
mod processor;

use processor::{processor, processor_seconds};
use ssdlab_core::{Nanos, Rng};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_ssd::SimulatedSsd;

/// Host writes of a round; each copies some 510 pages.
const WRITES: u64 = 5_000;

struct Host<D> {
    drive: D,
    now: Nanos,
    rng: Rng,
    done: Vec<Completion>,
}

impl<D: Device> Host<D> {
    fn write(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.drive.submit(self.now, Request::write(0, offset_bytes, length_bytes)).expect("it lies within the drive");
        self.now = self.drive.advance_to_completion(Nanos::MAX - 1, &mut self.done);
        self.done.clear();
    }

    #[inline(never)]
    fn random_writes(&mut self) {
        let pages = self.drive.info().capacity_bytes / 4096;
        for _ in 0..WRITES {
            let page = self.rng.below(pages);
            self.write(page * 4096, 4096);
        }
    }

    fn copies(&self) -> u64 {
        self.drive.counters().flash.expect("a drive has flash").gc_program_bytes / 4096
    }
}

fn main() {
    let rounds: usize = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(11);
    println!("processor: {}", processor());
    let found = ssdlab_catalog::resolve("a-data-300-32gb").expect("a drive of the catalog");
    let drive = SimulatedSsd::<false, true, _>::with_log_blocks(&found.name, &found.spec, &found.die.spec, 1)
        .expect("it is valid");
    let capacity = drive.info().capacity_bytes;
    let mut host = Host { drive, now: 0, rng: Rng::new(5), done: Vec::new() };
    let length = 1 << 18;
    let start = processor_seconds();
    for offset in (0..capacity).step_by(length as usize) {
        host.write(offset, length.min(capacity - offset));
    }
    let pages = capacity as f64 / 4096.0;
    println!("written in order: {:.2} million pages a second", pages / (processor_seconds() - start) / 1e6);
    host.random_writes();
    let mut rates: Vec<f64> = (0..rounds)
        .map(|_| {
            let (start, before) = (processor_seconds(), host.copies());
            host.random_writes();
            (host.copies() - before) as f64 / (processor_seconds() - start) / 1e6
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let [low, median, high] = [1, 2, 3].map(|quarter| rates[rates.len() * quarter / 4]);
    println!("random writes: {median:.2} million page copies a second ({low:.2} to {high:.2})");
    host.drive.check_books().expect("the books balance");
}
