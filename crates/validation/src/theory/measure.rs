//! The experiments: each puts a drive into the state that a formula speaks of, and measures.

use std::collections::VecDeque;

use ssdlab_core::{Nanos, Op, SECOND};
use ssdlab_device::{Completion, Device};
use ssdlab_ftl::{Frontier, Place, TieBreak, Translation, VictimPolicy};
use ssdlab_nand::{LogicalPage, LogicalPages};

use super::rig::{Ask, Build, Lab, Measured, READ_NANOS};

/// How much is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Blocks of each of two dies that hold data.
    pub blocks: u32,
    /// Drive writes before measuring, and units written while measuring (three drive writes at the least).
    pub warm_up: f64,
    pub measured_units: f64,
    /// The same for hot and cold data: cold pages are rewritten once in many drive writes.
    pub warm_up_mixed: f64,
    pub measured_mixed: f64,
    /// Reads at each queue depth.
    pub reads: u64,
    /// Open arrivals: how many times the `(1 - rho)^-2` services that a queue takes to forget.
    pub memories: f64,
}

impl Effort {
    /// The tables of the documentation.
    pub const FULL: Effort = Effort {
        blocks: 2048,
        warm_up: 4.0,
        measured_units: 2_500_000.0,
        warm_up_mixed: 30.0,
        measured_mixed: 10.0,
        reads: 8_000_000,
        memories: 500_000.0,
    };
}

impl Effort {
    /// Drive writes of `span` units before measuring, and measured.
    fn length(&self, span: u64) -> (f64, f64) {
        (self.warm_up, (self.measured_units / span as f64).max(3.0))
    }
}

pub fn uniform(build: &Build, effort: Effort) -> Measured {
    let mut lab = Lab::new(build);
    lab.fill();
    let units = lab.units;
    lab.waf_of(effort.length(units), units, |rng| Ask::write(rng.below(units)))
}

/// A share of the writes, in thousandths, to a share `f` of the pages. On a drive of two streams, hot data on one and
/// cold on the other.
pub fn hot_cold(build: &Build, hot_writes: u64, f: f64, effort: Effort) -> Measured {
    let mut lab = Lab::new(build);
    let units = lab.units;
    let hot = (units as f64 * f) as u64;
    let stream = |unit: u64| u8::from(build.frontier == Frontier::ByStream && unit >= hot);
    // In no order, so that hot and cold pages lie together from the beginning where there is one stream.
    lab.fill_in_no_order(stream);
    lab.waf_of((effort.warm_up_mixed, effort.measured_mixed), units, |rng| {
        let unit = if rng.chance(hot_writes, 1000) { rng.below(hot) } else { hot + rng.below(units - hot) };
        Ask { stream: stream(unit), ..Ask::write(unit) }
    })
}

/// A share `t` of the drive is trimmed and never written again.
pub fn static_trim(build: &Build, t: f64, effort: Effort) -> Measured {
    let mut lab = Lab::new(build);
    lab.fill();
    let used = (lab.units as f64 * (1.0 - t)) as u64;
    let mut at = used;
    lab.closed_loop(lab.units - used, 32, |_| {
        at += 1;
        Ask::of(Op::Trim, at - 1)
    });
    lab.waf_of(effort.length(used), used, |rng| Ask::write(rng.below(used)))
}

/// A share of the requests, in thousandths, trims a random page in use.
pub fn trim_under_load(build: &Build, share: u64, effort: Effort) -> Measured {
    let mut lab = Lab::new(build);
    lab.fill();
    // One by one: a drive need not keep the order of a write and a trim of the same page that are under way together.
    lab.depth = 1;
    let units = lab.units as u32;
    let mut used: Vec<u32> = (0..units).collect();
    let mut place: Vec<u32> = (0..units).collect();
    const UNUSED: u32 = u32::MAX;
    // The number of pages in use forgets where it began at the rate of the writes, which are not all of the requests.
    let length = (3.0 * effort.warm_up / (1.0 - share as f64 / 1e3), effort.length(units.into()).1);
    let warm_up = (f64::from(units) * length.0) as u64;
    // Sum over all requests of how many pages are in use.
    let (mut sum, mut count) = (0u64, 0u64);
    let measured = lab.waf_of(length, units.into(), |rng| {
        count += 1;
        sum += if count > warm_up { used.len() as u64 } else { 0 };
        if rng.chance(share, 1000) && !used.is_empty() {
            let at = rng.below(used.len() as u64) as usize;
            let unit = used.swap_remove(at);
            place[unit as usize] = UNUSED;
            if let Some(&moved) = used.get(at) {
                place[moved as usize] = at as u32;
            }
            Ask::of(Op::Trim, unit.into())
        } else {
            let unit = rng.below(units.into()) as u32;
            if place[unit as usize] == UNUSED {
                place[unit as usize] = used.len() as u32;
                used.push(unit);
            }
            Ask::write(unit.into())
        }
    });
    assert_eq!(
        lab.drive.translation().mapped_units(),
        used.len() as u64,
        "the drive and the host count the pages in use"
    );
    let in_use = sum as f64 / (count - warm_up) as f64 / f64::from(units);
    Measured { in_use: Some(in_use), ..measured }
}

