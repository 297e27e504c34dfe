//! A class of work: what a host writes and reads, and how much of it.

use serde::{Deserialize, Serialize};
use ssdlab_bench::BenchError;
use ssdlab_bench::host::{Host, Job};
use ssdlab_bench::measure::Meter;
use ssdlab_bench::wear_watch::Pass;
use ssdlab_core::Rng;
use ssdlab_workload::trace::TraceSource;
use ssdlab_workload::{AccessPattern, Distribution, Mix, Pattern, Zone, ZoneExtent};

use crate::trace::{Traced, TracedWork};

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
    /// What the host does instead of a mix: addresses and sizes of a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TracedWork>,
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
        if let Some(trace) = &self.trace {
            trace.check()?;
        }
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
        if let Some(trace) = &self.trace {
            return trace.reads_per_write();
        }
        let reads = f64::from(self.read_percent);
        f64::from(self.random_percent) / 100.0 * reads / (100.0 - reads)
    }

    /// The bytes of a drive that hold data.
    #[must_use]
    pub fn span_bytes(&self, capacity_bytes: u64) -> u64 {
        capacity_bytes / 100 * u64::from(self.fill_percent) / SEQUENTIAL_BLOCK_BYTES * SEQUENTIAL_BLOCK_BYTES
    }
}

/// What is to be worked, and on what.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    pub class: &'a Class,
    /// The trace of a class that has one.
    pub trace: Option<&'a TraceSource>,
    /// The drive is a specimen in small: so many times less.
    pub by: u32,
    pub seed: u64,
}

/// A host at work.
pub struct Work {
    does: Does,
    queue_depth: u32,
    /// One pass, which shows all that it does.
    pass: Pass,
}

enum Does {
    /// Parts of a mix, with the share of the bytes that each moves, reads included, for each byte written.
    Mix(Vec<(AccessPattern, f64)>),
    Trace(Box<Traced>),
}

impl Work {
    /// # Errors
    /// If the drive is too small for it, or the trace cannot be replayed.
    pub fn new(task: &Task<'_>, host: &Host<'_>) -> Result<Work, BenchError> {
        let (class, capacity) = (task.class, host.info().capacity_bytes);
        let (span, queue_depth) = (class.span_bytes(capacity), class.queue_depth);
        let rng = Rng::new(task.seed).stream("fleet");
        if let Some(what) = &class.trace {
            let missing = || BenchError::Unsuitable(format!("the trace {} is not there", what.name));
            let source = task.trace.ok_or_else(missing)?;
            let traced = Traced::new(what, source, host, span, task.by, &rng)?;
            let pass = Pass::of(traced.pass_bytes(capacity)?);
            return Ok(Work { does: Does::Trace(Box::new(traced)), queue_depth, pass });
        }
        let random = f64::from(class.random_percent) / 100.0;
        // Without hot data, all places are alike.
        let pass = match class.hot_percent {
            Some(_) => Pass::of_mix_with_hot_data(span, 1.0 - random, capacity),
            None => Pass::NONE,
        };
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
        Ok(Work { does: Does::Mix(sources), queue_depth, pass })
    }

    /// What is to be written so that it shows all that it does, and `least` bytes: whole passes of a trace, or of what is
    /// written in sequence beside hot data.
    #[must_use]
    pub fn whole(&self, least: f64) -> f64 {
        self.pass.whole(least)
    }

    /// Goes on until about so many bytes have been written; returns what was.
    ///
    /// # Errors
    /// As [`Host::run`]: a worn drive may fail a command. A trace that is no longer what it was.
    pub fn go_on(&mut self, host: &mut Host<'_>, bytes: f64, meter: &mut impl Meter) -> Result<u64, BenchError> {
        let before = host.counters().host.write_bytes;
        let depth = self.queue_depth;
        match &mut self.does {
            Does::Mix(sources) => {
                let mut jobs: Vec<Job<&mut AccessPattern>> = sources
                    .iter_mut()
                    .map(|(source, share)| Job::new(source, depth).for_bytes(((bytes * *share) as u64).max(1)))
                    .collect();
                host.run(&mut jobs, meter)?;
            }
            Does::Trace(traced) => {
                traced.allow(bytes);
                let ran = host.run(&mut [Job::new(&mut **traced, depth)], meter);
                // A trace that ended in an error ended the run.
                traced.fault()?;
                ran?;
            }
        }
        Ok(host.counters().host.write_bytes - before)
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::Monitor;
    use ssdlab_bench::model::{ModelDevice, ModelSpec};

    use super::*;

    const CAPACITY: u64 = 64 << 20;

    /// What shows all of a class that fills all of a drive, in hundredths of its capacity, where one would do.
    fn whole_percent(random_percent: u32, hot_percent: Option<u32>) -> f64 {
        let class = Class {
            name: "mix".to_owned(),
            weight: 1.0,
            drive_writes_per_day: 1.0,
            spread: 0.0,
            fill_percent: 100,
            random_percent,
            block_bytes: 4096,
            hot_percent,
            read_percent: 50,
            queue_depth: 4,
            trace: None,
        };
        let mut device = ModelDevice::new(ModelSpec { capacity_bytes: CAPACITY, ..ModelSpec::default() });
        let monitor = Monitor::silent();
        let host = Host::new(&mut device, &monitor);
        let task = Task { class: &class, trace: None, by: 1, seed: 1 };
        let work = Work::new(&task, &host).expect("a class that can be");
        work.whole(CAPACITY as f64 / 100.0) / CAPACITY as f64 * 100.0
    }

    #[test]
    fn a_mix_with_hot_data_shows_all_that_it_does_when_it_has_passed_over_them_in_sequence() {
        assert!((whole_percent(75, Some(20)) - 400.0).abs() < 1.0);
        assert!((whole_percent(50, Some(20)) - 200.0).abs() < 1.0);
        assert!((whole_percent(99, Some(20)) - 400.0).abs() < 1e-9, "cut");
        for same_everywhere in [(75, None), (0, Some(20)), (100, Some(20))] {
            let (random, hot) = same_everywhere;
            assert!((whole_percent(random, hot) - 1.0).abs() < 1e-9, "{same_everywhere:?}");
        }
    }
}
