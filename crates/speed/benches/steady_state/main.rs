//! How fast the simulator is, as a share of a bare flash translation loop.
//!
//! A 64 GiB drive with 7 % spare in steady state: 4 KiB uniform random writes at queue depth 32 over all addresses,
//! with link, processor, write buffer, buses and dies. The two are alternated in one process, half a million writes
//! each, and the median of the pairwise ratios is what counts: on shared machines nothing else can be compared.
//!
//! `cargo bench --bench steady_state [-- PAIRS]`

mod bare;

use std::time::{Duration, Instant};

use bare::BareLoop;
use ssdlab_core::{Nanos, Rng};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_ssd::SimulatedSsd;

const WRITES: u64 = 500_000;
const QUEUE_DEPTH: u64 = 32;

/// A drive under uniform random writes from a closed loop of 32.
struct Steady<D> {
    drive: D,
    rng: Rng,
    pages: u64,
    now: Nanos,
    done: Vec<Completion>,
}

impl<D: Device> Steady<D> {
    fn new(drive: D) -> Self {
        let pages = drive.info().capacity_bytes / 4096;
        let mut s = Steady { drive, rng: Rng::new(5), pages, now: 0, done: Vec::new() };
        let requests = pages / 32;
        let fill = |k: u64| Request::write(k, k * 131_072, 131_072);
        let mut next = QUEUE_DEPTH;
        (0..QUEUE_DEPTH).for_each(|k| s.drive.submit(0, fill(k)).expect("it lies within the drive"));
        let mut ended = 0;
        while ended < requests {
            s.now = s.drive.advance_to_completion(Nanos::MAX - 1, &mut s.done);
            for _ in s.done.drain(..) {
                ended += 1;
                if next < requests {
                    s.drive.submit(s.now, fill(next)).expect("it lies within the drive");
                    next += 1;
                }
            }
        }
        for _ in 0..QUEUE_DEPTH {
            s.submit();
        }
        s
    }

    #[inline(always)]
    fn submit(&mut self) {
        let offset_bytes = self.rng.below(self.pages) * 4096;
        self.drive.submit(self.now, Request::write(0, offset_bytes, 4096)).expect("it lies within the drive");
    }

    #[inline(never)]
    fn writes(&mut self, n: u64) {
        let mut ended = 0;
        while ended < n {
            self.now = self.drive.advance_to_completion(Nanos::MAX - 1, &mut self.done);
            ended += self.done.len() as u64;
            for _ in 0..self.done.len() {
                self.submit();
            }
            self.done.clear();
        }
    }
}

#[inline(never)]
fn bare_writes(bare: &mut BareLoop, n: u64) {
    for _ in 0..n {
        bare.write();
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is about the wall clock")]
fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure<const EXPLAIN: bool, const CHECK: bool>(name: &str, pairs: usize, bare: &mut BareLoop) {
    let found = ssdlab_catalog::resolve("ideal-16k-32die").expect("a drive of the catalog");
    let drive = SimulatedSsd::<EXPLAIN, CHECK>::new(&found.name, &found.spec, &found.die.spec, 1).expect("it is valid");
    let mut steady = Steady::new(drive);
    steady.writes(steady.pages * 3 / 2);
    let before = steady.drive.counters();
    let (mut ratios, mut simulated, mut loops) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..pairs {
        let b = timed(|| bare_writes(bare, WRITES)).as_secs_f64();
        let s = timed(|| steady.writes(WRITES)).as_secs_f64();
        ratios.push(b / s);
        simulated.push(s / WRITES as f64 * 1e9);
        loops.push(b / WRITES as f64 * 1e9);
    }
    let waf = steady.drive.counters().since(&before).waf().unwrap_or(0.0);
    println!(
        "{name:<44} ratio {:.3}   {:6.1} ns a host write (bare loop {:.1} ns), WAF {waf:.2}",
        median(&mut ratios),
        median(&mut simulated),
        median(&mut loops),
    );
}

fn main() {
    let pairs = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(21);
    let pages = (64u64 << 30) / 4096;
    let mut bare = BareLoop::new(pages as u32, 7, 256);
    bare_writes(&mut bare, pages * 3 / 2);
    let (before, writes) = (bare.programmed, 4 * WRITES);
    bare_writes(&mut bare, writes);
    println!("bare loop: WAF {:.2}", (bare.programmed - before) as f64 / writes as f64);
    measure::<false, false>("steady state, time only", pairs, &mut bare);
    measure::<true, false>("steady state, every I/O explained", pairs, &mut bare);
    measure::<true, true>("steady state, explained and checked", pairs, &mut bare);
}