/// Blocks of each die that are full of data to be read.
const READ_BLOCKS: u32 = 2;

/// A drive whose dies are full of data. With `exponential`, reads take an exponentially distributed time: each page
/// of a block has a read time of its own, the quantiles of that distribution.
pub fn drive_for_reads(dies: u32, exponential: bool) -> Lab {
    let pages = if exponential { 4096 } else { 64 };
    let build = Build {
        dies,
        data_blocks: READ_BLOCKS + 4,
        pages,
        spare_per_10000: 10_000,
        policy: VictimPolicy::Greedy,
        choices: 2,
        tie_break: TieBreak::Fifo,
        frontier: Frontier::Shared,
        map_cache_kib: None,
        compressibility_per_1000: None,
        seed: 1,
    };
    let mut lab = Lab::new(&build);
    if exponential {
        lab.drive.set_page_read_times(&exponential_quantiles(pages));
    }
    lab.units = u64::from(dies * pages * READ_BLOCKS);
    lab.fill();
    lab.now += SECOND;
    lab.drive.advance(lab.now, &mut Vec::new());
    // A page drawn at random must lie on every die, and on every page of a block, with the same chance.
    let layout = lab.drive.translation().medium().layout();
    let mut rows = vec![0u32; (dies * pages) as usize];
    for lpn in LogicalPage::all(lab.units as u32).each() {
        let Place::Flash(unit) = lab.drive.translation().place(lpn) else { panic!("page {lpn} is not on flash") };
        let (block, page) = layout.row_of(unit);
        rows[(layout.die_of(block).0.number() * pages + page) as usize] += 1;
    }
    assert!(rows.iter().all(|&n| n == READ_BLOCKS), "data are not spread evenly");
    lab
}

/// `n` values of equal chance whose mean is [`READ_NANOS`] and whose distribution is exponential as nearly as `n`
/// values can be.
fn exponential_quantiles(n: u32) -> Vec<Nanos> {
    let share = |k: u32| (f64::from(k) + 0.5) / f64::from(n);
    let raw: Vec<f64> = (0..n).map(|k| -libm::log(1.0 - share(k))).collect();
    let scale = READ_NANOS as f64 * f64::from(n) / raw.iter().sum::<f64>();
    raw.iter().map(|t| (t * scale + 0.5) as Nanos).collect()
}

/// Random reads with so many commands under way: thousands a second.
pub fn random_reads(dies: u32, depth: u32, exponential: bool, effort: Effort) -> Measured {
    let mut lab = drive_for_reads(dies, exponential);
    let units = lab.units;
    let depth = u64::from(depth);
    lab.closed_loop(20_000, depth, |rng| Ask::read(rng.below(units)));
    let began = lab.now;
    let latency = lab.latency_sum;
    lab.closed_loop(effort.reads, depth, |rng| Ask::read(rng.below(units)));
    let rate = effort.reads as f64 / (lab.now - began) as f64;
    let mean_latency = (lab.latency_sum - latency) as f64 / effort.reads as f64;
    Measured { value: rate * 1e6, little: rate * mean_latency, ..lab.settle() }
}

/// Pages of the map that is loaded on demand: 16 GiB.
pub const DEMAND_MAP_PAGES: u32 = 1 << 22;

/// Uniform random writes with so many map entries in DRAM: map pages written for each page of the host. Of the flash
/// behind it theory knows nothing: there is so much that nothing is collected.
pub fn demand_map(entries: u32) -> Measured {
    let pages = u64::from(DEMAND_MAP_PAGES);
    map_pages_written(DEMAND_MAP_PAGES, entries, (pages / 2, pages), 15_000)
}

/// Pages of a smaller such map: 256 MiB.
pub const STEADY_MAP_PAGES: u32 = 1 << 16;

