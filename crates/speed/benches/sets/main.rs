//! What a set costs: processor time of a request through a RAID 0 of two, beside that of one through a member alone.
//!
//! Reads and writes of 4 KiB at random, one and 32 at a time, through the same face; one member and the set in turns.
//! Times are processor times of the thread. SSDs are those of a review: they explain every latency
//! and check every read.
//!
//! `cargo bench --bench sets [-- ROUNDS]`

#[path = "../processor.rs"]
mod processor;

use processor::{processor, processor_seconds};
use ssdlab_core::{Nanos, Op, Rng};
use ssdlab_device::{Completion, Device, Request};

const REQUESTS: u64 = 300_000;

struct Host {
    device: Box<dyn Device>,
    now: Nanos,
    rng: Rng,
    done: Vec<Completion>,
}

impl Host {
    fn new(expression: &str) -> Self {
        let recipe = ssdlab_catalog::device(expression).unwrap_or_else(|e| panic!("{e}"));
        let device = recipe.build(1).unwrap_or_else(|e| panic!("{e}"));
        Host { device, now: 0, rng: Rng::new(5), done: Vec::with_capacity(64) }
    }

    fn fill(&mut self) {
        let capacity = self.device.info().capacity_bytes;
        for offset in (0..capacity).step_by(1 << 20) {
            let length = (1 << 20).min(capacity - offset);
            self.device.submit(self.now, Request::write(0, offset, length)).expect("it lies within the device");
            self.now = self.device.advance_to_completion(Nanos::MAX - 1, &mut self.done);
            self.done.clear();
        }
    }

    /// Nanoseconds of processor time for each request.
    #[inline(never)]
    fn run(&mut self, op: Op, depth: u64) -> f64 {
        let pages = self.device.info().capacity_bytes / 4096;
        let began = processor_seconds();
        let (mut sent, mut ended) = (0, 0);
        while ended < REQUESTS {
            while sent < REQUESTS && sent - ended < depth {
                let request = Request::new(sent, op, self.rng.below(pages) * 4096, 4096);
                self.device.submit(self.now, request).expect("it lies within the device");
                sent += 1;
            }
            self.now = self.device.advance_to_completion(Nanos::MAX - 1, &mut self.done);
            ended += self.done.len() as u64;
            self.done.clear();
        }
        (processor_seconds() - began) / REQUESTS as f64 * 1e9
    }
}

fn main() {
    let rounds: usize = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(11);
    println!("processor: {}", processor());
    for member in ["jmf667h-toshiba-128gb", "spinpoint-f1-1tb"] {
        let mut one = Host::new(member);
        let mut set = Host::new(&format!("raid0({member}*2)"));
        if one.device.flash().is_some() {
            one.fill();
            set.fill();
        }
        for (op, depth) in [(Op::Read, 1), (Op::Read, 32), (Op::Write, 1), (Op::Write, 32)] {
            let mut ratios: Vec<(f64, f64)> = (0..rounds)
                .map(|_| {
                    let alone = one.run(op, depth);
                    (set.run(op, depth) / alone, alone)
                })
                .collect();
            ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (ratio, alone) = ratios[ratios.len() / 2];
            let more = (ratio - 1.0) * 100.0;
            println!("{member}: {} at depth {depth}: {alone:.0} ns alone, {more:+.0} % through a set", op.name());
        }
    }
}
