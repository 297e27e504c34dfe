//! The experiments: each puts a drive into the state that a formula speaks of, and measures.

use ssdlab_core::{Nanos, Op, Request, Rng, SECOND, UNIT_BYTES};
use ssdlab_device::Device;
use ssdlab_ftl::VictimPolicy;

use super::rig::{Build, Lab, READ_NANOS};

/// Drive writes before measuring, and measured.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    pub warm_up: f64,
    pub measured: f64,
}

/// A drive of two dies. `blocks` of each hold data.
pub fn build(policy: VictimPolicy, op: f64, pages: u32, blocks: u32) -> Build {
    let spare_per_10000 = (op * 1e4 + 0.5) as u32;
    Build { dies: 2, data_blocks: blocks, pages, spare_per_10000, policy, choices: 2, seed: 1 }
}

pub fn uniform(build: &Build, length: Length) -> f64 {
    Lab::new(build).steady_waf(length, |rng, units| (Op::Write, rng.below(units)))
}

/// A share `r` of the writes to a share `f` of the pages.
pub fn hot_cold(build: &Build, r: f64, f: f64, length: Length) -> f64 {
    let (writes, pages) = ((r * 1000.0) as u64, f);
    Lab::new(build).steady_waf(length, |rng, units| {
        let hot = (units as f64 * pages) as u64;
        let unit = if rng.chance(writes, 1000) { rng.below(hot) } else { hot + rng.below(units - hot) };
        (Op::Write, unit)
    })
}

/// A share `t` of the drive is trimmed and never written again.
pub fn static_trim(build: &Build, t: f64, length: Length) -> f64 {
    let mut lab = Lab::new(build);
    lab.fill();
    let used = (lab.units as f64 * (1.0 - t)) as u64;
    let mut at = used;
    lab.closed_loop(lab.units - used, 32, |_| {
        at += 1;
        (Op::Trim, at - 1)
    });
    lab.waf_of(length, used, |rng, used| (Op::Write, rng.below(used)))
}

/// A share `q` of the requests trims a random page in use. Returns write amplification and the share in use.
pub fn trim_under_load(build: &Build, q: f64, length: Length) -> (f64, f64) {
    let mut lab = Lab::new(build);
    lab.fill();
    let units = lab.units as u32;
    let mut used: Vec<u32> = (0..units).collect();
    let mut place: Vec<u32> = (0..units).collect();
    const UNUSED: u32 = u32::MAX;
    let permille = (q * 1000.0 + 0.5) as u64;
    let mut next = move |rng: &mut Rng, all: u64| {
        if rng.chance(permille, 1000) && !used.is_empty() {
            let at = rng.below(used.len() as u64) as usize;
            let unit = used.swap_remove(at);
            place[unit as usize] = UNUSED;
            if let Some(&moved) = used.get(at) {
                place[moved as usize] = at as u32;
            }
            (Op::Trim, u64::from(unit))
        } else {
            let unit = rng.below(all) as u32;
            if place[unit as usize] == UNUSED {
                place[unit as usize] = used.len() as u32;
                used.push(unit);
            }
            (Op::Write, u64::from(unit))
        }
    };
    let waf = lab.waf_of(length, lab.units, &mut next);
    let in_use = lab.drive.ftl().mapped_units() as f64 / lab.units as f64;
    (waf, in_use)
}

/// A full drive of 32 dies.
pub fn drive_for_reads(dies: u32) -> Lab {
    let build = Build {
        dies,
        data_blocks: 64,
        pages: 64,
        spare_per_10000: 2500,
        policy: VictimPolicy::Greedy,
        choices: 2,
        seed: 1,
    };
    let mut lab = Lab::new(&build);
    // Whole rounds over the dies, so that a page drawn at random lies on every die with the same chance.
    lab.units -= lab.units % u64::from(dies);
    lab.fill();
    lab.now += SECOND;
    lab.drive.advance(lab.now, &mut Vec::new());
    lab
}

/// Random reads at a queue depth: reads a second, and the mean latency in nanoseconds.
pub fn random_reads(lab: &mut Lab, depth: u64, count: u64) -> (f64, f64) {
    let units = lab.units;
    lab.closed_loop(20_000, depth, |rng| (Op::Read, rng.below(units)));
    let began = lab.now;
    let latency = lab.latency_sum;
    lab.closed_loop(count, depth, |rng| (Op::Read, rng.below(units)));
    let rate = count as f64 / ((lab.now - began) as f64 / 1e9);
    (rate, (lab.latency_sum - latency) as f64 / count as f64)
}

/// Reads of one die that arrive at random times at a utilisation `rho`: mean response in nanoseconds.
pub fn open_arrivals(rho: f64, count: u64) -> f64 {
    let mut lab = drive_for_reads(1);
    let mean = (READ_NANOS as f64 / rho) as Nanos;
    let (mut done, mut sum, mut completed) = (Vec::new(), 0u128, 0u64);
    let mut at = lab.now;
    for tag in 0..count {
        at += lab.rng.exponential(mean);
        lab.drive.advance(at, &mut done);
        let offset_bytes = lab.rng.below(lab.units) * UNIT_BYTES;
        lab.drive.submit(at, Request { tag, op: Op::Read, offset_bytes, length_bytes: UNIT_BYTES, fua: false });
        completed += done.len() as u64;
        sum += done.drain(..).map(|c| u128::from(c.latency())).sum::<u128>();
    }
    lab.drive.advance(at + 10 * SECOND, &mut done);
    completed += done.len() as u64;
    sum += done.iter().map(|c| u128::from(c.latency())).sum::<u128>();
    assert_eq!(completed, count);
    lab.drive.check_books().expect("the books balance");
    sum as f64 / count as f64
}
