//! A class of work: what a host writes and reads, and how much of it.

use serde::{Deserialize, Serialize};
use ssdlab_bench::BenchError;
use ssdlab_bench::host::{Host, Job};
use ssdlab_bench::measure::Meter;
use ssdlab_core::Rng;
use ssdlab_workload::{AccessPattern, Distribution, Mix, Pattern, Zone, ZoneExtent};

pub const SEQUENTIAL_BLOCK_BYTES: u64 = 128 << 10;

/// What a host does with a drive, and how much of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    pub name: String,
    /// Share of the fleet's drives, relative to the weights of the other classes.
    pub weight: f64,
    /// Median of the drives, in capacities a day.
    pub drive_writes_per_day: f64,
    /// Standard deviation of its natural logarithm over the drives.
    pub spread: f64,
    /// Share of the drive that holds data.
    pub fill_percent: u32,
    /// Share of the bytes that goes to random addresses; the rest is written in sequence, 128 KiB at a time.
    pub random_percent: u32,
    /// Bytes of a random command.
    pub block_bytes: u64,
    /// If given, 80 % of the random commands go to this share of the data.
    pub hot_percent: Option<u32>,
    /// Share of the random commands that are reads.
    pub read_percent: u32,
    /// Commands under way, of the random ones and of those in sequence.
    pub queue_depth: u32,
}

impl Class {
    /// # Errors
    /// What cannot be, in words.
    pub fn check(&self) -> Result<(), String> {
        let percent = |name: &str, value: u32, least: u32, most: u32| {
            let fits = (least..=most).contains(&value);
            if fits { Ok(()) } else { Err(format!("{name} is {value}; it must lie between {least} and {most}")) }
        };
        percent("fill_percent", self.fill_percent, 1, 100)?;
        percent("random_percent", self.random_percent, 0, 100)?;
        percent("read_percent", self.read_percent, 0, 99)?;
        percent("hot_percent", self.hot_percent.unwrap_or(20), 1, 99)?;
        percent("queue_depth", self.queue_depth, 1, 1024)?;
        let sound = |name: &str, value: f64, least: f64, most: f64| {
            let fits = value >= least && value <= most;
            if fits { Ok(()) } else { Err(format!("{name} is {value}; it must lie between {least} and {most}")) }
        };
        sound("weight", self.weight, 0.0, 1e9)?;
        sound("drive_writes_per_day", self.drive_writes_per_day, 1e-6, 1000.0)?;
        sound("spread", self.spread, 0.0, 3.0)?;
        let whole = self.block_bytes.is_multiple_of(512) && (512..=1 << 20).contains(&self.block_bytes);
        if whole {
            Ok(())
        } else {
            Err(format!("block_bytes is {}; it must be whole sectors, 1 MiB at most", self.block_bytes))
        }
    }

    /// Bytes that are read for each byte written.
    #[must_use]
    pub fn reads_per_write(&self) -> f64 {
        let reads = f64::from(self.read_percent);
        f64::from(self.random_percent) / 100.0 * reads / (100.0 - reads)
    }

    /// The bytes of a drive that hold data.
    #[must_use]
    pub fn span_bytes(&self, capacity_bytes: u64) -> u64 {
        capacity_bytes / 100 * u64::from(self.fill_percent) / SEQUENTIAL_BLOCK_BYTES * SEQUENTIAL_BLOCK_BYTES
    }
}

/// A host at work.
pub struct Work {
    /// With the share of the bytes that it moves, reads included, for each byte written.
    sources: Vec<(AccessPattern, f64)>,
    queue_depth: u32,
}

impl Work {
    /// # Errors
    /// If the drive is too small for it.
    pub fn new(class: &Class, capacity_bytes: u64, seed: u64) -> Result<Work, BenchError> {
        let (span, rng) = (class.span_bytes(capacity_bytes), Rng::new(seed).stream("fleet"));
        let random = f64::from(class.random_percent) / 100.0;
        let mut sources = Vec::new();
        let refused = |e: ssdlab_workload::PatternError| BenchError::Unsuitable(e.to_string());
        if class.random_percent > 0 {
            let mut pattern =
                Pattern::random(Mix::ReadWrite { read_percent: class.read_percent }, span, class.block_bytes);
            if let Some(hot) = class.hot_percent {
                let zone = |access_percent, percent| Zone { access_percent, extent: ZoneExtent::Percent(percent) };
                let zones = || vec![zone(80, hot), zone(20, 100 - hot)];
                pattern = pattern.distribution(Distribution::Zoned([zones(), zones(), Vec::new()]));
            }
            let source = pattern.build(&rng.stream("random")).map_err(refused)?;
            sources.push((source, random + class.reads_per_write()));
        }
        if class.random_percent < 100 {
            let pattern = Pattern::sequential_write(span, SEQUENTIAL_BLOCK_BYTES);
            sources.push((pattern.build(&rng.stream("sequential")).map_err(refused)?, 1.0 - random));
        }
        Ok(Work { sources, queue_depth: class.queue_depth })
    }

    /// Goes on until about so many bytes have been written; returns what was.
    ///
    /// # Errors
    /// As [`Host::run`]: a worn drive may fail a command.
    pub fn go_on(&mut self, host: &mut Host<'_>, bytes: f64, meter: &mut impl Meter) -> Result<u64, BenchError> {
        let before = host.counters().host.write_bytes;
        let depth = self.queue_depth;
        let mut jobs: Vec<Job<&mut AccessPattern>> = self
            .sources
            .iter_mut()
            .map(|(source, share)| Job::new(source, depth).for_bytes(((bytes * *share) as u64).max(1)))
            .collect();
        host.run(&mut jobs, meter)?;
        Ok(host.counters().host.write_bytes - before)
    }
}
