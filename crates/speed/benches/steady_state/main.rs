//! How fast the simulator is, as a share of a bare flash translation loop.
//!
//! A 64 GiB drive with 7 % spare in steady state: 4 KiB uniform random writes at queue depth 32 over all addresses,
//! with link, processor, write buffer, buses and dies. The two are compiled for the same processor and alternated in
//! one process, half a million writes each, and the median of the pairwise ratios is what counts: on shared machines
//! nothing else can be compared. Times are processor times of the thread. Beside each median stand the quartiles.
//!
//! `cargo bench --bench steady_state [-- PAIRS]`

mod bare;
#[path = "../pairs.rs"]
mod pairs;
#[path = "../processor.rs"]
mod processor;
#[path = "../steady.rs"]
mod steady;

use bare::BareLoop;
use pairs::quartiles;
use processor::{processor, processor_seconds};
use ssdlab_device::Device;
use ssdlab_ssd::SimulatedSsd;
use steady::Steady;

const WRITES: u64 = 500_000;
/// Write amplification of exact greedy collection at 7 % spare and 256 units a block, from an independent program. It
/// scatters by some 0.001 from one drive's worth of writes to the next.
const BARE_WAF: f64 = 7.597;

/// Nanoseconds a host write.
fn nanoseconds(work: impl FnOnce(u64)) -> f64 {
    let start = processor_seconds();
    work(WRITES);
    (processor_seconds() - start) / WRITES as f64 * 1e9
}

fn measure<const EXPLAIN: bool, const CHECK: bool>(name: &str, pairs: usize, bare: &mut BareLoop) {
    let found = ssdlab_catalog::resolve("ideal-16k-32die").expect("a drive of the catalog");
    let drive = SimulatedSsd::<EXPLAIN, CHECK>::new(&found.name, &found.spec, &found.die.spec, 1).expect("it is valid");
    let mut steady = Steady::new(drive);
    steady.writes(steady.pages * 3 / 2);
    let before = steady.drive.counters();
    let (mut ratios, mut simulated, mut loops) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..pairs {
        let b = nanoseconds(|n| bare.write(n));
        let s = nanoseconds(|n| steady.writes(n));
        ratios.push(b / s);
        simulated.push(s);
        loops.push(b);
    }
    let waf = steady.drive.counters().since(&before).waf().unwrap_or(0.0);
    let [low, ratio, high] = quartiles(&mut ratios);
    let [s_low, s, s_high] = quartiles(&mut simulated);
    let [b_low, b, b_high] = quartiles(&mut loops);
    println!(
        "{name:<36} ratio {ratio:.3} ({low:.3} to {high:.3})   {s:.0} ns a host write ({s_low:.0} to {s_high:.0}), \
         bare loop {b:.0} ({b_low:.0} to {b_high:.0})   WAF {waf:.2}",
    );
}

fn main() {
    let pairs = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(21);
    let pages = (64u64 << 30) / 4096;
    println!("processor: {}", processor());
    let mut bare = BareLoop::new(pages as u32, 7);
    bare.write(pages * 3 / 2);
    let before = bare.programmed;
    bare.write(pages);
    let waf = (bare.programmed - before) as f64 / pages as f64;
    println!("bare loop: WAF {waf:.3}");
    assert!((waf - BARE_WAF).abs() < 0.01, "exact greedy collection comes to {BARE_WAF}");
    measure::<false, false>("steady state, time only", pairs, &mut bare);
    measure::<true, false>("steady state, every I/O explained", pairs, &mut bare);
    measure::<true, true>("steady state, explained and checked", pairs, &mut bare);
    bare.check();
}