/// The same on the smaller map, once map pages have been written out so often that they no longer do it all together, as
/// they do at first.
pub fn demand_map_steady(entries: u32, effort: Effort) -> Measured {
    let measured = effort.measured_units as u64;
    let warm_up = measured / 4;
    // All that is written, and a quarter more.
    let drive_writes = (measured + warm_up) * 5 / 4 / u64::from(STEADY_MAP_PAGES);
    map_pages_written(STEADY_MAP_PAGES, entries, (warm_up, measured), 10_000 * (drive_writes as u32 + 1))
}

fn map_pages_written(pages: u32, entries: u32, (warm_up, measured): (u64, u64), spare_per_10000: u32) -> Measured {
    const PAGES: u32 = 256;
    let physical = u64::from(pages) * u64::from(10_000 + spare_per_10000) / 10_000;
    let build = Build {
        dies: 2,
        data_blocks: physical as u32 / PAGES / 2,
        pages: PAGES,
        spare_per_10000,
        policy: VictimPolicy::Greedy,
        choices: 2,
        tie_break: TieBreak::Fifo,
        frontier: Frontier::Shared,
        map_cache_kib: Some(entries / 128),
        compressibility_per_1000: None,
        seed: 1,
    };
    let mut lab = Lab::new(&build);
    assert_eq!(lab.units, u64::from(pages));
    let units = lab.units;
    lab.closed_loop(warm_up, 32, |rng| Ask::write(rng.below(units)));
    let flushes = |lab: &Lab| lab.drive.translation().demand_map_counters().flushes as f64;
    let before = flushes(&lab);
    lab.closed_loop(measured, 32, |rng| Ask::write(rng.below(units)));
    assert_eq!(lab.drive.counters().flash.expect("a drive has flash").gc_program_bytes, 0, "there is room for all");
    Measured { value: (flushes(&lab) - before) / measured as f64, ..lab.settle() }
}

/// Batches of which an error bar is made.
const BATCHES: u64 = 40;
/// 97.5 % quantile of Student's distribution with 39 degrees of freedom.
const STUDENT: f64 = 2.023;

/// Reads of one die that arrive at random times at a utilisation `rho`: mean response in microseconds.
///
/// Arrival times are rounded to the nanosecond one by one, not their distances, so that the rate is exact. Every
/// response is checked against Lindley's recursion for the same arrivals: it is the wait behind those who came before,
/// and the read, to the nanosecond. So what is left between theory and the mean is the sample's; its error bar is made
/// of the means of batches much longer than the queue's memory.
pub fn open_arrivals(rho: f64, effort: Effort) -> Measured {
    let mut lab = drive_for_reads(1, false);
    let per_batch = (effort.memories / ((1.0 - rho) * (1.0 - rho))) as u64 / BATCHES + 1;
    let mean = READ_NANOS as f64 / rho;
    let mut queue = Expected { ends: VecDeque::new(), free_at: lab.now };
    let mut sums = Vec::new();
    let mut clock = lab.now as f64;
    for batch in 0..BATCHES {
        let before = lab.latency_sum;
        for k in 0..per_batch {
            clock -= libm::log(1.0 - lab.rng.unit()) * mean;
            let at = (clock + 0.5) as Nanos;
            lab.advance(at, |c| queue.check(c));
            queue.arrive(at, batch * per_batch + k);
            let unit = lab.rng.below(lab.units);
            lab.submit(at, batch * per_batch + k, Ask::read(unit));
        }
        // Those still waiting count in the next batch; the last batch waits for them.
        if batch + 1 == BATCHES {
            lab.advance(lab.now + SECOND, |c| queue.check(c));
        }
        sums.push((lab.latency_sum - before) as f64 / per_batch as f64 / 1e3);
    }
    assert!(queue.ends.is_empty(), "reads have been lost");
    let batches = BATCHES as f64;
    let value = sums.iter().sum::<f64>() / batches;
    let variance = sums.iter().map(|s| (s - value) * (s - value)).sum::<f64>() / (batches - 1.0);
    Measured { value, half_width: Some(STUDENT * (variance / batches).sqrt()), ..lab.settle() }
}

/// What a queue of one server must do with the reads that have come.
struct Expected {
    /// Number of each read that has not ended, and when it must end.
    ends: VecDeque<(u64, Nanos)>,
    free_at: Nanos,
}

impl Expected {
    fn arrive(&mut self, at: Nanos, number: u64) {
        self.free_at = self.free_at.max(at) + READ_NANOS;
        self.ends.push_back((number, self.free_at));
    }

    fn check(&mut self, c: &Completion) {
        let expected = self.ends.pop_front().expect("a read that has been sent");
        assert_eq!((c.tag, c.completed), expected, "a read was not served at once, or not in its turn");
    }
}
