//! What the tests have in common: a timed run, a span that fits the drive, a prefill.

use ssdlab_core::Nanos;
use ssdlab_device::{Counters, Flash};
use ssdlab_workload::{AccessPattern, Pattern, Source};

use super::context::Context;
use crate::error::BenchError;
use crate::host::{Host, Job};
use crate::lab::Begins;
use crate::measure::{CountedRun, Measurement, Meter, PerSecond, PowerPerSecond, Stalls, TemperaturePerSecond};

pub(super) use super::words::{amount, gigabytes, rate, size};
pub(super) use crate::host::{FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH};

/// Below this, a 99.9th percentile is a single request or none.
const FEWEST_REQUESTS: u64 = 1_000;

/// The device's flash, whose age and wear a test sets.
pub(super) fn flash<'a>(host: &'a mut Host<'_>) -> Result<&'a mut dyn Flash, BenchError> {
    let name = host.info().name.clone();
    host.device_mut().flash().ok_or_else(|| {
        BenchError::Unsuitable(format!(
            "{name} has no flash whose age or wear could be set: this is a test of simulated drives"
        ))
    })
}

/// What the device counts in the parts of a test that are measured, and how long these take together: without the rests and
/// fills between them.
#[derive(Default)]
pub(super) struct Counted {
    pub counters: Counters,
    pub nanos: Nanos,
}

impl Counted {
    /// Runs another part. It ends with the last of its requests, or, where `part` has the run that it is given among its meters, with
    /// the time of its job.
    pub(super) fn run<R, E>(
        &mut self,
        host: &mut Host<'_>,
        part: impl FnOnce(&mut Host<'_>, &mut CountedRun) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut run = CountedRun::from(host.now(), &host.counters());
        let result = part(host, &mut run)?;
        let (counters, nanos) = run.until(host.now(), &host.counters());
        self.counters = self.counters.plus(&counters);
        self.nanos += nanos;
        Ok(result)
    }
}

/// A run with the usual measurements.
pub(super) struct Timed {
    pub measurement: Measurement,
    pub per_second: PerSecond,
    pub power: PowerPerSecond,
    pub temperature: TemperaturePerSecond,
    pub stalls: Stalls,
    /// What the device counted until the job ended, by its time or with its last request, and how long that took.
    pub counters: Counters,
    pub counted: Nanos,
}

/// Runs one job and measures it.
///
/// # Errors
/// As [`Host::run`], and if latencies have time without a cause.
pub(super) fn timed<S: Source>(host: &mut Host<'_>, job: &mut Job<S>) -> Result<Timed, BenchError> {
    timed_with(host, job, &mut ())
}

/// The same, with one more meter.
pub(super) fn timed_with<S: Source, M: Meter>(
    host: &mut Host<'_>,
    job: &mut Job<S>,
    more: &mut M,
) -> Result<Timed, BenchError> {
    let (before, began) = (host.counters(), host.now());
    let readings = (PowerPerSecond::from(&before), TemperaturePerSecond::from(&before));
    let by_second = (PerSecond::default(), readings);
    let whole = (CountedRun::from(began, &before), more);
    let mut meters = ((by_second, (Measurement::default(), Stalls::default())), whole);
    host.run(std::slice::from_mut(job), &mut meters)?;
    let (((per_second, (power, temperature)), (measurement, stalls)), (whole, _)) = meters;
    measurement.check_causes().map_err(BenchError::Books)?;
    let (counters, counted) = whole.until(host.now(), &host.counters());
    Ok(Timed { measurement, per_second, power, temperature, stalls, counters, counted })
}

/// A pattern as a source; a contradiction in it means that the test does not suit the device or its settings.
pub(super) fn build(ctx: &Context<'_>, pattern: &Pattern, stream: &str) -> Result<AccessPattern, BenchError> {
    pattern.build(&ctx.rng(stream)).map_err(|e| BenchError::Unsuitable(e.to_string()))
}

/// The span asked for, or as much of it as the drive has, in whole `block_bytes`. A limited span is said in `notes`.
pub(super) fn fit_span(
    asked_bytes: u64,
    capacity_bytes: u64,
    block_bytes: u64,
    notes: &mut Vec<String>,
) -> Result<u64, BenchError> {
    let fitted = asked_bytes.min(capacity_bytes) / block_bytes * block_bytes;
    if fitted == 0 {
        return Err(BenchError::Unsuitable(format!(
            "requests of {block_bytes} bytes do not fit a span of {} bytes",
            asked_bytes.min(capacity_bytes)
        )));
    }
    if asked_bytes > capacity_bytes {
        notes.push(format!(
            "The span of {} GB was limited to the drive's {} GB.",
            gigabytes(asked_bytes),
            gigabytes(fitted)
        ));
    }
    Ok(fitted)
}

/// Secure erase of a drive that a test has just been given. One that has no such command is as it was handed out, and `notes`
/// say so.
pub(super) fn erase(ctx: &Context<'_>, host: &mut Host<'_>, notes: &mut Vec<String>) -> Result<Erased, BenchError> {
    if host.has_secure_erase() {
        host.secure_erase()?;
        return Ok(Erased::Yes);
    }
    let begins = ctx.begins();
    notes.push(
        match begins {
            Begins::New => "The drive has no secure erase: it was used as it left the factory.",
            Begins::Saved => "The drive has no secure erase: it was used as it had been saved.",
            Begins::Trimmed => {
                "The drive was not erased: all of it was trimmed, which is the nearest that a test can do."
            }
            Begins::AsFound => "The drive was not erased: it was used as it was found.",
        }
        .to_owned(),
    );
    Ok(Erased::Not(begins))
}

/// What a test begins on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Erased {
    Yes,
    /// It cannot be erased.
    Not(Begins),
}

impl Erased {
    /// The beginning of what is said of the method.
    pub const fn in_words(self) -> &'static str {
        match self {
            Erased::Yes => "After a secure erase",
            Erased::Not(Begins::New) => "Of a drive as it left the factory",
            Erased::Not(Begins::Saved) => "Of a drive as it had been saved",
            Erased::Not(Begins::Trimmed) => "Of a drive that was trimmed whole",
            Erased::Not(Begins::AsFound) => "Of a drive as it was found",
        }
    }

    /// Such a drive, for a sentence.
    pub const fn a_drive(self) -> &'static str {
        match self {
            Erased::Yes => "an erased drive",
            Erased::Not(begins) => begins.a_drive(),
        }
    }
}

/// Says so where a run was too short, or the drive too slow, for what is derived from many requests.
pub(super) fn note_if_few(requests: u64, notes: &mut Vec<String>) {
    if requests < FEWEST_REQUESTS {
        notes.push(format!("{requests} requests were measured: too few for the higher percentiles and rare events."));
    }
}

/// Fills the whole drive in sequence. What a disk or an adapter then holds in its cache is written before anything is
/// measured.
pub(super) fn fill_drive(host: &mut Host<'_>) -> Result<(), BenchError> {
    let capacity = host.info().capacity_bytes;
    fill_range(host, capacity)
}

/// As [`fill_drive`], but only the first so many bytes.
pub(super) fn fill_range(host: &mut Host<'_>, bytes: u64) -> Result<(), BenchError> {
    fill_and_measure(host, bytes, &mut ())
}

/// As [`fill_range`], with a meter.
pub(super) fn fill_and_measure<M: Meter>(host: &mut Host<'_>, bytes: u64, meter: &mut M) -> Result<(), BenchError> {
    host.fill(0, bytes, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, meter)?;
    let counters = host.counters();
    if counters.disk.is_some() || counters.cache.is_some() {
        host.settle()?;
    }
    Ok(())
}
